"""The workbench's own first page: what each page shows, a promise and the minutes it takes, in groups.

The pictures are drawn by `tools/thumbnails.py` from what the library computes, and read here as they were written, so
that the page needs neither a kernel nor a script.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from workbench.views.html import EMPTY, Markup, joined, static_text, tag
from workbench.views.navigation import LESSONS, PAGES
from workbench.views.saved_pages import page


@dataclass(frozen=True)
class Card:
    """A page's card: its file, what it promises, and how many minutes a first visit takes."""

    file: str
    promise: str
    minutes: int


GROUPS = {  # group → what it is about, and its cards
    name: (group["about"], tuple(Card(*card) for card in group["cards"]))
    for name, group in json.loads(static_text("gallery.json")).items()
}


@cache
def _pictures() -> dict[str, str]:
    return json.loads(static_text("thumbnails.json"))


def gallery_page(*, only: frozenset[str] | None = None, note: Markup = EMPTY) -> str:
    """The page as one HTML file that needs no script.

    Args:
        only: the files to show, where not all may be opened.
        note: a line below the title, such as who is signed in.
    """
    shown = {
        name: (about, [card for card in cards if only is None or card.file in only])
        for name, (about, cards) in GROUPS.items()
    }
    groups = joined(_group(name, about, cards) for name, (about, cards) in shown.items() if cards)
    return page(
        "gallery_page.html", "DiscoverLLM workbench", ("workbench.css", "gallery.css"), groups=groups, note=note
    )


def _group(name: str, about: str, cards: list[Card]) -> Markup:
    heading = tag("h2", name, tag("span", f" {about}"))
    return tag("section", heading, tag("ul", *map(_card, cards)), class_="ga-group")


def _card(card: Card) -> Markup:
    title = {**PAGES, **LESSONS}[card.file]
    number = card.file.rpartition("/")[2].partition("_")[0]
    return tag(
        "li",
        tag("div", Markup(_pictures()[card.file]), class_="ga-picture"),
        tag("h3", tag("a", f"{number} {title}", href=f"/?file={card.file}")),
        tag("p", card.promise, " ", tag("span", f"{card.minutes} min", class_="ga-minutes")),
    )
