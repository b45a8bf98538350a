// A piece of one's own as a tree of intents: what is pasted is read by Python behind the page.
const make = (name, props = {}, ...children) => {
  const element = Object.assign(document.createElement(name), props);
  element.append(...children);
  return element;
};

export default {
  render({ model, el }) {
    const asked = model.get("asked");
    const kinds = make("select", {}, ...model.get("domains").map(([label, value]) => make("option", { value }, label)));
    kinds.value = asked.domain;
    const text = make("textarea", { rows: 12, value: asked.text, spellcheck: false });
    const send = make("button", { type: "submit", className: "site-button" }, "Build its tree");
    const form = make("form", { className: "site-piece" },
      make("label", {}, "Kind of piece ", kinds), make("label", {}, "The piece", text), send);
    const shown = make("div", { className: "site-built" });
    shown.setAttribute("role", "region");
    shown.setAttribute("aria-live", "polite");
    shown.setAttribute("aria-label", "The piece as intents");
    let number = 0;
    // Another kind brings its own example, unless something else has been pasted.
    const examples = model.get("examples");
    kinds.addEventListener("change", () => {
      if (text.value.trim() && !Object.values(examples).includes(text.value)) return;
      text.value = examples[kinds.value];
      build();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      build();
    });
    const build = () => {
      shown.setAttribute("aria-busy", "true");
      model.set("asked", { domain: kinds.value, text: text.value, number: (number += 1) });
      model.save_changes();
    };
    const paint = () => {
      shown.innerHTML = model.get("built").html; // finished markup: texts in it are escaped where it is made
      shown.removeAttribute("aria-busy");
      for (const each of shown.querySelectorAll(".dl-scroll")) each.tabIndex = 0; // scrolled by keyboard, too
    };
    model.on("change:built", paint);
    el.append(form, shown);
    paint();
  },
};
