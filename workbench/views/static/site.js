// A page of the site: a widget of the notebooks on a model of its own. What the model's values answer works at once;
// everything else is sent to Python, which starts in a worker behind the page (site_worker.js).
const body = document.body, status = document.getElementById("site-status");
const values = JSON.parse(document.getElementById("site-values").textContent);
const name = body.dataset.model;
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// The part of anywidget's model that the widgets use.
const calls = {};
let changed = {};
const model = {
  get: (key) => values[key],
  on: (event, call) => (calls[event] ??= []).push(call),
  set(key, value) {
    changed[key] = value;
    take({ [key]: value });
  },
  save_changes() {
    toPython({ set: changed });
    changed = {};
  },
  send: (message) => toPython({ message }),
};
function take(news) {
  const keys = Object.keys(news).filter((key) => !same(values[key], news[key]));
  for (const key of keys) values[key] = news[key];
  for (const key of keys) for (const call of calls[`change:${key}`] || []) call();
}

// -- Python -----------------------------------------------------------------------------------------------------------
let worker = null, ready = false, waiting = 0;
function start() {
  worker = new Worker("site_worker.js", { type: "module", name: `${name} ${body.dataset.wheels}` });
  worker.onmessage = ({ data }) => {
    if (data.values) take(JSON.parse(data.values));
    if (data.step) say(data.step);
    if (data.trouble) say(data.trouble, true);
    if (data.ready) {
      ready = true;
      body.dataset.python = "ready";
      performance.mark("python ready");
      say("Python runs in this page: nothing leaves your machine.");
      if ("serviceWorker" in navigator) navigator.serviceWorker.register("site_service.js").catch(() => {});
    }
  };
  worker.onerror = (event) => say(`Python did not start: ${event.message || "a file of it could not be loaded"}`, true);
}
function toPython(sent) {
  if (!worker) start();
  if (!ready) waiting += 1;
  worker.postMessage(JSON.stringify(sent));
}
function say(text, trouble = false) {
  const more = waiting && !ready && !trouble && !document.querySelector(".site-wait") ? " What you pressed is done as soon as it is here." : "";
  status.textContent = text + more;
  status.toggleAttribute("data-trouble", trouble);
}

// -- the page ---------------------------------------------------------------------------------------------------------
document.getElementById("site-theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
// Another person of the story is there already; Python meets them behind the page, to answer for them.
model.on("change:person", () => {
  if (values.stories) take({ mine: {}, story: values.stories[values.person % values.stories.length] });
});
// The address says what is shown, once nothing has changed for a while.
function waitingCard() {
  const asked = new URLSearchParams((location.hash || location.search).slice(1));
  const [, turn] = (asked.get("at") || "").split(".");
  const told = [asked.get("artifact") || asked.get("domain"), asked.get("assistant"), turn && `turn ${turn}`];
  const card = Object.assign(document.createElement("section"), { className: "site-wait" });
  const line = (kind, text) => Object.assign(document.createElement(kind), { textContent: text });
  card.append(
    line("h2", "The conversation of this link"),
    line("p", told.filter(Boolean).join(" · ").replaceAll("_", " ")),
    line("p", "It is played again on your machine, word for word, as soon as Python is here: some ten seconds, the first time."),
    Object.assign(document.createElement("progress"), { ariaLabel: "Python is on its way" }),
  );
  return card;
}
if (name === "stage") {
  let idle = 0;
  values.static = true;
  if (/[#?&](source|domain)=/.test(location.hash + location.search)) {
    values.record = values.now = null; // another conversation than the one recorded here
    const wait = waitingCard();
    document.getElementById("site-widget").before(wait);
    model.on("change:record", () => wait.remove());
  }
  model.on("change:now", () => {
    clearTimeout(idle);
    if (!values.now.playing) idle = setTimeout(() => model.send({ do: "share", number: 0 }), 800);
  });
  model.on("change:shared", () => {
    if (values.shared.number !== 0) return;
    history.replaceState(null, "", location.pathname + location.search + (values.shared.link && `#${values.shared.link}`));
  });
}
const widget = await import(`./${name}.js`);
widget.default.render({ model, el: document.getElementById("site-widget") });
body.dataset.shown = "1";
performance.mark("playable");
// Python comes after the first picture.
requestAnimationFrame(() => setTimeout(() => worker || start()));
