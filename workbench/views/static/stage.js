// The stage: one user's conversations as a film strip, a chat, the intent map and a reward breakdown that light up
// together. It shows the record of `views/moments.py`; `intentMap` comes from map.js. Texts are set as text, elements are built from a few known kinds, drawings
// are images: nothing that a model wrote can run. With a model (anywidget) presses go to Python; without one the
// same script scrubs through a finished record.

const KINDS = new Set(
  ["a", "b", "blockquote", "br", "code", "details", "div", "em", "figcaption", "figure", "h4", "i", "img", "li", "mark"]
    .concat(["ol", "p", "pre", "q", "span", "strong", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul"]),
);
const GLYPH = [
  ["circle", "dl-g-glow", { r: 12 }],
  ["circle", "dl-g-ring", { r: 10 }],
  ["circle", "dl-g-off", { r: 5.2 }],
  ["path", "dl-g-half", { d: "M0-7 7 0 0 7-7 0z" }],
  ["path", "dl-g-half-fill", { d: "M0-7V7L-7 0z" }],
  ["circle", "dl-g-on", { r: 7 }],
  ["path", "dl-g-tick", { d: "M-3.2.2-.9 2.6 3.4-2.4" }],
];
const LEVELS = ["undiscovered", "emerging", "discovered"];
const KEYS = [
  ["← →", "previous turn, next turn"],
  ["Home End", "first turn, last turn"],
  ["Space", "play, or stop"],
  ["B", "branch: go on from this turn in another way", "live"],
  ["R", "reset: start over", "live"],
  ["↑ ↓ ← →", "move between intents"],
  ["Ctrl Enter", "send your reply", "live"],
  ["?", "this list"],
];
const EXAMPLE = "Write the assistant’s reply, such as: an owl or a fish?";
const SECONDS = 3;
const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").body.firstChild.namespaceURI;

function h(kind, props, ...children) {
  const element = document.createElement(kind);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// Nodes of the record as elements; of what is not known only the words are kept, and a picture is data or nothing.
function built(nodes) {
  return (nodes || []).flatMap((node) => {
    if (typeof node === "string") return [node];
    const [kind, given, ...children] = node;
    if (kind === "script" || kind === "style") return [];
    if (!KINDS.has(kind) || kind === "a") return built(children);
    if (kind === "img") {
      if (!String(given.src).startsWith("data:image/svg+xml")) return [];
      return [h("img", { src: given.src, alt: given.alt || "Drawing", draggable: "false" })];
    }
    const props = { class: given.class, "data-how": given["data-how"], "data-ids": given["data-intents"], "data-parts": given["data-parts"] };
    return [h(kind, props, built(children))];
  });
}

function images(nodes) {
  return (nodes || []).flatMap((node) => {
    if (typeof node === "string") return [];
    if (node[0] !== "img") return images(node.slice(2));
    return String(node[1].src).startsWith("data:image/svg+xml") ? [node[1].src] : [];
  });
}
const pictures = (nodes) => images(nodes).slice(0, 3).map((src) => h("img", { src, alt: "", draggable: "false" }));

function glyph(state, more = {}) {
  const svg = document.createElementNS(SVG, "svg");
  const props = { class: "dl-glyph", viewBox: "-13 -13 26 26", "aria-hidden": "true", "data-state": state, ...more };
  for (const [name, value] of Object.entries(props)) svg.setAttribute(name, value);
  for (const [kind, name, shape] of GLYPH) {
    const part = document.createElementNS(SVG, kind);
    part.setAttribute("class", name);
    for (const [key, value] of Object.entries(shape)) part.setAttribute(key, value);
    svg.append(part);
  }
  return svg;
}

// Few fonts have these signs.
const ICONS = {
  back: "M13 3 5 9l8 6z", play: "M5 3l9 6-9 6z", stop: "M4 4h10v10H4z",
  branch: "M5 2v14M5 8c0 4 8 1 8 6v2M2.5 4.5 5 2l2.5 2.5", reset: "M4.5 5A6 6 0 1 1 3 9M4.5 1.5V5H8",
};
function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ class: "st-icon", viewBox: "0 0 18 18", "aria-hidden": "true", "data-icon": name })) svg.setAttribute(key, value);
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", ICONS[name]);
  svg.append(line);
  return svg;
}

const short = (worth) => `${worth.value < 0 ? "−" : "+"}${Number(Math.abs(worth.value).toFixed(2))}`;
const count = (number, one, many) => `${number} ${number === 1 ? one : many || `${one}s`}`;
const sr = (text) => h("span", { class: "dl-sr" }, text);

export function stage(root, source) {
  const live = Boolean(source.send);
  const ui = { strip: 0, turn: 0, jumps: 0, open: false, beside: [], shown: "", sent: 0 };
  const map = { fog: true, turns: true, edit: false, form: "auto", value: [], beside: "", at: 0, moments: [], frame: null };
  const heardByMap = {};
  const bubbles = new Map();
  let record = null, now = {}, setup = null, timer = null, going = false, pending = false, spoken = "";
  let byId = {}, branches = 0;
  const send = (message) => source.send && source.send(message);
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

  // -- where we are -------------------------------------------------------------------------------------------------
  const path = (strip = ui.strip) => record.strips[strip].moments;
  const moment = (turn = ui.turn, strip = ui.strip) => record.moments[path(strip)[turn]];
  const last = () => path().length - 1;
  const scored = () => record.strips[ui.strip].scored;
  const counts = (turn, strip = ui.strip) => turn <= record.strips[strip].scored;
  const stateOf = (at, id) => LEVELS[Number(at.states[record.map.ids.indexOf(id)])];
  const playing = () => going || Boolean(now.asking);

  function go(turn, strip = ui.strip) {
    const to = Math.max(0, Math.min(path(strip).length - 1, turn));
    if (to === ui.turn && strip === ui.strip) return;
    Object.assign(ui, { strip, turn: to });
    if (live) {
      now = { ...now, considered: [], trouble: "", over: "" };
      send({ do: "jump", strip, turn: to, jumps: ++ui.jumps });
    }
    paint();
  }
  function next() {
    if (ui.turn < last()) go(ui.turn + 1);
    else if (live) send({ do: "next" });
  }
  function play(on) {
    going = on;
    clearTimeout(timer);
    if (live && !on) send({ do: "stop" });
    if (on && !live && ui.turn === last()) go(0);
    else if (on) step();
    if (on) timer = setTimeout(tick, SECONDS * 1000);
    paint();
  }
  function step() {
    pending = live && ui.turn === last(); // the next turn is not made yet
    next();
  }
  function tick() {
    const waits = pending || now.asking, over = ui.turn === last() && (!live || now.over || ui.turn >= scored());
    if (now.trouble || (over && !waits)) going = false;
    else if (going && !waits) step();
    if (going) timer = setTimeout(tick, SECONDS * 1000);
    paint();
  }
  // A press by hand ends what plays by itself.
  const byHand = ({ target }) => { if (target.closest("button:not([data-key=play]), select, input, textarea")) going = false; };

  // -- the frame that stays -----------------------------------------------------------------------------------------
  const press = (key, label, action, more = {}, ...content) =>
    h("button", { type: "button", class: "st-button", "data-key": key, "aria-label": label, onclick: action, ...more }, content);
  const head = (title, ...aside) =>
    h("div", { class: "st-head" }, h("span", { role: "heading", "aria-level": "2", class: "st-title" }, title), aside);

  const at = {
    setup: h("div", { class: "st-setup" }),
    back: press("back", "One turn back", () => go(ui.turn - 1), { title: "Back (←)" }, icon("back")),
    next: press("next", null, next, { title: "Next (→)" }, "Next", icon("play")),
    play: press("play", null, () => play(!playing()), { title: "Play or stop (space)" }),
    branch: press("branch", "Branch", () => send({ do: "branch" }), { title: "Go on from this turn in another way; this conversation stays (B)" }, icon("branch"), h("span", null, "Branch", h("span", { class: "st-gloss" }, " to try another way"))),
    reset: press("reset", null, () => send({ do: "reset" }), { title: "Start over; the conversation is kept (R)" }, icon("reset"), h("span", null, "Reset")),
    share: press("share", null, (event) => share(event.currentTarget), { title: "Save the conversation as a file, or open one" }, "Share"),
    keys: press("keys", "Keyboard shortcuts", (event) => keySheet(event.currentTarget), { title: "Keyboard shortcuts (?)" }, "?"),
    status: h("p", { class: "st-status", role: "status" }),
    strips: h("div", { class: "st-strips", role: "group", "aria-label": "Turns, one picture each" }),
    note: h("div", { class: "st-note" }),
    chat: h("ol", { class: "dl-plain dl-chat" }),
    map: h("div", { class: "st-map" }),
    receipt: h("div", { class: "st-receipt" }),
    cards: h("div", { class: "st-consider" }),
    beside: h("div", { class: "st-beside" }),
    live: h("p", { class: "dl-sr", "aria-live": "polite" }),
    foot: h("p", { class: "dl-quiet dl-small st-foot" }),
    pop: h("div", { class: "st-pop", popover: "auto" }),
  };
  at.next.classList.add("st-go");
  const open = h("input", { type: "checkbox", onchange: () => { ui.open = open.checked; tellMap({ fog: !ui.open }); paint(); send({ do: "show", all: ui.open }); } });
  const box = h("textarea", {
    rows: "2", "aria-label": "Your reply, in the assistant’s place", title: "Plain words, SVG code, or compact notation",
    placeholder: EXAMPLE,
  });
  const reply = press("reply", null, () => send({ do: "reply", text: box.value }), {}, "Send reply");
  const consider = press("consider", null, () => send({ do: "consider" }), {}, "Compare assistants");
  const own = h("div", { class: "st-own" }, box, h("div", { class: "st-row" }, reply, consider));
  const window_ = h("div", { class: "st-window", role: "region", "aria-label": "Conversation" }, at.chat);
  const home = h("div", { class: "st-scroll" }, at.map); // the map moves from here while two lines are compared
  const main = h(
    "div", { class: "st-main" },
    h("section", { class: "st-panel st-said" }, head("Conversation"), window_, live ? own : null),
    h("section", { class: "st-panel st-wants" },
      head("What the user wants", h("label", { class: "st-switch" }, open, " show blurred intents")), home),
    h("section", { class: "st-panel st-earned" }, head("What the reply earned"), h("div", { class: "st-scroll", role: "region", "aria-label": "Reward breakdown" }, at.receipt)),
  );
  const bar = h(
    "div", { class: "st-bar" },
    h("div", { class: "st-buttons" }, at.back, at.next, at.play, live ? at.branch : null), at.status, live ? null : at.keys,
  );
  const body = h("div", { class: "dl st", "data-live": live ? "1" : "0" },
    live ? at.setup : null, bar, at.strips, at.note, main, at.beside, at.cards, at.foot, at.live, at.pop);
  root.append(body);

  // -- painting -----------------------------------------------------------------------------------------------------
  function paint() {
    if (!record || !record.strips) return;
    const focused = root.getRootNode().activeElement;
    const key = focused && body.contains(focused) ? focused.dataset.key : null;
    byId = Object.fromEntries(record.map.ids.map((id, i) => [id, { text: record.map.texts[i] }]));
    body.dataset.turn = ui.turn;
    paintBar();
    paintStrips();
    paintNote();
    paintChat();
    paintMap();
    paintReceipt();
    paintCards();
    paintBeside();
    at.foot.textContent = now.costs || record.note || record.rules.line;
    if (key && root.getRootNode().activeElement !== focused) {
      const again = [...body.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key);
      if (again) again.focus({ preventScroll: true });
    }
  }

  function paintBar() {
    const here = moment(), end = ui.turn === last();
    at.back.disabled = ui.turn === 0;
    at.next.disabled = end && (!live || Boolean(now.over) || Boolean(now.asking));
    const beyond = live && end && ui.turn >= scored();
    at.next.replaceChildren(beyond ? "Add an unscored turn" : "Next", icon("play"));
    at.next.title = beyond ? "One more turn, which does not count toward the score (→)" : "Next (→)";
    at.play.replaceChildren(icon(playing() ? "stop" : "play"), playing() ? "Stop" : "Play");
    at.play.disabled = !playing() && end && (live ? Boolean(now.over) || beyond : last() === 0);
    const hidden = [...here.states].filter((_, i) => !record.map.given.includes(i));
    const known = hidden.filter((each) => each === "2").length;
    const half = hidden.filter((each) => each === "1").length;
    const cell = (...parts) => h("span", null, ...parts);
    const dots = Array.from({ length: scored() }, (_, i) => (i < ui.turn ? "●" : "○")).join("");
    at.status.replaceChildren(
      cell(h("b", null, `Turn ${ui.turn}`), counts(ui.turn) ? ` of ${scored()} ` : ", not scored", scored() <= 8 && h("span", { class: "st-course", "aria-hidden": "true" }, dots)),
      cell("its reward ", h("b", null, here.worth ? short(here.worth) : "–")),
      h("span", { title: "Intents that the request names are not counted" }, h("b", null, known), ` of the other ${hidden.length} intents discovered`),
      cell(`${half} emerging`),
      cell(now.asking ? "asking a language model …" : playing() ? "playing" : ""),
    );
    const moves = Object.entries(here.news || {}).filter(([, told]) => told.startsWith("now"));
    const told = ui.turn === 0 ? "The request." : `Turn ${ui.turn}. ${moves.length ? moves.map(([id, text]) => `${sees(here, id) ? byId[id].text : "an intent"}: ${text}`).join("; ") : "No intent changed"}. ${here.worth ? `Reward ${here.worth.text}.` : "Unscored."}`;
    if (told !== spoken) at.live.textContent = spoken = told;
  }

  // -- the film strip -----------------------------------------------------------------------------------------------
  function paintStrips() {
    const values = record.moments.map((each) => (each.worth ? each.worth.value : 0));
    const top = Math.max(1, ...values), low = Math.min(0, ...values);
    const longest = Math.max(...record.strips.map((strip) => strip.moments.length));
    const many = record.strips.length > 1;
    const rows = record.strips.map((strip, number) => {
      const from = strip.origin ? strip.origin[1] + 1 : 0;
      const pressed = ui.beside.includes(number);
      const choose = many && press(`beside-${number}`, `compare ${strip.name}`, () => {
        const other = ui.strip !== number ? ui.strip : Math.max(number - 1, Number(number === 0));
        ui.beside = pressed ? [] : [ui.beside[1] ?? other, number];
        paint();
      }, { "aria-pressed": String(pressed), class: "st-button st-small", title: pressed ? "Back to one conversation" : "Compare with the open conversation" }, "compare");
      const name = h("span", { class: "st-name" }, strip.name);
      const frames = strip.moments.slice(from).map((_, index) => frame(number, from + index, top, low));
      const look = { class: "st-strip", role: "group", "aria-label": strip.label, "data-current": String(number === ui.strip) };
      return h("div", { ...look, "data-many": String(many), "--columns": longest }, many && h("div", { class: "st-label" }, name, choose), frames);
    });
    at.strips.replaceChildren(...rows);
    const current = at.strips.querySelector('[aria-current="step"]');
    if (current) {
      const left = current.offsetLeft - at.strips.offsetLeft, right = left + current.offsetWidth;
      if (left < at.strips.scrollLeft) at.strips.scrollLeft = left - 12;
      else if (right > at.strips.scrollLeft + at.strips.clientWidth) at.strips.scrollLeft = right - at.strips.clientWidth + 12;
    }
  }

  function frame(strip, turn, top, low) {
    const here = moment(turn, strip), worth = here.worth;
    const drawn = turn ? pictures(here.reply) : [];
    const words = turn ? here.first : wordsOf(record.request);
    const gained = worth ? [worth.discovered.length, worth.emerging.length] : [0, 0];
    const told = turn === 0 ? "The request" : `Turn ${turn}${here.assistant ? `, ${here.assistant}` : ""}`;
    const moved = worth ? `, ${gained[0]} discovered, ${gained[1]} emerging` : "";
    const whole = top - low, value = worth ? worth.value : 0;
    const dots = [...Array(gained[0]).fill("discovered"), ...Array(gained[1]).fill("emerging")].slice(0, 6);
    return h("button", {
      type: "button", class: "st-frame", "data-key": `frame-${strip}-${turn}`, title: turn ? `${told}: ${worth ? `reward ${worth.text}` : "unscored"}${moved}` : told,
      "aria-current": strip === ui.strip && turn === ui.turn ? "step" : null, "--column": turn + 1,
      tabindex: strip === ui.strip && turn !== ui.turn ? -1 : null, // the arrow keys reach the other turns
      "data-past": String(strip === ui.strip && turn <= ui.turn), "data-fork": String(turn > 0 && record.strips[strip].origin?.[1] === turn - 1),
      onclick: () => go(turn, strip),
      onpointerover: (event) => { if (event.buttons === 1 && event.pointerType === "mouse") go(turn, strip); },
    },
      sr(`${told}: `), h("span", { class: "st-pic" }, drawn.length ? drawn : h("span", null, words)),
      h("span", { class: "st-rise", "aria-hidden": "true", "--zero": `${(100 * top) / whole}%` },
        worth && h("i", { "data-sign": value < 0 ? "down" : "up", "--top": `${(100 * (top - Math.max(value, 0))) / whole}%`, "--height": `${(100 * Math.abs(value)) / whole}%` })),
      h("span", { class: "st-under" },
        h("b", null, turn === 0 ? "start" : !counts(turn, strip) ? "not scored" : worth ? short(worth) : "unscored"),
        h("span", { class: "st-dots" }, dots.map((state) => glyph(state))), turn > 0 && sr(moved)),
    );
  }

  const wordsOf = (nodes) => nodes.map((node) => (typeof node === "string" ? node : wordsOf(node.slice(2)))).join(" ").trim();

  // -- the chat -----------------------------------------------------------------------------------------------------
  function bubble(key, make) {
    if (!bubbles.has(key)) bubbles.set(key, make());
    return bubbles.get(key);
  }
  function said(role, content, turn) {
    return h("li", { class: "dl-msg", "data-role": role, "data-turn": turn }, sr(`${role === "user" ? "User" : "Assistant"}: `), content);
  }
  function turnLine(here) {
    return h("li", { class: "dl-turn", "data-turn": here.turn }, h("span", null, `Turn ${here.turn}`),
      here.assistant && h("span", null, here.assistant),
      h("span", null, here.worth ? `reward ${here.worth.text}` : "unscored"));
  }
  // What was touched without counting is marked in its own colour.
  function marked(here) {
    const counted = Object.keys(here.news), parts = built(here.reply);
    for (const place of parts.flatMap((part) => (part.querySelectorAll ? [...part.querySelectorAll("[data-ids]")] : [])))
      if (!place.dataset.ids.split(" ").some((id) => counted.includes(id))) place.dataset.touch = "1";
    return parts;
  }
  const replyOf = (here) => said("assistant", [
    marked(here),
    here.written && h("details", { class: "dl-more" }, h("summary", null, "source text"), h("p", { class: "dl-quiet" }, "The reply was made from this text, in compact notation:"), h("pre", { class: "dl-code" }, here.written)),
  ], here.turn);
  const answerOf = (here) => said("user", [
    built(here.answer), here.flaws && h("p", { class: "dl-flaw" }, `⚠ A check of this message found a problem: ${here.flaws}`),
  ], here.turn);

  function paintChat() {
    const key = `${ui.strip} ${ui.turn} ${path().slice(0, ui.turn + 1).join()}`;
    const items = [bubble(`request ${JSON.stringify(record.request)}`, () => said("user", built(record.request), 0))];
    for (let turn = 1; turn <= ui.turn; turn += 1) {
      const here = moment(turn), same = JSON.stringify([here.reply, here.answer, here.flaws, here.worth, here.receipt]);
      items.push(bubble(`line ${turn} ${same}`, () => turnLine(here)));
      items.push(bubble(`reply ${turn} ${same}`, () => replyOf(here)));
      if (here.answer) items.push(bubble(`answer ${turn} ${same}`, () => answerOf(here)));
    }
    for (const item of items) item.dataset.now = String(Number(item.dataset.turn) === ui.turn);
    if (items.length !== at.chat.children.length || items.some((item, place) => at.chat.children[place] !== item))
      at.chat.replaceChildren(...items);
    if (key === ui.shown) return;
    ui.shown = key;
    follow = true;
    reveal(shownBefore && !calm);
    shownBefore = true;
  }
  // The turn looked at stays in view while its drawings arrive, until somebody scrolls.
  let follow = true, shownBefore = false;
  function reveal(smooth) {
    const line = at.chat.querySelector(`.dl-turn[data-turn="${ui.turn}"]`);
    window_.scrollTo({ top: line ? line.offsetTop - 4 : 0, behavior: smooth ? "smooth" : "auto" });
  }
  new ResizeObserver(() => { if (follow) reveal(false); }).observe(at.chat);
  for (const name of ["wheel", "touchmove", "keydown", "pointerdown"]) window_.addEventListener(name, () => { follow = false; }, { passive: true });

  // -- the intent map -----------------------------------------------------------------------------------------------
  const sees = (here, id) => ui.open || stateOf(here, id) === "discovered";

  function wish(here, id) {
    const text = byId[id].text;
    if (sees(here, id)) return h("span", { class: "st-text" }, text);
    const half = stateOf(here, id) === "emerging";
    return h("span", { class: "st-fog", "data-half": String(half), "--long": Math.max(7, Math.min(26, Math.round(text.length * 0.62))) },
      sr(half ? "emerging intent" : "undiscovered intent"));
  }
  const places = (ids) => (ids || []).map((id) => record.map.ids.indexOf(id));
  function mapMoment(here) {
    const moved = Object.keys(here.news || {}).filter((id) => here.news[id].startsWith("now"));
    return {
      turn: here.turn, states: here.states, satisfied: places(here.satisfied), frontier: places(here.frontier), moved: places(moved),
      focus: places(here.focus), touched: places(here.touched && here.touched.halo), would: [], reasons: here.reasons || {},
    };
  }
  function tellMap(values) {
    const news = Object.keys(values).filter((name) => JSON.stringify(map[name]) !== JSON.stringify(values[name]));
    Object.assign(map, values);
    for (const name of news) (heardByMap[`change:${name}`] || []).forEach((heard) => heard());
  }
  let drawnMap = null;
  function paintMap() {
    const frame = record.map, moments = path().slice(0, ui.turn + 1).map((place) => mapMoment(record.moments[place]));
    if (!drawnMap || JSON.stringify(map.frame) !== JSON.stringify(frame)) {
      if (drawnMap) drawnMap();
      at.map.replaceChildren();
      Object.assign(map, { frame, moments, at: ui.turn, value: [] });
      drawnMap = intentMap(at.map, {
        get: (name) => map[name], set: (name, value) => { map[name] = value; }, save_changes() {}, send() {},
        on: (name, heard) => (heardByMap[name] ||= []).push(heard), off: (name, heard) => { heardByMap[name] = (heardByMap[name] || []).filter((each) => each !== heard); },
      });
    } else {
      map.at = ui.turn;
      tellMap({ moments });
    }
  }

  // -- the receipt --------------------------------------------------------------------------------------------------
  const indexed = (text) => text.split(/_([a-z])\b/).map((part, place) => (place % 2 ? h("sub", null, part) : part));

  function paintReceipt() {
    const here = moment();
    if (ui.turn === 0) return at.receipt.replaceChildren(h("p", { class: "dl-quiet" }, "No reply yet. Press ", h("i", null, "Next"), "."));
    const parts = [h("p", { class: "dl-small dl-quiet st-judge" }, counts(ui.turn) ? here.judge : `${here.judge} This turn is not part of the score.`)];
    if (!here.receipt) parts.unshift(h("p", { class: "dl-error" }, `Turn ${here.turn}: this reply is unscored.`));
    else {
      const lines = here.receipt.lines.map((line) => h("li", { class: "st-line", "data-ids": line.id, tabindex: "0" },
        h("div", { class: "st-what" }, glyph(stateOf(here, line.id), { "data-satisfied": here.satisfied.includes(line.id) ? 1 : 0 }), wish(here, line.id)),
        h("span", { class: "dl-num" }, line.worth),
        h("div", { class: "st-why" }, h("span", { class: "dl-chip", "data-tone": line.tone || "plain" }, line.change), " ", line.near.length && !sees(here, line.id) ? "near miss: the reply shows another value of the same kind," : line.why, " ",
          line.near.length ? h("span", { class: "dl-small dl-quiet" }, line.near.map((near) => `“${near}”`).join(", ")) : null)));
      if (!lines.length) lines.push(h("li", { class: "st-line" }, h("div", { class: "st-what" }, "No intent changed."), h("span", { class: "dl-num" }, "+0")));
      parts.push(h("ul", { class: "dl-plain st-lines" }, lines));
      parts.push(h("dl", { class: "st-sums" }, here.receipt.sums.map((sum) => h("div", null,
        h("dt", null, indexed(sum.name), sum.how && h("span", { class: "dl-quiet dl-small" }, ` ${sum.how}`)), h("dd", { class: "dl-num" }, sum.worth)))));
    }
    parts.push(...notCounted(here), mayNowSay(here));
    at.receipt.replaceChildren(...parts);
  }

  function notCounted(here) {
    const { lines, repeated, about, complete } = here.touched;
    const parts = [];
    const met = lines.filter((line) => line.met), near = lines.filter((line) => !line.met);
    if (met.length || near.length || repeated.length) {
      parts.push(h("p", { class: "st-sub" }, h("b", null, "Matched, but not counted")));
      if (lines.length) parts.push(h("p", { class: "dl-small" }, `The user was thinking about ${about || "another intent"}, and only intents about that could change.`));
      const item = (line) => h("li", { class: "st-touch", "data-ids": line.id, tabindex: "0" },
        h("span", { class: "st-text" }, byId[line.id].text), h("span", { class: "dl-small dl-quiet" }, ` ${line.why}${line.reason ? `: ${line.reason}` : ""}.`));
      if (met.length) parts.push(h("ul", { class: "dl-plain" }, met.map(item)));
      if (near.length) parts.push(h("p", { class: "dl-small dl-quiet st-touch", "data-ids": near.map((line) => line.id).join(" "), tabindex: "0" }, `It also has near misses of ${count(near.length, "other intent")}.`));
      if (repeated.length) parts.push(h("p", { class: "dl-small st-touch", "data-ids": repeated.join(" "), tabindex: "0" },
        `${lines.length ? "It also" : "It only"} repeats: ${repeated.map((id) => byId[id].text).join("; ")} (satisfied before).`));
    }
    if (!complete) parts.push(h("p", { class: "dl-small dl-quiet" }, "The judge checked only what the user was thinking about. Other matches are unknown."));
    return parts;
  }

  function mayNowSay(here) {
    const items = here.view.items.map((id) => h("li", { class: "dl-item", "data-ids": id }, glyph(here.view.state), wish(here, id)));
    return h("details", { class: "dl-more" }, h("summary", { "data-key": "view" }, "What the user may say now"), h("p", { class: "dl-small" }, here.view.manner), h("ul", { class: "dl-plain" }, items));
  }

  // -- what would each discover -------------------------------------------------------------------------------------
  function paintCards() {
    const cards = now.considered || [], here = moment(), others = here.others || [];
    const parts = [];
    if (cards.length) parts.push(h("section", { class: "st-panel" },
      head(`What each assistant would discover in turn ${ui.turn + 1}`),
      h("p", { class: "dl-quiet dl-small" }, "Best first. These replies are not part of the conversation yet."),
      h("div", { class: "st-cards" }, cards.map((each) => card(here, each, true)))));
    else if (others.length) parts.push(h("details", { class: "st-panel st-others" },
      h("summary", { "data-key": "others" }, `The other replies to turn ${ui.turn}: ${others.length}`),
      h("div", { class: "st-cards" }, others.map((each) => card(here, each, false)))));
    at.cards.replaceChildren(...parts);
  }

  function card(here, each, open) {
    const drawn = pictures(each.reply), worth = each.worth;
    const lights = worth ? [...worth.discovered, ...worth.emerging] : [];
    const would = lights.map((id) => h("li", { class: "dl-item" }, glyph(worth.discovered.includes(id) ? "discovered" : "emerging"), wish(here, id)));
    return h("article", { class: "st-card", "data-would": open ? lights.join(" ") : "" },
      h("div", { class: "st-first" }, drawn.length ? h("div", { class: "st-drawn" }, drawn) : null, h("p", null, each.first)),
      h("p", { class: "st-gain" }, h("b", null, worth ? worth.text : "unscored"), " ", each.assistant, each.sees && h("span", { class: "dl-chip", "data-tone": "emerging" }, "sees all intents")),
      would.length ? h("ul", { class: "dl-plain dl-small" }, would) : h("p", { class: "dl-small dl-quiet" }, worth ? `${open ? "Would change" : "Changes"} no intent.` : each.why),
      h("details", { class: "dl-more" }, h("summary", null, "full reply"), h("div", null, built(each.reply))),
      open && press(`take-${each.place}`, `Continue with ${each.assistant}`, () => send({ do: "take", place: each.place }), {}, `Continue with ${each.assistant}`));
  }

  // -- two lines side by side ---------------------------------------------------------------------------------------
  function paintBeside() {
    const pair = ui.beside.length === 2 && record.pairs.find((each) => each.strips.every((one) => ui.beside.includes(one)));
    main.hidden = Boolean(pair);
    if (!pair) {
      if (at.map.parentNode !== home) home.append(at.map);
      tellMap({ beside: "" });
      return at.beside.replaceChildren();
    }
    const [one, other] = pair.strips, longest = Math.max(path(one).length, path(other).length) - 1;
    const close = press("beside-close", null, () => { ui.beside = []; paint(); }, {}, "Back to one conversation");
    const column = (strip, turn) => {
      if (turn >= path(strip).length) return h("div", { class: "st-column" }, h("p", { class: "dl-quiet" }, "ended earlier"));
      const here = moment(turn, strip);
      return h("ol", { class: "dl-plain dl-chat st-column", "aria-label": `${record.strips[strip].name}, turn ${turn}` }, turnLine(here), replyOf(here), here.answer && answerOf(here));
    };
    const lengths = pair.strips.map((strip) => `${record.strips[strip].name} has ${count(path(strip).length - 1, "turn")}`);
    const uneven = path(one).length === path(other).length ? "" : ` Below, ${lengths.join(" and ")}.`;
    const moments = path(one).map((place) => mapMoment(record.moments[place]));
    map.at = moments.length - 1;
    tellMap({ moments, beside: record.moments[path(other).at(-1)].states });
    const rows = [];
    if (pair.same) rows.push(h("p", { class: "dl-quiet dl-small" }, `The same for ${count(pair.same, "turn")}.`));
    for (let turn = pair.same + 1; turn <= longest; turn += 1) {
      if (turn === pair.same + 1) rows.push(h("div", { class: "ds-apart" }, h("span", null, "here they part")));
      rows.push(h("div", { class: "st-two" }, column(one, turn), column(other, turn)));
    }
    at.beside.replaceChildren(h("section", { class: "st-panel" }, head("Side by side", close), h("p", { class: "st-sentence" }, pair.sentence, uneven),
      at.map, h("div", { class: "st-two st-names" }, h("b", null, "A: ", record.strips[one].label), h("b", null, "B: ", record.strips[other].label)), rows));
  }

  // -- notes, set-up ------------------------------------------------------------------------------------------------
  function paintNote() {
    const parts = [];
    if (now.trouble) parts.push(h("p", { class: "dl-error", role: "alert" }, now.trouble));
    else if (now.over && ui.turn === last()) parts.push(h("p", { class: "dl-quiet" }, now.over));
    if (live && ui.turn === last() && ui.turn >= scored() && !now.over) parts.push(h("p", { class: "dl-quiet" }, `The ${count(scored(), "scored turn is", "scored turns are")} over. You can go on: later turns do not count.`));
    if (setup && setup.before) parts.push(h("p", { class: "dl-quiet st-undo" }, `The conversation before (${setup.before}) is kept. `, press("undo", null, () => send({ do: "undo" }), { class: "st-button st-small" }, "Return to it")));
    at.note.replaceChildren(...parts);
    const ended = Boolean(now.over) && ui.turn === last();
    box.disabled = Boolean(now.mute);
    reply.disabled = box.disabled || ended || !box.value.trim();
    if (now.mute) box.placeholder = now.mute;
    else if (ended) box.placeholder = now.over;
    else box.placeholder = EXAMPLE;
    consider.disabled = ended || box.disabled;
    at.branch.disabled = box.disabled;
    if ((now.sent || 0) > ui.sent) {
      box.value = "";
      reply.disabled = true;
    }
    ui.sent = now.sent || 0;
  }

  function paintSetup() {
    if (!setup || !setup.chosen) return;
    const was = at.setup.querySelector("details");
    const chosen = setup.chosen, wanted = { ...chosen };
    const menu = (label, options, value, onchange) => {
      const select = h("select", { onchange: () => onchange(select.value) }, options.map((each) => h("option", { value: each.value, selected: String(each.value) === String(value) }, each.label)));
      return h("label", { class: "st-menu" }, h("span", null, label), select);
    };
    const users = h("div", { class: "st-row" });
    const begin = press("begin", null, () => send({ do: "open", ...wanted }), {}, "Start conversation");
    const paintUsers = () => {
      const from = setup.users.find((each) => each.value === wanted.source) || setup.users[0];
      const kind = from.domains.find((each) => each.value === wanted.domain) || from.domains[0];
      const user = kind.users.find((each) => each.value === wanted.artifact) || kind.users[0];
      Object.assign(wanted, { source: from.value, domain: kind.value, artifact: user.value });
      users.replaceChildren(
        menu("Source", setup.users, wanted.source, (value) => { wanted.source = value; paintUsers(); }),
        menu("Kind of goal", from.domains, wanted.domain, (value) => { wanted.domain = value; paintUsers(); }),
        menu("User", kind.users, wanted.artifact, (value) => { wanted.artifact = value; }),
        menu("Random seed", [...Array(30).keys(), ...(chosen.seed > 29 ? [chosen.seed] : [])].map((each) => ({ value: each, label: each })), wanted.seed, (value) => { wanted.seed = Number(value); }),
        begin);
    };
    paintUsers();
    const choices = (legend, name, options, told) => h("fieldset", { class: "st-choices" }, h("legend", null, legend), options.map((each) => {
      const input = h("input", { type: "radio", name, value: each.value, checked: each.value === chosen[name], onchange: () => send({ do: name, name: each.value }) });
      return h("label", null, input, h("span", null, h("b", null, each.label), ` ${each.about}`));
    }), told && h("p", { class: "dl-quiet dl-small" }, told));
    const details = h("details", null, h("summary", { "data-key": "setup" }, h("b", null, "⚙ Set-up: "), setup.line),
      h("div", { class: "st-form" }, users,
        choices("Assistant for the next turn", "assistant", setup.assistants, setup.assistants.length > 1 && "The new assistant continues from this turn."),
        choices("Rules of the reward", "rules", setup.rules, "Other rules start a new conversation. Then “Return to it” brings this one back.")));
    details.open = Boolean(was && was.open);
    details.lastChild.append(h("div", { class: "st-row" }, at.reset, at.share, at.keys));
    at.setup.replaceChildren(details);
  }

  // -- boxes -------------------------------------------------------------------------------------------------------
  // The conversation as a file: asked of Python when the box opens, so that it is of this very moment.
  let awaited = 0, sharer = null;
  function share(anchor) {
    sharer = anchor;
    awaited = Date.now();
    send({ do: "share", number: awaited });
  }
  function shared() {
    const told = source.get("shared") || {};
    if (told.number !== awaited) return;
    const save = press("save", null, () => {
      const url = URL.createObjectURL(new Blob([told.file], { type: "application/json" }));
      h("a", { href: url, download: "discover-session.json" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    }, { class: "st-button st-small" }, "Save to a file");
    const file = h("input", { type: "file", accept: ".json,application/json", class: "dl-sr", tabindex: "-1", "aria-label": "A saved session", onchange: () =>
      file.files[0].text().then((text) => { at.pop.hidePopover(); send({ do: "load", text }); }) });
    const load = press("load", null, () => file.click(), { class: "st-button st-small" }, "Open a file");
    show(sharer, "Share", [
      h("p", null, "The file opens this conversation at this turn, with its branches and your own replies."),
      h("div", { class: "st-row" }, save, load, file)]);
  }

  function keySheet(anchor) {
    show(anchor, "Keyboard shortcuts", [h("dl", { class: "st-keys" }, KEYS.filter(([, , where]) => live || !where).map(([key, does]) => h("div", null, h("dt", null, key), h("dd", null, does))))]);
  }
  function show(anchor, title, content) {
    at.pop.replaceChildren(h("p", { class: "st-pop-title" }, h("b", null, ...indexed(title))), ...content.filter(Boolean));
    at.pop.setAttribute("role", "dialog");
    at.pop.setAttribute("aria-label", title);
    if (!at.pop.matches(":popover-open")) at.pop.showPopover();
    const place = anchor.getBoundingClientRect(), size = at.pop.getBoundingClientRect();
    const below = place.bottom + size.height + 10 < innerHeight;
    at.pop.style.left = `${Math.max(8, Math.min(place.left, innerWidth - size.width - 8))}px`;
    at.pop.style.top = `${Math.max(8, below ? place.bottom + 6 : place.top - size.height - 6)}px`;
  }

  // -- what lights up together --------------------------------------------------------------------------------------
  function light(ids, outside = false) {
    if (!outside) window.dispatchEvent(new CustomEvent("discover:hover", { detail: { ids, from: body } }));
    for (const each of body.querySelectorAll("[data-ids]"))
      each.toggleAttribute("data-lit", each.dataset.ids.split(" ").some((id) => ids.includes(id)));
    for (const each of body.querySelectorAll(".st-part")) each.remove();
    for (const figure of body.querySelectorAll("[data-parts][data-lit]")) outline(figure, ids);
  }
  // Where on a drawing an intent was met: its shares of the picture, which may be narrower than its element.
  function outline(figure, ids) {
    const image = figure.querySelector("img");
    if (!image || !image.naturalWidth) return;
    const scale = Math.min(image.clientWidth / image.naturalWidth, image.clientHeight / image.naturalHeight);
    const [wide, tall] = [image.naturalWidth * scale, image.naturalHeight * scale];
    const x = image.offsetLeft + image.clientLeft + (image.clientWidth - wide) / 2;
    const y = image.offsetTop + image.clientTop + (image.clientHeight - tall) / 2;
    for (const part of figure.dataset.parts.split(" ")) {
      const [id, box] = [part.slice(0, part.lastIndexOf("=")), part.slice(part.lastIndexOf("=") + 1)];
      if (!ids.includes(id)) continue;
      const [left, top, right, bottom] = box.split(",").map(Number);
      const frame = h("span", { class: "st-part", "aria-hidden": "true" });
      const at = { left: x + left * wide, top: y + top * tall, width: (right - left) * wide, height: (bottom - top) * tall };
      for (const [side, pixels] of Object.entries(at)) frame.style[side] = `${pixels}px`;
      image.parentElement.append(frame);
    }
  }
  const fromOutside = ({ detail }) => detail.from !== body && light(detail.ids, true);
  window.addEventListener("discover:hover", fromOutside);
  function preview(card) {
    const would = card ? places(card.dataset.would.split(" ").filter(Boolean)) : [], here = map.moments[map.at];
    if (here && would.join() !== here.would.join()) tellMap({ moments: [...map.moments.slice(0, -1), { ...here, would }] });
  }
  const named = (element) => element && element.closest && element.closest("[data-ids]");
  const point = (event) => {
    // A focused line stays lit when the page scrolls below the pointer.
    const place = named(event.target) || named(root.getRootNode().activeElement);
    light(place ? place.dataset.ids.split(" ") : []);
    preview(event.target.closest && event.target.closest(".st-card"));
  };
  body.addEventListener("mouseover", point);
  body.addEventListener("focusin", point);
  body.addEventListener("mouseleave", () => { light([]); preview(null); });

  // -- keys ---------------------------------------------------------------------------------------------------------
  box.addEventListener("input", () => { reply.disabled = !box.value.trim(); });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) reply.click();
  });
  function key(event) {
    if (!body.isConnected) return document.removeEventListener("keydown", key);
    if (body.hidden) return;
    const target = event.composedPath()[0];
    const inside = event.composedPath().includes(body);
    const listed = target.closest && target.closest("[data-pick]"); // in a list whose conversations this stage shows
    if (!inside && !listed && target !== document.body && target !== document.documentElement) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (target.closest && target.closest("input, textarea, select, [contenteditable]")) return;
    const onButton = target.closest && target.closest("button, summary");
    const action = {
      ArrowLeft: () => go(ui.turn - 1), ArrowRight: next, Home: () => go(0), End: () => go(last()),
      " ": () => play(!playing()), b: () => at.branch.click(), r: () => at.reset.click(), "?": () => keySheet(at.keys),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || (event.key === " " && onButton) || (!live && "br".includes(event.key))) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key !== " ") going = false;
    action();
  }
  for (const kind of ["click", "change"]) body.addEventListener(kind, byHand, true);
  document.addEventListener("keydown", key);
  // -- what comes in ------------------------------------------------------------------------------------------------
  function take() {
    record = source.get("record");
    pending = false;
    body.hidden = !record || !record.strips;
    const given = source.get("now") || {};
    const late = live && (given.jumps || 0) < ui.jumps; // an answer to a jump before the last one
    now = late ? { ...given, strip: ui.strip, turn: ui.turn } : given;
    if (!record || !record.strips) return;
    ui.strip = Math.min(now.strip ?? ui.strip, record.strips.length - 1);
    ui.turn = Math.min(now.turn ?? ui.turn, path().length - 1);
    ui.beside = ui.beside.filter((each) => each < record.strips.length);
    paint();
    if (branches && record.strips.length > branches) arrive(at.strips.lastElementChild);
    branches = record.strips.length;
  }
  // A branch that was just made is shown, wherever the page is scrolled to.
  function arrive(strip) {
    strip.classList.add("dl-arrived");
    strip.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
  }
  let due = false; // several values of one message arrive one by one; they are painted once, when all are there
  const soon = () => {
    if (due) return;
    due = true;
    queueMicrotask(() => { due = false; setup = source.get("setup"); paintSetup(); take(); });
  };
  for (const name of ["record", "now", "setup"]) source.on(name, soon);
  source.on("shared", shared);
  setup = source.get("setup");
  ui.jumps = (source.get("now") || {}).jumps || 0;
  ui.sent = (source.get("now") || {}).sent || 0;
  paintSetup();
  take();
  return () => { if (drawnMap) drawnMap(); window.removeEventListener("discover:hover", fromOutside); clearTimeout(timer); document.removeEventListener("keydown", key); };
}

export default {
  render({ model, el }) {
    return stage(el, {
      get: (name) => model.get(name),
      on: (name, call) => model.on(`change:${name}`, call),
      send: (message) => model.send(message),
    });
  },
};
