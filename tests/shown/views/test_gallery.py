"""The first page: a card for each word of the bar, with a picture drawn from today's library, and no other request."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

from workbench.bar import BAR
from workbench.views.saved_pages import gallery_page

ROOT = Path(__file__).resolve().parent.parent.parent.parent


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
