"""The intent picture is the same object in a plain Jupyter kernel as in marimo."""

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

STEP = """
from discover_lib import UserSimulator
from discover_lib.miniature import engine
from discover_lib.miniature.artifacts import generate_artifact
from discover_lib.miniature.assistants import scripted_assistant
from discover_lib.views.figures.tree import IntentFigure

user = engine("technical_writing")
tree = user.builder.build(generate_artifact("technical_writing", "eval", 0)).tree
simulator = UserSimulator(tree, user.judge, user.voice)
figure = IntentFigure(tree, simulator.state)
figure.widget
"""
UPDATE = """
def places():
    return [list(trace.x) for trace in figure.widget.data if trace.mode and "markers" in trace.mode]

before, stood = figure.widget.to_json(), places()
turn = simulator.step(scripted_assistant("adaptive", "technical_writing").reply(simulator.messages, 0))
figure.update(turn.after, turn.candidate.transitions, simulator.focus)
assert figure.widget.to_json() != before, "the picture shows the turn"
assert max(stood, key=len) == max(places(), key=len), "no intent moved"
"""


def test_the_figure_is_a_widget_in_a_plain_kernel():
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(STEP), nbformat.v4.new_code_cell(UPDATE)])
    NotebookClient(book, timeout=60, kernel_name="python3").execute()
    shown = [output for output in book.cells[0].outputs if output.output_type in ("display_data", "execute_result")]
    assert any("application/vnd.jupyter.widget-view+json" in output.data for output in shown)
