"""Figures of the paper's report as SVG in the page: turn curves (Fig 7) and families of three turns (Fig 3).

Pure: made of estimates alone, without a script.  An assistant keeps its colour, shape and dash in both figures, and
lines are labelled where they end, so that colour is never the only carrier.  Colours come in pairs for light and dark.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from discover_lib.metrics.behaviour import FAMILIES, Family
from discover_lib.metrics.intervals import Estimate
from discover_lib.metrics.results import BehaviourProfile
from discover_lib.views.figures.score_figures import FAMILY_MEANING, spread_apart
from discover_lib.views.scores import Look

ROW = 23  # units, one assistant in a panel of bars; units are CSS pixels at full width
LINE = 15  # units between two labels at the end of lines
CHARACTER = 10.0  # units that a character of a label is taken to be wide
DASHES = {"solid": "none", "dash": "8 4", "dot": "2 3.5", "dashdot": "8 3.5 2 3.5", "longdash": "13 4"}


Scale = Callable[[float], float]  # a quantity → units


class Box(NamedTuple):
    """The size of a drawing, in units."""

    width: float
    height: float


WIDE = Box(940, 420)


def curve_figure(
    curves: Mapping[str, Sequence[Estimate]],
    marks: Mapping[str, Look],
    title: str,
    size: Box = WIDE,
    strong: Collection[str] = (),
) -> str:
    """Share of the hidden intents found after each turn, with 95 % bands, a line per assistant (Fig 7).

    Args:
        strong: assistants that are drawn to be seen first.
    """
    there = {name: curve for name, curve in curves.items() if curve}
    if not there:
        return '<p class="dl-quiet">No conversation with anything hidden is finished.</p>'
    turns = max(map(len, there.values()))
    top = _round_up(max(each.mean if each.high is None else each.high for curve in there.values() for each in curve))
    left, right, bottom = 44.0, 26 + CHARACTER * max(map(len, there)), size.height - 40

    def x(turn: float) -> float:
        return left + 8 + (size.width - right - left - 8) * (turn - 1) / max(1, turns - 1)

    def y(share: float) -> float:
        return 12 + (bottom - 12) * (1 - share / top)

    drawn = [_grid(x, y, top, turns, size.width - right)]
    drawn += [_band(curve, marks[name], x, y, name in strong) for name, curve in there.items()]
    drawn += [_line(name, curve, marks[name], x, y, name in strong) for name, curve in there.items()]
    room = LINE * top / (bottom - 12)
    places = spread_apart({name: curve[-1].mean for name, curve in there.items()}, room)
    drawn += [_label(name, x(turns), y(there[name][-1].mean), y(at), marks[name]) for name, at in places.items()]
    spoken = "; ".join(f"{name} {curve[-1]}" for name, curve in there.items())
    return _svg(size, f"{title}: share of the hidden intents found after turn {turns}: {spoken}", drawn)


def _grid(x: Scale, y: Scale, top: float, turns: int, end: float) -> str:
    lines = [
        f'<line class="rf-grid" x1="44" x2="{end + 4:.1f}" y1="{y(at):.1f}" y2="{y(at):.1f}"/>'
        f'<text class="rf-tick" x="36" y="{y(at) + 4:.1f}" text-anchor="end">{at:.2g}</text>'
        for at in _ticks(top)
    ]
    numbers = "".join(
        f'<text class="rf-tick" x="{x(turn):.1f}" y="{y(0) + 19:.1f}" text-anchor="middle">{turn}</text>'
        for turn in range(1, turns + 1)
    )
    middle = (x(1) + x(turns)) / 2
    return "".join(lines) + (
        f'{numbers}<text class="rf-axis" x="{middle:.1f}" y="{y(0) + 36:.1f}" text-anchor="middle">after turn</text>'
    )


def _band(curve: Sequence[Estimate], look: Look, x: Scale, y: Scale, strong: bool) -> str:
    ends = [
        (turn, each.low, each.high)
        for turn, each in enumerate(curve, 1)
        if each.low is not None and each.high is not None
    ]
    upper = [f"{x(turn):.1f},{y(high):.1f}" for turn, _, high in ends]
    lower = [f"{x(turn):.1f},{y(low):.1f}" for turn, low, _ in reversed(ends)]
    if not ends:
        return ""
    style = f'data-strong="{int(strong)}" style="fill:{colour(look)}"'
    return f'<polygon class="rf-band" {style} points="{" ".join(upper + lower)}"/>'


def _line(name: str, curve: Sequence[Estimate], look: Look, x: Scale, y: Scale, strong: bool) -> str:
    at = [(x(turn), y(each.mean)) for turn, each in enumerate(curve, 1)]
    path = " ".join(f"{across:.1f},{down:.1f}" for across, down in at)
    shapes = "".join(
        f'<path d="{shape(look.symbol, *point)}"><title>{html.escape(name)}, after turn {turn}: {each}, '
        f"n = {each.n_artifacts} artifacts</title></path>"
        for turn, (point, each) in enumerate(zip(at, curve, strict=True), 1)
    )
    return (
        f'<g class="rf-line" data-strong="{int(strong)}" style="color:{colour(look)}"><polyline points="{path}" '
        f'stroke-dasharray="{DASHES[look.dash]}"/>{shapes}</g>'
    )


def _label(name: str, x: float, end: float, at: float, look: Look) -> str:
    """The name right of where its line ends, led to it where it had to give way."""
    lead = f'<line class="rf-lead" x1="{x + 7:.1f}" y1="{end:.1f}" x2="{x + 15:.1f}" y2="{at:.1f}"/>'
    return (
        f'<g style="color:{colour(look)}">{lead}'
        f'<text class="rf-name" x="{x + 19:.1f}" y="{at + 4.5:.1f}">{html.escape(name)}</text></g>'
    )


def family_figures(manners: Mapping[str, BehaviourProfile], marks: Mapping[str, Look]) -> str:
    """Share of the windows of three turns in each family (Fig 3), a panel per family, with intervals."""
    there = {name: manner for name, manner in manners.items() if manner.families}
    if not there:
        return '<p class="dl-quiet">No conversation has three turns of either kind.</p>'
    return f'<div class="rf-panels">{"".join(_family(family, there, marks) for family in FAMILIES)}</div>'


def _family(family: Family, manners: Mapping[str, BehaviourProfile], marks: Mapping[str, Look]) -> str:
    left, right = 22 + CHARACTER * max(map(len, manners)), 46.0
    size = Box(500, 8 + ROW * len(manners))
    reach = size.width - left - right
    rows, spoken = [], []
    for place, (name, manner) in enumerate(manners.items()):
        each, look, middle = manner.families[family], marks[name], 4 + ROW * (place + 0.5)
        whisker = ""
        if each.low is not None and each.high is not None:
            low, high = left + reach * each.low, left + reach * each.high
            whisker = (
                f'<path class="rf-whisker" d="M{low:.1f},{middle:.1f}H{high:.1f}M{low:.1f},{middle - 3.5:.1f}v7'
                f'M{high:.1f},{middle - 3.5:.1f}v7"/>'
            )
        rows.append(
            f'<g style="color:{colour(look)}"><title>{html.escape(name)}: {each}, n = {each.n_artifacts} artifacts'
            f'</title><path class="rf-mark" d="{shape(look.symbol, 8, middle)}"/>'
            f'<text class="rf-row" x="18" y="{middle + 4:.1f}">{html.escape(name)}</text>'
            f'<rect class="rf-rail" x="{left:.1f}" y="{middle - 7:.1f}" width="{reach:.1f}" height="14"/>'
            f'<rect class="rf-bar" x="{left:.1f}" y="{middle - 7:.1f}" width="{reach * each.mean:.1f}" height="14"/>'
            f'{whisker}<text class="rf-tick" x="{size.width - 2:.1f}" y="{middle + 4:.1f}" text-anchor="end">'
            f"{each.mean:.0%}</text></g>"
        )
        spoken.append(f"{name} {each}")
    drawn = _svg(size, f"{FAMILY_MEANING[family]}: {'; '.join(spoken)}", rows)
    return f'<figure class="rf-panel"><figcaption>{html.escape(FAMILY_MEANING[family])}</figcaption>{drawn}</figure>'


# -- parts of figures -------------------------------------------------------------------------------------------------


def colour(look: Look) -> str:
    """The colour of an assistant as CSS, for light and dark pages."""
    return f"light-dark({look.colour},{look.dark})"


def shape(symbol: str, x: float, y: float, r: float = 4.6) -> str:
    """The path of a marker, by plotly's name for it; a circle for a name that is not known."""
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
    """The corners of a regular polygon, the first of them turned by so many degrees from the right."""
    angles = [math.radians(turned + 360 * at / n) for at in range(n)]
    return [(size * math.cos(each), size * math.sin(each)) for each in angles]


def _plus(turned: float) -> list[tuple[float, float]]:
    arm, half = 1.3, 0.45
    corner = [(half, -half), (half, -arm), (-half, -arm), (-half, -half), (-arm, -half), (-arm, half)]
    corner += [(-a, -b) for a, b in corner]
    cos, sin = math.cos(math.radians(turned)), math.sin(math.radians(turned))
    return [(a * cos - b * sin, a * sin + b * cos) for a, b in corner]


def _round_up(value: float) -> float:
    """The upper end of an axis of shares: the next tick."""
    step = _step(value)
    return min(1.0, step * math.ceil(value / step - 1e-9)) or 1.0


def _step(top: float) -> float:
    return next((step for step in (0.02, 0.05, 0.1) if top / step <= 6), 0.2)


def _ticks(top: float) -> list[float]:
    step = _step(top)
    return [at * step for at in range(round(top / step) + 1)]


def _svg(size: Box, spoken: str, drawn: Sequence[str]) -> str:
    return (
        f'<svg class="rf" viewBox="0 0 {size.width:g} {size.height:g}" role="img" '
        f'aria-label="{html.escape(spoken, quote=True)}">{"".join(drawn)}</svg>'
    )
