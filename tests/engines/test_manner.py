"""How users type: drawn as given, kept as numbers alone."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.manner import Manner, manner_named
from discover_lib.runs.options import RunOptions, lay_out


@pytest.mark.slow
@given(
    words=st.lists(st.integers(0, 120), min_size=2, max_size=50).map(sorted), asks=st.floats(0, 1), seed=st.integers()
)
def test_a_form_lies_within_the_quantiles(words: list[int], asks: float, seed: int) -> None:
    manner = Manner("x", tuple(words), asks, 0, 1)
    form = manner.form(random.Random(seed))
    assert max(1, words[0]) <= form.words <= max(1, words[-1]) and not form.exclaims
    assert form.asks if asks == 1 else not form.asks if asks == 0 else True


def test_a_manner_that_there_is_not_is_refused() -> None:
    with pytest.raises(DiscoverError, match="unknown manner 'curt'; give paper, terse, rambling, people"):
        manner_named("curt")


def test_a_run_names_its_manner_where_it_is_not_the_papers() -> None:
    plain = lay_out(RunOptions(("draft",), domain="svg_drawing", artifacts=1))
    assert "manner" not in plain.configuration and "manner" not in plain.units[0].setting
    terse = lay_out(RunOptions(("draft",), domain="svg_drawing", artifacts=1, manner=manner_named("terse")))
    assert set(terse.configuration) - set(plain.configuration) == {"manner"}
    assert terse.units[0].setting["manner"] == "terse" and terse.units[0].seed == plain.units[0].seed
    assert RunOptions.from_configuration(terse.configuration).manner == manner_named("terse")
    assert manner_named("paper") is None and RunOptions.from_configuration(plain.configuration).manner is None
