"""The variety of words: by hand, and equal to a published implementation where it is installed."""

import importlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib.metrics.manners import mattr

WORDS = st.lists(st.sampled_from("the a sea owl night warm cold not boat of in on".split()), min_size=1, max_size=400)


def test_by_hand() -> None:
    # windows of 3 over "a b a a c": aba 2, baa 2, aac 2 of 3
    assert mattr("a b a a c".split(), 3) == pytest.approx(2 / 3)


def test_what_is_too_short_is_not_guessed() -> None:
    assert mattr([]) is None
    assert mattr(["a"] * 49) is None and mattr(["a"] * 50) == 1 / 50


@pytest.mark.slow
@given(WORDS)
def test_shares_are_shares(words: list[str]) -> None:
    assert 0 < (mattr(words, min(50, len(words))) or 0) <= 1


@pytest.mark.integration("lexicalrichness")
@pytest.mark.parametrize("seed", range(20))
def test_equal_to_a_published_implementation(seed: int) -> None:
    published = importlib.import_module("lexicalrichness")
    rng = random.Random(seed)
    words = [f"w{min(int(rng.paretovariate(0.9)), 300)}" for _ in range(rng.randint(60, 900))]
    peer = published.LexicalRichness(" ".join(words), preprocessor=None, tokenizer=str.split)
    assert mattr(words, 50) == pytest.approx(peer.mattr(window_size=50), abs=1e-9)
