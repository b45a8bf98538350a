// Scrolls the page so far that the result above is in view.
export default {
  render({ el }) {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    requestAnimationFrame(() => el.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" }));
  },
};
