"""The first page of the workbench: a card for each word of the bar, with its question and a picture.

`tools/thumbnails.py` draws the pictures from results of the library. The page needs neither a kernel nor a script.
"""

from __future__ import annotations

import json
from functools import cache

from workbench.bar import BAR, CLASS, PAGES, Page, bar
from workbench.views.html import EMPTY, Markup, static_text, tag
from workbench.views.saved_pages import page


@cache
def _pictures() -> dict[str, str]:
    return json.loads(static_text("thumbnails.json"))


def gallery_page(*, only: frozenset[str] | None = None, note: Markup = EMPTY) -> str:
    """The page as one HTML file that needs no script.

    Args:
        only: the files that a student may open; each lesson then has its own card.
        note: a line below the title, such as the name of a student.
    """
    listed = BAR if only is None else [each for each in (*PAGES, *CLASS) if each.file in only]
    shown = [each for each in listed if each.exists]
    return page(
        "gallery_page.html",
        "DiscoverLLM workbench",
        ("workbench.css", "gallery.css"),
        bar=bar(only=only),
        cards=tag("ul", *map(_card, shown), class_="ga-cards"),
        start=shown[0].file if shown else "",
        note=note,
    )


def _card(page: Page) -> Markup:
    return tag(
        "li",
        tag("div", Markup(_pictures().get(page.word) or _pictures()["Class"]), class_="ga-picture"),
        tag("h2", tag("a", page.word, href=f"/?file={page.file}")),
        tag("p", page.question),
    )
