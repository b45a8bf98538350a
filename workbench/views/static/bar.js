// The bar is one stop of the keyboard: the arrow keys, Home and End move between its words.
(() => {
  const bar = document.getElementById("page-bar");
  const words = [...bar.querySelectorAll(".words > *")];
  const stop = (word) => words.forEach((each) => { each.tabIndex = each === word ? 0 : -1; });
  stop(words.find((each) => each.ariaCurrent) ?? words[0]);
  bar.addEventListener("keydown", (event) => {
    const place = words.indexOf(event.target);
    const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: -1 }[event.key];
    if (place < 0 || to === undefined) return;
    event.preventDefault();
    const word = words.at(to % words.length);
    stop(word);
    word.focus();
  });
  // A copy opens in another tab, after seconds in which its server starts: the bar says so.
  bar.querySelector("a.open")?.addEventListener("click", () => {
    document.getElementById("page-menu").hidePopover();
    bar.querySelector(".copy").textContent = "Your copy opens in a new tab";
  });
})();
