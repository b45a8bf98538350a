"""Every chart but the live tree, as SVG in the page: no script, a `<title>` on what can be pointed at.

Pure: made of numbers alone.  A name keeps its colour, shape and dash in all of them, and lines are labelled where they
end or in a legend, so that colour is never the only carrier.  Colours follow the page from light to dark.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from discover_lib.metrics.intervals import Estimate, percent, two_decimals
from discover_lib.metrics.results import BehaviourProfile, Measure, Table, best_first
from discover_lib.metrics.scorer import FAMILIES, Family
from workbench.views.html import EMPTY, Markup, joined, quiet, scrolling, signed, tag
from workbench.views.theme import Look, looks, shape, short

ROW = 23.0  # units, one assistant in a chart of rows; units are CSS pixels at full width
LINE = 15.0  # units between two labels at the end of lines
CHARACTER = 10.0  # units that a character of a label is taken to be wide
LETTER = 7.2  # the same for running text
BINS = 24
PHONE_WIDTH = 350.0  # units of a chart that a phone shows whole
TABLET_WIDTH = 540.0  # units of a chart in a column or a window between the two
READABLE = 560.0  # units; a wider chart shrinks to this many pixels and scrolls from there on
NAMES_AT_MOST = 0.56  # of a chart's width that names and numbers may take in front of their values
LONGEST_MESSAGE = 120  # words; longer ones lie at the end of the axis
NARROW = 0.5  # shares that are all below this get an axis of their own length, which its words say
SMOOTHED = 5  # logged points that a bold line averages
SMOOTHED_FROM = 12  # fewer points than this are joined as they are
FAMILY_MEANING: Mapping[Family, str] = {
    "CCC": "CCC: closes in throughout",
    "DDD": "DDD: opens up throughout",
    "two in a row": "two in a row, then the other",
    "alternating": "alternating",
}


class Box(NamedTuple):
    """The size of a chart, in units."""

    width: float
    height: float


class Span(NamedTuple):
    """From the lowest to the highest of some numbers."""

    low: float
    high: float


WIDE, SMALL, PLOT, CURVE, STRIP = Box(940, 420), Box(520, 320), Box(420, 118), Box(320, 110), Box(100, 8)


Scale = Callable[[float], float]  # a quantity → units
Points = Sequence[tuple[int, float]]  # (step, value)


# -- parts -------------------------------------------------------------------------------------------------------------


def scale(span: Span, start: float, end: float) -> Scale:
    """From a span of numbers to a stretch of the drawing."""
    reach = (span.high - span.low) or 1.0
    return lambda value: start + (end - start) * (value - span.low) / reach


def span_of(estimates: Iterable[Estimate]) -> Span:
    """From the lowest to the highest end of all intervals, 0 included."""
    ends = [0.0, *(end for each in estimates for end in (each.mean, each.low, each.high) if end is not None)]
    return Span(min(ends), max(ends))


def axis_of(estimates: Iterable[Estimate], to_one: bool) -> Span:
    """From tick to tick around all intervals; it ends at 1 `to_one`, unless all are below `NARROW`."""
    span = span_of(estimates)
    step = _step(span.high - span.low)
    high = step * math.ceil(span.high / step - 1e-9) or 1.0
    return Span(step * math.floor(span.low / step + 1e-9), 1.0 if to_one and high > NARROW else high)


def _says_its_end(title: str, axis: Span, to_one: bool) -> str:
    """The words of an axis, and where it ends if a share could go further."""
    return f"{title} (axis to {axis.high:g}, not 1)" if to_one and axis.high < 1 else title


def _svg(size: Box, spoken: str, drawn: Iterable[Markup], *, stretched: bool = False, class_: str = "rf") -> Markup:
    view = f"0 0 {size.width:g} {size.height:g}"
    ratio = "none" if stretched else None
    least = None if stretched or size.width < READABLE else f"min-width:{READABLE:g}px"
    words = {"role": "img", "aria_label": spoken}
    svg = tag("svg", *drawn, class_=class_, style=least, viewBox=view, preserveAspectRatio=ratio, **words)
    return scrolling(svg) if least else svg


def for_any_window(draw: Callable[[float], Markup]) -> Markup:
    """A chart drawn for a desk, a tablet and a phone, by its width; the room that it gets decides which shows."""
    widths = {"wide": WIDE.width, "middle": TABLET_WIDTH, "narrow": PHONE_WIDTH}
    drawn = (tag("div", draw(width), class_=f"rf-{name}") for name, width in widths.items())
    return tag("div", *drawn, class_="rf-any")


def _figure(title: str, *parts: Markup, class_: str) -> Markup:
    return tag("figure", tag("figcaption", title), *parts, class_=class_)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float, **attributes: str | float) -> Markup:
    ends = {"x1": f"{x1:.1f}", "x2": f"{x2:.1f}", "y1": f"{y1:.1f}", "y2": f"{y2:.1f}"}
    return tag("line", class_=kind, **attributes, **ends)


def _text(text: str, x: float, y: float, kind: str = "rf-tick", anchor: str | None = None) -> Markup:
    return tag("text", text, class_=kind, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _mark(look: Look, x: float, y: float, title: str = "") -> Markup:
    return tag("path", tag("title", title) if title else EMPTY, d=shape(look.symbol, x, y))


def _whisker(each: Estimate, along: Scale, across: float) -> Markup:
    """An interval on a scale, with short ends; nothing where there is none."""
    if each.low is None or each.high is None:
        return EMPTY
    low, high = along(each.low), along(each.high)
    path = f"M{low:.1f},{across:.1f}H{high:.1f}M{low:.1f},{across - 3.5:.1f}v7M{high:.1f},{across - 3.5:.1f}v7"
    return tag("path", class_="rf-whisker", d=path)


def _in_words(each: Estimate, shown: Callable[[float], str] = two_decimals) -> str:
    """ "0.61 [0.55, 0.67], n = 16"."""
    bounds = "" if each.low is None or each.high is None else f" [{shown(each.low)}, {shown(each.high)}]"
    return f"{shown(each.mean)}{bounds}, n = {each.n_artifacts:,}"


def legend(entries: Iterable[tuple[Markup, str]]) -> Markup:
    """Swatches with what they stand for."""
    return tag("div", *(tag("span", swatch, name) for swatch, name in entries), class_="dl-key")


def _step(top: float) -> float:
    """The distance of ticks from 0 to `top`, six of them at most."""
    unit = 10.0 ** math.floor(math.log10(top)) if top > 1e-300 else 1.0  # below, powers of ten run out
    return next(unit * step for step in (0.2, 0.5, 1.0, 2.0) if top / (unit * step) <= 6 + 1e-9)


def _ticks(span: Span) -> list[float]:
    """Round numbers from end to end of a span that holds 0."""
    step = _step(span.high - span.low)
    return [at * step for at in range(math.ceil(span.low / step - 1e-9), math.floor(span.high / step + 1e-9) + 1)]


def _grid_across(span: Span, y: Scale, left: float, right: float, whole: bool = False) -> Markup:
    """Lines at round numbers, or at whole ones alone."""
    return joined(
        _line("rf-grid", left, y(at), right, y(at)) + _text(f"{at:.4g}", left - 8, y(at) + 4, anchor="end")
        for at in _ticks(span)
        if not whole or at == int(at)
    )


def _grid_upright(
    span: Span, x: Scale, top: float, bottom: float, title: Sequence[str], ticks: Mapping[float, str] | None = None
) -> Markup:
    """Upright lines at round numbers or at `ticks`, and the words of the axis, line by line."""
    ticks = {at: f"{at:.3g}".replace("-", "−") for at in _ticks(span)} if ticks is None else ticks
    lines = (
        _line("rf-grid", x(at), top, x(at), bottom) + _text(text, x(at), bottom + 16, anchor="middle")
        for at, text in ticks.items()
    )
    middle = (x(span.low) + x(span.high)) / 2
    words = (_text(line, middle, bottom + 34 + LINE * at, "rf-axis", "middle") for at, line in enumerate(title))
    return joined([*lines, *words])


def _wrapped(text: str, room: float) -> list[str]:
    """A text in lines of at most so many units."""
    return textwrap.wrap(text, max(1, int(room / LETTER)))


# -- an evaluation -----------------------------------------------------------------------------------------------------


def turn_curves(
    curves: Mapping[str, Sequence[Estimate]],
    marks: Mapping[str, Look],
    title: str,
    strong: Collection[str] = (),
    size: Box = WIDE,
    what: str = "found",
) -> Markup:
    """Share of the hidden intents found after each turn, with 95% bands and one line per assistant (Fig 7).

    Args:
        strong: assistants that are drawn to be seen first.
        size: the largest that it is drawn.
        what: became of the intents: "found" counts emerging ones as half.
    """
    curves = {name: curve for name, curve in curves.items() if curve}
    if not curves:
        return quiet("No conversation with anything hidden is finished.")
    up = axis_of((each for curve in curves.values() for each in curve), to_one=True)
    share, turns = f"share of the hidden intents {what}", max(map(len, curves.values()))
    words = _says_its_end(share, up, to_one=True)
    told = "; ".join(f"{name} {curve[-1]}" for name, curve in curves.items())
    spoken = f"{title}: {share} after turn {turns}: {told}"

    def draw(width: float) -> Markup:
        box = Box(min(width, size.width), size.height)
        x, y, drawn = _turn_axes(box, range(1, turns + 1), up, words)
        drawn += [_curve(name, curve, marks[name], x, y, name in strong) for name, curve in curves.items()]
        return _svg(box, spoken, drawn)

    return for_any_window(draw) + legend((_sign(marks[name]), short(name)) for name in curves)


def _turn_axes(size: Box, turns: Sequence[int], up: Span, words: str) -> tuple[Scale, Scale, list[Markup]]:
    """Scales across turns and up, and their drawing, with the words of the upright axis on top."""
    lines = _wrapped(words, size.width - 44)
    top, bottom = 13 + LINE * len(lines), size.height - 40
    x = scale(Span(turns[0], max(turns[0] + 1, turns[-1])), 52, size.width - 26)
    y = scale(up, bottom, top)
    drawn = [_grid_across(up, y, 44, size.width - 22)]
    drawn += [_text(line, 44, 12 + LINE * at, "rf-axis") for at, line in enumerate(lines)]
    drawn += [_text(str(turn), x(turn), bottom + 19, anchor="middle") for turn in turns]
    drawn += [_text("after turn", (x(turns[0]) + x(turns[-1])) / 2, bottom + 36, "rf-axis", "middle")]
    return x, y, drawn


def _curve(name: str, curve: Sequence[Estimate], look: Look, x: Scale, y: Scale, strong: bool) -> Markup:
    """A line with a mark for every turn, on its band."""
    line = [(x(turn), y(each.mean)) for turn, each in enumerate(curve, 1)]
    ends = [
        (x(turn), y(each.low), y(each.high))
        for turn, each in enumerate(curve, 1)
        if each.low is not None and each.high is not None
    ]
    around = [(at, high) for at, _, high in ends] + [(at, low) for at, low, _ in reversed(ends)]
    shapes = (
        _mark(look, *point, f"{name}, after turn {turn}: {_in_words(each)}")
        for turn, (point, each) in enumerate(zip(line, curve, strict=True), 1)
    )
    band = tag("polygon", class_="rf-band", data_strong=int(strong), points=_path(around), style=f"fill:{look.colour}")
    path = tag("polyline", points=_path(line), stroke_dasharray=look.dash)
    return band + tag("g", path, *shapes, class_="rf-line", data_strong=int(strong), style=f"color:{look.colour}")


def families(manners: Mapping[str, BehaviourProfile], marks: Mapping[str, Look]) -> Markup:
    """Share of the windows of three turns in each family (Fig 3), a panel per family, with intervals."""
    shown = {name: manner.families for name, manner in manners.items() if manner.families}
    if not shown:
        return quiet("No conversation has three turns of either kind.")
    panels = []
    for family in FAMILIES:
        title, shares = FAMILY_MEANING[family], {name: each[family] for name, each in shown.items()}
        drawn = dots(shares, "share", marks, percent, to_one=True)
        panels.append(tag("figure", tag("figcaption", title), drawn, class_="rf-panel"))
    return tag("div", *panels, class_="rf-panels")


def intervals(estimates: Table, measure: Measure, marks: Mapping[str, Look]) -> Markup:
    """Mean and interval of every assistant in one measure, the highest on top."""
    order = [name for name in best_first(estimates, measure.name) if measure.name in estimates[name]]
    if not order:
        return quiet(f"No assistant is scored in {measure.label}.")
    rows = {name: estimates[name][measure.name] for name in order}
    title = f"{measure.label}, mean over artifacts with its 95% interval"
    return dots(rows, title, marks, measure.shown, to_one=measure.is_share)


def dots(
    rows: Mapping[str, Estimate],
    title: str,
    marks: Mapping[str, Look] | None = None,
    shown: Callable[[float], str] = two_decimals,
    *,
    to_one: bool = False,
    one_look: bool = False,
) -> Markup:
    """Means with their intervals and n on one scale with 0 in it, a row each; `title` names the scale.

    Args:
        to_one: the scale ends at 1, the most that there can be; far below, its words say that it does not.
        one_look: the rows are no assistants, and so need no colours and shapes of their own.
    """
    marks = marks or (dict.fromkeys(rows, looks(["one"])["one"]) if one_look else looks(list(rows)))
    axis = axis_of(rows.values(), to_one)
    drawn = []
    for name, each in rows.items():
        number = _in_words(each, shown)
        drawn.append(Row(name, number, _interval(each, marks[name]), f"{name}: {number}", marks[name]))
    words = _says_its_end(title, axis, to_one)
    return for_any_window(lambda width: rows_chart(drawn, axis, title, width, words=words))


# -- rows: named values on one scale -----------------------------------------------------------------------------------

Encoding = Callable[[Scale, float], list[Markup]]  # draws a row's values on the chart's scale, at a height


class Row(NamedTuple):
    """A row of a chart.

    Attributes:
        name: in front of the values, or above them where the window leaves too little room.
        number: its value in words, beside the name; "" for one that the encoding writes.
        drawn: its values.
        told: all of it in words, for the pointer and for those who hear the chart.
        look: an assistant's mark and colour.
    """

    name: str
    number: str
    drawn: Encoding
    told: str
    look: Look | None = None


def rows_chart(
    rows: Sequence[Row],
    axis: Span,
    title: str,
    width: float,
    *,
    words: str = "",
    room: float = 0,
    ticks: Mapping[float, str] | None = None,
) -> Markup:
    """Named rows of values on one scale.

    Args:
        words: below the scale; without them the scale has no grid, unless `ticks` are given.
        room: units for what is written beside the first and the last value.
        ticks: values of the grid and what stands below them; by default round numbers.
    """
    if not rows:
        return EMPTY
    indent, longest = 18.0 if any(row.look for row in rows) else 0.0, LETTER * max(len(row.number) for row in rows)
    names = [[short(row.name) if row.look else row.name] for row in rows]
    number = indent + 8 + CHARACTER * max(len(name) for [name] in names)
    left = number + longest + 16
    above = left > NAMES_AT_MOST * width
    if above:
        names = [_wrapped(row.name, width - longest - 24) for row in rows]
        number, left = width - 2, 10.0
    x = scale(axis, left + room, width - 14 - room)
    drawn, top = [], 4.0
    for row, lines in zip(rows, names, strict=True):
        y = top + ROW / 2
        at = y + LINE * len(lines) + 2 if above else y
        parts = [tag("title", row.told)]
        parts += [_text(line, indent, y + 4 + LINE * place, "rf-row") for place, line in enumerate(lines)]
        parts += [tag("path", class_="rf-mark", d=shape(row.look.symbol, 8, y))] if row.look else []
        parts += row.drawn(x, at)
        parts += [_text(row.number, number, y + 4, "rf-row", "end" if above else None)] if row.number else []
        drawn.append(tag("g", *parts, class_="rf-own", style=f"color:{row.look.colour}" if row.look else None))
        top = at + (0.8 if above else 0.6) * ROW
    spoken = f"{title}: {'; '.join(row.told for row in rows)}"
    if not words and ticks is None:
        return _svg(Box(width, top), spoken, drawn)
    wrapped = _wrapped(words, width - left)
    grid = _grid_upright(axis, x, 4, top, wrapped, ticks)
    return _svg(Box(width, top + 40 + LINE * (len(wrapped) - 1)), spoken, [grid, *drawn])


def _interval(each: Estimate, look: Look) -> Encoding:
    """A whisker with the mark of the mean."""
    return lambda x, y: [_whisker(each, x, y), tag("g", _mark(look, x(each.mean), y), class_="rf-line")]


def _reward(value: float | None, was: float | None) -> Encoding:
    """A reward as a bar from zero, with its signed number; an outline where it was another."""

    def drawn(x: Scale, y: float) -> list[Markup]:
        if value is None or was is None:
            return [_text("unscored", x(0) + 6, y + 4)]
        number, outline = signed(round(value, 3)), EMPTY
        if was != value:
            number, outline = f"{number} (was {signed(round(was, 3))})", _rect(x(0), x(was), y, class_="rf-was")
        told = _text(number, max(x(value), x(was), x(0)) + 6, y + 4, "rf-name")
        return [_rect(x(0), x(value), y, class_="rf-costs" if value < 0 else "rf-earns"), outline, told]

    return drawn


def _rect(one: float, other: float, y: float, **attributes: str) -> Markup:
    """A bar of a row between two places."""
    box = {"x": f"{min(one, other):.1f}", "y": f"{y - 7:.1f}", "width": f"{max(2.0, abs(other - one)):.1f}"}
    return tag("rect", height=14, **box, **attributes)


def strip(estimate: Estimate, span: Span) -> Markup:
    """An interval in a cell of a table: a line, and a tick for the mean, on the scale of its column."""
    x = scale(span, 0, STRIP.width)

    def tick(value: float, kind: str | None = None) -> Markup:
        place = min(STRIP.width - 2, max(0.0, x(value) - 1))
        return tag("rect", class_=kind, x=f"{place:.1f}", y=0, width=2, height=8)

    drawn = [tag("rect", class_="ds-rail", x=0, y="3.6", width=f"{STRIP.width:g}", height=".8")]
    if span.low < 0 < span.high:
        drawn.append(tick(0.0, "ds-rail"))
    if estimate.low is not None and estimate.high is not None:
        width = max(1.0, x(estimate.high) - x(estimate.low))
        drawn.append(tag("rect", x=f"{x(estimate.low):.1f}", y=3, width=f"{width:.1f}", height=2))
    drawn.append(tick(estimate.mean))
    view = f"0 0 {STRIP.width:g} {STRIP.height:g}"
    return tag("svg", *drawn, class_="ds-strip", viewBox=view, preserveAspectRatio="none", aria_hidden="true")


def _sign(look: Look) -> Markup:
    return tag("b", f"{look.character} ", style=f"color:{look.colour}", aria_hidden="true")


def reward_of(rewards: Mapping[str, float | None], before: Mapping[str, float] | None = None) -> Markup:
    """Rewards of a few replies as bars from zero, the signed value at the end of each."""
    before = before or {}
    return _rewards({name: (value, before.get(name, value), "") for name, value in rewards.items()}, {})


def group_bars(
    rewards: Mapping[str, float | None], advantages: Mapping[str, float | None], mean: float | None
) -> Markup:
    """Rewards of a group of replies as bars from zero, their mean below, and what an update makes of each reply."""
    sides = {name: _side(value) for name, value in advantages.items() if value is not None}
    rows = {name: (value, value, sides.get(name, "")) for name, value in rewards.items()}
    return _rewards(rows, {} if mean is None else {mean: f"mean {signed(round(mean, 3))}"})


def _side(advantage: float) -> str:
    what = "▲ likelier" if advantage > 0 else "▼ less likely" if advantage < 0 else "= stays"
    return f"{what} ({signed(round(advantage, 2))})"


def _rewards(rewards: Mapping[str, tuple[float | None, float | None, str]], marked: Mapping[float, str]) -> Markup:
    """Bars by name: the reward, what it was, and words beside the name; values that are marked below."""
    values = [value for now, was, _ in rewards.values() for value in (now, was) if value is not None]
    axis = Span(min([0.0, *values]), max([1.0, *values]))
    rows = [
        Row(name, side, _reward(now, was), f"{name} {'unscored' if now is None else signed(now)}")
        for name, (now, was, side) in rewards.items()
    ]
    ticks = {0.0: "0", **marked}
    drawn = for_any_window(lambda width: rows_chart(rows, axis, "Rewards", width, room=70, ticks=ticks))
    return tag("div", drawn, class_="dl-bars")


# -- training data -----------------------------------------------------------------------------------------------------


def histogram(values: Sequence[float], title: str, unit: str, below: str = "", above: str = "") -> Markup:
    """How numbers lie around zero.  `below` and `above` say what the two sides mean; zeros are counted in words."""
    if not values:
        return quiet("No pairs.")
    low, high = min(0.0, *values), max(0.0, *values)
    width = (high - low) / BINS or 1.0
    places = range(math.floor(low / width), max(1, math.ceil(high / width)))  # cut at zero: no bar holds both sides
    counts = Counter(min(math.floor(value / width), places.stop - 1) for value in values if value)
    up = Span(0, max(counts.values(), default=1))
    left, y = 12 + CHARACTER * len(str(int(up.high))), scale(up, PLOT.height, 18)
    x = scale(Span(places.start, places.stop), left, PLOT.width)
    drawn = [_grid_across(up, y, left, PLOT.width, whole=True), _text("pairs", 0, 8, "rf-axis")]
    drawn += [
        _line("dp-base", left, PLOT.height, PLOT.width, PLOT.height),
        _line("dp-zero", x(0), 14, x(0), PLOT.height),
    ]
    for place, count in sorted(counts.items()):
        label = f"{_plain(place * width)} to {_plain((place + 1) * width)} {unit}: {count}"
        box = {"x": f"{x(place) + 0.5:.1f}", "width": f"{x(1) - x(0) - 1:.1f}"}
        box |= {"y": f"{y(count):.1f}", "height": f"{PLOT.height - y(count):.1f}"}
        drawn.append(tag("rect", tag("title", label), class_="dp-below" if place < 0 else "dp-above", **box))
    for place, anchor in {places.start: None, places.stop: "end", 0: "middle"}.items():
        drawn.append(_text(_plain(place * width), x(place), PLOT.height + 16, anchor=anchor))
    drawn.append(_text(unit, (left + PLOT.width) / 2, PLOT.height + 32, "rf-axis", "middle"))
    sides = {"below": (below, sum(value < 0 for value in values)), "above": (above, sum(value > 0 for value in values))}
    key = [(tag("i", class_=f"dp-{side}"), f"{name}: {count}") for side, (name, count) in sides.items() if name]
    if zeros := sum(value == 0 for value in values):
        key.append((EMPTY, f"exactly 0: {zeros}"))
    return _figure(title, _svg(Box(PLOT.width, PLOT.height + 40), title, drawn), legend(key), class_="dp-plot")


def lengths(rows: Mapping[str, Sequence[float]], marks: Mapping[str, Look]) -> Markup:
    """How long messages are, a row for each sort of user: the median, and from where to where nine tenths lie.

    Args:
        rows: name → words of every message, or quantiles of them; none empty.
    """
    drawn, spans = [], []
    for name, values in rows.items():
        low, median, high = (sorted(values)[round(at * (len(values) - 1))] for at in (0.05, 0.5, 0.95))
        low, median, high = (min(words, LONGEST_MESSAGE) for words in (low, median, high))
        spans.append(Estimate(median, low, high, 1, 1))
        told = f"{name}: median {median:g}, nine tenths from {low:g} to {high:g} words"
        number = f"{median:g} [{low:g}, {high:g}]"
        drawn.append(Row(name, number, _interval(spans[-1], marks[name]), told, marks[name]))
    axis, words = axis_of(spans, to_one=False), "words of a message: median and nine tenths"
    return for_any_window(lambda width: rows_chart(drawn, axis, words, width, words=words))


def _plain(value: float) -> str:
    return f"{value:,.0f}".replace("-", "−") if abs(value) >= 10 else signed(round(value, 2)).lstrip("+")


# -- a training run ----------------------------------------------------------------------------------------------------


def small_curve(
    title: str,
    series: Mapping[str, Points],
    last: int,
    shown: Callable[[float], str],
    *,
    whole: bool = False,
    from_zero: bool = False,
    marks: Sequence[int] = (),
    intervals: Sequence[tuple[int, float, float]] = (),
    behind: Points = (),
) -> Markup:
    """Quantities over steps in a small chart, the last value of each in its legend.

    Args:
        series: name → points; none empty.
        last: the step at the right end.
        shown: writes a number of the axis.
        whole: a share: the axis is 0 to 1.
        from_zero: the axis begins at 0.
        marks: steps with an upright line.
        intervals: (step, low, high) behind the first series.
        behind: the same quantity of an earlier run, in grey.
    """
    values = [value for points in (*series.values(), behind) for _, value in points] + [0.0] * from_zero
    span = Span(0.0, 1.0) if whole else _round_span([*values, *(end for _, *ends in intervals for end in ends)])
    end = max(points[-1][0] for points in series.values())
    bold = any(len(points) >= SMOOTHED_FROM for points in series.values())
    x, height = scale(Span(0, last), 0, CURVE.width), scale(span, CURVE.height, 0)

    def y(value: float) -> float:
        return height(min(max(value, span.low), span.high))

    drawn = [tag("rect", class_="dt-area", x=0, y=0, width=f"{x(end):.1f}", height=f"{CURVE.height:g}")]
    drawn += [_line("dt-mark", x(step), 0, x(step), CURVE.height) for step in marks]
    drawn += [_line("dt-interval", x(step), y(high), x(step), y(low), data_series=0) for step, low, high in intervals]
    if span.low < 0 < span.high:
        drawn.append(_line("dt-zero", 0, y(0), CURVE.width, y(0)))
    if behind:
        drawn.append(tag("polyline", class_="dt-behind", points=_path((x(step), y(value)) for step, value in behind)))
    drawn += [_small_line(place, points, x, y, bold) for place, points in enumerate(series.values())]
    latest = {name: shown(points[-1][1]) for name, points in series.items()}
    spoken = f"{title} up to step {end}: {'; '.join(f'{name} {value}' for name, value in latest.items())}"
    ends = tag("div", tag("span", shown(span.high)), tag("span", shown(span.low)), class_="dt-y")
    plot = tag("div", ends, _svg(CURVE, spoken, drawn, stretched=True, class_="dt-svg"), class_="dt-plot")
    steps = tag("div", tag("span", "0"), tag("span", f"step {last:,}"), class_="dt-x")
    key = (
        tag("span", tag("i", data_series=place), f"{name} ", tag("b", value))
        for place, (name, value) in enumerate(latest.items())
    )
    return _figure(title, plot, steps, tag("div", *key, class_="dt-legend"), class_="dt-curve")


def smoothed(values: Sequence[float]) -> list[float]:
    """The mean of each value and those before it, at most `SMOOTHED` together."""
    windows = (values[max(0, at + 1 - SMOOTHED) : at + 1] for at in range(len(values)))
    return [sum(each) / len(each) for each in windows]


def _small_line(place: int, points: Points, x: Scale, y: Scale, bold: bool) -> Markup:
    def line(values: Sequence[float], kind: str) -> Markup:
        path = _path((x(step), y(value)) for (step, _), value in zip(points, values, strict=True))
        return tag("polyline", class_=kind, data_series=place, points=path)

    if len(points) == 1:
        [(step, value)] = points
        return tag("circle", class_="dt-dot", data_series=place, cx=f"{x(step):.1f}", cy=f"{y(value):.1f}", r="2.5")
    raw = [value for _, value in points]
    return line(raw, "dt-raw") + line(smoothed(raw), "dt-line") if bold else line(raw, "dt-line")


def _round_span(values: Sequence[float]) -> Span:
    """The ends of an axis, at round numbers; zero is kept in where it is near."""
    low, high = min(values), max(values)
    if low == high:
        low, high = low - (abs(low) * 0.1 or 0.5), high + (abs(high) * 0.1 or 0.5)
    low = min(low, 0.0) if 0 <= low <= high - low else low
    high = max(high, 0.0) if low - high <= high <= 0 else high
    step = 10.0 ** math.floor(math.log10(high - low)) / 5
    return Span(math.floor(low / step) * step, math.ceil(high / step) * step)
