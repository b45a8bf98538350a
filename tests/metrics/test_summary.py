"""A run's table of contents, summed up by assistant."""

import pytest

from discover_lib.metrics.summary import summarise_listing
from discover_lib.runs.store import Listed


def row(artifact: str, assistants: tuple[str, ...], stop: str | None, turns: int, discovered: int, reward: float):
    return Listed(0, artifact, "svg_drawing", assistants, 0, stop, turns, discovered, reward, 100 * turns, 0, 0)


def test_a_listing_is_summed_up_over_artifacts() -> None:
    rows = [
        row("a", ("ask",), "max_turns", 4, 2, 4.0),
        row("a", ("ask",), "all_discovered", 2, 4, 4.0),  # another trial with the same user: their mean is 3
        row("b", ("ask",), "max_turns", 5, 9, 0.0),
        row("a", ("ask",), "error", 3, 50, 9.0),
        row("b", ("ask",), None, 3, 50, 9.0),
        row("b", ("ask",), "max_turns", 0, 0, 0.0),
        row("a", ("draft", "ask", "draft"), "max_turns", 1, 1, 1.0),
    ]
    ask, best = summarise_listing(rows)
    assert (ask.assistant, ask.conversations) == ("ask", 3)
    assert (best.assistant, best.conversations) == (
        "draft + ask",
        1,
    )
    assert ask.discovered.mean == pytest.approx(6)  # of 3 and 9
    assert ask.reward.mean == pytest.approx(0.75)  # of 1.5 and 0
    assert ask.tokens.mean == pytest.approx(400)  # of 300 and 500
    assert ask.row()[:2] == ("ask", "3") and len(ask.row()) == len(ask.COLUMNS)
