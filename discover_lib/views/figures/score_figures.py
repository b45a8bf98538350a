"""Figures of an evaluation: intervals, turn curves (Fig 7), families of three turns (Fig 3), tokens against discovery.

Pure: made of estimates alone.  An assistant keeps its colour, marker and dash in every figure, and lines are labelled
where they end, so that colour is never the only carrier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discover_lib.metrics.behaviour import FAMILIES, Family
from discover_lib.metrics.intervals import Estimate
from discover_lib.metrics.results import BehaviourProfile, Measure, Table, best_first
from discover_lib.views.figures.tree import FONT, THEMES, Theme, ThemeName
from discover_lib.views.scores import LONGEST_NAME, Look, short

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW = 30  # px, one assistant in a figure of rows
LABEL_ROOM = 0.045  # of an axis between two labels at the end of lines
BAND = 0.10  # opacity of a curve's interval
FEW = 6  # up to so many curves carry their bands all at once
CONFIG = {"displayModeBar": False, "responsive": True}
FAMILY_MEANING: Mapping[Family, str] = {
    "CCC": "CCC: closes in throughout",
    "DDD": "DDD: opens up throughout",
    "two in a row": "two in a row, then the other",
    "alternating": "alternating",
}


def interval_figure(
    table: Table, measure: Measure, marks: Mapping[str, Look], theme: ThemeName = "light"
) -> go.FigureWidget:
    """Mean and interval of every assistant in one measure, the highest on top."""
    order = [name for name in best_first(table, measure.name) if measure.name in table[name]]
    traces = []
    for name in order:
        each = table[name][measure.name]
        traces.append(
            {
                "type": "scatter",
                "x": [each.mean],
                "y": [name],
                "mode": "markers",
                "marker": _marker(marks[name], theme, 13),
                "error_x": _error([each], marks[name], theme),
                "hovertemplate": f"{_safe(name)}: {_told(each, measure)}<extra></extra>",
            }
        )
    colors = THEMES[theme]
    reach = max((table[name][measure.name].high or table[name][measure.name].mean for name in order), default=1.0)
    layout = _layout(colors, height=70 + ROW * len(order)) | {
        "xaxis": _axis(colors, measure.label) | {"zeroline": True, "zerolinecolor": colors.line},
        "yaxis": _rows(colors, order),
        "annotations": [_beside(name, _told(table[name][measure.name], measure, short=True), colors) for name in order],
        "margin": {"l": 8, "r": 150, "t": 8, "b": 40},
    }
    layout["xaxis"]["range"] = _range(table, measure, order, reach)
    return _figure(traces, layout)


def _range(table: Table, measure: Measure, order: Sequence[str], reach: float) -> list[float]:
    """From 0, or from below where something is; a little room on both sides."""
    found = (table[name][measure.name] for name in order)
    least = min((each.mean if each.low is None else each.low for each in found), default=0.0)
    low = min(0.0, least)
    room = 0.03 * ((reach - low) or 1.0)
    return [low - room, reach + room]


def curve_figure(
    curves: Mapping[str, Sequence[Estimate]], marks: Mapping[str, Look], theme: ThemeName = "light"
) -> go.FigureWidget:
    """Share of the hidden intents found after each turn, with 95 % bands (Fig 7)."""
    colors, traces = THEMES[theme], []
    for name, curve in curves.items():
        turns = list(range(1, len(curve) + 1))
        colour = _colour(marks[name], theme)
        if len(curves) <= FEW and all(each.low is not None for each in curve):
            traces.append(
                {
                    "type": "scatter",
                    "x": [*turns, *reversed(turns)],
                    "y": [*(each.low for each in curve), *(each.high for each in reversed(curve))],
                    "fill": "toself",
                    "fillcolor": _faint(colour, BAND),
                    "line": {"width": 0},
                    "hoverinfo": "skip",
                    "mode": "lines",
                }
            )
        traces.append(
            {
                "type": "scatter",
                "x": turns,
                "y": [each.mean for each in curve],
                "mode": "lines+markers",
                "line": {"color": colour, "width": 2.2, "dash": marks[name].dash},
                "marker": _marker(marks[name], theme, 8),
                "error_y": _error(curve, marks[name], theme) | {"visible": len(curves) > FEW, "thickness": 1},
                "text": [_told(each) for each in curve],
                "hovertemplate": f"{_safe(name)}, after turn %{{x}}: %{{text}}<extra></extra>",
            }
        )
    longest = max((len(curve) for curve in curves.values()), default=1)
    ends = {name: curve[-1].mean for name, curve in curves.items() if curve}
    highest = max((each.high or each.mean for curve in curves.values() for each in curve), default=1.0) or 1.0
    labels = [
        {"x": longest, "y": y, "text": f"{marks[name].character} {_safe(name)}", "xanchor": "left", "xshift": 10}
        | {"showarrow": False, "font": {"color": _colour(marks[name], theme), "size": 13}}
        for name, y in spread_apart(ends, LABEL_ROOM * 1.25 * highest).items()
    ]
    layout = _layout(colors, height=360) | {
        "xaxis": _axis(colors, "after turn") | {"dtick": 1, "range": [0.85, longest + 0.1], "showgrid": False},
        "yaxis": _axis(colors, "share of hidden intents found") | {"range": [-0.04 * highest, 1.05 * highest]},
        "annotations": labels,
        "margin": {"l": 56, "r": _room(curves), "t": 10, "b": 44},
    }
    return _figure(traces, layout)


def spread_apart(places: Mapping[str, float], room: float) -> dict[str, float]:
    """The same places moved apart until neighbours are at least `room` from each other, in their order.

    Nothing is moved below 0 that was not there: the axis ends there.
    """
    floor = min(0.0, *places.values()) if places else 0.0
    groups: list[list[str]] = []  # neighbours that touch stand together around their common middle

    def span(group: list[str]) -> tuple[float, float]:
        half = room * (len(group) - 1) / 2
        middle = max(sum(places[name] for name in group) / len(group), floor + half)
        return middle - half, middle + half

    for name in sorted(places, key=lambda name: places[name]):
        groups.append([name])
        while len(groups) > 1 and span(groups[-1])[0] - span(groups[-2])[1] < room:
            last = groups.pop()
            groups[-1] += last
    return {name: span(group)[0] + room * place for group in groups for place, name in enumerate(group)}


def family_figure(
    manners: Mapping[str, BehaviourProfile], order: Sequence[str], marks: Mapping[str, Look], theme: ThemeName = "light"
) -> go.FigureWidget:
    """Share of the windows of three turns in each family (Fig 3), a panel per family, with intervals."""
    colors, traces = THEMES[theme], []
    shown = [name for name in order if manners[name].families]
    for panel, family in enumerate(FAMILIES):
        estimates = [manners[name].families[family] for name in shown]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "x": [each.mean for each in estimates],
                "y": shown,
                "xaxis": f"x{panel + 1}",
                "marker": {
                    "color": [_faint(_colour(marks[name], theme), 0.75) for name in shown],
                    "line": {"color": [_colour(marks[name], theme) for name in shown], "width": 1},
                },
                "error_x": _errors(estimates) | {"color": colors.text, "thickness": 1.2, "width": 3},
                "text": [_told(each) for each in estimates],
                "textposition": "none",
                "hovertemplate": f"%{{y}}, {family}: %{{text}}<extra></extra>",
            }
        )
    width, gap = 0.21, 0.16 / 3
    layout = _layout(colors, height=92 + ROW * len(shown)) | {
        "yaxis": _rows(colors, shown),
        "margin": {"l": 8, "r": 12, "t": 34, "b": 40},
        "bargap": 0.35,
        "annotations": [
            {"xref": "paper", "yref": "paper", "x": panel * (width + gap), "y": 1.0, "yshift": 14, "showarrow": False}
            | {"text": f"<b>{family}</b>, %", "xanchor": "left", "font": {"size": 13, "color": colors.text}}
            for panel, family in enumerate(FAMILIES)
        ],
    }
    for panel in range(len(FAMILIES)):
        start = panel * (width + gap)
        axis = _axis(colors, "") | {"domain": [start, min(1.0, start + width)], "range": [0, 1.04]}
        layout[f"xaxis{panel + 1 if panel else ''}"] = axis | {"tickvals": [0, 0.5, 1], "anchor": "y"}
        layout[f"xaxis{panel + 1 if panel else ''}"]["ticktext"] = ["0", "50", "100"]
    return _figure(traces, layout)


def tokens_figure(table: Table, marks: Mapping[str, Look], theme: ThemeName = "light") -> go.FigureWidget:
    """Tokens against discovery, both with their intervals: up and to the left is better."""
    colors = THEMES[theme]
    traces, labels = [], []
    there = [name for name, row in table.items() if "tokens" in row and "discovery" in row]
    highest = (
        max((table[name]["discovery"].high or table[name]["discovery"].mean for name in there), default=1.0) or 1.0
    )
    placed = spread_apart({name: table[name]["discovery"].mean for name in there}, LABEL_ROOM * 1.1 * highest)
    most = max((table[name]["tokens"].mean for name in there), default=1.0)
    for name in there:
        x, y = table[name]["tokens"], table[name]["discovery"]
        side = ("right", -8) if x.mean > 0.75 * most else ("left", 8)
        traces.append(
            {
                "type": "scatter",
                "x": [x.mean],
                "y": [y.mean],
                "mode": "markers",
                "marker": _marker(marks[name], theme, 12),
                "error_x": _error([x], marks[name], theme),
                "error_y": _error([y], marks[name], theme),
                "hovertemplate": f"{_safe(name)}<br>{_told(x)} kTok<br>discovery {_told(y)}<extra></extra>",
            }
        )
        labels.append(
            {"x": x.mean, "y": placed[name], "text": _safe(name), "xanchor": side[0], "xshift": side[1], "yshift": 13}
            | {"showarrow": False}
            | {"font": {"color": _colour(marks[name], theme), "size": 13}}
        )
    layout = _layout(colors, height=340) | {
        "xaxis": _axis(colors, "thousand tokens per conversation") | {"range": [-0.03 * most, 1.06 * most]},
        "yaxis": _axis(colors, "discovery (eq. 4)") | {"range": [-0.05 * highest, 1.12 * highest]},
        "annotations": labels,
        "margin": {"l": 56, "r": 12, "t": 10, "b": 44},
    }
    return _figure(traces, layout)


# -- parts of figures -------------------------------------------------------------------------------------------------


def _figure(traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> go.FigureWidget:
    """As a widget: it brings its plotly.js along and asks nobody outside."""
    import plotly.graph_objects as go

    widget = go.FigureWidget(list(traces), layout)
    widget._config = dict(CONFIG)
    return widget


def _layout(colors: Theme, height: int) -> dict[str, Any]:
    return {
        "template": "none",
        "height": height,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "color": colors.quiet, "size": 13},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": colors.paper, "font": {"color": colors.text}, "bordercolor": colors.line},
        "dragmode": False,
    }


def _axis(colors: Theme, title: str) -> dict[str, Any]:
    return {
        "title": {"text": title, "standoff": 8},
        "gridcolor": colors.grid,
        "zeroline": False,
        "linecolor": colors.line,
        "tickcolor": colors.line,
        "fixedrange": True,
        "automargin": True,
    }


def _rows(colors: Theme, order: Sequence[str]) -> dict[str, Any]:
    """Assistants from top to bottom."""
    return _axis(colors, "") | {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": list(reversed(order)),
        "tickvals": list(order),
        "ticktext": [_safe(name) for name in order],
        "range": [-0.6, len(order) - 0.4],
        "showgrid": True,
        "tickfont": {"color": colors.text, "size": 13},
        "ticksuffix": "  ",
    }


def _beside(name: str, text: str, colors: Theme) -> dict[str, Any]:
    """A label right of a row."""
    return {"xref": "paper", "x": 1.0, "xanchor": "left", "xshift": 8, "y": name, "text": text, "showarrow": False} | {
        "font": {"color": colors.text, "size": 13}
    }


def _colour(look: Look, theme: ThemeName) -> str:
    return look.dark if theme == "dark" else look.colour


def _marker(look: Look, theme: ThemeName, size: int) -> dict[str, Any]:
    paper = THEMES[theme].paper
    return {"symbol": look.symbol, "color": _colour(look, theme), "size": size, "line": {"color": paper, "width": 1}}


def _errors(estimates: Sequence[Estimate]) -> dict[str, Any]:
    """The intervals as plotly's error bars; of one artifact there is none."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [0.0 if each.high is None else each.high - each.mean for each in estimates],
        "arrayminus": [0.0 if each.low is None else each.mean - each.low for each in estimates],
    }


def _error(estimates: Sequence[Estimate], look: Look, theme: ThemeName) -> dict[str, Any]:
    return _errors(estimates) | {"color": _colour(look, theme), "thickness": 2, "width": 3}


def _faint(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def _told(estimate: Estimate, measure: Measure | None = None, short: bool = False) -> str:
    shown = measure.shown if measure else "{:.2f}".format
    interval = (
        "" if estimate.low is None or estimate.high is None else f" [{shown(estimate.low)}, {shown(estimate.high)}]"
    )
    n = "" if short else f", n = {estimate.n_artifacts} artifacts"
    return f"{shown(estimate.mean)}{interval}{n}"


def _room(names: Mapping[str, Any]) -> int:
    """Pixels right of a figure for the longest label."""
    return 34 + 8 * min(LONGEST_NAME, max(map(len, names), default=0))


def _safe(name: str) -> str:
    """A name as plotly shows it, which reads a little HTML."""
    return short(name).replace("&", "&amp;").replace("<", "&lt;")
