"""The first page: every page once, in its groups, with a picture drawn from today's library, and nothing loaded."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest
from browser import Server
from playwright.sync_api import Page, expect

from workbench.views.gallery import GROUPS, gallery_page
from workbench.views.navigation import LESSONS, PAGES, footer

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def test_every_page_and_lesson_has_one_card_and_exists() -> None:
    files = [card.file for _, cards in GROUPS.values() for card in cards]
    assert sorted(files) == sorted([*PAGES, *LESSONS])
    assert list(GROUPS) == ["See", "Make", "Train", "Judge", "Lessons"]
    on_disk = (ROOT / "notebooks").rglob("[0-9]*.py")
    assert {str(path.relative_to(ROOT / "notebooks")) for path in on_disk} == set(files)


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    html = gallery_page()
    assert "<script" not in html and "default-src 'none'" in html
    assert set(re.findall(r'(?:src|href)="([^"]+)"', html)) == {f"/?file={file}" for file in [*PAGES, *LESSONS]}


def test_only_what_may_be_opened_is_shown() -> None:
    html = gallery_page(only=frozenset(LESSONS))
    assert html.count("<li>") == len(LESSONS) and "<h2>Train" not in html


def test_lessons_lead_to_each_other() -> None:
    assert footer("lessons/1_asking.py").count("<a ") == 1
    assert "← 1 Ask, draft or explore: who finds more?" in footer("lessons/2_one_tree_at_a_time.py")
    assert "3 What does length cost? →" in footer("lessons/2_one_tree_at_a_time.py")


@pytest.mark.slow
def test_the_pictures_are_what_the_library_draws_today(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("thumbnails", ROOT / "tools" / "thumbnails.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "thumbnails", tool)
    spec.loader.exec_module(tool)
    assert json.loads(tool.FILE.read_text("utf-8")) == tool.drawn(), "make them anew: python tools/thumbnails.py"


@pytest.mark.parametrize("width", [1400, 1024, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_goes_by_keyboard_without_a_script(
    page: Page, server: Server, outside_requests: list[str], width: int, scheme: str
) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(server.url)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Start here").first).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="00 Start here")).to_be_focused()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(25, 31, 39)"
    assert dark == (scheme == "dark") and outside_requests == []
