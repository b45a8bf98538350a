"""Every page under axe-core, light and dark, on a desk and on a phone: nothing serious or critical in what we show."""

from collections.abc import Iterator
from typing import Any

import pytest
from browser import Server, keep_on_this_machine, workbench
from playwright.sync_api import Browser, Page, expect

from discover_lib.app.panel import FIRST_SYNTHESIS
from discover_lib.runs.evaluation import evaluate, lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.views.navigation import PAGES

# It brings axe-core along, so that nothing is fetched.
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="make test installs axe-playwright-python")

SECOND = 1000
DESK, TABLET, PHONE = (1400, 900), (1024, 768), (390, 844)
# marimo's own furniture, which a notebook cannot reach, and what is wrong with it.
MARIMO = {
    "marimo-code-editor": "read-only code without a name, which scrolls without taking the focus",
    "marimo-refresh": "its button and its menu of intervals have no name",
    "marimo-file": "its hidden input has no label; the button over it has",
    "button[aria-haspopup='menu']": "the page's menu has no name",
    "a[href='/']": "“Back” is pale: 3.2 to 1",
    ".absolute.overflow-auto": "the list of headings, folded away at the edge, takes no focus",
}


@pytest.fixture(scope="module", params=["light", "dark"])
def themed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A workbench in one of marimo’s themes, set where marimo looks for it, with something to show on every page."""
    outputs, settings = tmp_path_factory.mktemp("outputs"), tmp_path_factory.mktemp("settings")
    (settings / "marimo").mkdir()
    (settings / "marimo" / "marimo.toml").write_text(f'[display]\ntheme = "{request.param}"\n')
    synthesis, evaluation = outputs / "synthesis" / "small", outputs / "evaluations" / "small"
    synthesis.mkdir(parents=True)
    execute(lay_out(FIRST_SYNTHESIS), synthesis)
    evaluation.mkdir(parents=True)
    evaluate(lay_out_evaluation(RunOptions(("draft", "ask", "adaptive"), artifacts=10), ["svg_drawing"]), evaluation)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCOVER_OUTPUTS", str(outputs))
        patch.setenv("XDG_CONFIG_HOME", str(settings))
        with workbench() as running:
            yield running


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_nothing_serious_stands_in_anyones_way(name: str, themed: Server, browser: Browser, request: Any) -> None:
    theme = request.node.callspec.params["themed"]
    context = browser.new_context(service_workers="block")
    outside = keep_on_this_machine(context)
    page = context.new_page()
    resize(page, DESK)
    page.goto(f"{themed.url}/?file={name}")
    expect(page.locator(".dl-footer")).to_be_visible(timeout=60 * SECOND)
    settle(page)
    assert page.evaluate("document.body.classList.contains('dark')") == (theme == "dark")
    found = []
    for size in (DESK, TABLET, PHONE):
        resize(page, size)
        page.wait_for_timeout(SECOND)
        wide = page.evaluate("document.documentElement.scrollWidth")
        found += [f"{wide} pixels wide in a window of {size[0]}"] if wide > size[0] else []
        found += [f"{line} in a window of {size[0]}" for line in serious(page)] if size != TABLET else []
    context.close()
    assert not found, "\n".join(found)
    assert outside == []


def resize(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})


def settle(page: Page) -> None:
    """Wait until nothing more arrives: the page reads the same for a second."""
    before = ""
    for _ in range(30):
        page.wait_for_timeout(SECOND)
        now = page.evaluate("document.body.innerText")
        if now == before:
            return
        before = now


def serious(page: Page) -> list[str]:
    """What axe-core calls serious or critical, a line per element."""
    context = {"exclude": [[selector] for selector in MARIMO]}
    results = axe.Axe().run(page, context=context, options={"resultTypes": ["violations"]})  # type: ignore[arg-type]
    return [
        f"{violation['id']}: {node['html'][:200]}"
        for violation in results.response["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
