"""How many people a study needs: the power of a t test, by its exact formula.

Between: a group of people for each condition, Welch's test.  Paired: everybody rates two, the test of the differences.
Of more than two conditions every pair is compared, and the power is that of one pair at Bonferroni's share of 5%:
Holm's correction, which reports use, never finds less.
"""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import variance
from typing import Literal

from discover_lib.base.records import Record

Design = Literal["between", "paired"]
ALPHA = 0.05  # two-sided
MOST = 100_000  # people, in all


@dataclass(frozen=True)
class Planned(Record):
    """What a study could find.

    Attributes:
        effect: the difference of two means, in points of the scale.
        sd: of the ratings of one assistant, in points.
        correlation: between a person's ratings of both assistants; counts where the design is paired.
        conditions: people are shared out equally among them; paired, among their pairs.

    Raises:
        ValueError: an sd that is not positive, a correlation outside -1 to 1, or fewer than two conditions.
    """

    design: Design
    effect: float
    sd: float
    correlation: float = 0.0
    conditions: int = 2

    def __post_init__(self) -> None:
        if not self.sd > 0 or not -1 < self.correlation < 1:
            raise ValueError(f"sd is positive and a correlation between -1 and 1, got {self.sd} and {self.correlation}")
        if self.conditions < 2:
            raise ValueError(f"at least two conditions are compared, got {self.conditions}")

    @property
    def pairs(self) -> int:
        """Comparisons of two conditions."""
        return math.comb(self.conditions, 2)

    @property
    def shares(self) -> int:
        """Into how many equal parts people are divided: groups, or the pairs of conditions that they meet."""
        return self.pairs if self.design == "paired" else self.conditions

    @property
    def alpha(self) -> float:
        """The level of one comparison."""
        return ALPHA / self.pairs

    @property
    def standard_size(self) -> float:
        """The effect in standard deviations: Cohen's d between groups, d_z of paired differences."""
        spread = self.sd * math.sqrt(2 * (1 - self.correlation)) if self.design == "paired" else self.sd
        return self.effect / spread

    def power(self, people: int) -> float:
        """The probability that one comparison finds the effect, with this many people in all."""
        from scipy import stats

        n = people // self.shares
        if n < 2:
            return 0.0
        freedom = n - 1 if self.design == "paired" else 2 * n - 2
        shift = abs(self.standard_size) * math.sqrt(n if self.design == "paired" else n / 2)
        critical = stats.t.ppf(1 - self.alpha / 2, freedom)
        far = stats.nct.cdf(-critical, freedom, shift) if shift < 10 else 0.0  # scipy: not a number for larger ones
        return float(stats.nct.sf(critical, freedom, shift) + far)

    def people(self, power: float = 0.8) -> int | None:
        """The fewest people in all that reach a power; None where `MOST` do not."""
        step = self.shares
        if self.power(MOST // step * step) < power:
            return None
        return step * bisect_left(range(MOST // step), power, lo=2, key=lambda each: self.power(each * step))

    def detectable(self, people: int, power: float = 0.8) -> float:
        """The smallest effect, in points, that this many people find with a power."""
        low, high = 0.0, 20 * self.sd
        while high - low > 1e-6 * self.sd:
            middle = (low + high) / 2
            found = dataclasses.replace(self, effect=middle).power(people)
            low, high = (middle, high) if found < power else (low, middle)
        return high


@dataclass(frozen=True)
class Difference(Record):
    """The difference of two conditions' means with its 95% interval, its p, and how many people rated each."""

    mean: float
    low: float
    high: float
    p: float
    n: tuple[int, int]

    def __str__(self) -> str:
        mean, low, high = (round(value, 2) + 0.0 for value in (self.mean, self.low, self.high))  # never "-0.00"
        return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"


def welch(ours: Sequence[float], theirs: Sequence[float]) -> Difference | None:
    """The mean of `ours` minus that of `theirs`; None where a group has fewer than two, or no rating varies."""
    from scipy import stats

    sizes = (len(ours), len(theirs))
    if min(sizes) < 2:
        return None
    parts = [variance(group) / len(group) for group in (ours, theirs)]
    error = math.sqrt(sum(parts))
    if not error:
        return None
    freedom = error**4 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    mean = sum(ours) / len(ours) - sum(theirs) / len(theirs)
    half = float(stats.t.ppf(1 - ALPHA / 2, freedom)) * error
    return Difference(mean, mean - half, mean + half, float(2 * stats.t.sf(abs(mean) / error, freedom)), sizes)
