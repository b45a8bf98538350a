"""The simulated user never says what they cannot know, says what they know as the view allows, and sounds alive."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discover_lib import Rules
from discover_lib.base.leak_words import find_leaks
from discover_lib.core.conversation import Message
from discover_lib.core.rollout import run_conversation
from discover_lib.core.simulator import UserSimulator
from discover_lib.core.view import UserView, hidden_texts, known_texts
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import POLICIES, scripted_assistant
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, load_lexicon
from discover_lib.engines.miniature.notation import Move
from discover_lib.engines.miniature.phrases import phrase_book, spoken
from discover_lib.engines.miniature.reading import read_user
from discover_lib.engines.miniature.rendering import make_reply
from discover_lib.engines.miniature.voice import MiniatureVoice

DOZEN = 12


def conversation(domain: str, assistant: str, index: int, seed: int, rules: Rules | None = None, turns: int = 5):
    user = engine(domain)
    tree = user.builder.build(generate_artifact(domain, "train", index)).tree
    assistants = [scripted_assistant(assistant, domain)]
    rules = rules or Rules.paper()
    return run_conversation(tree, user.judge, user.voice, assistants, rules=rules, seed=seed, turns=turns)


@pytest.mark.slow
@pytest.mark.parametrize("domain", ALL_DOMAINS)
def test_every_act_has_a_dozen_manners_and_none_holds_a_word_of_a_requirement_in_any_form(domain):
    hidden = {value.id: value.text for value in load_lexicon(domain).values.values()}
    acts, openings = phrase_book(domain).acts, phrase_book(domain).openings
    assert [act for act in acts.rows if len(acts[act]) < DOZEN] == []
    assert [verb for verb in openings.rows if len(openings[verb]) < DOZEN] == []
    frames = [frame for act in acts.rows for frame in acts[act]]
    assert [said for frame in frames for said in frame.said if find_leaks(said, hidden, ())] == []


def leaks_of(talk, domain: str) -> list[str]:
    """What only hidden intents hold, word for word or inflected; a category may be called by its name."""
    categories = [dimension.aspect for dimension in load_lexicon(domain).dimensions.values()]
    found = []
    for turn in talk.turns:
        assert turn.leaks == (), turn.user_message
        before = [message.content for message in talk.messages(turn.index)[:-1]]
        sayable = [*known_texts(talk.tree, turn.after), *categories, *before]
        leaks = find_leaks(turn.user_message or "", hidden_texts(talk.tree, turn.after), sayable)
        found += [f"{turn.user_message}: {leak.word}" for leak in leaks]
    return found


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    domain=st.sampled_from(ALL_DOMAINS),
    assistant=st.sampled_from(sorted(POLICIES)),
    index=st.integers(0, 499),
    seed=st.integers(0, 10_000),
    rules=st.sampled_from([Rules.paper(), Rules.authors()]),
)
def test_no_user_message_leaks(domain, assistant, index, seed, rules):
    assert leaks_of(conversation(domain, assistant, index, seed, rules), domain) == []


# -- what they may say -------------------------------------------------------------------------------------------------

DOMAIN = "creative_writing"
LEXICON = load_lexicon(DOMAIN)
ASPECT = LEXICON.dimensions["hero"].aspect
TOP = LEXICON.values[LEXICON.dimensions["hero"].tops[0]]
MIDDLE = LEXICON.values[TOP.children[0]]
LEAF = LEXICON.values[LEXICON.below[MIDDLE.id][0]]
TEXTS = {"1": TOP.text, "1.1": MIDDLE.text, "1.1.1": LEAF.text}
CLEAR = UserView((), "clear", ("1.1", "1.1.1"), TEXTS)
FUZZY = UserView(("1.1",), "fuzzy", ("1.1.1",), TEXTS)
CATEGORY = UserView(("1",), "latent", ("1.1", "1.1.1"), TEXTS)
LIKING = UserView(("2",), "latent", ("1", "1.1", "1.1.1"), TEXTS | {"2": "Takes place in a harbor"}, changed=("2",))
NOTHING = UserView((), "latent", ("1", "1.1", "1.1.1"), TEXTS)
VIEWS = (CLEAR, FUZZY, CATEGORY, LIKING, NOTHING)
OTHERS = LEXICON.dimensions["weather"].leaves


def replied(*moves: Move) -> Message:
    return make_reply(moves, LEXICON, "x").message


DRAFT = replied(Move("draft", (OTHERS[0],)))
QUESTION = replied(Move("ask", dimension="hero"))


def speak(view: UserView, *messages: Message, users: int = 120) -> list[str]:
    """What that many users say, in lower case."""
    voice = MiniatureVoice(DOMAIN)
    return [voice.of(seed).speak(view, messages or (DRAFT,), seed).lower() for seed in range(users)]


def acts_of(said: str) -> set[str]:
    """The acts of which a message may hold a frame."""
    acts = phrase_book(DOMAIN).acts
    return {act for act in acts.rows if act != "asides" and any(each.is_in(spoken(said)) for each in acts[act])}


def test_what_is_clear_is_said_plainly():
    for said in speak(CLEAR):
        assert LEAF.say in said
        assert MIDDLE.say not in said.replace(LEAF.say, ""), "the most specific is enough"
        assert "not sure" not in said and "maybe" not in said


def test_what_is_emerging_is_hinted_at_through_what_is_known():
    for said in speak(FUZZY):
        assert LEAF.say not in said
        reading = read_user(said, DOMAIN)
        assert (reading.wanted, reading.hinted, reading.doubted) == ((), (MIDDLE.id,), ("hero",))


def test_a_broader_thing_that_is_not_known_is_not_named():
    for said in speak(UserView((), "fuzzy", ("1.1.1",), TEXTS)):
        assert ASPECT in said
        assert TOP.say not in said and MIDDLE.say not in said and LEAF.say not in said


def test_of_what_is_latent_only_the_category_is_named():
    for said in speak(CATEGORY):
        assert read_user(said, DOMAIN).doubted == ("hero",)
        assert MIDDLE.say not in said and LEAF.say not in said


def test_with_nothing_achieved_in_a_tree_its_category_is_not_named():
    for said in [*speak(NOTHING), *speak(LIKING), *speak(NOTHING, QUESTION)]:
        assert ASPECT not in said


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(view=st.sampled_from(VIEWS), user=st.integers(), seed=st.integers(), reply=st.sampled_from([DRAFT, QUESTION]))
def test_assistants_hear_the_same_in_every_manner(view, user, seed, reply):
    voice = MiniatureVoice(DOMAIN)
    plain = read_user(MiniatureVoice(DOMAIN).speak(view, (reply,), 0), DOMAIN)
    assert read_user(voice.of(user).speak(view, (reply,), seed), DOMAIN) == plain


# -- what they say to what was done ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_was_sent_before_looks_the_same():
    again = (DRAFT, Message("user", "another?"), DRAFT)
    for said in speak(NOTHING, *again):
        assert acts_of(said) & {"same"}, said
    other = replied(Move("draft", (OTHERS[1],)))
    assert not any(acts_of(said) & {"same"} for said in speak(NOTHING, DRAFT, Message("user", "another?"), other))


SHOWN = replied(Move("show", (OTHERS[0], LEAF.id, OTHERS[1]), "hero"))  # B holds the leaf


def letters_in(said: str) -> set[str]:
    return {"b", "c"} & {word.strip(".,!:") for word in said.split()}


def test_an_option_is_pointed_at_if_it_has_what_was_just_got_right():
    got = UserView(("1.1.1",), "latent", ("2",), TEXTS | {"2": "Takes place in a harbor"}, changed=("1.1.1",))
    pointed = [letters for said in speak(got, SHOWN) if (letters := letters_in(said))]
    assert len(pointed) > 30 and all(letters == {"b"} for letters in pointed)


def test_no_option_is_pointed_at_for_what_the_user_does_not_know():
    """The texts of what is latent are in the view; they must not choose for the user."""
    assert {letter for said in speak(NOTHING, SHOWN) for letter in letters_in(said)} == set()


def test_what_makes_no_sense_is_not_followed():
    domain = "svg_drawing"
    user = engine(domain)
    tree = user.builder.build(generate_artifact(domain, "train", 0)).tree
    book = phrase_book(domain)
    expected = {"asdfgh": "lost", "": "lost", "I'm sorry, I can't help with that.": "refused", "Okay.": "waiting"}
    expected |= {"```svg\n<svg><g></svg>\n```": "blank"}
    for (reply, act), seed in ((case, seed) for case in expected.items() for seed in range(20)):
        said = UserSimulator(tree, user.judge, user.voice, seed=seed).step(reply).user_message or ""
        assert any(frame.is_in(spoken(said)) for frame in book.acts[act]), (reply, said)


def test_a_user_keeps_their_temperament_and_users_differ():
    voice = MiniatureVoice(DOMAIN)
    assert [voice.of(user).temperament for user in range(9)] == [voice.of(user).temperament for user in range(9)]
    assert {voice.of(user).temperament.name for user in range(100)} == {each.name for each in voice.book.temperaments}
    polite = next(user for user in range(100) if voice.of(user).temperament.name == "polite")
    messages = [turn.user_message for turn in conversation(DOMAIN, "draft", 0, polite).turns if turn.user_message]
    assert messages and all(message[0].isupper() or not message[0].isalpha() for message in messages)
