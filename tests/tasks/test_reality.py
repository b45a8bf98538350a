"""The distance between two ways of talking: none to itself, planted shifts are found and ranked."""

import random
from collections.abc import Callable

import pytest

from discover_lib.metrics.manners import FEATURES, Distance, distances, manners_of

pytestmark = pytest.mark.slow

VOCABULARY = (
    "the a sea owl night warm cold boat of in on make draw maybe please not i like colour place small big quiet story "
    "with and for it this that more less bright dark tree house bird wave line"
).split()


def talker(rng: random.Random, *, words: float = 11, question: float = 0.2) -> Callable[[], list[str]]:
    def message() -> str:
        size = max(1, round(rng.lognormvariate(0, 0.7) * words))
        said = " ".join(rng.choice(VOCABULARY) for _ in range(size))
        return said + ("?" if rng.random() < question else ".")

    return lambda: [message() for _ in range(rng.randint(3, 8))]


def corpus(seed: int, n: int = 60, **manner: float) -> list[list[str]]:
    say = talker(random.Random(seed), **manner)
    return [say() for _ in range(n)]


def by_name(found: list[Distance]) -> dict[str, Distance]:
    return {each.feature: each for each in found}


def test_features_by_hand() -> None:
    manners = manners_of(["Please draw an owl?", "no, I think warmer colours!", " ".join(["more"] * 41)])
    assert manners["words"] == pytest.approx((4 + 5 + 41) / 3)
    assert manners["short"] == pytest.approx(2 / 3) and manners["long"] == pytest.approx(1 / 3)
    assert manners["questions"] == manners["exclaims"] == manners["polite"] == manners["hedges"] == pytest.approx(1 / 3)
    assert manners["lower case"] == pytest.approx(2 / 3) and manners["orders"] == pytest.approx(1 / 3)
    assert manners["self"] == manners["corrects"] == pytest.approx(1 / 3)
    assert manners["repeats"] == 0 and "MATTR" in manners
    assert manners_of(["an owl", "an owl"])["repeats"] == 1 and "repeats" not in manners_of(["one"])


def test_marks_of_telephones_and_other_scripts_count_as_their_plain_ones() -> None:
    plain = manners_of(["I don't like it?", "it isn't mine!"])
    assert manners_of(["I don’t like it？", "it isn’t mine！"]) == plain
    assert plain["corrects"] == 1 and plain["questions"] == plain["exclaims"] == 0.5


def test_people_against_themselves_hold_zero_nineteen_times_of_twenty() -> None:
    """Two samples of one way of talking, 60 times: intervals contain 0 in about 95 % per feature."""
    held = dict.fromkeys(FEATURES, 0)
    counted = dict(held)
    for seed in range(60):
        for each in distances(corpus(seed, 30), corpus(10_000 + seed, 30)):
            if each.difference:
                counted[each.feature] += 1
                held[each.feature] += each.difference.low <= 0 <= each.difference.high
    shares = {name: held[name] / counted[name] for name in FEATURES if counted[name] > 30}
    assert sum(shares.values()) / len(shares) >= 0.94 and min(shares.values()) >= 0.9


@pytest.mark.parametrize("seed", range(6))
def test_planted_shifts_are_found_and_ranked(seed: int) -> None:
    people = corpus(seed)
    found = by_name(distances(corpus(100 + seed, words=22, question=0.35), people))
    assert found["words"].beyond_people and found["words"].difference and found["words"].difference.mean > 0
    assert found["words"].size and found["questions"].size and found["polite"].size is not None
    assert found["words"].size > found["questions"].size


def test_a_ceiling_is_what_people_differ_by_among_themselves() -> None:
    found = by_name(distances(corpus(1), corpus(2)))
    assert found["words"].ceiling and 0.2 < found["words"].ceiling < 0.9
    with pytest.raises(ValueError, match="got 60 of people and 3 here"):
        distances(corpus(1, 3), corpus(2))
