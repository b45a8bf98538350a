"""What the two ways to a model share: their reply, their errors, keys that never show."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from discover_lib.base.json_text import whole_characters
from discover_lib.engines.llm.calls.exchange import Kind, LLMError, Request

OnText = Callable[[str], None]
LINE_LENGTH = 300  # characters of a provider's message that an error keeps

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
_SECRET_LENGTH = 8  # shorter values of such variables are settings, not secrets
_KEY_LENGTH = 4  # of a variable that was named as a server's key even a short value is one; shorter ones are words
_SECRET_FORM = re.compile(
    r"(?i)\b(?:sk|pk|gsk|hf|xai|key)[-_][\w-]{6,}[\w*-]*|\bAIza[\w-]{20,}|\bbearer\s+[\w.~+/*-]{6,}=*"
)


_MOST_TOKENS = 2**31 - 1  # that one call can be thought to take
_key_variables: set[str] = set()  # those that were named as a server's key, whatever their names say
BIGGEST_REPLY = 2**24  # bytes: more than any model writes, and nothing that a machine's memory cannot hold


@dataclass(frozen=True)
class WireReply:
    """A provider's reply as it came: no price, no judgement.  Tokens are None where the provider did not count.

    `reasoning_tokens` are part of `completion_tokens`.
    """

    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    finish_reason: str | None
    reasoning_tokens: int | None = None


class Wire(Protocol):
    """One way to send a request.  Sends once; retries have another owner."""

    def prepare(self, model: str) -> None:
        """Check, before anything is sent, that `model` can be asked.  May take seconds the first time (imports).

        Raises:
            LLMError: kind "auth" (a key is missing: its variable is named) or "bad_request" (no such provider).
        """
        ...

    async def send(self, request: Request, on_text: OnText | None) -> WireReply:
        """One attempt; with `on_text` as a stream, which is called with the text so far.

        Raises:
            LLMError: with its kind.
        """
        ...

    async def close(self) -> None: ...


def sent_messages(request: Request) -> list[dict[str, str]]:
    """The messages as they are sent: half a surrogate pair, as a cut text may end with, is nothing to send."""
    return [{**each, "content": whole_characters(each["content"])} for each in request.messages]


def sent_parameters(request: Request) -> dict[str, Any]:
    """What is sent beside the messages, under OpenAI's names."""
    values = {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "seed": request.sent_seed,
        "reasoning_effort": request.reasoning_effort,
    }
    return {name: value for name, value in values.items() if value is not None}


def session_header(request: Request) -> dict[str, str]:
    """What says to which conversation a call belongs; a router before several servers can keep these together."""
    return {"X-Session-ID": request.session} if request.session else {}


def kind_of_status(status: int, message: str = "") -> Kind:
    """The kind of error that an HTTP status stands for."""
    if status in (401, 402, 403) or (status == 429 and "insufficient_quota" in message):
        return "auth"  # an empty account answers 429 as well, and waiting does not fill it
    if status in (425, 429):
        return "rate_limit"
    if status in (408, 504):
        return "timeout"
    return "server" if status >= 500 else "bad_request"


def seconds_of(retry_after: str | None) -> float | None:
    """A retry-after header in seconds; None where it is absent or a date (the own back-off serves then)."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def keep_out(key_variable: str | None) -> None:
    """From now on what this environment variable holds is in no message."""
    if key_variable:
        _key_variables.add(key_variable)


def redact(text: str) -> str:
    """`text` without anything that looks like a key or is the value of a secret environment variable."""
    for name, held in os.environ.items():
        value, named = held.strip(), name in _key_variables  # a line's end is not sent, and so not quoted
        secret = named or _SECRET_NAME.search(name.upper())
        if secret and len(value) >= (_KEY_LENGTH if named else _SECRET_LENGTH) and value in text:
            text = text.replace(value, "[key]")
    return _SECRET_FORM.sub("[key]", text)


def one_line(text: str) -> str:
    """A message as one line of bearable length, keys removed."""
    line = " ".join(redact(text).split())
    return line if len(line) <= LINE_LENGTH else f"{line[:LINE_LENGTH]} ..."


def failure(
    request: Request, kind: Kind, what: str, message: str = "", retry_after_seconds: float | None = None
) -> LLMError:
    """The error of one attempt."""
    line = f"{request.model}: {what}" + (f": {one_line(message)}" if message.strip() else "")
    return LLMError(line, kind, attempts=1, retry_after_seconds=retry_after_seconds)


def too_long(request: Request) -> LLMError:
    """The error of a reply that does not end."""
    return failure(request, "server", f"the reply is longer than {BIGGEST_REPLY / 2**20:.0f} MiB")


def count_of(value: Any) -> int | None:
    """A count as a server says it; None for what is no number of tokens, such as a text, a minus, or infinity."""
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The parameter that asks for an answer of this JSON schema, which strict modes take (`answers.Form`)."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema), "strict": True}}
