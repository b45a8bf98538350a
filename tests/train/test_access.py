"""GRPO with language models as judge and voice, over real HTTP: what they cost, and what happens when they fail."""

import json
import os
import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import llm_brain
import pytest
from llm_server import FakeServer
from training import make_base, make_data, short_recipe, teach

from discover_lib.engines.llm.calls.client import ClientSettings, Price
from discover_lib.runs.store import RunStore
from discover_lib.train import jobs
from discover_lib.train.access import CALLS, Access
from discover_lib.train.plan import plan_stage
from discover_lib.train.stage import StageResult, StageSettings, problems, run_stage

MODEL = "openai/miniature:svg_drawing"
PRICES = {MODEL: Price(1.0, 1.0)}  # a dollar for a million tokens

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paid")
    make_data(folder / "data", artifacts=16)
    teach(make_base(folder / "base"), folder / "data", steps=80)
    return folder


@pytest.fixture(scope="module")
def stage(place: Path) -> StageSettings:
    """Two updates in two rounds; the only checkpoint between is the one that a run makes when it is held up."""
    recipe = short_recipe(
        max_steps=2, rounds=2, max_completion=40, save_steps=50, sample_steps=0, workers=4, temperature=1.3
    )
    return StageSettings("grpo", str(place / "data" / "grpo"), str(place / "base"), "", recipe, "transformers", 0,
                         MODEL, MODEL)  # fmt: skip


def access(server: FakeServer, patience_minutes: float = 5.0, budget: float | None = None) -> Access:
    waits = {"first_wait_seconds": 0.01, "longest_wait_seconds": 0.05, "timeout_seconds": 20}
    return Access(
        ClientSettings(server.api_base, prices=PRICES, env_file=None, **waits),  # type: ignore[arg-type]
        budget,
        patience_minutes,
    )


def train(stage: StageSettings, folder: Path, reached: Access, lines: list[str] | None = None) -> StageResult:
    folder.mkdir(exist_ok=True)
    reached.write(folder)
    return run_stage(stage, folder, on_progress=[].append if lines is None else lines.append)


@dataclass(frozen=True)
class Undisturbed:
    """A run in which nothing failed, and how many questions the server answered for it."""

    folder: Path
    answered: int


@pytest.fixture(scope="module")
def undisturbed(place: Path, stage: StageSettings) -> Undisturbed:
    with FakeServer(llm_brain.answer) as server:
        assert not train(stage, place / "undisturbed", access(server)).stopped
    return Undisturbed(place / "undisturbed", server.counts["served"])


def weights(folder: Path) -> bytes:
    return (folder / "adapter" / "adapter_model.safetensors").read_bytes()


def logged(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_every_line_says_what_was_spent_and_the_parts_make_up_the_whole(undisturbed: Undisturbed) -> None:
    lines = [line for line in logged(undisturbed.folder) if "spent/total" in line]
    assert len(lines) == 3 + 2  # three probes, two updates
    assert sum(line["spent/calls"] for line in lines) == undisturbed.answered
    assert sum(line["spent/dollars"] for line in lines) == pytest.approx(lines[-1]["spent/total"])
    assert lines[-1]["spent/total"] > 0


@pytest.mark.parametrize("changes", [{"multi_turn": 2}])
def test_judging_while_others_are_being_written_changes_nothing(
    changes: dict[str, Any], undisturbed: Undisturbed, stage: StageSettings, tmp_path: Path
) -> None:
    """With one judgement at a time all wait for the last reply."""
    made, early = stage.recipe.changed("grpo", changes), undisturbed.folder
    with FakeServer(llm_brain.answer) as server:
        if changes:
            early = tmp_path / "early"
            train(replace(stage, recipe=made), early, access(server))
        late = replace(stage, recipe=made.changed("grpo", {"workers": 1}))
        train(late, tmp_path / "late", access(server))
    assert weights(tmp_path / "late") == weights(early)
    assert [line.get("reward") for line in logged(tmp_path / "late")] == [line.get("reward") for line in logged(early)]


def test_a_judge_that_fails_for_a_while_is_waited_for(
    undisturbed: Undisturbed, stage: StageSettings, tmp_path: Path
) -> None:
    lines: list[str] = []
    outage = [None] * (undisturbed.answered // 2) + ["503"] * 200
    with FakeServer(llm_brain.answer, script=deque(outage)) as server:
        assert not train(stage, tmp_path / "run", access(server), lines).stopped
    assert server.counts["503"] == 200 and server.counts["served"] == undisturbed.answered
    assert weights(tmp_path / "run") == weights(undisturbed.folder)
    assert [line for line in lines if "no answer" in line or "answer again" in line][1:] == ["the models answer again"]


@pytest.mark.parametrize("share", [0.6])
def test_when_patience_ends_it_stops_with_a_checkpoint_and_pays_for_nothing_twice(
    share: float, undisturbed: Undisturbed, stage: StageSettings, tmp_path: Path
) -> None:
    lines: list[str] = []
    outage = [None] * round(undisturbed.answered * share) + ["503"] * 100_000
    with FakeServer(llm_brain.answer, script=deque(outage)) as server:
        first = train(stage, tmp_path / "run", access(server, patience_minutes=0.005), lines)
        assert first.stopped and first.halt == "connection" and first.adapter is None
        assert lines[-1].startswith("no answer for 0.005 min (openai/miniature:svg_drawing: ")
        assert lines[-1].endswith(f"; stopped after step {first.step}, the same command goes on")
        server.script.clear()
        second = train(stage, tmp_path / "run", access(server), lines)
    assert not first.step or f"going on from step {first.step}" in lines
    assert not second.stopped and server.counts["served"] == undisturbed.answered
    assert weights(tmp_path / "run") == weights(undisturbed.folder)


def test_a_budget_stops_the_run_and_a_larger_one_lets_it_go_on(
    undisturbed: Undisturbed, stage: StageSettings, tmp_path: Path
) -> None:
    whole = logged(undisturbed.folder)[-1]["spent/total"]
    with FakeServer(llm_brain.answer) as server:
        poor = access(server, budget=whole * 0.6)
        assert problems(stage, tmp_path / "run", replace(poor, client=replace(poor.client, prices={}))) == [
            f"a budget cannot hold: the price of {MODEL} is not known; give it with --prices (0 for your own machine), "
            "or leave the budget out"
        ]
        first = train(stage, tmp_path / "run", poor)
        assert first.stopped and first.halt == "budget" and 0 < server.counts["served"] < undisturbed.answered
        second = train(stage, tmp_path / "run", access(server, budget=whole * 2))
    assert not second.stopped and server.counts["served"] == undisturbed.answered
    assert weights(tmp_path / "run") == weights(undisturbed.folder)


@pytest.mark.parametrize("share", [0.5])
def test_killed_it_goes_on_to_the_same_adapter_and_asks_again_at_most_what_was_in_flight(
    share: float, undisturbed: Undisturbed, stage: StageSettings, tmp_path: Path
) -> None:
    with FakeServer(llm_brain.answer) as server:
        job = jobs.start(stage, tmp_path / "run", access(server))
        until(lambda: server.counts["served"] > share * undisturbed.answered)
        os.kill(job.status().pid, signal.SIGKILL)
        until(lambda: not job.status().going)
        assert job.resume().wait(120).state == "finished", (job.folder / jobs.LOG).read_text()
    assert 0 <= server.counts["served"] - undisturbed.answered <= stage.recipe.grpo.workers
    assert weights(job.folder) == weights(undisturbed.folder)


def until(holds: Callable[[], Any], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.005)


def test_the_plan_of_a_stage_counts_what_can_be_asked(undisturbed: Undisturbed, stage: StageSettings) -> None:
    """Replies: 2 updates of 8, own prompts for them (2 an update), and 3 measurements of 3 users over 2 turns.

    Fewer are asked for: a tiny model says the same twice, and the same question is asked once.
    """
    plan = plan_stage(stage, Access(ClientSettings("http://localhost:1/v1", prices=PRICES, env_file=None)))
    judge, voice = plan.stages
    assert plan.turns.expected == 2 * 8 + 2 * 2 + 3 * 3 * 2 and judge.calls.expected == pytest.approx(38 * 1.02)
    assert voice.calls.expected == pytest.approx((2 * 2 / 2 + 3 * 3) * 1.02)
    with RunStore.read(undisturbed.folder / CALLS) as store:
        took = store.calls.lengths()
    early = "a rollout has 2 turns, at the least one: it ends where all is discovered"
    recipe = stage.recipe.changed("grpo", {"multi_turn": 2})
    assert early in plan_stage(replace(stage, recipe=recipe), Access()).assumptions
    assert early not in plan.assumptions
    assert 0 < took["judge"][0] < judge.calls.high
    assert judge.length.prompt.low < took["judge"][1] * 4 / 3 < judge.length.prompt.high  # the server counts words
