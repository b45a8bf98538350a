"""The tiny model's language: every word is one token, what users and others say reaches it, what it says comes out."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discover_lib.core.conversation import Message
from discover_lib.engines.local import tiny_language
from discover_lib.engines.local.tiny_language import as_notation, decode, encode_messages, is_broken, vocabulary
from discover_lib.engines.miniature.lexicon import DOMAINS, SHIPPED_DOMAINS, load_lexicon
from discover_lib.engines.miniature.notation import Move, NotationError, parse, write
from discover_lib.engines.miniature.reading import UserReading
from discover_lib.engines.miniature.rendering import make_reply

WORDS = vocabulary(DOMAINS)
DRAWING = load_lexicon("svg_drawing")


def spoken(ids):
    """The words of token ids."""
    return [WORDS.words[place] for place in ids]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    import tokenizers

    folder = tmp_path_factory.mktemp("tokenizer")
    tiny_language.save_tokenizer(WORDS, folder)
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


@pytest.mark.slow  # transformers takes seconds to import
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_value_and_dimension_is_one_token_and_comes_back(tokenizer, domain):
    lexicon = load_lexicon(domain)
    for word in (*lexicon.dimensions, *lexicon.values):
        ids = tokenizer.encode(word).ids
        assert ids == WORDS.encode(word) == [WORDS.ids[word]]
        assert [tokenizer.decode(ids)] == spoken(ids) == [word]


def test_the_words_of_all_lexicons_fit_together():
    every = vocabulary(SHIPPED_DOMAINS)
    assert len(set(every.words)) == len(every.words)
    assert set(DOMAINS) <= set(every.domains)


@pytest.mark.parametrize(
    ("reading", "heard"),
    [
        (UserReading(), "something"),
        (UserReading(wanted=("ocean", "far-off")), "want colours ocean composition far-off"),
        (UserReading(liked=("cat",)), "like subject cat something"),
        (UserReading(hinted=("animal",), doubted=("subject",)), "hint subject animal doubt subject"),
        (UserReading(wanted=("ocean",), liked=("cat",)), "want colours ocean like subject cat"),
        (UserReading(final=True), "final"),
    ],
)
def test_what_is_heard_of_a_user(reading, heard):
    assert tiny_language.transcript(reading, "svg_drawing") == heard


def test_a_conversation_as_the_model_is_told_it():
    shown = make_reply([Move("show", ("cat", "fox"), "subject")], DRAWING, "tiny")
    asked, answered = Message("user", "can you draw me an animal?"), Message("user", "please make it a cat")
    messages = [asked, Message("assistant", shown.text, shown.notation), answered]
    assert encode_messages(messages, "svg_drawing") == [
        {"role": "system", "content": "svg_drawing"},
        {"role": "user", "content": "want subject animal"},
        {"role": "assistant", "content": shown.notation},
        {"role": "user", "content": "want subject cat"},
    ]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DOMAINS), st.integers(0, 10_000))
def test_practice_replies_are_notation_that_survives_rendering(domain, seed):
    """What a rendered reply looks like to a reader is what the model would have written, as far as talk can tell."""
    pytest.importorskip("torch")
    from discover_lib.engines.local.tiny_model import practice_conversation

    lexicon = load_lexicon(domain)
    for heard, written in practice_conversation(lexicon, random.Random(seed), turns=2):
        said = parse(written, lexicon)
        assert write(said, lexicon) == written
        assert tiny_language.UNKNOWN not in spoken(WORDS.encode(f"{heard} {written}"))
        assert len(written.split()) < tiny_language.MAX_REPLY_TOKENS
        reply = decode(written, domain)
        assert (reply.notation, is_broken(reply)) == (written, False)


@pytest.mark.parametrize(("text", "expected"), [("  ask   colours ? ", "ask colours ?"), ("Well.", "pass")])
def test_a_reply_in_other_words_counts_as_pass(text, expected):
    assert as_notation(text) == expected


@pytest.mark.parametrize(
    "text", ["", "draft", "colours ocean", "show colours ocean", "draft colours owl", "ocean " * 40]
)
def test_a_broken_reply_keeps_its_words_and_shows_nothing(text):
    with pytest.raises(NotationError):
        parse(text, DRAWING)
    reply = decode(text, "svg_drawing", assistant="tiny")
    assert is_broken(reply) and reply.text == tiny_language.BROKEN
    assert reply.notation == " ".join(text.split())
    assert reply.n_tokens == 16 * max(1, len(text.split()))
