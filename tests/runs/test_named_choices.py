"""The paper's own versions and the leak check as named choices: what they send, what they store, who may take them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import llm_brain
import pytest
from llm_server import FakeServer

from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.engines.llm.prompting import BY_CHOICE
from discover_lib.metrics.satisfaction import FINAL_REQUESTS
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, RunOptionsError, execute, lay_out
from discover_lib.runs.plan import plan_run
from discover_lib.runs.store import RunStore

DOMAIN = "creative_writing"
MODEL = f"openai/miniature:{DOMAIN}"
OURS = RunOptions((f"{MODEL}:options",), engine=MODEL, artifacts=1, turns=2)
CHOSEN = dataclasses.replace(OURS, leak_check="judge", interactivity="paper", final_request="paper")


def test_a_choice_is_stored_with_the_prompt_that_it_sends() -> None:
    configuration = lay_out_evaluation(CHOSEN, [DOMAIN]).configuration
    assert (configuration["leak_check"], configuration["interactivity"]) == (MODEL, "paper")
    assert configuration["final_request"] == FINAL_REQUESTS["paper"]
    assert BY_CHOICE & configuration["prompts"].keys() == {"leak_check", "interactivity_paper"}
    styled = lay_out(dataclasses.replace(OURS, assistants=("openai/x+collabllm",), domain=DOMAIN)).configuration
    assert BY_CHOICE & styled["prompts"].keys() == {"collabllm"}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"voice": "miniature"}, "a leak check is a language model's"),
        ({"leak_check": "nonsense"}, "a leak check is a language model's"),
        ({"judge": "miniature", "leak_check": None}, "give --judge"),
    ],
)
def test_a_choice_that_means_nothing_is_refused(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RunOptionsError, match=complaint):
        lay_out_evaluation(dataclasses.replace(CHOSEN, **changes), [DOMAIN])


@pytest.mark.slow
def test_an_evaluation_sends_the_papers_versions_and_checks_messages(tmp_path: Path) -> None:
    sent: list[list[dict[str, Any]]] = []

    def brain(messages: list[dict[str, Any]], body: dict[str, Any]) -> tuple[str, int]:
        sent.append(messages)
        return llm_brain.answer(messages, body)

    with FakeServer(brain) as server:
        settings = ClientSettings(api_base=server.api_base, env_file=None)
        run = lay_out_evaluation(CHOSEN, [DOMAIN])
        report = execute(run, tmp_path, settings=settings)
        assert report.halted is None and not report.unscored
        planned = {stage.name for stage in plan_run(run, settings=settings).stages}
    tasks = {llm_brain.TASKS.get(str(messages[0]["content"]), "assistant") for messages in sent}
    assert "interactivity_paper" in tasks and "interactivity_judge" not in tasks and "leak check" in planned
    finals = [messages for messages in sent if str(messages[-1]["content"]).endswith(FINAL_REQUESTS["paper"])]
    assert finals and not [each for each in sent if str(each[-1]["content"]).endswith(FINAL_REQUESTS["ours"])]
    with RunStore.read(tmp_path) as store:
        final = store.conversation(0).final
    assert final is not None and final.request == FINAL_REQUESTS["paper"]
