"""Structured answers: ask, read, and ask once more where the answer cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, Protocol

from discover_lib.engines.llm.calls.answer_text import Check, Read, T, UnusableError, read_answer, schema_of
from discover_lib.engines.llm.calls.exchange import Answered, Completion, LLMError, Request

Outcome = Literal["clean", "repaired", "tidied", "reasked", "failed"]
Seen = Callable[[T], Mapping[str, int]]  # what was left out of an answer or mended in it: remark → how often

LONGER = 2  # times the limit that cut an answer off, and at least …
LEAST = 8192  # tokens: what a short limit leaves no room for is mostly thinking
TIDYING = ("stray ids", "contradicted")  # remarks that say that an answer's content was not used as it came
REASK = (
    "Your answer cannot be used: {defect}.\n"
    "Give the whole answer again as one JSON object of the form that was asked for, and nothing else."
)


class StructuredError(LLMError):
    """No usable answer after one re-ask; `raw` holds what came back each time."""

    def __init__(self, line: str, raw: tuple[str, ...] = ()) -> None:
        super().__init__(line, "content", attempts=len(raw))
        self.raw = raw


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A structured answer, how it came about, and what came back word for word (twice if it was asked for again)."""

    value: T
    outcome: Outcome
    raw: tuple[str, ...]


class Asks(Protocol):
    """What is needed of a client."""

    def complete(self, request: Request) -> Completion: ...

    def note(self, answer: Answered) -> None: ...


def ask_structured(
    client: Asks,
    request: Request,
    answer: type[T],
    check: Check[T] = lambda _: None,
    seen: Seen[T] = lambda _: {},
) -> Answer[T]:
    """Ask for an answer of the given form.

    The prompt itself must show the form; the JSON schema goes along for providers that take one.  `check` gets an
    answer of the right form and returns what is wrong with its content (ids that were not asked for ...), or None.
    `seen` gets the answer that is taken.

    Raises:
        StructuredError: no usable answer after one re-ask that named the defect, or one that stays cut off.
        LLMError: no completion at all.
    """
    first = asked = replace(request, schema=schema_of(answer))
    raw: list[str] = []
    while True:
        asked, completion = ask_whole(client, client.complete, asked)
        raw.append(completion.text)
        try:
            read = read_answer(completion.text, answer, check, completion.finish_reason)
        except UnusableError as unusable:
            cut = completion.finish_reason == "length"
            if cut or len(raw) == 2:
                client.note(Answered(asked.key, request.purpose, "failed", {"cut": 1} if cut else {}))
                line = f"{request.model}: no usable answer, also when asked again: {unusable}"
                raise StructuredError(line, tuple(raw)) from None
            asked = again(asked, completion.text, str(unusable))
        else:
            remarks = {name: times for name, times in seen(read.value).items() if times}
            outcome = _outcome(read, asked != first, remarks)
            client.note(Answered(asked.key, request.purpose, outcome, remarks))
            return Answer(read.value, outcome, tuple(raw))


def _outcome(read: Read[T], asked_again: bool, remarks: Mapping[str, int]) -> Outcome:
    if asked_again:
        return "reasked"
    if any(name in remarks for name in TIDYING):
        return "tidied"
    return "clean" if read.clean else "repaired"


def again(request: Request, answer: str, defect: str) -> Request:
    """The request that names what is wrong with the answer to another."""
    more: list[Mapping[str, Any]] = [{"role": "user", "content": REASK.format(defect=defect.rstrip("."))}]
    if answer.strip():  # some providers refuse an empty message
        more.insert(0, {"role": "assistant", "content": answer})
    return replace(request, messages=(*request.messages, *more))


def ask_whole(client: Asks, ask: Callable[[Request], Completion], request: Request) -> tuple[Request, Completion]:
    """What `ask` brings, with the request that it answers.

    What the limit of tokens cut off is noted and asked for once more with a longer one.
    """
    completion = ask(request)
    if completion.finish_reason == "length":
        client.note(Answered(request.key, request.purpose, remarks={"cut": 1}))
        request = replace(request, max_tokens=request.max_tokens and max(LONGER * request.max_tokens, LEAST))
        completion = ask(request)
    return request, completion
