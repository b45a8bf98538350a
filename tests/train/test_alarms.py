"""What is said of logged figures, as a table: hand-made series and the words that they bring."""

import re
from pathlib import Path
from typing import Any

import pytest

from discover_lib.train.training_job import ALARMS, WINDOW, alarms


def logged(column: str, *values: float | None) -> list[dict[str, Any]]:
    return [{"step": step, column: value} for step, value in enumerate(values, 1)]


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("kl", [0.01] * 5 + [0.3] * 5, "far from the reference (KL 0.30 per token)"),
        ("kl", [0.3] * 5 + [0.1] * 5, ""),
        ("kl", [0.9] * 4, ""),  # too few to tell
        ("entropy", [2.0] * 5 + [0.5] * 5, "entropy is 25\u00a0% of its first value"),
        ("entropy", [0.5] * 5 + [2.0] * 5, ""),
        ("completions/mean_length", [100.0] * 5 + [180.0] * 5, "replies are 1.8 times as long as at first"),
        ("completions/clipped_ratio", [0.0, 0.5, 0.5, 0.5, 0.5], "40\u00a0% of the replies are cut off"),
        ("frac_reward_zero_std", [0.75] * 5, "in 75\u00a0% of the groups all rewards are equal"),
        ("share/repeated", [0.4] * 5, "40\u00a0% of the replies repeat another reply of their group"),
        ("share/near_misses", [0.7] * 5, "70\u00a0% of the rewarded state changes come from near misses"),
        ("share/unscored", [0.05] * 5, ""),
        ("reward", [-9.0] * 9, ""),  # low, and no sign of anything by itself
    ],
)
def test_what_is_amiss_is_said_with_its_figure(column: str, values: list[float], words: str) -> None:
    found = alarms(logged(column, *values))
    assert set(found) == ({column} if words else set())
    assert not words or found[column].startswith(words)


def test_lines_without_the_figure_do_not_count() -> None:
    assert alarms(logged("kl", *[0.9] * (WINDOW - 1), None, None)) == {}


def test_the_documented_thresholds_are_those_of_the_alarms() -> None:
    text = Path(__file__).parents[2].joinpath("docs", "training.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)`[^|]*\|.*\| ([<>]) ([\d.]+)( × the first)? \|$", text, flags=re.MULTILINE)
    documented = {(column, sign == "<", float(limit), bool(first)) for column, sign, limit, first in rows}
    assert documented == {(each.column, each.falling, each.limit, each.relative) for each in ALARMS}
