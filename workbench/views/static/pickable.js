// Finished markup whose [data-pick] elements tell Python which of them was pressed last, or lead to another page.
// What a press opens, marked [data-opened] with the same value, is brought into view and shines for a second.
const arrive = (pick) => {
  const opened = () => document.querySelector(`[data-opened="${CSS.escape(pick)}"]`);
  const show = (element) => {
    element.scrollIntoView({ block: "nearest", behavior: "smooth" });
    element.classList.remove("dl-arrived");
    void element.offsetWidth; // so that the animation begins anew
    element.classList.add("dl-arrived");
  };
  if (opened()) return show(opened());
  const watch = new MutationObserver(() => {
    if (!opened()) return;
    watch.disconnect();
    requestAnimationFrame(() => opened() && show(opened()));
  });
  watch.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-opened"] });
  setTimeout(() => watch.disconnect(), 20000);
};

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
      const leads = model.get("leads_to");
      if (leads) {
        const pick = JSON.stringify(JSON.parse(pressed.dataset.pick)); // without blanks, which addresses mangle
        window.location.assign(`${leads}&pick=${encodeURIComponent(pick)}`);
        return;
      }
      model.set("picked", pressed.dataset.pick);
      model.save_changes();
      arrive(pressed.dataset.pick);
    });
    model.on("change:html", paint);
    model.on("change:picked", mark);
    paint();
  },
};
