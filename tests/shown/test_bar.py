"""The table of pages, the bar that it feeds, old addresses, the first page, and the copy that a visitor may edit."""

import ast
import importlib.util
import json
import re
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from browser import Server
from notebook_runs import FOLDER
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from workbench import notebook_copies
from workbench.bar import BAR, CLASS, CODE, MOVED, PAGES, bar, moved, page_of
from workbench.notebook_copies import copied, editable, open_cells
from workbench.views.saved_pages import gallery_page

THERE = [page for page in (*PAGES, *CLASS, *CODE) if page.exists]
COMPARE = "6_compare.py"


@pytest.mark.parametrize("page", THERE, ids=lambda page: page.file)
def test_the_head_of_a_notebook_repeats_its_entry(page) -> None:
    text = (FOLDER / page.file).read_text("utf-8")
    assert re.search(r'^# title = "(.*)"$', text, re.MULTILINE)[1] == page.title
    assert re.search(r'^# description = "(.*)"$', text, re.MULTILINE)[1] == page.question
    assert f'app_title="{page.title}"' in text


def test_the_bar_marks_the_page_and_leaves_out_the_pages_that_may_not_be_opened() -> None:
    html = bar(COMPARE)
    assert re.findall(r'aria-current="page">(.*?)<', html) == ["Compare"]
    assert re.findall(r'aria-current="page">(.*?)<', bar("mine.py")) == []
    assert COMPARE not in bar(only=frozenset(["7_trust.py"])) and "7_trust.py" in bar(only=frozenset(["7_trust.py"]))
    assert 'href="http://127.0.0.1:9/?file=6_compare.py"' in bar(home="http://127.0.0.1:9")


def test_an_old_address_leads_on_with_its_arguments() -> None:
    assert moved("file=60_evaluate.py&run=a%20b&measure=found") == "file=6_compare.py&run=a+b&measure=found"
    assert moved("file=66_reality.py&run=x") == "file=7_trust.py&tab=human&run=x"
    assert moved("file=6_compare.py&run=x") is moved("file=other.py") is moved("") is None
    assert {page_of(new.partition("&")[0]) is None for new in MOVED.values()} == {False}


@pytest.mark.parametrize("page", THERE, ids=lambda page: page.file)
def test_a_copy_says_what_to_change_and_finds_its_style_sheet(page) -> None:
    text = (FOLDER / page.file).read_text("utf-8")
    copy = editable(text, page.title, Path("outputs/notebooks"))
    cells = [node.name for node in ast.parse(copy).body if isinstance(node, ast.FunctionDef)]
    assert cells[0] == "change_this_notebook"
    assert all(f"`{name}`" in copy for name in open_cells(text)[:3])
    assert open_cells(text) or page in CLASS
    sheet = Path(re.search(r'css_file="(.*?)"', copy)[1])
    assert sheet.is_absolute() and sheet.is_file()


def test_an_earlier_copy_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook_copies, "outputs_folder", lambda: tmp_path)
    first, second = copied(COMPARE), copied(COMPARE)
    assert [first.name, second.name] == ["6_compare.py", "6_compare-2.py"]
    with pytest.raises(ValueError, match="there is no page"):
        copied("../pyproject.toml")


def test_the_button_opens_an_editable_copy_with_the_arguments_of_the_page(server: Server, page: Tab) -> None:
    page.goto(f"{server.url}/?file={COMPARE}&run=stories")
    page.get_by_role("button", name="More", exact=True).click()
    with page.expect_popup() as opened:
        page.get_by_role("link", name="Open this page as a notebook").click()
    copy = opened.value
    expect(page.locator("#page-bar [role=status]")).to_have_text("Your copy opens in a new tab")
    expect(copy.get_by_text("This is your copy of").first).to_be_visible()
    address = urllib.parse.urlsplit(copy.url)
    assert address.netloc != urllib.parse.urlsplit(server.url).netloc and "access_token" not in copy.url
    asked = dict(urllib.parse.parse_qsl(address.query))
    assert asked["file"] == COMPARE and asked["run"] == "stories"
    expect(copy.locator("#page-bar")).to_contain_text(f"Your copy: outputs/notebooks/{COMPARE}")
    assert (server.outputs / "notebooks" / COMPARE).is_file()
    home = copy.locator("#page-bar a.home").get_attribute("href")
    assert home == f"{server.url}/"
    with urllib.request.urlopen(f"http://{address.netloc}/?file={COMPARE}", timeout=30) as answer:
        assert "/auth/login" in answer.url  # without the token


def test_the_bar_is_one_stop_of_the_keyboard(server: Server, page: Tab) -> None:
    page.goto(f"{server.url}/")
    words = page.locator("#page-bar .words > *")
    assert words.evaluate_all("all => all.filter(each => each.tabIndex >= 0).length") == 1
    words.first.focus()
    page.keyboard.press("ArrowRight")
    expect(words.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(words.last).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(words.first).to_be_focused()


@pytest.mark.browser  # one server for all tests that ask it
@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "cross-site"}], ids=["a program", "another site"])
def test_only_a_page_of_the_workbench_opens_a_copy(server: Server, headers: dict[str, str]) -> None:
    request = urllib.request.Request(f"{server.url}/notebook?file={COMPARE}", headers=headers)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, timeout=30)


def test_another_account_s_connection_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert notebook_copies.same_user(port)
        monkeypatch.setattr(notebook_copies.os, "getuid", lambda: 99_999)
        assert not notebook_copies.same_user(port)


ROOT = Path(__file__).resolve().parents[2]


def test_it_has_nine_cards_with_their_questions_and_loads_nothing() -> None:
    html = gallery_page()
    assert len(BAR) == 9
    there = [each for each in BAR if each.exists]
    assert re.findall(r'<h2><a href="/\?file=([^"]+)">', html) == [each.file for each in there]
    assert all(f"<p>{each.question}</p>" in html for each in there)
    assert html.count("<script>") == 1 and "default-src 'none'" in html  # the bar's
    assert set(re.findall(r'(?:src|href)="([^"]+)"', html)) == {"/", *(f"/?file={each.file}" for each in there)}


@pytest.mark.slow
def test_the_pictures_are_drawn_by_the_library_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("thumbnails", ROOT / "tools" / "thumbnails.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "thumbnails", tool)
    spec.loader.exec_module(tool)
    drawn = json.loads(tool.FILE.read_text("utf-8"))
    assert list(drawn) == [each.word for each in BAR]
    assert drawn == tool.drawn(), "draw them again: python tools/thumbnails.py"
