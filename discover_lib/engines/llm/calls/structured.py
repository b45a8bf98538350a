"""Structured answers: ask, read tolerantly, and ask once more where the answer cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

from discover_lib.engines.llm.calls.cut import ask_marked, longer
from discover_lib.engines.llm.calls.reading import UnusableError, read_answer, schema_of
from discover_lib.engines.llm.calls.records import Completion, LLMError, Request

T = TypeVar("T", bound=BaseModel)
Outcome = Literal["clean", "repaired", "reasked", "failed"]

REASK = (
    "Your answer cannot be used: {defect}.\n"
    "Give the whole answer again as one JSON object of the form that was asked for, and nothing else."
)


class StructuredError(LLMError):
    """No usable answer after one re-ask.

    `raw` holds what came back both times, `defect` what is wrong with the last.
    """

    outcome: Outcome = "failed"

    def __init__(self, line: str, raw: tuple[str, ...] = (), defect: str = "") -> None:
        super().__init__(line, "content", attempts=len(raw))
        self.raw = raw
        self.defect = defect


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A structured answer, how it came about, and what came back word for word (twice if it was asked for again)."""

    value: T
    outcome: Outcome
    raw: tuple[str, ...]


class Asks(Protocol):
    """What is needed of a client."""

    def complete(self, request: Request) -> Completion: ...

    def count_structured(self, purpose: str, outcome: str) -> None: ...


class Remarks(Asks, Protocol):
    """A client that also counts what an answer was worth."""

    def remark(self, purpose: str, what: str, times: int = 1) -> None: ...


def ask_structured(
    client: Asks, request: Request, answer: type[T], check: Callable[[T], str | None] = lambda _: None
) -> Answer[T]:
    """Ask for an answer of the given form.

    The prompt itself must show the form; the JSON schema goes along for providers that take one.  `check` gets an
    answer of the right form and returns what is wrong with its content (ids that were not asked for ...), or None.

    An answer that its limit of tokens cut off is asked for again with a longer one, which is then the one re-ask.

    Raises:
        StructuredError: no usable answer after one re-ask that named the defect.
        LLMError: no completion at all.
    """
    if request.schema is None:
        request = replace(request, schema=schema_of(answer)[0])
    first = ask_marked(client.complete, request)
    try:
        read = read_answer(first.text, answer, check, first.finish_reason)
    except UnusableError as unusable:
        defect = str(unusable)
    else:
        return _counted(client, request, Answer(read.value, "clean" if read.clean else "repaired", (first.text,)))
    wider = longer(request) if first.finish_reason == "length" else None
    second = ask_marked(client.complete, wider or again(request, first.text, defect))
    raw = (first.text, second.text)
    try:
        read = read_answer(second.text, answer, check, second.finish_reason)
    except UnusableError as unusable:
        client.count_structured(request.purpose, "failed")
        line = f"{request.model}: no usable answer, also when asked again: {unusable}"
        raise StructuredError(line, raw, str(unusable)) from None
    return _counted(client, request, Answer(read.value, "reasked", raw))


def _counted(client: Asks, request: Request, answer: Answer[T]) -> Answer[T]:
    client.count_structured(request.purpose, answer.outcome)
    return answer


def again(request: Request, answer: str, defect: str) -> Request:
    """The request that names what is wrong with the answer to another."""
    more: list[Mapping[str, Any]] = [{"role": "user", "content": REASK.format(defect=defect.rstrip("."))}]
    if answer.strip():  # some providers refuse an empty message
        more.insert(0, {"role": "assistant", "content": answer})
    return replace(request, messages=(*request.messages, *more))
