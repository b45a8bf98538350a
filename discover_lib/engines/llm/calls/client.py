"""The client for language models: cache, budget, limits, retries, totals.

Roles are synchronous and run in threads, one per conversation in flight.  All calls run in one event loop in its own
thread.  A call passes, in this order: a duplicate in flight (shared), the cache, the budget, the provider's slots,
the attempt itself.  Between attempts it waits outside the slot.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import itertools
import random
import threading
import time
import zlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from discover_lib.base.tokens import count_tokens
from discover_lib.engines.llm.calls.exchange import (
    RETRIED,
    Answered,
    CallCache,
    Completion,
    Kind,
    LLMError,
    Price,
    Request,
    Spent,
    price_of,
    provider_of,
)
from discover_lib.engines.llm.calls.wires import KEY_VARIABLES, PREFIX, DirectWire, LiteLLMWire, Wire

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
]

EMPTY_ATTEMPTS = 2  # an empty reply is retried once
SMALLEST_DOLLARS = 1e-12  # sums of cents as floats are not exact
STOP_LOOK_SECONDS = 0.2  # between looks at the stop event
END_SECONDS = 10.0  # for cancelled calls to end


@dataclass(frozen=True)
class ClientSettings:
    """How models are reached.  Contains no key: `key_variable` names the environment variable with the key.

    Args:
        api_base: address of an OpenAI-compatible server, for "openai/<name>" models only, so that other models can
            take part in the same run (OpenAI's own as "gpt-4.1").  None: the providers' own addresses.
        more_api_bases: further servers of the same models, which share the conversations.
        key_variable: environment variable with the key for `api_base`; the provider's own key is never sent there.
        timeout_seconds: timeout of one attempt.
        max_attempts: maximum number of requests for one call.
        concurrency: requests in flight per provider.
        first_wait_seconds, longest_wait_seconds: back-off between attempts; doubles, with jitter.
        patience_seconds: the call fails if the provider asks for a longer wait than this.
        expected_completion_tokens: for the budget's estimate of a request without `max_tokens`.
        prices: the user's prices by model name; they replace LiteLLM's.
        env_file: read for keys before the first call; variables that are already set stay.
    """

    api_base: str | None = None
    more_api_bases: tuple[str, ...] = ()
    key_variable: str | None = None
    timeout_seconds: float = 120.0
    max_attempts: int = 6
    concurrency: int = 64
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

    @property
    def _own(self) -> tuple[str, ...]:
        return () if self.api_base is None else (self.api_base, *self.more_api_bases)

    def addresses_of(self, model: str) -> tuple[str, ...]:
        """The servers of `model`; ("",) is the provider's own address."""
        return (self._own if model.startswith(PREFIX) else ()) or ("",)

    def address_of(self, model: str) -> str | None:
        """The first server of `model`; None is the provider's own address."""
        return self.addresses_of(model)[0] or None


class LLMClient(AbstractContextManager["LLMClient"]):
    """Asks language models; safe to use from many threads.

    Args:
        settings: how models are reached.
        cache: store of finished calls; a call in it is not repeated.
        budget: dollars that may be spent.
        stop: when set, waiting calls and calls in flight end at once with an `LLMError` of kind "stopped".
        rng: source of the back-off's jitter.

    Attributes:
        spent: totals of the calls paid for so far; its attempts include those of failed calls.
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
        self.spent = Spent()
        self._cache = cache
        self._stop = stop or threading.Event()
        self._rng = rng or random.Random()
        self._lock = threading.Lock()
        self._in_flight: dict[str, concurrent.futures.Future[Completion]] = {}
        self._wires: dict[tuple[str, str], Wire] = {}  # (model, address) → its wire, ready to send
        self._without_schema: set[str] = set()  # servers that refused one
        self._slots: dict[str, asyncio.Semaphore] = {}  # used in the loop only
        self._sent: set[concurrent.futures.Future[Completion]] = set()
        if self.settings.key_variable:
            KEY_VARIABLES.add(self.settings.key_variable)

    # -- asking --------------------------------------------------------------------------------------------------

    def complete(self, request: Request) -> Completion:
        """Ask, and wait for the completion.

        Raises:
            LLMError: after the last attempt, or at once where a retry cannot help.
        """
        key, mine = request.key, concurrent.futures.Future[Completion]()
        with self._lock:
            shared = self._in_flight.setdefault(key, mine)
        if shared is not mine:
            return replace(shared.result(), cached=True)
        try:
            mine.set_result(self._fetch(request, key))
        except BaseException as error:
            # An interrupt belongs to this thread alone; other threads learn that the call did not happen.
            interrupted = LLMError(f"{request.model}: the call was interrupted", "stopped")
            mine.set_exception(error if isinstance(error, Exception) else interrupted)
            raise
        finally:
            with self._lock:
                del self._in_flight[key]
        return mine.result()

    def warm_up(self, model: str) -> None:
        """Prepare the first call to `model`: read keys, import, check.

        Raises:
            LLMError: kind "auth" (a key's variable is not set) or "bad_request" (unknown provider).
        """
        for address in self.settings.addresses_of(model):
            self._wire(model, address)

    def note(self, answer: Answered) -> None:
        """Save the outcome of an answer with the calls."""
        if self._cache is not None:
            self._cache.put_answer(answer)

    def close(self) -> None:
        """End calls in flight and close connections.  The client can be used again afterwards."""
        for handle in tuple(self._sent):
            handle.cancel()
        wires, self._wires = self._wires, {}

        async def close_all() -> None:
            for wire in wires.values():
                if isinstance(wire, DirectWire):  # all clients of the process share LiteLLM's connections
                    await wire.close()

        if wires:
            asyncio.run_coroutine_threadsafe(close_all(), process_loop()).result(END_SECONDS)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # -- in the caller's thread ----------------------------------------------------------------------------------

    def _fetch(self, request: Request, key: str) -> Completion:
        found = self._cache.get(key) if self._cache else None
        if found is not None:
            return replace(found, cached=True)
        sent = request.anew(self._cache.times_unusable(key) if self._cache else 0)
        try:
            completion = self._send(sent)
        except LLMError as error:
            self._spend(Spent(attempts=error.attempts))
            raise
        if self._cache:
            self._cache.put(key, sent, completion)
        self._spend(Spent.of(completion))
        return completion

    def _spend(self, more: Spent) -> None:
        with self._lock:
            self.spent += more

    def _send(self, request: Request) -> Completion:
        addresses = self.settings.addresses_of(request.model)
        # All calls of a conversation go to one server, which then has their common beginning in its cache.
        address = addresses[zlib.crc32((request.session or request.key).encode()) % len(addresses)]
        wire = self._wire(request.model, address)
        call = self._call(request, wire, address or provider_of(request.model))
        handle = asyncio.run_coroutine_threadsafe(call, process_loop())
        self._sent.add(handle)
        try:
            while not handle.done():
                if self._stop.is_set():
                    handle.cancel()
                concurrent.futures.wait([handle], STOP_LOOK_SECONDS)
            return handle.result()
        except concurrent.futures.CancelledError:
            raise LLMError(f"{request.model}: stopped", "stopped", attempts=1) from None
        finally:
            handle.cancel()  # an interrupt of this thread ends the call
            self._sent.discard(handle)

    def _wire(self, model: str, address: str) -> Wire:
        """The wire to `model`.  Its first use imports libraries and checks the key."""
        if ready := self._wires.get((model, address)):
            return ready
        settings = self.settings
        if settings.env_file and settings.env_file.is_file():
            from dotenv import load_dotenv

            load_dotenv(settings.env_file, override=False)
        wire: Wire = DirectWire(address, settings.key_variable) if address else LiteLLMWire()
        wire.prepare(model)
        return self._wires.setdefault((model, address), wire)

    # -- in the loop ---------------------------------------------------------------------------------------------

    async def _call(self, request: Request, wire: Wire, place: str) -> Completion:
        began = time.monotonic()
        price = price_of(request.model, self.settings.prices, self.settings.address_of(request.model))
        reserved = 0.0
        if self.budget:
            prompt = sum(count_tokens(message["content"]) for message in request.messages)
            expected = request.max_tokens or self.settings.expected_completion_tokens
            reserved = await self.budget.reserve(_cost(price, prompt, expected), request.model)
        spent = 0.0  # by a call that fails
        try:
            reply, attempts = await self._attempts(request, wire, place)
            cost = _cost(price, reply.prompt_tokens, reply.completion_tokens)
            # A reply without counts did cost something, so the budget counts the estimate.
            spent = reserved if cost is None else cost
        finally:
            if self.budget:
                self.budget.settle(reserved, spent)
        return replace(reply, cost=cost, seconds=time.monotonic() - began, attempts=attempts)

    async def _attempts(self, request: Request, wire: Wire, place: str) -> tuple[Completion, int]:
        """The reply and the number of attempts; retries until there is a reply or a final error."""
        slots = self._slots.setdefault(place, asyncio.Semaphore(self.settings.concurrency))
        refused = place in self._without_schema
        for attempt in itertools.count(1):
            request = replace(request, schema=None) if refused else request
            try:
                async with slots:
                    if self._stop.is_set():  # a call that was stopped has freed the slot
                        raise LLMError(f"{request.model}: stopped", "stopped")
                    reply = await self._attempt(request, wire)
                if refused:
                    self._without_schema.add(place)
                if reply.text.strip() or reply.finish_reason == "length":
                    return reply, attempt
                error = LLMError(f"{request.model}: the reply is empty ({reply.finish_reason})", "content")
                final = attempt >= EMPTY_ATTEMPTS
            except LLMError as failed:
                error = failed
                if error.kind == "bad_request" and request.schema is not None:  # unknown to the server, perhaps
                    refused = True
                    continue
                wait = error.retry_after_seconds or 0.0
                final = error.kind not in RETRIED or wait > self.settings.patience_seconds
            if final or attempt >= self.settings.max_attempts:
                raise _after(error, attempt)
            await asyncio.sleep(self._wait_seconds(attempt, error.retry_after_seconds))
        raise AssertionError("the loop returns or raises")

    async def _attempt(self, request: Request, wire: Wire) -> Completion:
        limit = request.timeout_seconds or self.settings.timeout_seconds
        try:
            async with asyncio.timeout(limit):
                return await wire.send(request)
        except TimeoutError:
            raise LLMError(f"{request.model}: no answer within {limit:g} s", "timeout") from None

    def _wait_seconds(self, attempt: int, retry_after_seconds: float | None) -> float:
        """Exponential back-off with jitter, and at least the wait that the provider asked for."""
        ceiling = min(self.settings.longest_wait_seconds, self.settings.first_wait_seconds * 2 ** (attempt - 1))
        jitter = self._rng.uniform(0.5, 1.0) * ceiling
        # The jitter is added, so that calls with the same retry-after do not all return at once.
        return jitter if retry_after_seconds is None else retry_after_seconds + jitter / 4


def _cost(price: Price | None, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
    """Dollars; None where the price or a count is unknown."""
    if price is None or prompt_tokens is None or completion_tokens is None:
        return None
    return price.cost(prompt_tokens, completion_tokens)


def _after(error: LLMError, attempts: int) -> LLMError:
    line = f"{error} (after {attempts} attempts)" if attempts > 1 else str(error)
    wait = error.retry_after_seconds
    if wait:
        line += f"; the provider asks to wait {wait:g} s"
    return LLMError(line, error.kind, attempts=attempts, retry_after_seconds=wait)


# -- budget --------------------------------------------------------------------------------------------------------


class Budget:
    """Dollars that may be spent.

    The estimated cost of a call is reserved before it is sent.  If the reservations of calls in flight use up the
    budget, a call waits for them; if the money spent does, the call is refused.  So the overrun is at most the excess
    of the calls in flight over their estimates.

    Args:
        dollars: the limit.
        spent: spent before (a run that is resumed).
    """

    def __init__(self, dollars: float, *, spent: float = 0.0) -> None:
        self.dollars = dollars
        self.spent = spent
        self.reserved = 0.0
        self._settled = asyncio.Event()

    async def reserve(self, estimate: float | None, model: str) -> float:
        """Reserve the estimated cost of a call; returns the dollars for `settle`.

        Raises:
            LLMError: kind "budget": spent, or the price is unknown.
        """
        if estimate is None:
            raise LLMError(
                f"{model} has no known price, so a budget cannot hold: "
                "give its price (0 for your own machine), or set no budget",
                "budget",
            )
        while not self._fits(estimate + self.reserved):
            if self.reserved <= SMALLEST_DOLLARS or not self._fits(estimate):
                raise LLMError(
                    f"the budget of ${self.dollars:.4f} does not cover another call to {model} "
                    f"(${self.spent:.4f} spent by then, up to about ${estimate:.4f} needed)",
                    "budget",
                )
            self._settled.clear()
            await self._settled.wait()
        self.reserved += estimate
        return estimate

    def settle(self, reserved: float, cost: float) -> None:
        """Replace a reservation by the cost of the call."""
        self.reserved -= reserved
        self.spent += cost
        self._settled.set()

    def _fits(self, dollars: float) -> bool:
        return self.spent + dollars <= self.dollars + SMALLEST_DOLLARS


# -- the event loop ------------------------------------------------------------------------------------------------


_starting = threading.Lock()
_running: list[tuple[asyncio.AbstractEventLoop, threading.Thread]] = []


def process_loop() -> asyncio.AbstractEventLoop:
    """The process's event loop for calls, in its own thread until the process ends.

    There is one per process, because LiteLLM's connections and workers belong to the loop that first used them.  It is
    started on first use, and again in a forked process.
    """
    with _starting:
        if not _running or not _running[-1][1].is_alive():
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_run, args=(loop,), name="llm-calls", daemon=True)
            thread.start()
            atexit.register(_end, loop, thread)
            _running.append((loop, thread))
        return _running[-1][0]


def _run(loop: asyncio.AbstractEventLoop) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:  # cancels the remaining calls at its end
        runner.get_loop().run_forever()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if thread.is_alive():
        loop.call_soon_threadsafe(loop.stop)
        thread.join(END_SECONDS)
