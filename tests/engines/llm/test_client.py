"""The client against a real HTTP server that misbehaves: retries, limits, sharing, cache, budget, stop, keys."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from llm_server import TRANSPORT_FAULTS, Cut, FakeServer, Faults, echo

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.llm.calls.client import Budget, CallCache, ClientSettings, LLMClient
from discover_lib.engines.llm.calls.exchange import Completion, LLMError, Price, Request, price_of, read_prices
from discover_lib.engines.llm.calls.wires import redact

# LiteLLM reads pydantic models in a way that pydantic is going to drop.
pytestmark = pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning", "ignore:.*`ReadOnly`")

FAULTS = Faults(timeout_seconds=20.0, retry_after_seconds=0.02)
QUICK = {"timeout_seconds": 60, "first_wait_seconds": 0.01}
PATIENCE = {"timeout": 1.0}  # fault → seconds after which a request gives up; the others wait for their answer
DOLLAR = Price(1e6, 1e6)  # one dollar a token: costs that can be counted on fingers


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(faults=FAULTS) as running:
        yield running


@pytest.fixture(scope="module", params=["direct", pytest.param("litellm", marks=pytest.mark.slow)])
def client(server: FakeServer, request: pytest.FixtureRequest) -> Iterator[LLMClient]:
    """One client for all tests of the wire, so that LiteLLM is imported once; both ways to a model."""
    settings = ClientSettings(api_base=server.api_base, **QUICK)
    with pytest.MonkeyPatch.context() as environment, LLMClient(settings, rng=random.Random(0)) as made:
        if request.param == "litellm":  # what it imports at its first calls does not count as a slow answer
            environment.setenv("OPENAI_BASE_URL", server.api_base)
            environment.setenv("OPENAI_API_KEY", "unused")
            made.settings = ClientSettings(env_file=None, **QUICK)
            server.script.append("429")
            made.complete(say("warm up", timeout_seconds=60))
        yield made


def direct(server: FakeServer, **options: Any) -> LLMClient:
    own = {name: options.pop(name) for name in ("cache", "budget", "stop") if name in options}
    return LLMClient(ClientSettings(api_base=server.api_base, **{**QUICK, **options}), rng=random.Random(0), **own)


def say(text: str, **parts: Any) -> Request:
    return Request("openai/fake", ({"role": "user", "content": text},), parts.pop("purpose", "assistant"), **parts)


def all_at_once(client: LLMClient, requests: Sequence[Request]) -> list[Completion | LLMError]:
    def one(request: Request) -> Completion | LLMError:
        try:
            return client.complete(request)
        except LLMError as error:
            return error

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(one, requests))


class Memory(CallCache):
    def __init__(self) -> None:
        self.kept: dict[str, Completion] = {}

    def get(self, key: str) -> Completion | None:
        return self.kept.get(key)

    def put(self, key: str, request: Request, completion: Completion) -> None:
        self.kept[key] = completion


# -- the wire --------------------------------------------------------------------------------------------------------


def test_everything_that_decides_the_reply_is_sent(client: LLMClient, server: FakeServer) -> None:
    client.complete(say("sent whole", temperature=0.5, max_tokens=7, seed=11))
    body, sent = server.received[-1], {"model": "fake", "temperature": 0.5, "max_tokens": 7, "seed": 11}
    assert {name: body.get(name) for name in sent} == sent
    assert "purpose" not in body and "sample" not in body


def test_a_reply_that_its_limit_cut_off_says_so(client: LLMClient, server: FakeServer) -> None:
    server.brain = lambda messages, body: (Cut("Once upon a"), 3)
    cut = client.complete(say("a long story", max_tokens=3))
    server.brain = echo
    assert (cut.text, cut.finish_reason, cut.completion_tokens) == ("Once upon a", "length", 3)


@pytest.mark.slow
@pytest.mark.parametrize("fault", TRANSPORT_FAULTS)
def test_a_fault_of_the_line_is_asked_again_and_the_reply_is_whole(client, server, fault: str) -> None:
    server.script.append(fault)
    waited = PATIENCE.get(fault)
    request = say(f"after {fault} comes the whole text", timeout_seconds=waited)
    completion = client.complete(request)
    assert completion.text == request.messages[0]["content"]
    assert completion.attempts == 2 or (waited and completion.attempts > 2)  # a busy machine may give up twice


@pytest.mark.parametrize(
    ("fault", "kind", "attempts", "line"),
    [
        ("400", "bad_request", 1, "openai/fake: HTTP 400: .*refused"),  # a retry cannot help
        ("401", "auth", 1, "openai/fake: HTTP 401: .*refused"),
        ("404", "bad_request", 1, "openai/fake: HTTP 404: .*refused"),
        ("500", "server", 3, r"openai/fake: HTTP 500: .*something broke \(after 3 attempts\)"),
        ("429", "rate_limit", 1, r"openai/fake: HTTP 429: .*; the provider asks to wait 3600 s"),  # no patience
    ],
)
def test_attempts_end_with_one_clear_line(fault: str, kind: str, attempts: int, line: str) -> None:
    with FakeServer(faults=Faults(1.0, (fault,), retry_after_seconds=3600)) as broken:
        broken.script.extend([fault] * attempts)
        with direct(broken, max_attempts=3) as client, pytest.raises(LLMError, match=f"^{line}$") as caught:
            client.complete(say("always broken"))
    assert (caught.value.kind, caught.value.attempts) == (kind, attempts)
    assert broken.counts["requests"] == attempts == client.spent.attempts


# -- many at once ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_calls_queue_for_the_slots() -> None:
    with FakeServer(latency_seconds=0.05) as busy, direct(busy, concurrency=4) as client:
        replies = all_at_once(client, [say(f"call {number}") for number in range(16)])
        assert [each.text for each in replies if isinstance(each, Completion)] == [f"call {n}" for n in range(16)]
        assert busy.counts["peak"] == 4


def test_duplicates_in_flight_share_one_call() -> None:
    with FakeServer(latency_seconds=1.0) as busy, direct(busy, timeout_seconds=60) as client:
        replies = all_at_once(client, [say("the same")] * 8)
        assert busy.counts["requests"] == client.spent.calls == 1
        assert sorted(each.cached for each in replies if isinstance(each, Completion)) == [False] + [True] * 7


@pytest.mark.parametrize(("seed", "sent"), [(None, None), (0, 0), (2**31 + 5, 5), (-1, 2**31 - 1)])
def test_seeds_are_sent_as_31_bits_and_told_apart_by_all_of_them(client, server, seed, sent) -> None:
    client.complete(say("seeded", seed=seed))
    assert server.received[-1].get("seed") == sent
    assert say("seeded", seed=5).key != say("seeded", seed=2**31 + 5).key


def test_a_finished_call_is_never_made_again(server: FakeServer) -> None:
    cache = Memory()
    with direct(server, cache=cache) as client:
        first = client.complete(say("remember"))
    before = server.counts["requests"]
    with direct(server, cache=cache) as client:
        again = client.complete(say("remember", purpose="another purpose"))
    assert (again.text, again.cached) == (first.text, True)
    assert server.counts["requests"] == before and client.spent.calls == 0


@pytest.mark.parametrize(
    ("fault", "price", "cost", "spent"),
    [
        (None, Price(2e6, 3e6), 2 * 2 + 2 * 3, 10),
        (None, None, LLMError, 0),  # an unknown price is refused under a budget
        ("missing_usage", DOLLAR, None, 11),  # without counts, the estimate
        ("400", DOLLAR, LLMError, 0),  # a failed call returns its reservation
    ],
)
def test_a_call_costs_its_tokens(server, fault: str | None, price: Price | None, cost: Any, spent: float) -> None:
    budget = Budget(50.0)
    prices = {"openai/fake": price} if price else {}
    server.script.extend([fault] if price else [])
    with direct(server, budget=budget, prices=prices, expected_completion_tokens=9) as client:
        (reply,) = all_at_once(client, [say("two words")])
    assert (reply.cost if isinstance(reply, Completion) else type(reply)) == cost
    assert (budget.spent, budget.reserved) == (spent, 0.0)
    with direct(server) as client:
        assert client.complete(say("two words")).cost is None and client.spent.unpriced == 1


@pytest.mark.slow
def test_a_budget_is_never_exceeded_whatever_runs_at_once() -> None:
    # A call of one word is estimated at 1 + 3 dollars and costs 2.
    budget = Budget(21.0)
    options = {"prices": {"openai/fake": DOLLAR}, "expected_completion_tokens": 3}
    with FakeServer(latency_seconds=0.02) as busy, direct(busy, budget=budget, **options) as client:
        replies = all_at_once(client, [say(letter) for letter in "abcdefghijklmnop"])
        refused = [each for each in replies if isinstance(each, LLMError)]
        # Nine cost 18, and the next might cost 4.
        assert (len(replies) - len(refused), budget.spent) == (9, 18.0)
        assert {each.kind for each in refused} == {"budget"}
        assert busy.counts["requests"] == 9
    assert "the budget of $21.0000 does not cover another call to openai/fake ($18.0000 spent" in str(refused[-1])


@pytest.mark.slow
def test_stop_ends_calls_in_flight_and_in_the_queue_at_once() -> None:
    stop = threading.Event()
    with FakeServer(latency_seconds=200) as slow, direct(slow, stop=stop, concurrency=2, timeout_seconds=300) as client:
        threading.Timer(0.3, stop.set).start()
        began = time.monotonic()
        replies = all_at_once(client, [say(f"slow {number}") for number in range(6)])
        assert time.monotonic() - began < 100  # half of what one reply would have taken
        assert [each.kind for each in replies if isinstance(each, LLMError)] == ["stopped"] * 6
        with pytest.raises(LLMError, match="openai/fake: stopped"):
            client.complete(say("another"))
        assert slow.counts["requests"] == 2


# -- keys ------------------------------------------------------------------------------------------------------------

SECRET = "sk-" + "abcdefghijklmnop1234567890"


def test_the_key_goes_to_the_server_and_nowhere_else(server, monkeypatch, caplog) -> None:
    monkeypatch.setenv("MY_SERVER_KEY", SECRET)
    caplog.set_level(logging.DEBUG)
    cache = Memory()
    with direct(server, key_variable="MY_SERVER_KEY", cache=cache) as client:
        client.complete(say("with a key"))
        assert server.headers["authorization"] == f"Bearer {SECRET}"
        assert SECRET not in repr((client.settings, client.spent, cache.kept, vars(client))) + caplog.text


def test_a_providers_own_key_is_never_sent_to_another_address(server, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with direct(server) as client:
        client.complete(say("a private server"))
    assert SECRET not in str(server.headers)


@pytest.mark.slow
@pytest.mark.parametrize(  # the server's address is for its own models only
    ("model", "variable"), [("openai/fake", "MY_SERVER_KEY"), ("gpt-4.1", "OPENAI_API_KEY")]
)
def test_a_missing_key_names_its_variable_and_sends_nothing(server, monkeypatch, model: str, variable: str) -> None:
    monkeypatch.delenv(variable, raising=False)
    before = server.counts["requests"]
    with direct(server, key_variable="MY_SERVER_KEY", env_file=None) as client, pytest.raises(LLMError) as caught:
        client.complete(Request(model, ({"role": "user", "content": "hi"},), "judge"))
    assert str(caught.value) == f"{model}: {variable} is not set; set it in the environment or in .env"
    assert caught.value.kind == "auth" and server.counts["requests"] == before


def test_an_env_file_is_read_and_overrides_nothing(server, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KEY_A", "set-before")
    monkeypatch.setenv("KEY_B", "")  # so that it is put back after the test
    monkeypatch.delenv("KEY_B")
    (tmp_path / ".env").write_text("KEY_A=from-file\nKEY_B='from-file-too'\n")
    for variable, value in (("KEY_A", "set-before"), ("KEY_B", "from-file-too")):
        with direct(server, key_variable=variable, env_file=tmp_path / ".env") as client:
            client.complete(say("keyed"))
        assert server.headers["authorization"] == f"Bearer {value}"


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {SECRET}. Authorization: Bearer abc.def.ghi123",
        "key AIzaSyA1234567890abcdefghijklmnop, my value hunter2-hunter2 leaked",
    ],
)
def test_an_error_holds_no_key(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_PROVIDER_TOKEN", "hunter2-hunter2")
    clean = redact(text)
    assert clean.count("[key]") == 2
    assert not any(secret in clean for secret in (SECRET, "abc.def", "AIzaSy", "hunter2"))


def test_own_prices_are_read_from_a_dated_file(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("as_of: 2026-11-01\ndollars_per_million_tokens:\n  openai/mine: {input: 0.5, output: 1.5}\n")
    own = read_prices(path)
    assert own == {"openai/mine": Price(0.5, 1.5, "prices.yaml", "2026-11-01")}
    assert price_of("openai/mine", own, "http://127.0.0.1:1/v1") == own["openai/mine"]
    path.write_text("openai/mine: 3")
    with pytest.raises(DiscoverError, match="invalid prices"):
        read_prices(path)
