// Sends a page's form without losing what was typed: a lost line is tried again, and the same message counts once.
const main = () => document.getElementById("st-main");
const counts = { pasted: 0, left: 0 };
document.addEventListener("paste", () => { counts.pasted += 1; });
addEventListener("blur", () => { counts.left += 1; });
// What is half typed outlives a reload: it stays in this tab, under the participant's code, and is sent by nobody.
const drafts = {
  key(box) {
    const at = [...box.form.querySelectorAll("[name=step], [name=n]")].map((field) => field.value);
    return ["study", document.querySelector("footer b")?.textContent, ...at, box.name].join("/");
  },
  in(what) { try { return what(sessionStorage); } catch { return null; } },  // a browser may forbid it
  keep(box) { this.in((store) => store.setItem(this.key(box), box.value)); },
  restore() {
    for (const box of main().querySelectorAll("form textarea")) {
      box.value = this.in((store) => store.getItem(this.key(box))) ?? box.value;
      if (box.value) this.keep(box);  // as it came back with a question about it
    }
  },
  clear() {
    this.in((store) => Object.keys(store).filter((key) => key.startsWith("study/")).forEach((key) => store.removeItem(key)));
  },
};
document.addEventListener("input", (event) => { if (event.target.matches("form textarea")) drafts.keep(event.target); });
const wait = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

async function send(form, button) {
  const data = new URLSearchParams(new FormData(form));
  if (button?.name) data.set(button.name, button.value);
  for (const [name, count] of Object.entries(counts)) { data.set(name, count); counts[name] = 0; }
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await fetch(form.getAttribute("action"), { method: "POST", body: data });
      if (answer.status < 500) return await answer.text();
    } catch { /* the line is lost: below it is tried again */ }
    say("The connection is lost. Your text is saved. Trying again …");
    await wait(Math.min(8, 1 + tries));
  }
}

function say(text) {
  const line = main().querySelector("[role=status]");
  if (line) line.textContent = text;
}

function show(html) {
  const next = new DOMParser().parseFromString(html, "text/html");
  document.title = next.title;
  for (const part of ["header", "main", "footer"]) document.querySelector(part).replaceWith(next.querySelector(part));
  begin();
}

function begin() {
  drafts.restore();
  const last = main().querySelector(".st-log li:last-child");
  const box = main().querySelector("textarea[data-chat]");
  const alarm = main().querySelector("[role=alert]");
  if (last) { last.scrollIntoView({ block: "nearest" }); box?.focus({ preventScroll: true }); }
  else { scrollTo(0, 0); main().focus({ preventScroll: true }); }
  alarm?.scrollIntoView({ block: "nearest" });
  main().querySelector("form[data-resume]")?.requestSubmit();
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  event.preventDefault();
  if (form.dataset.sent) return;
  form.dataset.sent = "1";
  for (const button of form.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
  const box = form.querySelector("textarea[data-chat]");
  if (box && event.submitter?.value !== "finish") {
    const said = document.createElement("li");
    said.dataset.role = "user";
    said.textContent = box.value;
    main().querySelector(".st-log").append(said);
    say("The assistant is writing …");
  }
  const answer = await send(form, event.submitter);
  drafts.clear();
  show(answer);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.closest("form")?.requestSubmit();
});
begin();
