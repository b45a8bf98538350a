"""The page Start: a game with two assistants whose names are hidden, and what its end says of every sentence."""

import re

import pytest

from workbench.pages.start_page import Game, reveal, sentences, target_map
from workbench.story import WHAT_IT_IS, six_rules


def played(game: Game, *texts: str) -> Game:
    for place in range(2):
        for text in texts:
            assert game.place == place
            game = game.say(text)
    return game


@pytest.fixture(scope="module")
def over() -> Game:
    return played(Game("svg_drawing", 7, turns=3), "a boat please", "sun rays", "something else")


def test_two_assistants_are_met_in_turn_for_the_same_number_of_messages(over: Game) -> None:
    assert over.place is None and len(set(over.assistants)) == 2
    with pytest.raises(ValueError, match="over"):
        over.say("more")
    with pytest.raises(ValueError, match="words"):
        Game("svg_drawing", 7).say("  ")


def test_each_sentence_is_told_why_it_counted_or_did_not(over: Game) -> None:
    tree = over.conversations()[0].tree
    named, near, nothing = sentences(over, 0, tree)
    assert [tree.text(key) for key in named.named] == ["Shows a boat"]
    assert not near.named and "near miss" in near.why(tree) and near.near
    assert nothing.why(tree) == "It names no value of the target."


def test_the_end_shows_the_target_the_pictures_and_who_it_was(over: Game) -> None:
    shown = reveal(over).text
    assert all(f"was {name}" in shown for name in over.assistants)
    assert shown.count("<img") >= 2 and "you named 2 of them" in re.sub(r"<[^>]+>", "", shown)


def test_the_map_of_the_target_compares_both_and_tells_who_named_what(over: Game) -> None:
    drawn = target_map(over)
    reasons = drawn.widget.moments[0]["reasons"]
    assert reasons["1.1"] == "You named it to assistant 2 in message 1."
    assert set(reasons) == set(drawn.tree.intents) and len(drawn.widget.beside) == len(drawn.tree)


def test_the_rules_are_short_and_name_their_letters() -> None:
    rules = six_rules()
    assert len(rules.split()) < 370 and len(WHAT_IT_IS.split()) < 120
    assert all(f"{letter} = " in rules for letter in ("p", "θ", "τ", "λ"))
    assert "Words discover, only artifacts satisfy" in " ".join(rules.split())
