"""Who left a study on the way, by condition: counts alone, of those who withdrew as well."""

from __future__ import annotations

from collections import Counter
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


def lost(count: Counter[str]) -> Share:
    """Of those whose part is over: who withdrew or timed out."""
    return share_of(count["withdrew"] + count["timed_out"], count["people"] - count["at_work"])


def attrition(desk: Desk) -> dict[str, Counter[str]]:
    """Condition → how many, under the names of `COLUMNS`; "" is before one was drawn, then as in the study file."""
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
    return counts


def attrition_rows(desk: Desk) -> list[dict[str, object]]:
    """The table of the export."""
    names = list(COLUMNS)[1:]
    return [{"condition": arms, **{name: count[name] for name in names}} for arms, count in attrition(desk).items()]


def attrition_lines(desk: Desk) -> list[str]:
    """How many were lost under every condition, and whether conditions differ in it."""
    counts = attrition(desk)
    before = counts.pop("")
    lines = [f"before a condition was drawn: {_parts(before)}"] if before["people"] else []
    for arms, count in counts.items():
        given = f"given to {count['people']}, {count['began']} began"
        lines.append(f"{arms}: {given}; {_parts(count)}; lost {lost(count)}")
    for (first, one), (second, other) in combinations(counts.items(), 2):
        lines.append(f"lost, {second} − {first}: {_difference(lost(one), lost(other))}")
    return lines


def _parts(count: Counter[str]) -> str:
    ends = list(COLUMNS)[3:]
    return ", ".join(f"{count[end]} {end.replace('_', ' ')}" for end in ends if count[end]) or "nobody yet"


def _difference(theirs: Share, ours: Share) -> str:
    """The second share minus the first, as everywhere in a report."""
    extremes = 2 if ours.n == theirs.n else 1  # of Fisher's exact test, which all against nobody is as rare as
    if extremes / comb(ours.n + theirs.n, ours.n) >= ALPHA:
        return f"too few to tell ({ours.n} and {theirs.n})"
    how = share_difference(ours, theirs)
    assert how.low is not None and how.high is not None
    clear = "" if how.low > 0 or how.high < 0 else "; not distinguishable"
    return f"{how} (n = {ours.n} and {theirs.n}){clear}"
