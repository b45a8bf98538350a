"""Playing the person: two assistants whose names are hidden, scored against the tree of the target."""

import pytest
from workbench.be_the_user import ASSISTANTS, Game, outcome, talk_so_far


def played(game: Game, text: str = "something else, please") -> Game:
    while game.place is not None:
        game = game.say(text)
    return game


def test_two_assistants_are_met_in_turn_for_the_same_number_of_messages() -> None:
    game = Game("svg_drawing", 7, turns=3)
    places = []
    while game.place is not None:
        places.append(game.place)
        game = game.say("warmer")
    assert places == [0, 0, 0, 1, 1, 1] and len(set(game.assistants)) == 2
    with pytest.raises(ValueError, match="over"):
        game.say("more")
    with pytest.raises(ValueError, match="words"):
        Game("svg_drawing", 7).say("  ")


def test_who_they_are_is_not_told_before_the_end() -> None:
    game = Game("svg_drawing", 7, turns=2).say("an owl").say("at night").say("an owl")
    shown = str(talk_so_far(game))
    assert "Assistant 2 of 2 · message 2 of 2" in shown
    assert not any(f">{name}<" in shown or f" {name} was" in shown for name in ASSISTANTS)
    ended = str(outcome(played(game).conversations()))
    assert all(f"was {name}" in ended for name in game.assistants)
