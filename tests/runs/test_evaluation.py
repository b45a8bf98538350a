"""Evaluations: a frozen one worked by hand, real ones in the miniature, and what happens when scoring fails."""

import csv
import dataclasses
import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from scripted import EchoVoice, ScriptedJudge, artifact, forest, question

from discover_lib import Conversation, Reply, Rules, initial_state
from discover_lib.core.conversation import FinalTurn
from discover_lib.core.rollout import run_conversation
from discover_lib.metrics.results import Pool, results_of, tidy_rows
from discover_lib.metrics.satisfaction import FINAL_REQUEST, LeafScore
from discover_lib.metrics.scorer import InteractivityRating, ScoreError, TurnBehaviour
from discover_lib.metrics.scores import Assessment, ScoringFailure, scores_of
from discover_lib.runs.evaluation import (
    RESULTS_FILE,
    SCORES_FILE,
    SENSITIVITY_FILE,
    lay_out_evaluation,
    load_scores,
    write_evaluation,
    write_sensitivity,
)
from discover_lib.runs.options import RunOptions, RunOptionsError, execute, lay_out
from discover_lib.runs.store import FILE, RunStore, StoreError, UnitRow, turn_row
from discover_lib.runs.units import assessed

pytestmark = pytest.mark.slow

# -- a frozen evaluation: 3 assistants × 10 artifacts × 3 trials ------------------------------------------------------
#
# Every user wants 1, 1.1, 1.1.1 and 2 and starts with 1: three hidden intents (1.1, 1.1.1, 2), two leaves (1.1.1, 2).
# What each assistant's two turns meet, and how its final piece is scored, stands in the tables below.

TREE = forest("1 1.1 1.1.1 2", "1")
WHAT_IS_MET = {
    # on artifacts 0 to 4
    ("deep", "early"): (artifact("1", "1.1", "1.1.1"), artifact("1", n2=0)),
    ("wide", "early"): (artifact("1", "1.1", n1_1_1=0), artifact("1", n1_1_1=2)),  # two near misses: emerging
    ("none", "early"): (question(n1=0, n1_1=0), question(n1=0, n1_1=0)),
    # on artifacts 5 to 8
    ("deep", "late"): (artifact("1", "1.1", n1_1_1=0), artifact(n1_1_1=0)),
    ("wide", "late"): (artifact("1", "1.1", "1.1.1"), artifact("2")),
    ("none", "late"): (question(n1=0, n1_1=0), artifact("1", "1.1", n1_1_1=0)),
    # on artifact 9 all do the same
    ("deep", "same"): (artifact("1", "1.1", n1_1_1=0), artifact(n1_1_1=0)),
    ("wide", "same"): (artifact("1", "1.1", n1_1_1=0), artifact(n1_1_1=0)),
    ("none", "same"): (artifact("1", "1.1", n1_1_1=0), artifact(n1_1_1=0)),
}
TOKENS = {"deep": (300, 300), "wide": (100, 500), "none": (50, 50)}
LEAVES = {"deep": (5, 1), "wide": (4, 3), "none": (3, 1)}  # of 1.1.1 and 2; leaf 2 is satisfied by nobody ...
LEAVES_OF_LAST_TRIAL = {"deep": (5, 1), "wide": (4, 5), "none": (3, 1)}  # ... but by "wide" in the last trial
RATINGS = {"deep": 3, "wide": 2, "none": 1}
TURNS = {"deep": "CC", "wide": "DC", "none": "DD"}
NAMES = {"C": "convergent", "D": "divergent"}

# Eq. 4 by hand, levels of (1.1, 1.1.1, 2):
#   early: deep (1, 1, 0), wide (1, ½, 0), none (0, 0, 0): span 1 + 1 = 2, so deep 1, wide ¾, none 0
#   late:  deep (1, 0, 0), wide (1, 1, 1), none (1, 0, 0): all have 1.1, span 2, so deep 0, wide 1, none 0
#   same:  nobody differs, left out
DISCOVERY = {"deep": Fraction(5, 9), "wide": (5 * Fraction(3, 4) + 4) / 9, "none": Fraction(0)}
PROPORTION = {
    "deep": (5 * Fraction(2, 3) + 4 * Fraction(1, 3) + Fraction(1, 3)) / 10,
    "wide": (5 * Fraction(1, 2) + 4 * Fraction(1) + Fraction(1, 3)) / 10,
    "none": (5 * Fraction(0) + 4 * Fraction(1, 3) + Fraction(1, 3)) / 10,
}
# Trials 0 and 1: leaf 2 counts for nobody, leaf 1.1.1 decides (5, 4 and 3).  Trial 2: both leaves count.
SATISFACTION = {"deep": Fraction(2 * 1, 3) + Fraction(1, 6), "wide": Fraction(1), "none": Fraction(0)}
INTERACTIVITY = {"deep": 1, "wide": Fraction(1, 2), "none": 0}
KTOK = {"deep": Fraction(6, 10), "wide": Fraction(6, 10), "none": Fraction(1, 10)}
# R_d less (tokens − 250)/1000: deep pays 0.05 a turn, wide 0.25 in its second.
REWARD = {
    "deep": (5 * Fraction(2) + 4 * Fraction(1) + 1) / 20 - Fraction(5, 100),
    "wide": (5 * Fraction(1) + 4 * Fraction(3) + 1) / 20 - Fraction(25, 200),
    "none": (5 * Fraction(0) + 4 * Fraction(1) + 1) / 20,
}
EXPECTED = {
    "discovery": DISCOVERY, "proportion": PROPORTION, "satisfaction": SATISFACTION, "interactivity": INTERACTIVITY,
    "tokens": KTOK, "reward": REWARD,
}  # fmt: skip


class Speaker:
    def __init__(self, name: str, tokens: tuple[int, ...]) -> None:
        self.name, self.tokens = name, tokens

    def reply(self, messages, seed):
        turn = sum(message.role == "assistant" for message in messages)
        return Reply(f"turn {turn + 1}", self.tokens[turn], "scripted", self.name)


def frozen_conversation(name: str, number: int, trial: int) -> Conversation:
    part = "early" if number < 5 else "late" if number < 9 else "same"
    judge = ScriptedJudge({f"turn {turn}": each for turn, each in enumerate(WHAT_IS_MET[name, part], 1)})
    setting = {"domain": "", "artifact": f"art-{number}", "assistants": [name], "trial": trial}
    # Of 200 seeds the first that leaves θ of 1.1.1 between ¼ and ½, so that two near misses move it once.
    seed = next(each for each in range(200) if 0.25 < initial_state(TREE, seed=each).thresholds["1.1.1"] < 0.5)
    return run_conversation(
        TREE, judge, EchoVoice(), [Speaker(name, TOKENS[name])], seed=seed, turns=2, setting=setting
    )


def frozen_assessment(name: str, trial: int) -> Assessment:
    scores = (LEAVES_OF_LAST_TRIAL if trial == 2 else LEAVES)[name]
    return Assessment(
        "by hand",
        FinalTurn(FINAL_REQUEST, Reply("the piece", 70, "scripted", name)),
        tuple(LeafScore(leaf, score, "so") for leaf, score in zip(TREE.leaves(), scores, strict=True)),
        InteractivityRating(RATINGS[name], "so"),
        tuple(TurnBehaviour(turn, NAMES[letter], "so") for turn, letter in enumerate(TURNS[name], 1)),
    )


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frozen")
    configuration = {"kind": "evaluate", "rules": Rules.paper().to_dict(), "trials": 3}
    with RunStore.write(folder, configuration) as store:
        everyone = [(number, trial, name) for number in range(10) for trial in range(3) for name in LEAVES]
        units, talks = [], []
        for place, (number, trial, name) in enumerate(everyone):
            talk = frozen_conversation(name, number, trial)
            units.append(UnitRow(place, f"art-{number}", "", TREE, (name,), trial, talk.seed, talk.setting))
            talks.append(talk)
        store.add_units(units)
        for unit, talk in zip(units, talks, strict=True):
            store.put_turns(unit.place, list(map(turn_row, talk.turns)), talk.stop)
            found = frozen_assessment(unit.assistants[0], unit.trial)
            store.put_assessment(unit.place, found.to_dict(), scores_of(talk, unit.place, found).to_dict())
    write_evaluation(folder)
    return folder


@pytest.mark.parametrize("measure", EXPECTED)
def test_the_frozen_scores_are_those_worked_by_hand(frozen: Path, measure: str) -> None:
    scope = json.loads((frozen / RESULTS_FILE).read_text())["scopes"][0]
    found = {name: row[measure]["mean"] for name, row in scope["table"].items()}
    assert found == pytest.approx({name: float(value) for name, value in EXPECTED[measure].items()}, abs=1e-9)


def test_the_frozen_counts_are_those_worked_by_hand(frozen: Path) -> None:
    results = json.loads((frozen / RESULTS_FILE).read_text())
    (scope,) = results["scopes"]
    assert results["conversations"] == {"planned": 90, "finished": 90, "failed": 0}
    assert (scope["artifacts"], scope["users"], scope["same_for_all"]) == (10, 30, 3)  # artifact 9, three trials
    assert (scope["leaves"], scope["leaves_counted"]) == (60, 20 + 20)  # one leaf of two in two trials, both in one
    assert scope["users_of"]["discovery"] == 27 and scope["users_of"]["satisfaction"] == 30
    assert all(each["n_artifacts"] == 9 for row in scope["table"].values() for each in [row["discovery"]])
    assert all(each["n_trials"] == 30 for row in scope["table"].values() for each in [row["reward"]])
    # "wide" finds everything on artifacts 5 to 8 within two turns
    assert scope["stops"] == {
        "deep": {"max_turns": 30}, "wide": {"max_turns": 18, "all_discovered": 12}, "none": {"max_turns": 30},
    }  # fmt: skip
    manner = scope["manners"]["wide"]
    assert manner["patterns"] == {"DC": 30} and manner["divergent"]["mean"] == 0.5 and manner["families"] == {}


def test_the_frozen_pools_are_those_worked_by_hand(frozen: Path) -> None:
    scope = json.loads((frozen / RESULTS_FILE).read_text())["scopes"][0]
    pools = {each["without"]: each for each in scope["pools"]}
    # Without wide: early as before (deep has both); late and same: nobody differs, 5 artifacts × 3 users left out.
    assert pools["wide"]["means"] == {"deep": 1.0, "none": 0.0} and pools["wide"]["left_out"] == 15
    # Without deep: early wide is best (1.5 of 1.5); late as before.
    assert pools["deep"]["means"] == {"wide": 1.0, "none": 0.0} and pools["deep"]["left_out"] == 3
    # Without none: early differs in 1.1.1 alone (deep 1, wide 0); late deep 0, wide 1.
    assert pools["none"]["means"] == pytest.approx({"deep": 5 / 9, "wide": 4 / 9}, abs=1e-9)


def test_the_frozen_curves_are_those_worked_by_hand(frozen: Path) -> None:
    scope = json.loads((frozen / RESULTS_FILE).read_text())["scopes"][0]
    curves = {name: [each["mean"] for each in curve] for name, curve in scope["curves"].items()}
    assert curves["deep"] == pytest.approx([float(PROPORTION["deep"])] * 2, abs=1e-9)  # all in the first turn
    # after one turn: ⅓ (1.1) early, ⅔ late, ⅓ same; then ½, 1 and ⅓
    assert curves["wide"] == pytest.approx([(5 / 3 + 8 / 3 + 1 / 3) / 10, float(PROPORTION["wide"])], abs=1e-9)
    assert curves["none"] == pytest.approx([1 / 30, float(PROPORTION["none"])], abs=1e-9)


def test_the_other_way_of_leaving_leaves_out(frozen: Path) -> None:
    scope = results_of(Pool(load_scores(frozen), leave_out="all"))
    # No leaf is satisfied by all three, so all count: deep 1 of 2, wide 1 of 2 and 2 of 2, none 0.
    assert scope.leaves_counted == 60
    means = {name: row["satisfaction"].mean for name, row in scope.table.items()}
    assert means == pytest.approx({"deep": 1 / 2, "wide": (1 / 2 + 1 / 2 + 1) / 3, "none": 0})


def test_a_digest_of_another_version_is_made_again(frozen: Path, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes((frozen / FILE).read_bytes())
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE assessments SET digest = '{\"version\": 0}' WHERE place % 2")
    assert load_scores(tmp_path) == load_scores(frozen)


def test_the_frozen_run_scores_again_as_recorded(frozen: Path) -> None:
    found = write_sensitivity(frozen)
    assert found.recheck.startswith("90 of 90")
    assert len(json.loads((frozen / SENSITIVITY_FILE).read_text())["outcomes"]) == len(found.outcomes)


def test_what_is_unscored_is_left_out_for_everyone_and_never_zero(frozen: Path) -> None:
    scores = load_scores(frozen)
    hurt = [dataclasses.replace(scores[0], leaves=None, failed=("satisfaction",)), *scores[1:]]
    scope = results_of(Pool(hurt))
    assert scope.users_of["satisfaction"] == 29 and scope.users_of["discovery"] == 27
    assert scope.unscored[scores[0].assistant] == {"satisfaction": 1}
    assert tidy_rows(Pool(hurt))[0]["satisfaction"] is None
    with (frozen / SCORES_FILE).open(newline="") as file:
        rows = {(row["artifact"], row["trial"], row["assistant"]): row for row in csv.DictReader(file)}
    one = rows["art-0", "2", "wide"]
    assert (one["discovery"], one["proportion"], one["tokens"], one["behaviour"]) == ("0.75", "0.5", "600", "DC")
    assert rows["art-9", "0", "wide"]["discovery"] == "", "not defined, not 0"
    nobody = results_of(Pool(dataclasses.replace(each, interactivity=None) for each in scores))
    assert all("interactivity" not in row for row in nobody.table.values())
    assert "interactivity" not in nobody.comparisons and nobody.users_of["interactivity"] == 0


OPTIONS = RunOptions(("draft", "ask", "adaptive"), artifacts=3, trials=2, turns=3)


def results(folder: Path) -> bytes:
    write_evaluation(folder)
    return (folder / RESULTS_FILE).read_bytes() + (folder / SCORES_FILE).read_bytes()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    report = execute(lay_out_evaluation(OPTIONS, ["creative_writing", "technical_writing"]), folder)
    assert report.halted is None and (report.last.done, report.unscored) == (36, 0)
    return folder


def test_every_assistant_meets_the_same_users(undisturbed: Path) -> None:
    with RunStore.read(undisturbed) as store:
        met: dict[str, list] = {}
        for row in store.listing():
            talk = store.conversation(row.place)
            seen = (row.artifact, row.trial, talk.seed, talk.start, talk.messages()[0])
            met.setdefault(row.assistants[0], []).append(seen)
    assert met["draft"] == met["ask"] == met["adaptive"]


def test_processes_change_nothing(undisturbed: Path, tmp_path: Path) -> None:
    execute(lay_out_evaluation(OPTIONS, ["creative_writing", "technical_writing"]), tmp_path, concurrency=2)
    assert results(tmp_path) == results(undisturbed)


def test_a_simulation_becomes_evaluation_of_itself(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    options = dataclasses.replace(OPTIONS, domain="creative_writing")
    execute(lay_out(options), tmp_path)
    before = conversations(tmp_path)
    run = lay_out_evaluation(OPTIONS, ["creative_writing"])
    with pytest.raises(StoreError, match="turns is 3 in the run and 4 now"):
        execute(lay_out_evaluation(dataclasses.replace(OPTIONS, turns=4), ["creative_writing"]), tmp_path)
    report = execute(run, tmp_path)
    assert (report.last.done, report.unscored, report.last.turns_now) == (len(run.units), 0, 0)
    assert conversations(tmp_path) == before
    alone = tmp_path_factory.mktemp("alone")
    execute(run, alone)
    assert results(tmp_path) == results(alone)


def conversations(folder: Path) -> list:
    with RunStore.read(folder) as store:
        return [dataclasses.replace(each, final=None) for each in store.conversations()]


@pytest.mark.parametrize(
    ("options", "domains", "named"),
    [
        (OPTIONS, ["svg_drawing", "svg_drawing"], "named twice"),
        (dataclasses.replace(OPTIONS, candidates=2), ["svg_drawing"], "one reply a turn"),
        (OPTIONS, [], "either --domain or --trees"),
    ],
)
def test_what_cannot_be_evaluated_is_said_before_work_starts(options: RunOptions, domains: list, named: str) -> None:
    with pytest.raises(RunOptionsError, match=named):
        lay_out_evaluation(options, domains)


def test_a_run_in_which_nothing_is_finished_has_no_results(tmp_path: Path) -> None:
    RunStore.write(tmp_path, {"rules": Rules.paper().to_dict()}).close()
    for read in (write_evaluation, write_sensitivity):
        with pytest.raises(StoreError, match="no conversation of this run is finished"):
            read(tmp_path)


class Clumsy:
    name = "clumsy"

    def interactivity(self, conversation):
        return InteractivityRating(2)

    def behaviour(self, conversation):
        raise ScoreError("no behaviour")


def test_a_part_that_fails_is_unscored_and_the_others_stand() -> None:
    found = assessed(frozen_conversation("deep", 0, 0), Clumsy(), ScoringFailure("final", "no reply"))  # type: ignore[arg-type]
    assert (found.final, found.satisfaction, found.behaviour) == (None, None, None)
    assert found.interactivity == InteractivityRating(2)
    assert [each.part for each in found.failures] == ["final", "behaviour"]
