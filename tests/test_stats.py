"""Intervals: against cases worked out in other ways."""

import random
import statistics

import pytest
from scipy.stats import binom

from discover_lib.stats import Estimate, bootstrap_difference, bootstrap_mean


def single(values: list[float]) -> dict[str, list[float]]:
    """One trial an artifact."""
    return {f"artifact-{n:03}": [value] for n, value in enumerate(values)}


def bounds(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None and estimate.high is not None
    return estimate.low, estimate.high


def test_two_artifacts_at_0_and_1() -> None:
    # The resampled mean is 0, ½ or 1 with chances ¼, ½, ¼, so both tails lie in the extremes.
    estimate = bootstrap_mean(single([0, 1]))
    assert (estimate.mean, *bounds(estimate)) == (0.5, 0, 1)


def test_no_spread_is_a_point() -> None:
    assert bounds(bootstrap_mean(single([0.25] * 20))) == (0.25, 0.25)


def test_successes_give_the_quantiles_of_the_binomial() -> None:
    # A resample of 30 ones and 70 zeros holds Binomial(100, 0.3) ones.
    low, high = bounds(bootstrap_mean(single([1] * 30 + [0] * 70)))
    assert low == pytest.approx(binom.ppf(0.025, 100, 0.3) / 100, abs=0.0101)
    assert high == pytest.approx(binom.ppf(0.975, 100, 0.3) / 100, abs=0.0101)


def test_many_artifacts_give_the_normal_interval() -> None:
    rng = random.Random(1)
    values = [rng.gauss(2, 1) for _ in range(400)]
    half = 1.96 * statistics.pstdev(values) / 400**0.5
    low, high = bounds(bootstrap_mean(single(values)))
    assert low == pytest.approx(statistics.fmean(values) - half, abs=half / 10)
    assert high == pytest.approx(statistics.fmean(values) + half, abs=half / 10)


def test_a_plain_bootstrap_finds_the_same() -> None:
    rng = random.Random(2)
    values = [rng.random() ** 3 for _ in range(25)]
    means = sorted(statistics.fmean(rng.choices(values, k=25)) for _ in range(4_000))
    low, high = bounds(bootstrap_mean(single(values)))
    width = high - low
    assert low == pytest.approx(means[100], abs=width / 15)
    assert high == pytest.approx(means[3_900], abs=width / 15)


def test_repeating_trials_narrows_nothing() -> None:
    once = bootstrap_mean({"a": [0.0, 0.5], "b": [1.0, 0.5], "c": [0.25, 0.75]})
    often = bootstrap_mean({"a": [0.0, 0.5] * 50, "b": [1.0, 0.5] * 50, "c": [0.25, 0.75] * 50})
    assert (often.mean, bounds(often)) == (once.mean, bounds(once))
    assert (once.n_artifacts, once.n_trials) == (3, 6)
    assert (often.n_artifacts, often.n_trials) == (3, 300)


def test_an_artifact_with_more_trials_weighs_no_more() -> None:
    assert bootstrap_mean({"a": [0, 0, 0, 0], "b": [1]}).mean == 0.5


def test_one_artifact_has_no_interval() -> None:
    estimate = bootstrap_mean({"a": [0.0, 1.0]})
    assert estimate == Estimate(0.5, None, None, 1, 2)
    assert str(estimate) == "0.50 (n = 1)"


def test_the_seed_decides_and_the_order_of_artifacts_does_not() -> None:
    rng = random.Random(3)
    values = single([rng.random() for _ in range(12)])
    backwards = dict(reversed(values.items()))
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1) == bootstrap_mean(backwards, seed=1)
    assert bounds(bootstrap_mean(values, seed=1)) != bounds(bootstrap_mean(values, seed=2))


@pytest.mark.parametrize("values", [{}, {"a": []}, {"a": [1.0], "b": []}], ids=["nothing", "no trial", "one without"])
def test_nothing_measured_is_an_error(values: dict[str, list[float]]) -> None:
    with pytest.raises(ValueError, match="at least one"):
        bootstrap_mean(values)


def test_a_difference_is_paired() -> None:
    # Artifacts differ by far more than the assistants do; pairing removes it.
    theirs = single([n / 10 for n in range(30)])
    ours = {artifact: [value + 0.125] for artifact, (value,) in theirs.items()}
    low, high = bounds(bootstrap_difference(ours, theirs))
    assert (low, high) == pytest.approx((0.125, 0.125))
    assert bounds(bootstrap_mean(ours))[0] < bounds(bootstrap_mean(theirs))[1]  # unpaired, they overlap


def test_a_difference_goes_by_artifact_not_by_position() -> None:
    ours, theirs = {"x": [1.0], "y": [0.0]}, {"y": [0.0], "x": [1.0]}
    assert bounds(bootstrap_difference(ours, theirs)) == (0, 0)


def test_a_difference_of_means_over_trials() -> None:
    ours, theirs = {"x": [1.0, 0.0], "y": [1.0, 1.0]}, {"x": [0.25], "y": [0.5, 0.5, 0.5]}
    assert bootstrap_difference(ours, theirs).mean == pytest.approx((0.25 + 0.5) / 2)
    assert bootstrap_difference(theirs, ours).mean == pytest.approx(-(0.25 + 0.5) / 2)


def test_a_difference_needs_the_same_artifacts() -> None:
    with pytest.raises(ValueError, match="same artifacts"):
        bootstrap_difference({"a": [1.0]}, {"a": [1.0], "b": [1.0]})
