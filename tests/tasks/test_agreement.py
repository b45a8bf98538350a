"""Agreement: measures against examples worked by hand and published ones, and the desk around them."""

import csv
import io
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib.core.conversation import Conversation, Reply
from discover_lib.core.roles import JudgeError
from discover_lib.engines.miniature import engine
from discover_lib.metrics.agreement import (
    KIND,
    NEAR_MISSES,
    Interval,
    Label,
    NoisyJudge,
    agreements,
    cohen_kappa,
    disagreements,
    flips,
    moments_of,
    percent_agreement,
    recorded_labels,
)
from discover_lib.runs.options import RunOptions, lay_out
from discover_lib.runs.units import run_unit
from discover_lib.tasks.agree import LabelError, ask_judges, parse_labels, write_label_sheet


def table(yes_yes: int, yes_no: int, no_yes: int, no_no: int) -> list[tuple[str, str]]:
    cells = {("y", "y"): yes_yes, ("y", "n"): yes_no, ("n", "y"): no_yes, ("n", "n"): no_no}
    return [pair for pair, count in cells.items() for _ in range(count)]


@pytest.mark.parametrize(
    ("pairs", "kappa"),
    [
        # p_o = 35/50, p_e = 1/2·3/5 + 1/2·2/5 = 1/2: (0.7 − 0.5) / 0.5
        pytest.param(table(20, 5, 10, 15), 0.4, id="fifty grant proposals"),
        pytest.param(table(45, 15, 25, 15), 0.1304, id="the same agreement of 60 %, other margins"),
        pytest.param(table(25, 35, 5, 35), 0.2593, id="and others again"),
        pytest.param(table(3, 0, 0, 2), 1.0, id="perfect"),
        pytest.param(table(0, 1, 1, 0), -1.0, id="opposite"),
        pytest.param(table(1, 1, 1, 1), 0.0, id="as by chance"),
        pytest.param(table(4, 0, 0, 0), None, id="one value only: not defined"),
        pytest.param([], None, id="nothing to compare"),
    ],
)
def test_kappa_by_hand(pairs: list[tuple[str, str]], kappa: float | None) -> None:
    assert cohen_kappa(pairs) == (None if kappa is None else pytest.approx(kappa, abs=5e-5))


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=2, max_size=40))
def test_measures_are_symmetric_and_at_most_one(pairs: list[tuple[str, str]]) -> None:
    mirrored = [(other, one) for one, other in pairs]
    for measure in (percent_agreement, cohen_kappa):
        found = measure(pairs)
        assert (found is None) == (measure(mirrored) is None)
        if found is not None:
            assert found == pytest.approx(measure(mirrored)) and found <= 1
            assert (found == 1) == all(one == other for one, other in pairs)


@cache
def talks() -> dict[str, Conversation]:
    units = lay_out(RunOptions(("draft", "adaptive"), domain="technical_writing", artifacts=4)).units
    return {f"no. {unit.place}": run_unit(unit) for unit in units}


JUDGE = engine("technical_writing").judge


class FailsOnTurnOne:
    def evaluate(self, tree, state, messages, reply, rules):
        if len(messages) == 1:
            raise JudgeError("no answer")
        return JUDGE.evaluate(tree, state, messages, reply, rules)


@pytest.mark.slow
def test_a_judge_agrees_with_its_own_record() -> None:
    labels = [*recorded_labels(talks()), *ask_judges(moments_of(talks()), {"again": lambda _: JUDGE})]
    assert disagreements(labels) == []
    found = {each.group: each for each in agreements(labels)}
    assert found["all intents"].n == sum(each.intent != KIND for each in labels) / 2 > 50
    assert found["all intents"].one_sided == 0
    for each in found.values():
        assert each.kappa.value in (1.0, None) and each.percent.value == 1.0


@pytest.mark.slow
def test_a_set_error_rate_is_recovered_inside_most_intervals() -> None:
    inside = 0
    for seed in range(6):
        noisy = {"one": lambda _: JUDGE, "noisy": lambda _, seed=seed: NoisyJudge(JUDGE, 0.1, seed=seed)}
        found = {each.group: each for each in agreements(ask_judges(moments_of(talks()), noisy))}
        percent = found["all intents"].percent
        assert percent is not None and percent.low is not None and percent.high is not None and percent.value != 1
        inside += percent.low <= 0.9 <= percent.high
        assert found["kind of reply"].percent is not None and found["kind of reply"].percent.value == 1
    assert inside >= 4  # of 6 intervals of 95%, over few conversations


@pytest.mark.slow
def test_a_failed_judgement_is_missing_and_never_a_no() -> None:
    labels = list(ask_judges(moments_of(talks()), {"one": lambda _: JUDGE, "fails": lambda _: FailsOnTurnOne()}))
    failed = [each for each in labels if each.judge == "fails" and each.turn == 1]
    assert [(each.intent, each.value) for each in failed] == [(KIND, None)] * len(talks())
    assert disagreements(labels) == []
    kinds = next(each for each in agreements(labels) if each.group == "kind of reply")
    assert (kinds.n, kinds.one_sided) == (len(moments_of(talks())) - len(talks()), len(talks()))


@pytest.mark.slow
def test_flips_count_answers_that_changed_on_repeat() -> None:
    judges = {"steady": lambda _: JUDGE, "restless": lambda repeat: NoisyJudge(JUDGE, 0.3, seed=repeat)}
    found = {each.judge: each for each in flips(ask_judges(moments_of(talks()), judges, repeats=2))}
    assert found["steady"].share.hits == 0 and found["steady"].repeats == 2
    # Two draws of rate 0.3 differ in 2 · 0.3 · 0.7 = 42 % of the intents; kinds never flip, so the share is below it.
    assert 0.15 < (found["restless"].share.value or 0) < 0.5


def test_near_misses_are_compared_where_both_judges_call_an_intent_missed() -> None:
    def said(judge: str, intent: str, value: str, near: int | None) -> Label:
        return Label(judge, "a", 1, intent, value, near_misses=near)

    ours = [said("x", "1", "no", 2), said("x", "2", "no", 0), said("x", "3", "no", 1), said("x", "4", "yes", 0)]
    theirs = [said("y", "1", "no", 1), said("y", "2", "no", 1), said("y", "3", "yes", 0), said("y", "4", "yes", 0)]
    near = next(each for each in agreements([*ours, *theirs]) if each.group == NEAR_MISSES)
    # Of 1 both name some, of 2 one does; 3 only x calls missed, and 4 nobody.
    assert (near.n, near.one_sided, near.percent) == (2, 1, Interval(0.5, None, None))
    assert near.too_few
    person = [said("p", "1", "no", None)]
    assert not any(each.group == NEAR_MISSES for each in agreements([*ours, *person])), "people name none"


def test_a_sheet_is_text_to_every_spreadsheet_and_read_back_all_the_same(tmp_path: Path) -> None:
    moment = moments_of(talks())[0]
    moment = replace(moment, conversation="=1+1", reply=Reply('=HYPERLINK("http://evil.example")\u202e', 1, "test"))
    sheet = io.StringIO()
    write_label_sheet([moment], sheet, "@ada")
    rows = list(csv.DictReader(io.StringIO(sheet.getvalue())))
    assert {row["reply"] for row in rows} == {'\'=HYPERLINK("http://evil.example")<U+202E>'}
    assert all(row["judge"] == "'@ada" and row["conversation"] == "'=1+1" for row in rows)
    for name in ("'=1+1", "=1+1"):  # as it is written, and as it was before
        labels = parse_labels(f"judge,conversation,turn,intent,label\nada,{name},1,1,no\n", "sheet", [moment])
        assert [(each.conversation, each.intent) for each in labels] == [("=1+1", "1")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("judge,turn\n", "no column conversation, intent, label"),
        ("judge,conversation,turn,intent,label\na,nowhere,1,1,yes\n", "line 2: there is no turn '1' of a conversation"),
        ("judge,conversation,turn,intent,label\na,no. 0,x,1,yes\n", "line 2: there is no turn 'x'"),
        ("judge,conversation,turn,intent,label\na,no. 0,1,77,yes\n", "line 2: there is no intent '77'"),
        ("judge,conversation,turn,intent,label\na,no. 0,1,1,maybe\n", "write yes or no"),
        ("judge,conversation,turn,intent,label\na,no. 0,1,,yes\n", "write artifact or dialogue_act"),
    ],
)
def test_a_sheet_that_cannot_be_used_names_the_line(text: str, told: str) -> None:
    with pytest.raises(LabelError, match=told):
        parse_labels(text, "sheet", moments_of(talks()))
