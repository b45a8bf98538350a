"""Texts without repetition, columns without overlap, and a figure that tells every state."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib import IntentTree
from discover_lib.base.forest import boxes, columns, shortened


@pytest.mark.parametrize(
    ("text", "above", "shown"),
    [
        ("Keeps to cool tones but for one warm spot", "Keeps to cool tones", "… but for one warm spot"),
        ("Shows an owl with feathers", "Shows an animal with feathers", "… owl …"),
        ("a red boat at night", "a boat at night", "… red …"),
        ("a boat", "a boat", "a boat"),
        ("a boat", "rain", "a boat"),
        ("A Boat at night", "a boat", "… at night"),
    ],
)
def test_a_text_loses_the_words_of_the_broader_one(text: str, above: str, shown: str) -> None:
    assert shortened(text, above) == shown


def tree_of(shapes: list) -> IntentTree:
    def intent(shape: list, own: str) -> dict:
        below = [intent(child, f"{own}.{place}") for place, child in enumerate(shape, 1)]
        return {"id": own, "text": f"intent {own}", "children": below}

    return IntentTree.from_dict({"roots": [intent(shape, str(place)) for place, shape in enumerate(shapes, 1)]})


SHAPES = st.recursive(st.just([]), lambda below: st.lists(below, max_size=3), max_leaves=8)


@pytest.mark.slow
@given(st.lists(SHAPES, min_size=1, max_size=5), st.integers(200, 1600))
def test_no_two_cells_overlap_and_a_parent_spans_its_children(shapes: list, width: int) -> None:
    graph = tree_of(shapes).graph()
    places = columns(graph)
    for key in graph:
        below = [places[child] for child in graph.successors(key)]
        if below:
            assert places[key] == (below[0][0], sum(span for _, span in below))
    rectangles = list(boxes(graph, width).values())
    assert len(rectangles) == len(graph)
    for (x, y, wide, high), (u, v, broad, tall) in combinations(rectangles, 2):
        assert x + wide <= u + 0.01 or u + broad <= x + 0.01 or y + high <= v or v + tall <= y


def test_the_figure_tells_text_and_state_and_takes_no_markup() -> None:
    data = {"roots": [{"id": "1", "text": "a <b>boat</b>"}, {"id": "2", "text": "rain"}], "initially_discovered": ["2"]}
    (bars,) = IntentTree.from_dict(data).figure().data
    assert list(bars.text) == ["○ a &lt;b>boat&lt;/b>", "● rain"] and list(bars.customdata) == ["1", "2"]
    assert list(bars.hovertext) == ["a &lt;b>boat&lt;/b> · undiscovered", "rain · discovered"]
