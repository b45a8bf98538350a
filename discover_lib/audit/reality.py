"""How far a simulated user's talk is from that of people, feature by feature, with what people differ by themselves."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from discover_lib.base.seeds import derive_rng
from discover_lib.metrics.manners import EVERY, Messages, manners_of
from discover_lib.metrics.power import Difference, welch

HALVINGS = 200


@dataclass(frozen=True)
class Distance:
    """One feature: both means, their difference with its interval, and how large that is.

    Attributes:
        size: of the difference, in standard deviations of people's conversations; None where people do not vary.
        ceiling: the size that 95 % of random halves of the people's own conversations stay below.
    """

    feature: str
    meaning: str
    people: float
    ours: float
    difference: Difference | None
    size: float | None
    ceiling: float | None

    @property
    def beyond_people(self) -> bool:
        """Whether it is clear of zero, and larger than people differ from people."""
        clear = self.difference is not None and (self.difference.low > 0 or self.difference.high < 0)
        return clear and self.size is not None and self.ceiling is not None and self.size > self.ceiling


def distances(ours: Sequence[Messages], people: Sequence[Messages], seed: int = 0) -> list[Distance]:
    """Every feature that four conversations on each side are long enough for, the farthest first.

    Each conversation counts once.

    Raises:
        ValueError: fewer than four conversations on a side.
    """
    of_ours, of_people = ([manners_of(messages) for messages in side if messages] for side in (ours, people))
    if min(len(of_ours), len(of_people)) < 4:
        raise ValueError(
            f"four conversations are needed of each, got {len(of_people)} of people and {len(of_ours)} here"
        )
    found = []
    for name, (meaning, _) in EVERY.items():
        mine, theirs = ([values[name] for values in side if name in values] for side in (of_ours, of_people))
        if min(len(mine), len(theirs)) < 4:
            continue
        spread = statistics.stdev(theirs)
        size = abs(statistics.fmean(mine) - statistics.fmean(theirs)) / spread if spread else None
        means = statistics.fmean(theirs), statistics.fmean(mine)
        found.append(Distance(name, meaning, *means, welch(mine, theirs), size, _ceiling(theirs, spread, seed)))
    return sorted(found, key=lambda each: -(each.size or 0))


def _ceiling(values: Sequence[float], spread: float, seed: int) -> float | None:
    """What random halves of the same people differ by, at the 95th percentile, in standard deviations."""
    if not spread:
        return None
    rng, half, drawn = derive_rng(seed, "halves"), len(values) // 2, list(values)
    sizes = []
    for _ in range(HALVINGS):
        rng.shuffle(drawn)
        sizes.append(abs(statistics.fmean(drawn[:half]) - statistics.fmean(drawn[half:])) / spread)
    return sorted(sizes)[round(0.95 * (HALVINGS - 1))]
