"""What is asked of a language model and what comes back: requests, completions, errors, notes, running totals."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, runtime_checkable

from discover_lib.base.errors import DiscoverError
from discover_lib.base.seeds import derive_seed

Kind = Literal[
    "rate_limit",  # the provider asks for fewer requests
    "timeout",  # no reply, or a stream that stalled
    "server",  # 5xx, or a reply that is no completion
    "connection",  # refused, reset, or cut in the middle
    "auth",  # key missing or refused, account without quota
    "bad_request",  # the provider will never accept this request
    "content",  # a completion without a usable text
    "budget",  # the next call may not be paid for
    "stopped",  # the user stopped the run
]
LARGEST_SENT_SEED = 2**31 - 1
ANEW_TEMPERATURE = 0.3
RETRIED: frozenset[Kind] = frozenset({"rate_limit", "timeout", "server", "connection"})
# Kinds that are no fault of one reply, and that no other conversation of the run would survive.
ENDS_THE_RUN: tuple[Literal["stopped", "budget", "auth"], ...] = ("stopped", "budget", "auth")


@dataclass(frozen=True)
class Request:
    """One prompt to one model: everything that decides the reply; `purpose`, which only says what it is for; and
    `timeout_seconds` and `session`, which say how it is sent.

    `model` is a LiteLLM model name; "openai/<name>" with an `api_base` in the client's settings is any
    OpenAI-compatible server.  `schema` is the JSON schema of the answer, if it is structured.  `sample` tells several
    samples of one prompt apart; `seed` is sent along where the provider takes one, as `sent_seed`.
    """

    model: str
    messages: tuple[Mapping[str, str], ...]  # role and content
    purpose: str  # "judge", "voice", "assistant", "builder: synthesis" ...: for records, never sent
    temperature: float | None = None
    max_tokens: int | None = None
    schema: Mapping[str, Any] | None = None
    sample: int = 0
    seed: int | None = None
    reasoning_effort: str | None = None
    timeout_seconds: float | None = None  # of one attempt; None: the client's
    session: str = ""  # the conversation that it belongs to, sent as a header: servers may keep its prefix warm

    @property
    def sent_seed(self) -> int | None:
        """The seed as providers are sent it: some take 32 bits with a sign and refuse more."""
        return None if self.seed is None else self.seed & LARGEST_SENT_SEED

    @property
    def key(self) -> str:
        """Hash of all that decides the reply.

        The server's address is left out on purpose: the same model may come back on another port, and a run never
        mixes configurations.
        """
        parts = [self.model, self.messages, self.temperature, self.max_tokens, self.schema, self.sample, self.seed]
        return hashlib.sha256(json.dumps([*parts, self.reasoning_effort], sort_keys=True).encode()).hexdigest()

    def anew(self, times: int) -> Request:
        """The request as it is sent after its answer could not be used in so many earlier sessions of a run.

        Word for word the same, which a model that repeats itself would answer with the same, so with another seed; and
        where it asks for temperature 0, at which seeds decide nothing, at `ANEW_TEMPERATURE`.  Its key stays that of
        the question: a resumed run finds the answer, and the record of the call says how it was sent.
        """
        if not times:
            return self
        return replace(
            self,
            seed=derive_seed(self.seed or 0, "anew", times),
            temperature=ANEW_TEMPERATURE if self.temperature == 0 else self.temperature,
        )


@dataclass(frozen=True)
class Completion:
    """A model's reply and what it took.

    `cost` is in dollars; None means unknown, never free.  `seconds` covers waiting and retries, `attempts` counts
    requests sent.  `cached` says that this call paid nothing: the figures are those of the call that did.
    `reasoning_tokens` are those of `completion_tokens` that went into hidden thinking, where the provider says so.
    The text is empty only where the limit of tokens was reached before any was written (`finish_reason` "length").
    """

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    finish_reason: str | None = None  # "stop", "length" ...; None if the provider did not say
    seconds: float = 0.0
    attempts: int = 1
    cached: bool = False
    reasoning_tokens: int | None = None


class LLMError(DiscoverError):
    """No completion could be had.  The text is one clear line, without keys.

    Attributes:
        kind: what went wrong.
        attempts: requests that were sent.
        retry_after_seconds: how long the provider asked to wait, if it did.
    """

    def __init__(
        self, line: str, kind: Kind = "server", *, attempts: int = 0, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(line)
        self.kind = kind
        self.attempts = attempts
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True)
class Answered:
    """How one answer came about: what is kept of it beside the calls.

    Attributes:
        key: of the last call that it took.
        outcome: clean, repaired, tidied (something of it was left out), reasked or failed; None of an answer without
            a form, or one that was given up.
        remarks: what was seen in it, and how often: "cut" by its limit, "stray ids", "contradicted" ...
    """

    key: str
    purpose: str
    outcome: str | None = None
    remarks: Mapping[str, int] = field(default_factory=dict)


class CallCache(Protocol):
    """Where finished calls are kept.  Used from several threads."""

    def get(self, key: str) -> Completion | None: ...

    def put(self, key: str, request: Request, completion: Completion) -> None: ...


@runtime_checkable
class AnswerStore(Protocol):
    """A cache that also keeps how answers came about, one note per key; a later note on a key replaces the earlier."""

    def put_answer(self, answer: Answered) -> None: ...

    def times_unusable(self, key: str) -> int:
        """How often the answer to a call was put aside because it could not be used."""
        ...


@dataclass(frozen=True)
class Tally:
    """Totals of some calls; `cost` is what is known only."""

    calls: int = 0  # completions paid for
    cached: int = 0  # completions that were there already
    attempts: int = 0  # requests sent, retries included
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0  # dollars
    calls_of_unknown_price: int = 0


@dataclass(frozen=True)
class Usage:
    """What a client has done so far.

    Attributes:
        failures: calls given up, by kind of error.
        answers: purpose → outcome → structured answers.
        remarks: what was seen in answers, and how often.
    """

    total: Tally
    failures: Mapping[str, int]
    answers: Mapping[str, Mapping[str, int]]
    remarks: Mapping[str, int]


class Meter:
    """Adds up what a client does; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._took: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._answers: dict[str, Counter[str]] = {}
        self._remarks: Counter[str] = Counter()

    def done(self, completion: Completion) -> None:
        self._add(
            calls=1,
            attempts=completion.attempts,
            prompt_tokens=completion.prompt_tokens or 0,
            completion_tokens=completion.completion_tokens or 0,
            cost=completion.cost or 0.0,
            calls_of_unknown_price=completion.cost is None,
        )

    def cached(self) -> None:
        self._add(cached=1)

    def failed(self, error: LLMError) -> None:
        self._add(attempts=error.attempts)
        with self._lock:
            self._failures[error.kind] += 1

    def noted(self, answer: Answered) -> None:
        with self._lock:
            self._remarks.update(answer.remarks)
            if answer.outcome is not None:
                self._answers.setdefault(answer.purpose, Counter())[answer.outcome] += 1

    def usage(self) -> Usage:
        with self._lock:
            answers = {purpose: dict(outcomes) for purpose, outcomes in self._answers.items()}
            return Usage(Tally(**self._took), dict(self._failures), answers, dict(self._remarks))

    def _add(self, **more: float) -> None:
        with self._lock:
            self._took.update(more)  # type: ignore[arg-type]
