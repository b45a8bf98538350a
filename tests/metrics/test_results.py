"""A pool of conversations measured: by the measures that are listed, by eq. 4 as it is written, and summed up."""

import dataclasses
import json
from typing import Any

import pytest

from discover_lib.metrics.results import MEASURES, Pool, results_by_scope, table_of, values_of
from discover_lib.metrics.scores import ConversationScores, scores_of
from discover_lib.metrics.summary import Summary, summarise
from discover_lib.runs.options import RunOptions, lay_out
from discover_lib.runs.units import run_unit


def scores(assistant: str, artifact: str, **numbers: Any) -> ConversationScores:
    known: dict[str, Any] = {"moves": {}, "rewards": (1.0,), "tokens": (500, 250)}
    return ConversationScores(0, "svg_drawing", artifact, 0, assistant, "max_turns", **known | numbers)


def test_a_measure_is_what_its_conversation_says() -> None:
    pool = Pool([scores("a", "x", interactivity=0.25), scores("b", "x", interactivity=0.75)])
    said = {"interactivity": 0.25, "tokens": 0.75, "reward": 1.0}
    assert {name: pool.per_user(name)["a"]["x/0"] for name in said} == said
    assert {*said} <= {each.name for each in MEASURES if each.of}
    assert pool.users_of["tokens"] == 1 and pool.users_of["satisfaction"] == 0


def played(*assistants: str, **options: int) -> list[ConversationScores]:
    run = lay_out(RunOptions(assistants, domain="svg_drawing", **options))
    return [scores_of(talk, place) for place, talk in enumerate(map(run_unit, run.units))]


def test_a_column_that_an_evaluation_has_too_goes_by_its_name_and_holds_its_number() -> None:
    pool = Pool(played("adaptive", "draft", artifacts=3, turns=3))
    table = table_of(values_of(pool), pool.assistants)
    shared = {measure.label: measure for measure in MEASURES if measure.label in Summary.COLUMNS}
    assert [*shared] == ["share of hidden", "discovery", "kTok", "reward"]
    for summary in summarise(pool.scores):
        cells = dict(zip(Summary.COLUMNS, summary.row(), strict=True))
        for label, measure in shared.items():
            assert cells[label].split(" ")[0] == f"{table[summary.assistant][measure.name].mean:.2f}"
        estimate = table[summary.assistant]["discovery"]
        assert summary.discovery == estimate
        assert summary.to_dict()["score"] == pytest.approx(estimate.mean), "nobody is left out here"


@pytest.mark.slow
def test_on_whom_eq_4_is_measured_is_said() -> None:
    talks = played("adaptive", "draft", artifacts=20, turns=1)
    [line] = {summary.score_line for summary in summarise(talks)}
    [scope] = results_by_scope(talks).values()
    same = scope.same_for_all
    assert 0 < same < 20
    assert f"on {20 - same} of 20 users; {same} left out, on whom all assistants found the same" in line
    [alone] = summarise([each for each in talks if each.assistant == "draft"])
    assert alone.score_line == "eq. 4: not defined: one assistant alone; eq. 4 compares several"


def test_one_user_without_a_number_does_not_take_it_from_the_others() -> None:
    talks = played("draft", artifacts=3, turns=2)
    nothing_hidden = dataclasses.replace(talks[0], artifact="known", moves={}, rewards=(None, None))
    [known], [summary] = summarise(talks), summarise([*talks, nothing_hidden])
    assert (known.lacking_line, summary.share, summary.reward) == ("", known.share, known.reward)
    assert summary.lacking_line.startswith("draft: share of hidden over 3 of 4 conversations, reward over 3 of 4")
    [alone] = summarise([nothing_hidden])
    assert alone.row()[2:5] == ("not defined",) * 3
    assert "NaN" not in json.dumps([each.to_dict() for each in (known, summary, alone)])
