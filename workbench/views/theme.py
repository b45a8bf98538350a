"""Colours, shapes and dashes: one palette for the charts and the names beside them; and what measures are called."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from discover_lib.metrics.results import Measure
from workbench.views.html import Markup, tag

LONGEST_NAME = 30  # characters of an assistant's name in headings and figures
MEASURES_IN_FULL = {"share": "share of hidden intents discovered", "tokens": "token count (thousands)"}


# -- what stands for an assistant or a series --------------------------------------------------------------------------

COLOURS = {  # Okabe and Ito; the dark ones lightened until they stand 3:1 off the dark paper
    "light": ("#0072b2", "#d55e00", "#00805c", "#b85c94", "#a87400", "#2f8fc4", "#6b7280", "#7a3fa0", "#1a222c"),
    "dark": ("#4aa8e0", "#ff8a3d", "#2fc79b", "#e59cc6", "#f0b429", "#8fd0f5", "#a4afbc", "#c99cf0", "#e9edf2"),
}
MARKS = "●■◆▲▼✚✖★⬢"
SCRIPTED_LOOKS = ("draft", "ask", "options", "adaptive", "mixed", "oracle", "random", "silent", "verbose")
DASHES = ("none", "8 4", "2 3.5", "8 3.5 2 3.5", "13 4")  # as SVG writes them


class Look(NamedTuple):
    """How one assistant, or one series, looks everywhere on a page."""

    light: str
    dark: str
    character: str
    dash: str

    @property
    def colour(self) -> str:
        """As CSS, for light and dark pages."""
        return f"light-dark({self.light},{self.dark})"


def looks(names: Sequence[str]) -> dict[str, Look]:
    """A look for every name: told apart by shape and by dash as well as by colour.

    A scripted assistant has the same look on every page; the other names share what is left, in their order.
    """
    own = {name: SCRIPTED_LOOKS.index(name) for name in names if name in SCRIPTED_LOOKS}
    left = (at for at in count() if at not in own.values())
    return {name: _look(own[name] if name in own else next(left)) for name in names}


def _look(at: int) -> Look:
    light, dark = COLOURS["light"], COLOURS["dark"]
    return Look(light[at % len(light)], dark[at % len(dark)], MARKS[at % len(MARKS)], DASHES[at % len(DASHES)])


def short(name: str) -> str:
    """A name that fits a heading: its beginning and, since folders and models differ there, more of its end."""
    return name if len(name) <= LONGEST_NAME else f"{name[:8]}…{name[9 - LONGEST_NAME :]}"


def named(name: str, look: Look | None = None) -> Markup:
    """An assistant's name with its mark; the whole name where it is pointed at."""
    whole = name if short(name) != name else None
    if look is None:
        return tag("b", short(name), title=whole)
    sign = tag("span", look.character, style=f"color:{look.colour}", aria_hidden="true")
    return tag("span", sign, f" {short(name)}", class_="ds-name", title=whole)


def named_in_full(measure: Measure) -> str:
    """A measure as people read it; its label is short, for the columns of a terminal."""
    return MEASURES_IN_FULL.get(measure.name, measure.label)
