"""Curves of discovery, and the legend of states."""

import re

import pytest

from discover_lib.runs.artifact_files import load_recorded
from workbench.views.figures.charts import discovery_curves


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
