"""Intervals of reported numbers: means over artifacts, and shares of counts (paper, section 4).

A conclusion should carry over to other artifacts, so artifacts are resampled, and the trials of an
artifact are averaged first and go with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import variance
from typing import TYPE_CHECKING, TypeVar

from discover_lib.base.records import Record

if TYPE_CHECKING:
    import numpy

RESAMPLES = 5_000
CONFIDENCE = 0.95
_Z = 1.959963984540054  # the normal distribution's 97.5% point
INTERVAL = "95% bootstrap over artifacts (percentile, widened to Student's t), trials nested"

Values = Mapping[str, Sequence[float]]  # artifact → one number per trial
Shown = Callable[[float], str]
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Estimate(Record):
    """A mean over artifacts with its interval.  `low` and `high` are None where one artifact gives no spread."""

    mean: float
    low: float | None
    high: float | None
    n_artifacts: int
    n_trials: int

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{two_decimals(self.mean)} (n = {self.n_artifacts})"
        return f"{two_decimals(self.mean)} [{two_decimals(self.low)}, {two_decimals(self.high)}]"


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Key → its values, both in order of appearance, e.g. artifact → one number per trial."""
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def bootstrap_mean(values: Values, seed: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """Mean over artifacts of the mean over their trials, with a 95% bootstrap interval over artifacts.

    The plain percentile bootstrap is too narrow for few artifacts, so its tails are widened until it is as wide as
    Student's interval on symmetric data.  From 30 artifacts on it covers 93 to 97% of the time on the miniature's own
    scores and on simulated shares, and about 93% on 30 artifacts with a long tail
    (`benchmarks/intervals_and_tests.py` measures it).  It never leaves the range of the data.

    Raises:
        ValueError: no artifact, or an artifact without trials.
    """
    import numpy as np

    if not values or any(not len(trials) for trials in values.values()):
        raise ValueError("an interval needs at least one artifact and one trial of each")
    # In the order of their names, so that the order in which artifacts finished has no effect.
    means = np.array([sum(values[artifact]) / len(values[artifact]) for artifact in sorted(values)], dtype=float)
    n_trials = sum(map(len, values.values()))
    n = len(means)
    if n == 1:
        return Estimate(float(means[0]), None, None, 1, n_trials)
    low, high = _interval(means, seed, resamples)
    return Estimate(float(means.mean()), low, high, n, n_trials)


def bootstrap_difference(ours: Values, theirs: Values, seed: int = 0) -> Estimate:
    """The paired difference `ours − theirs` over the same artifacts, with its interval.

    Raises:
        ValueError: the two were not measured on the same artifacts.
    """
    return bootstrap_mean({artifact: [each] for artifact, each in paired_differences(ours, theirs).items()}, seed)


def paired_differences(ours: Values, theirs: Values) -> dict[str, float]:
    """Artifact → difference of the means over trials, in the order of the artifacts' names.

    Raises:
        ValueError: the two were not measured on the same artifacts.
    """
    if set(ours) != set(theirs):
        raise ValueError("a paired difference needs the same artifacts on both sides")
    return {
        artifact: sum(ours[artifact]) / len(ours[artifact]) - sum(theirs[artifact]) / len(theirs[artifact])
        for artifact in sorted(ours)
    }


def _interval(means: numpy.ndarray, seed: int, resamples: int) -> tuple[float, float]:
    import numpy as np

    if np.ptp(means) == 0:
        return float(means[0]), float(means[0])
    draws = _shares(len(means), seed, resamples) @ means
    tail = tail_of(len(means))
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high)


@lru_cache(maxsize=4)
def _shares(n: int, seed: int, resamples: int) -> numpy.ndarray:
    """(resamples, n): the share that each of `n` artifacts has in each resample."""
    import numpy as np

    drawn = np.random.default_rng(seed).integers(0, n, size=(resamples, n))
    flat = drawn + n * np.arange(resamples)[:, None]
    return np.bincount(flat.ravel(), minlength=n * resamples).reshape(resamples, n) / n


@lru_cache(maxsize=1024)
def tail_of(n: int) -> float:
    """The tail of the bootstrap distribution that an interval over `n` artifacts leaves out on either side.

    A bootstrap mean spreads by sd·√((n − 1)/n)/√n and its normal tails ignore that the sd is an estimate; both
    are made good by taking the tail at −t·√(n/(n − 1)) (the "expanded percentile" interval).
    """
    stretched = students_t(CONFIDENCE, n - 1) * math.sqrt(n / (n - 1))
    return math.erfc(stretched / math.sqrt(2)) / 2


def students_t(share: float, freedom: int) -> float:
    """The t between whose −t and t Student's distribution has `share` of its mass, by halving.

    The same number as SciPy's to twelve digits; loading that would take as long as a few hundred conversations.
    """
    low, high = 0.0, 1e4
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _mass_within(middle, freedom) < share else (low, middle)
    return high


def _mass_within(t: float, freedom: int) -> float:
    """The mass of Student's distribution between −t and t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = cosine if freedom % 2 else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + sine * total) if freedom % 2 else sine * total


# -- shares of counts --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Share:
    """`hits` of `n`, with the 95% Wilson score interval; all None if `n` is 0."""

    hits: int
    n: int
    value: float | None
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return "no cases (n = 0)"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] ({self.hits} of {self.n:,})"


def share_of(hits: int, n: int) -> Share:
    """The share `hits / n` with its Wilson interval, which holds its level near 0 and 1, where the usual one does not.

    Written out here although scipy has it (a test holds them equal): importing scipy.stats takes a second.

    Raises:
        ValueError: not 0 ≤ hits ≤ n.
    """
    if not 0 <= hits <= n:
        raise ValueError(f"a share needs 0 ≤ hits ≤ n, got {hits} of {n}")
    if n == 0:
        return Share(0, 0, None, None, None)
    value, z2 = hits / n, _Z**2
    middle = (value + z2 / (2 * n)) / (1 + z2 / n)
    reach = _Z * math.sqrt(value * (1 - value) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    low = 0.0 if hits == 0 else max(0.0, middle - reach)
    high = 1.0 if hits == n else min(1.0, middle + reach)
    return Share(hits, n, value, low, high)


def percent(share: float, decimals: int = 0) -> str:
    """A share as it is written everywhere: "95%"."""
    return f"{100 * share:.{decimals}f}%"


def two_decimals(value: float) -> str:
    """As it is shown, with a real minus sign."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")  # never "−0.00"


@dataclass(frozen=True)
class Difference(Record):
    """The difference of two groups' means with its 95% interval, its p, and the size of each group."""

    mean: float
    low: float
    high: float
    p: float
    n: tuple[int, int]

    def __str__(self) -> str:
        mean, low, high = (round(value, 2) + 0.0 for value in (self.mean, self.low, self.high))  # never "-0.00"
        return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"


def welch(ours: Sequence[float], theirs: Sequence[float]) -> Difference | None:
    """The mean of `ours` minus that of `theirs`. None if a group has fewer than two values, or if no value varies."""
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
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * error
    return Difference(mean, mean - half, mean + half, float(2 * stats.t.sf(abs(mean) / error, freedom)), sizes)
