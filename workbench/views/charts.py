"""Every chart but the live tree, as elements in the page: no script, and words for who points at it or hears it.

Places are percent of the room that the page gives, so one drawing serves a desk and a phone.  A name keeps its colour,
mark and dash in all charts, and colour is never the only carrier.  Colours follow the page from light to dark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from discover_lib.metrics.intervals import Estimate, percent, two_decimals
from discover_lib.metrics.results import BehaviourProfile, Measure, Table, best_first
from discover_lib.metrics.scorer import FAMILIES, Family
from workbench.views.html import EMPTY, Markup, joined, quiet, signed, tag
from workbench.views.theme import Look, looks, named_in_full, short

LONGEST_MESSAGE = 120  # words; longer ones lie at the end of the axis
NARROW = 0.5  # shares that are all below this get an axis of their own length
SMOOTHED = 5  # logged points that a bold line averages
SMOOTHED_FROM = 12  # fewer points than this are joined as they are
STRIP = 100.0, 8.0  # units of the drawing in a cell
FAMILY_MEANING: Mapping[Family, str] = {
    "CCC": "CCC: closes in throughout",
    "DDD": "DDD: opens up throughout",
    "two in a row": "two in a row, then the other",
    "alternating": "alternating",
}


class Span(NamedTuple):
    """From the lowest to the highest of some numbers."""

    low: float
    high: float


Scale = Callable[[float], float]  # a quantity → a place
Points = Sequence[tuple[int, float]]  # (step, value)


# -- axes --------------------------------------------------------------------------------------------------------------


def scale(span: Span, start: float = 0.0, end: float = 100.0) -> Scale:
    """From a span of numbers to a stretch of the chart, in percent."""
    return lambda value: start + (end - start) * (value - span.low) / ((span.high - span.low) or 1.0)


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


def _step(top: float) -> float:
    """The distance of ticks from 0 to `top`, six of them at most."""
    unit = 10.0 ** math.floor(math.log10(top)) if top > 1e-300 else 1.0  # below, powers of ten run out
    return next(unit * step for step in (0.2, 0.5, 1.0, 2.0) if top / (unit * step) <= 6 + 1e-9)


def _ticks(span: Span) -> dict[float, str]:
    """Round numbers from end to end of a span that holds 0, and how they are written."""
    step = _step(span.high - span.low)
    places = range(math.ceil(span.low / step - 1e-9), math.floor(span.high / step + 1e-9) + 1)
    return {at * step: f"{at * step:.3g}".replace("-", "−") for at in places}


def in_words(each: Estimate, shown: Callable[[float], str] = two_decimals) -> str:
    """ "0.61 [0.55, 0.67], n = 16"."""
    bounds = "" if each.low is None or each.high is None else f" [{shown(each.low)}, {shown(each.high)}]"
    return f"{shown(each.mean)}{bounds}, n = {each.n_artifacts:,}"


def legend(entries: Iterable[tuple[Markup, str]]) -> Markup:
    """Swatches with what they stand for."""
    return tag("div", *(tag("span", swatch, name) for swatch, name in entries), class_="dl-key")


# -- parts -------------------------------------------------------------------------------------------------------------


def _figure(title: str, *parts: Markup, class_: str) -> Markup:
    return tag("figure", tag("figcaption", title), *parts, class_=class_)


def _sign(look: Look) -> Markup:
    return tag("b", f"{look.character} ", style=f"color:{look.colour}", aria_hidden="true")


def _placed(kind: str, left: float, width: float | None = None) -> Markup:
    """A line or a bar of a row, from one place to another."""
    return tag("i", class_=kind, style=f"left:{left:.2f}%{'' if width is None else f';width:{width:.2f}%'}")


def _between(kind: str, one: float, other: float) -> Markup:
    return _placed(kind, min(one, other), abs(other - one))


def _mark(look: Look, x: float, y: float, title: str = "") -> Markup:
    return tag("b", look.character, title=title or None, style=f"left:{x:.2f}%;top:{y:.2f}%")


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _field(
    drawn: Iterable[Markup], up: Mapping[float, str], across: Mapping[float, str], spoken: str, marks: Markup = EMPTY
) -> Markup:
    """Lines in a drawing that stretches to its room, 100 by 100, with the words of both axes beside it.

    Args:
        up, across: place → what is written there.
        marks: of `_mark`; they are not stretched.
    """
    svg = tag("svg", *drawn, viewBox="0 0 100 100", preserveAspectRatio="none", role="img", aria_label=spoken)
    left = tag("div", *(tag("span", text, style=f"top:{at:.2f}%") for at, text in up.items()), class_="rf-up")
    below = tag("div", *(tag("span", text, style=f"left:{at:.2f}%") for at, text in across.items()), class_="rf-across")
    grid = joined(tag("i", class_="rf-grid", style=f"top:{at:.2f}%") for at in up)
    return tag("div", left, tag("div", grid, svg, marks, class_="rf-in"), below, class_="rf-field")


# -- rows: named values on one scale -----------------------------------------------------------------------------------


class Row(NamedTuple):
    """A row of a chart.

    Attributes:
        number: its value in words, beside the name.
        drawn: draws its values on the chart's scale.
        look: an assistant's mark and colour.
    """

    name: str
    number: str
    drawn: Callable[[Scale], Markup]
    look: Look | None = None


def rows_chart(
    rows: Sequence[Row], axis: Span, title: str, words: str = "", ticks: Mapping[float, str] | None = None
) -> Markup:
    """Named rows of values on one scale.

    Args:
        words: below the scale.
        ticks: values of the grid and what stands below them; by default round numbers.
    """
    if not rows:
        return EMPTY
    x, ticks = scale(axis), _ticks(axis) if ticks is None else ticks
    grid, drawn = joined(_placed("rf-grid", x(at)) for at in ticks), []
    for row in rows:
        name = (_sign(row.look), short(row.name)) if row.look else (row.name,)
        parts = (tag("span", *name), tag("span", row.number, class_="rf-number"))
        plot = tag("div", grid, row.drawn(x), class_="rf-plot")
        colour = f"color:{row.look.colour}" if row.look else None
        drawn.append(tag("div", *parts, plot, class_="rf-row", title=f"{row.name}: {row.number}", style=colour))
    labels = (tag("span", text, style=f"left:{x(at):.2f}%") for at, text in ticks.items())
    drawn.append(tag("div", tag("div", *labels, class_="rf-plot rf-across"), class_="rf-row"))
    spoken = f"{title}: {'; '.join(f'{row.name}: {row.number}' for row in rows)}"
    chart = tag("div", *drawn, class_="rf-rows", role="img", aria_label=spoken)
    return tag("div", chart, quiet(words, small=True) if words else EMPTY, class_="rf-any")


def _interval(each: Estimate, look: Look) -> Callable[[Scale], Markup]:
    """A line with the mark of the mean."""

    def drawn(x: Scale) -> Markup:
        known = each.low is not None and each.high is not None
        line = _between("rf-whisker", x(each.low), x(each.high)) if known else EMPTY  # type: ignore[arg-type]
        return line + _mark(look, x(each.mean), 50)

    return drawn


def dots(
    rows: Mapping[str, Estimate],
    title: str,
    marks: Mapping[str, Look] | None = None,
    shown: Callable[[float], str] = two_decimals,
    *,
    to_one: bool = False,
) -> Markup:
    """Means with their intervals and n on one scale with 0 in it, a row each; `title` names the scale.

    Args:
        to_one: the scale ends at 1, unless all values are far below.
    """
    marks, axis = marks or looks(list(rows)), axis_of(rows.values(), to_one)
    ticks = {at: percent(at) for at in _ticks(axis)} if shown is percent else None
    drawn = [Row(name, in_words(each, shown), _interval(each, marks[name]), marks[name]) for name, each in rows.items()]
    return rows_chart(drawn, axis, title, title, ticks)


def intervals(estimates: Table, measure: Measure, marks: Mapping[str, Look]) -> Markup:
    """Mean and interval of every assistant in one measure, the best on top."""
    name = named_in_full(measure)
    order = [each for each in best_first(estimates, measure.name) if measure.name in estimates[each]]
    if not order:
        return quiet(f"No assistant is scored in {name}.")
    rows = {each: estimates[each][measure.name] for each in order}
    title = f"{name}, mean over artifacts with its 95% interval"
    shown = percent if measure.name == "share" else measure.shown
    return dots(rows, f"{title[0].upper()}{title[1:]}", marks, shown, to_one=measure.is_share)


def families(manners: Mapping[str, BehaviourProfile], marks: Mapping[str, Look]) -> Markup:
    """Share of the windows of three turns in each family (Fig 3), a panel per family, with intervals."""
    shown = {name: manner.families for name, manner in manners.items() if manner.families}
    if not shown:
        return quiet("No conversation has three turns of either kind.")
    panels = (
        _figure(
            FAMILY_MEANING[family],
            dots({name: each[family] for name, each in shown.items()}, "share", marks, percent, to_one=True),
            class_="rf-panel",
        )
        for family in FAMILIES
    )
    return tag("div", *panels, class_="rf-panels")


def lengths(rows: Mapping[str, Sequence[float]], marks: Mapping[str, Look]) -> Markup:
    """How long messages are, a row for each sort of user: the median, and from where to where nine tenths lie.

    Args:
        rows: name → words of every message, or quantiles of them; none empty.
    """
    drawn, spans = [], []
    for name, values in rows.items():
        places = (sorted(values)[round(at * (len(values) - 1))] for at in (0.05, 0.5, 0.95))
        low, median, high = (min(words, LONGEST_MESSAGE) for words in places)
        spans.append(Estimate(median, low, high, 1, 1))
        drawn.append(Row(name, f"{median:g} [{low:g}, {high:g}]", _interval(spans[-1], marks[name]), marks[name]))
    words = "words of a message: median and nine tenths"
    return rows_chart(drawn, axis_of(spans, to_one=False), words, words)


def reward_of(rewards: Mapping[str, float | None], before: Mapping[str, float] | None = None) -> Markup:
    """Rewards of a few replies as bars from zero, with the signed value of each."""
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
    return f" {what} ({signed(round(advantage, 2))})"


def _rewards(rewards: Mapping[str, tuple[float | None, float | None, str]], marked: Mapping[float, str]) -> Markup:
    """Bars by name: the reward, what it was, and words beside the number; values that are marked below."""
    values = [value for now, was, _ in rewards.values() for value in (now, was) if value is not None]
    axis = Span(min([0.0, *values]), max([1.0, *values]))
    rows = [Row(name, _reward(now, was) + side, _bar(now, was)) for name, (now, was, side) in rewards.items()]
    return tag("div", rows_chart(rows, axis, "Rewards", ticks={0.0: "0", **marked}), class_="dl-bars")


def _reward(value: float | None, was: float | None) -> str:
    if value is None or was is None:
        return "unscored"
    return signed(round(value, 3)) + (f" (was {signed(round(was, 3))})" if was != value else "")


def _bar(value: float | None, was: float | None) -> Callable[[Scale], Markup]:
    """A reward as a bar from zero; an outline where it was another."""

    def drawn(x: Scale) -> Markup:
        if value is None or was is None:
            return EMPTY
        bar = _between("rf-costs" if value < 0 else "rf-earns", x(0), x(value))
        return bar + (_between("rf-was", x(0), x(was)) if was != value else EMPTY)

    return drawn


def strip(estimate: Estimate, span: Span) -> Markup:
    """An interval in a cell of a table: a line, and a tick for the mean, on the scale of its column."""
    x, (width, height) = scale(span), STRIP

    def tick(value: float, kind: str | None = None) -> Markup:
        return tag("rect", class_=kind, x=f"{min(width - 2, max(0.0, x(value) - 1)):.1f}", y=0, width=2, height=8)

    drawn = [tag("rect", class_="ds-rail", x=0, y="3.6", width=f"{width:g}", height=".8")]
    if span.low < 0 < span.high:
        drawn.append(tick(0.0, "ds-rail"))
    if estimate.low is not None and estimate.high is not None:
        wide = max(1.0, x(estimate.high) - x(estimate.low))
        drawn.append(tag("rect", x=f"{x(estimate.low):.1f}", y=3, width=f"{wide:.1f}", height=2))
    drawn.append(tick(estimate.mean))
    view = f"0 0 {width:g} {height:g}"
    return tag("svg", *drawn, class_="ds-strip", viewBox=view, preserveAspectRatio="none", aria_hidden="true")


# -- curves ------------------------------------------------------------------------------------------------------------


def turn_curves(
    curves: Mapping[str, Sequence[Estimate]], marks: Mapping[str, Look], title: str, strong: Collection[str] = ()
) -> Markup:
    """Share of the hidden intents found after each turn, with 95% bands and one line per assistant (Fig 7).

    Args:
        strong: assistants that are drawn to be seen first.
    """
    curves = {name: curve for name, curve in curves.items() if curve}
    if not curves:
        return quiet("No conversation with anything hidden is finished.")
    up = axis_of((each for curve in curves.values() for each in curve), to_one=True)
    turns = max(map(len, curves.values()))
    x, y = scale(Span(1, max(2, turns)), 3, 97), scale(up, 100, 0)
    drawn = [_curve(name, each, marks[name], x, y, name in strong) for name, each in curves.items()]
    told = "; ".join(f"{name} {curve[-1]}" for name, curve in curves.items())
    spoken = f"{title}: share of the hidden intents found after turn {turns}: {told}"
    across = {x(turn): str(turn) for turn in range(1, turns + 1)}
    ticks = {y(at): text for at, text in _ticks(up).items()}
    field = _field((line for line, _ in drawn), ticks, across, spoken, joined(points for _, points in drawn))
    words = "share found after each turn; an emerging intent counts half"
    key = legend((_sign(marks[name]), short(name)) for name in curves)
    return tag("div", quiet(words, small=True), field, key, class_="rf-turns")


def _curve(name: str, curve: Sequence[Estimate], look: Look, x: Scale, y: Scale, strong: bool) -> tuple[Markup, Markup]:
    """A line on its band, and its marks, one a turn."""
    points = [(x(turn), y(each.mean)) for turn, each in enumerate(curve, 1)]
    ends = [
        (x(turn), y(each.low), y(each.high))
        for turn, each in enumerate(curve, 1)
        if each.low is not None and each.high is not None
    ]
    around = [(at, high) for at, _, high in ends] + [(at, low) for at, low, _ in reversed(ends)]
    marks = (
        _mark(look, *point, f"{name}, after turn {turn}: {in_words(each)}")
        for turn, (point, each) in enumerate(zip(points, curve, strict=True), 1)
    )
    band = tag("polygon", class_="rf-band", points=_path(around))
    line = tag("polyline", points=_path(points), stroke_dasharray=look.dash)
    how: dict[str, Any] = {"data_strong": int(strong), "style": f"color:{look.colour}"}
    return tag("g", band, line, class_="rf-line", **how), tag("span", *marks, class_="rf-marks", **how)


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
        series: name → points; no points are empty. {} draws the earlier run alone.
        last: the step at the right end.
        shown: writes a number of the axis.
        whole: a share: the axis is 0 to 1.
        from_zero: the axis begins at 0.
        marks: steps with an upright line.
        intervals: (step, low, high) behind the first series.
        behind: the same quantity of an earlier run, in gray.
    """
    values = [value for points in (*series.values(), behind) for _, value in points] + [0.0] * from_zero
    span = Span(0.0, 1.0) if whole else _round_span([*values, *(end for _, *ends in intervals for end in ends)])
    end = max((points[-1][0] for points in series.values()), default=0)
    bold = any(len(points) >= SMOOTHED_FROM for points in series.values())
    x, height = scale(Span(0, last)), scale(span, 100, 0)

    def y(value: float) -> float:
        return height(min(max(value, span.low), span.high))

    def line(kind: str, points: Iterable[tuple[float, float]], series: int | None = None) -> Markup:
        return tag("polyline", class_=kind, data_series=series, points=_path((x(step), y(at)) for step, at in points))

    drawn = [tag("rect", class_="dt-area", x=0, y=0, width=f"{x(end):.1f}", height=100)]
    drawn += [line("dt-mark", [(step, span.low), (step, span.high)]) for step in marks]
    drawn += [line("dt-interval", [(step, high), (step, low)], 0) for step, low, high in intervals]
    drawn += [line("dt-zero", [(0, 0.0), (last, 0.0)])] if span.low < 0 < span.high else []
    drawn += [line("dt-behind", behind)] if behind else []
    for place, points in enumerate(series.values()):
        smooth = zip([step for step, _ in points], smoothed([value for _, value in points]), strict=True)
        drawn.append(line("dt-raw" if bold else "dt-line", [points[0], *points], place))
        drawn += [line("dt-line", smooth, place)] if bold else []
    latest = {name: shown(points[-1][1]) for name, points in series.items()}
    spoken = f"{title} up to update {end}: {'; '.join(f'{name} {value}' for name, value in latest.items())}"
    field = _field(drawn, {0: shown(span.high), 100: shown(span.low)}, {0: "0", 100: f"update {last:,}"}, spoken)
    key = (
        tag("span", tag("i", data_series=place), f"{name} ", tag("b", value))
        for place, (name, value) in enumerate(latest.items())
    )
    return _figure(title, field, tag("div", *key, class_="dt-legend"), class_="dt-curve")


def smoothed(values: Sequence[float]) -> list[float]:
    """The mean of each value and those before it, at most `SMOOTHED` together."""
    windows = (values[max(0, at + 1 - SMOOTHED) : at + 1] for at in range(len(values)))
    return [sum(each) / len(each) for each in windows]


def _round_span(values: Sequence[float]) -> Span:
    """The ends of an axis, at round numbers; zero is kept in where it is near."""
    low, high = min(values), max(values)
    if low == high:
        low, high = low - (abs(low) * 0.1 or 0.5), high + (abs(high) * 0.1 or 0.5)
    low = min(low, 0.0) if 0 <= low <= high - low else low
    high = max(high, 0.0) if low - high <= high <= 0 else high
    step = 10.0 ** math.floor(math.log10(high - low)) / 5
    return Span(math.floor(low / step) * step, math.ceil(high / step) * step)
