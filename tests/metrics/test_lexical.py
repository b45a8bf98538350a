"""The variety of words: by hand, and equal to a published implementation where it is installed."""

import importlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib.metrics.manners import hdd, mattr, yules_k

WORDS = st.lists(st.sampled_from("the a sea owl night warm cold not boat of in on".split()), min_size=1, max_size=400)


def test_by_hand() -> None:
    # windows of 3 over "a b a a c": aba 2, baa 2, aac 2 of 3
    assert mattr("a b a a c".split(), 3) == pytest.approx(2 / 3)
    # a 3 times, b and c once: 10⁴ × (9 + 1 + 1 − 5) / 25
    assert yules_k("a b a a c".split()) == pytest.approx(2400)
    # two of three words, one of them double: P(a drawn) = 1 − C(1,2)/C(3,2) = 1, P(b) = 1 − C(2,2)/C(3,2) = 2/3
    assert hdd("a a b".split(), 2) == pytest.approx((1 + 2 / 3) / 2)


def test_what_is_too_short_is_not_guessed() -> None:
    assert mattr([]) is None and yules_k([]) is None and hdd(["a"] * 41) is None
    assert mattr(["a"] * 49) is None and mattr(["a"] * 50) == 1 / 50 and yules_k(["a", "b"]) == 0.0


@pytest.mark.slow
@given(WORDS)
def test_shares_are_shares(words: list[str]) -> None:
    assert 0 < (mattr(words, min(50, len(words))) or 0) <= 1 and (yules_k(words) or 0) >= 0
    if (value := hdd(words)) is not None:
        assert len(set(words)) / len(words) - 1e-12 <= value <= 1


@pytest.mark.integration("lexicalrichness")
@pytest.mark.parametrize("seed", range(20))
def test_equal_to_a_published_implementation(seed: int) -> None:
    published = importlib.import_module("lexicalrichness")
    rng = random.Random(seed)
    words = [f"w{min(int(rng.paretovariate(0.9)), 300)}" for _ in range(rng.randint(60, 900))]
    peer = published.LexicalRichness(" ".join(words), preprocessor=None, tokenizer=str.split)
    assert mattr(words, 50) == pytest.approx(peer.mattr(window_size=50), abs=1e-9)
    assert hdd(words) == pytest.approx(peer.hdd(draws=42), abs=1e-9)
    assert yules_k(words) == pytest.approx(peer.yulek, abs=1e-9)
