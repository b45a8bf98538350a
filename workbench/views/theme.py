"""Colours, shapes and dashes: one palette for the charts and the names beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from workbench.views.html import Markup, tag

LONGEST_NAME = 30  # characters of an assistant's name in headings and figures


# -- what stands for an assistant or a series --------------------------------------------------------------------------

COLOURS = {  # Okabe and Ito; the dark ones lightened until they stand 3:1 off the dark paper
    "light": ("#0072b2", "#d55e00", "#00805c", "#b85c94", "#a87400", "#2f8fc4", "#6b7280", "#7a3fa0", "#1a222c"),
    "dark": ("#4aa8e0", "#ff8a3d", "#2fc79b", "#e59cc6", "#f0b429", "#8fd0f5", "#a4afbc", "#c99cf0", "#e9edf2"),
}
SHAPES = (  # a marker's name, and the character that looks like it
    ("circle", "●"),
    ("square", "■"),
    ("diamond", "◆"),
    ("triangle-up", "▲"),
    ("triangle-down", "▼"),
    ("cross", "✚"),
    ("x", "✖"),
    ("star", "★"),
    ("hexagon", "⬢"),
)
SCRIPTED_LOOKS = ("draft", "ask", "options", "adaptive", "mixed", "oracle", "random", "silent", "verbose")
DASHES = ("none", "8 4", "2 3.5", "8 3.5 2 3.5", "13 4")  # as SVG writes them


class Look(NamedTuple):
    """How one assistant, or one series, looks everywhere on a page."""

    light: str
    dark: str
    symbol: str
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
    return Look(light[at % len(light)], dark[at % len(dark)], *SHAPES[at % len(SHAPES)], DASHES[at % len(DASHES)])


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


def shape(symbol: str, x: float, y: float, r: float = 4.6) -> str:
    """The path of a marker by its name; a circle for a name that is not known."""
    polygons = {
        "square": _corners(4, 45, 1.2),
        "diamond": _corners(4, 0, 1.3),
        "triangle-up": _corners(3, -90, 1.35),
        "triangle-down": _corners(3, 90, 1.35),
        "hexagon": _corners(6, 0, 1.15),
        "cross": _plus(0),
        "x": _plus(45),
        "star": [(d * a, d * b) for (a, b), d in zip(_corners(10, -90, 1.0), (1.5, 0.65) * 5, strict=True)],
    }
    points = polygons.get(symbol)
    if points is None:
        return f"M{x - r:.1f},{y:.1f}a{r},{r} 0 1,0 {2 * r},0a{r},{r} 0 1,0 {-2 * r},0Z"
    return "M" + "L".join(f"{x + r * a:.1f},{y + r * b:.1f}" for a, b in points) + "Z"


def _corners(n: int, turned: float, size: float) -> list[tuple[float, float]]:
    """The corners of a regular polygon, the first of them turned by this many degrees from the right."""
    angles = [math.radians(turned + 360 * at / n) for at in range(n)]
    return [(size * math.cos(each), size * math.sin(each)) for each in angles]


def _plus(turned: float) -> list[tuple[float, float]]:
    arm, half = 1.3, 0.45
    corner = [(half, -half), (half, -arm), (-half, -arm), (-half, -half), (-arm, -half), (-arm, half)]
    corner += [(-a, -b) for a, b in corner]
    cos, sin = math.cos(math.radians(turned)), math.sin(math.radians(turned))
    return [(a * cos - b * sin, a * sin + b * cos) for a, b in corner]
