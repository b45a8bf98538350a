"""The exercises: reference answers pass, and typical mistakes each get the hint that helps with them."""

import re
from typing import Any

import pytest

from discover_lib.base.glossary import TERMS
from discover_lib.engines.miniature.lexicon import load_lexicon
from workbench.lessons.cards import answer_of
from workbench.lessons.exercises import CARDS, EXERCISES
from workbench.pages.conversation_page import ABOUT

VALUES = load_lexicon("svg_drawing").values.values()
EVERYTHING = ", ".join(value.say for value in VALUES if value.is_leaf and value.dimension == "subject")
TWO_REPLIES = ["a rabbit wearing a crown of blossoms?", "outlines in bold brush and a surface of printed dots?"]

RIGHT: dict[str, Any] = {
    "rank": ["adaptive", "draft", "options", "ask"], "near-misses": 3, "two-replies": TWO_REPLIES,
    "break": EVERYTHING, "reward": 1.64, "tau": 860, "length": [1, 4, 5], "leak": [2, 5], "grpo": [2, 2, 2, 2],
}  # fmt: skip

WRONG: list[tuple[str, Any, str]] = [
    ("rank", ["ask", "options", "draft", "adaptive"], "worst first"),
    ("rank", ["ask", "adaptive", "draft", "options"], "Asking discovers 0"),
    ("rank", ["draft", "adaptive", "options", "ask"], r"adaptive discovers 5\.1, more than draft \(3\.8\)"),
    ("rank", ["adaptive", "draft", "ask"], "each of the four"),
    ("near-misses", 0, "at least 1"),
    ("near-misses", 1, r"0\.25, less than θ = 0\.5\. It stays undiscovered, and θ shrinks to 0\.25"),
    ("near-misses", 2, "reaches θ"),
    ("near-misses", 4, "fewer are enough, too"),
    ("two-replies", ["a rabbit wearing a crown of blossoms"], "exactly two"),
    ("two-replies", ["outlines in bold brush", "a rabbit in a crown of blossoms"], "Reply 1 matches intents of a tree"),
    ("two-replies", ["What animal shall it be?", "a rabbit"], "open question shows no value|that are discovered"),
    ("two-replies", ["an animal with fur, dressed up", "a rabbit in a crown of blossoms"], "Tree 2 has not changed"),
    ("break", "asdfgh", "knows no word of it"),
    ("break", "What do you have in mind?", "open question"),
    ("break", "an animal, a vehicle, a building, a plant", "asked for already"),
    ("break", "A tugboat?", "It fits 1 of 12 users"),
    ("reward", 2, "Length is not free"),
    ("reward", 1.39, "first 250 tokens cost nothing"),
    ("reward", -0.36, "the penalty alone"),
    ("tau", 250, "the paper's 250 included"),
    ("tau", 0, "Go the other way"),
    ("tau", 2000, "also wins with fewer free tokens"),
    ("tau", -100, "0 or more"),
    ("leak", [], "There is a leak"),
    ("leak", [1, 2, 5], "Message 1 is honest"),
    ("leak", [4], "Message 4 is honest"),
    ("leak", [5], "by another form of a word"),
    ("length", [], "the same number"),
    ("length", [1, 2, 3, 4, 5, 6], "In pair 2 the replies discovered (0 and 2|2 and 0)"),
    ("length", [1, 5], "A pair is missing"),
    ("grpo", [0, 0, 0, 0], "good replies earn more than"),
    ("grpo", [2, 2, 2, 2.001], "differ only a little"),
    ("grpo", [1, 2, 3, 4], r"distance of a reward from the mean, 2\.5. Reply 1 gets the advantage −1\.16"),
]


@pytest.mark.slow
@pytest.mark.parametrize("key", RIGHT)
def test_the_reference_answer_passes_twice_alike(key: str) -> None:
    outcome = EXERCISES[key].check(RIGHT[key])
    assert outcome.passed, outcome.hint
    assert EXERCISES[key].check(RIGHT[key]) == outcome


@pytest.mark.slow
@pytest.mark.parametrize("key, answer, hint", WRONG)
def test_a_typical_mistake_gets_its_hint(key: str, answer: Any, hint: str) -> None:
    outcome = EXERCISES[key].check(answer)
    assert not outcome.passed and re.search(hint, outcome.hint), outcome.hint


@pytest.mark.parametrize("key", [key for key, each in EXERCISES.items() if each.form == "number"])
@pytest.mark.parametrize("typed", ["", "x", "-1", "1e9", "nan", "inf"])
def test_nonsense_in_a_field_fails_with_a_hint(key: str, typed: str) -> None:
    outcome = EXERCISES[key].check(answer_of(key, {"number": typed}))
    assert not outcome.passed and outcome.hint.endswith((".", "?"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("card", "choice", "number"),
    [
        ("1", "none", "in five turns: 0 with ask, 2 with draft, 9 with adaptive"),
        ("2", "only in the first unfinished tree", "4 intents of the first, 0 intents of the second"),
        ("3", "less than 0", "verbose earned −0.708 and draft \\+0.962"),
        ("4", "3 or more", r"In 3 of the 6 pairs \(1, 4, 5\)"),
        ("5", "nothing at all", "0, 0, 0, 0"),
    ],
)
def test_a_card_s_guess_is_compared_with_what_the_library_computes(card: str, choice: str, number: str) -> None:
    prediction = CARDS[card]
    happened, sentence = prediction.happened()
    assert happened == choice and choice in prediction.choices and re.search(number, sentence)
    assert all(word in TERMS or word in ABOUT for word in prediction.words)
