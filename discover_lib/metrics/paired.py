"""Two assistants compared artifact by artifact: permutation test, Holm's correction, detectable difference."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import count
from statistics import stdev
from typing import TYPE_CHECKING

from discover_lib.base.records import Record
from discover_lib.metrics.intervals import (
    Estimate,
    Shown,
    Values,
    bootstrap_difference,
    paired_differences,
    two_decimals,
)

if TYPE_CHECKING:
    import numpy

TEST = "paired permutation of the signs over artifacts, two-sided, Holm over the pairs of one measure"
PERMUTATIONS = 10_000
EXACT_UP_TO = 12  # artifacts that differ: 2^12 patterns of signs are enumerated, more are drawn
SIGNIFICANCE = 0.05
TOO_FEW = "too few to tell"
POWER = 0.8
MOST_ARTIFACTS = 1_000_000  # beyond it "how many would be needed" has no practical answer


def permutation_p(differences: Sequence[float], seed: int = 0, permutations: int = PERMUTATIONS) -> float:
    """Two-sided p of a sign-flip permutation test on the mean paired difference.

    The statistic is the mean.  Up to `EXACT_UP_TO` artifacts that differ at all every pattern of signs is counted; of
    more, `permutations` are drawn and p is (1 + as extreme) / (1 + drawn), so it is never 0 and the test never
    oversteps its level.  Ours, not scipy's: the same p where it is exact, and five times as fast.

    Raises:
        ValueError: no differences.
    """
    import numpy as np

    if not len(differences):
        raise ValueError("a paired test needs at least one artifact")
    every = np.array(differences, dtype=float)
    moved = every[every != 0]
    enough = abs(float(moved.sum())) - 1e-9 * float(np.abs(moved).sum())  # sums differ in their last digits
    if len(moved) <= EXACT_UP_TO:
        return float((np.abs(_all_signs(len(moved)) @ moved) >= enough).mean())
    extreme = int((np.abs(_drawn_signs(len(every), seed, permutations) @ every) >= enough).sum())
    return (1 + extreme) / (1 + permutations)


def least_p(n: int, family: int = 1) -> float:
    """The smallest p that `n` artifacts can give, all of them differing to one side; Holm's over `family` pairs."""
    of_patterns = 2.0 ** (1 - n)  # all signs alike, either way
    return min(1.0, family * (of_patterns if n <= EXACT_UP_TO else max(of_patterns, 1 / (1 + PERMUTATIONS))))


def fewest_artifacts(family: int = 1) -> int:
    """How many artifacts it takes that the smallest p, Holm's over `family` pairs, can be significant."""
    return next(n for n in count(1) if least_p(n, family) < SIGNIFICANCE)


@lru_cache(maxsize=EXACT_UP_TO)
def _all_signs(n: int) -> numpy.ndarray:
    """(2^n, n) of ±1."""
    import numpy as np

    return 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)


@lru_cache(maxsize=4)
def _drawn_signs(n: int, seed: int, permutations: int) -> numpy.ndarray:
    """(permutations, n) of ±1."""
    import numpy as np

    return 2.0 * np.random.default_rng(seed).integers(0, 2, size=(permutations, n)) - 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: the chance of one false alarm in the family is below the level."""
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = least
    return adjusted


def detectable_difference(sd: float, n: int, power: float = POWER) -> float:
    """The least true difference that `n` artifacts would find with this power, at 5% two-sided.

    Args:
        sd: of the paired differences between artifacts.

    Raises:
        ValueError: fewer than two artifacts.
    """
    if n < 2:
        raise ValueError("a detectable difference needs at least two artifacts")
    return sd * _standard_errors(n, power) / math.sqrt(n)


def artifacts_needed(sd: float, difference: float, power: float = POWER) -> int | None:
    """How many artifacts would find a true difference with this power; None for more than a million.

    Raises:
        ValueError: a difference that is not positive.
    """
    if difference <= 0:
        raise ValueError(f"the difference to be seen must be positive, got {difference}")
    if detectable_difference(sd, MOST_ARTIFACTS, power) > difference:
        return None
    seen = partial(detectable_difference, sd, power=power)  # less with every artifact
    return bisect_left(range(MOST_ARTIFACTS), True, lo=2, key=lambda n: seen(n) <= difference)


@lru_cache(maxsize=4096)
def _standard_errors(n: int, power: float) -> float:
    """How many standard errors a true difference must measure: the noncentrality of a t test with that power."""
    from scipy.special import nctdtr, stdtrit

    critical = stdtrit(n - 1, 1 - SIGNIFICANCE / 2)
    low, high = 0.0, 10.0 * critical
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if 1 - nctdtr(n - 1, middle, critical) >= power else (middle, high)
    return high


@dataclass(frozen=True)
class Comparison(Record, derived=("detectable", "distinguishable")):
    """Two assistants on the same artifacts.

    Attributes:
        difference: ours − theirs, with its interval (of this one comparison, not widened for the family).
        p: of the paired permutation test; `p_adjusted` is Holm's over the `family` comparisons made together.
        sd: of the paired differences between artifacts; None for one artifact.
    """

    ours: str
    theirs: str
    difference: Estimate
    p: float
    p_adjusted: float
    family: int
    sd: float | None

    @property
    def distinguishable(self) -> bool:
        return self.p_adjusted < SIGNIFICANCE

    @property
    def too_few(self) -> bool:
        """Whether so few artifacts cannot give a verdict, even for the largest difference."""
        return least_p(self.difference.n_artifacts, self.family) >= SIGNIFICANCE

    @property
    def conclusion(self) -> int:
        """+1: ours is higher; -1: theirs is; 0: not distinguishable."""
        if not self.distinguishable:
            return 0
        return 1 if self.difference.mean > 0 else -1

    @property
    def verdict(self) -> str:
        """ "higher", "lower", "not distinguishable", or "too few to tell" where there are `too_few` artifacts."""
        undecided = TOO_FEW if self.too_few else "not distinguishable"
        return {1: "higher", -1: "lower", 0: undecided}[self.conclusion]

    def facing(self, ours: str) -> Comparison:
        """The same comparison seen from one of its two sides: the difference is `ours` minus the other."""
        if self.ours == ours:
            return self
        each = self.difference
        low, high = (None if end is None else 0.0 - end for end in (each.high, each.low))  # 0.0 − 0.0 is not −0.0
        turned = replace(each, mean=0.0 - each.mean, low=low, high=high)
        return replace(self, ours=ours, theirs=self.ours, difference=turned)

    @property
    def detectable(self) -> float | None:
        """The smallest true difference found in four of five cases with these artifacts; None for one artifact."""
        return None if self.sd is None else detectable_difference(self.sd, self.difference.n_artifacts)

    def needed(self, difference: float) -> int | None:
        """Artifacts that would find a true difference of that size in four of five cases; None for no such number."""
        return None if self.sd is None else artifacts_needed(self.sd, difference)

    def sentence(self, what: str = "", shown: Shown = two_decimals) -> str:
        """The verdict in words.

        Args:
            what: the name of the measure.
            shown: how numbers of this measure are written.
        """
        sign = -1 if self.difference.mean < 0 else 1  # the higher of the two is named first
        bounds = [each for each in (self.difference.low, self.difference.high) if each is not None]
        interval = f" [{', '.join(shown(sign * each) for each in bounds[::sign])}]" if bounds else ""
        size = f"{shown(sign * self.difference.mean)}{interval}"
        of = f" in {what}" if what else ""
        higher, lower = (self.ours, self.theirs)[::sign]
        if self.distinguishable:
            return f"{higher} is above {lower}{of} by {size} ({self.certainty})"
        if self.too_few:
            return f"{higher} and {lower}{of}: {size}; {self.too_few_says}"
        return f"{higher} and {lower} are not distinguishable{of}: {size} ({self.certainty})"

    @property
    def certainty(self) -> str:
        """The p-value and number of artifacts behind a verdict."""
        family = f", Holm over {self.family}" if self.family > 1 else ""
        return f"p = {p_text(self.p_adjusted)}{family}, n = {self.difference.n_artifacts} artifacts"

    @property
    def too_few_says(self) -> str:
        """Why there is no verdict where there are `too_few` artifacts, and how many it takes."""
        n = self.difference.n_artifacts
        enough = fewest_artifacts(self.family)
        holm = f" (Holm over {self.family})" if self.family > 1 else ""
        artifacts = "artifact" if n == 1 else "artifacts"
        least = p_text(least_p(n, self.family))
        return (
            f"too few for any verdict: the smallest p that {n} {artifacts} can give is {least}{holm}; "
            f"it takes {enough} or more"
        )


def compare(values: Mapping[str, Values], pairs: Sequence[tuple[str, str]] | None = None) -> list[Comparison]:
    """Paired comparisons between assistants, all of one family for Holm's correction.

    Args:
        values: assistant → artifact → one number per trial, on the same artifacts.
        pairs: (ours, theirs); every two assistants by default.

    Raises:
        ValueError: two assistants were not measured on the same artifacts.
    """
    names = list(values)
    if pairs is None:
        pairs = [(ours, theirs) for at, ours in enumerate(names) for theirs in names[at + 1 :]]
    paired = [(ours, theirs, paired_differences(values[ours], values[theirs])) for ours, theirs in pairs]
    paired = [(ours, theirs, differences) for ours, theirs, differences in paired if differences]
    p_values = [permutation_p(list(differences.values())) for _, _, differences in paired]
    return [
        Comparison(
            ours,
            theirs,
            bootstrap_difference(values[ours], values[theirs]),
            p,
            p_adjusted,
            len(paired),
            stdev(differences.values()) if len(differences) > 1 else None,
        )
        for (ours, theirs, differences), p, p_adjusted in zip(paired, p_values, holm(p_values), strict=True)
    ]


def p_text(p: float) -> str:
    """ "0.03", "0.0007", "1"."""
    return f"{p:.1g}" if p < 0.01 else f"{p:.2f}".rstrip("0").rstrip(".")
