"""Requests to language models and their replies: prices, errors, notes on answers, and running totals."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import load_yaml
from discover_lib.base.seeds import derive_seed

Kind = Literal[
    "rate_limit",  # the provider asks for fewer requests
    "timeout",  # no reply, or a stream that stalled
    "server",  # 5xx, or a reply that is no completion
    "connection",  # refused, reset, or cut in the middle
    "auth",  # key missing or refused, account without quota
    "bad_request",  # the provider will never accept this request
    "content",  # a completion without a usable text
    "budget",  # the budget does not cover the next call
    "stopped",  # the user stopped the run
]
ANEW_TEMPERATURE = 0.3
RETRIED: frozenset[Kind] = frozenset({"rate_limit", "timeout", "server", "connection"})
# Kinds that would stop every other conversation of the run, too.
ENDS_THE_RUN: tuple[Literal["stopped", "budget", "auth"], ...] = ("stopped", "budget", "auth")

PRICE_FILE = "model_prices_and_context_window_backup.json"  # in LiteLLM's package
# Providers with a true price of zero.  For other providers a zero in LiteLLM's table means a missing price.
RUNS_ON_OWN_MACHINE = frozenset({"ollama", "ollama_chat", "lemonade", "lm_studio", "llamafile"})
# These variables redirect a provider's calls to another address, where the provider's prices are wrong.
ADDRESS_VARIABLES = {"openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "anthropic": ("ANTHROPIC_API_BASE",)}


@dataclass(frozen=True)
class Request:
    """One prompt to one model.

    All fields decide the reply except `purpose`, `timeout_seconds` and `session`.

    `model` is a LiteLLM model name; "openai/<name>" with an `api_base` in the client's settings is any
    OpenAI-compatible server.  `schema` is the JSON schema of a structured answer.  `sample` distinguishes several
    samples of one prompt.  Providers that accept a seed receive its last 31 bits.
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
    session: str = ""  # the conversation, sent as a header: servers can cache its prefix

    @property
    def key(self) -> str:
        """Hash of all fields that decide the reply.

        The server's address is not part of it: the same model may return on another port, and a run never mixes
        configurations.
        """
        parts = [self.model, self.messages, self.temperature, self.max_tokens, self.schema, self.sample, self.seed]
        return hashlib.sha256(json.dumps([*parts, self.reasoning_effort], sort_keys=True).encode()).hexdigest()

    def anew(self, times: int) -> Request:
        """The request as it is sent after `times` earlier sessions of a run got an unusable answer.

        The messages stay the same.  The seed changes, or the model could repeat itself, and a temperature of 0, which
        ignores seeds, becomes `ANEW_TEMPERATURE`.  The cache keeps the key of the original request, so a resumed run
        finds the answer, and the record of the call shows how it was sent.
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
    """A model's reply and its cost.

    `cost` is in dollars; None means unknown, never free.  Token counts are None where the provider did not count.
    `seconds` includes waiting and retries, `attempts` counts the requests sent.  A `cached` completion cost nothing
    now and repeats the figures of the paid call.  `reasoning_tokens` counts the hidden thinking in
    `completion_tokens`.  The text is empty only if the token limit came first (`finish_reason` "length").
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
    """A call without a usable completion.  The text is one clear line, without keys.

    Attributes:
        kind: kind of the failure.
        attempts: number of requests sent.
        retry_after_seconds: waiting time that the provider asked for, if it did.
        raw: the answers that were received, if they were unusable.
    """

    def __init__(
        self,
        line: str,
        kind: Kind = "server",
        *,
        attempts: int = 0,
        retry_after_seconds: float | None = None,
        raw: tuple[str, ...] = (),
    ) -> None:
        super().__init__(line)
        self.kind = kind
        self.attempts = attempts
        self.retry_after_seconds = retry_after_seconds
        self.raw = raw


@dataclass(frozen=True)
class Answered:
    """A note on one answer, which is saved with the calls.

    Attributes:
        key: of the answer's last call.
        outcome: clean, repaired, reasked or failed; None for an answer without a form and for one that was cut off.
        remarks: remark on the answer → count: "cut" by its limit, "unchecked" for paraphrases.
    """

    key: str
    purpose: str
    outcome: str | None = None
    remarks: Mapping[str, int] = field(default_factory=dict)


class Asks(Protocol):
    """The part of a client that structured answers need."""

    def complete(self, request: Request) -> Completion:
        """See `LLMClient.complete`."""

    def note(self, answer: Answered) -> None:
        """See `LLMClient.note`."""


class CallCache(Protocol):
    """A store of finished calls.  Used from several threads.  A subclass without notes keeps only the calls."""

    def get(self, key: str) -> Completion | None:
        """The finished call with this key."""

    def put(self, key: str, request: Request, completion: Completion) -> None:
        """Save a finished call."""

    def put_answer(self, answer: Answered) -> None:
        """Save a note on an answer.  A later note on the same key replaces it."""
        return

    def times_unusable(self, key: str) -> int:
        """How often the answer to a call was set aside as unusable."""
        return 0


# -- totals --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spent:
    """Totals of finished calls.  `cost` sums the known prices in dollars, `unpriced` counts the unknown ones."""

    calls: int = 0
    attempts: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0

    @classmethod
    def of(cls, completion: Completion) -> Spent:
        """The totals of one call."""
        tokens = completion.prompt_tokens or 0, completion.completion_tokens or 0
        return cls(1, completion.attempts, *tokens, completion.cost or 0.0, completion.cost is None)

    def __add__(self, other: Spent) -> Spent:
        return Spent(**{name: mine + getattr(other, name) for name, mine in vars(self).items()})


# -- prices --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Price:
    """Dollars per million tokens, and their source.

    Discounts for cached prompts and surcharges for very long ones are left out, so a cost estimates the bill.
    """

    input_per_million: float
    output_per_million: float
    source: str = "own"
    as_of: str = ""  # a date, or the version of the table

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Dollars."""
        return (prompt_tokens * self.input_per_million + completion_tokens * self.output_per_million) / 1e6


def provider_of(model: str) -> str:
    """The provider of a LiteLLM model name: the part before the slash, or the entry in LiteLLM's table."""
    if "/" in model:
        return model.partition("/")[0]
    return str(known_models().get(model, {}).get("litellm_provider", model))


def price_of(model: str, own: Mapping[str, Price] | None = None, api_base: str | None = None) -> Price | None:
    """The price of a model: an `own` price, else that of LiteLLM's table.  None means unknown, never free.

    With an `api_base` only `own` prices count, because a server may give its model any name.
    """
    if own and model in own:
        return own[model]
    provider = provider_of(model)
    if api_base or any(os.environ.get(name) for name in ADDRESS_VARIABLES.get(provider, ())):
        return None
    named = known_models().get(model)
    entry = named or known_models().get(model.partition("/")[2], {})
    if not named and entry.get("litellm_provider") != provider:
        return None  # the same name at another provider
    into, out = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    free = not into and not out and entry.get("litellm_provider") not in RUNS_ON_OWN_MACHINE
    if into is None or out is None or free:
        return None
    from importlib.metadata import version

    return Price(float(into) * 1e6, float(out) * 1e6, "LiteLLM's table", f"litellm {version('litellm')}")


def read_prices(path: Path) -> dict[str, Price]:
    """The prices in a YAML or JSON file.

        as_of: 2026-11-01
        dollars_per_million_tokens:
          openai/my-model: {input: 0.5, output: 1.5}

    Raises:
        DiscoverError: the file is missing, or not of this form.
    """
    data = load_yaml(path)
    try:
        as_of = str(data["as_of"])
        return {
            str(model): Price(_dollars(entry["input"]), _dollars(entry["output"]), path.name, as_of)
            for model, entry in data["dollars_per_million_tokens"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        form = "'as_of' (a date) and 'dollars_per_million_tokens' (model: {input: .., output: ..})"
        raise DiscoverError(f"{path}: invalid prices ({type(error).__name__}: {error}); write {form}") from None


def _dollars(value: Any) -> float:
    amount = float(value)
    if not 0 <= amount < float("inf"):
        raise ValueError(f"not a price: {value!r}")
    return amount


@lru_cache(maxsize=1)
def known_models() -> dict[str, Any]:
    """The models of LiteLLM's table with their prices, read from its file without importing it, which takes seconds."""
    found = importlib.util.find_spec("litellm")
    path = Path(found.origin).parent / PRICE_FILE if found and found.origin else None
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path and path.is_file() else {}
