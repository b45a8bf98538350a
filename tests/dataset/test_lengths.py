"""Table 3 against figures by hand; length as a predictor, planted and absent."""

import dataclasses
import random
import statistics
from typing import Any

import pytest
from scripted import EchoVoice, ScriptedJudge, artifact, forest, question

from discover_lib import Conversation, Reply, Rules, UserSimulator
from discover_lib.base.tokens import COUNTING
from discover_lib.core.conversation import Candidate
from discover_lib.dataset.lengths import _aucs, length_report, table_3
from discover_lib.dataset.rows import Origin, examples

TREE = forest("1 1.1 1.1.1 2 3", discovered="1")
WORTH = {"two": artifact("1.1", "1.1.1"), "one": question("1.1"), "nothing": question(), "nil": question()}


def said(text: str, assistant: str, tokens: int = 10) -> Reply:
    return Reply(text, tokens, "by hand", assistant)


def conversation(name: str, *turns: list[Reply]) -> Conversation:
    simulator = UserSimulator(TREE, ScriptedJudge(WORTH), EchoVoice(), setting={"artifact": name})
    for candidates in turns:
        simulator.step(candidates)
    return simulator.conversation


HAND_MADE = [
    conversation("a", [said("two", "x"), said("nothing", "y")], [said("nothing", "x"), said("nil", "y")]),
    conversation("b", [said("one", "x"), said("two", "y")]),
    conversation("c", [said("one", "x"), said("one", "y"), said("nothing", "x")]),
    conversation("d", [said("one", "x")], [said("nothing", "x"), said("cannot be read", "y")]),
]


def test_a_turn_in_which_an_assistant_failed_is_left_out_and_says_so() -> None:
    talk = conversation("e", [said("one", "x"), said("two", "y")])
    turn = talk.turns[0]
    failed = Candidate(Reply("", 0, COUNTING, "y"), None, turn.before, error="assistant: y did not reply")
    short = dataclasses.replace(turn, candidates=(turn.candidates[0], failed), chosen=0)
    table = table_3([dataclasses.replace(talk, turns=(short,))])
    assert table.turns == 0 and ("left out: assistant failed", "1") in table.rows()


def test_table_3_by_hand() -> None:
    table = table_3(HAND_MADE)
    assert (table.artifacts, table.turns) == (3, 4)
    assert table.wins == {"x": 1, "y": 1} and table.ties == 1 and table.shared == 1
    assert sum(table.wins.values()) + table.ties + table.shared == table.turns
    chosen, rejected = [2.0, 0.0, 2.0, 1.0], [0.0, 0.0, 1.0, 0.0]
    assert table.chosen.estimate.mean == statistics.mean(chosen)
    assert table.chosen.sd == pytest.approx(statistics.stdev(chosen))
    assert table.rejected.estimate.mean == statistics.mean(rejected)
    assert table.margin.estimate.mean == pytest.approx(statistics.mean(chosen) - statistics.mean(rejected))
    assert table.chosen.estimate.low <= table.chosen.estimate.mean <= table.chosen.estimate.high


def test_table_3_of_one_artifact_has_no_interval_and_that_of_none_no_means() -> None:
    spread = table_3(HAND_MADE[1:2]).chosen
    assert str(spread) == "2.00 ± 0.00" and spread.estimate.low is None
    assert dict(table_3([]).rows()) == {"artifacts": "0", "turns": "0", "ties (no pair)": "0"}


def test_table_3_under_other_rules() -> None:
    wordy = [conversation("a", [said("two", "x", 1250), said("one", "y")])]
    assert table_3(wordy).ties == 1 and table_3(wordy, Rules.paper().replace(lam=0)).wins == {"x": 1, "y": 0}
    assert table_3(wordy, Rules.paper().replace(tau=0, penalty_cap=2)).wins == {"x": 0, "y": 1}


def pairs(seed: int, bias: float, artifacts: int = 120, each: int = 4, shorter: bool = False) -> list[dict[str, Any]]:
    """Pairs of random lengths; in a share `bias` of them the longer (or shorter) reply is the chosen one."""
    rng = random.Random(seed)
    found = []
    for name in range(artifacts):
        typical = rng.randint(50, 400)  # artifacts differ in how long anything about them is
        for _ in range(each):
            lengths = [max(1, round(rng.gauss(typical, 60))) for _ in range(2)]
            if rng.random() < bias:
                lengths.sort(reverse=not shorter)
            tokens = {"chosen_tokens": lengths[0], "rejected_tokens": lengths[1]}
            found.append({"artifact": str(name), **tokens, "chosen_discovered": 1.0, "rejected_discovered": 0.0})
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_planted_length_confound_is_flagged_and_a_clean_set_is_not(seed: int) -> None:
    planted = length_report(pairs(seed, 0.7), resamples=300)
    assert planted.verdict == "predicts" and planted.auc > 0.7 and "the longer reply is preferred" in planted.sentence
    assert planted.chosen_longer > 2 * planted.chosen_shorter
    other_way = length_report(pairs(seed, 0.7, shorter=True), resamples=300)
    assert other_way.verdict == "predicts" and other_way.auc < 0.3
    assert "the shorter reply is preferred" in other_way.sentence
    clean = length_report(pairs(seed, 0.0), resamples=300)
    assert clean.verdict != "predicts" and clean.low < 0.6 and clean.high > 0.4


def test_few_artifacts_give_no_verdict() -> None:
    assert length_report(pairs(0, 1.0, artifacts=9)).verdict == "too_few"
    assert length_report(pairs(0, 1.0, artifacts=1)).low is None
    with pytest.raises(ValueError, match="no pairs"):
        length_report([])


def test_the_area_under_the_curve_is_that_of_its_definition() -> None:
    import numpy as np

    rng = random.Random(1)
    for _ in range(20):
        differences = [rng.randint(-5, 5) for _ in range(rng.randint(1, 30))]
        couples = [(one > -other) + (one == -other) / 2 for one in differences for other in differences]
        (area,) = _aucs([np.array(differences, dtype=float)], np.ones((1, 1), dtype=int))
        assert area == pytest.approx(statistics.mean(couples))


def test_labels_that_the_length_penalty_alone_made_are_counted() -> None:
    same_worth = conversation("a", [said("one", "x", 300), said("one", "y", 900)])
    rows = examples("preference", [same_worth, HAND_MADE[1]], Origin("r"))
    report = length_report(each.row for each in rows)
    assert (report.n_pairs, report.by_penalty, report.chosen_shorter) == (2, 1, 1)
