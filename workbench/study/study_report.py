"""What a study says: who came how far, and, once it is full, how the conditions differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from statistics import variance

from discover_lib.base.errors import DiscoverError
from discover_lib.metrics.intervals import Estimate, bootstrap_difference, bootstrap_mean, paired_differences
from discover_lib.metrics.paired import holm, permutation_p
from discover_lib.metrics.power import ALPHA, Difference, welch
from workbench.study.desk import Desk
from workbench.study.flow import Progress, Round

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
    simulated = sum(progress.simulated for progress in everybody)
    reached = {kind: sum(progress.first(kind) is not None for progress in everybody) for kind in ARRIVED}
    ends = Counter(progress.closed or "at work" for progress in everybody)
    left = desk.withdrawn()
    lines = [f"a rehearsal: {simulated} of {len(everybody)} participants are simulated"] if simulated else []
    lines += [f"arrived {reached['arrived']}, consented {reached['consent']}, began {reached['topic']}"]
    lines.append(", ".join(f"{end.replace('_', ' ')} {count}" for end, count in sorted(ends.items())) or "nobody yet")
    if left:
        steps: Counter[str] = Counter()
        for (step, _), count in left.items():
            steps[step] += count
        at = ", ".join(f"{count} at {step}" for step, count in sorted(steps.items()))
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
    """A scale: the mean of every condition, and what each pair of them differs by where a difference can be had.

    Attributes:
        differences: (first, second) → the second minus the first, in the order of the study file.
        adjusted: the same pairs → p, corrected for the number of pairs (Holm); 1 where there is no difference.
    """

    scale: str
    means: Mapping[str, Estimate]
    unsaid: int
    differences: Mapping[tuple[str, str], Difference | None]
    adjusted: Mapping[tuple[str, str], float]


def compared(desk: Desk) -> list[Compared]:
    """Every final scale by condition, people resampled; pairs of one person where the design is paired."""
    study, results = desk.study, []
    for scale in study.final.scales:
        values = _ratings(desk, scale)
        unsaid = sum(row.ratings()[scale] is None for row in finished(desk))
        means = {arm: bootstrap_mean(ratings) for arm, ratings in values.items() if ratings}
        pairs = list(combinations(study.conditions, 2))
        differences = {(a, b): _difference(study.design, values[a], values[b]) for a, b in pairs}
        adjusted = holm([each.p if each else 1.0 for each in differences.values()])
        results.append(Compared(scale, means, unsaid, differences, dict(zip(pairs, adjusted, strict=True))))
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

    The last rows of a scale are what conditions differ by, on both sides.

    Raises:
        DiscoverError: the two are not of one study's conditions and scales, or not people and simulated participants.
    """
    one, other = people.study, simulated.study
    if list(one.conditions) != list(other.conditions) or one.final.scales != other.final.scales:
        raise DiscoverError(f"{simulated.folder}: other conditions or scales than {people.folder}")
    if not any(row.progress.simulated for row in finished(simulated)):
        raise DiscoverError(f"{simulated.folder}: no simulated participant has finished: see 'discover study bots'")
    if any(row.progress.simulated for row in finished(people)):
        raise DiscoverError(
            f"{people.folder}: participants are simulated; give the folder of people, and theirs to --beside"
        )
    rows = []
    for theirs, ours in zip(compared(people), compared(simulated), strict=True):
        given, drawn = _ratings(people, theirs.scale), _ratings(simulated, theirs.scale)
        for arm in one.conditions:
            apart = welch([each for [each] in drawn[arm].values()], [each for [each] in given[arm].values()])
            means = [each.means.get(arm) for each in (theirs, ours)]
            sides = [_with_n(mean) if mean else "–" for mean in means]
            rows.append((theirs.scale, arm, sides[0], sides[1], str(apart or "–")))
        for (first, second), difference in theirs.differences.items():
            gain = ours.differences[first, second]
            rows.append((theirs.scale, f"{second} − {first}", str(difference or "–"), str(gain or "–"), ""))
    return rows


def _difference(design: str, first: Mapping[str, list[float]], second: Mapping[str, list[float]]) -> Difference | None:
    """The second condition minus the first; None where too few rated."""
    if design == "between":
        return welch([value for [value] in second.values()], [value for [value] in first.values()])
    both = sorted(first.keys() & second.keys())
    if len(both) < 2:
        return None
    ours, theirs = ({each: side[each] for each in both} for side in (second, first))
    how = bootstrap_difference(ours, theirs)
    assert how.low is not None and how.high is not None
    p = permutation_p(list(paired_differences(ours, theirs).values()))
    return Difference(how.mean, how.low, how.high, p, (len(both), len(both)))


def _with_n(mean: Estimate) -> str:
    return str(mean) if mean.low is None else f"{mean} (n = {mean.n_artifacts})"


def spread(desk: Desk) -> float:
    """The standard deviation of the first scale's ratings within conditions, in points.

    Raises:
        DiscoverError: too few have finished to say.
    """
    scale = next(iter(desk.study.final.scales))
    groups = ([rating for [rating] in ratings.values()] for ratings in _ratings(desk, scale).values())
    within = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in within)
    if not freedom:
        raise DiscoverError(f"{desk.folder}: too few have finished to say how much ratings vary")
    return math.sqrt(sum((len(group) - 1) * variance(group) for group in within) / freedom)


def outcome_lines(desk: Desk) -> list[str]:
    """The ratings in sentences, with n and intervals; of several pairs of conditions with Holm's p."""
    lines, paired = [], desk.study.design == "paired"
    for each in compared(desk):
        lines += [f"{each.scale}, {arm}: {_with_n(mean)}" for arm, mean in each.means.items()]
        several = len(each.differences) > 1
        for (first, second), how in each.differences.items():
            pair = f"{each.scale}, {second} − {first}"
            if how is None:
                lines.append(f"{pair}: too few answers for a difference")
                continue
            p = each.adjusted[first, second]
            clear = p < ALPHA if several else how.low > 0 or how.high < 0
            people = f"{how.n[0]} pairs of one person" if paired else f"{how.n[0]} and {how.n[1]}"
            shown = f"{how} (n = {people}{f'; p {_shown(p)}' if several else ''})"
            lines.append(f"{pair}: {shown}{'' if clear else '; not distinguishable'}")
        if each.unsaid:
            lines.append(f"{each.scale}: {each.unsaid} would rather not say")
    if len(desk.study.conditions) > 2:
        lines.append("every pair of conditions is compared: p by Holm over the pairs of a scale, intervals uncorrected")
    return lines


def _shown(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


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
