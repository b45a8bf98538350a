"""Eq. 4 in worked pools, and the ceiling of hand-worked trees."""

from fractions import Fraction

import pytest
from scripted import EchoVoice, ScriptedJudge, artifact, forest

from discover_lib import UserSimulator, discovery_scores
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.rules import Rules
from discover_lib.metrics.discovery import ceiling, mean_ceiling, share_discovered, why_undefined
from discover_lib.metrics.results import Pool
from discover_lib.metrics.scores import scores_of
from discover_lib.runs.artifact_files import find_recorded, recorded_index


def pool(**levels: list[float]) -> dict[str, dict[str, dict[str, float]]]:
    """Assistants with the levels that they reached on one artifact's intents."""
    return {name: {"art": {str(n): level for n, level in enumerate(row, 1)}} for name, row in levels.items()}


@pytest.mark.parametrize(
    ("levels", "scores"),
    [
        pytest.param(pool(a=[1, 1, 0], b=[1, 0, 0]), {"a": 1, "b": 0}, id="all {1}, any {1,2}: 1/1 and 0/1"),
        pytest.param(pool(a=[1, 1, 1, 0], b=[1, 0, 1, 0], c=[1, 0, 0, 0]), {"a": 1, "b": 0.5, "c": 0}, id="of 2"),
        pytest.param(pool(a=[1, 0], b=[0, 1]), {"a": 0.5, "b": 0.5}, id="each found what the other did not"),
        pytest.param(pool(a=[1, 0.5], b=[0.5, 0], c=[0, 0]), {"a": 1, "b": Fraction(1, 3), "c": 0}, id="0.5 of 1.5"),
        pytest.param(pool(a=[1, 1], b=[0.5, 0.5]), {"a": 1, "b": 0}, id="emerging by all is the floor"),
        pytest.param(pool(a=[1, 0, 0], b=[0.5, 1, 0.5]), {"a": 0.25, "b": 0.75}, id="0.5 of 2 and 1.5 of 2"),
        pytest.param(pool(a=[1, 0, 0], b=[0, 1, 0], c=[0, 0, 1]), dict.fromkeys("abc", Fraction(1, 3)), id="thirds"),
    ],
)
def test_eq_4(levels: dict, scores: dict) -> None:
    found = discovery_scores(levels)
    assert {name: row["art"] for name, row in found.items()} == {name: float(each) for name, each in scores.items()}
    assert found.left_out == ()


@pytest.mark.parametrize(
    "levels",
    [
        pytest.param(pool(a=[1, 1], b=[1, 1]), id="all found everything"),
        pytest.param(pool(a=[1, 0, 1]), id="an assistant alone has nobody to differ from"),
        pytest.param(pool(a=[], b=[]), id="no intent to discover"),
    ],
)
def test_a_zero_denominator_leaves_the_artifact_out_and_says_so(levels: dict) -> None:
    found = discovery_scores(levels)
    assert found.left_out == ("art",)
    assert found["a"] == {}
    assert found.mean("a") is None


def test_the_mean_is_over_the_artifacts_that_count() -> None:
    ours = {"x": {"1": 1, "2": 0}, "y": {"1": 1}, "z": {"1": 1}}
    found = discovery_scores({"a": ours, "b": {"x": {"1": 0, "2": 1}, "y": {"1": 0}, "z": {"1": 1}}})
    assert found["a"] == {"x": 0.5, "y": 1.0}
    assert (found.mean("a"), found.mean("b")) == (0.75, 0.25)
    assert found.left_out == ("z",)


@pytest.mark.parametrize(
    ("levels", "named"),
    [
        pytest.param({"a": {"x": {"1": 1}}, "b": {"y": {"1": 1}}}, "'b'.*artifacts", id="other artifacts"),
        pytest.param({"a": {"x": {"1": 1, "2": 0}}, "b": {"x": {"1": 1}}}, "'x': 'b'.*intents", id="an intent missing"),
    ],
)
def test_pools_that_do_not_match_are_refused(levels: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        discovery_scores(levels)


@pytest.mark.parametrize(
    ("assistants", "users", "left_out", "why"),
    [
        (1, 5, 5, "one assistant alone; eq. 4 compares several"),
        (2, 0, 0, "no user has finished with every assistant"),
        (2, 5, 5, "all assistants found the same, on each of 5 users"),
        (2, 5, 4, ""),
    ],
)
def test_where_eq_4_is_not_defined_it_says_why(assistants: int, users: int, left_out: int, why: str) -> None:
    assert why_undefined(assistants, users, left_out) == why


def test_the_headline_number_counts_neither_the_request_nor_what_is_emerging_and_is_one_everywhere() -> None:
    tree = forest("1 1.1 1.2 1.3 2", "1")
    readings = {"one": artifact("1.1", n1_2=4), "two": artifact("1.2"), "none": artifact()}
    options = {"setting": {"artifact": "a", "assistants": ["x"], "trial": 0}, "thresholds": {"1.2": 0.9}}
    user = UserSimulator(tree, ScriptedJudge(readings), EchoVoice(), **options)
    for text in ("none", "one", "two"):
        user.step(text)
    talk = user.conversation
    assert talk.state_after(2)["1.2"].name == "EMERGING"
    assert [share_discovered(talk, turns) for turns in range(4)] == [0, 0, 1 / 4, 2 / 4]
    scores = scores_of(talk, 0)
    assert share_discovered(talk) == scores.share_discovered == Pool([scores]).per_user("share")["x"]["a/0"] == 2 / 4
    all_known = UserSimulator(forest("1", "1"), ScriptedJudge(readings), EchoVoice()).conversation
    assert share_discovered(all_known) is None


def chains(*sizes: int, known: tuple[str, ...] = ()) -> IntentTree:
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
    assert ceiling(chains(*sizes, known=known), Rules.paper(), turns) == pytest.approx(share)


def test_the_authors_rules_count_the_next_tree_too_once_one_is_complete():
    tree = chains(2, 2, 2, 2)
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
    open_user = chains(2, 2, 2, 2)
    assert mean_ceiling([open_user, chains(1, known=("1",))], turns=1) == ceiling(open_user, turns=1) == 2 / 8
    assert mean_ceiling([chains(1, known=("1",))]) == 1.0
