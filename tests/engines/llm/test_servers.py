"""Conversations on several servers: each keeps its own, and moves when that cannot be reached."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import llm_brain
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm_server import FakeServer

from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient, LLMError
from discover_lib.engines.llm.calls.records import Request
from discover_lib.engines.llm.calls.servers import Servers
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.store import RunStore

pytestmark = pytest.mark.slow

DOMAIN = "creative_writing"
MODEL = f"openai/miniature:{DOMAIN}"
DEAD = "http://127.0.0.1:9/v1"  # nothing listens there
QUICK: dict[str, Any] = {"env_file": None, "max_attempts": 2, "first_wait_seconds": 0.01}


@pytest.fixture(autouse=True)
def new_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's earlier server: a port that was down a moment ago may be a new server's."""
    monkeypatch.setattr("discover_lib.engines.llm.calls.client.SERVERS", Servers())


def request(session: str, number: int = 0) -> Request:
    return Request("openai/m", ({"role": "user", "content": f"Hello {number}"},), "judge", session=session)


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), min_size=1, max_size=40))
def test_a_conversation_stays_and_a_new_one_goes_to_the_least_load(steps: list[tuple[str, bool]]) -> None:
    servers, homes, in_flight = Servers(), {}, {"x": 0, "y": 0, "z": 0}
    for session, ends in steps:
        address = servers.begin(session, list(in_flight))
        if session not in homes:
            assert in_flight[address] == min(in_flight.values())
        assert homes.setdefault(session, address) == address
        in_flight[address] += 1
        if ends:
            servers.end(address)
            in_flight[address] -= 1


def test_among_idle_servers_conversations_are_dealt_out_evenly() -> None:
    servers = Servers()
    for number in range(9):
        servers.end(servers.begin(f"conversation {number}", ["x", "y", "z"]))
    assert sorted(servers._living.values()) == [3, 3, 3]


def test_a_server_that_is_down_is_left_alone_while_there_is_another() -> None:
    servers = Servers()
    assert servers.begin("a", ["x", "y"]) == "x"
    servers.unreachable("x")
    assert {servers.begin(name, ["x", "y"]) for name in "abcd"} == {"y"}
    servers.unreachable("y")
    assert servers.begin("a", ["x", "y"]) == "y" and servers.begin("e", ["x"]) == "x"


@pytest.mark.parametrize("wire", ["auto", "litellm"])
def test_the_header_names_the_conversation_and_nothing_else_changes(wire: Any) -> None:
    with FakeServer() as server:
        settings = ClientSettings(api_base=server.api_base, wire=wire, **QUICK)
        with LLMClient(settings) as client:
            client.complete(request("0123abcd"))
            assert server.headers["x-session-id"] == "0123abcd"
            client.complete(dataclasses.replace(request("", 1)))
            assert "x-session-id" not in server.headers
    first, second = server.received
    assert first.keys() == second.keys()
    assert request("0123abcd").key == request("").key


def test_every_call_of_a_conversation_reaches_one_server(tmp_path: Path) -> None:
    options = RunOptions((MODEL + ":adaptive", MODEL + ":draft"), domain=DOMAIN, engine=MODEL, artifacts=3, turns=2)
    run = lay_out_evaluation(dataclasses.replace(options, domain=None), [DOMAIN])
    slow = {"latency_seconds": 0.2}  # so that all six are under way before the first is over
    with FakeServer(llm_brain.answer, **slow) as one, FakeServer(llm_brain.answer, **slow) as two:
        addresses = {"api_base": one.api_base, "more_api_bases": (two.api_base,)}
        settings = ClientSettings(**addresses, native_schema="never", env_file=None)
        report = execute(run, tmp_path, settings=settings, concurrency=6)
        assert report.halted is None and (report.last.done, report.unscored) == (6, 0)
    assert len(one.sessions) == len(two.sessions) == 3 and "" not in one.sessions + two.sessions
    assert not one.sessions.keys() & two.sessions.keys()
    with RunStore.read(tmp_path) as store:
        assert store.calls.spent().calls == sum((one.sessions + two.sessions).values())


def test_a_resumed_run_has_the_names_of_before_and_asks_for_nothing_again(tmp_path: Path) -> None:
    run = lay_out(RunOptions(("adaptive",), domain=DOMAIN, engine=MODEL, artifacts=2, turns=2))
    names = []
    for folder, turns in ((tmp_path / "a", 2), (tmp_path / "b", 2)):
        folder.mkdir()
        with FakeServer(llm_brain.answer) as server:
            settings = ClientSettings(api_base=server.api_base, env_file=None)
            assert execute(run, folder, settings=settings).last.counts.finished == turns
            names.append(set(server.sessions))
    assert names[0] == names[1] and len(names[0]) == 2


def test_conversations_of_a_dead_server_go_on_at_another_and_that_is_counted() -> None:
    with FakeServer() as server:
        settings = ClientSettings(api_base=DEAD, more_api_bases=(server.api_base,), **QUICK)
        with LLMClient(settings) as client:
            completion = client.complete(request("a"))
            assert (completion.text, completion.attempts) == ("Hello 0", 3)  # twice there, once here
            assert client.usage.retries == {"connection": 2} and client.usage.failures == {}
            assert client.complete(request("a", 1)).attempts == client.complete(request("b", 2)).attempts == 1
            assert client.usage.total.attempts == 5
    assert server.counts["requests"] == 3


def test_a_server_that_dies_under_way_loses_no_conversation() -> None:
    with FakeServer(latency_seconds=0.05) as stays:
        with FakeServer(latency_seconds=0.05) as dies:
            settings = ClientSettings(api_base=stays.api_base, more_api_bases=(dies.api_base,), **QUICK)
            client = LLMClient(settings)
            for number in range(4):
                client.complete(request(f"conversation {number}", number))
            assert dies.counts["served"] == stays.counts["served"] == 2
        with ThreadPoolExecutor(4) as pool:
            calls = [pool.submit(client.complete, request(f"conversation {n}", 10 + n)) for n in range(4)]
            assert [call.result().text for call in calls] == [f"Hello {10 + n}" for n in range(4)]
        client.close()
    assert client.usage.failures == {} and client.usage.retries["connection"] >= 2


def test_200_conversations_stay_at_home_on_three_servers_of_which_one_dies() -> None:
    """Those of the server that dies move once, to one other; all the others never do."""
    names = [f"conversation {n}" for n in range(200)]

    def turn(client: LLMClient, pool: ThreadPoolExecutor, number: int) -> None:
        calls = [pool.submit(client.complete, request(name, 1000 * number + at)) for at, name in enumerate(names)]
        assert [call.result().text for call in calls] == [f"Hello {1000 * number + at}" for at in range(200)]

    with FakeServer() as one, FakeServer() as two, ThreadPoolExecutor(32) as pool:
        with FakeServer() as dies:
            addresses = {"api_base": one.api_base, "more_api_bases": (two.api_base, dies.api_base)}
            client = LLMClient(ClientSettings(**addresses, **QUICK))
            for number in range(2):
                turn(client, pool, number)
            homes = [set(server.sessions) for server in (one, two, dies)]
        for number in range(2, 5):
            turn(client, pool, number)
        client.close()
        assert sorted(name for home in homes for name in home) == sorted(names)  # each at one server
        assert min(map(len, homes)) >= 40
        for server, home in ((one, homes[0]), (two, homes[1])):
            assert {server.sessions[name] for name in home} == {5}
        moved = one.sessions + two.sessions
        assert {moved[name] for name in homes[2]} == {3}
        assert not {name for name in homes[2] if one.sessions[name] and two.sessions[name]}
    assert client.usage.failures == {}


def test_where_no_server_is_left_the_call_fails_with_all_its_attempts() -> None:
    settings = ClientSettings(api_base="http://127.0.0.1:7/v1", more_api_bases=("http://127.0.0.1:1/v1",), **QUICK)
    with LLMClient(settings) as client, pytest.raises(LLMError, match="no answer from") as error:
        client.complete(request("a"))
    assert (error.value.kind, error.value.attempts) == ("connection", 4)


@pytest.mark.parametrize("fault", ["500", "400"])
def test_a_server_that_answers_with_an_error_keeps_its_conversation(fault: str) -> None:
    with FakeServer() as one, FakeServer() as two:
        one.script.extend([fault] * 2)
        settings = ClientSettings(api_base=one.api_base, more_api_bases=(two.api_base,), **QUICK)
        with LLMClient(settings) as client:
            with pytest.raises(LLMError):
                client.complete(request("a"))
            one.script.clear()
            assert client.complete(request("a")).text == "Hello 0"
    assert two.counts["requests"] == 0


def test_the_same_server_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="given twice"):
        ClientSettings(api_base=DEAD, more_api_bases=(DEAD,))
