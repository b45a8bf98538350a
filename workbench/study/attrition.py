"""Who left a study on the way, by condition: counts alone, of those who withdrew as well."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from math import comb

from discover_lib.metrics.intervals import Share, share_difference, share_of
from discover_lib.metrics.power import ALPHA
from workbench.study.desk import Desk

COLUMNS = {
    "condition": "label; of a paired design both in their order; empty before one was drawn",
    "people": "who were given it; in the row without a condition: who ended or are at work before",
    "began": "chose a topic; of those who withdrew nothing but the step is known",
    "finished": "to the end, and did not withdraw",
    "withdrew": "deleted their data, at any time",
    "timed_out": "rested for too long and were closed",
    "no_consent": "did not agree",
    "screened_out": "gave an answer that is not admitted",
    "at_work": "are still on their way",
}
BEFORE_TOPIC = ("consent", "eligibility", "task")


@dataclass(frozen=True)
class Attrition:
    """Under one condition; fields as `COLUMNS`."""

    condition: str
    people: int
    began: int
    finished: int
    withdrew: int
    timed_out: int
    no_consent: int
    screened_out: int
    at_work: int

    @property
    def lost(self) -> Share:
        """Of those whose part is over: who withdrew or timed out."""
        return share_of(self.withdrew + self.timed_out, self.people - self.at_work)


def attrition(desk: Desk) -> list[Attrition]:
    """Before a condition was drawn, then every condition in the order of the study file."""
    counts: dict[str, Counter[str]] = {"": Counter()}
    counts |= {"+".join(cell.arms): Counter() for cell in desk.study.cells}
    for _, progress in desk.everybody():
        count = counts["+".join(progress.arms)]
        count["people"] += 1
        count["began"] += bool(progress.topic)
        count[{None: "at_work", "done": "finished"}.get(progress.closed, str(progress.closed))] += 1
    for (step, arms), people in desk.withdrawn().items():
        count = counts.get(arms, counts[""])
        count["people"] += people
        count["withdrew"] += people
        count["began"] += people * (bool(arms) and step not in BEFORE_TOPIC)
    names = list(COLUMNS)[1:]
    return [Attrition(arms, **{name: count[name] for name in names}) for arms, count in counts.items()]


def attrition_lines(desk: Desk) -> list[str]:
    """How many were lost under every condition, and whether conditions differ in it."""
    before, *rows = attrition(desk)
    lines = [f"before a condition was drawn: {_parts(before)}"] if before.people else []
    for row in rows:
        lines.append(f"{row.condition}: given to {row.people}, {row.began} began; {_parts(row)}; lost {row.lost}")
    return lines + [_difference(one, other) for one, other in combinations(rows, 2)]


def _parts(row: Attrition) -> str:
    counts = {name: getattr(row, name) for name in list(COLUMNS)[3:]}
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count) or "nobody yet"


def _difference(one: Attrition, other: Attrition) -> str:
    """The second condition minus the first, as everywhere in a report."""
    pair, ours, theirs = f"lost, {other.condition} − {one.condition}", other.lost, one.lost
    extremes = 2 if ours.n == theirs.n else 1  # of Fisher's exact test, which all against nobody is as rare as
    if extremes / comb(ours.n + theirs.n, ours.n) >= ALPHA:
        return f"{pair}: too few to tell ({ours.n} and {theirs.n})"
    how = share_difference(ours, theirs)
    assert how.low is not None and how.high is not None
    clear = "" if how.low > 0 or how.high < 0 else "; not distinguishable"
    return f"{pair}: {how} (n = {ours.n} and {theirs.n}){clear}"
