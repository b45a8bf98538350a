"""Texts without repetition, and a figure that tells every state."""

import pytest

from discover_lib import Discovery, IntentState, IntentTree
from discover_lib.base.forest import shortened


@pytest.mark.parametrize(
    ("text", "above", "shown"),
    [
        ("Keeps to cool tones but for one warm spot", "Keeps to cool tones", "but for one warm spot"),
        ("Shows an owl with feathers", "Shows an animal with feathers", "owl with feathers"),
        ("a red boat at night", "a boat at night", "red boat at night"),
        ("a boat", "a boat", "a boat"),
        ("a boat", "rain", "a boat"),
        ("A Boat at night", "a boat", "at night"),
    ],
)
def test_a_text_loses_the_words_of_the_broader_one(text: str, above: str, shown: str) -> None:
    assert shortened(text, above) == shown


BOAT = {"id": "1", "text": "a <b>boat</b>", "children": [{"id": "1.1", "text": "a <b>boat</b> in the rain"}]}
RAIN = {"id": "2", "text": "rain", "children": [{"id": f"2.{k}", "text": f"{k} clouds"} for k in (1, 2)]}
TREE = IntentTree.from_dict({"topic": "boats", "initially_discovered": ["2"], "roots": [BOAT, RAIN]})


@pytest.mark.slow
def test_the_figure_has_a_cell_an_intent_below_its_parent_and_as_high_as_its_leaves() -> None:
    (cells,) = TREE.figure().data
    assert list(cells.ids) == ["all", "1", "1.1", "2", "2.1", "2.2"]
    assert list(cells.parents) == ["", "all", "1", "all", "2", "2"]
    assert list(cells["values"]) == [3, 1, 1, 2, 1, 1]


def test_the_figure_tells_text_and_state_and_takes_no_markup() -> None:
    (cells,) = TREE.figure().data
    assert list(cells.labels)[:4] == ["boats", "○ a &lt;b>boat&lt;/b>", "○ in the rain", "● rain"]
    assert list(cells.hovertext)[1::2] == [
        "1 · a &lt;b>boat&lt;/b> · undiscovered",
        "2 · rain · discovered",
        "2.2 · 2 clouds · undiscovered",
    ]
    state = IntentState({"1": Discovery.EMERGING}, frozenset({"2"}))
    assert list(TREE.figure(state).data[0].labels)[1:4:2] == ["◆ a &lt;b>boat&lt;/b>", "✓ rain"]


@pytest.mark.slow
def test_a_live_figure_can_be_changed_in_a_notebook() -> None:
    figure = TREE.figure(live=True)
    figure.data[0].labels = ["changed", *figure.data[0].labels[1:]]
    assert type(figure).__name__ == "FigureWidget" and figure.data[0].labels[0] == "changed"
