"""Playing the person: two assistants whose names are hidden, scored against the tree of the target."""

import pytest

from workbench.be_the_user import ASSISTANTS, Game, found_by, outcome, talk_so_far


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


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["svg_drawing", "creative_writing", "technical_writing"])
def test_the_end_says_which_reply_found_what_and_why(domain: str) -> None:
    game = played(Game(domain, 3, turns=4))
    conversations = game.conversations()
    assert [each.turns[-1].reply.assistant for each in conversations] == list(game.assistants)
    assert conversations[0].tree.roots == conversations[1].tree.roots, "the same target"
    for conversation in conversations:
        found = conversation.state.discovered - conversation.start.discovered
        table = str(found_by(conversation))
        assert table.count(">found<") == len(found)
