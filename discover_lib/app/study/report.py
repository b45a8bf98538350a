"""What a study says: who came how far, and, once it is full, how the conditions differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import variance

from discover_lib.app.study.design import StudyError
from discover_lib.app.study.desk import Desk
from discover_lib.app.study.flow import Progress, Round
from discover_lib.metrics.intervals import Estimate, bootstrap_difference, bootstrap_mean
from discover_lib.metrics.power import Difference, welch

ARRIVED = ("arrived", "consent", "eligibility", "topic")  # what has happened of these, for the flow of participants


@dataclass(frozen=True)
class Finished:
    """One finished conversation of somebody who finished the study."""

    code: str
    progress: Progress
    place: int  # 0 for the first conversation of a participant

    @property
    def round(self) -> Round:
        return self.progress.rounds[self.place]

    def ratings(self) -> dict[str, int | None]:
        assert self.round.final is not None
        return dict(self.round.final["ratings"])


def finished(desk: Desk) -> Iterator[Finished]:
    """The conversations of everybody who finished."""
    for code, progress in desk.everybody():
        if progress.closed == "done":
            for place in range(len(progress.rounds)):
                yield Finished(code, progress, place)


def flow_lines(desk: Desk) -> list[str]:
    """How many came how far: what a flow diagram of participants shows."""
    everybody = [progress for _, progress in desk.everybody()]
    reached = {kind: sum(progress.first(kind) is not None for progress in everybody) for kind in ARRIVED}
    ends = Counter(progress.closed or "at work" for progress in everybody)
    left = desk.withdrawn()
    lines = [f"arrived {reached['arrived']}, consented {reached['consent']}, began {reached['topic']}"]
    lines.append(", ".join(f"{end.replace('_', ' ')} {count}" for end, count in sorted(ends.items())) or "nobody yet")
    if left:
        at = ", ".join(f"{count} at {step}" for step, count in sorted(left.items()))
        lines.append(f"withdrawn and deleted: {left.total()} ({at})")
    lines.append(f"finished {ends['done']} of {desk.study.participants} planned; per cell {_cells(desk)}")
    return lines


def _cells(desk: Desk) -> str:
    cells = Counter(
        f"{progress.task} {'+'.join(progress.arms)}" for _, progress in desk.everybody() if progress.closed == "done"
    )
    return ", ".join(f"{cell} {count}" for cell, count in sorted(cells.items())) or "none"


@dataclass(frozen=True)
class Compared:
    """A scale: the mean of every condition, and what the first two differ by where a difference can be had."""

    scale: str
    means: Mapping[str, Estimate]
    unsaid: int
    difference: Difference | Estimate | None


def compared(desk: Desk) -> list[Compared]:
    """Every final scale by condition, people resampled; pairs of one person where the design is paired."""
    study, results = desk.study, []
    for scale in study.final.scales:
        values = _ratings(desk, scale)
        unsaid = sum(row.ratings()[scale] is None for row in finished(desk))
        means = {arm: bootstrap_mean(ratings) for arm, ratings in values.items() if ratings}
        results.append(Compared(scale, means, unsaid, _difference(study.design, *list(values.values())[:2])))
    return results


def _ratings(desk: Desk, scale: str) -> dict[str, dict[str, list[float]]]:
    """Condition → code → what that participant gave on a final scale."""
    values: dict[str, dict[str, list[float]]] = {arm: {} for arm in desk.study.conditions}
    for row in finished(desk):
        if (rating := row.ratings()[scale]) is not None:
            values[row.round.arm][row.code] = [float(rating)]
    return values


SIDES = ("scale", "condition", "people", "simulated", "simulated − people")


def side_by_side(people: Desk, simulated: Desk) -> list[tuple[str, str, str, str, str]]:
    """People's ratings and those of simulated participants of the same study: rows under `SIDES`, with 95 % intervals.

    The last row of a scale is what the second condition adds to the first, on both sides.

    Raises:
        StudyError: the two are not of one study's conditions and scales, or not people and simulated participants.
    """
    one, other = people.study, simulated.study
    if list(one.conditions) != list(other.conditions) or one.final.scales != other.final.scales:
        raise StudyError(f"{simulated.folder}: other conditions or scales than {people.folder}")
    if not any(row.progress.simulated for row in finished(simulated)):
        raise StudyError(f"{simulated.folder}: no simulated participant has finished; 'discover study bots' sends some")
    rows = []
    for theirs, ours in zip(compared(people), compared(simulated), strict=True):
        given, drawn = _ratings(people, theirs.scale), _ratings(simulated, theirs.scale)
        for arm in one.conditions:
            apart = welch([each for [each] in drawn[arm].values()], [each for [each] in given[arm].values()])
            means = [each.means.get(arm) for each in (theirs, ours)]
            sides = [f"{mean} (n = {mean.n_artifacts})" if mean else "–" for mean in means]
            rows.append((theirs.scale, arm, sides[0], sides[1], str(apart or "–")))
        first, second = list(one.conditions)[:2]
        gains = [str(each.difference or "–") for each in (theirs, ours)]
        rows.append((theirs.scale, f"{second} − {first}", gains[0], gains[1], ""))
    return rows


def _difference(
    design: str, first: Mapping[str, list[float]], second: Mapping[str, list[float]]
) -> Difference | Estimate | None:
    """The second condition minus the first."""
    if design == "between":
        return welch([value for [value] in second.values()], [value for [value] in first.values()])
    both = sorted(first.keys() & second.keys())
    if not both:
        return None
    return bootstrap_difference({each: second[each] for each in both}, {each: first[each] for each in both})


def spread(desk: Desk) -> float:
    """The standard deviation of the first scale's ratings within conditions, in points.

    Raises:
        StudyError: too few have finished to say.
    """
    scale = next(iter(desk.study.final.scales))
    groups: dict[str, list[float]] = {}
    for row in finished(desk):
        if (rating := row.ratings()[scale]) is not None:
            groups.setdefault(row.round.arm, []).append(float(rating))
    within = [group for group in groups.values() if len(group) > 1]
    freedom = sum(len(group) - 1 for group in within)
    if not freedom:
        raise StudyError(f"{desk.folder}: too few have finished to say how much ratings vary")
    return math.sqrt(sum((len(group) - 1) * variance(group) for group in within) / freedom)


def outcome_lines(desk: Desk) -> list[str]:
    """The ratings in sentences, with n and intervals."""
    lines = []
    first, second = list(desk.study.conditions)[:2]
    for each in compared(desk):
        for arm, mean in each.means.items():
            lines.append(f"{each.scale}, {arm}: {mean} (n = {mean.n_artifacts})")
        how = each.difference
        if how is None:
            lines.append(f"{each.scale}: too few answers for a difference")
        else:
            low, high = how.low, how.high
            clear = low is not None and high is not None and (low > 0 or high < 0)
            sign = "" if clear else "; not distinguishable"
            shown = str(how) if isinstance(how, Difference) else f"{how}, pairs of one person"
            lines.append(f"{each.scale}, {second} − {first}: {shown}{sign}")
        if each.unsaid:
            lines.append(f"{each.scale}: {each.unsaid} would rather not say")
    return lines


def quality_lines(desk: Desk) -> list[str]:
    """What could have told conditions apart or spoilt answers, by condition."""
    by_arm: dict[str, Counter[str]] = {arm: Counter() for arm in desk.study.conditions}
    for _, progress in desk.everybody():
        for round in progress.rounds:
            count = by_arm[round.arm]
            replies = [exchange.reply for exchange in round.exchanges if exchange.reply]
            count["conversations"] += 1
            count["replies"] += len(replies)
            count["later than the fixed time"] += sum(bool(reply["late"]) for reply in replies)
            count["failures"] += sum(exchange.failures for exchange in round.exchanges)
            count["that name a condition"] += sum(_tells(desk, reply["text"]) for reply in replies)
            count["messages with pasted text"] += sum(bool(exchange.said["pasted"]) for exchange in round.exchanges)
    return [f"{arm}: " + ", ".join(f"{count[what]} {what}" for what in count) for arm, count in by_arm.items() if count]


def _tells(desk: Desk, text: str) -> bool:
    """Whether a reply holds a model's own name; scripted names are everyday words and tell nothing."""
    names = [name for name in desk.study.assistants if "/" in name or "-" in name]
    return any(part.casefold() in text.casefold() for name in names for part in (name, name.rpartition("/")[2]))
