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
  worker = new Worker("site_worker.js", { type: "module", name });
  worker.onmessage = ({ data }) => {
    if (data.values) take(JSON.parse(data.values));
    if (data.step) say(data.step);
    if (data.trouble) say(data.trouble, true);
    if (data.ready) {
      ready = true;
      body.dataset.python = "ready";
      performance.mark("python ready");
      say("Python runs in this page. Nothing leaves your machine.");
    }
  };
  worker.onerror = (event) => say(`Python did not start: ${event.message || "one of its files could not be loaded"}`, true);
}
function toPython(sent) {
  if (!worker) start();
  if (!ready) waiting += 1;
  worker.postMessage(JSON.stringify(sent));
}
function say(text, trouble = false) {
  const more = waiting && !ready && !trouble ? " Your action runs as soon as Python is ready." : "";
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
const widget = await import(`./${name}.js`);
widget.default.render({ model, el: document.getElementById("site-widget") });
body.dataset.shown = "1";
performance.mark("playable");
// Python comes after the first picture.
requestAnimationFrame(() => setTimeout(() => worker || start()));
