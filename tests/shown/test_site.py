"""The site: pages that need no server, the library's own Python in the browser, and the same numbers as here."""

import gzip
import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from accessible import in_the_way, settle
from browser import Server
from hostile import HOSTILE, HOSTILE_SVG
from playwright.sync_api import Browser, BrowserContext, Page, expect
from workbench.site.piece import built, opening
from workbench.site.reward import scored

from discover_lib.base.errors import DiscoverError
from discover_lib.core.rules import Rules
from discover_lib.metrics.replay import replay
from workbench import reward_page, simulator_page
from workbench.site.build import DEPENDENCIES, build_site
from workbench.site.fetched import COMPILED, PYODIDE_FILES, pyodide_folder
from workbench.site.host import OPENING, open_page

ROOT = Path(__file__).resolve().parents[2]
PYTHON_READY = 90_000  # ms; a busy machine compiles WebAssembly slowly


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `discover site` writes it."""
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


# -- the folder --------------------------------------------------------------------------------------------------------


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


@pytest.mark.slow
def test_widgets_are_the_notebooks_own_files(site: Path) -> None:
    static = ROOT / "workbench" / "views" / "static"
    for name in ("story.js", "stage.js", "stage.css", "story.css", "workbench.css"):
        assert (site / name).read_bytes() == (static / name).read_bytes()


def test_pyodide_s_folder_is_checked(tmp_path: Path) -> None:
    (tmp_path / PYODIDE_FILES[0]).touch()
    with pytest.raises(DiscoverError, match=r"lacks pyodide.asm.mjs, .* give a folder of npm's package pyodide@"):
        pyodide_folder(tmp_path)


def test_without_npm_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DiscoverError, match=r"npm is missing.*--pyodide FOLDER"):
        pyodide_folder()


# -- Python's side -----------------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / OPENING).write_text(simulator_page.opening(tmp_path).text, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_a_page_posts_only_what_its_messages_change(data: Path) -> None:
    posted: list[dict] = []
    stage = open_page("stage", lambda text: posted.append(json.loads(text)), data)
    assert not posted, "the page was built with what it shows first"
    stage.receive(json.dumps({"message": {"do": "jump", "strip": 0, "turn": 1, "jumps": 1}}))
    assert posted[-1]["now"]["turn"] == 1
    stage.receive(json.dumps({"message": {"do": "consider"}}))
    assert len(posted[-1]["now"]["considered"]) == 9


def test_a_visitor_replies_to_the_person_they_see(data: Path) -> None:
    posted: list[dict] = []
    story = open_page("story", lambda text: posted.append(json.loads(text)), data)
    story.receive(json.dumps({"set": {"sent": {"text": "How about a fox?", "number": 1}}}))
    assert list(posted[-1]) == ["mine"] and len(posted[-1]["mine"]["moments"]) == 2
    story.receive(json.dumps({"set": {"person": 2}}))
    assert posted[-1]["mine"] == {} and posted[-1]["story"]["turns"] == 5
    story.receive(json.dumps({"set": {"sent": {"text": "A tale of the sea?", "number": 2}}}))
    assert len(posted[-1]["mine"]["moments"]) == 2


@pytest.mark.slow
def test_a_pasted_piece_becomes_a_tree_and_what_cannot_be_read_is_said_so(data: Path) -> None:
    posted: list[dict] = []
    page = open_page("site_tree", lambda text: posted.append(json.loads(text)), data)
    asked = opening()["asked"]
    page.receive(json.dumps({"set": {"asked": asked}}))
    assert posted == [{"built": built(asked)}] and "Made broader" in posted[0]["built"]["html"]
    for text in ("", "<script>alert(1)</script>", *HOSTILE, HOSTILE_SVG):
        for domain in ("svg_drawing", "creative_writing"):
            page.receive(json.dumps({"set": {"asked": {"domain": domain, "text": text}}}))
            markup = posted[-1]["built"]["html"]
            assert "dl-error" in markup and "<script" not in markup and "<img src=x" not in markup


def test_a_moved_slider_is_answered_with_the_library_s_own_receipt(data: Path) -> None:
    posted: list[dict] = []
    page = open_page("site_reward", lambda text: posted.append(json.loads(text)), data)
    asked = {"talk": "miniature: Creative writing", "turn": 2, "tau": 0, "p": 1, "number": 3}
    page.receive(json.dumps({"set": {"asked": asked}}))
    original = reward_page.conversation("miniature: Creative writing")
    base = Rules.paper().replace(token_unit=original.rules.token_unit)
    now = replay(original, base.replace(p=1, tau=0))
    answer = posted[-1]["scored"]
    assert answer["sum"] == reward_page.reply_sum(now, 2)
    assert answer["rest"].startswith(reward_page.reply_receipt(original, now, base, 2))
    assert "yours: near miss 1, 0 free tokens" in answer["rest"] and "<del>" in answer["rest"]
    assert (answer["number"], answer["sliders"]) == (3, {"p": 1, "tau": 0, "lam": 1000 * base.lam})


@pytest.mark.slow
def test_an_address_that_asks_for_what_is_not_there_is_answered_with_what_is_nearest() -> None:
    names = ("talk", "rules", "turn", "p", "tau", "lam")
    for value in ("<script>", None, [1]):
        assert scored(dict.fromkeys(names, value)) == scored({})
    beyond = scored({"turn": 99, "p": -3, "tau": 1e300, "lam": 11})
    assert beyond["turn"] == beyond["turns"] and beyond["sliders"] == {"p": 0, "tau": 1000, "lam": 10}


@pytest.mark.slow
def test_what_the_browser_runs_imports_nothing_that_is_not_taken_along(data: Path) -> None:
    program = f"""
import importlib.metadata, json, sys
from pathlib import Path
taken = {{*{DEPENDENCIES!r}, {COMPILED!r}}}
packages = importlib.metadata.packages_distributions()
before = set(sys.modules)
from workbench.site.host import open_page
for name in ("stage", "story", "site_reward"):
    page = open_page(name, lambda text: None, Path({str(data)!r}))
    for message in ({{"do": "next"}}, {{"do": "consider"}}, {{"do": "rules", "name": "authors"}}):
        page.receive(json.dumps({{"message": message}}))
    page.receive(json.dumps({{"set": {{"asked": {{"turn": 2}}, "sent": {{"text": "a fox?", "number": 1}}}}}}))
names = {{name.split(".")[0] for name in set(sys.modules) - before}} & set(packages)
print({{each.lower().replace("_", "-") for name in names for each in packages[name]}} - taken - {{"discover-lib"}})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.slow
def test_conversations_in_the_browser_s_python_are_those_of_this_one_byte_by_byte(site: Path) -> None:
    command = [sys.executable, ROOT / "benchmarks" / "site_records.py", "--seeds", "2", "--site", site]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "60 conversations, 300 turns: 0 differ" in done.stdout, done.stdout + done.stderr


# -- in a browser ------------------------------------------------------------------------------------------------------


def test_the_story_plays_before_python_is_there(address: str, page: Page, context: BrowserContext) -> None:
    context.route("**/pyodide/**", lambda route: route.abort())
    page.goto(address)
    where = page.locator(".st-where")
    expect(where).to_have_text("turn 1 of 5")
    page.get_by_role("button", name="One turn on").click()
    expect(where).to_have_text("turn 2 of 5")
    request = page.locator(".st-request").inner_text()
    page.get_by_role("button", name="another person").click()
    expect(page.locator(".st-request")).not_to_have_text(request)
    expect(page.locator("#site-status")).to_contain_text("Python did not start")


def test_a_reply_of_ones_own_is_judged_in_the_page(address: str, page: Page, outside_requests: list[str]) -> None:
    page.goto(f"{address}index.html")
    page.locator("textarea").fill("How about a fox, an owl or a cat?")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("article[data-key=you] .st-said")).to_contain_text("an owl", timeout=PYTHON_READY)
    assert outside_requests == []


def test_a_link_opens_the_same_turn_on_the_site_and_in_the_notebook(
    address: str, page: Page, server: Server, outside_requests: list[str]
) -> None:
    page.goto(f"{address}simulator.html")
    page.locator("body[data-python=ready]").wait_for(timeout=PYTHON_READY)
    page.locator('[data-key="frame-0-2"]').click()
    page.locator("textarea").fill("How about <img src=x onerror=alert(1)> a bowl?")
    page.get_by_role("button", name="Send as the assistant").click()
    expect(page.locator(".st-strip")).to_have_count(3)
    shown = page.locator(".st-status").inner_text(), page.locator(".st-receipt").inner_text()
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link to this moment").input_value()
    assert link.startswith(f"{address}simulator.html#domain=svg_drawing&")
    situation = link.partition("#")[2]
    for place in (f"{address}simulator.html#", f"{server.url}/?file=20_simulator.py&"):
        page.goto("about:blank")
        page.goto(place + situation)
        expect(page.locator(".st-strip")).to_have_count(3, timeout=PYTHON_READY)
        assert (page.locator(".st-status").inner_text(), page.locator(".st-receipt").inner_text()) == shown
        assert page.locator(".st img[src=x]").count() == 0
    page.get_by_role("button", name="Share").click()
    link = page.get_by_label("Link to this moment").input_value()
    assert link == f"{server.url}/?file=20_simulator.py&{situation}"
    assert outside_requests == []


def test_a_slider_writes_the_receipt_anew_and_its_link_opens_the_same(
    address: str, page: Page, outside_requests: list[str]
) -> None:
    page.goto(f"{address}reward.html")
    receipt = page.locator(".dl-receipt")
    expect(receipt).to_be_visible()
    expect(page.locator(".rw-one del")).to_have_count(0)
    page.get_by_label("Conversation", exact=True).select_option("miniature: Creative writing")
    page.get_by_label("Turn", exact=True).fill("2")
    page.get_by_label("free tokens τ", exact=True).fill("0")
    expect(page.locator(".rw-one")).to_contain_text("yours: 0 free tokens", timeout=PYTHON_READY)
    link, text = page.url, receipt.inner_text()
    assert link == f"{address}reward.html#talk=miniature%3A+Creative+writing&turn=2&tau=0"
    page.goto("about:blank")
    page.goto(link)
    expect(receipt).to_have_text(re.compile("^Turn 2"), timeout=PYTHON_READY)
    assert receipt.inner_text() == text
    page.get_by_label("Rules", exact=True).select_option("authors")
    expect(page.get_by_label("free tokens τ", exact=True)).not_to_have_value("0", timeout=PYTHON_READY)
    assert outside_requests == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index", "simulator", "trees", "reward"])
def test_no_page_stands_in_anyones_way(name: str, address: str, browser: Browser) -> None:
    context = browser.new_context(color_scheme="light", bypass_csp=True, service_workers="block")
    page = context.new_page()
    page.goto(f"{address}{name}.html")
    settle(page)
    found = in_the_way(page, dark=name in ("index", "simulator"))
    context.close()
    assert not found, "\n".join(found)
