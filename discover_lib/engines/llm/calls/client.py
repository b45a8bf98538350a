"""The one door to language models: cache, budget, limits, retries, streaming, totals.

Roles are synchronous and run in threads, one per conversation in flight.  All their calls meet in one event loop in a
thread of its own (`loop`).  A call passes, in this order: a duplicate in flight (shared), the cache, the
budget, the provider's slots and pace, the attempt itself; between attempts it waits outside the slot.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import queue
import random
import threading
import time
import zlib
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from discover_lib.base.tokens import count_tokens
from discover_lib.engines.llm.calls.direct import PREFIX, DirectWire, OwnServer
from discover_lib.engines.llm.calls.exchange import (
    RETRIED,
    Answered,
    AnswerStore,
    CallCache,
    Completion,
    Kind,
    LLMError,
    Meter,
    Request,
    Usage,
)
from discover_lib.engines.llm.calls.limits import Budget, Pace
from discover_lib.engines.llm.calls.litellm import LiteLLMWire
from discover_lib.engines.llm.calls.loop import CallsInFlight
from discover_lib.engines.llm.calls.prices import Price, price_of, provider_of
from discover_lib.engines.llm.calls.wire import OnText, Wire, WireReply

__all__ = [
    "Budget",
    "CallCache",
    "ClientSettings",
    "Completion",
    "Kind",
    "LLMClient",
    "LLMError",
    "Price",
    "Request",
    "Usage",
]

EMPTY_ATTEMPTS = 2  # an empty reply is asked for once more, not as often as a failure of the line


@dataclass(frozen=True)
class ClientSettings:
    """How models are reached.  Holds no key: `key_variable` only names where one is.

    Args:
        api_base: address of an OpenAI-compatible server, for "openai/<name>" models only, so that others can take part
            in the same run (OpenAI's own as "gpt-4.1"); None: the providers' own addresses.
        more_api_bases: further servers of the same models; conversations are shared out among all.
        key_variable: environment variable with the key for `api_base`; the provider's own key is never sent there.
        wire: "auto" goes straight to `api_base` where there is one and to a server of one's own that LiteLLM's
            variables name (hosted_vllm/, lm_studio/, llamafile/), and through LiteLLM else; "litellm" always.
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
        self._answers = cache if isinstance(cache, AnswerStore) else None
        self._stop = stop or threading.Event()
        self._rng = rng or random.Random()
        self._lock = threading.Lock()
        self._in_flight: dict[str, concurrent.futures.Future[Completion]] = {}
        self._meter = Meter()
        self._prepared: dict[tuple[str, str], Wire] = {}  # model and address
        self._wires: dict[str, Wire] = {}
        self._without_schema: set[str] = set()  # servers that refused one
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

    @property
    def usage(self) -> Usage:
        """Totals so far."""
        return self._meter.usage()

    def note(self, answer: Answered) -> None:
        """Count how an answer came about, and keep that beside the calls."""
        self._meter.noted(answer)
        if self._answers is not None:
            self._answers.put_answer(answer)

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
        key, mine = request.key, concurrent.futures.Future[Completion]()
        with self._lock:
            shared = self._in_flight.setdefault(key, mine)
        if shared is not mine:
            return self._found(shared.result(), on_text)
        try:
            mine.set_result(self._fetch(request, key, on_text))
        except BaseException as error:
            # An interrupt is this thread's alone; those who wait for the same call learn that it did not happen.
            interrupted = LLMError(f"{request.model}: the call was interrupted", "stopped")
            mine.set_exception(error if isinstance(error, Exception) else interrupted)
            raise
        finally:
            with self._lock:
                del self._in_flight[key]
        return mine.result()

    def _found(self, completion: Completion, on_text: OnText | None) -> Completion:
        self._meter.cached()
        if on_text:
            on_text(completion.text)
        return replace(completion, cached=True)

    def _fetch(self, request: Request, key: str, on_text: OnText | None) -> Completion:
        found = self._cache.get(key) if self._cache else None
        if found is not None:
            return self._found(found, on_text)
        sent = request.anew(self._answers.times_unusable(key) if self._answers else 0)
        try:
            if self._stop.is_set():
                raise LLMError(f"{request.model}: stopped before the call", "stopped")
            completion = self._send(sent, on_text)
        except LLMError as error:
            self._meter.failed(error)
            raise
        if self._cache:
            self._cache.put(key, sent, completion)
        self._meter.done(completion)
        return completion

    def _send(self, request: Request, on_text: OnText | None) -> Completion:
        addresses = self.settings.addresses_of(request.model)
        # All calls of a conversation go to one server, whose cache then holds what they begin with.
        address = addresses[zlib.crc32((request.session or request.key).encode()) % len(addresses)]
        wire = self._wire(request.model, address)
        texts: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        handle = self._calls.submit(
            self._call(request, wire, address or provider_of(request.model), texts.put if on_text else None)
        )
        try:
            if on_text:
                handle.add_done_callback(lambda _: texts.put(None))
                while (text := texts.get()) is not None:
                    on_text(text)
            return handle.result()
        except concurrent.futures.CancelledError:
            raise LLMError(f"{request.model}: stopped during the call", "stopped", attempts=1) from None
        except BaseException:  # whoever reads broke off
            handle.cancel()
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
        with self._lock:
            name = f"{own or address}"
            if name not in self._wires:
                self._wires[name] = _new_wire(settings, address, own)
            wire = self._wires[name]
        wire.prepare(model)
        self._prepared[model, address] = wire
        return wire

    # -- in the loop ---------------------------------------------------------------------------------------------

    async def _call(self, request: Request, wire: Wire, place: str, on_text: OnText | None) -> Completion:
        began = time.monotonic()
        price = price_of(request.model, self.settings.prices, self.settings.address_of(request.model))
        prompt, expected = self._expected_tokens(request)
        put_aside = 0.0
        if self.budget:
            put_aside = await self.budget.put_by(_cost(price, prompt, expected), request.model)
        spent = 0.0  # by a call that fails
        try:
            reply, attempts = await self._attempts(request, wire, place, prompt + expected, on_text)
            cost = _cost(price, reply.prompt_tokens, reply.completion_tokens)
            # What was not counted did cost something unknown; the limit must hold, so the estimate stands for it.
            spent = put_aside if cost is None else cost
        finally:
            if self.budget:
                self.budget.settle(put_aside, spent)
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
        self, request: Request, wire: Wire, place: str, tokens: int, on_text: OnText | None
    ) -> tuple[WireReply, int]:
        """Try until there is a reply or an error that stays; returns the reply and the attempts."""
        gate = self._gates.setdefault(place, _Gate(self.settings))
        refused = place in self._without_schema
        for attempt in itertools.count(1):
            request = replace(request, schema=None) if refused else request
            try:
                async with gate.slots:
                    reply = await gate.pass_through(tokens, self._attempt(request, wire, on_text))
                if refused:
                    self._without_schema.add(place)
                if reply.text.strip() or reply.finish_reason == "length":
                    return reply, attempt
                error = LLMError(f"{request.model}: the reply is empty ({reply.finish_reason})", "content")
                final = attempt >= EMPTY_ATTEMPTS
            except LLMError as failed:
                error = failed
                if error.kind == "bad_request" and request.schema is not None:  # which the server may not know
                    refused = True
                    continue
                wait = error.retry_after_seconds or 0.0
                final = error.kind not in RETRIED or wait > self.settings.patience_seconds
            if final or attempt >= self.settings.max_attempts:
                raise _after(error, attempt)
            await asyncio.sleep(self._wait_seconds(attempt, error.retry_after_seconds))
        raise AssertionError("the loop returns or raises")

    async def _attempt(self, request: Request, wire: Wire, on_text: OnText | None) -> WireReply:
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
            raise LLMError(f"{request.model}: no answer within {limit:g} s", "timeout") from None

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


def _cost(price: Price | None, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
    """Dollars; None where the price or a count is unknown."""
    if price is None or prompt_tokens is None or completion_tokens is None:
        return None
    return price.cost(prompt_tokens, completion_tokens)


def _new_wire(settings: ClientSettings, address: str, own: OwnServer | None) -> Wire:
    if own:
        return DirectWire(own.address, own.key_variable, key_needed=False)
    if address and settings.wire == "auto":
        return DirectWire(address, settings.key_variable)
    return LiteLLMWire(address or None, settings.key_variable, settings.timeout_seconds)


def _after(error: LLMError, attempts: int) -> LLMError:
    line = f"{error} (after {attempts} attempts)" if attempts > 1 else str(error)
    wait = error.retry_after_seconds
    if wait:
        line += f"; the provider asks to wait {wait:g} s"
    return LLMError(line, error.kind, attempts=attempts, retry_after_seconds=wait)
