// Finished markup whose [data-pick] elements tell Python which of them was pressed last.
export default {
  render({ model, el }) {
    const mark = () => {
      for (const each of el.querySelectorAll("[data-pick]"))
        each.setAttribute("aria-pressed", String(each.dataset.pick === model.get("picked")));
    };
    const paint = () => {
      el.innerHTML = model.get("html");
      mark();
    };
    el.addEventListener("click", (event) => {
      const pressed = event.target.closest("[data-pick]");
      if (!pressed) return;
      model.set("picked", pressed.dataset.pick);
      model.save_changes();
    });
    model.on("change:html", paint);
    model.on("change:picked", mark);
    paint();
  },
};
