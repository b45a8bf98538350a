"""The site: pages that need no server, the library's own Python in the browser, and the same numbers as here."""

import gzip
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from accessible import in_the_way, settle
from browser import fresh_profile
from playwright.sync_api import Browser, BrowserContext, Page, expect

from workbench.pages import conversation_page
from workbench.site.host import OPENING
from workbench.site.site_files import COMPILED, DEPENDENCIES, build_site

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build_site(folder)
    return folder


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The site in a folder of a static server on localhost, as GitHub Pages has it."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return super().translate_path(path.removeprefix("/project"))

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/project/"
    server.shutdown()


@pytest.mark.slow
def test_the_folder_is_small_and_names_no_other_place(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 25e6
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < 10e6
    for page in site.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|link)[^>]*(?:src|href)="([^"]+)"', text)
        assert loaded and all((site / name).is_file() for name in loaded if name != "data:,"), loaded
        policy = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
        assert len(policy) == 1 and "unsafe-inline" not in policy[0].split("script-src")[1].split(";")[0]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / OPENING).write_text(conversation_page.opening(tmp_path).text, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_what_the_browser_runs_imports_nothing_that_is_not_taken_along(data: Path) -> None:
    program = f"""
import importlib.metadata, json, sys
from pathlib import Path
taken = {{*{DEPENDENCIES!r}, {COMPILED!r}}}
packages = importlib.metadata.packages_distributions()
before = set(sys.modules)
from workbench.site.host import open_page
for name in ("stage", "story"):
    page = open_page(name, lambda text: None, Path({str(data)!r}))
    for message in ({{"do": "next"}}, {{"do": "consider"}}, {{"do": "rules", "name": "authors"}}):
        page.receive(json.dumps({{"message": message}}))
    page.receive(json.dumps({{"set": {{"sent": {{"text": "a fox?", "number": 1}}}}}}))
names = {{name.split(".")[0] for name in set(sys.modules) - before}} & set(packages)
print({{each.lower().replace("_", "-") for name in names for each in packages[name]}} - taken - {{"discover-lib"}})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.slow
def test_conversations_in_the_browser_s_python_are_those_of_this_one_byte_by_byte(site: Path) -> None:
    command = [sys.executable, ROOT / "benchmarks" / "site_records.py", "--seeds", "1", "--site", site]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "30 conversations, 150 turns: 0 differ" in done.stdout, done.stdout + done.stderr


def test_the_story_plays_before_python_is_there(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    context.route("**/pyodide/**", lambda route: route.abort())
    page.goto(address)
    where = page.locator(".st-where")
    expect(where).to_have_text("before the first reply")
    page.get_by_role("button", name="One turn on").click()
    expect(where).to_have_text("turn 1 of 5")
    request = page.locator(".st-request").inner_text()
    page.get_by_role("button", name="Next user").click()
    expect(page.locator(".st-request")).not_to_have_text(request)
    expect(page.locator("#site-status")).to_contain_text("Python did not start")


def test_a_reply_of_ones_own_is_judged_in_the_page(address: str, page: Page, outside_requests: list[str]) -> None:
    page.goto(f"{address}index.html")
    page.get_by_text("Be the assistant yourself").click()
    page.locator("textarea").fill("How about a fox, an owl or a cat?")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("article[data-key=you] .st-said")).to_contain_text("an owl")
    assert outside_requests == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index", "simulator"])
def test_no_page_stands_in_anyones_way(name: str, address: str, browser: Browser) -> None:
    context = fresh_profile(browser, color_scheme="light", bypass_csp=True)
    page = context.new_page()
    page.goto(f"{address}{name}.html")
    page.locator("body[data-python=ready]").wait_for()  # what Python then sends changes the page once more
    settle(page)
    found = in_the_way(page, dark=True)
    context.close()
    assert not found, "\n".join(found)
