"""The first page: every page once, in its groups, with a picture drawn from today's library, and nothing loaded."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from workbench.views.gallery import GROUPS, gallery_page
from workbench.views.navigation import LESSONS, PAGES

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


@pytest.mark.slow
def test_the_pictures_are_what_the_library_draws_today(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("thumbnails", ROOT / "tools" / "thumbnails.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "thumbnails", tool)
    spec.loader.exec_module(tool)
    assert json.loads(tool.FILE.read_text("utf-8")) == tool.drawn(), "make them anew: python tools/thumbnails.py"
