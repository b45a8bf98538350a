"""In a plain Jupyter kernel: the picture as in marimo, values drawn at the end of a cell, the package installed."""

import pytest

pytestmark = pytest.mark.slow

VALUES = """
import workbench
from discover_lib import UserSimulator
from discover_lib.miniature import engine
from discover_lib.miniature.artifacts import generate_artifact
from workbench.map import IntentMap, MapMoment

user = engine("svg_drawing")
drawing = generate_artifact("svg_drawing", "eval", 0)
built = user.builder.build(drawing)
tree = built.tree
simulator = UserSimulator(tree, user.judge, user.voice)
drawn = IntentMap(tree, [MapMoment(simulator.state)])
drawn.widget
"""
UPDATE = """
before, frame = drawn.widget.moments, drawn.widget.frame
turn = simulator.step("a small red fox?")
drawn.show(MapMoment(turn.after, turn.candidate.transitions, 1))
assert drawn.widget.moments != before, "the map shows the turn"
assert drawn.widget.frame == frame, "no intent moved"
tree.figure(turn.after, live=True)
"""
SEEN = ("drawing", "built", "tree", "turn", "simulator", "simulator.conversation")


def test_widgets_and_values_are_drawn_in_a_plain_kernel_and_their_text_is_short() -> None:
    import nbformat  # takes seconds
    from nbclient import NotebookClient

    cells = [nbformat.v4.new_code_cell(text) for text in (VALUES, UPDATE, *SEEN)]
    NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=180, kernel_name="python3").execute()
    for cell in cells[:2]:
        assert any("application/vnd.jupyter.widget-view+json" in output.get("data", {}) for output in cell.outputs)
    shown = {name: cell.outputs[0].data for name, cell in zip(SEEN, cells[2:], strict=True)}
    assert [name for name in shown if "text/html" in shown[name]] == list(SEEN)
    assert "<img" in shown["drawing"]["text/html"] and "dl-chat" in shown["simulator"]["text/html"]
    text = {name: data["text/plain"] for name, data in shown.items()}
    assert all(len(each) < 2000 and "object at 0x" not in each and "IntentTree(" not in each for each in text.values())
    assert text["tree"].splitlines()[1].startswith("  ● ") and "turn 1" in text["turn"]
