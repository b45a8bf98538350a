"""The answers of language models over a whole run: their outcomes, and the failures.

The store keeps a note on every answer beside the calls (`CallStore.answers`), and every failure with the raw answers.
So an interruption changes no count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from discover_lib.base.records import Record
from discover_lib.base.words import counted
from discover_lib.engines.llm.calls.exchange import Spent
from discover_lib.metrics.scores import NOT_CHECKED
from discover_lib.runs.store import Failure, RunStore

Structured = Mapping[str, Mapping[str, int]]  # purpose → clean, repaired, reasked or failed → answers
OF_A_KIND = 3  # examples


@dataclass(frozen=True)
class Outcomes(Record, derived=("line",), omit=("leaks", "unread")):
    """What became of the structured answers of a run.  `line` leaves out zero counts.

    The parts of `line` before its semicolon add up to the answers.  The other parts count their contents.

    Attributes:
        answers: purpose → outcome → number of answers; "failed" answers were no better when asked again.
        remarks: remark → number of answers: "cut" by their limit, "unchecked" for paraphrases.
        unscored: candidates whose judgement failed, and missing parts of assessments.
        leaks: messages of users that reveal an undiscovered intent, and were kept.
        unread: artifacts whose intents the word rule for leaks cannot read.
    """

    answers: Structured = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)
    unscored: int = 0
    leaks: int = 0
    unread: int = 0

    @classmethod
    def of_run(cls, store: RunStore) -> Outcomes:
        """Over all sessions of a run."""
        counts, remarks = store.calls.answers()
        answers: dict[str, dict[str, int]] = {}
        for (purpose, outcome), count in counts.items():
            answers.setdefault(purpose, {})[outcome] = count
        unread = len(store.unread_artifacts())
        return cls(answers, remarks, sum(store.unscored().values()), store.leaks(), unread)

    @property
    def line(self) -> str:
        """In words; "" if no model was asked."""
        seen = Counter(self.remarks)
        became = [
            *(self._with_words(outcome, outcome) for outcome in ("clean", "repaired")),
            self._with_words("reasked", "asked again", by_role=True),
            self._with_words("failed", "no better when asked again", by_role=True),
        ]
        found = [
            (seen["cut"], f"{seen['cut']:,} cut"),
            (seen["unchecked"], f"{seen['unchecked']:,} not checked for paraphrases"),
            (self.leaks, f"{counted(self.leaks, 'leak')} kept"),
            (self.unread, f"leaks {NOT_CHECKED} in {counted(self.unread, 'artifact')}"),
            (self.unscored, f"{self.unscored:,} unscored"),
        ]
        parts = ", ".join(filter(None, became)), ", ".join(words for count, words in found if count)
        said = "; ".join(filter(None, parts))
        return f"answers: {said or 'none noted'}" if said or self.answers else ""

    def _with_words(self, outcome: str, words: str, by_role: bool = False) -> str:
        rows = Counter(
            {purpose.removeprefix("builder: "): row.get(outcome, 0) for purpose, row in self.answers.items()}
        )
        if not rows.total():
            return ""
        roles = ", ".join(f"{role} {count}" for role, count in rows.most_common() if count)
        return f"{rows.total():,} {words}" + (f" ({roles})" if by_role else "")


def price_line(dollars: float, unpriced: int, calls: int) -> str:
    """What calls cost, those of unknown price counted apart: ``$0.5000 + 2 calls of unknown price``."""
    if unpriced == calls > 0 and not dollars:
        return "price unknown"
    return f"${dollars:.4f}" + (f" + {counted(unpriced, 'call')} of unknown price" if unpriced else "")


def cost_line(spent: Spent) -> str:
    """The cost of all finished calls, those of the scorers included; calls of unknown price are counted apart."""
    tokens = f"{spent.prompt_tokens:,} tokens in, {spent.completion_tokens:,} out"
    return f"{counted(spent.calls, 'call')}, {tokens}, {price_line(spent.cost, spent.unpriced, spent.calls)}"


def closing_lines(store: RunStore) -> list[str]:
    """The last lines of a command about the calls of the whole run; empty if no model was asked."""
    spent = store.calls.spent()
    lines = [cost_line(spent), Outcomes.of_run(store).line]
    return [line for line in lines if line] if spent.calls else []


# -- failures ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Example(Record):
    """One failure: its place, a line, and the raw answers, if any came back."""

    what: str
    where: str
    line: str
    came_back: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunFailures(Record, derived=("line",)):
    """The failures of a run.

    Attributes:
        standing: role → turns that failed, stopped their conversation, and were not repeated since.
        mended: turns that failed first and succeeded when the run resumed.
        unscored: "judge" → candidates without a judgement; part of an assessment → conversations that lack it.
        examples: a few of each kind.
    """

    standing: Mapping[str, int]
    mended: int
    unscored: Mapping[str, int]
    outcomes: Outcomes
    examples: tuple[Example, ...]

    @property
    def line(self) -> str:
        """All counts in one line."""
        counts = (sum(self.standing.values()), self.mended, sum(self.unscored.values()))
        parts = (
            f"{counted(counts[0], 'turn')} failed ({_listed(self.standing)})",
            f"{counts[1]} failed and came out later",
            f"{counts[2]} unscored ({_listed(self.unscored)})",
        )
        return f"failures: {', '.join(part for part, count in zip(parts, counts, strict=True) if count) or 'none'}"


def failures_of_run(store: RunStore) -> RunFailures:
    """All failures of a run, with examples."""
    now = store.failures()
    ended = Counter(failure.role for _, failure in now if failure.ended)
    ever = sum(failure.ended for _, failure in store.failures(retried=True))
    return RunFailures(
        standing=dict(ended.most_common()),
        mended=ever - ended.total(),
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


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
