"""The live picture: the intent tree as it is being discovered.

The tree is one plotly figure.  `IntentFigure` keeps one `FigureWidget` and repaints it in place, sending only what
changed, so that nodes never move between steps.  The state of an intent shows by shape
and by colour: ○ undiscovered, ◆ emerging, ● discovered; a tick inside is satisfied, a heavier outline is the frontier
(what a reply could move now), a glow is what moved this turn, a band is the dimension in focus.

This is the only module that uses plotly, and it imports it when a picture is made.
"""

from __future__ import annotations

import html
import textwrap
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from discover_lib.core.advance import focus as roots_in_focus
from discover_lib.core.advance import frontier
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, IntentState, Transition
from discover_lib.metrics.transcript import in_words
from workbench.views.figures.theme import FONT, THEMES, Theme, ThemeName

if TYPE_CHECKING:
    import plotly.graph_objects as go

Layout = Literal["outline", "layered"]

ROW = 23  # px, one line of the outline
LINE = 15  # px, each further line of a wrapped requirement
INDENT = 24  # px per level of the outline
ROOT_GAP = 12  # px between two dimensions
LABEL_CHARS = 84  # characters in a line of a label, less what the indent takes
LEVEL_HEIGHT = 86  # px between two levels of the layered drawing
LAYERED_WIDTH = 640  # px for which labels of the layered drawing are fitted; half of a page's width
FAR_RIGHT = 6000.0  # px, beyond any screen
LABEL_GAP = 16  # px from a node's middle to its label
LABELS_AT_ONCE = 260  # more labels than this make a step slow: then only the rows near the focus carry theirs


# where a label of the layered drawing may stand, in this order, and how many characters its lines have there
LABEL_SIDES = (("bottom center", 20), ("middle right", 20), ("middle right", 13), ("middle left", 13))


class Box(NamedTuple):
    """A rectangle in px, y downwards."""

    left: float
    top: float
    right: float
    bottom: float


SYMBOLS = {
    Discovery.UNDISCOVERED: "circle",
    Discovery.EMERGING: "diamond",
    Discovery.DISCOVERED: "circle",
}
STATE_NAMES = {
    Discovery.UNDISCOVERED: "○ undiscovered",
    Discovery.EMERGING: "◆ emerging",
    Discovery.DISCOVERED: "● discovered",
}


# -- where things stand --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placement:
    """Where every intent is drawn, fixed for the life of a figure.

    Attributes:
        x, y: intent id → position; outline: px from the top left corner, y downwards; layered: leaf number and level.
        width: right edge in units of x, or None where one unit is one px and the figure is as wide as its place.
        height: px.
        lines: outline only: id → its label as it is broken into lines.
        bands: root id → (x0, x1, y0, y1) around its tree.
    """

    layout: Layout
    x: Mapping[str, float]
    y: Mapping[str, float]
    width: float | None
    height: int
    lines: Mapping[str, tuple[str, ...]]
    bands: Mapping[str, tuple[float, float, float, float]]


def place_outline(tree: IntentTree) -> Placement:
    """One intent a row, indented by depth, a gap between dimensions; a long requirement takes more lines."""
    x, y, lines, bands = {}, {}, {}, {}
    top = 6.0
    for root in tree.roots:
        first = top
        for intent in root.walk():
            depth = tree.depth(intent.id) - 1
            lines[intent.id] = _wrapped(intent.text, LABEL_CHARS - 4 * depth, most=3)
            x[intent.id] = 20.0 + INDENT * depth
            height = ROW + LINE * (len(lines[intent.id]) - 1)
            y[intent.id] = top + height / 2
            top += height
        bands[root.id] = (2.0, FAR_RIGHT, first - 3, top + 3)
        top += ROOT_GAP
    return Placement("outline", x, y, None, round(top - ROOT_GAP + 8), lines, bands)


def place_layered(tree: IntentTree) -> Placement:
    """A level a row, leaves in order, every parent above the middle of its children."""
    x: dict[str, float] = {}
    deepest = max(float(tree.depth(key)) for key in tree.intents)
    bands, column = {}, 0.0

    def place(intent: Intent) -> float:
        nonlocal column
        below = [place(child) for child in intent.children]
        x[intent.id] = sum(below) / len(below) if below else column
        column += not below
        return x[intent.id]

    for root in tree.roots:
        first = column
        place(root)
        bands[root.id] = (first - 0.6, column - 0.4, 0.1, deepest + 0.62)
        column += 0.5
    y = {key: float(tree.depth(key)) for key in tree.intents}
    return Placement("layered", x, y, column, round(LEVEL_HEIGHT * (deepest + 0.62)) + 20, {}, bands)


def _wrapped(text: str, width: int, most: int) -> tuple[str, ...]:
    """`text` in at most `most` lines of `width` characters; the rest becomes an ellipsis."""
    return tuple(textwrap.wrap(" ".join(text.split()), max(12, width), max_lines=most, placeholder=" …")) or ("",)


def _edges(tree: IntentTree, place: Placement) -> tuple[list[float | None], list[float | None]]:
    """Elbows from parent down and across in the outline, straight lines in the layered drawing.

    One unbroken line a root, drawn there and back: plotly makes an element of every piece between gaps, and thousands
    of them slow each step.
    """

    def around(intent: Intent) -> Iterator[tuple[float, float]]:
        here = (place.x[intent.id], place.y[intent.id])
        yield here
        for child in intent.children:
            elbow = (here[0], place.y[child.id]) if place.layout == "outline" else here
            yield elbow
            yield from around(child)
            yield elbow
        yield here

    xs: list[float | None] = []
    ys: list[float | None] = []
    for root in tree.roots:
        for x, y in around(root):
            xs.append(x)
            ys.append(y)
        xs.append(None)
        ys.append(None)
    return xs, ys


# -- what is drawn at one moment -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """What the tree is to show: a state, and what one reply did to get there.

    Attributes:
        transitions: of the turn that led to `state`.
        focus: roots in focus; those that the rules name are taken if it is None.
        reasons: intent id → the judge's reason in this turn.
        selected: an intent to mark.
    """

    state: IntentState
    transitions: tuple[Transition, ...] = ()
    focus: tuple[str, ...] | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    selected: str | None = None


BAND, EDGES, GLOW, NODES, MARKS, TICKS, LABELS = range(7)  # the traces of a figure, in drawing order


class _Painter:
    """Turns a `Moment` into the properties of the traces that depend on it.

    Every intent has a plain ring in NODES, which never changes; what looks different is drawn over it in small traces.
    A step then sends and redraws little, however large the tree.
    """

    def __init__(
        self,
        tree: IntentTree,
        rules: Rules,
        place: Placement,
        theme: Theme,
        fog: bool = False,
        room: int = LAYERED_WIDTH,
    ) -> None:
        self.tree, self.rules, self.place, self.theme, self.fog, self.room = tree, rules, place, theme, fog, room
        self.ids = tuple(tree.intents)
        self.crowded = len(self.ids) > LABELS_AT_ONCE
        first, last = _columns(place)
        self.per_column = room / (last - first)  # px, layered drawing only
        wide = max(place.width or 1.0, 1.0)  # in leaves
        self.size = 13 if place.layout == "outline" else int(min(15, max(5, LAYERED_WIDTH / wide * 0.62)))
        self.titles = [_hover_title(intent) for intent in tree.intents.values()]

    def paint(self, moment: Moment) -> list[dict[str, Any]]:
        """Properties per trace, in the order BAND … LABELS."""
        in_focus = moment.focus
        if in_focus is None:
            in_focus = roots_in_focus(self.tree, moment.state, self.rules)
        movable = frontier(self.tree, moment.state, in_focus)
        return [
            self._band(in_focus),
            {},
            self._at(_moved(moment)),
            {} if self.crowded else {"hovertext": self._hover(moment, movable)},
            self._marks(moment, movable),
            self._at(key for key in self.ids if key in moment.state.satisfied),
            self._labels(moment, in_focus),
        ]

    def _at(self, intent_ids: Iterable[str], right: float = 0.0) -> dict[str, Any]:
        chosen = list(intent_ids)
        return {"x": [self.place.x[key] + right for key in chosen], "y": [self.place.y[key] for key in chosen]}

    def _band(self, in_focus: Collection[str]) -> dict[str, Any]:
        xs: list[float | None] = []
        ys: list[float | None] = []
        for root_id in in_focus:
            x0, x1, y0, y1 = self.place.bands[root_id]
            xs += [x0, x1, x1, x0, x0, None]
            ys += [y0, y0, y1, y1, y0, None]
        return {"x": xs, "y": ys}

    def _marks(self, moment: Moment, movable: frozenset[str]) -> dict[str, Any]:
        """The intents that look other than undiscovered: discovered, emerging, on the frontier, selected."""
        theme, state = self.theme, moment.state
        fills = (theme.paper, theme.emerging, theme.discovered)
        rings = (theme.hidden, theme.emerging_line, theme.discovered)
        chosen = [
            key
            for key in self.ids
            if state[key] is not Discovery.UNDISCOVERED or key in movable or key == moment.selected
        ]

        def ring(key: str) -> tuple[str, float]:
            if key == moment.selected:
                return theme.selected, 3.5
            return (theme.frontier, 2.6) if key in movable else (rings[state[key]], 1.5)

        outlines = [ring(key) for key in chosen]
        return self._at(chosen) | {
            "marker.symbol": [SYMBOLS[state[key]] for key in chosen],
            "marker.color": [fills[state[key]] for key in chosen],
            "marker.line.color": [color for color, _ in outlines],
            "marker.line.width": [width for _, width in outlines],
        }

    def _hover(self, moment: Moment, movable: frozenset[str]) -> list[str]:
        moves = {move.intent_id: move for move in moment.transitions}
        return [
            "<br>".join([title, *_hover_lines(key, moment, moves.get(key), key in movable)])
            if self._told(key, moment)
            else "<b>not discovered yet</b>"
            for key, title in zip(self.ids, self.titles, strict=True)
        ]

    def _told(self, key: str, moment: Moment) -> bool:
        """Whether the text of an intent may be read: in fog only of what the user has discovered."""
        return not self.fog or moment.state[key] is Discovery.DISCOVERED

    def _labels(self, moment: Moment, in_focus: Collection[str]) -> dict[str, Any]:
        marked = {*_moved(moment)} | ({moment.selected} if moment.selected else set())
        if self.place.layout == "layered":
            return self._layered_labels(moment, marked, in_focus)
        shown = [key for key in self._rows_with_labels(marked, in_focus) if self._told(key, moment)]
        state, theme = moment.state, self.theme
        known = {Discovery.DISCOVERED, Discovery.EMERGING}
        return self._at(shown, right=LABEL_GAP) | {
            "text": [_bold("<br>".join(map(_safe, self.place.lines[key])), key in marked) for key in shown],
            "textfont.color": [theme.text if state[key] in known else theme.quiet for key in shown],
        }

    def _rows_with_labels(self, marked: Collection[str], in_focus: Collection[str]) -> list[str]:
        """All rows; of a crowded tree the dimensions' names, what is marked, and the trees in focus."""
        if not self.crowded:
            return list(self.ids)
        near = [key for key in self.ids if self.tree.root_of[key] in in_focus][:LABELS_AT_ONCE]
        wanted = {*marked, *near, *(root.id for root in self.tree.roots[:LABELS_AT_ONCE])}
        return [key for key in self.ids if key in wanted]

    def _layered_labels(self, moment: Moment, marked: Collection[str], in_focus: Collection[str]) -> dict[str, Any]:
        """The dimensions' names above; elsewhere, below a node or beside it, what is marked, discovered or in focus.

        A label stands where it hits no other, no node and no edge, or not at all.
        """
        shown: list[tuple[str, str, str]] = []  # intent id, label, side
        for root in self.tree.roots:
            x0, x1, _, _ = self.place.bands[root.id]
            width = int((x1 - x0) * self.per_column / 6.2)
            if width >= 6 and self._told(root.id, moment):
                shown.append((root.id, "<br>".join(map(_safe, _wrapped(root.text, width, most=3))), "top center"))
        taken: list[Box] = []
        known = (key for key in self.ids if key in moment.state.discovered or self.tree.root_of[key] in in_focus)
        first = sorted(marked, key=lambda key: (key != moment.selected, self.place.x[key]))
        for key in filter(lambda key: self._told(key, moment), dict.fromkeys((*first, *known))):
            if self.tree.parents[key] is None:
                continue
            for side, width in LABEL_SIDES:
                lines = _wrapped(self.tree.text(key), width, most=3)
                box = self._label_box(key, lines, side)
                if self._is_free(box, key) and not any(_overlap(box, other) for other in taken):
                    taken.append(box)
                    shown.append((key, _bold("<br>".join(map(_safe, lines)), key in marked), side))
                    break
        state, theme = moment.state, self.theme
        gaps = {"top center": (0, -LABEL_GAP), "bottom center": (0, LABEL_GAP)}
        gaps |= {"middle right": (LABEL_GAP, 0), "middle left": (-LABEL_GAP, 0)}
        return {
            "x": [self.place.x[key] + gaps[side][0] / self.per_column for key, _, side in shown],
            "y": [self.place.y[key] + gaps[side][1] / LEVEL_HEIGHT for key, _, side in shown],
            "text": [text for _, text, _ in shown],
            "textfont.color": [
                theme.quiet if state[key] is Discovery.UNDISCOVERED else theme.text for key, _, _ in shown
            ],
            "textposition": [side for _, _, side in shown],
        }

    def _label_box(self, key: str, lines: Collection[str], side: str) -> Box:
        """The room that a label takes in a drawing of `room` px."""
        x, y = self.place.x[key] * self.per_column, self.place.y[key] * LEVEL_HEIGHT
        wide, high = max(map(len, lines)) * 6.6, len(lines) * 15.0
        if side == "bottom center":
            return Box(x - wide / 2, y + LABEL_GAP, x + wide / 2, y + LABEL_GAP + high)
        left = x + LABEL_GAP if side == "middle right" else x - LABEL_GAP - wide
        return Box(left, y - high / 2, left + wide, y + high / 2)

    def _is_free(self, box: Box, own: str) -> bool:
        """Whether no edge runs through a box, no other node stands in it, and it lies within the drawing."""
        first, last = _columns(self.place)
        if box.left < first * self.per_column or box.right > last * self.per_column:
            return False
        for key, parent in self.tree.parents.items():
            x, y = self.place.x[key] * self.per_column, self.place.y[key] * LEVEL_HEIGHT
            if key != own and _overlap(box, Box(x - self.size, y - self.size, x + self.size, y + self.size)):
                return False
            if parent and _crosses(box, self.place.x[parent] * self.per_column, y - LEVEL_HEIGHT, x, y):
                return False
        return True


def _columns(place: Placement) -> tuple[float, float]:
    """The ends of the layered drawing, in units of x, with room for half a label at either."""
    width = place.width or 1.0
    margin = max(0.6, 70 * width / LAYERED_WIDTH)
    return -margin, width - 1.5 + margin


def _overlap(one: Box, other: Box) -> bool:
    return one.left < other.right and other.left < one.right and one.top < other.bottom and other.top < one.bottom


def _crosses(box: Box, x0: float, y0: float, x1: float, y1: float) -> bool:
    """Whether the line from (x0, y0) down to (x1, y1) runs through a box."""
    from_y, to_y = max(box.top, y0), min(box.bottom, y1)
    if from_y >= to_y:
        return False
    ends = [x0 + (x1 - x0) * (y - y0) / (y1 - y0) for y in (from_y, to_y)]
    return min(ends) < box.right and box.left < max(ends)


def _safe(text: str) -> str:
    """`text` without what plotly would take for markup."""
    return html.escape(text, quote=False)


def _bold(text: str, yes: bool) -> str:
    return f"<b>{text}</b>" if yes else text


def _moved(moment: Moment) -> list[str]:
    """Intents that this turn moved or satisfied, each once."""
    return list(dict.fromkeys(move.intent_id for move in moment.transitions if move.moved or move.satisfied))


def _hover_title(intent: Intent) -> str:
    """The requirement, as the pointer shows it whatever the state; of a crowded tree this is all that it shows."""
    return "<br>".join(f"<b>{_safe(line)}</b>" for line in _wrapped(intent.text, 60, most=8))


def _hover_lines(intent_id: str, moment: Moment, move: Transition | None, movable: bool) -> list[str]:
    """What the pointer shows below the title: state, what this turn did and why, what is left of θ."""
    state = moment.state
    satisfied = " · ✓ satisfied" if intent_id in state.satisfied else ""
    lines = [f"{intent_id} · {STATE_NAMES[state[intent_id]]}{satisfied}" + (" · frontier" if movable else "")]
    if move is not None:
        lines.append(f"this turn: {in_words(move)}")
    if reason := moment.reasons.get(intent_id):
        lines += [f"<i>{_safe(line)}</i>" for line in _wrapped(f"judge: {reason}", 64, most=6)]
    if state[intent_id] is not Discovery.DISCOVERED and intent_id in state.thresholds:
        theta = state.thresholds[intent_id]
        left = ", ".join(f"{each:.2f}" for each in theta) if isinstance(theta, tuple) else f"{theta:.2f}"
        lines.append(f"θ left: {left or 'none'}")
    return lines


# -- figures -------------------------------------------------------------------------------------------------------


class IntentFigure:
    """The intent tree as one live `FigureWidget`, repainted in place.

    Args:
        tree: fixed for the life of the figure; positions are computed from it once per layout.
        rules: decide which trees are in focus.
        fog: texts of what the user has not discovered are not told.
        room: px that the layered drawing is wide; labels are fitted to it.
    """

    def __init__(
        self,
        tree: IntentTree,
        state: IntentState,
        *,
        rules: Rules | None = None,
        layout: Layout = "outline",
        theme: ThemeName = "light",
        fog: bool = False,
        room: int = LAYERED_WIDTH,
    ) -> None:
        import plotly.graph_objects as go

        self.tree = tree
        self.rules = rules or Rules.paper()
        self.layout: Layout = layout
        self._theme = THEMES[theme]
        self._moment = Moment(state)
        self._painter = _Painter(tree, self.rules, _place(tree, layout), self._theme, fog, room)
        self._shown = self._painter.paint(self._moment)
        self.widget: go.FigureWidget = go.FigureWidget(_traces(self._painter), _layout(self._painter))
        for trace, properties in zip(self.widget.data, self._shown, strict=True):
            trace.update(_nested(properties))
        # FigureWidget has no public way to set these.  Over the outline the wheel scrolls the page.
        self.widget._config = {**PAGE_CONFIG, "scrollZoom": layout == "layered"}

    def update(
        self,
        state: IntentState,
        transitions: tuple[Transition, ...] = (),
        focus: tuple[str, ...] | None = None,
        reasons: Mapping[str, str] | None = None,
        selected: str | None = None,
    ) -> None:
        """Show another moment on the same widget, in one message that carries only what changed."""
        self._moment = Moment(state, tuple(transitions), focus, reasons or {}, selected)
        self._repaint()

    @property
    def selected(self) -> str | None:
        """The intent that is marked."""
        return self._moment.selected

    def select(self, intent_id: str | None) -> None:
        """Mark one intent, or none."""
        self.update(self._moment.state, self._moment.transitions, self._moment.focus, self._moment.reasons, intent_id)

    def zoom(self, factor: float) -> None:
        """Look closer (a factor above 1) or from farther off; the middle stays where it is.  Layered drawing only."""
        if self.layout == "layered":
            with self.widget.batch_update():
                for axis in (self.widget.layout.xaxis, self.widget.layout.yaxis):
                    low, high = axis.range
                    middle, half = (low + high) / 2, (high - low) / 2 / factor
                    axis.range = (middle - half, middle + half)

    def fit(self) -> None:
        """Show the whole tree again."""
        whole = _layout(self._painter)
        with self.widget.batch_update():
            self.widget.layout.xaxis.range = whole["xaxis"]["range"]
            self.widget.layout.yaxis.range = whole["yaxis"]["range"]

    def on_select(self, callback: Callable[[str], None]) -> None:
        """Call `callback` with an intent's id when it is clicked, once per click."""
        last_id, last_time = "", 0.0

        def clicked(trace: Any, points: Any, state: Any) -> None:
            nonlocal last_id, last_time
            if not points.point_inds:
                return
            intent_id = self._painter.ids[points.point_inds[0]]
            now = time.monotonic()
            # Plotly reports one click twice within a few milliseconds.
            if intent_id == last_id and now - last_time < 0.3:
                return
            last_id, last_time = intent_id, now
            callback(intent_id)

        self.widget.data[NODES].on_click(clicked)

    def _repaint(self) -> None:
        painted = self._painter.paint(self._moment)
        with self.widget.batch_update():
            for trace, before, after in zip(self.widget.data, self._shown, painted, strict=True):
                for path, value in after.items():
                    if before[path] != value:
                        trace[path] = value
        self._shown = painted


PAGE_CONFIG: Mapping[str, Any] = {
    "displayModeBar": False,
    "scrollZoom": False,
    "responsive": True,
    "doubleClick": "reset",
}


def _place(tree: IntentTree, layout: Layout) -> Placement:
    if layout not in ("outline", "layered"):
        raise ValueError(f"unknown layout {layout!r}; choose outline or layered")
    return place_outline(tree) if layout == "outline" else place_layered(tree)


def _traces(painter: _Painter) -> list[dict[str, Any]]:
    """The traces of a tree without what depends on the moment."""
    place, theme = painter.place, painter.theme
    edge_x, edge_y = _edges(painter.tree, place)
    everywhere = {
        "x": [place.x[key] for key in painter.ids],
        "y": [place.y[key] for key in painter.ids],
    }
    shared = {"type": "scatter", "hoverinfo": "skip", "showlegend": False}
    outline = place.layout == "outline"
    label_font = {"family": FONT, "size": 13 if outline else 11.5}
    return [
        shared | {"name": "in focus", "mode": "none", "fill": "toself", "fillcolor": theme.band},
        shared
        | {"name": "parent to child", "mode": "lines", "line": {"color": theme.line, "width": 1.3}}
        | {"x": edge_x, "y": edge_y},
        shared
        | {
            "name": "moved this turn",
            "mode": "markers",
            "marker": {
                "size": painter.size + 12,
                "color": theme.glow,
                "line": {"color": theme.glow_line, "width": 1.6},
            },
            "cliponaxis": False,
        },
        shared
        | everywhere
        | {
            "name": "intents",
            "mode": "markers",
            # Smaller than what may be drawn over it, so that a diamond covers it.
            "marker": {
                "size": painter.size - 2,
                "color": theme.paper,
                "line": {"color": theme.hidden, "width": 1.5},
                "opacity": 1,
            },
            "hoverinfo": "text",
            "hovertext": painter.titles,
            "cliponaxis": False,
        },
        shared
        | {
            "name": "discovered, emerging or frontier",
            "mode": "markers",
            "marker": {"size": painter.size, "opacity": 1},
            "cliponaxis": False,
        },
        shared
        | {
            "name": "satisfied",
            "mode": "text",
            "text": "✓",
            "textposition": "middle center",
            "textfont": {"family": FONT, "size": max(6, painter.size - 3), "color": theme.tick, "weight": 700},
        },
        shared
        | {
            "name": "requirements",
            "mode": "text",
            "textposition": "middle right" if outline else "top center",
            "textfont": label_font,
            "cliponaxis": outline,
        },
    ]


def _layout(painter: _Painter) -> dict[str, Any]:
    place, theme = painter.place, painter.theme
    outline = place.layout == "outline"
    hidden = {"visible": False, "zeroline": False, "showgrid": False}
    if outline:
        # One unit is one px on both axes: the height fixes y, and x shows as much as there is room for.
        x_axis = {"range": [0, 200], "fixedrange": True, "scaleanchor": "y", "scaleratio": 1}
        x_axis |= {"constrain": "range", "constraintoward": "left"}
        y_axis = {"range": [place.height, 0], "fixedrange": True}
    else:
        deepest = max(place.y.values())
        x_axis = {"range": list(_columns(place)), "fixedrange": False, "scaleanchor": False}
        y_axis = {"range": [deepest + 0.67, 0.05], "fixedrange": False}
    return {
        "autosize": True,
        "height": place.height,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "color": theme.text, "size": 13},
        "showlegend": False,
        "hovermode": "closest",
        "hoverdistance": 14,
        "dragmode": "pan",
        "hoverlabel": {
            "bgcolor": theme.paper,
            "bordercolor": theme.line,
            "align": "left",
            "font": {"family": FONT, "size": 12.5, "color": theme.text},
            "namelength": 0,
        },
        "xaxis": hidden | x_axis,
        "yaxis": hidden | y_axis,
    }


def _nested(properties: Mapping[str, Any]) -> dict[str, Any]:
    """`{"marker.line.color": c}` as `{"marker": {"line": {"color": c}}}`."""
    result: dict[str, Any] = {}
    for path, value in properties.items():
        *above, last = path.split(".")
        inner = result
        for name in above:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return result
