"""What is asked of a language model and what comes back: requests, completions, errors, running totals."""

from __future__ import annotations

import hashlib
import json
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
LOST_KEY = "lost:"  # how the keys of lost attempts begin
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(dict(message) for message in self.messages))
        if not self.model.strip():
            raise ValueError("a request names a model")
        if not self.messages:
            raise ValueError(f"a request to {self.model} has at least one message")
        for message in self.messages:
            if message.keys() != {"role", "content"}:
                raise ValueError(f"a message has a role and a content, got {sorted(message)}")

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
        parts += [self.reasoning_effort] if self.reasoning_effort is not None else []  # older keys have no such part
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

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


@dataclass(frozen=True)
class Lost:
    """An attempt that brought nothing usable, though it was, or may have been, billed.  None means unknown."""

    kind: Kind
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None  # dollars


class LLMError(DiscoverError):
    """No completion could be had.  The text is one clear line, without keys.

    Attributes:
        kind: what went wrong.
        attempts: requests that were sent.
        retry_after_seconds: how long the provider asked to wait, if it did.
        perhaps_billed: the provider may have done its work, though the reply did not arrive.
        cut: the limit of tokens was reached before any text was written.
    """

    def __init__(
        self,
        line: str,
        kind: Kind = "server",
        *,
        attempts: int = 0,
        retry_after_seconds: float | None = None,
        perhaps_billed: bool = False,
        cut: bool = False,
    ) -> None:
        super().__init__(line)
        self.kind = kind
        self.attempts = attempts
        self.retry_after_seconds = retry_after_seconds
        self.perhaps_billed = perhaps_billed
        self.cut = cut


class CallCache(Protocol):
    """Where finished calls are kept.  Used from several threads.

    A `Lost` attempt is put there, too, so that its cost is not forgotten: as an empty completion with the kind of
    error as its finish reason, under a key of its own that no request has (`LOST_KEY` and something unique).
    """

    def get(self, key: str) -> Completion | None: ...

    def put(self, key: str, request: Request, completion: Completion) -> None: ...


@runtime_checkable
class CountsUnusable(Protocol):
    """A cache that knows how often the answer to a call was put aside because it could not be used."""

    def times_unusable(self, key: str) -> int: ...


@dataclass(frozen=True)
class Tally:
    """Totals of some calls; tokens and `cost` count lost attempts too, `cost` what is known only."""

    calls: int = 0  # completions paid for
    cached: int = 0  # completions that were there already
    attempts: int = 0  # requests sent, retries included
    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls_without_tokens: int = 0  # the provider did not say how many
    cost: float = 0.0  # dollars
    calls_of_unknown_price: int = 0  # lost attempts of unknown cost included
    lost: int = 0  # attempts that brought nothing and were, or may have been, billed
    failed: int = 0

    def plus(self, **more: float) -> Tally:
        values = {name: value + more.get(name, 0) for name, value in vars(self).items()}
        return Tally(**values)  # type: ignore[arg-type]


AS_THEY_CAME = ("clean", "repaired")  # outcomes of answers whose content was used as it came ...
TIDYING = ("stray ids", "contradicted")  # ... and what shows that it was not: such an answer is "tidied"


@dataclass(frozen=True)
class Answered:
    """How one answer came about: what is kept of it beside the calls.

    Attributes:
        key: of the last call that it took.
        outcome: clean, repaired, tidied, reasked or failed; None of an answer without a form, or one that was given up.
        remarks: what was seen in it, and how often; see `Usage`.
    """

    key: str
    purpose: str
    outcome: str | None = None
    remarks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """What a client has done so far."""

    total: Tally = Tally()
    by_purpose: Mapping[str, Tally] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)  # given up, by kind
    retries: Mapping[str, int] = field(default_factory=dict)  # attempts that failed and were made again, by kind
    structured: Mapping[str, int] = field(default_factory=dict)  # clean, repaired, tidied, reasked, failed
    structured_by_purpose: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # model → parameters it does not take
    # Purpose → what was seen in answers, and how often: "cut" by their limit, "stray ids", "contradicted".
    remarks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
