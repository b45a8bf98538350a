"""Totals of what a client does, and a note of every answer for whoever keeps them."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from discover_lib.engines.llm.calls.probe import PURPOSE as PROBE
from discover_lib.engines.llm.calls.records import (
    AS_THEY_CAME,
    TIDYING,
    Answered,
    Completion,
    Kind,
    LLMError,
    Lost,
    Request,
    Tally,
    Usage,
)


@runtime_checkable
class KeepsAnswers(Protocol):
    """Keeps how answers came about, one note per key; a later note on a key replaces the one before."""

    def put_answer(self, answer: Answered) -> None: ...


class _Here(threading.local):
    """The answers that this thread got last: what is said of an answer is said by the thread that asked for it.

    Attributes:
        answer: the very last.
        sent_back: it answers a request that names what is wrong with the content of an answer taken before.
        last: purpose → note and text of its last answer.
    """

    def __init__(self) -> None:
        self.answer: Answered | None = None
        self.sent_back = False
        self.last: dict[str, tuple[Answered, str]] = {}


class Meter:
    """Adds up what the client does; thread-safe.

    Args:
        keeper: is given a note of every answer, also of one that comes from the cache: a resumed run that asks the
            same again notes the same again.
    """

    def __init__(self, keeper: object = None) -> None:
        self._keeper = keeper if isinstance(keeper, KeepsAnswers) else None
        self._here = _Here()
        self._lock = threading.Lock()
        self._tallies: dict[str, Tally] = {}
        self._failures: Counter[str] = Counter()
        self._retries: Counter[str] = Counter()
        self._structured: dict[str, Counter[str]] = {}
        self._remarks: dict[str, Counter[str]] = {}
        self._left_out: dict[str, tuple[str, ...]] = {}

    def done(self, request: Request, completion: Completion) -> None:
        self._begin(request, completion.text)
        self.remark(request.purpose, "cut", completion.finish_reason == "length")
        counted = completion.prompt_tokens is not None and completion.completion_tokens is not None
        self._add(
            request,
            calls=1,
            attempts=completion.attempts,
            prompt_tokens=completion.prompt_tokens or 0,
            completion_tokens=completion.completion_tokens or 0,
            calls_without_tokens=not counted,
            cost=completion.cost or 0.0,
            calls_of_unknown_price=completion.cost is None,
        )

    def cached(self, request: Request, completion: Completion) -> None:
        self._begin(request, completion.text)
        self._note("cut", completion.finish_reason == "length")
        self._add(request, cached=1)

    def sent(self, request: Request, attempts: int) -> None:
        """Count requests that brought no completion and are no failure either."""
        self._add(request, attempts=attempts)

    def failed(self, request: Request, error: LLMError) -> None:
        self._begin(request)
        self._add(request, failed=1, attempts=error.attempts)
        self.remark(request.purpose, "cut", error.cut)
        with self._lock:
            self._failures[error.kind] += 1

    def lost(self, request: Request, attempt: Lost) -> None:
        self._add(
            request,
            lost=1,
            prompt_tokens=attempt.prompt_tokens or 0,
            completion_tokens=attempt.completion_tokens or 0,
            cost=attempt.cost or 0.0,
            calls_of_unknown_price=attempt.cost is None,
        )

    def retried(self, kind: Kind) -> None:
        with self._lock:
            self._retries[kind] += 1

    def structured(self, purpose: str, outcome: str) -> None:
        """Count how a structured answer came about; one that replaces another of no use was asked for again."""
        if self._here.sent_back and outcome != "failed":
            outcome = "reasked"
        with self._lock:
            self._structured.setdefault(purpose, Counter())[outcome] += 1
        self._note("outcome", outcome)

    def remark(self, purpose: str, what: str, times: int) -> None:
        with self._lock:
            if times:
                self._remarks.setdefault(purpose, Counter())[what] += times
        if purpose != PROBE:  # which is no answer to anything of the run
            self._note(what, times)
        answer = self._here.answer
        if times and what in TIDYING and answer is not None and answer.outcome in AS_THEY_CAME:
            with self._lock:
                self._structured[answer.purpose][answer.outcome] -= 1
                self._structured[answer.purpose]["tidied"] += 1
            self._note("outcome", "tidied")

    def left_out(self, model: str, parameters: Sequence[str]) -> None:
        with self._lock:
            known = self._left_out.get(model, ())
            if new := [name for name in parameters if name not in known]:
                self._left_out[model] = (*known, *new)
                logging.getLogger(__name__).warning("%s does not take %s", model, ", ".join(new))

    def snapshot(self) -> Usage:
        with self._lock:
            sums: Counter[str] = Counter()
            for tally in self._tallies.values():
                sums.update(vars(tally))
            return Usage(
                Tally(**sums),
                dict(self._tallies),
                dict(self._failures),
                dict(self._retries),
                dict(sum(self._structured.values(), Counter())),
                {purpose: dict(+outcomes) for purpose, outcomes in self._structured.items()},
                dict(self._left_out),
                {purpose: dict(remarks) for purpose, remarks in self._remarks.items()},
            )

    def _begin(self, request: Request, text: str = "") -> None:
        here, purpose = self._here, request.purpose
        before, said = here.last.get(purpose, (None, ""))
        named = request.messages[-2] if len(request.messages) > 2 else {}
        here.sent_back = bool(before and before.outcome and named == {"role": "assistant", "content": said})
        if before is not None and here.sent_back:
            self._withdraw(before)
        here.answer = Answered(request.key, purpose)
        here.last[purpose] = here.answer, text

    def _withdraw(self, answer: Answered) -> None:
        """Count an answer no more that was taken and is now asked for again: its question is counted once."""
        with self._lock:
            self._structured[answer.purpose][answer.outcome or ""] -= 1
        if self._keeper is not None:
            self._keeper.put_answer(replace(answer, outcome=None))

    def _note(self, what: str, value: str | int) -> None:
        answer = self._here.answer
        if answer is None or not value:
            return
        if what == "outcome":
            answer = replace(answer, outcome=str(value))
        else:
            answer = replace(answer, remarks={**answer.remarks, what: answer.remarks.get(what, 0) + int(value)})
        self._here.answer = answer
        self._here.last[answer.purpose] = answer, self._here.last[answer.purpose][1]
        if self._keeper is not None:
            self._keeper.put_answer(answer)

    def _add(self, request: Request, **more: float) -> None:
        with self._lock:
            self._tallies[request.purpose] = self._tallies.get(request.purpose, Tally()).plus(**more)
