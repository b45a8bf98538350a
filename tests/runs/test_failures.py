"""What failed in a run is counted and shown with what came back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import discover
from llm_contrary import Contrary, Given
from llm_server import FakeServer

from discover_lib.engines.llm.calls.exchange import Answered, Completion, Request
from discover_lib.runs.outcomes import contradiction, failures_of_run
from discover_lib.runs.store import Failure, RunStore

DOMAIN = "technical_writing"
MODEL = f"openai/miniature:{DOMAIN}"


def no_scores(given: Given) -> str:
    """The satisfaction judge says nothing of use, also when asked again."""
    return "I would rather not." if given.task == "satisfaction_judge" else given.text


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    with FakeServer(brain=Contrary(habits=(no_scores,))) as server:
        arguments = ["evaluate", "--assistant", "draft", "--domain", DOMAIN, "--engine", MODEL, "--artifacts", 1]
        arguments += ["--trials", 1, "--turns", 2, "--api-base", server.api_base, "--run", tmp_path / "run"]
        done = discover(*arguments)
    assert done.returncode == 1
    assert "1 no better when asked again (satisfaction 1); 1 unscored" in done.stdout.splitlines()[-1]
    return tmp_path / "run"


@pytest.mark.slow
def test_a_part_that_could_not_be_scored_is_counted_and_shown(scored: Path) -> None:
    with RunStore.read(scored) as store:
        found = failures_of_run(store)
    assert found.line == "failures: 1 unscored (satisfaction 1)"
    [example] = found.examples
    assert (example.what, example.where) == ("unscored part", "conversation 0")
    assert example.came_back == ("I would rather not.",) * 2
    told = discover("audit", scored)
    assert "failures: 1 unscored (satisfaction 1)" in told.stdout and "came back: I would rather not." in told.stdout
    assert "steps of discovery that near misses made" in told.stdout


@pytest.mark.slow
def test_failed_turns_and_contradictions_have_examples(scored: Path) -> None:
    with RunStore.read(scored) as store:
        configuration = store.configuration
    request = Request("m", ({"role": "user", "content": "?"},), "judge")
    with RunStore.write(scored, configuration) as store:
        store.calls.put(request.key, request, Completion("1 is missed, 1.1 is met"))
        store.calls.put_answer(Answered(request.key, "judge", "clean", {"contradicted": 2}))
        store.put_turns(0, (), "error", [Failure(1, "voice", "content", "no message", ("...",))])
        store.reopen()
        store.put_turns(0, (), "error", [Failure(1, "judge", "timeout", "no answer in time")])
        found = failures_of_run(store)
    assert (found.standing, found.mended) == ({"judge": 1}, 1)
    assert found.line.startswith("failures: 1 turn failed (judge 1), 1 failed and came out later")
    assert [each.what for each in found.examples] == ["failed turn", "unscored part", "contradiction"]
    assert found.examples[-1].came_back == ("1 is missed, 1.1 is met",)


def test_a_contradiction_is_shown_however_long_the_answer_is() -> None:
    entry = {"reason": "so", "engaged": True, "near_misses": []}
    long = [entry | {"id": f"{number}", "reason": "x" * 60} for number in range(2, 9)]
    against = [entry | {"id": "1", "engaged": False, "reason": "no sail"}, entry | {"id": "1.1", "reason": "two sails"}]
    answer = {"kind": "artifact", "kind_reason": "a drawing", "intents": [*long, *against]}
    said = contradiction(json.dumps(answer))
    assert said == "[1] is said to be missed (no sail), [1.1] below it to be met (two sails)"
    assert contradiction("1 is missed") == "the answer as it came"
