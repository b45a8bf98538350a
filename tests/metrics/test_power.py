"""The power of a study: the textbook's numbers."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib.metrics.power import Planned, welch


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planned", "power", "people"),
    [  # Cohen (1988), tables 2.4.1: n of each group; G*Power for pairs
        (Planned("between", 0.5, 1.0), 0.80, 2 * 64),
        (Planned("between", 0.8, 1.0), 0.80, 2 * 26),
        (Planned("between", 0.2, 1.0), 0.80, 2 * 394),
        (Planned("between", 0.5, 1.0), 0.95, 2 * 105),
        (Planned("paired", 0.5, 1.0, 0.5), 0.80, 34),
        (Planned("paired", 0.2, 1.0, 0.5), 0.80, 199),
    ],
)
def test_planned_numbers_are_the_textbook_s(planned: Planned, power: float, people: int) -> None:
    assert planned.people(power) == people
    assert planned.power(people) >= power > planned.power(people - 2)


@pytest.mark.slow
@pytest.mark.parametrize(("design", "conditions", "shares"), [("between", 3, 3), ("paired", 3, 3), ("paired", 4, 6)])
def test_each_pair_of_several_conditions_has_its_share_of_the_level(design: str, conditions: int, shares: int) -> None:
    planned = Planned(design, 1.0, 2.0, 0.4, conditions)  # type: ignore[arg-type]
    people = planned.people(0.8)
    assert people and people % shares == 0 and planned.alpha == pytest.approx(0.05 / planned.pairs)
    assert people > (Planned(design, 1.0, 2.0, 0.4).people(0.8) or 0)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_power_of_large_effects_is_a_number() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Planned("between", 20.0, 2.0).people() == 4 and Planned("between", 400.0, 2.0).power(2000) == 1


@pytest.mark.slow
def test_without_an_effect_one_study_in_twenty_finds_one() -> None:
    assert Planned("between", 0.0, 2.0).power(60) == pytest.approx(0.05)
    assert Planned("paired", 0.001, 5.0).people() is None
    with pytest.raises(ValueError, match="sd is positive"):
        Planned("paired", 1.0, 0.0)


@pytest.mark.slow
@given(st.floats(0.1, 3), st.floats(0.5, 4), st.integers(6, 300))
def test_the_detectable_effect_is_found_with_just_its_power(effect: float, sd: float, people: int) -> None:
    smallest = Planned("between", effect, sd).detectable(people)
    assert Planned("between", smallest, sd).power(people) == pytest.approx(0.8, abs=1e-4)


def test_welch_s_difference_by_hand() -> None:
    """(1, 2, 3) and (2, 3, 5, 6): means 2 and 4, variances 1 and 10/3, standard error √(1/3 + 10/12) = 1.0801."""
    difference = welch([2, 3, 5, 6], [1, 2, 3])
    assert difference and difference.mean == 2 and difference.n == (4, 3)
    assert (difference.high - difference.low) / 2 / 1.0801 == pytest.approx(2.61, abs=0.03)  # t of 4.75 degrees
    assert str(difference) == "+2.00 [-0.82, +4.82]"
    from scipy import stats  # here, since it takes a second

    peer = stats.ttest_ind([2, 3, 5, 6], [1, 2, 3], equal_var=False)
    assert difference.p == pytest.approx(peer.pvalue)
    assert (difference.low, difference.high) == pytest.approx(tuple(peer.confidence_interval()))
    assert welch([1], [1, 2]) is None and welch([2, 2], [3, 3]) is None
