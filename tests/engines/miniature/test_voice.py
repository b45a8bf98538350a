"""The simulated user never says what they cannot know, and says what they know as the view allows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discover_lib import Rules
from discover_lib.base.words import STOP_WORDS, stem, words
from discover_lib.core.conversation import Message
from discover_lib.core.rollout import run_conversation
from discover_lib.core.view import UserView, leaked_words
from discover_lib.engines.miniature import engine, voice
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import POLICIES, scripted_assistant
from discover_lib.engines.miniature.lexicon import DOMAINS, load_lexicon

FRAMES = (
    *voice.CLEAR,
    *voice.FUZZY_WITHIN,
    *voice.FUZZY,
    *voice.LATENT,
    *voice.SOMETHING,
    *voice.NEARLY_EMPTY,
    voice.ASKED_LATENT,
    voice.DONE,
)
GRAMMAR = frozenset(
    "a about an and as at be but by can can't could don't for here i i'm in is it it's not of or so some something "
    "that the there this to what with other know say make".split()
)


def conversation(domain: str, assistant: str, index: int, seed: int, rules: Rules):
    user = engine(domain)
    tree = user.builder.build(generate_artifact(domain, "train", index)).tree
    return run_conversation(
        tree, user.judge, user.voice, [scripted_assistant(assistant, domain)], rules=rules, seed=seed
    )


@pytest.mark.parametrize("domain", DOMAINS)
def test_frames_use_no_word_that_a_requirement_could_hold(domain):
    frame_words = {stem(word) for frame in FRAMES for word in words(frame.replace("{", " ").replace("}", " "))}
    frame_words -= {"item", "aspect", "broader", "achieved"} | {stem(word) for word in GRAMMAR}
    held = {stem(word): value.text for value in load_lexicon(domain).values.values() for word in words(value.text)}
    assert {word: held[word] for word in frame_words if word in held} == {}


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    domain=st.sampled_from(DOMAINS),
    assistant=st.sampled_from(sorted(POLICIES)),
    index=st.integers(0, 499),
    seed=st.integers(0, 10_000),
    rules=st.sampled_from([Rules.paper(), Rules.authors()]),
)
def test_no_user_message_leaks(domain, assistant, index, seed, rules):
    for turn in conversation(domain, assistant, index, seed, rules).turns:
        assert turn.leaks == (), turn.user_message


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_no_user_message_leaks_in_eight_hundred_conversations(domain):
    user = engine(domain)
    leaks = []
    for index in range(100):
        tree = user.builder.build(generate_artifact(domain, "train", index)).tree
        for name in POLICIES:
            talk = run_conversation(tree, user.judge, user.voice, [scripted_assistant(name, domain)], seed=index)
            leaks += [(turn.leaks, turn.user_message) for turn in talk.turns if turn.leaks]
    assert leaks == []


@pytest.mark.parametrize("domain", DOMAINS)
def test_messages_stay_short(domain):
    for name in POLICIES:
        for turn in conversation(domain, name, 3, 5, Rules.paper()).turns:
            assert len((turn.user_message or "").split()) <= 40


def test_a_leak_is_noticed():
    domain = "technical_writing"
    talk = conversation(domain, "silent", 0, 0, Rules.paper())
    hidden = next(key for key in talk.tree.intents if key not in talk.tree.initially_discovered)
    told = f"i want {talk.tree.text(hidden)}"
    assert leaked_words(told, talk.tree, talk.start, [each.content for each in talk.messages(0)]) != ()
    said_before = (*talk.messages(0), Message("assistant", talk.tree.text(hidden)))
    assert leaked_words(told, talk.tree, talk.start, [each.content for each in said_before]) == ()


LEXICON = load_lexicon("creative_writing")
TOP = LEXICON.values[LEXICON.dimensions["hero"].tops[0]]
MIDDLE = LEXICON.values[TOP.children[0]]
LEAF = LEXICON.values[LEXICON.leaves_under(MIDDLE.id)[0]]
TEXTS = {"1": TOP.text, "1.1": MIDDLE.text, "1.1.1": LEAF.text}
REPLY = (Message("assistant", "All right."),)


def speak(view: UserView, messages=REPLY) -> list[str]:
    return [voice.MiniatureVoice("creative_writing").speak(view, messages, seed) for seed in range(20)]


def test_what_is_clear_is_said_plainly():
    for said in speak(UserView((), "clear", ("1.1", "1.1.1"), TEXTS)):
        assert LEAF.say in said
        assert MIDDLE.say not in said.replace(LEAF.say, ""), "the most specific is enough"
        assert "not sure" not in said and "maybe" not in said


def test_what_is_emerging_is_hinted_at_through_what_is_known():
    for said in speak(UserView(("1.1",), "fuzzy", ("1.1.1",), TEXTS)):
        assert "not sure" in said
        assert LEAF.say not in said


def test_of_what_is_latent_only_the_category_is_named():
    aspect = LEXICON.dimensions["hero"].aspect
    for said in speak(UserView(("1",), "latent", ("1.1", "1.1.1"), TEXTS)):
        assert aspect in said
        assert MIDDLE.say not in said and LEAF.say not in said


def test_with_nothing_achieved_in_a_tree_its_category_is_not_named():
    for said in speak(UserView((), "latent", ("1", "1.1", "1.1.1"), TEXTS)):
        assert LEXICON.dimensions["hero"].aspect not in said
        assert "missing" in said


def test_asked_about_something_latent_the_user_is_not_sure():
    question = (Message("assistant", f"What would you want for {LEXICON.dimensions['hero'].aspect}?"),)
    for said in speak(UserView((), "latent", ("1", "1.1", "1.1.1"), TEXTS), question):
        assert said.startswith("i'm not sure")


def test_a_user_who_has_everything_says_so():
    assert set(speak(UserView(("1",), None, (), TEXTS))) == {voice.DONE}


def test_grammar_words_are_everyday_words():
    assert GRAMMAR <= STOP_WORDS
