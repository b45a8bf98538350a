"""What the user may say: one group of what is missing, certain before hesitant before vague."""

import pytest
from scripted import artifact, forest, state_of

from discover_lib import IntentState, IntentTree, Message, Rules, advance, user_view
from discover_lib.core.state import Discovery
from discover_lib.core.view import leaked_words

PAPER = Rules.paper()
TREE = forest("1 1.1 1.1.1 1.2 2 2.1")


def state(known: str = "", emerging: str = "", met: str = "") -> IntentState:
    """`known` is discovered and not satisfied, `met` is both."""
    return state_of(TREE, f"{known} {met}", emerging, met)


@pytest.mark.parametrize(
    ("now", "pursuing", "items"),
    [
        pytest.param(state("1", "1.1"), "clear", "1", id="clear comes before fuzzy"),
        pytest.param(state("2", "1", "1.1"), "clear", "2", id="clear from any root, the focus or not"),
        pytest.param(state("2 1 1.2"), "clear", "1 1.2 2", id="clear in the order of the tree"),
        pytest.param(state("1 1.1 1.1.1 1.2 2 2.1"), "clear", "1 1.1 1.1.1 1.2 2 2.1", id="clear with nothing to find"),
        pytest.param(state("", "1.1", "1"), "fuzzy", "1.1", id="fuzzy comes before latent"),
        pytest.param(state("", "1.1 2", "1"), "fuzzy", "1.1 2", id="fuzzy from any root"),
        pytest.param(state(), "latent", "1 1.1 1.1.1 1.2", id="latent from the focus root, itself too"),
        pytest.param(state(met="1 1.1"), "latent", "1.1.1 1.2", id="latent is what is undiscovered"),
        pytest.param(state(met="1 1.1 1.1.1 1.2"), "latent", "2 2.1", id="latent from the next root in focus"),
        pytest.param(state(met="2"), "latent", "1 1.1 1.1.1 1.2", id="latent leaves a later root alone"),
        pytest.param(state(met="1 1.1 1.1.1 1.2 2 2.1"), None, "", id="nothing missing"),
    ],
)
def test_exactly_one_group_of_what_is_missing(now: IntentState, pursuing: str | None, items: str) -> None:
    view = user_view(TREE, now, PAPER)
    assert (view.pursuing, view.items) == (pursuing, tuple(items.split()))


@pytest.mark.parametrize(
    ("now", "achieved"),
    [
        pytest.param(state(), "", id="nothing yet"),
        pytest.param(state("1"), "", id="discovered alone is not achieved"),
        pytest.param(state("2", "", "1"), "1", id="shown beside what is missing"),
        pytest.param(state(met="1 1.1"), "1.1", id="the lowest of a branch"),
        pytest.param(state(met="1 1.1 1.2"), "1.1 1.2", id="the lowest of each branch"),
        pytest.param(state(met="1 1.1.1"), "1.1.1", id="the lowest with a gap above it"),
        pytest.param(state(met="1 2 2.1"), "1 2.1", id="in each tree"),
        pytest.param(state_of(TREE, "1", satisfied="1 1.1"), "1", id="satisfied but not discovered does not count"),
    ],
)
def test_achieved_is_the_lowest_discovered_and_satisfied(now: IntentState, achieved: str) -> None:
    assert user_view(TREE, now, PAPER).achieved == tuple(achieved.split())


def test_notes_say_why_and_what_changed_now() -> None:
    after, transitions = advance(TREE, state("1 2"), artifact("1"), PAPER)
    reasons = {"1": "there it is", "2": "no sign of it", "1.1": "not to be told"}
    view = user_view(TREE, after, PAPER, reasons, transitions)
    assert view.notes == {"1": "there it is", "2": "no sign of it"}
    assert view.changed == ("1",)


KITTENS = {"id": "1.1", "text": "has sleeping kittens"}
ANIMAL = {"id": "1", "text": "has a sleeping animal", "children": [KITTENS]}
CAT = IntentTree.from_dict({"roots": [ANIMAL, {"id": "2", "text": "set in a harbour"}]})
ASKED = [Message("user", "write me a story"), Message("assistant", "At sea, or in a harbour?")]


@pytest.mark.parametrize(
    ("message", "kitten", "leaks"),
    [
        pytest.param("the animal is right", "undiscovered", "", id="a discovered intent may be named"),
        pytest.param("kittens, please", "undiscovered", "kitten", id="an undiscovered one may not"),
        pytest.param("that sleeping animal", "undiscovered", "", id="a word that a discovered one holds as well"),
        pytest.param("a sleepy kitten maybe", "emerging", "kitten", id="nor an emerging one by its wording"),
        pytest.param("kittens, please", "discovered", "", id="until it is discovered"),
        pytest.param("the harbour then", "undiscovered", "", id="what somebody said may be picked up"),
        pytest.param("something about it feels off", "undiscovered", "", id="a vague complaint"),
        pytest.param("a purple robot", "undiscovered", "", id="words of no intent are no leak"),
    ],
)
def test_a_leak_is_a_word_that_only_hidden_intents_hold(message: str, kitten: str, leaks: str) -> None:
    now = IntentState({"1": Discovery.DISCOVERED, "1.1": Discovery[kitten.upper()]})
    assert leaked_words(message, CAT, now, [each.content for each in ASKED]) == tuple(leaks.split())
