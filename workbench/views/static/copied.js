// A line of code beside a button that copies it.
export default {
  render({ model, el }) {
    const line = document.createElement("code");
    const button = document.createElement("button");
    line.textContent = model.get("text");
    line.style.cssText = "padding:6px 12px;border:1px solid currentColor;border-radius:6px;font-size:14px";
    button.textContent = "Copy";
    button.style.cssText =
      "margin-left:10px;padding:5px 14px;border:1px solid currentColor;border-radius:6px;background:none;color:inherit;" +
      "font:inherit;font-size:14px;cursor:pointer";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(model.get("text"));
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(line); // no clipboard here: marked, to be copied by hand
        button.textContent = "Marked";
      }
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    el.append(line, button);
  },
};
