"""What axe-core finds in a page that Chromium shows, and the windows in which pages are looked at."""

from axe_playwright_python.sync_playwright import Axe  # brings axe-core along, so that nothing is fetched
from playwright.sync_api import Page

SECOND = 1000
DESK, TABLET, PHONE = (1400, 900), (1024, 768), (390, 844)
# marimo's own furniture, which a notebook cannot reach, and what is wrong with it.
MARIMO = {
    "marimo-code-editor": "read-only code without a name, which scrolls without taking the focus",
    "marimo-refresh": "its button and its menu of intervals have no name",
    "marimo-file": "its hidden input has no label; the button over it has",
    "button[aria-haspopup='menu']": "the page's menu has no name",
    ".absolute.overflow-auto": "the list of headings, folded away at the edge, takes no focus",
}


def resize(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})


QUIET = """
([quiet, patience]) => new Promise((done) => {
  const rest = () => { watcher.disconnect(); clearTimeout(end); done(); };
  const watcher = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(rest, quiet); });
  watcher.observe(document, { attributes: true, characterData: true, childList: true, subtree: true });
  const end = setTimeout(rest, patience);
  let timer = setTimeout(rest, quiet);
})
"""


def settle(page: Page, quiet: int = SECOND) -> None:
    """Wait until nothing in the page has changed for `quiet` milliseconds, half a minute at most."""
    page.evaluate(QUIET, [quiet, 30 * SECOND])


def serious(page: Page, *rules: str) -> list[str]:
    """What axe-core calls serious or critical, a line per element; by some of its rules, or by all."""
    context = {"exclude": [[selector] for selector in MARIMO]}
    options: dict[str, object] = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    results = Axe().run(page, context=context, options=options)  # type: ignore[arg-type]
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in results.response["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


# marimo scrolls its pages in an element of their own, so the document itself is never too wide.
WIDTH = """
Math.max(document.documentElement.scrollWidth, ...Array.from(document.querySelectorAll("#App"), (app) =>
  app.scrollWidth + app.getBoundingClientRect().left))
"""


def in_the_way(page: Page, dark: bool = True) -> list[str]:
    """What is serious: too wide for one of three windows, called so by axe-core, or hard to read in the dark theme.

    Colours are all that the dark theme changes, and pages take them from the same style sheet.
    """
    found = []
    for size in (PHONE, TABLET, DESK):
        resize(page, size)
        settle(page, SECOND // 3)
        wide = page.evaluate(WIDTH)
        found += [f"{wide} pixels wide in a window of {size[0]}"] if wide > size[0] else []
    found += serious(page)
    if not dark:
        return found
    page.emulate_media(color_scheme="dark")
    settle(page, SECOND // 3)
    found += [f"{line} in the dark" for line in serious(page, "color-contrast")]
    page.emulate_media(color_scheme="light")
    return found
