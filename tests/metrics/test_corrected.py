"""Rates whose scorer errs, by hand and by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib.metrics.corrected import Confusion, corrected, detectable_change
from discover_lib.metrics.intervals import share_of


def test_rogan_and_gladen_by_hand() -> None:
    """30 of 100 by a scorer with sensitivity .9 and specificity .95: (.30 + .95 − 1) / (.90 + .95 − 1) = .294."""
    rate = corrected(30, 100, Confusion(90, 10, 5, 95))
    assert rate and rate.value == pytest.approx(0.25 / 0.85) and rate.low < rate.value < rate.high
    assert rate.printed == 0.3 and str(rate).startswith("0.294 [")


def test_a_scorer_no_better_than_chance_says_nothing() -> None:
    assert corrected(30, 100, Confusion(50, 50, 50, 50)) is None
    assert corrected(30, 100, Confusion(0, 0, 5, 95)) is None and corrected(0, 0, Confusion(9, 1, 1, 9)) is None


def test_what_no_rate_could_give_is_not_corrected() -> None:
    """Who misses 3 of 10 refusals does not read 200 of 200 as refusals, whatever the true rate."""
    assert corrected(200, 200, Confusion(70, 30, 0, 100)) is None
    assert corrected(0, 200, Confusion(100, 0, 30, 70)) is None
    assert corrected(3, 4, Confusion(70, 30, 0, 100)) is not None, "few replies leave room for it"


def test_confusion_counts_pairs() -> None:
    confusion = Confusion.of([(True, True), (True, True), (False, True), (True, False), (False, False)])
    assert confusion == Confusion(hits=2, misses=1, false_alarms=1, rejections=1)
    assert confusion.sensitivity.value == pytest.approx(2 / 3) and confusion.specificity.value == 0.5
    assert confusion.accuracy.value == 0.6


@pytest.mark.slow
@given(st.integers(0, 400))
def test_a_scorer_that_hardly_errs_leaves_the_rate_alone(yes: int) -> None:
    rate, plain = corrected(yes, 400, Confusion(10**6, 0, 0, 10**6)), share_of(yes, 400)
    assert rate and rate.value == pytest.approx(yes / 400, abs=1e-4)
    assert plain.low is not None and plain.high is not None
    assert rate.low == pytest.approx(plain.low, abs=0.006) and rate.high == pytest.approx(plain.high, abs=0.006)


@pytest.mark.parametrize(("true", "sensitivity", "specificity"), [(0.1, 0.8, 0.9), (0.5, 0.71, 0.85), (0.9, 0.95, 0.7)])
def test_nineteen_of_twenty_intervals_hold_the_true_rate(true: float, sensitivity: float, specificity: float) -> None:
    rng, held, times = np.random.default_rng(3), 0, 1500
    for _ in range(times):
        hits, rejections = int(rng.binomial(80, sensitivity)), int(rng.binomial(80, specificity))
        yes = int(rng.binomial(300, true * sensitivity + (1 - true) * (1 - specificity)))
        rate = corrected(yes, 300, Confusion(hits, 80 - hits, 80 - rejections, rejections))
        held += bool(rate and rate.low <= true <= rate.high)
    assert 0.93 <= held / times <= 0.985


def test_more_prompts_see_smaller_changes() -> None:
    assert detectable_change(0.5, 400) == pytest.approx(detectable_change(0.5, 100) / 2)
    assert detectable_change(1.0, 100) > 0, "where nothing varied once, something may the next time"
