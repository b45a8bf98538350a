// Hands over to the page: its own heading takes the introduction's place, its next output ends the waiting.  After a
// while that ends without them, for they may never come: what there is instead may say why.
(() => {
  const root = document.getElementById("root");
  const sight = document.getElementById("first-sight");
  const [introduction, waiting] = sight.firstElementChild.children;
  const leave = () => { sight.remove(); watch.disconnect(); };
  const giveWay = () => {
    const { left, top } = waiting.getBoundingClientRect();
    Object.assign(waiting.style, { position: "fixed", margin: 0, left: `${left}px`, top: `${top}px` });
    introduction.remove();
    sight.dataset.shows = "waiting";
    setTimeout(leave, 5000);
  };
  let ending;
  const watch = new MutationObserver(() => {
    const outputs = root.querySelectorAll(".output-area > *").length;
    if (!root.querySelector("h1")) ending ||= outputs && setTimeout(leave, 2000);
    else if (outputs > 1) leave();
    else if (introduction.isConnected) giveWay();
  });
  watch.observe(root, { subtree: true, childList: true });
  setTimeout(leave, 20000);
})();
