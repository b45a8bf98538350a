"""What a perfect reply a turn could find: hand-worked forests, and the trees that were recorded."""

from __future__ import annotations

import pytest

from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.rules import Rules
from discover_lib.metrics.discovery import ceiling, mean_ceiling
from discover_lib.runs.artifact_files import find_recorded, recorded_index


def forest(*sizes: int, known: tuple[str, ...] = ()) -> IntentTree:
    """A chain of so many intents for each number."""

    def chain(intent_id: str, length: int) -> Intent:
        below = (chain(f"{intent_id}.1", length - 1),) if length > 1 else ()
        return Intent(intent_id, f"wish {intent_id}", below)

    roots = tuple(chain(str(place), size) for place, size in enumerate(sizes, start=1))
    return IntentTree("story", "harbours", "a story, please", known, roots)


@pytest.mark.parametrize(
    ("sizes", "known", "turns", "share"),
    [
        pytest.param((3, 3), (), 5, 1.0, id="two trees take two turns"),
        pytest.param((3, 3), (), 1, 3 / 6, id="one tree a turn"),
        pytest.param((3, 3), ("1",), 1, 2 / 5, id="what the request names is not hidden"),
        pytest.param((1, 3), ("1",), 1, 1.0, id="a tree with nothing hidden takes no turn"),
        pytest.param((2,) * 10, (), 5, 10 / 20, id="ten trees, five turns"),
        pytest.param((7, 6, 4, 3, 3, 3, 5, 3), ("3",), 5, 22 / 33, id="the poem built by hand: 67 %"),
        pytest.param((3, 1, 2, 2, 2, 7, 5, 11, 2), ("1",), 5, 9 / 34, id="the snail built by hand: 26 %"),
        pytest.param((1,), ("1",), 5, 1.0, id="nothing hidden"),
        pytest.param((4,), (), 0, 0.0, id="no turn"),
    ],
)
def test_the_judge_is_shown_one_tree_a_turn(sizes, known, turns, share):
    assert ceiling(forest(*sizes, known=known), Rules.paper(), turns) == pytest.approx(share)


def test_the_authors_rules_count_the_next_tree_too_once_one_is_complete():
    tree = forest(2, 2, 2, 2)
    assert ceiling(tree, Rules.paper(), 1) == 2 / 8
    assert ceiling(tree, Rules.authors(), 1) == 4 / 8


@pytest.mark.slow
def test_the_recorded_trees_can_be_found_almost_whole_in_five_turns():
    trees = [find_recorded(entry.name).tree() for entry in recorded_index()]
    shares = [ceiling(tree) for tree in trees]
    assert len(shares) == 18 and round(min(shares), 2) == 0.84 and max(shares) == 1.0
    assert {len(tree.roots) for tree in trees} == {4, 5, 6} and all(18 <= len(tree) <= 26 for tree in trees)
    assert mean_ceiling(trees) == pytest.approx(sum(shares) / 18)


def test_a_mean_ceiling_leaves_out_users_from_whom_nothing_is_hidden():
    open_user = forest(2, 2, 2, 2)
    assert mean_ceiling([open_user, forest(1, known=("1",))], turns=1) == ceiling(open_user, turns=1) == 2 / 8
    assert mean_ceiling([forest(1, known=("1",))]) == 1.0
