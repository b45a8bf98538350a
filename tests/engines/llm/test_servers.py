"""Conversations on several servers: each is asked for at one of them; schemas where a server takes them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import llm_brain
import pytest
from llm_server import FakeServer

from discover_lib.engines.llm.answers import LeakCheck
from discover_lib.engines.llm.asking import ask_structured
from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient
from discover_lib.engines.llm.calls.exchange import Request
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute
from discover_lib.runs.store import RunStore

pytestmark = pytest.mark.slow

DOMAIN = "creative_writing"
SCHEMA = {"name": "answer", "schema": LeakCheck.model_json_schema(), "strict": True}
STRICT = {"type": "json_schema", "json_schema": SCHEMA}
MODEL = f"openai/miniature:{DOMAIN}"


def request(session: str, number: int = 0) -> Request:
    return Request("openai/m", ({"role": "user", "content": f"Hello {number}"},), "judge", session=session)


def test_a_conversation_has_one_server_and_a_resumed_run_asks_for_nothing_again(tmp_path: Path) -> None:
    options = RunOptions((MODEL + ":adaptive", MODEL + ":draft"), domain=DOMAIN, engine=MODEL, artifacts=3, turns=2)
    run = lay_out_evaluation(dataclasses.replace(options, domain=None), [DOMAIN])
    with FakeServer(llm_brain.answer) as one, FakeServer(llm_brain.answer) as two:
        settings = ClientSettings(one.api_base, (two.api_base,), env_file=None)
        for _ in range(2):
            report = execute(run, tmp_path, settings=settings, concurrency=6)
            assert report.halted is None and (report.last.done, report.unscored) == (6, 0)
    assert one.sessions and two.sessions and not one.sessions.keys() & two.sessions.keys()
    assert len(one.sessions) + len(two.sessions) == 6 and "" not in one.sessions + two.sessions
    with RunStore.read(tmp_path) as store:
        assert store.calls.spent().calls == one.counts["requests"] + two.counts["requests"]


def answers_schema(messages: Any, body: dict[str, Any]) -> tuple[str, int]:
    return '{"reason": "so", "leaks": false, "ids": []}', 3


@pytest.mark.parametrize(("schemas", "refused"), [("taken", 0), ("ignored", 0), ("refused", 1)])
def test_a_schema_is_sent_until_a_server_refuses_one(schemas: str, refused: int) -> None:
    with FakeServer(answers_schema, schemas=schemas) as server:
        with LLMClient(ClientSettings(server.api_base, env_file=None)) as client:
            for number in range(3):
                assert not ask_structured(client, request("", number), LeakCheck).value.leaks
        assert server.counts["schema refused"] == refused and server.counts["requests"] == 3
        assert ["response_format" in body for body in server.received] == [schemas == "taken"] * 3
        assert all(body.get("response_format", STRICT) == STRICT for body in server.received)
