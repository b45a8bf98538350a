"use strict";
// Everything was rendered by Python; this only shows one turn of it. Texts reach the page through textContent alone.
(() => {
  const data = JSON.parse(document.getElementById("dp-data").textContent);
  const at = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const rows = all(".dl-row");
  const slider = at("dp-turn"), tip = at("dp-tip"), chat = at("dp-chat"), outline = at("dp-outline");
  const last = data.turns.length - 1;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let turn = -1, timer = null;

  function show(wanted) {
    const next = Math.max(0, Math.min(last, wanted));
    if (next === turn) return;
    const forward = next > turn;
    turn = next;
    const now = data.turns[turn];
    rows.forEach((row, index) => paintRow(row, now.rows[index]));
    all(".dl-tree").forEach((tree) => { tree.dataset.focus = now.focus.includes(tree.dataset.root) ? "1" : "0"; });
    all(".dl-chat > li").forEach((item) => {
      const said = Number(item.dataset.turn);
      item.hidden = said > turn;
      item.dataset.new = forward && said === turn && turn > 0 ? "1" : "0";
    });
    all("[data-panel]").forEach((panel) => { panel.hidden = Number(panel.dataset.panel) !== turn; });
    all(".dp-ticks li").forEach((tick, index) => tick.toggleAttribute("aria-current", index === turn));
    at("dp-marker").setAttribute("transform", `translate(${turn} 0)`);
    at("dp-where").textContent = now.where;
    at("dp-count").textContent = now.count;
    at("dp-live").textContent = now.spoken;
    slider.value = turn;
    slider.setAttribute("aria-valuetext", now.where);
    at("dp-back").disabled = turn === 0;
    at("dp-next").disabled = turn === last;
    reveal();
    hideTip();
  }

  function paintRow(row, [state, satisfied, frontier, moved, news]) {
    Object.assign(row.dataset, { state, satisfied, frontier, moved });
    const chip = row.querySelector(".dl-chip");
    chip.textContent = news;
    chip.dataset.tone = !moved ? "plain" : state === "emerging" ? "emerging" : "known";
    row.querySelector(".dl-spoken").textContent = state + (satisfied ? ", satisfied" : "");
  }

  // Scrolls inside the two windows only, so that the page itself never jumps.
  function reveal() {
    const start = chat.querySelector(`.dl-turn[data-turn="${turn}"]`);
    chat.scrollTo({ top: start ? start.offsetTop - 6 : 0, behavior: calm ? "auto" : "smooth" });
    const moved = rows.find((row) => row.dataset.moved === "1") || outline.querySelector('[data-focus="1"]');
    if (!moved) return;
    const top = moved.getBoundingClientRect().top - outline.getBoundingClientRect().top + outline.scrollTop;
    const hidden = top < outline.scrollTop + 10 || top > outline.scrollTop + outline.clientHeight - 60;
    if (hidden) outline.scrollTo({ top: top - outline.clientHeight / 3, behavior: calm ? "auto" : "smooth" });
  }

  function play(on) {
    clearInterval(timer);
    timer = null;
    if (on) {
      show(turn === last ? 0 : turn + 1);
      timer = setInterval(() => (turn === last ? play(false) : show(turn + 1)), data.seconds * 1000);
    }
    at("dp-play").textContent = on ? "Pause" : "Play";
  }
  const go = (wanted) => { play(false); show(wanted); };

  function showTip(row) {
    const [state, satisfied, frontier, , , theta, why] = data.turns[turn].rows[rows.indexOf(row)];
    const facts = [state + (satisfied ? ", satisfied" : "")];
    if (state !== "discovered") facts.push(`θ left: ${theta}`);
    if (frontier) facts.push("frontier");
    tip.replaceChildren();
    const title = document.createElement("strong");
    title.textContent = `${row.dataset.id}  ${data.texts[rows.indexOf(row)]}`;
    tip.append(title, `\n${facts.join(" · ")}`, why ? `\n${why}` : "");
    tip.hidden = false;
    const place = row.querySelector(".dl-want").getBoundingClientRect();
    const below = place.bottom + tip.offsetHeight + 12 < innerHeight;
    tip.style.left = `${Math.max(8, Math.min(place.left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${below ? place.bottom + 6 : place.top - tip.offsetHeight - 6}px`;
    row.setAttribute("aria-describedby", "dp-tip");
  }
  function hideTip() {
    tip.hidden = true;
    all("[aria-describedby='dp-tip']").forEach((row) => row.removeAttribute("aria-describedby"));
  }

  // The outline is one tab stop; the arrow keys up and down walk its rows.
  rows.forEach((row, index) => {
    row.tabIndex = index ? -1 : 0;
    row.addEventListener("mouseenter", () => showTip(row));
    row.addEventListener("mouseleave", hideTip);
    row.addEventListener("focus", () => {
      rows.forEach((each) => { each.tabIndex = each === row ? 0 : -1; });
      showTip(row);
    });
    row.addEventListener("blur", hideTip);
    row.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      (rows[index + step] || row).focus();
    });
  });

  at("dp-back").addEventListener("click", () => go(turn - 1));
  at("dp-next").addEventListener("click", () => go(turn + 1));
  at("dp-play").addEventListener("click", () => play(timer === null));
  slider.addEventListener("input", () => go(Number(slider.value)));
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTip();
    if (event.target === slider || event.ctrlKey || event.metaKey || event.altKey) return;
    const wanted = { ArrowLeft: turn - 1, ArrowRight: turn + 1, Home: 0, End: last }[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    go(wanted);
  });
  addEventListener("scroll", hideTip, true);

  at("dp-theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  document.documentElement.classList.add("dp-js");
  const asked = /^#turn=(\d+)$/.exec(location.hash);
  show(asked ? Number(asked[1]) : 0);
})();
