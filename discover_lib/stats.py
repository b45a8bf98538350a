"""Intervals for reported numbers: bootstrap over artifacts, with trials nested inside them (paper, section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RESAMPLES = 5_000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over artifacts with its interval.  `low` and `high` are None where one artifact gives no spread."""

    mean: float
    low: float | None
    high: float | None
    n_artifacts: int
    n_trials: int

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.mean:.2f} (n = {self.n_artifacts})"
        return f"{self.mean:.2f} [{self.low:.2f}, {self.high:.2f}]"


def bootstrap_mean(values: Mapping[str, Sequence[float]], seed: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """Mean over artifacts of the mean over their trials, with a 95 % percentile bootstrap over artifacts.

    Artifacts are what a conclusion should carry over to, so they are what is resampled; the trials of an artifact are
    averaged first and go with it.

    Args:
        values: artifact → one number per trial.

    Raises:
        ValueError: no artifact, or an artifact without trials.
    """
    import numpy as np

    if not values or any(not trials for trials in values.values()):
        raise ValueError("an interval needs at least one artifact and one trial of each")
    # In the order of their names, so that the order in which artifacts were finished changes nothing.
    means = np.array([sum(values[artifact]) / len(values[artifact]) for artifact in sorted(values)], dtype=float)
    n_trials = sum(map(len, values.values()))
    if len(means) == 1:
        return Estimate(float(means[0]), None, None, 1, n_trials)
    rng = np.random.default_rng(seed)
    draws = means[rng.integers(0, len(means), size=(resamples, len(means)))].mean(axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Estimate(float(means.mean()), float(low), float(high), len(means), n_trials)


def bootstrap_difference(
    ours: Mapping[str, Sequence[float]], theirs: Mapping[str, Sequence[float]], seed: int = 0
) -> Estimate:
    """The paired difference `ours − theirs` over the same artifacts, with its interval.

    Raises:
        ValueError: the two were not measured on the same artifacts.
    """
    if set(ours) != set(theirs):
        raise ValueError("a paired difference needs the same artifacts on both sides")
    differences = {
        artifact: [sum(ours[artifact]) / len(ours[artifact]) - sum(theirs[artifact]) / len(theirs[artifact])]
        for artifact in ours
    }
    return bootstrap_mean(differences, seed)
