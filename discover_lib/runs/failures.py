"""What went wrong while a run was made: failed turns, unscored replies, answers asked for again or contradicting.

A score is taken over what is left, so whoever reads one looks here first.  Everything is read from the run's store:
failures with the raw answers that came back, and the notes on answers that were taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from discover_lib.base.records import Record
from discover_lib.base.words import counted
from discover_lib.engines.llm.answers import JudgedIntent, ResponseEvaluation
from discover_lib.engines.llm.asking import UnusableError, read_answer
from discover_lib.engines.llm.judge import met_below
from discover_lib.engines.llm.prompting import one_line
from discover_lib.runs.outcomes import Outcomes
from discover_lib.runs.store import Failure, RunStore

OF_A_KIND = 3  # examples


@dataclass(frozen=True)
class Example(Record):
    """One thing that went wrong: where, in words, and the raw answers, if any came back."""

    what: str
    where: str
    line: str
    came_back: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunFailures(Record, derived=("line",)):
    """The failures of a run.

    Attributes:
        standing: role → turns that failed and stopped their conversation, and were not mended since.
        mended: turns that failed and came out when the run went on.
        unscored: "judge" → candidates without a judgement; part of an assessment → conversations that lack it.
        examples: the worst first, a few of each kind.
    """

    standing: Mapping[str, int]
    mended: int
    unscored: Mapping[str, int]
    outcomes: Outcomes
    examples: tuple[Example, ...]

    @property
    def line(self) -> str:
        """All counts in one line."""
        parts = []
        if self.standing:
            parts.append(f"{counted(sum(self.standing.values()), 'turn')} failed ({_listed(self.standing)})")
        if self.mended:
            parts.append(f"{self.mended} failed and came out later")
        if self.unscored:
            parts.append(f"{sum(self.unscored.values())} unscored ({_listed(self.unscored)})")
        return f"failures: {', '.join(parts) or 'none'}"


def failures_of_run(store: RunStore) -> RunFailures:
    """Everything that went wrong in a run, with examples."""
    now = store.failures()
    ended = Counter(failure.role for _, failure in now if failure.ended)
    ever = sum(failure.ended for _, failure in store.failures(retried=True))
    return RunFailures(
        standing=dict(ended.most_common()),
        mended=ever - sum(ended.values()),
        unscored=store.unscored(),
        outcomes=Outcomes.of_run(store),
        examples=tuple(_examples(store, now)),
    )


def _examples(store: RunStore, failures: list[tuple[int, Failure]]) -> Iterator[Example]:
    for what, stopped in (("failed turn", True), ("unscored reply", False)):
        chosen = [(place, failure) for place, failure in failures if failure.ended is stopped]
        for place, failure in chosen[:OF_A_KIND]:
            where = f"conversation {place}, turn {failure.turn}"
            yield Example(what, where, f"{failure.role}: {failure.message}", failure.came_back)
    for place, lost in store.scoring_failures(OF_A_KIND):
        came_back = tuple(lost["came_back"])
        yield Example("unscored part", f"conversation {place}", f"{lost['part']}: {lost['message']}", came_back)
    for purpose, text in store.calls.answers_with("contradicted", OF_A_KIND):
        yield Example("contradiction", purpose, contradiction(text), (text,))
    for purpose, text in store.calls.answers_with("cut", OF_A_KIND):
        yield Example("cut by its limit", purpose, "the answer as it came", (text,))


def contradiction(text: str) -> str:
    """What an answer says against itself: of an intent that it is missed, of one below it that it is met."""
    for broad, narrow in _contradictions(text):
        return (
            f"[{broad.id}] is said to be missed ({one_line(broad.reason)}), "
            f"[{narrow.id}] below it to be met ({one_line(narrow.reason)})"
        )
    return "the answer as it came"


def overruled_in(store: RunStore) -> dict[tuple[str, str], str]:
    """Intent id and the reason it counts as met → why the run's judge called it missed, of contradicted verdicts."""
    return {
        (broad.id, met_below(one_line(narrow.reason))): one_line(broad.reason)
        for purpose, text in store.calls.answers_with("contradicted")
        if purpose == "judge"
        for broad, narrow in _contradictions(text)
    }


def _contradictions(text: str) -> Iterator[tuple[JudgedIntent, JudgedIntent]]:
    """The entries of an answer of which the first is said to be missed, and the second, below it, to be met."""
    try:
        answer = read_answer(text, ResponseEvaluation, lambda _: None).value
    except UnusableError:
        return
    for broad in answer.intents:
        for narrow in answer.intents:
            if narrow.engaged and not broad.engaged and narrow.id.startswith(f"{broad.id}."):
                yield broad, narrow


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
