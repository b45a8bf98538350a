"""What a reply met without moving it: read truly against the whole tree, and said why."""

import pytest

from discover_lib import Conversation, IntentTree, UserSimulator
from discover_lib.core.simulator import as_reply
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.lexicon import load_lexicon
from workbench.views.touched import aspect_of, read_by_miniature, touched

DOMAIN = "svg_drawing"


def text_of(value: str) -> str:
    return load_lexicon(DOMAIN).values[value].text


@pytest.fixture(scope="module")
def tree() -> IntentTree:
    """Two trees of two: a value with its broader one, of two dimensions that the lexicon has."""
    lexicon = load_lexicon(DOMAIN)
    chains = []
    for dimension in lexicon.dimensions.values():
        below = [lexicon.lineages[leaf] for leaf in dimension.leaves if lexicon.values[leaf].cues]
        chains += [lineage for lineage in below if len(lineage) > 1][:1]
    roots = [
        {"id": str(number), "text": text_of(broad), "children": [{"id": f"{number}.1", "text": text_of(leaf)}]}
        for number, (leaf, broad, *_) in enumerate(chains[:2], 1)
    ]
    return IntentTree.from_dict({"artifact_type": "SVG drawing", "initial_request": "draw something", "roots": roots})


def stepped(tree: IntentTree, *replies: str, engine_name: str = "miniature") -> Conversation:
    world = engine(DOMAIN)
    user = UserSimulator(tree, world.judge, world.voice, setting={"engine": engine_name, "domain": DOMAIN})
    for reply in replies:
        user.step(as_reply(reply))
    return user.conversation


def naming(tree: IntentTree, key: str) -> str:
    """A question that names what an intent asks for."""
    lexicon = load_lexicon(DOMAIN)
    value = lexicon.values[lexicon.value_of_text(tree.text(key))]
    return f"How about {(value.cues + value.talk)[0]}?"


def test_what_lies_outside_the_focus_is_touched_and_not_counted(tree: IntentTree) -> None:
    shown = stepped(tree, naming(tree, "2.1"))
    turn = shown.turns[0]
    assert turn.focus == ("1",) and turn.candidate.reward.total == 0 and turn.after.discovered == frozenset()
    read = touched(shown, turn)
    assert read.complete
    assert [(each.intent_id, each.met, each.why) for each in read.touches if each.met] == [
        ("2", True, "elsewhere"), ("2.1", True, "elsewhere"),
    ]  # fmt: skip
    lexicon = load_lexicon(DOMAIN)
    dimension = lexicon.values[lexicon.value_of_text(tree.text("1"))].dimension
    assert aspect_of(shown, "1") == lexicon.dimensions[dimension].aspect


def test_what_counts_is_not_touched_and_asking_again_is_told_apart_from_building(tree: IntentTree) -> None:
    shown = stepped(tree, naming(tree, "1.1"), naming(tree, "1.1"))
    assert touched(shown, shown.turns[0]).touches == ()
    again = {each.intent_id: each.why for each in touched(shown, shown.turns[1]).touches}
    assert again == {"1": "asked", "1.1": "asked"}


def test_of_another_judge_only_its_verdicts_are_known(tree: IntentTree) -> None:
    shown = stepped(tree, naming(tree, "2.1"), engine_name="openai/some")
    assert not read_by_miniature(shown)
    read = touched(shown, shown.turns[0])
    assert not read.complete and read.touches == ()
