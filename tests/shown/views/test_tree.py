"""The tree's picture: where things stand, what is drawn, and what a step sends."""

import dataclasses
import re
from itertools import pairwise
from typing import Any

import pytest

from discover_lib import Discovery, Evaluation, IntentState, IntentTree, Rules, Verdict, advance, initial_state
from discover_lib.core.advance import frontier
from discover_lib.runs.recorded import load_recorded, recorded_index
from workbench.views.figures.charts import discovery_curves
from workbench.views.figures.theme import THEMES, Theme
from workbench.views.figures.tree import (
    BAND,
    EDGES,
    GLOW,
    LABELS,
    MARKS,
    NODES,
    TICKS,
    IntentFigure,
    place_layered,
    place_outline,
)
from workbench.views.html import static_text

RULES = Rules.paper()


def chain(number: int, depth: int, children: int = 1) -> dict[str, Any]:
    def node(intent_id: str, left: int) -> dict[str, Any]:
        below = [node(f"{intent_id}.{place}", left - 1) for place in range(1, children + 1)] if left else []
        return {"id": intent_id, "text": f"wants {intent_id}", "children": below}

    return node(str(number), depth)


@pytest.fixture
def tree() -> IntentTree:
    roots = [chain(1, 2, children=2), chain(2, 1), chain(3, 0)]
    return IntentTree.from_dict({"initially_discovered": ["1"], "roots": roots})


@pytest.fixture
def moved(tree: IntentTree) -> tuple[IntentState, Any]:
    """After a reply that meets 1.1 and comes near 1.2."""
    verdicts = [Verdict("1", True), Verdict("1.1", True, reason="there it is"), Verdict("1.2", False, ("a", "b"))]
    state = initial_state(tree, RULES, thresholds={"1.2": 0.1})
    return advance(tree, state, Evaluation("artifact", verdicts), RULES)


def picture(tree: IntentTree, state: IntentState, transitions: Any = (), reasons: Any = None, **options: Any) -> Any:
    """The tree at one moment."""
    live = IntentFigure(tree, initial_state(tree), **options)
    live.update(state, tuple(transitions), reasons=reasons)
    return live.widget


def at(trace: Any) -> list[tuple[float, float]]:
    return list(zip(trace.x or (), trace.y or (), strict=True))


class TestPlaces:
    @pytest.mark.parametrize("entry", recorded_index(), ids=lambda entry: entry.artifact_id)
    def test_outline_rows_never_overlap_and_children_are_indented(self, entry: Any) -> None:
        tree = entry.tree()
        place = place_outline(tree)
        rows = [place.y[key] for key in tree.intents]
        assert all(below - above >= 22 for above, below in pairwise(rows))
        assert all(place.x[key] > place.x[up] for key, up in tree.parents.items() if up)
        assert max(rows) < place.height

    def test_layered_has_leaves_in_order_and_parents_in_the_middle(self, tree: IntentTree) -> None:
        place = place_layered(tree)
        leaves = [place.x[key] for key in tree.leaves()]
        assert leaves == sorted(leaves) and min(b - a for a, b in pairwise(leaves)) >= 1
        assert place.x["1.1"] == (place.x["1.1.1"] + place.x["1.1.2"]) / 2
        assert {place.y[key] for key in ("1", "2", "3")} == {1.0}


class TestDrawing:
    @pytest.mark.slow
    @pytest.mark.parametrize("layout", ["outline", "layered"])
    def test_state_shows_by_shape_and_colour(self, tree: IntentTree, moved: Any, layout: Any) -> None:
        state, transitions = moved
        figure = picture(tree, state, transitions, layout=layout)
        place = place_outline(tree) if layout == "outline" else place_layered(tree)
        marks = dict(zip(at(figure.data[MARKS]), figure.data[MARKS].marker.symbol, strict=True))
        colors = dict(zip(at(figure.data[MARKS]), figure.data[MARKS].marker.color, strict=True))
        spot = {key: (place.x[key], place.y[key]) for key in tree.intents}
        assert marks[spot["1.2"]] == "diamond" and marks[spot["1.1"]] == "circle"
        assert len({colors[spot[key]] for key in ("1.1", "1.2", "1.1.1")}) == 3
        assert spot["3"] not in marks  # hidden and out of reach: the plain ring of NODES shows
        assert at(figure.data[GLOW]) == [spot["1"], spot["1.1"], spot["1.2"]]
        assert set(at(figure.data[TICKS])) == {spot["1"], spot["1.1"]}
        assert len(at(figure.data[NODES])) == len(tree)
        assert figure.data[EDGES].x.count(None) == len(tree.roots)

    def test_the_band_lies_on_the_focus_and_goes_when_nothing_is_left(self, tree: IntentTree) -> None:
        figure = picture(tree, initial_state(tree), rules=RULES)
        place = place_outline(tree)
        assert min(y for y in figure.data[BAND].y if y is not None) < place.y["1"]
        assert max(y for y in figure.data[BAND].y if y is not None) < place.y["2"]
        everything = IntentState(dict.fromkeys(tree.intents, Discovery.DISCOVERED))
        assert picture(tree, everything, rules=RULES).data[BAND].x == ()

    def test_the_frontier_is_what_the_next_reply_could_move(self, tree: IntentTree, moved: Any) -> None:
        assert frontier(tree, initial_state(tree), ["1"]) == {"1.1", "1.2"}
        assert frontier(tree, moved[0], ["1"]) == {"1.2", "1.1.1", "1.1.2"}
        assert frontier(tree, moved[0], []) == frozenset()

    def test_the_pointer_shows_text_state_reason_and_threshold(self, tree: IntentTree, moved: Any) -> None:
        state, transitions = moved
        texts = picture(tree, state, transitions, reasons={"1.1": "there it is"}).data[NODES].hovertext
        met, near = (texts[list(tree.intents).index(key)] for key in ("1.1", "1.2"))
        for piece in ("wants 1.1", "discovered", "satisfied", "undiscovered → discovered", "engaged", "there it is"):
            assert piece in met
        for piece in ("emerging", "near miss, score 0.50 against θ 0.10", "θ left: 0.10", "frontier"):
            assert piece in near

    def test_what_looks_like_markup_is_shown_as_it_stands(self) -> None:
        roots = [{"id": "1", "text": "<a href='javascript:x'>click</a> & <b>go</b>"}]
        tree = IntentTree.from_dict({"roots": roots})
        figure = picture(tree, initial_state(tree))
        shown = figure.data[LABELS].text[0] + figure.data[NODES].hovertext[0]
        assert "&lt;a href" in shown and "<a" not in shown

    def test_no_edge_of_a_layered_picture_runs_through_a_label(self) -> None:
        """A label of a node with one child below it stands beside the node; that of a leaf stands below."""
        tree = IntentTree.from_dict({"roots": [chain(1, 2), chain(2, 2)]})
        everything = IntentState(dict.fromkeys(tree.intents, Discovery.DISCOVERED))
        labels = picture(tree, everything, layout="layered").data[LABELS]
        sides = dict(zip(labels.text, labels.textposition, strict=True))
        assert {sides[f"wants {key}"] for key in ("1", "2")} == {"top center"}
        assert {sides[f"wants {key}"] for key in ("1.1", "2.1")} == {"middle right"}
        assert {sides[f"wants {key}"] for key in ("1.1.1", "2.1.1")} == {"bottom center"}


class TestLiveFigure:
    @pytest.mark.slow
    def test_a_click_that_plotly_reports_twice_selects_once(self, tree: IntentTree) -> None:
        live = IntentFigure(tree, initial_state(tree))
        clicked: list[str] = []
        live.on_select(clicked.append)
        points = type("Points", (), {"point_inds": [2]})()
        for _ in range(2):
            for callback in live.widget.data[NODES]._click_callbacks:
                callback(live.widget.data[NODES], points, None)
        assert clicked == [list(tree.intents)[2]]

    def test_selecting_marks_one_intent(self, tree: IntentTree) -> None:
        live = IntentFigure(tree, initial_state(tree))
        live.select("3")
        assert THEMES["light"].selected in live.widget.data[MARKS].marker.line.color
        live.select(None)
        assert THEMES["light"].selected not in live.widget.data[MARKS].marker.line.color

    @pytest.mark.slow
    @pytest.mark.parametrize("layout", ["outline", "layered"])
    def test_in_fog_only_what_is_discovered_can_be_read(self, tree: IntentTree, moved: Any, layout: Any) -> None:
        live = IntentFigure(tree, initial_state(tree), rules=RULES, layout=layout, fog=True)
        live.update(*moved)
        known = {tree.text(key) for key in moved[0].discovered}
        shown = {text.removeprefix("<b>").removesuffix("</b>") for text in live.widget.data[LABELS].text}
        assert shown and shown <= known
        hidden = set(map(tree.text, tree.intents)) - known
        assert not [text for text in live.widget.data[NODES].hovertext if any(f">{each}<" in text for each in hidden)]


def on_a_desk(drawn: str) -> str:
    return drawn.split('class="rf-middle"')[0]


def heights(drawn: str, line: str) -> list[list[float]]:
    """Where each line of a chart, as a desk shows it, stands after every turn, as the share of the axis."""
    paths = re.findall(rf'points="([^"]*)"[^>]* data-line="{line}"', on_a_desk(drawn))
    return [[float(point.split(",")[1]) for point in path.split()][::2] for path in paths]


def test_curves_count_what_is_known_after_each_turn() -> None:
    [conversation] = load_recorded("night_harbour")
    drawn = discovery_curves({"recorded": conversation}, turn=2)
    known = [len(conversation.state_after(turn).discovered) for turn in range(6)]
    told = re.findall(r"<title>recorded, after turn (\d): (\d+) discovered</title>", on_a_desk(drawn))
    assert [(int(turn), int(count)) for turn, count in told] == list(enumerate(known))
    [line], [formed] = heights(drawn, "discovered"), heights(drawn, "formed")
    step = (line[0] - line[-1]) / (known[-1] - known[0])  # one intent, upwards
    assert line == pytest.approx([line[0] - step * (count - known[0]) for count in known], abs=0.2)
    assert all(above <= below for above, below in zip(formed, line, strict=True))
    assert 'data-turn="2"' in drawn and "dl-key" not in drawn


def luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_text_and_shapes_stand_out(theme: Theme) -> None:
    assert all(re.fullmatch(r"#[0-9a-f]{6}", color) for color in (theme.paper, theme.band, theme.text))
    for ground in (theme.paper, theme.band):
        assert min(contrast(theme.text, ground), contrast(theme.quiet, ground)) >= 4.5
        shapes = (theme.hidden, theme.frontier, theme.discovered, theme.emerging_line, theme.selected, theme.glow_line)
        assert min(contrast(color, ground) for color in shapes) >= (3 if ground == theme.paper else 2.7)
    assert contrast(theme.tick, theme.discovered) >= 4.5


def test_the_sheet_turns_every_light_colour_into_its_dark_one() -> None:
    sheet = static_text("workbench.css")
    selector, value = r"(\w*)\[style\*=\"(fill|stroke): rgb\((\d+), (\d+), (\d+)\)\"\]", r"light-dark\((#\w+), (#\w+)\)"
    turned = re.findall(selector + r" \{ \2: " + value + " !important; \\}", sheet)
    for _, _, *parts, light, _ in turned:
        assert light == "#" + "".join(f"{int(part):02x}" for part in parts)
    pairs = {(element, where, light, dark) for element, where, *_, light, dark in turned}
    light, dark = THEMES["light"], THEMES["dark"]
    fills = ("text", "quiet", "band", "discovered", "emerging", "glow")
    strokes = ("line", "hidden", "frontier", "discovered", "emerging_line", "glow_line", "selected")
    expected = {("", "fill", solid(getattr(light, name)), solid(getattr(dark, name))) for name in fills}
    expected |= {("", "stroke", solid(getattr(light, name)), solid(getattr(dark, name))) for name in strokes}
    expected |= {("path", "fill", light.paper, dark.paper), ("text", "fill", light.tick, dark.tick)}  # both white
    assert pairs == expected
    assert {field.name for field in dataclasses.fields(Theme)} == {*fills, *strokes, "paper", "tick"}


def solid(color: str) -> str:
    """A colour without its opacity, which plotly writes apart."""
    if color.startswith("#"):
        return color
    return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", color)[:3])
