"""What a page is about, sent before the page is made: from where it is read, and into which pages it is put."""

from pathlib import Path

import marimo
import pytest
from browser import Server
from playwright.sync_api import Page, Route
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.testclient import TestClient

from workbench import notebook_server as app_server
from workbench.first_sight import FirstSight, introduction_of, with_first_sight
from workbench.serve import notebooks_folder

NOTEBOOKS = sorted(notebooks_folder().rglob("*.py"))
HEAD = 'app = marimo.App(\n    width="full")\n\n\ndef introduce(mo):\n    mo.md("""\n    # Why?\n    """)\n'
MARIMO = (
    '<html><body>\n    <div id="root"></div>\n<script>{"mode": "read", "display": {"theme": "dark"}}</script></html>'
)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_page_has_one_that_begins_with_its_heading(path: Path) -> None:
    introduction = introduction_of(path.read_text("utf-8"))
    assert introduction.startswith("<h1") and "{" not in introduction


@pytest.mark.parametrize(
    "page",
    [MARIMO.replace('"read"', '"edit"'), MARIMO.replace("root", "other"), "no page"],
    ids=["edit", "laid out", ""],
)
def test_what_is_for_editing_or_laid_out_otherwise_stays_as_it_is(page: str) -> None:
    assert with_first_sight(page, HEAD) == page


def test_only_a_notebook_s_page_is_changed() -> None:
    asked: list[str] = []

    def text_of(name: str) -> str:
        asked.append(name)
        return HEAD if name == "birds.py" else ""

    client = TestClient(FirstSight(HTMLResponse(MARIMO), text_of))
    answer = client.get("/?file=birds.py&run=mine")
    assert "first-sight" in answer.text and int(answer.headers["content-length"]) == len(answer.content)
    assert [client.get(path).text for path in ("/", "/?file=bees.py", "/other?file=birds.py")] == [MARIMO] * 3
    assert asked == ["birds.py", "", "bees.py"]
    refused = TestClient(FirstSight(PlainTextResponse(MARIMO, status_code=404), text_of)).get("/?file=birds.py")
    assert (refused.status_code, refused.text) == (404, MARIMO)


@pytest.mark.parametrize("name", ["../pyproject.toml", "/etc/passwd", "gone.py", "", "lessons"])
def test_no_other_file_is_read(name: str) -> None:
    assert app_server.text_of_notebook(name) == ""


def test_it_is_there_at_once_and_the_page_takes_its_very_place(page: Page, server: Server) -> None:
    held: list[Route] | None = []

    def hold(route: Route) -> None:
        if held is None:
            route.continue_()
        else:
            held.append(route)

    page.route("**/assets/index-*.js", hold)  # the front end cannot run yet
    page.goto(f"{server.url}/?file=7_trust.py", wait_until="commit")
    early = page.locator("#first-sight h1")
    early.wait_for()
    page.evaluate("document.fonts.ready")
    place, said = early.bounding_box(), early.inner_text()
    looks = "element => { const s = getComputedStyle(element); return [s.fontSize, s.fontFamily] }"
    early_looks = early.evaluate(looks)
    assert page.locator("#root *").count() == 0 and place
    waiting, held = held, None
    for route in waiting:
        route.continue_()
    page.locator("#first-sight").wait_for(state="detached")
    own = page.locator("#root h1")
    box = own.bounding_box()
    assert own.inner_text() == said and own.evaluate(looks) == early_looks and box
    assert all(abs(box[side] - place[side]) <= 2 for side in ("x", "y", "width", "height"))


def test_a_server_that_was_away_is_found_again_and_one_started_anew_is_asked_for_the_page(page: Page) -> None:
    away, start = True, "first"

    def answer(route: Route) -> None:
        if away:
            route.abort()
        else:
            token = f"<marimo-server-token data-token={start}></marimo-server-token>"
            route.fulfill(body=with_first_sight(MARIMO, HEAD) + token, content_type="text/html")

    away = False
    page.route("http://localhost:9/**", answer)
    page.goto("http://localhost:9/")
    page.evaluate("window.pressed = 0")
    button = "<button data-testid=disconnected-indicator onclick='pressed += 1'>"
    away = True
    with page.expect_event("requestfailed"):
        page.evaluate(f"root.insertAdjacentHTML('beforeend', `{button}</button>`)")
    assert page.evaluate("pressed") == 0
    away = False
    page.wait_for_function("pressed > 0")
    start = "second"
    page.wait_for_function("window.pressed === undefined")  # a new page


def test_marimo_s_button_that_finds_the_server_again_is_named_as_is_known_here() -> None:
    assets = Path(marimo.__file__).parent / "_static" / "assets"
    assert any("disconnected-indicator" in file.read_text("utf-8") for file in assets.glob("panels-*.js"))
