"""In a plain Jupyter kernel: the picture as in marimo, values drawn at the end of a cell, the package installed."""

from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow


STEP = """
from discover_lib import UserSimulator
from discover_lib.miniature import engine
from discover_lib.miniature.artifacts import generate_artifact
from discover_lib.miniature.assistants import scripted_assistant
from workbench.map import IntentMap, MapMoment

user = engine("technical_writing")
tree = user.builder.build(generate_artifact("technical_writing", "eval", 0)).tree
simulator = UserSimulator(tree, user.judge, user.voice)
drawn = IntentMap(tree, [MapMoment(simulator.state)])
drawn.widget
"""
UPDATE = """
before, frame = drawn.widget.moments, drawn.widget.frame
turn = simulator.step(scripted_assistant("adaptive", "technical_writing").reply(simulator.messages, 0))
drawn.show(MapMoment(turn.after, turn.candidate.transitions, 1))
assert drawn.widget.moments != before, "the map shows the turn"
assert drawn.widget.frame == frame, "no intent moved"
tree.figure(turn.after, live=True)
"""


VALUES = """
import workbench
from discover_lib import UserSimulator
from discover_lib.miniature import engine
from discover_lib.miniature.artifacts import generate_artifact

user = engine("svg_drawing")
drawing = generate_artifact("svg_drawing", "eval", 0)
built = user.builder.build(drawing)
tree = built.tree
simulator = UserSimulator(tree, user.judge, user.voice)
turn = simulator.step("a small red fox?")
"""
SEEN = ("drawing", "built", "tree", "turn", "simulator", "simulator.conversation")
NAMES = (*SEEN, "simulator.state", "turn.candidate.reward")


@pytest.fixture(scope="module")
def outputs() -> list[list[Any]]:
    """The outputs of every cell, of one kernel that runs them all."""
    cells = [nbformat.v4.new_code_cell(text) for text in (STEP, UPDATE, VALUES, *NAMES)]
    NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=60, kernel_name="python3").execute()
    return [cell.outputs for cell in cells]


def test_the_map_and_the_figure_are_widgets_in_a_plain_kernel(outputs: list[list[Any]]) -> None:
    for each in outputs[:2]:
        assert any("application/vnd.jupyter.widget-view+json" in output.get("data", {}) for output in each)


def test_what_stands_at_the_end_of_a_cell_is_drawn_and_its_text_is_short(outputs: list[list[Any]]) -> None:
    shown = {name: each[0].data for name, each in zip(NAMES, outputs[3:], strict=True)}
    assert [name for name in NAMES if "text/html" in shown[name]] == list(SEEN)
    assert "<img" in shown["drawing"]["text/html"] and "dl-chat" in shown["simulator"]["text/html"]
    text = {name: data["text/plain"] for name, data in shown.items()}
    assert all(len(each) < 2000 and "object at 0x" not in each and "IntentTree(" not in each for each in text.values())
    assert text["tree"].splitlines()[1].startswith("1 ") and "turn 1" in text["turn"]
    assert "1 discovered" in text["simulator.state"] and " = " in text["turn.candidate.reward"]
