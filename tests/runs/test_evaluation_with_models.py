"""Evaluations by language models: the miniature behind the wire gives the miniature's scores, faults and all."""

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any

import llm_brain
import pytest
from llm_server import FakeServer

from discover_lib.engines.llm.calls.client import ClientSettings, Price
from discover_lib.runs.evaluation import lay_out_evaluation, load_scores
from discover_lib.runs.options import LaidOut, RunOptions, execute, lay_out
from discover_lib.runs.store import RunStore

pytestmark = pytest.mark.slow

DOMAIN = "creative_writing"
MODEL = f"openai/miniature:{DOMAIN}"
OPTIONS = RunOptions(("adaptive", "ask"), engine=MODEL, artifacts=2, trials=1, turns=2)
SCORING = ("satisfaction_judge", "interactivity_judge", "behaviour_annotation")


class Brain:
    """The miniature behind the wire; counts what it is asked.  `broken` names a prompt that it answers in prose."""

    def __init__(self, broken: str = "") -> None:
        self.broken = broken
        self.asked: Counter[str] = Counter()

    def __call__(self, messages: list[dict[str, Any]], body: dict[str, Any]) -> tuple[str, int]:
        task = llm_brain.TASKS.get(messages[0]["content"], "assistant")
        self.asked[task] += 1
        return ("I would rather not say.", 6) if task == self.broken else llm_brain.answer(messages, body)


def settings(server: FakeServer) -> ClientSettings:
    return ClientSettings(api_base=server.api_base, env_file=None)


def run(options: RunOptions = OPTIONS) -> LaidOut:
    return lay_out_evaluation(options, [DOMAIN])


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("truth")
    execute(run(dataclasses.replace(OPTIONS, judge="miniature", voice="miniature")), folder)
    return folder


def test_a_language_model_that_tells_the_truth_gives_the_miniatures_scores(truth: Path, tmp_path: Path) -> None:
    brain = Brain()
    with FakeServer(brain) as server:
        report = execute(run(), tmp_path, concurrency=4, settings=settings(server))
        assert report.halted is None and (report.last.done, report.unscored) == (4, 0)
        asked = dict(brain.asked)
        assert {task: asked[task] for task in SCORING} == dict.fromkeys(SCORING, 4)
        execute(run(), tmp_path, settings=settings(server))  # nothing is asked twice
        assert dict(brain.asked) == asked
    for ours, theirs in zip(load_scores(tmp_path), load_scores(truth), strict=True):
        assert (ours.moves, ours.leaves, ours.behaviours) == (theirs.moves, theirs.leaves, theirs.behaviours)
        assert ours.interactivity == 0.5  # 2 of 1 to 3
    with RunStore.read(tmp_path) as store:
        assert (store.assessment(0) or {})["scorer"] == MODEL
        assert {purpose for purpose, _ in store.calls.answers()[0]} == {
            "judge",
            "voice",
            "satisfaction",
            "interactivity",
            "behaviour",
        }


def test_the_scores_of_a_conversation_are_asked_for_at_once(tmp_path: Path) -> None:
    with FakeServer(Brain(), latency_seconds=0.3) as server:
        simulated = lay_out(dataclasses.replace(OPTIONS, domain=DOMAIN))
        assert execute(simulated, tmp_path, settings=settings(server)).last.done == 4 and server.counts["peak"] == 1
        assert execute(run(), tmp_path, settings=settings(server)).last.done == 4 and server.counts["peak"] == 3


def test_a_scorer_that_talks_nonsense_leaves_conversations_unscored_and_is_asked_again(tmp_path: Path) -> None:
    brain = Brain(broken="satisfaction_judge")
    with FakeServer(brain) as server:
        ended = execute(run(), tmp_path, concurrency=2, settings=settings(server))
        assert (ended.last.counts.finished, ended.unscored) == (4, 4)
        assert brain.asked["satisfaction_judge"] == 8  # each asked once more, with the defect named
        scores = load_scores(tmp_path)
        assert all(each.leaves is None and each.failed == ("satisfaction",) for each in scores)
        assert all(each.interactivity == 0.5 and each.behaviours for each in scores)
        with RunStore.read(tmp_path) as store:
            (failure,) = (store.assessment(0) or {})["failures"]
            assert "satisfaction could not be scored" in failure["message"]
            assert failure["came_back"] == ["I would rather not say."] * 2
        brain.broken, once = "", brain.asked["interactivity_judge"]
        again = execute(run(), tmp_path, settings=settings(server))
        assert (again.last.done, again.unscored) == (4, 0)
        assert all(each.leaves for each in load_scores(tmp_path))
        assert brain.asked["interactivity_judge"] == once  # what was had is not paid for twice


def test_every_try_of_the_same_command_stays_on_the_bill_and_differs_from_the_one_before(tmp_path: Path) -> None:
    prices = {MODEL: Price(1.0, 1.0)}
    one = dataclasses.replace(OPTIONS, assistants=("ask",), artifacts=1)
    with FakeServer(brain := Brain(broken="satisfaction_judge")) as server:
        how: dict[str, Any] = {"settings": dataclasses.replace(settings(server), prices=prices)}
        paid = []
        for _ in range(3):
            execute(run(one), tmp_path, **how)
            with RunStore.read(tmp_path) as store:
                paid.append(store.calls.spent())
                assert paid[-1].calls == server.counts["served"]
        assert paid[0].cost < paid[1].cost < paid[2].cost
        asked = [
            each for each in server.received if llm_brain.TASKS.get(each["messages"][0]["content"]) == brain.broken
        ]
        assert len({each.get("seed") for each in asked}) == 3
        ended = execute(run(one), tmp_path, budget_dollars=paid[2].cost, **how)
        assert ended.halted == "budget", "what was spent on answers of no use counts"
