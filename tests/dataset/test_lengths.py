"""Table 3 against figures by hand; lengths of the chosen replies."""

import dataclasses
import statistics

import pytest
from scripted import EchoVoice, ScriptedJudge, artifact, forest, question

from discover_lib import Conversation, Reply, Rules, UserSimulator
from discover_lib.base.tokens import COUNTING
from discover_lib.core.conversation import Candidate
from discover_lib.dataset.lengths import length_line, table_3
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


def test_the_share_of_longer_replies_and_the_labels_of_the_length_penalty_are_told() -> None:
    same_worth = conversation("a", [said("one", "x", 300), said("one", "y", 900)])
    rows = [each.row for each in examples("preference", [same_worth, HAND_MADE[1]], Origin("r"))]
    line = length_line([*rows, rows[1] | {"artifact": "c", "chosen_tokens": 20}])
    assert "longer reply is chosen in a share of 0.33 [0.00, 1.00] of the pairs, the shorter reply in 0.33" in line
    assert "(3 pairs of 3 artifacts). In 1 pair both" in line
