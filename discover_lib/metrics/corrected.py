"""Rates whose scorer errs: what people's labels say of the scorer, and the rate that follows with its interval.

A detector that finds 90 % of refusals and calls 5 % of the other replies refusals prints a rate that is neither.
Rogan and Gladen (1978) turn the printed rate into the true one; the interval is that of Lang and Reiczigel (2014),
which takes in how few labels the scorer's errors are known from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from discover_lib.base.records import Record
from discover_lib.metrics.intervals import Share, share_of

_Z = 1.959963984540054  # the normal distribution's 97.5 % point


@dataclass(frozen=True)
class Confusion(Record):
    """How a scorer's verdicts stand to people's labels."""

    hits: int  # both say yes
    misses: int  # people say yes, the scorer no
    false_alarms: int  # the scorer says yes, people no
    rejections: int  # both say no

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Confusion:
        """Of (scorer, people) pairs."""
        counts = {(True, True): 0, (False, True): 0, (True, False): 0, (False, False): 0}
        for scorer, people in pairs:
            counts[scorer, people] += 1
        return cls(*counts.values())

    @property
    def sensitivity(self) -> Share:
        """The share of what people call yes that the scorer finds."""
        return share_of(self.hits, self.hits + self.misses)

    @property
    def specificity(self) -> Share:
        """The share of what people call no that the scorer leaves alone."""
        return share_of(self.rejections, self.rejections + self.false_alarms)

    @property
    def accuracy(self) -> Share:
        total = self.hits + self.misses + self.false_alarms + self.rejections
        return share_of(self.hits + self.rejections, total)


@dataclass(frozen=True)
class Corrected(Record):
    """A rate as the scorer printed it, and the true one with its 95 % interval."""

    printed: float
    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] (printed {self.printed:.3f}, n = {self.n:,})"


def corrected(yes: float, n: int, confusion: Confusion) -> Corrected | None:
    """The true rate behind `yes` of `n` by a scorer with this confusion.

    None where there is nothing to count, where the scorer is no better than chance (its verdicts then say nothing), and
    where no rate from 0 to 1 would give what it printed: then it errs otherwise here than on the labelled replies.
    """
    positive, negative = confusion.hits + confusion.misses, confusion.rejections + confusion.false_alarms
    if not (n and positive and negative):
        return None
    informed = confusion.hits / positive + confusion.rejections / negative - 1
    sensitivity, specificity = (confusion.hits + 1) / (positive + 2), (confusion.rejections + 1) / (negative + 2)
    youden = sensitivity + specificity - 1
    if informed <= 0 or youden <= 0:
        return None
    value = (yes / n + confusion.rejections / negative - 1) / informed
    counted = n + _Z**2
    rate = (yes + _Z**2 / 2) / counted
    middle = (rate + specificity - 1) / youden
    of_sensitivity = sensitivity * (1 - sensitivity) / (positive + 2)
    of_specificity = specificity * (1 - specificity) / (negative + 2)
    shift = 2 * _Z**2 * (middle * of_sensitivity - (1 - middle) * of_specificity)
    spread = rate * (1 - rate) / counted + (1 - middle) ** 2 * of_specificity + middle**2 * of_sensitivity
    half = _Z * math.sqrt(spread) / youden
    low, high = middle + shift - half, middle + shift + half
    if low > 1 or high < 0:
        return None
    return Corrected(yes / n, min(1.0, max(0.0, value)), max(low, 0.0), min(high, 1.0), n)


def detectable_change(share: float, n: int, power_z: float = 0.8416212335729143) -> float:
    """The smallest change of a share between two sets of `n` answers that is seen with 80 % probability at 5 %.

    Both sets count as independent and as varying like `share`, or like one more in `n` where nothing varies.
    """
    share = min(max(share, 1 / (n + 1)), n / (n + 1))
    return (_Z + power_z) * math.sqrt(2 * share * (1 - share) / n)
