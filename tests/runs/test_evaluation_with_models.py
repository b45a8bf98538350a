"""Evaluations by language models: the miniature behind the wire gives the miniature's scores, faults and all."""

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import llm_brain
import pytest
from llm_server import FakeServer

from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.engines.llm.scoring import each_once
from discover_lib.runs.evaluation import assess, evaluate, lay_out_evaluation, load_scores
from discover_lib.runs.options import LaidOut, RunOptions
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
    """The same evaluation by the miniature itself."""
    import dataclasses

    folder = tmp_path_factory.mktemp("truth")
    evaluate(run(dataclasses.replace(OPTIONS, engine="miniature")), folder)
    return folder


def test_a_language_model_that_tells_the_truth_gives_the_miniatures_scores(truth: Path, tmp_path: Path) -> None:
    brain = Brain()
    with FakeServer(brain) as server:
        report, ended = evaluate(run(), tmp_path, concurrency=4, settings=settings(server))
        assert report.halted is None and (ended.done, ended.failed) == (4, 0)
        asked = dict(brain.asked)
        assert {task: asked[task] for task in SCORING} == dict.fromkeys(SCORING, 4)
        assert assess(run(), tmp_path, settings=settings(server)).done == 0  # nothing is asked twice
        assert dict(brain.asked) == asked
    for ours, theirs in zip(load_scores(tmp_path), load_scores(truth), strict=True):
        assert (ours.moves, ours.leaves, ours.behaviours) == (theirs.moves, theirs.leaves, theirs.behaviours)
        assert ours.interactivity == 0.5  # 2 of 1 to 3
    with RunStore.read(tmp_path) as store:
        assert (store.assessment(0) or {})["scorer"] == MODEL
        assert {call.purpose for call in store.calls()} == {
            *("judge", "voice", "satisfaction", "interactivity", "behaviour"),
        }


def test_a_scorer_that_talks_nonsense_leaves_conversations_unscored_and_is_asked_again(tmp_path: Path) -> None:
    brain = Brain(broken="satisfaction_judge")
    with FakeServer(brain) as server:
        _, ended = evaluate(run(), tmp_path, concurrency=2, settings=settings(server))
        assert (ended.done, ended.failed) == (4, 4)
        assert brain.asked["satisfaction_judge"] == 8  # each asked once more, with the defect named
        scores = load_scores(tmp_path)
        assert all(each.leaves is None and each.failed == ("satisfaction",) for each in scores)
        assert all(each.interactivity == 0.5 and each.behaviours for each in scores)
        with RunStore.read(tmp_path) as store:
            (failure,) = (store.assessment(0) or {})["failures"]
            assert "satisfaction could not be scored" in failure["message"]
            assert failure["came_back"] == ["I would rather not say."] * 2
        brain.broken, once = "", brain.asked["interactivity_judge"]
        again = assess(run(), tmp_path, settings=settings(server))
        assert (again.done, again.failed) == (4, 0)
        assert all(each.leaves for each in load_scores(tmp_path))
        assert brain.asked["interactivity_judge"] == once  # what was had is not paid for twice


def test_it_stops_when_told_and_goes_on(tmp_path: Path) -> None:
    brain, stop = Brain(), threading.Event()
    with FakeServer(brain) as server:
        how = {"settings": settings(server), "concurrency": 1}
        _, ended = evaluate(run(), tmp_path, stop=stop, on_assessed=lambda done, total: stop.set(), **how)
        assert ended.halted == "stopped" and 1 <= ended.done < 4
        assert assess(run(), tmp_path, **how).done == 4 - ended.done
    assert brain.asked["interactivity_judge"] <= 5  # the one in flight may have been given up


@pytest.mark.parametrize(
    ("given", "defect"),
    [
        (["1", "2"], None),
        (["2", "1"], None),
        (["1", "3", "2"], None),  # one too many is left out
        (["1", "3"], "there is no id '3'; give 1, 2; there is no entry for id 2"),
        (["1", "1", "2"], "id '1' has more than one entry"),
        (["2"], "there is no entry for id 1"),
    ],
)
def test_every_id_once(given: list[str], defect: str | None) -> None:
    assert each_once(given, ["1", "2"], "id") == defect
