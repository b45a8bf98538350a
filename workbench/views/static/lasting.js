// What a page of marimo does not do by itself.
(() => {
  // It gives up on a server that was away for half a minute, until its own button is pressed: nobody would know that.
  // A server that was started anew refuses what a page of the one before it sends.
  const startOf = (page) => page.querySelector("marimo-server-token")?.dataset.token;
  setInterval(async () => {
    const button = document.querySelector("[data-testid='disconnected-indicator']:enabled");
    const answer = button && (await fetch(location.href, { cache: "no-store" }).catch(() => null));
    if (!answer?.ok) return;
    const now = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (startOf(now) === startOf(document)) button.click();
    else location.reload();
  }, 3000);
  // It never reads an address again that the browser's Back brings back; so what a page notes in its address is not a
  // page more, and Back leads to the page before.
  history.pushState = history.replaceState;
})();
