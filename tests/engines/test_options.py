"""Options of models, role by role: as they are typed, stored, sent and planned."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import llm_brain
import pytest
from llm_server import FakeServer

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.engines.llm.calls.exchange import Request
from discover_lib.engines.role_options import RoleOptions
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.store import RunStore

DOMAIN = "creative_writing"
MODEL = f"openai/miniature:{DOMAIN}"
ANSWERING = f"{MODEL}:adaptive"
RUN = RunOptions((ANSWERING,), domain=DOMAIN, engine=MODEL, artifacts=1, turns=2)


def test_the_narrowest_wins_whatever_the_order() -> None:
    options = RoleOptions.read(max_tokens=["openai/a=3", "assistant=2", "1"])
    assert options.of("judge") == {"max_tokens": 1}
    assert options.of("assistant", "openai/b") == {"max_tokens": 2}
    assert options.of("assistant", "openai/a") == {"max_tokens": 3}


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"max_tokens": ["many"]}, "--max-tokens: a whole number of tokens from 1, or none, not 'many'"),
        ({"max_tokens": ["judge=0"]}, "not '0'"),
        ({"max_tokens": ["=5"]}, "no role before the = in '=5'"),
        ({"temperature": ["nan"]}, "--temperature: a number from 0 to 2, or none, not 'nan'"),
        ({"timeout": ["inf"]}, "--timeout: a number of seconds above 0, not 'inf'"),
        ({"reasoning_effort": ["judge=hard"]}, "--reasoning-effort: one of none, minimal, low"),
        ({"temperature": ["judge=0", "judge=1"]}, "--temperature is given twice for judge"),
    ],
)
def test_a_bad_value_is_one_line(texts: dict[str, list[str]], said: str) -> None:
    with pytest.raises(DiscoverError) as error:
        RoleOptions.read(**texts)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_only_what_decides_replies_and_differs_is_stored() -> None:
    everyone = {"judge": "judge", "voice": "voice", "openai/a": "assistant"}
    defaults = RoleOptions.read(max_tokens=["judge=8192", "assistant=2048"], temperature=["0.7", "judge=0"])
    assert defaults.to_store(everyone) == {}
    options = RoleOptions.read(max_tokens=["8192"], reasoning_effort=["judge=low"])
    assert options.to_store(everyone) == {
        "judge": {"reasoning_effort": "low"},
        "voice": {"max_tokens": 8192},
        "openai/a": {"max_tokens": 8192},
    }


def test_an_effort_enters_a_key_and_how_a_call_is_sent_does_not() -> None:
    request = Request("openai/m", ({"role": "user", "content": "Hello"},), "judge", max_tokens=5)
    same = dataclasses.replace(request, timeout_seconds=3.0, session="abc")
    assert same.key == request.key
    assert dataclasses.replace(request, reasoning_effort="low").key != request.key


@pytest.mark.slow
def test_a_run_sends_stores_and_resumes_its_options(tmp_path: Path) -> None:
    options = RoleOptions.read(
        max_tokens=["judge=5000", f"{ANSWERING}=300"], temperature=["voice=none"], reasoning_effort=["judge=low"]
    )
    run = lay_out(dataclasses.replace(RUN, role_options=options))
    bodies: list[dict[str, Any]] = []

    def brain(messages: list[dict[str, Any]], body: dict[str, Any]) -> tuple[str, int]:
        bodies.append(body)
        return llm_brain.answer(messages, body)

    with FakeServer(brain) as server:
        settings = ClientSettings(api_base=server.api_base, env_file=None)
        assert execute(run, tmp_path, settings=settings).halted is None
    asked = {(each.get("max_tokens"), each.get("temperature"), each.get("reasoning_effort")) for each in bodies}
    assert asked == {(5000, 0.0, "low"), (300, 0.7, None), (2048, None, None)}
    with RunStore.read(tmp_path) as store:
        stored = store.configuration
    assert stored["options"] == {
        "judge": {"max_tokens": 5000, "reasoning_effort": "low"},
        "voice": {"temperature": None},
        ANSWERING: {"max_tokens": 300},
    }
    again = lay_out(RunOptions.from_configuration(stored))
    assert again.configuration == run.configuration
    patient = dataclasses.replace(run.options, role_options=RoleOptions.read(timeout=["7"]))
    assert "options" not in lay_out(patient).configuration
