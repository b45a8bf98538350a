"""Servers of one's own are asked once whether they take JSON schemas; what they say decides what they are sent."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import llm_brain
import pytest
from llm_server import FakeServer
from pydantic import BaseModel

from discover_lib.engines.llm.calls import probe
from discover_lib.engines.llm.calls.client import Budget, ClientSettings, LLMClient, LLMError, Price
from discover_lib.engines.llm.calls.records import Request
from discover_lib.engines.llm.calls.structured import ask_structured
from discover_lib.engines.options import RoleOptions
from discover_lib.runs.doctor import check_connection
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.outcomes import closing_lines
from discover_lib.runs.plan import plan_run
from discover_lib.runs.store import RunStore

pytestmark = pytest.mark.slow

DOMAIN = "creative_writing"
MODEL = f"openai/miniature:{DOMAIN}"
GREETING = json.dumps({"greeting": "Hello there.", "language": "English"})


class Number(BaseModel):
    number: int


def brain(messages: list[dict[str, Any]], body: dict[str, Any]) -> tuple[str, int]:
    """A model that greets in prose unless it is held to a form."""
    if messages[-1]["content"].startswith("Greet me"):
        return (GREETING, 9) if "response_format" in body else ("Hello there, nice to meet you!", 8)
    return '{"number": 7}', 6


def ask(client: LLMClient, number: int = 0, model: str = "openai/m") -> int:
    request = Request(model, ({"role": "user", "content": f"Which number, {number}?"},), "judge", max_tokens=50)
    return ask_structured(client, request, Number).value.number


def settings(server: FakeServer, **options: Any) -> ClientSettings:
    return ClientSettings(**{"api_base": server.api_base, "env_file": None, "max_attempts": 2, **options})


def schemas_sent(server: FakeServer) -> list[bool]:
    """Of every request that was answered, the probe left out: whether it held a schema."""
    return ["response_format" in each for each in server.received if "Greet me" not in str(each["messages"])]


@pytest.mark.parametrize("wire", ["auto", "litellm"])
@pytest.mark.parametrize(("schemas", "said", "sent"), [("taken", "obeyed", True), ("ignored", "ignored", False)])
def test_a_schema_is_sent_where_the_probe_was_obeyed(schemas: str, said: str, sent: bool, wire: Any) -> None:
    with FakeServer(brain, schemas=schemas) as server, LLMClient(settings(server, wire=wire)) as client:
        assert [ask(client, number) for number in range(3)] == [7, 7, 7]
        assert schemas_sent(server) == [sent] * 3
        assert client.usage.remarks == {probe.PURPOSE: {said: 1}}
        assert client.usage.by_purpose[probe.PURPOSE].calls == 1
        assert client.usage.total.calls == server.counts["served"] == 4
        assert client.usage.total.completion_tokens == 3 * 6 + (9 if sent else 8)


@pytest.mark.parametrize("wire", ["auto", "litellm"])
def test_a_server_that_refuses_schemas_is_never_sent_one_again_and_nothing_failed(wire: Any) -> None:
    with FakeServer(brain) as server, LLMClient(settings(server, wire=wire)) as client:
        assert [ask(client, number) for number in range(3)] == [7, 7, 7]
        assert server.counts["schema refused"] == 1 and schemas_sent(server) == [False] * 3
        usage = client.usage
        assert (usage.remarks, usage.failures, usage.retries) == ({probe.PURPOSE: {"refused": 1}}, {}, {})
        asked = usage.by_purpose[probe.PURPOSE]
        assert (asked.calls, asked.attempts, asked.failed) == (0, 1, 0)


def test_callers_at_once_share_one_probe_and_every_model_has_its_own() -> None:
    with FakeServer(brain, schemas="taken", latency_seconds=0.05) as server, LLMClient(settings(server)) as client:
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(lambda number: ask(client, number), range(8))) == {7}
        assert client.usage.by_purpose[probe.PURPOSE].calls == 1 and schemas_sent(server) == [True] * 8
        ask(client, model="openai/other")
        assert client.usage.by_purpose[probe.PURPOSE].calls == 2


def test_servers_of_one_model_are_probed_each_for_itself() -> None:
    with FakeServer(brain, schemas="taken") as one, FakeServer(brain) as two:
        client = LLMClient(settings(one, more_api_bases=(two.api_base,)))
        assert [ask(client, number) for number in range(4)] == [7] * 4
        client.close()
        assert schemas_sent(one) and all(schemas_sent(one)) and not any(schemas_sent(two))


@pytest.mark.parametrize(("choice", "sent"), [("always", True), ("never", False)])
def test_who_says_it_needs_no_probe(choice: Any, sent: bool) -> None:
    with FakeServer(brain, schemas="taken") as server, LLMClient(settings(server, native_schema=choice)) as client:
        ask(client)
        assert schemas_sent(server) == [sent] and server.counts["requests"] == 1


def test_a_passing_fault_decides_nothing_and_a_broken_server_decides_against() -> None:
    with FakeServer(brain, schemas="taken") as server, LLMClient(settings(server)) as client:
        server.script.append("cut_before")
        assert ask(client) == 7 and schemas_sent(server) == [False]
        assert ask(client, 1) == 7 and schemas_sent(server) == [False, True]
    with FakeServer(brain, schemas="taken") as server, LLMClient(settings(server)) as client:
        server.script.append("500")
        assert [ask(client, number) for number in range(2)] == [7, 7] and schemas_sent(server) == [False, False]
        assert client.usage.remarks == {probe.PURPOSE: {"failed": 1}}


def test_a_refused_key_is_an_error_and_no_verdict() -> None:
    with FakeServer(brain, schemas="taken") as server, LLMClient(settings(server)) as client:
        server.script.append("401")
        with pytest.raises(LLMError, match="401"):
            ask(client)
        assert ask(client) == 7 and schemas_sent(server) == [True]


def test_a_probe_is_paid_within_the_budget_and_stands_in_the_store(tmp_path: Path) -> None:
    prices = {"openai/m": Price(0.0, 1e6)}  # a dollar a token
    with FakeServer(brain, schemas="taken") as server, RunStore.write(tmp_path, {}) as store:
        budget = Budget(1000.0)
        with LLMClient(settings(server, prices=prices), cache=store.calls, budget=budget) as client:
            ask(client)
            assert client.usage.total.cost == budget.spent == 9 + 6
        assert (store.calls.spent().calls, store.calls.spent().cost) == (2, 15)
        with LLMClient(settings(server, prices=prices), cache=store.calls) as client:
            ask(client)  # from the store: nothing is sent, so nothing is probed
        assert server.counts["requests"] == 2
        poor = LLMClient(settings(server, prices=prices), budget=Budget(3.0))
        with poor, pytest.raises(LLMError, match="budget"):
            ask(poor)


def test_a_finished_run_probes_nothing(tmp_path: Path) -> None:
    run = lay_out(RunOptions(("adaptive",), domain=DOMAIN, engine=MODEL, artifacts=2, turns=2))

    def answer(messages: list[dict[str, Any]], body: dict[str, Any]) -> tuple[str, int]:
        return brain(messages, body) if "Greet me" in str(messages) else llm_brain.answer(messages, body)

    with FakeServer(answer, schemas="taken") as server:
        assert execute(run, tmp_path, settings=settings(server)).last.counts.finished == 2
        assert all(schemas_sent(server))
        requests = server.counts["requests"]
        execute(run, tmp_path, settings=settings(server))
        assert server.counts["requests"] == requests


@pytest.mark.parametrize("schemas", ["taken", "ignored", "refused"])
def test_what_a_probe_said_is_kept_with_the_run_and_told_when_it_closes(schemas: str, tmp_path: Path) -> None:
    verdict = {"taken": "obeyed", "ignored": "ignored", "refused": "refused"}[schemas]
    with FakeServer(brain, schemas=schemas) as server, RunStore.write(tmp_path, {}) as store:
        for number in range(2):
            with LLMClient(settings(server), cache=store.calls) as client:
                ask(client, number)
        probes = [each for each in server.received if "Greet me" in str(each["messages"])]
        assert len(probes) + server.counts["schema refused"] == 1
        assert store.calls.schema_verdicts() == {f"openai/m at {server.api_base}": verdict}
        assert closing_lines(store)[0] == f"openai/m at {server.api_base} {probe.IN_WORDS[verdict]}"
        run = lay_out(RunOptions(("adaptive",), domain=DOMAIN, engine=MODEL, artifacts=2, turns=2))
        (planned,) = [each for each in plan_run(run, settings=settings(server)).stages if each.name == probe.PURPOSE]
        assert planned.calls.low == planned.calls.high == 1
        (line,) = check_connection({"judge": "openai/m"}, settings(server))
        assert probe.IN_WORDS[verdict] in line.text


def test_the_doctor_waits_for_a_probe_as_long_as_it_is_told() -> None:
    """A slow server of one's own answers in its time: it has not failed."""
    with FakeServer(brain, schemas="ignored") as server:
        hasty = settings(server, timeout_seconds=1e-6)
        (line,) = check_connection({"judge": "openai/m"}, hasty, RoleOptions.read(timeout=["60"]))
        assert line.text.endswith(probe.IN_WORDS["ignored"])


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (GREETING, "obeyed"),
        (f"  {GREETING}\n", "obeyed"),
        (f"```json\n{GREETING}\n```", "ignored"),  # a habit of the model, not the schema's doing
        ("Hello!", "ignored"),
        ("7", "ignored"),
        ("{}", "ignored"),
        ('{"greeting": "Hello", "language": "Latin"}', "ignored"),
        ('{"greeting": 1, "language": "English"}', "ignored"),
        ('{"greeting": "Hello", "language": "English", "mood": "fine"}', "ignored"),
        (LLMError("", "bad_request"), "refused"),
        (LLMError("", "server"), "failed"),
        (LLMError("", "timeout"), "failed"),
        (LLMError("", "content"), "failed"),
        (LLMError("", "connection"), "undecided"),
        (LLMError("", "rate_limit"), "undecided"),
    ],
)
def test_what_an_answer_says_of_the_server(said: str | LLMError, verdict: str) -> None:
    assert probe.verdict_on(said) == verdict
