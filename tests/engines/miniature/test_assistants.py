"""The scripted assistants behave as they are called, and the miniature shows what the paper says by itself."""

from statistics import mean

import pytest

from discover_lib import Rules
from discover_lib.core.conversation import Conversation
from discover_lib.core.rollout import run_conversation
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import SCRIPTED, scripted_assistant
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, DOMAINS, load_lexicon
from discover_lib.engines.miniature.notation import Move, parse
from discover_lib.engines.miniature.phrases import phrase_book
from discover_lib.engines.miniature.reading import read_reply
from discover_lib.engines.miniature.rendering import make_reply
from discover_lib.metrics.summary import newly_discovered


def talk(domain: str, assistant: str, index: int, seed: int = 0, rules: Rules | None = None) -> Conversation:
    user = engine(domain)
    tree = user.builder.build(generate_artifact(domain, "train", index)).tree
    chosen = scripted_assistant(assistant, domain)
    return run_conversation(tree, user.judge, user.voice, [chosen], rules=rules or Rules.paper(), seed=seed)


def discovered(domain: str, assistant: str, artifacts: int = 30) -> float:
    return mean(newly_discovered(talk(domain, assistant, index, seed=index)) for index in range(artifacts))


@pytest.mark.slow
@pytest.mark.parametrize("domain", ALL_DOMAINS)
@pytest.mark.parametrize("name", SCRIPTED)
def test_every_reply_is_sound_notation_and_says_how_it_was_counted(domain, name):
    for turn in talk(domain, name, 1).turns:
        assert turn.reply.notation is not None
        parse(turn.reply.notation, load_lexicon(domain))
        assert turn.reply.counting == "notation words × 16"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "verbs"),
    [("draft", "draft"), ("ask", "ask"), ("options", "maybe"), ("adaptive", "draft show"), ("mixed", "draft show"),
     ("silent", "pass"), ("verbose", "draft recap"), ("oracle", "draft")],
)  # fmt: skip
def test_each_keeps_to_its_kind_of_move(name, verbs):
    lexicon = load_lexicon("technical_writing")
    for index in range(5):
        for turn in talk("technical_writing", name, index).turns:
            assert {move.verb for move in parse(turn.reply.notation or "", lexicon)} <= set(verbs.split())


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_paper_s_picture_comes_out_by_itself(domain):
    found = {name: discovered(domain, name) for name in ("draft", "ask", "options", "adaptive", "silent", "oracle")}
    assert found["ask"] == found["silent"] == 0, "a user cannot answer about what they do not know yet"
    assert found["options"] < found["draft"], "spoken options without building get stuck"
    assert found["draft"] < found["adaptive"] < found["oracle"]


@pytest.mark.slow
@pytest.mark.parametrize("domain", ALL_DOMAINS)
def test_whatever_an_assistant_opens_with_is_read_as_the_same_move(domain):
    lexicon = load_lexicon(domain)
    name, dimension = next(iter(lexicon.dimensions.items()))
    leaves = dimension.leaves[:2]
    whole = tuple(each.leaves[0] for each in lexicon.dimensions.values())
    moves = {"draft": Move("draft", whole), "show": Move("show", leaves, name), "maybe": Move("maybe", leaves, name)}
    moves |= {"ask": Move("ask", dimension=name), "recap": Move("recap", leaves), "pass": Move("pass")}
    for verb in phrase_book(domain).openings.rows:
        plain = read_reply(make_reply([moves[verb]], lexicon, "x").text, domain)
        for frame in phrase_book(domain).openings[verb]:
            said = make_reply([moves[verb]], lexicon, "x", frames={verb: frame.text}).text
            assert read_reply(said, domain) == plain, said


def test_an_unknown_assistant_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown assistant 'nobody'; the scripted ones are ") as refused:
        scripted_assistant("nobody", "svg_drawing")
    assert str(refused.value).partition(" are ")[2].split(", ") == list(SCRIPTED)
