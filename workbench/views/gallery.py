"""The first page of the workbench: a card for each word of the bar, with its question and a picture.

`tools/thumbnails.py` draws the pictures from results of the library. The page needs neither a kernel nor a script.
"""

from __future__ import annotations

import json
from functools import cache

from workbench.bar import BAR, Page, bar
from workbench.views.html import EMPTY, Markup, static_text, tag
from workbench.views.saved_pages import page


@cache
def _pictures() -> dict[str, str]:
    return json.loads(static_text("thumbnails.json"))


def gallery_page(*, only: frozenset[str] | None = None, note: Markup = EMPTY) -> str:
    """The page as one HTML file that needs no script.

    Args:
        only: the files to show, where not all may be opened.
        note: a line below the title, such as the name of a student.
    """
    shown = [each for each in BAR if each.exists and (only is None or each.file in only)]
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
        tag("div", Markup(_pictures()[page.word]), class_="ga-picture"),
        tag("h2", tag("a", page.word, href=f"/?file={page.file}")),
        tag("p", page.question),
    )
