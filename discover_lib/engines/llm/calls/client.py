"""The one door to language models: cache, budget, limits, retries, streaming, totals.

Roles are synchronous and run in threads, one per conversation in flight.  All their calls meet in one event loop in a
thread of its own (`background`).  A call passes, in this order: a duplicate in flight (shared), the cache, the
budget, the provider's slots and pace, the attempt itself; between attempts it waits outside the slot.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
import queue
import random
import threading
import time
import uuid
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from discover_lib.base.tokens import count_tokens
from discover_lib.engines.llm.calls import probe
from discover_lib.engines.llm.calls.direct import PREFIX, DirectWire, OwnServer
from discover_lib.engines.llm.calls.limits import Budget, Pace
from discover_lib.engines.llm.calls.litellm import LiteLLMWire
from discover_lib.engines.llm.calls.loop import CallsInFlight
from discover_lib.engines.llm.calls.meter import Meter
from discover_lib.engines.llm.calls.prices import Price, price_of, provider_of
from discover_lib.engines.llm.calls.records import (
    ENDS_THE_RUN,
    LOST_KEY,
    RETRIED,
    CallCache,
    Completion,
    CountsUnusable,
    Kind,
    LLMError,
    Lost,
    Request,
    Tally,
    Usage,
)
from discover_lib.engines.llm.calls.servers import SERVERS
from discover_lib.engines.llm.calls.wire import NativeSchema, OnText, Wire, WireReply, sent_parameters

__all__ = [
    "Budget",
    "CallCache",
    "ClientSettings",
    "Completion",
    "Kind",
    "LLMClient",
    "LLMError",
    "Lost",
    "Price",
    "Request",
    "Tally",
    "Usage",
]

EMPTY_ATTEMPTS = 2  # an empty reply is asked for once more, not as often as a failure of the line


@dataclass(frozen=True)
class ClientSettings:
    """How models are reached.  Holds no key: `key_variable` only names where one is.

    Args:
        api_base: address of an OpenAI-compatible server, for "openai/<name>" models only, so that others can take part
            in the same run (OpenAI's own as "gpt-4.1"); None: the providers' own addresses.
        more_api_bases: further servers of the same models; conversations are shared out among all (`Servers`).
        key_variable: environment variable with the key for `api_base`; the provider's own key is never sent there.
        wire: "auto" goes straight to `api_base` where there is one and to a server of one's own that LiteLLM's
            variables name (hosted_vllm/, lm_studio/, llamafile/), and through LiteLLM else; "litellm" always.
        native_schema: whether the JSON schema of structured answers is sent; "auto": where it is known to be taken,
            and to a server of one's own where a probe shows that it obeys it: one tiny call per server and model.
        timeout_seconds: of one attempt; of a stream, the longest pause.
        max_attempts: requests sent for one call at most.
        concurrency: requests in flight per provider.
        requests_per_minute, tokens_per_minute: per provider; calls queue for them.
        first_wait_seconds, longest_wait_seconds: back-off between attempts; doubles, with jitter.
        patience_seconds: a provider that asks for a longer wait than this is not waited for.
        expected_completion_tokens: for the budget's estimate where a request has no `max_tokens`.
        prices: own prices by model name; they win over LiteLLM's table.
        env_file: read for keys before the first call; what is set already stays.
    """

    api_base: str | None = None
    more_api_bases: tuple[str, ...] = ()
    key_variable: str | None = None
    wire: Literal["auto", "litellm"] = "auto"
    native_schema: NativeSchema = "auto"
    timeout_seconds: float = 120.0
    max_attempts: int = 6
    concurrency: int = 64
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 30.0
    patience_seconds: float = 120.0
    expected_completion_tokens: int = 1000
    prices: Mapping[str, Price] = field(default_factory=dict)
    env_file: Path | None = Path(".env")

    def __post_init__(self) -> None:
        for address in self._own:
            if not address.startswith(("http://", "https://")):
                raise ValueError(f"api_base is a URL such as http://localhost:8000/v1, got {address!r}")
            if "@" in address.split("/")[2]:
                raise ValueError("api_base holds no password; put the key in an environment variable (key_variable)")
        if len(set(self._own)) < len(self._own):
            raise ValueError("an api_base is given twice")
        if min(self.max_attempts, self.concurrency) < 1 or self.timeout_seconds <= 0:
            raise ValueError("max_attempts, concurrency and timeout_seconds are positive")

    @property
    def _own(self) -> tuple[str, ...]:
        return () if self.api_base is None else (self.api_base, *self.more_api_bases)

    def addresses_of(self, model: str) -> tuple[str, ...]:
        """Where `model` is asked; ("",): at its provider's own address."""
        return (self._own if model.startswith(PREFIX) else ()) or ("",)

    def probed_servers(self, model: str) -> int:
        """On how many servers `model` is asked once whether it takes JSON schemas."""
        if self.native_schema != "auto":
            return 0
        own = OwnServer.of(model) if self.wire == "auto" else None
        return 1 if own else len(self._own) if model.startswith(PREFIX) else 0

    def address_of(self, model: str) -> str | None:
        """Where `model` is asked first of all; None: at its provider's own address."""
        return self.api_base if model.startswith(PREFIX) else None


class LLMClient:
    """Asks language models; safe to use from many threads.

    Args:
        settings: how models are reached.
        cache: where finished calls are kept; a call found there is not made again.
        budget: dollars that may be spent.
        stop: when set, waiting calls and calls in flight end at once with an `LLMError` of kind "stopped".
        rng: source of the back-off's jitter.
    """

    def __init__(
        self,
        settings: ClientSettings | None = None,
        *,
        cache: CallCache | None = None,
        budget: Budget | None = None,
        stop: threading.Event | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.settings = settings or ClientSettings()
        self.budget = budget
        self._cache = cache
        self._stop = stop or threading.Event()
        self._rng = rng or random.Random()
        self._lock = threading.Lock()
        self._in_flight: dict[str, concurrent.futures.Future[Completion]] = {}
        self._meter = Meter(cache)
        self._prepared: dict[tuple[str, str], Wire] = {}  # model and address
        self._schema_obeyed: dict[tuple[str, str], concurrent.futures.Future[bool]] = {}  # model and server
        self._not_taken: dict[str, tuple[str, ...]] = {}  # model → parameters
        self._wires: dict[str, Wire] = {}
        self._gates: dict[str, _Gate] = {}  # touched in the loop only
        self._calls = CallsInFlight(self._stop)

    # -- asking --------------------------------------------------------------------------------------------------

    def complete(self, request: Request) -> Completion:
        """Ask, and wait for the completion.

        Raises:
            LLMError: after the last attempt, or at once where trying again is pointless.
        """
        return self._ask(request, None)

    def stream(self, request: Request, on_text: OnText) -> Completion:
        """Ask, and show the text as it grows.

        `on_text` is called in this thread with the *whole text so far*, so that a second attempt, which begins anew,
        needs nothing from the caller.

        Raises:
            LLMError: as for `complete`.
        """
        return self._ask(request, on_text)

    def warm_up(self, model: str) -> None:
        """Do what the first call to `model` would do before it sends: read keys, import, check.

        Raises:
            LLMError: kind "auth" (a key is missing: its variable is named) or "bad_request" (no such provider).
        """
        for address in self.settings.addresses_of(model):
            self._wire(model, address)

    def probe_schema(self, model: str, timeout_seconds: float | None = None) -> probe.Verdict | None:
        """Ask the first server of a model now whether it takes JSON schemas; None where a table knows.

        Args:
            timeout_seconds: of the answer; None: the settings'.

        Raises:
            LLMError: as `warm_up`, and of a kind that ends the run.
        """
        address = self.settings.addresses_of(model)[0]
        wire = self._wire(model, address)
        if not wire.probes_schema:
            return None
        greeting = ({"role": "user", "content": "Greet me."},)
        anything = Request(model, greeting, probe.PURPOSE, timeout_seconds=timeout_seconds)
        return self._probe(probe.probe_of(anything), wire, address or provider_of(model))

    @property
    def usage(self) -> Usage:
        """Totals so far."""
        return self._meter.snapshot()

    def count_structured(self, purpose: str, outcome: str) -> None:
        """Count how a structured answer came about (`discover_lib.engines.llm.calls.structured`)."""
        self._meter.structured(purpose, outcome)

    def remark(self, purpose: str, what: str, times: int = 1) -> None:
        """Count what was mended or left out of an answer that was taken ("stray ids", "contradicted")."""
        self._meter.remark(purpose, what, times)

    def close(self) -> None:
        """End calls in flight and close connections.  The client can be used again afterwards."""
        with self._lock:
            wires, self._wires = list(self._wires.values()), {}
            self._prepared.clear()
        if wires:
            self._calls.end(*(wire.close() for wire in wires))

    def __enter__(self) -> LLMClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # -- in the caller's thread ----------------------------------------------------------------------------------

    def _ask(self, request: Request, on_text: OnText | None) -> Completion:
        key = request.key
        with self._lock:
            shared = self._in_flight.get(key)
            if shared is None:
                mine = self._in_flight[key] = concurrent.futures.Future[Completion]()
        if shared is not None:
            completion = self._wait_for_other(shared, request)
            if on_text:
                on_text(completion.text)
            return completion
        try:
            completion = self._fetch(request, key, on_text)
        except BaseException as error:
            # An interrupt is this thread's alone; those who wait for the same call learn that it did not happen.
            interrupted = LLMError(f"{request.model}: the call was interrupted", "stopped")
            mine.set_exception(error if isinstance(error, Exception) else interrupted)
            raise
        else:
            mine.set_result(completion)
            return completion
        finally:
            with self._lock:
                del self._in_flight[key]

    def _wait_for_other(self, shared: concurrent.futures.Future[Completion], request: Request) -> Completion:
        try:
            completion = replace(shared.result(), cached=True)
        except Exception as error:
            raise copy.copy(error) from None  # each thread its own traceback
        self._meter.cached(request, completion)
        return completion

    def _fetch(self, request: Request, key: str, on_text: OnText | None) -> Completion:
        found = self._cache.get(key) if self._cache else None
        if found is not None:
            self._meter.cached(request, found)
            if on_text:
                on_text(found.text)
            return replace(found, cached=True)
        bill = self._new_bill(request)
        sent = request.anew(self._cache.times_unusable(key) if isinstance(self._cache, CountsUnusable) else 0)
        try:
            if self._stop.is_set():
                raise LLMError(f"{request.model}: stopped before the call", "stopped")
            completion = self._send(sent, on_text, bill)
        except LLMError as error:
            self._meter.failed(request, error)
            raise
        finally:
            self._keep_lost(request, tuple(bill.lost))
        if self._cache:
            self._cache.put(key, sent, completion)
        self._meter.done(request, completion)
        return completion

    def _keep_lost(self, request: Request, lost: tuple[Lost, ...]) -> None:
        """Count attempts that brought nothing, and keep what is known of their cost beside the finished calls."""
        for each in lost:
            self._meter.lost(request, each)
            if self._cache:
                tokens = each.prompt_tokens, each.completion_tokens
                empty = Completion("", *tokens, each.cost, finish_reason=each.kind)
                asked = replace(request, purpose=f"{request.purpose} (lost)")
                self._cache.put(LOST_KEY + uuid.uuid4().hex, asked, empty)

    def _send(self, request: Request, on_text: OnText | None, bill: _Bill) -> Completion:
        """Send to the conversation's server; from one that cannot be reached any more it moves to another."""
        addresses, tried, attempts = self.settings.addresses_of(request.model), list[str](), 0
        while True:
            address = SERVERS.begin(request.session, addresses, tried)
            try:
                completion = self._send_to(address, request, on_text, bill)
                return replace(completion, attempts=completion.attempts + attempts)
            except LLMError as error:
                tried.append(address)
                attempts += error.attempts
                if error.kind != "connection" or len(tried) == len(addresses):
                    error.attempts = attempts
                    raise
                SERVERS.unreachable(address)
                self._meter.retried(error.kind)
            finally:
                SERVERS.end(address)

    def _send_to(self, address: str, request: Request, on_text: OnText | None, bill: _Bill) -> Completion:
        wire, asked = self._wire(request.model, address), sent_parameters(request)
        self._meter.left_out(request.model, [name for name in self._not_taken[request.model] if name in asked])
        gate = address or provider_of(request.model)
        if request.schema is not None and wire.probes_schema and not self._obeys_schema(request, wire, gate):
            request = replace(request, schema=None)
        return self._send_by(wire, gate, request, on_text, bill, self.settings.max_attempts)

    def _obeys_schema(self, request: Request, wire: Wire, gate: str) -> bool:
        """What the probe of this server and model said; the first to ask sends it, the others wait for it."""
        place = request.model, gate
        with self._lock:
            shared = self._schema_obeyed.get(place)
            if shared is None:
                mine = self._schema_obeyed[place] = concurrent.futures.Future[bool]()
        if shared is not None:
            return shared.result()
        verdict: probe.Verdict = "undecided"
        kept = self._cache if isinstance(self._cache, probe.KeepsVerdicts) else None
        try:
            verdict = (kept and kept.schema_verdict(*place)) or self._probe(probe.probe_of(request), wire, gate)
            if kept and verdict in probe.LASTING:
                kept.put_schema_verdict(*place, verdict)
        finally:
            if verdict == "undecided":
                with self._lock:
                    del self._schema_obeyed[place]
            mine.set_result(verdict == "obeyed")
        return verdict == "obeyed"

    def _probe(self, request: Request, wire: Wire, gate: str) -> probe.Verdict:
        """Send a probe, once, and count it; a refusal is an answer, no failure.

        Raises:
            LLMError: of a kind that ends the run.
        """
        bill = self._new_bill(request)
        try:
            completion = self._send_by(wire, gate, request, None, bill, attempts=1)
        except LLMError as error:
            self._meter.sent(request, error.attempts)
            if error.kind in ENDS_THE_RUN:
                raise
            verdict = probe.verdict_on(error)
        else:
            if self._cache:
                self._cache.put(probe.KEY + uuid.uuid4().hex, request, completion)
            self._meter.done(request, completion)
            verdict = probe.verdict_on(completion.text)
        finally:
            self._keep_lost(request, tuple(bill.lost))
        self._meter.remark(request.purpose, verdict, 1)
        return verdict

    def _new_bill(self, request: Request) -> _Bill:
        return _Bill(price_of(request.model, self.settings.prices, self.settings.address_of(request.model)))

    def _send_by(
        self, wire: Wire, gate: str, request: Request, on_text: OnText | None, bill: _Bill, attempts: int
    ) -> Completion:
        texts: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        handle = self._calls.submit(self._call(request, wire, gate, texts.put if on_text else None, bill, attempts))
        try:
            if on_text:
                handle.add_done_callback(lambda _: texts.put(None))
                while (text := texts.get()) is not None:
                    on_text(text)
            return handle.result()
        except concurrent.futures.CancelledError:
            raise LLMError(f"{request.model}: stopped during the call", "stopped", attempts=1) from None
        except LLMError:
            raise
        except BaseException:  # whoever reads broke off
            handle.cancel()
            bill.lose("stopped")
            raise

    def _wire(self, model: str, address: str) -> Wire:
        """The way to `model`, made ready: imports and the check for its key happen here, once."""
        if (model, address) in self._prepared:
            return self._prepared[model, address]
        settings = self.settings
        if settings.env_file and settings.env_file.is_file():
            from dotenv import load_dotenv

            load_dotenv(settings.env_file, override=False)
        own = OwnServer.of(model) if settings.wire == "auto" else None
        way = "straight" if own or (settings.wire == "auto" and address) else "through LiteLLM"
        name = f"{way} to {own or address or 'providers'}"
        with self._lock:
            if name not in self._wires:
                self._wires[name] = _new_wire(settings, address, own)
            wire = self._wires[name]
        self._not_taken[model] = wire.prepare(model)
        self._prepared[model, address] = wire
        return wire

    # -- in the loop ---------------------------------------------------------------------------------------------

    async def _call(
        self, request: Request, wire: Wire, gate: str, on_text: OnText | None, bill: _Bill, most: int
    ) -> Completion:
        began = time.monotonic()
        prompt, expected = self._expected_tokens(request)
        estimate = bill.cost(prompt, expected)
        put_aside = await self.budget.put_by(estimate, request.model) if self.budget else 0.0
        costs: list[float | None] = []  # of the reply; a call that fails has none
        try:
            reply, attempts = await self._attempts(
                request, wire, self._gate(gate), prompt + expected, on_text, bill, most
            )
            cost = bill.cost(reply.prompt_tokens, reply.completion_tokens)
            costs.append(cost)
        finally:
            if self.budget:
                # What was not counted did cost something unknown; the limit must hold, so the estimate stands for it.
                costs += [each.cost for each in bill.lost]
                self.budget.settle(put_aside, sum(put_aside if each is None else each for each in costs))
        return Completion(
            reply.text,
            reply.prompt_tokens,
            reply.completion_tokens,
            cost,
            reply.finish_reason,
            time.monotonic() - began,
            attempts,
            reasoning_tokens=reply.reasoning_tokens,
        )

    async def _attempts(
        self, request: Request, wire: Wire, gate: _Gate, tokens: int, on_text: OnText | None, bill: _Bill, most: int
    ) -> tuple[WireReply, int]:
        """Try, at `most` so often, until there is a text or an error that stays; returns the reply and the attempts."""
        for attempt in range(1, most + 1):
            try:
                async with gate.slots:
                    reply = await gate.pass_through(tokens, self._attempt(request, wire, on_text, bill))
                if reply.text.strip():
                    return reply, attempt
                error = _empty(request, reply)
                bill.lose(error.kind, reply)
                final = reply.finish_reason in ("length", "content_filter") or attempt >= EMPTY_ATTEMPTS
            except LLMError as failed:
                error = failed
                if error.perhaps_billed:
                    bill.lose(error.kind)
                wait = error.retry_after_seconds or 0.0
                final = error.kind not in RETRIED or wait > self.settings.patience_seconds
            if final or attempt == most:
                raise _after(error, attempt)
            self._meter.retried(error.kind)
            await asyncio.sleep(self._wait_seconds(attempt, error.retry_after_seconds))
        raise AssertionError("the loop returns or raises")

    async def _attempt(self, request: Request, wire: Wire, on_text: OnText | None, bill: _Bill) -> WireReply:
        limit = request.timeout_seconds or self.settings.timeout_seconds
        try:
            async with asyncio.timeout(limit) as deadline:
                if on_text is None:
                    return await wire.send(request, None)
                now = asyncio.get_running_loop().time

                def show(text: str) -> None:
                    deadline.reschedule(now() + limit)
                    on_text(text)

                return await wire.send(request, show)
        except TimeoutError:
            line = f"{request.model}: no answer within {limit:g} s"
            raise LLMError(line, "timeout", perhaps_billed=True) from None
        except asyncio.CancelledError:
            bill.lose("stopped")
            raise

    def _wait_seconds(self, attempt: int, retry_after_seconds: float | None) -> float:
        """Exponential back-off with jitter, and never earlier than the provider asked for."""
        ceiling = min(self.settings.longest_wait_seconds, self.settings.first_wait_seconds * 2 ** (attempt - 1))
        jitter = self._rng.uniform(0.5, 1.0) * ceiling
        # On top of what the provider asked for, so that those who were told the same do not return all at once.
        return jitter if retry_after_seconds is None else retry_after_seconds + jitter / 4

    def _expected_tokens(self, request: Request) -> tuple[int, int]:
        """Of the prompt and of the completion, where a limit needs to know."""
        if self.budget is None and self.settings.tokens_per_minute is None:
            return 0, 0  # counting holds up the loop
        prompt = sum(count_tokens(message["content"]) for message in request.messages)
        return prompt, request.max_tokens or self.settings.expected_completion_tokens

    def _gate(self, provider: str) -> _Gate:
        if provider not in self._gates:
            self._gates[provider] = _Gate(self.settings)
        return self._gates[provider]


class _Bill:
    """What one call costs: the price, and the attempts that were lost on the way."""

    def __init__(self, price: Price | None) -> None:
        self._price = price
        self.lost: list[Lost] = []

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """Dollars; None where the price or a count is unknown."""
        if self._price is None or prompt_tokens is None or completion_tokens is None:
            return None
        return self._price.cost(prompt_tokens, completion_tokens)

    def lose(self, kind: Kind, reply: WireReply | None = None) -> None:
        """Note an attempt that was, or may have been, billed; a call is stopped once, whoever notices first."""
        if kind == "stopped" and any(each.kind == kind for each in self.lost):
            return
        tokens = (reply.prompt_tokens, reply.completion_tokens) if reply else (None, None)
        self.lost.append(Lost(kind, *tokens, self.cost(*tokens)))


class _Gate:
    """One provider's limits: requests in flight, requests and tokens per minute."""

    def __init__(self, settings: ClientSettings) -> None:
        self.slots = asyncio.Semaphore(settings.concurrency)
        self._requests = Pace(settings.requests_per_minute) if settings.requests_per_minute else None
        self._tokens = Pace(settings.tokens_per_minute) if settings.tokens_per_minute else None

    async def pass_through(self, tokens: int, attempt: Coroutine[Any, Any, WireReply]) -> WireReply:
        """Wait for the pace, then make the attempt; `tokens` is its estimate, corrected by what came back."""
        try:
            if self._requests:
                await self._requests.take()
            if self._tokens:
                await self._tokens.take(tokens)
        except BaseException:
            attempt.close()
            raise
        reply = await attempt
        if self._tokens and reply.prompt_tokens is not None and reply.completion_tokens is not None:
            self._tokens.correct(reply.prompt_tokens + reply.completion_tokens - tokens)
        return reply


def _new_wire(settings: ClientSettings, address: str, own: OwnServer | None) -> Wire:
    if own:
        return DirectWire(own.address, own.key_variable, settings.native_schema, key_needed=False)
    if address and settings.wire == "auto":
        return DirectWire(address, settings.key_variable, settings.native_schema)
    return LiteLLMWire(address or None, settings.key_variable, settings.native_schema, settings.timeout_seconds)


def _empty(request: Request, reply: WireReply) -> LLMError:
    if reply.finish_reason == "length":
        line = f"{request.model}: all tokens were used before any text was written; raise max_tokens"
    elif reply.finish_reason == "content_filter":
        line = f"{request.model}: the provider's content filter held the reply back"
    else:
        line = f"{request.model}: the reply is empty"
    return LLMError(line, "content", cut=reply.finish_reason == "length")


def _after(error: LLMError, attempts: int) -> LLMError:
    line = f"{error} (after {attempts} attempts)" if attempts > 1 else str(error)
    wait = error.retry_after_seconds
    if wait:
        line += f"; the provider asks to wait {wait:g} s"
    return LLMError(line, error.kind, attempts=attempts, retry_after_seconds=wait, cut=error.cut)
