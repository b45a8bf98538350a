"""How much of a discovery near misses made, by hand."""

from __future__ import annotations

import pytest
from scripted import artifact, forest, state_of

from discover_lib import Conversation, Discovery, Reply, Rules, Turn
from discover_lib.core.simulator import score_candidate, view_after
from discover_lib.metrics.near_misses import NearMisses, near_misses_of, steps_of
from discover_lib.metrics.scores import scores_of

TREE = forest("1 1.1 1.2 1.3 2")
PAPER = Rules.paper()
START = state_of(TREE, "1", theta=0.9)
SETTING = {"assistants": ["farmer"], "artifact": "boat", "trial": 0, "domain": ""}


def talk(*evaluations, artifact_id: str = "boat", name: str = "farmer", rules: Rules = PAPER) -> Conversation:
    """A conversation of replies that were judged so."""
    state, turns = START, []
    for number, evaluation in enumerate(evaluations, 1):
        candidate = score_candidate(TREE, state, Reply("a reply", 10, "scripted", name), evaluation, rules)
        turns.append(Turn(number, state, (candidate,), 0, ("1",), view_after(TREE, candidate, rules)))
        state = candidate.after
    setting = {**SETTING, "artifact": artifact_id, "assistants": [name]}
    return Conversation(TREE, rules, 0, START, tuple(turns), "max_turns", setting)


# 1.1: two near misses' steps; 1.2: a near miss, then met; 1.3: met at once.
MIXED = talk(artifact(n1_1=4, n1_2=4), artifact("1.2", "1.3", n1_1=4))


def test_steps_are_counted_by_cause() -> None:
    assert MIXED.state["1.1"] is MIXED.state["1.2"] is MIXED.state["1.3"] is Discovery.DISCOVERED
    assert steps_of(MIXED) == (5, 3, 3, 1)  # 1.1 twice, 1.2 twice, 1.3 once; 1.1 alone by near misses


def test_a_worn_threshold_is_no_step() -> None:
    assert steps_of(talk(artifact(n1_1=2))) == (0, 0, 0, 0)  # 0.5 against 0.9


def test_shares_are_means_over_artifacts_of_conversations_that_moved_something() -> None:
    met = talk(artifact("1.1"), artifact_id="hat")
    idle = talk(artifact(), artifact_id="cup")
    scores = [scores_of(each, place) for place, each in enumerate((MIXED, met, idle))]
    [found] = near_misses_of(scores)
    assert (found.steps, found.by_near_misses, found.discovered, found.alone) == (6, 3, 4, 1)
    assert found.share is not None and found.share.mean == pytest.approx((3 / 5 + 0) / 2)
    assert found.share_alone is not None and found.share_alone.mean == pytest.approx((1 / 3 + 0) / 2)
    assert found.share.n_artifacts == 2 and "(n = 2)" in found.row()[2]
    assert near_misses_of([scores[2]]) == [NearMisses("farmer", 0, 0, 0, 0, None, None)]


def test_a_digest_keeps_the_steps_and_an_old_one_has_none() -> None:
    scores = scores_of(MIXED, 3)
    from discover_lib.metrics.scores import ConversationScores
    from discover_lib.runs.store import record_json

    plain = scores.digest()
    kept = ConversationScores.from_json(record_json(plain), 3)
    assert kept == scores and kept.steps == scores.steps == (5, 3, 3, 1)


def test_with_a_cap_of_one_four_near_misses_move_nothing_here() -> None:
    capped = talk(artifact(n1_1=4, n1_2=4), rules=Rules.paper().replace(near_miss_cap=1))
    assert steps_of(capped) == (0, 0, 0, 0) and capped.state.thresholds["1.1"] == pytest.approx(0.65)
