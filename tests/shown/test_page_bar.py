"""The bar in the pages that marimo answers with, and what a page does when its server was away."""

from pathlib import Path

import marimo
import pytest
from playwright.sync_api import Page, Route
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.testclient import TestClient

from workbench.notebook_server import PageBar, with_bar

MARIMO = (
    '<html><body>\n    <div id="root"></div>\n<script>{"mode": "read", "display": {"theme": "dark"}}</script></html>'
)


@pytest.mark.parametrize("page", [MARIMO.replace("root", "other"), "no page"])
def test_a_page_that_is_laid_out_otherwise_stays_as_it_is(page: str) -> None:
    assert with_bar(page, "1_start.py") == page


def test_only_a_notebook_s_page_gets_the_bar_and_only_a_page_for_reading_the_script() -> None:
    client = TestClient(PageBar(HTMLResponse(MARIMO)))
    answer = client.get("/?file=1_start.py&run=mine")
    assert "page-bar" in answer.text and int(answer.headers["content-length"]) == len(answer.content)
    assert [client.get(path).text for path in ("/", "/other?file=1_start.py")] == [MARIMO] * 2
    refused = TestClient(PageBar(PlainTextResponse(MARIMO, status_code=404))).get("/?file=birds.py")
    assert (refused.status_code, refused.text) == (404, MARIMO)
    editing = with_bar(MARIMO.replace('"read"', '"edit"'), "1_start.py")
    assert "page-bar" in editing and "pushState" in with_bar(MARIMO, "1_start.py") and "pushState" not in editing


def test_a_server_that_was_away_is_found_again_and_one_started_anew_is_asked_for_the_page(page: Page) -> None:
    away, start = True, "first"

    def answer(route: Route) -> None:
        if away:
            route.abort()
        else:
            token = f"<marimo-server-token data-token={start}></marimo-server-token>"
            route.fulfill(body=with_bar(MARIMO, "1_start.py") + token, content_type="text/html")

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
