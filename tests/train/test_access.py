"""GRPO with language models as judge and voice, over real HTTP: what they cost, and what happens when they fail."""

import os
import signal
from collections import deque
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import llm_brain
import pytest
from llm_server import FakeServer
from training import lines, short_recipe
from waiting import until

from discover_lib.engines.llm.calls.client import ClientSettings, Price
from discover_lib.engines.llm.calls.exchange import Request
from discover_lib.runs.store import RunStore
from discover_lib.train.access import CALLS, Access, HeldUpError, PatientClient, patient_client
from discover_lib.train.estimate import plan_stage
from discover_lib.train.run_stage import StageResult, StageSettings, problems, run_stage

MODEL = "openai/miniature:svg_drawing"
PRICES = {MODEL: Price(1.0, 1.0)}  # a dollar for a million tokens

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stage(tiny: Path) -> StageSettings:
    """Two updates in two rounds; the only checkpoint between is the one that a run makes when it is held up."""
    recipe = short_recipe(max_completion=40, save_steps=50, sample_steps=0, workers=4, temperature=1.3, probe_users=2)
    return StageSettings("grpo", str(tiny / "data" / "grpo"), str(tiny / "base"), "", recipe, "transformers", 0,
                         MODEL, MODEL)  # fmt: skip


def access(server: FakeServer, patience_minutes: float = 5.0, budget: float | None = None) -> Access:
    waits = {"first_wait_seconds": 0.01, "longest_wait_seconds": 0.05, "timeout_seconds": 20}
    return Access(
        ClientSettings(server.api_base, prices=PRICES, env_file=None, **waits),  # type: ignore[arg-type]
        budget,
        patience_minutes,
    )


def train(stage: StageSettings, folder: Path, reached: Access, told: list[str] | None = None) -> StageResult:
    folder.mkdir(exist_ok=True)
    reached.write(folder)
    return run_stage(stage, folder, on_progress=[].append if told is None else told.append)


@dataclass(frozen=True)
class Undisturbed:
    folder: Path
    answered: int


@pytest.fixture(scope="module")
def undisturbed(stage: StageSettings, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("paid") / "undisturbed"
    with FakeServer(llm_brain.answer) as server:
        assert not train(stage, folder, access(server)).stopped
    return Undisturbed(folder, server.counts["served"])


def weights(folder: Path) -> bytes:
    return (folder / "adapter" / "adapter_model.safetensors").read_bytes()


def test_every_line_says_what_was_spent(undisturbed: Undisturbed) -> None:
    spent = [line["spent/total"] for line in lines(undisturbed.folder) if "spent/total" in line]
    assert len(spent) == 3 + 2 and spent[0] > 0  # three probes, two updates
    assert spent == pytest.approx(sorted(spent))
    assert lines(undisturbed.folder)[-1]["spent/calls"] == undisturbed.answered


def test_killed_and_then_out_of_patience_it_ends_with_the_same_adapter_and_pays_for_nothing_twice(
    undisturbed: Undisturbed, stage: StageSettings, tmp_path: Path
) -> None:
    """One judgement at a time, which waits for the last reply, decides nothing either; it is lost to the kill alone."""
    one = replace(stage, recipe=stage.recipe.changed("grpo", {"workers": 1}))
    told: list[str] = []
    with FakeServer(llm_brain.answer) as server:
        process = get_context("fork").Process(target=train, args=(one, tmp_path / "run", access(server)))
        process.start()
        until(lambda: server.counts["served"] > undisturbed.answered / 2)
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        left = round(undisturbed.answered * 0.85) - server.counts["served"]
        server.script.extend([None] * left + ["503"] * 100_000)
        first = train(one, tmp_path / "run", access(server, patience_minutes=0.005), told)
        assert first.stopped and first.halt == "connection" and first.adapter is None
        assert told[-1].startswith("no answer for 0.005 min (openai/miniature:svg_drawing: ")
        assert told[-1].endswith(f"; stopped after step {first.step}; repeat the command to resume")
        server.script.clear()
        second = train(one, tmp_path / "run", access(server), told)
    assert first.step and f"resuming from step {first.step}" in told
    assert not second.stopped and 0 <= server.counts["served"] - undisturbed.answered <= 1
    assert weights(tmp_path / "run") == weights(undisturbed.folder)


def ask(client: PatientClient, text: str) -> str:
    return client.complete(Request(MODEL, ({"role": "user", "content": text},), "judge")).text


def test_models_that_fail_for_a_while_are_waited_for_and_their_answers_are_kept(tmp_path: Path) -> None:
    told: list[str] = []
    with FakeServer(script=deque(["503"] * 30)) as server:
        with patient_client(access(server), tmp_path, told.append) as client:
            first = ask(client, "one")
        with patient_client(access(server), tmp_path, told.append) as client:
            assert ask(client, "one") == first
    assert server.counts["served"] == 1 and len(told) == 1 and told[0].startswith("no answer (")


def test_a_spent_budget_holds_a_run_up_until_a_larger_one_is_given(stage: StageSettings, tmp_path: Path) -> None:
    with FakeServer() as server:
        poor = access(server, budget=1e-9)
        assert problems(stage, replace(poor, client=replace(poor.client, prices={}))) == [
            f"a budget cannot hold: the price of {MODEL} is not known; give it with --prices (0 for your own machine), "
            "or leave the budget out"
        ]
        with patient_client(poor, tmp_path, print) as client, pytest.raises(HeldUpError) as held:
            for place in range(9):
                ask(client, f"{place}")
        assert held.value.kind == "budget" and server.counts["served"] < 9
        with patient_client(access(server, budget=1.0), tmp_path, print) as client:
            assert ask(client, "8")


def test_the_plan_of_a_stage_counts_what_can_be_asked(undisturbed: Undisturbed, stage: StageSettings) -> None:
    """Replies: 2 updates of 8, own prompts for them (2 an update), and 3 measurements of 2 users over 2 turns.

    Fewer are asked for: a tiny model says the same twice, and the same question is asked once.
    """
    plan = plan_stage(stage, Access(ClientSettings("http://localhost:1/v1", prices=PRICES, env_file=None)))
    judge, voice = plan.stages
    assert plan.turns.expected == 2 * 8 + 2 * 2 + 3 * 2 * 2 and judge.calls.expected == pytest.approx(32 * 1.02)
    assert voice.calls.expected == pytest.approx((2 * 2 / 2 + 3 * 2) * 1.02)
    with RunStore.read(undisturbed.folder / CALLS) as store:
        spent = store.calls.spent()
    assert 0 < spent.calls < plan.calls.high
    planned = judge.tokens[0].expected / judge.calls.expected
    assert planned / 2 < spent.prompt_tokens / spent.calls * 4 / 3 < planned * 2  # a call's; the server counts words
