"""A pool of conversations measured: by the measures that are listed, and by eq. 4 as it is written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib import discovery_scores
from discover_lib.metrics.results import MEASURE, MEASURES, Pool
from discover_lib.metrics.scores import ConversationScores

INTENTS = ("1", "1.1", "2")
MOVES = st.fixed_dictionaries({each: st.sampled_from([(0, 0), (1, 0), (1, 1), (1, 2), (2, 2)]) for each in INTENTS})


def scores(assistant: str, artifact: str, **numbers: Any) -> ConversationScores:
    known: dict[str, Any] = {"moves": {}, "rewards": (1.0,), "tokens": (500, 250)}
    return ConversationScores(0, "svg_drawing", artifact, 0, assistant, "max_turns", **known | numbers)


@pytest.mark.slow
@given(st.lists(st.lists(MOVES, min_size=3, max_size=3), min_size=1, max_size=4), st.sampled_from([0.0, 0.5, 1.0]))
def test_eq_4_of_many_users_at_once_is_eq_4(users: list[list[dict[str, tuple[int, int]]]], emerging: float) -> None:
    talks = [
        scores(name, f"a{at}", moves=moves)
        for at, row in enumerate(users)
        for name, moves in zip("abc", row, strict=True)
    ]
    pool = Pool(talks, emerging=emerging)
    written = discovery_scores(
        {
            name: {each.unit: each.levels(emerging=emerging) for each in talks if each.assistant == name}
            for name in "abc"
        }
    )
    assert set(pool.discovery.left_out) == set(written.left_out)
    for name in "abc":
        assert pool.discovery[name] == pytest.approx(dict(written[name]))


def test_a_measure_is_what_its_conversation_says() -> None:
    pool = Pool([scores("a", "x", interactivity=0.25), scores("b", "x", interactivity=0.75)])
    said = {"interactivity": 0.25, "tokens": 0.75, "reward": 1.0}
    assert {name: pool.per_user(name)["a"]["x/0"] for name in said} == said
    assert {*said} <= {each.name for each in MEASURES if each.of}
    assert pool.users_of["tokens"] == 1 and pool.users_of["satisfaction"] == 0


def test_a_name_that_is_no_measure_measures_nothing() -> None:
    with pytest.raises(LookupError, match="questions"):
        Pool([scores("a", "x")]).per_user("questions")


def test_every_measure_says_how_a_sentence_names_it_and_what_it_means() -> None:
    for each in MEASURES:
        assert each.phrase and each.meaning, each.name
    assert not MEASURE["tokens"].is_share and not MEASURE["reward"].is_share and MEASURE["discovery"].is_share
