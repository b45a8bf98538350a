"""How the answers of language models came about, over a whole run: the one line that closes every command that asks.

The notes are kept beside the calls (`CallStore.answers`), so the line is the same however often a run was interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discover_lib.base.leak_words import NOT_CHECKED
from discover_lib.base.records import Record
from discover_lib.base.words import counted, price_line
from discover_lib.engines.llm.calls.exchange import Spent
from discover_lib.runs.store import RunStore

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.exchange import Usage

Structured = Mapping[str, Mapping[str, int]]  # purpose → clean, repaired, tidied, reasked or failed → answers


@dataclass(frozen=True)
class Outcomes(Record, derived=("line",), omit=("leaks", "unread")):
    """What became of the structured answers of a run; parts that are nothing are not spoken of.

    The parts of `line` before its semicolon add up to the answers; what was seen in them follows.

    Attributes:
        answers: purpose → outcome → how many answers; "failed" are those that were no better when asked for again.
        remarks: what was seen in answers, and how often: "cut" by their limit, "stray ids", "contradicted" ...
        unscored: candidates whose judgement failed, and parts of assessments that could not be had.
        leaks: messages of users that give away what they cannot know, and were kept.
        unread: artifacts whose intents the rule about leaks cannot read.
    """

    answers: Structured = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)
    unscored: int = 0
    leaks: int = 0
    unread: int = 0

    @classmethod
    def of_run(cls, store: RunStore) -> Outcomes:
        """Over all sessions of a run."""
        counted, remarks = store.calls.answers()
        answers: dict[str, dict[str, int]] = {}
        for (purpose, outcome), count in counted.items():
            answers.setdefault(purpose, {})[outcome] = count
        unread = len(store.unread_artifacts())
        return cls(answers, remarks, sum(store.unscored().values()), store.leaks(), unread)

    @classmethod
    def of_usage(cls, usage: Usage) -> Outcomes:
        """Of what one client did, where nothing is kept."""
        return cls(usage.answers, usage.remarks)

    @property
    def line(self) -> str:
        """In words; "" where no model was asked."""
        stray, between = self.remarks.get("stray ids", 0), self.remarks.get("between steps", 0)
        became = [
            _counted(self._total("clean"), "clean"),
            _counted(self._total("repaired"), "repaired"),
            _counted(self._total("tidied"), "tidied"),
            self._by_role("reasked", "asked again"),
            self._by_role("failed", "no better when asked again"),
        ]
        seen = [
            _counted(self.remarks.get("contradicted", 0), "contradicted"),
            _counted(self.remarks.get("cut", 0), "cut"),
            f"{counted(stray, 'stray id')} left out" if stray else "",
            f"{counted(between, 'score')} between two steps kept" if between else "",
            _counted(self.remarks.get("unchecked", 0), "not checked for paraphrases"),
            f"{counted(self.leaks, 'leak')} kept" if self.leaks else "",
            f"leaks {NOT_CHECKED} in {counted(self.unread, 'artifact')}" if self.unread else "",
            _counted(self.unscored, "unscored"),
        ]
        said = "; ".join(filter(None, (", ".join(filter(None, part)) for part in (became, seen))))
        return f"answers: {said or 'none noted'}" if said or self.asked else ""

    @property
    def asked(self) -> bool:
        return bool(self.answers)

    def _total(self, outcome: str) -> int:
        return sum(row.get(outcome, 0) for row in self.answers.values())

    def _by_role(self, outcome: str, words: str) -> str:
        rows = {purpose: row[outcome] for purpose, row in self.answers.items() if row.get(outcome)}
        if not rows:
            return ""
        most_first = sorted(rows, key=lambda purpose: -rows[purpose])
        roles = ", ".join(f"{purpose.removeprefix('builder: ')} {rows[purpose]}" for purpose in most_first)
        return f"{sum(rows.values()):,} {words} ({roles})"


def _counted(number: int, words: str) -> str:
    return f"{number:,} {words}" if number else ""


def cost_line(spent: Spent) -> str:
    """What all finished calls took, those of the scorers included; calls of unknown price are counted apart."""
    tokens = f"{spent.prompt_tokens:,} tokens in, {spent.completion_tokens:,} out"
    return f"{counted(spent.calls, 'call')}, {tokens}, {price_line(spent.cost, spent.unpriced, spent.calls)}"


def closing_lines(store: RunStore) -> list[str]:
    """What a command says of its calls when it ends, over the whole run; nothing where no model was asked."""
    spent = store.calls.spent()
    lines = [cost_line(spent), Outcomes.of_run(store).line]
    return [line for line in lines if line] if spent.calls else []
