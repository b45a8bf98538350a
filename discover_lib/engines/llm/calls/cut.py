"""Replies that their limit of tokens cut off: asked for once more with a longer limit, and never taken for whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from discover_lib.engines.llm.calls.records import Completion, LLMError, Request

LONGER = 2  # times the limit, and at least …
LEAST = 8192  # tokens: what a short limit leaves no room for is mostly thinking


class CutError(LLMError):
    """A reply that was cut off with the longer limit, too; `raw` holds what came back."""

    def __init__(self, request: Request, raw: tuple[str, ...]) -> None:
        limit = f"its limit of {request.max_tokens:,} tokens" if request.max_tokens else "the model's own limit"
        super().__init__(f"{request.model}: the reply was cut off by {limit}", "content", attempts=len(raw))
        self.raw = raw


def longer(request: Request) -> Request | None:
    """The request with a longer limit; None if it has none of its own."""
    if request.max_tokens is None:
        return None
    return replace(request, max_tokens=max(LONGER * request.max_tokens, LEAST))


def ask_marked(ask: Callable[[Request], Completion], request: Request) -> Completion:
    """What `ask` returns; where not even a text was begun before the limit, an empty completion that says so."""
    try:
        return ask(request)
    except LLMError as error:
        if not error.cut:
            raise
        return Completion("", finish_reason="length", attempts=error.attempts)


def ask_whole(ask: Callable[[Request], Completion], request: Request) -> Completion:
    """A completion that was not cut off, asked for once more with a longer limit if need be.

    Raises:
        CutError: it was cut off then, too.
        LLMError: there is none.
    """
    raw: list[str] = []
    for attempt in filter(None, (request, longer(request))):
        completion = ask_marked(ask, attempt)
        if completion.finish_reason != "length":
            return completion
        raw.append(completion.text)
    raise CutError(attempt, tuple(raw))
