// What one reply is worth: menus and sliders whose choices Python scores behind the page; they stand in the address.
const make = (name, props = {}, ...children) => {
  const element = Object.assign(document.createElement(name), props);
  element.append(...children);
  return element;
};
const FREED = { talk: ["p", "tau", "lam"], rules: ["p", "tau", "lam"] }; // another choice puts the sliders at its own

export default {
  render({ model, el }) {
    const { talks, talk, rules, sliders } = model.get("choices");
    let asked = {}, number = 0, running = false, again = false;

    // One question at a time: while a slider is dragged, only where it stands then is asked next.
    const ask = () => {
      shown.setAttribute("aria-busy", "true");
      if (running) return void (again = true);
      running = true;
      model.set("asked", { ...asked, number: (number += 1) });
      model.save_changes();
    };
    const choose = (name, value) => {
      for (const freed of FREED[name] || []) delete asked[freed];
      asked[name] = value;
      ask();
    };
    const controls = {};
    const menu = (name, label, options) => {
      const select = controls[name] = make("select", { ariaLabel: label }, ...options.map((each) => make("option", { value: each }, each)));
      select.addEventListener("change", () => choose(name, select.value));
      return make("label", {}, `${label} `, select);
    };
    const slider = (name, label, min, max, step) => {
      const input = controls[name] = make("input", { type: "range", min, max, step, ariaLabel: label });
      const value = make("output", {});
      input.show = () => { value.textContent = input.value; };
      input.addEventListener("input", () => { input.show(); choose(name, Number(input.value)); });
      return make("label", {}, `${label} `, input, value);
    };
    const form = make("form", { className: "site-rules" },
      make("div", {}, menu("talk", "Conversation", talks), menu("rules", "Rules", rules), slider("turn", "Turn", 1, 1, 1)),
      make("div", {}, ...sliders.map(({ name, label, most, step }) => slider(name, label, 0, most, step))));
    form.addEventListener("submit", (event) => event.preventDefault());
    const sum = make("div", { ariaLive: "polite" }), rest = make("div", { className: "site-built" });
    const shown = make("div", {}, sum, rest);

    const paint = () => {
      const scored = model.get("scored");
      running = false;
      if (again) { again = false; ask(); return; }
      const folded = [...rest.querySelectorAll("details")].map((each) => each.open);
      sum.innerHTML = scored.sum; // finished markup: texts in it are escaped where it is made
      rest.innerHTML = scored.rest;
      const details = rest.querySelectorAll("details");
      if (details.length === folded.length) details.forEach((each, place) => { each.open = folded[place]; });
      for (const each of rest.querySelectorAll(".dl-scroll")) each.tabIndex = 0; // scrolled by keyboard, too
      shown.removeAttribute("aria-busy");
      controls.turn.max = scored.turns;
      for (const [name, value] of Object.entries({ talk: scored.talk, rules: scored.rules, turn: scored.turn, ...scored.sliders })) {
        controls[name].value = value;
        controls[name].show?.();
      }
      if (!number) return; // as it was built: the address is still to be read
      const defaults = { talk, rules: rules[0], turn: 1, ...scored.untouched };
      const chosen = Object.entries({ ...scored, ...scored.sliders }).filter(([name, value]) => name in defaults && value !== defaults[name]);
      const address = new URLSearchParams(chosen).toString();
      history.replaceState(null, "", location.pathname + location.search + (address && `#${address}`));
    };
    const read = () => {
      const words = new URLSearchParams(location.hash.slice(1));
      asked = {};
      for (const name of Object.keys(controls)) {
        if (words.has(name)) asked[name] = ["talk", "rules"].includes(name) ? words.get(name) : parseFloat(words.get(name));
      }
      if (number || Object.keys(asked).length) ask();
    };
    model.on("change:scored", paint);
    el.append(form, shown);
    paint();
    read();
    addEventListener("hashchange", read);
  },
};
