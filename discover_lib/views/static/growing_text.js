// A reply while it is being written: plain text, never markup, that keeps to its end.
export default {
  render({ model, el }) {
    const box = document.createElement("div");
    box.setAttribute("aria-live", "off"); // read out once it is finished, not word by word
    box.className = "growing-text";
    box.style.cssText =
      "white-space:pre-wrap;overflow:auto;max-height:190px;font-size:14px;line-height:1.5;padding:8px 12px;" +
      "margin-top:8px;border-radius:10px;border:1px dashed currentColor;opacity:.85;overflow-wrap:anywhere";
    const paint = () => {
      const text = model.get("text");
      box.textContent = text;
      box.style.display = text ? "block" : "none";
      box.scrollTop = box.scrollHeight;
    };
    model.on("change:text", paint);
    paint();
    el.append(box);
  },
};
