"""Intervals: against cases worked out in other ways."""

import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import modest

from discover_lib.metrics import intervals
from discover_lib.metrics.intervals import Estimate, bootstrap_difference, bootstrap_mean
from discover_lib.metrics.paired import artifacts_needed, compare, detectable_difference, holm, least_p, permutation_p


@pytest.fixture(scope="module")
def stats() -> Any:
    """scipy.stats, which takes a second to import: for the slow tests, and not while tests are collected."""
    import scipy.stats

    return scipy.stats


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
    assert bounds(bootstrap_mean(single([0.25] * 20))) == (0.25, 0.25), "no spread is a point"


def test_repeating_trials_narrows_nothing() -> None:
    once = bootstrap_mean({"a": [0.0, 0.5], "b": [1.0, 0.5], "c": [0.25, 0.75]})
    often = bootstrap_mean({"a": [0.0, 0.5] * 50, "b": [1.0, 0.5] * 50, "c": [0.25, 0.75] * 50})
    assert (often.mean, bounds(often)) == (once.mean, bounds(once))
    assert (once.n_artifacts, once.n_trials) == (3, 6)
    assert (often.n_artifacts, often.n_trials) == (3, 300)
    assert bootstrap_mean({"a": [0, 0, 0, 0], "b": [1]}).mean == 0.5


def test_one_artifact_has_no_interval() -> None:
    estimate = bootstrap_mean({"a": [0.0, 1.0]})
    assert estimate == Estimate(0.5, None, None, 1, 2)
    assert str(estimate) == "0.50 (n = 1)"
    assert str(Estimate(-0.001, -0.02, 0.003, 9, 9)) == "0.00 [−0.02, 0.00]", "zero has no minus sign"


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


def test_a_difference_of_means_over_trials() -> None:
    ours, theirs = {"x": [1.0, 0.0], "y": [1.0, 1.0]}, {"x": [0.25], "y": [0.5, 0.5, 0.5]}
    assert bootstrap_difference(ours, theirs).mean == pytest.approx((0.25 + 0.5) / 2)
    assert bootstrap_difference(theirs, ours).mean == pytest.approx(-(0.25 + 0.5) / 2)
    assert bounds(bootstrap_difference({"x": [1.0], "y": [0.0]}, {"y": [0.0], "x": [1.0]})) == (0, 0), "by artifact"
    with pytest.raises(ValueError, match="same artifacts"):
        bootstrap_difference({"a": [1.0]}, {"a": [1.0], "b": [1.0]})


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 10, 30, 100])
def test_on_normal_data_an_interval_is_as_wide_as_students(n: int, stats: Any) -> None:
    # A bootstrap mean of n points spreads by sd·√((n − 1)/n)/√n; at the widened tail that is Student's half width.
    spread = math.sqrt((n - 1) / n)
    assert -stats.norm.ppf(intervals.tail_of(n)) * spread == pytest.approx(stats.t.ppf(0.975, n - 1))


# -- paired tests ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        pytest.param([1.0], 1.0, id="one artifact shows nothing"),
        pytest.param([1.0, 2.0], 0.5, id="two of the four patterns are as extreme"),
        pytest.param([1.0, 2.0, 3.0], 0.25, id="two of eight"),
        pytest.param([1.0, 1.0, -1.0], 1.0, id="|1| is the least that three ones can sum to"),
        pytest.param([0.0, 0.0, 1.0, 2.0, 3.0], 0.25, id="artifacts without a difference say nothing"),
        pytest.param([0.0, 0.0], 1.0, id="no difference at all"),
        pytest.param([0.1] * 12, 2 / 4096, id="twelve of a kind, all on one side"),
    ],
)
def test_the_exact_paired_test(differences: list[float], p: float) -> None:
    assert permutation_p(differences) == p


@pytest.mark.slow
def test_the_drawn_test_is_scipys_within_chance(stats: Any) -> None:
    rng = np.random.default_rng(6)
    for shift in (0.0, 0.2, 0.4):
        differences = rng.normal(shift, 1, 40)
        theirs = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=9_999, rng=np.random.default_rng(7)
        ).pvalue
        ours = permutation_p(list(differences))
        assert ours == pytest.approx(theirs, abs=4 * math.sqrt(theirs * (1 - theirs) / 10_000) * math.sqrt(2) + 2e-4)


def test_a_drawn_p_is_never_zero() -> None:
    assert permutation_p([1.0] * 60, permutations=999) == 1 / 1000
    with pytest.raises(ValueError, match="at least one"):
        permutation_p([])


def test_holm() -> None:
    assert holm([]) == [] and holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])  # 3 × 0.01; 2 × 0.03; 0.04, but not below 0.06


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), max_size=8))
@modest
def test_holm_only_raises_keeps_the_order_and_stays_a_probability(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, adjusted, strict=True))
    for one in range(len(p_values)):
        for other in range(len(p_values)):
            assert p_values[one] > p_values[other] or adjusted[one] <= adjusted[other]


# -- what a sample can show -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 20, 100])
def test_the_detectable_difference_has_the_power_that_it_names(n: int, stats: Any) -> None:
    # With that true difference a t test is significant in four of five cases (noncentral t, both tails).
    shift = detectable_difference(0.2, n) / 0.2 * math.sqrt(n)
    critical = stats.t.ppf(0.975, n - 1)
    assert stats.nct.sf(critical, n - 1, shift) + stats.nct.cdf(-critical, n - 1, shift) == pytest.approx(0.8, abs=1e-4)


@pytest.mark.slow
def test_the_textbook_number_of_artifacts() -> None:
    # Large samples: n = ((1.960 + 0.842)·sd/δ)² = 2.8016²·(0.2/0.01)² = 3139.6, and a little more for Student's t.
    assert artifacts_needed(0.2, 0.01) == pytest.approx(3142, abs=2)
    assert artifacts_needed(0.2, 0.2) == 10
    assert detectable_difference(0.2, 10) <= 0.2 < detectable_difference(0.2, 9), "one artifact less is not enough"


def test_what_no_sample_shows() -> None:
    assert artifacts_needed(1.0, 1e-4) is None
    with pytest.raises(ValueError, match="positive"):
        artifacts_needed(1.0, 0)
    with pytest.raises(ValueError, match="two artifacts"):
        detectable_difference(1.0, 1)


# -- comparisons ----------------------------------------------------------------------------------------------------


def three() -> dict[str, dict[str, list[float]]]:
    """Equal means of a and b on 20 artifacts, c well above both."""
    rng = random.Random(9)
    base = {f"{n:02}": rng.random() / 2 for n in range(20)}
    return {
        "a": {key: [value] for key, value in base.items()},
        "b": {key: [value + (0.02 if int(key) % 2 else -0.02)] for key, value in base.items()},
        "c": {key: [value + 0.4 + 0.1 * rng.random()] for key, value in base.items()},
    }


def test_every_pair_is_compared_within_one_family() -> None:
    found = {(each.ours, each.theirs): each for each in compare(three())}
    assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert {pair: each.conclusion for pair, each in found.items()} == {("a", "b"): 0, ("a", "c"): -1, ("b", "c"): -1}
    assert all(each.family == 3 and each.p_adjusted >= each.p for each in found.values())
    assert found["a", "b"].difference.mean == pytest.approx(0, abs=1e-12)
    assert found["a", "b"].sd == pytest.approx(0.02 * math.sqrt(20 / 19))


def test_a_verdict_says_who_is_above_by_how_much_and_how_it_is_known() -> None:
    found = {(each.ours, each.theirs): each for each in compare(three())}
    said = found["a", "c"].sentence("discovery")
    assert said.startswith("c is above a in discovery by 0.4") and "n = 20 artifacts" in said
    low, high = (float(each) for each in said.split("[")[1].split("]")[0].split(", "))
    assert 0.4 <= low < high <= 0.5
    assert "Holm over 3" in said


def test_a_verdict_says_when_two_are_not_distinguishable() -> None:
    found = compare(three(), [("a", "b")])[0]
    assert found.p_adjusted == found.p == 1.0
    # sd 0.0205 on 20 artifacts sees 0.0135 and more.
    assert found.detectable == pytest.approx(0.0135, abs=1e-4)
    said = found.sentence("discovery")
    assert said.startswith("a and b are not distinguishable in discovery: ") and "p = 1, n = 20 artifacts" in said


def test_one_artifact_is_compared_without_a_spread() -> None:
    found = compare({"a": {"x": [1.0]}, "b": {"x": [0.0]}})[0]
    assert (found.sd, found.detectable, found.needed(0.1)) == (None, None, None)
    said = "a and b in reward: 1.00; too few for any verdict: the smallest p that 1 artifact can give is 1; it takes 6"
    assert found.sentence("reward") == f"{said} or more"


@pytest.mark.parametrize(
    "n, family, least, too_few",
    [(1, 1, 1.0, True), (5, 1, 2 / 32, True), (6, 1, 2 / 64, False), (2, 6, 1.0, True), (7, 6, 12 / 128, True),
     (8, 6, 12 / 256, False), (20, 6, 6 / 10_001, False)],
)  # fmt: skip
def test_few_artifacts_cannot_give_a_small_p_whatever_they_show(n, family, least: float, too_few: bool) -> None:
    """All signs alike: 2 of the 2^n patterns are as extreme, of 20 none drawn; Holm multiplies by the pairs."""
    assert least_p(n, family) == pytest.approx(least)
    shifted = {str(place): {str(at): [at + 10.0 * place] for at in range(n)} for place in range(4)}
    compared = compare(shifted, list(itertools.combinations(shifted, 2))[:family])
    assert [each.p_adjusted for each in compared] == pytest.approx([least] * family)
    assert {each.too_few for each in compared} == {too_few} == {not each.distinguishable for each in compared}


def test_too_few_artifacts_are_said_instead_of_a_verdict() -> None:
    """A difference of everything on 5 artifacts, in a family of three pairs: at best 3 × 2 / 32."""
    levels = {"a": 0.0, "b": 1.0, "c": 2.0}
    found = compare({name: {str(at): [value] for at in range(5)} for name, value in levels.items()})
    assert found[0].sentence("discovery") == (
        "b and a in discovery: 1.00 [1.00, 1.00]; too few for any verdict: the smallest p that 5 artifacts can give "
        "is 0.19 (Holm over 3); it takes 7 or more"
    )
    assert {each.verdict for each in found} == {"too few to tell"}
    enough = {(each.ours, each.theirs): each.verdict for each in compare(three())}
    assert enough == {("a", "b"): "not distinguishable", ("a", "c"): "lower", ("b", "c"): "lower"}


# -- shares ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 10, 57, 1_000])
def test_a_share_has_the_wilson_interval_of_scipy(n: int, stats: Any) -> None:
    for hits in {0, 1, n // 3, n // 2, n - 1, n}:
        share, theirs = intervals.share_of(hits, n), stats.binomtest(hits, n).proportion_ci(method="wilson")
        assert (share.low, share.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 29, 99, 100, 499])
def test_students_t_is_scipys_to_twelve_digits(freedom: int, stats: Any) -> None:
    assert intervals.students_t(0.95, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-12)


def test_welch_s_difference_by_hand(stats: Any) -> None:
    """(1, 2, 3) and (2, 3, 5, 6): means 2 and 4, variances 1 and 10/3, standard error √(1/3 + 10/12) = 1.0801."""
    difference = intervals.welch([2, 3, 5, 6], [1, 2, 3])
    assert difference and difference.mean == 2 and difference.n == (4, 3)
    assert (difference.high - difference.low) / 2 / 1.0801 == pytest.approx(2.61, abs=0.03)  # t of 4.75 degrees
    assert str(difference) == "+2.00 [-0.82, +4.82]"
    peer = stats.ttest_ind([2, 3, 5, 6], [1, 2, 3], equal_var=False)
    assert difference.p == pytest.approx(peer.pvalue)
    assert (difference.low, difference.high) == pytest.approx(tuple(peer.confidence_interval()))
    assert intervals.welch([1], [1, 2]) is None and intervals.welch([2, 2], [3, 3]) is None
