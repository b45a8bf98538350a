// One user and several assistants, turn by turn: plays a record of workbench.story.  It works without a kernel.  With
// a kernel, the visitor can meet another user and be the assistant.
const PAUSE = 6000; // milliseconds between two turns while it plays

const LEGEND = {
  undiscovered: "has no words",
  emerging: "can only hint",
  discovered: "can name it (discovered)",
};

const make = (name, className = "", text = "") => {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
};
const button = (text, label, onClick, className = "st-button") => {
  const element = make("button", className, text);
  element.type = "button";
  if (text) element.setAttribute("aria-label", label); // one that is filled later is named by what it holds
  element.title = label;
  element.addEventListener("click", onClick);
  return element;
};

function paintPicture(box, picture, name) {
  const share = picture.share;
  box.style.setProperty("--st-fog", (1 - share).toFixed(3));
  if (picture.drawing) {
    let image = box.querySelector("img");
    if (!image) {
      image = make("img");
      box.replaceChildren(image);
    }
    image.src = picture.drawing;
    image.alt = `${name}: ${Math.round(share * 100)}% of the details are discovered`;
    return;
  }
  if (!picture.lines.length) {
    box.replaceChildren(make("span", "st-none", "?")); // the user cannot picture anything yet
    return;
  }
  box.replaceChildren(
    ...picture.lines.map((line, place) => {
      const row = make("p", "st-line", line ?? "");
      if (line === null) {
        row.dataset.hidden = "1";
        row.style.setProperty("--st-width", `${55 + ((place * 37) % 40)}%`);
        row.setAttribute("aria-label", "a detail that is not discovered yet");
      }
      return row;
    }),
  );
}

function makeDot(glyph, state) {
  const dot = make("span", "st-dot");
  dot.innerHTML = glyph; // finished markup of ours
  dot.firstElementChild.dataset.state = state;
  return dot;
}

function makeColumn(column, story, actions) {
  const root = make("article", "st-col");
  root.dataset.key = column.key;
  const head = make("header", "st-head");
  head.append(make("h3", "", column.key), make("p", "", column.about));
  const said = make("div", "st-said");
  said.setAttribute("role", "region");
  said.setAttribute("aria-label", `Reply of ${column.key}`);
  const heard = make("div", "st-heard");
  const picture = make("div", "st-picture");
  const dots = make("div", "st-dots");
  dots.setAttribute("aria-hidden", "true");
  const glyphs = {};
  let group = null;
  let tree = null;
  for (const intent of story.intents) {
    if (intent.tree !== tree) {
      group = make("span", "st-tree");
      dots.append(group);
      tree = intent.tree;
    }
    const dot = makeDot(story.glyph, "undiscovered");
    dot.dataset.node = intent.id;
    glyphs[intent.id] = dot;
    group.append(dot);
  }
  const count = make("p", "st-count");
  const known = make("ul", "dl-sr");
  const mind = make("div", "st-head-of");
  const idea = make("div", "st-idea");
  idea.append(picture, make("p", "st-label", "the user’s idea so far"));
  mind.append(idea, count, dots);
  root.append(head, said, heard, mind, known);
  dots.addEventListener("pointerover", (event) => actions.point(event.target.closest(".st-dot")?.dataset.node ?? null));
  dots.addEventListener("pointerleave", () => actions.point(null));

  const show = (turn, open) => {
    const at = Math.min(turn, column.moments.length - 1);
    const moment = column.moments[at];
    const over = turn > at;
    root.dataset.over = over ? "1" : "0";
    said.innerHTML = moment.reply || ""; // finished markup: texts in it are escaped where the record is made
    said.tabIndex = moment.reply ? 0 : -1; // a long reply scrolls
    said.toggleAttribute("data-whole", moment.options); // options that the user speaks of are never cut off
    heard.innerHTML = moment.user || "";
    heard.hidden = !moment.user;
    paintPicture(picture, moment.picture, "The user’s idea so far");
    for (const intent of story.intents) {
      const dot = glyphs[intent.id];
      const state = moment.states[intent.id];
      const glyph = dot.firstElementChild;
      glyph.dataset.state = state;
      glyph.dataset.moved = moment.moved.includes(intent.id) ? "1" : "0";
      dot.dataset.state = state;
      dot.title = state === "discovered" || open ? intent.text : "something not discovered yet";
    }
    count.replaceChildren(
      make("b", "", String(moment.known)),
      make("span", "", ` of the other ${moment.of} intents`),
    );
    const found = story.intents.filter((intent) => moment.states[intent.id] === "discovered");
    known.replaceChildren(...found.map((intent) => make("li", "", intent.text)));
    return moment;
  };
  const mark = (node) => {
    for (const [id, dot] of Object.entries(glyphs)) dot.toggleAttribute("data-pointed", id === node);
  };
  return { root, show, mark, column };
}

// Follows the theme of the page around: a widget may live in a shadow tree, which the page's classes do not reach.
function followTheme(el) {
  const follow = () => {
    const jupyter = document.body.dataset.jpThemeLight;
    const dark = document.querySelector("html.dark, body.dark, .marimo.dark") !== null || jupyter === "false";
    const light = document.querySelector("html.light, body.light") !== null || jupyter === "true";
    if (dark || light) el.dataset.theme = dark ? "dark" : "light";
    else delete el.dataset.theme;
  };
  const observer = new MutationObserver(follow);
  for (const each of [document.documentElement, document.body]) observer.observe(each, { attributes: true });
  follow();
  return () => observer.disconnect();
}

export default {
  render({ model, el }) {
    el.classList.add("dl", "st");
    const unfollow = followTheme(el);
    let turn = 0;
    let playing = null;
    let open = false;
    let seen = false; // to the end, of this user's story
    let chosen = 2; // the column that a phone shows
    let columns = [];
    let story = null;

    const last = () => Math.max(...columns.map((each) => each.column.moments.length - 1));
    const point = (node) => columns.forEach((each) => each.mark(node));

    const paint = () => {
      turn = Math.max(0, Math.min(turn, last()));
      const reveals = !seen && turn === last();
      if (reveals) {
        seen = open = true;
        paintWanted();
      }
      const moments = columns.map((each) => each.show(turn, open));
      slider.max = String(last());
      slider.value = String(turn);
      where.textContent = turn ? `turn ${turn} of ${last()}` : "before the first reply";
      slider.setAttribute("aria-valuetext", where.textContent);
      back.disabled = turn === 0;
      back.hidden = slider.hidden = turn === 0 && !seen;
      const ended = seen && (!model.get("mine").moments || turn === last()); // first the guess or your turn, then the end
      captions.hidden = !ended;
      paintGuess();
      next.disabled = turn === last();
      columns.forEach((each, place) => {
        tabs.children[place]?.replaceChildren(
          make("span", "", each.column.key),
          make("b", "", String(moments[place].known)),
        );
      });
      if (reveals && ended) setTimeout(() => { if (captions.getBoundingClientRect().bottom > innerHeight) show(captions); }, 300); // pictures load
      status.textContent = `${where.textContent}: ${columns.map((each, place) => `${each.column.key} ${moments[place].known}`).join(", ")} discovered`;
    };
    const show = (part) => {
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      part.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
    };
    const go = (to) => {
      turn = to;
      paint();
    };
    const stop = () => {
      clearInterval(playing);
      playing = null;
      bar.removeAttribute("data-playing");
      play.textContent = "▶ Play";
      play.setAttribute("aria-label", "Play");
    };
    const start = () => {
      if (turn === last()) turn = 0;
      go(turn + 1);
      play.textContent = "❚❚ Pause";
      play.setAttribute("aria-label", "Pause");
      const wait = () => { bar.removeAttribute("data-playing"); void bar.offsetWidth; bar.setAttribute("data-playing", ""); };
      wait();
      playing = setInterval(() => { if (turn < last()) go(turn + 1); if (turn < last()) wait(); else stop(); }, PAUSE);
    };
    let guessed = null;
    const makeGuess = (name, chosen) => { // radios are one stop of the keyboard
      const label = make("label", "st-button"), input = make("input");
      Object.assign(input, { type: "radio", name: "st-guess", ariaLabel: `Guess: ${name}` });
      input.addEventListener("change", chosen);
      label.append(input, name);
      return label;
    };
    const paintGuess = () => {
      guesses.querySelectorAll("input").forEach((each, place) => { each.checked = place === guessed; });
      const found = story.columns.map((each) => each.moments.at(-1).known), most = Math.max(...found);
      const names = story.columns.filter((_, place) => found[place] === most).map((each) => each.key).join(" and ");
      const said = guessed === null ? "" : found[guessed] === most ? "You were right: " : `You guessed ${story.columns[guessed].key}, but `;
      verdict.textContent = seen ? `${said}${names} discovered most.` : "";
    };
    const choose = (place) => {
      chosen = place;
      grid.dataset.chosen = String(place);
      columns.forEach((each, at) => each.root.toggleAttribute("data-chosen", at === place));
      [...tabs.children].forEach((tab, at) => tab.setAttribute("aria-pressed", String(at === place)));
    };

    // -- the parts of the page, made once --
    const top = make("div", "st-top");
    const request = make("div", "st-request");
    const head = make("figure", "st-wanted");
    const wanted = make("div", "st-picture");
    const reveal = make("button", "st-reveal");
    reveal.type = "button";
    reveal.addEventListener("click", () => {
      open = !open;
      paintWanted();
      paint();
    });
    const paintWanted = () => {
      const lines = story.wanted.lines.map((line) => (open ? line : null)); // a text is hidden as a drawing is blurred
      paintPicture(wanted, { ...story.wanted, lines, share: open ? 1 : 0 }, "The user’s goal");
      wanted.dataset.open = open ? "1" : "0";
      reveal.textContent = open ? "Hide the goal" : "Show the user’s goal";
      reveal.setAttribute("aria-pressed", String(open));
    };
    head.append(wanted, reveal);
    const asked = make("div", "st-asked");
    const tabs = make("div", "st-tabs");
    tabs.setAttribute("role", "group");
    tabs.setAttribute("aria-label", "Which assistant to show");
    const grid = make("div", "st-columns");
    const bar = make("div", "st-bar");
    bar.style.setProperty("--st-pause", `${PAUSE}ms`);
    const guesses = make("div", "st-guess");
    const verdict = make("b", "st-verdict");
    verdict.setAttribute("role", "status");
    asked.append(request, guesses);
    top.append(asked, head);
    const back = button("◀", "One turn back", () => (stop(), go(turn - 1)));
    const play = button("▶ Play", "Play", () => (playing ? stop() : start()), "st-button st-main");
    const next = button("▶|", "One turn on", () => (stop(), go(turn + 1)));
    const slider = make("input", "st-slider");
    slider.type = "range";
    slider.min = "0";
    slider.step = "1";
    slider.setAttribute("aria-label", "Turn");
    slider.addEventListener("input", () => (stop(), go(Number(slider.value))));
    const where = make("span", "st-where");
    const another = button("Next user", "Next user", () => {
      stop();
      model.set("person", model.get("person") + 1);
      model.save_changes();
    });
    bar.append(back, play, next, slider, where, another);
    const legend = make("p", "st-legend");
    const status = make("p", "dl-sr");
    status.setAttribute("role", "status");
    const captions = make("ol", "st-captions");
    const own = make("form", "st-own");
    const label = make("label", "", "Your reply");
    const text = make("textarea");
    text.rows = 2;
    text.name = "reply";
    label.append(text);
    const send = make("button", "st-button st-main", "Send");
    send.type = "submit";
    const hints = make("div", "st-hints");
    own.append(label, send, hints);
    const trying = make("details", "st-try");
    trying.append(make("summary", "", "Be the assistant yourself"), own);
    own.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!text.value.trim()) return text.focus();
      stop();
      model.set("sent", { text: text.value, number: (model.get("sent").number ?? 0) + 1 });
      model.save_changes();
      send.disabled = true;
      text.value = "";
    });

    const build = () => {
      story = model.get("story");
      const mine = model.get("mine");
      const all = mine.moments ? [...story.columns, mine] : story.columns;
      columns = all.map((column) => makeColumn(column, story, { point }));
      request.innerHTML = story.request; // finished markup
      request.prepend(make("span", "st-who", "A user writes"));
      guesses.replaceChildren(make("span", "", "Which assistant discovers most?"), ...story.columns.map((column, place) =>
        makeGuess(column.key, () => { guessed = place; paintGuess(); })), verdict);
      legend.replaceChildren("The user", ...Object.entries(LEGEND).map(([state, told]) => {
        const entry = make("span");
        entry.append(makeDot(story.glyph, state), told);
        return entry;
      }));
      grid.style.setProperty("--st-count", String(columns.length));
      grid.replaceChildren(...columns.map((each) => each.root));
      tabs.replaceChildren(
        ...columns.map((each, place) => button("", each.column.about, () => choose(place), "st-tab")),
      );
      captions.replaceChildren(
        ...story.columns.map((column) => {
          const { known, of } = column.moments.at(-1), item = make("li");
          const turns = column.moments.flatMap((each, at) => (each.options ? [at] : [])), end = turns.pop();
          const when = turns.length ? `turns ${turns.join(", ")} and ${end}` : `turn ${end}`; // with options
          item.append(make("b", "", `${column.key} discovered ${known} of ${of}.`), ` ${column.lesson.replace("{turns}", when)}`);
          return item;
        }),
      );
      hints.replaceChildren(
        make("span", "dl-quiet", "For example:"),
        ...story.hints.map((hint) => button(hint, `Write: ${hint}`, () => ((text.value = hint), text.focus()), "st-link")),
      );
      send.disabled = Boolean(mine.over);
      choose(Math.min(chosen, columns.length - 1));
      paintWanted();
      paint();
    };

    el.dataset.suspense = String(Boolean(model.get("suspense")));
    guesses.hidden = Boolean(model.get("suspense")); // a lesson asks for the guess before
    el.append(top, bar, tabs, grid, legend, captions, trying, status);
    el.addEventListener("keydown", (event) => {
      if (event.target.closest("textarea, input")) return;
      if (event.key === "ArrowLeft") (stop(), go(turn - 1));
      else if (event.key === "ArrowRight") (stop(), go(turn + 1));
      else if (event.key === " " && !event.target.closest("button, a")) (event.preventDefault(), playing ? stop() : start());
    });
    model.on("change:story", () => {
      stop();
      seen = false;
      guessed = null;
      open = false;
      turn = 0;
      build();
    });
    model.on("change:mine", () => {
      const mine = model.get("mine");
      if (mine.moments) {
        chosen = story.columns.length;
        turn = mine.moments.length - 1;
      }
      build();
      if (mine.moments) { // the answer stands above the field that it was asked in
        show(columns[chosen].root);
      }
    });
    turn = model.get("suspense") ? 1 : 0;
    build();
    return () => {
      stop();
      unfollow();
    };
  },
};
