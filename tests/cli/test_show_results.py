"""What `discover evaluate` prints: its table, and what stands below it."""

import dataclasses
import io

import pytest
from rich.console import Console
from scored import scores_where

from discover_lib.cli.show import _remarks, numbers
from discover_lib.metrics.results import ALL, results_by_scope


def test_what_lacks_a_measure_is_told_by_the_heading_of_its_column() -> None:
    talks = scores_where({"a": [0], "b": [1]}, {"a": 100, "b": 100}, 3)
    one_empty = [dataclasses.replace(each, moves={}) if each.artifact == "a2" else each for each in talks]
    lines = list(_remarks(results_by_scope(one_empty)[ALL], "none"))
    assert "found: taken over 2 users; 1 lacks it for at least one assistant" in lines
    assert not any(line.startswith("proportion") for line in lines)


NUMBERS = ("0.92 [0.86, 0.96]", "0.31 [0.26, 0.36]", "−0.11 [−0.16, −0.06]")
NAMES = ("adaptive", "hf:outputs/models/a-very-long-name-of-a-tuned-model", "draft", "ask")


@pytest.mark.parametrize("width", [40, 80, 100, 160])
def test_a_number_and_its_interval_stand_on_one_line_however_narrow_the_terminal(width: int) -> None:
    screen = Console(width=width, file=io.StringIO())
    head = ("assistant", "discovery", "found", "reward")
    for table in numbers("a title", head, [(name, *NUMBERS) for name in NAMES], width):
        table.print(screen)
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert all(shown.count(number) == len(NAMES) for number in NUMBERS)
    assert "…" not in shown and max(map(len, shown.splitlines())) <= width
    assert shown.count("discovery") == {40: 4, 80: 2, 100: 2, 160: 1}[width]
    assert [name for name in NAMES if name[:8] in shown] == [*NAMES]
