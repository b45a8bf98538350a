// The intent map: cells in columns that are the tree items of a keyboard and a screen reader.  Python sends `frame` (once
// a tree) and `moments`; the page sends `value`, the selected ids, and edits.  A light follows the pointer both ways: it
// goes out as the event "discover:hover", and anything with data-ids="1 1.2" is lit with the map.
const SIGNS = ["○", "◆", "●"];
const NAMES = ["undiscovered", "emerging", "discovered"];
const KEY = "○ undiscovered  ◆ emerging  ● discovered";
const KEY_OF_TURNS = "○\u00a0undiscovered: not known yet  ◆\u00a0emerging: half known  ●\u00a0discovered: known  ✓\u00a0satisfied: also built  ▲\u00a0changed in this turn  Blue border: can change next  Blue background: on the user’s mind";
const SEARCHED = 30; // intents beyond which there is a field that finds one
const CROWDED = 260; // intents from which trees out of focus are folded
const PHONE = 560; // px of the map's own width below which it is an outline
const LEAST = 78; // px of a column
const MARKS = ["frontier", "moved", "satisfied", "touched", "would"]; // lists of a moment that a cell shows

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  made.append(...children);
  return made;
}

function intentMap(root, model) {
  const stop = new AbortController(); // every listener beyond the map's own elements ends with it
  const listen = (target, name, heard) => target.addEventListener(name, heard, { signal: stop.signal });
  const find = element("input", { type: "search", class: "im-find", placeholder: "Find an intent", "aria-label": "Find an intent" });
  const count = element("span", { class: "im-count", role: "status" });
  const slider = element("input", { type: "range", class: "im-scrub", min: 0, "aria-label": "Turn" });
  const tree = element("div", { class: "im", role: "tree", "aria-label": "Intents", "aria-multiselectable": "true" });
  const line = element("p", { class: "im-told", "aria-live": "polite" });
  const key = element("p", { class: "im-key" });
  const press = (text, does) => { const made = element("button", { type: "button", class: "im-press" }, text); made.onclick = () => does(frame.ids.indexOf(model.get("value").slice(-1)[0])); return made; };
  const presses = model.get("edit")
    ? [press("Add below", (i) => model.send({ do: "add", id: frame.ids[i] })), press("Rename", (i) => cells[i] && rename(i)), press("Remove", (i) => model.send({ do: "remove", id: frame.ids[i] }))]
    : [];
  root.classList.add("im-all");
  root.toggleAttribute("data-edit", Boolean(model.get("edit")));
  root.append(element("div", { class: "im-bar" }, find, slider, count, ...presses), tree, line, key);
  const pen = document.createElement("canvas").getContext("2d");
  const widths = new Map();
  const folded = new Set();
  let frame, moment, below, cells, painted, form, query = "", at = 0, drag = null, bank = false, trouble = "";

  // -- the forest ---------------------------------------------------------------------------------------------------
  const isRoot = (i) => frame.parents[i] < 0;
  const rootOf = (i) => (isRoot(i) ? i : rootOf(frame.parents[i]));
  const end = (i) => { let j = i + 1; while (j < frame.ids.length && frame.levels[j] > frame.levels[i]) j += 1; return j; };
  const foggy = (i) => model.get("fog") && moment.states[i] !== "2";
  const editable = () => model.get("edit");
  const others = () => model.get("beside");

  function read() {
    frame = model.get("frame");
    below = frame.ids.map(() => []);
    frame.parents.forEach((parent, i) => parent >= 0 && below[parent].push(i));
    moment = model.get("moments")[model.get("at")];
    folded.clear();
    bank = false;
    at = Math.min(at, frame.ids.length - 1);
    if (frame.ids.length > CROWDED) frame.ids.forEach((_, i) => isRoot(i) && below[i].length && folded.add(i));
    unfoldMoved();
    build();
  }
  // Of a crowded forest the trees in focus and those that changed are open.
  function unfoldMoved() {
    const opened = [...new Set([...moment.focus, ...moment.moved.map(rootOf)])].filter((i) => folded.delete(i));
    if (cells) opened.forEach((i) => cells[i] && fill(cells[i].parentNode, i));
  }

  // -- elements -----------------------------------------------------------------------------------------------------
  function wanted() {
    const asked = model.get("form");
    return asked !== "auto" ? asked : root.clientWidth && root.clientWidth < PHONE ? "outline" : "map";
  }
  function build() {
    form = wanted();
    tree.dataset.form = form;
    tree.toggleAttribute("data-crowded", frame.ids.length > CROWDED);
    find.hidden = frame.ids.length <= SEARCHED;
    tree.setAttribute("aria-orientation", form === "outline" ? "vertical" : "horizontal");
    cells = frame.ids.map(() => null);
    painted = frame.ids.map(() => "");
    pen.font = getComputedStyle(tree).font;
    const roots = frame.ids.map((_, i) => i).filter(isRoot);
    const banked = new Set(frame.ids.length > CROWDED && !bank && model.get("fog") ? roots.filter(isBanked) : []);
    tree.replaceChildren(...roots.filter((i) => !banked.has(i)).map((i) => fill(element("div", { class: "im-root", role: "none" }), i)));
    if (banked.size) {
      const open = element("button", { type: "button", class: "im-bank" }, `${banked.size} more trees, undiscovered`);
      open.onclick = () => { bank = true; build(); };
      tree.append(open);
    }
    at = cells[at] ? at : cells.findIndex(Boolean);
    if (cells[at]) cells[at].tabIndex = 0;
    paint();
  }
  function isBanked(i) {
    return !moment.focus.includes(i) && !/[12]/.test(moment.states.slice(i, end(i)));
  }
  function fill(box, top) {
    const place = {};
    let column = 0, need = LEAST;
    const last = end(top);
    for (let i = top; i < last; i += 1) { cells[i] = null; painted[i] = ""; }
    (function walk(i) {
      const shown = folded.has(i) ? [] : below[i];
      if (!shown.length) { place[i] = [column, 1]; column += 1; return; }
      shown.forEach(walk);
      place[i] = [place[shown[0]][0], shown.reduce((sum, child) => sum + place[child][1], 0)];
    })(top);
    const made = [];
    for (let i = top; i < last; i += 1) {
      if (!place[i]) continue;
      const [start, span] = place[i];
      need = Math.max(need, least(i) / span);
      cells[i] = cell(i);
      cells[i].style.gridArea = `${frame.levels[i]} / ${start + 1} / auto / span ${span}`;
      made.push(cells[i]);
    }
    const rows = form === "outline" ? made.length : Math.max(...made.map((each) => Number(each.ariaLevel)));
    for (const [name, value] of Object.entries({ rows, leaves: column, need })) box.style.setProperty(`--${name}`, value);
    box.replaceChildren(...made);
    return box;
  }
  // The px that a cell needs so that no word breaks beside its sign and its count, and the text takes three lines.
  function least(i) {
    const words = frame.shorts[i].split(" ");
    const beside = 17 + (below[i].length ? (folded.has(i) ? 40 : 22) : 0);
    return 20 + Math.max(...words.map(wide), wide(words[0]) + beside, Math.min(150, (wide(frame.shorts[i]) + beside) / 2.6));
  }
  function wide(text) {
    if (!widths.has(text)) widths.set(text, pen.measureText(text).width);
    return widths.get(text);
  }
  function cell(i) {
    const among = isRoot(i) ? frame.ids.map((_, j) => j).filter(isRoot) : below[frame.parents[i]];
    const made = element("div", { class: "im-cell", role: "treeitem", "data-i": i, "aria-level": frame.levels[i], tabindex: i === at ? 0 : -1 });
    if (!isRoot(i)) { made.ariaPosInSet = among.indexOf(i) + 1; made.ariaSetSize = among.length; }
    if (below[i].length) made.ariaExpanded = String(!folded.has(i));
    made.style.setProperty("--level", frame.levels[i] - 1);
    return made;
  }
  const veil = (text) => text.replace(/\S/g, "n"); // hidden words are not in the page's elements
  function inside(i) {
    const states = moment.states.slice(i + 1, end(i)), known = states.replace(/[^2]/g, "").length;
    return known ? `${known} of ${states.length}` : String(states.length);
  }

  function paint() {
    const marks = Object.fromEntries([...MARKS, "focus"].map((name) => [name, new Set(moment[name])]));
    const chosen = new Set(model.get("value")), compared = others(), asked = query.toLowerCase();
    let met = 0;
    cells.forEach((made, i) => {
      if (!made) return;
      const state = moment.states[i], fog = foggy(i), miss = asked && (fog || !frame.texts[i].toLowerCase().includes(asked));
      met += asked && !miss ? 1 : 0;
      const on = { frontier: marks.frontier.has(i), moved: marks.moved.has(i), satisfied: marks.satisfied.has(i), touched: marks.touched.has(i), would: marks.would.has(i), fog: Boolean(fog), miss: Boolean(miss) };
      const key = [state, ...Object.values(on), marks.focus.has(i), chosen.has(frame.ids[i]), folded.has(i) && inside(i), compared[i], frame.texts[i]].join();
      if (key === painted[i]) return; // only cells that changed are touched
      painted[i] = key;
      made.dataset.state = state;
      for (const [name, value] of Object.entries(on)) made.toggleAttribute(`data-${name}`, value);
      made.setAttribute("aria-selected", String(chosen.has(frame.ids[i])));
      made.ariaLabel = said(i, on);
      made.title = fog ? NAMES[state] : frame.texts[i];
      if (isRoot(i)) made.parentNode.toggleAttribute("data-focus", marks.focus.has(i));
      const parts = [element("span", { class: "im-sign", "aria-hidden": "true" }, on.satisfied ? "✓" : SIGNS[state])];
      if (below[i].length) parts.unshift(element("span", { class: "im-fold", "aria-hidden": "true" }, folded.has(i) ? `⊞ ${inside(i)}` : "⊟"));
      parts.push(element("span", { class: "im-text" }, fog ? veil(frame.shorts[i]) : frame.shorts[i]));
      if (frame.numbers && frame.numbers[i] && !fog) parts.push(element("b", { class: "im-number" }, String(frame.numbers[i])));
      if (compared) parts.unshift(halves(state === "2", compared[i] === "2"));
      made.replaceChildren(...parts);
    });
    const hidden = [...moment.states].filter((_, i) => !frame.given.includes(i)), last = model.get("moments").length - 1;
    const known = hidden.filter((state) => state === "2").length, turn = last ? `turn ${moment.turn} · ` : "";
    tell(); // it hides the buttons
    const discovered = `${turn}${known} of the other ${hidden.length} intents discovered`;
    count.textContent = asked ? `${met} match` : editable() ? `${frame.ids.length} intent${frame.ids.length === 1 ? "" : "s"}${presses.every((each) => each.hidden) ? ". Select one to edit it." : ""}` : discovered;
    slider.hidden = !last;
    key.textContent = last || moment.turn || model.get("turns") ? KEY_OF_TURNS : KEY;
    Object.assign(slider, { max: last, value: model.get("at") });
  }
  function said(i, on) {
    const compared = others() ? [`other conversation: ${NAMES[others()[i]]}`] : [];
    const notes = [on.satisfied && "satisfied", on.moved && "changed in this turn", on.frontier && "can change next", on.touched && "matched, but not counted"];
    return [named(i), NAMES[moment.states[i]], ...notes, ...compared].filter(Boolean).join(", ");
  }
  const named = (i) => (foggy(i) ? "blurred intent" : frame.texts[i]);
  const halves = (one, other) => element("span", { class: "im-halves", "aria-hidden": "true" },
    element("i", { class: one ? "im-a" : false }, one ? "A" : "–"), element("i", { class: other ? "im-b" : false }, other ? "B" : "–"));
  // One line on the selected intent: its whole text, its state, and which turn changed it, why, and what that earned.
  function tell() {
    const [id] = model.get("value").slice(-1), i = frame.ids.indexOf(id);
    const past = i < 0 || foggy(i) ? [] : model.get("moments").slice(0, model.get("at") + 1).filter((each) => each.reasons[id]);
    const told = past.map((each) => ` ${each.turn ? `Turn ${each.turn}: ` : ""}${each.reasons[id]}`).join("");
    line.textContent = trouble || (i < 0 ? "" : `${id} · ${named(i)} · ${NAMES[moment.states[i]]}.${told}`);
    line.toggleAttribute("data-trouble", Boolean(trouble));
    for (const press of presses) press.hidden = i < 0;
  }

  // -- select, fold, light ------------------------------------------------------------------------------------------
  function select(i, more) {
    const id = frame.ids[i], now = model.get("value");
    trouble = "";
    model.set("value", more ? (now.includes(id) ? now.filter((each) => each !== id) : [...now, id]) : [id]);
    model.save_changes();
    paint();
  }
  function fold(i, shut) {
    if (!below[i].length || shut === folded.has(i)) return;
    if (shut) folded.add(i); else folded.delete(i);
    const top = rootOf(i);
    fill(cells[top].parentNode, top);
    paint();
    focusOn(cells[at] ? at : i);
  }
  function focusOn(i) {
    if (cells[at]) cells[at].tabIndex = -1;
    at = i;
    if (cells[i]) { cells[i].tabIndex = 0; cells[i].focus(); }
  }
  // Where the same ids mean the same intents: the artifact beside the map, or the whole page.
  function scope() {
    for (let at = root; at; at = at.getRootNode().host) {
      const near = at.closest(".in-beside");
      if (near) return near;
    }
    return document;
  }
  function light(ids, from) {
    const lit = new Set(ids), near = scope();
    cells.forEach((made, i) => made && made.toggleAttribute("data-lit", lit.has(frame.ids[i])));
    for (const place of near.querySelectorAll("[data-ids]")) place.toggleAttribute("data-lit", place.dataset.ids.split(" ").some((id) => lit.has(id)));
    if (from !== "outside") window.dispatchEvent(new CustomEvent("discover:hover", { detail: { ids, from: root, scope: near } }));
  }
  const under = (event) => { const hit = event.composedPath().find((each) => each.classList && each.classList.contains("im-cell")); return hit && tree.contains(hit) ? Number(hit.dataset.i) : -1; };
  const idsUnder = (event) => { const hit = event.composedPath().find((each) => each.dataset && each.dataset.ids); return hit ? hit.dataset.ids.split(" ") : []; };
  tree.addEventListener("pointerover", (event) => { const i = under(event); light(i < 0 ? [] : [frame.ids[i]]); });
  tree.addEventListener("pointerleave", () => light([]));
  listen(document, "pointerover", (event) => { if (under(event) < 0) light(event.composedPath().includes(scope()) ? idsUnder(event) : [], "outside"); });
  listen(window, "discover:hover", ({ detail }) => detail.from !== root && (detail.scope || document) === scope() && light(detail.ids, "outside"));
  tree.addEventListener("focusin", (event) => { const i = under(event); if (i >= 0 && i !== at) { if (cells[at]) cells[at].tabIndex = -1; at = i; cells[i].tabIndex = 0; } });
  tree.addEventListener("click", (event) => {
    const i = under(event);
    if (i < 0 || cells[i].querySelector("[contenteditable]")) return;
    if (event.target.classList.contains("im-fold")) { at = i; fold(i, !folded.has(i)); return; }
    focusOn(i);
    select(i, event.ctrlKey || event.metaKey);
  });
  find.addEventListener("input", () => { query = find.value; if (query) unfoldMet(); paint(); });
  function unfoldMet() {
    const asked = query.toLowerCase(), tops = new Set(frame.ids.map((_, i) => i).filter((i) => !foggy(i) && frame.texts[i].toLowerCase().includes(asked)).map(rootOf));
    if (tops.size <= 40) [...tops].filter((i) => folded.delete(i)).forEach((i) => cells[i] && fill(cells[i].parentNode, i));
  }
  slider.addEventListener("input", () => { model.set("at", Number(slider.value)); model.save_changes(); });

  // -- edits --------------------------------------------------------------------------------------------------------
  function rename(i) {
    if (!editable()) return;
    const text = cells[i].querySelector(".im-text");
    text.textContent = frame.texts[i];
    for (const [name, value] of Object.entries({ contenteditable: "plaintext-only", role: "textbox", "aria-label": "Text of the intent" })) text.setAttribute(name, value);
    text.focus();
    getSelection().selectAllChildren(text);
    const done = (kept) => {
      text.onblur = null;
      const now = text.textContent.trim();
      painted[i] = "";
      paint();
      focusOn(i);
      if (kept && now !== frame.texts[i]) model.send({ do: "rename", id: frame.ids[i], text: now });
    };
    text.onblur = () => done(true);
    text.onkeydown = (event) => {
      event.stopPropagation();
      if (event.key === "Enter") { event.preventDefault(); done(true); }
      if (event.key === "Escape") done(false);
    };
  }
  tree.addEventListener("dblclick", (event) => { const i = under(event); if (i >= 0) rename(i); });
  tree.addEventListener("pointerdown", (event) => { const i = under(event); if (i >= 0 && editable() && event.button === 0) drag = { i, x: event.clientX, y: event.clientY, on: false, to: -1 }; });
  listen(window, "pointermove", (event) => {
    if (!drag || (!drag.on && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 6)) return;
    drag.on = true;
    cells[drag.i].toggleAttribute("data-dragged", true);
    if (cells[drag.to]) cells[drag.to].removeAttribute("data-drop");
    const over = under(event), own = over >= drag.i && over < end(drag.i);
    drag.to = over >= 0 && !own && over !== frame.parents[drag.i] ? over : -1;
    drag.below = own && over !== drag.i;
    if (cells[drag.to]) cells[drag.to].toggleAttribute("data-drop", true);
  });
  listen(window, "pointerup", () => {
    const held = drag;
    drag = null;
    if (!held || !held.on) return;
    cells[held.i].removeAttribute("data-dragged");
    listenOnce();
    if (held.below) { trouble = "An intent cannot be moved below itself."; tell(); }
    if (held.to >= 0) { cells[held.to].removeAttribute("data-drop"); model.send({ do: "move", id: frame.ids[held.i], under: frame.ids[held.to] }); }
  });
  // The click that ends a drag selects nothing.
  const listenOnce = () => { const swallow = (event) => event.stopPropagation(); tree.addEventListener("click", swallow, { capture: true, once: true }); setTimeout(() => tree.removeEventListener("click", swallow, { capture: true })); };

  // -- keys ---------------------------------------------------------------------------------------------------------
  const ARROWS = {
    map: { ArrowRight: "next", ArrowLeft: "previous", ArrowDown: "child", ArrowUp: "parent" },
    outline: { ArrowDown: "next", ArrowUp: "previous", ArrowRight: "child", ArrowLeft: "parent" },
  };
  const step = (from, by) => { let i = from + by; while (i >= 0 && i < cells.length && !cells[i]) i += by; return cells[i] ? i : from; };
  function goal(event) {
    switch (ARROWS[form === "outline" ? "outline" : "map"][event.key] || event.key) {
      case "next": return step(at, 1);
      case "previous": return step(at, -1);
      case "child": if (folded.has(at)) { fold(at, false); return at; } return below[at][0] ?? at;
      case "parent": if (form === "outline" && below[at].length && !folded.has(at)) { fold(at, true); return at; } return isRoot(at) ? at : frame.parents[at];
      case "Home": return step(-1, 1);
      case "End": return step(cells.length, -1);
      case "Enter": case " ": select(at, event.ctrlKey); return at;
      case "-": fold(at, true); return at;
      case "+": fold(at, false); return at;
      case "F2": rename(at); return at;
      case "Insert": if (editable()) model.send({ do: "add", id: frame.ids[at] }); return at;
      case "Delete": if (editable()) model.send({ do: "remove", id: frame.ids[at] }); return at;
      case "/": find.hidden = false; find.focus(); return null;
    }
    if (event.key.length !== 1 || event.ctrlKey || event.metaKey || event.altKey) return undefined;
    const letter = event.key.toLowerCase(), starts = (i) => cells[i] && !foggy(i) && frame.shorts[i].toLowerCase().startsWith(letter);
    const order = [...frame.ids.keys()], later = order.slice(at + 1).find(starts) ?? order.find(starts);
    return later ?? at;
  }
  tree.addEventListener("keydown", (event) => {
    const to = goal(event);
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation(); // the page's own keys, such as those of a stage
    if (to !== null && to !== at) { focusOn(to); light([frame.ids[to]]); }
  });

  // -- the model ----------------------------------------------------------------------------------------------------
  const heard = {
    "change:frame": () => {
      const held = tree.contains(root.getRootNode().activeElement);
      trouble = "";
      read();
      if (held) focusOn(at);
    },
    "change:moments": () => { moment = model.get("moments")[Math.min(model.get("at"), model.get("moments").length - 1)]; if (moment.states.length === frame.ids.length) { unfoldMoved(); paint(); } },
    "change:at": () => { moment = model.get("moments")[model.get("at")] || moment; if (moment.states.length === frame.ids.length) { unfoldMoved(); paint(); } },
    "change:fog": () => build(),
    "change:form": () => build(),
    "change:value": () => paint(),
    "change:beside": () => { painted.fill(""); paint(); },
    "msg:custom": (message) => {
      trouble = message.trouble || "";
      tell();
      const i = frame.ids.indexOf(message.rename);
      if (cells[i]) { focusOn(i); rename(i); } // an intent that was just added waits for its text
    },
  };
  for (const [name, act] of Object.entries(heard)) model.on(name, act);
  const watcher = new ResizeObserver(() => root.clientWidth && wanted() !== form && build());
  read();
  watcher.observe(root);
  return () => { stop.abort(); watcher.disconnect(); for (const [name, act] of Object.entries(heard)) model.off(name, act); };
}

export default { render({ model, el }) { return intentMap(el, model); } };
