"""The page Start: its story says what the conversations say, and its game tells why each sentence counted."""

import re

import pytest

from discover_lib.core.reward import length_penalty
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery
from discover_lib.engines.miniature.builder import imagined
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.reading import read_artifact
from discover_lib.engines.miniature.rendering import hero_of, line_told
from workbench.pages.start_page import Game, reveal, sentences, target_map
from workbench.story import PARTS, StoryTeller, six_rules


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
    assert nothing.why(tree) == "No: it names nothing in the goal."


def test_the_end_shows_the_target_the_pictures_and_who_it_was(over: Game) -> None:
    shown = reveal(over).text
    assert all(f"was {name}" in shown for name in over.assistants)
    assert shown.count("<img") >= 2 and "you named 2 of them" in re.sub(r"<[^>]+>", "", shown)


def test_the_map_of_the_target_compares_both_and_tells_who_named_what(over: Game) -> None:
    drawn = target_map(over)
    reasons = drawn.widget.moments[0]["reasons"]
    assert reasons["1.1"] == "You named it to assistant 2 in message 1."
    assert set(reasons) == set(drawn.tree.intents) and len(drawn.widget.beside) == len(drawn.tree)


def test_the_six_rules_are_short_and_their_numbers_are_those_of_the_library() -> None:
    words, rules = six_rules().split(), Rules.paper()
    assert len(words) < 420 and "Words discover, only artifacts satisfy" in " ".join(words)
    for number in (0.4 - rules.p, 2 * rules.p, 2 + length_penalty(350, rules)):
        assert f"{number:g}" in {word.strip(".,") for word in words}


PEOPLE = [("svg_drawing", 0), ("svg_drawing", 3), ("creative_writing", 2)]


@pytest.fixture(scope="module")
def teller() -> StoryTeller:
    return StoryTeller(PEOPLE)


@pytest.mark.slow
@pytest.mark.parametrize("person", range(len(PEOPLE)))
def test_every_moment_counts_what_its_state_holds(teller: StoryTeller, person: int) -> None:
    record = teller.tell(person)
    for part, column in zip(PARTS, record["columns"], strict=True):
        conversation = teller.conversation(part, person)
        assert len(column["moments"]) == len(conversation.turns) + 1
        for turn, moment in enumerate(column["moments"]):
            state = conversation.state_after(turn)
            discovered = {key for key, word in moment["states"].items() if word == "discovered"}
            assert discovered == set(state.discovered)
            assert moment["known"] == len(discovered - set(conversation.tree.initially_discovered))
            assert moment["of"] == len(conversation.tree) - len(conversation.tree.initially_discovered)


@pytest.mark.parametrize("person", range(len(PEOPLE)))
def test_the_picture_holds_exactly_the_specific_wishes_that_have_formed(teller: StoryTeller, person: int) -> None:
    domain, _ = PEOPLE[person]
    lexicon = load_lexicon(domain)
    conversation = teller.conversation(PARTS[2], person)
    tree = conversation.tree
    for turn in range(len(conversation.turns) + 1):
        state = conversation.state_after(turn)
        known = {tree.text(leaf) for leaf in tree.leaves() if state[leaf] is Discovery.DISCOVERED}
        picture = imagined(tree, state, lexicon)
        assert (picture.known, picture.of) == (len(known), len(tree.leaves()))
        if picture.drawing:
            shown = {lexicon.values[value].text for value in read_artifact(picture.drawing, domain)}
        else:
            hero = hero_of(tree.initial_request, lexicon)
            by_line = {line_told(value, hero): value.text for value in lexicon.values.values() if value.line}
            shown = {by_line[line] for line in picture.lines if line is not None}
        assert shown == known


def test_a_visitor_s_replies_are_judged_like_the_others_until_the_last_turn(teller: StoryTeller) -> None:
    record = teller.tell(0)
    question, choice = record["hints"]
    assert question.endswith("?") and choice.startswith("How about ")
    for turn in range(1, 6):
        mine = teller.reply("asdfgh", 0)
        assert len(mine["moments"]) == turn + 1 and mine["over"] is (turn == 5)
    assert mine["moments"][-1]["known"] == 0
    assert len(teller.reply("one more", 0)["moments"]) == 6, "nothing comes after the last turn"


def test_a_reply_with_markup_cannot_run_anything(teller: StoryTeller) -> None:
    teller.tell(0)
    mine = teller.reply('<img src=x onerror="alert(1)"><script>alert(2)</script>', 0)
    assert "<img src=x" not in mine["moments"][-1]["reply"] and "<script" not in mine["moments"][-1]["reply"]
