"""Where in a reply an intent was met, and what a reply met without moving it, worked by hand."""

import pytest
from scripted import told_tree

from discover_lib import IntentTree, UserSimulator
from discover_lib.core.advance import advance, initial_state
from discover_lib.core.conversation import Candidate, Conversation, Reply, Turn
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import as_reply
from discover_lib.core.state import Discovery, Evaluation, Verdict
from discover_lib.core.view import user_view
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.lexicon import load_lexicon
from workbench.views.located import Evidence, evidence, finding, found_by_one, parting
from workbench.views.touched import aspect_of, read_by_miniature, touched

TREE = told_tree({"1": "Takes place on a farm", "1.1": "Keeps sheep"})
RULES = Rules.paper()
SQUARE, CIRCLE = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><title>{name}</title></svg>'
    for name in ("A red square", "A blue circle")
)


def talk(*replies: tuple[str, str], near: tuple[str, ...] = (), domain: str = "") -> Conversation:
    """A conversation whose replies all engage root 1, or nearly miss it, each with a judge's reason."""
    start = state = initial_state(TREE, RULES, 0, thresholds={"1": 0.2, "1.1": 0.9})
    turns = []
    for index, (text, reason) in enumerate(replies, 1):
        judged = Evaluation("artifact", (Verdict("1", not near, near, reason),))
        after, transitions = advance(TREE, state, judged, RULES)
        candidate = Candidate(Reply(text, 9, "words"), judged, after, transitions)
        turns.append(Turn(index, state, (candidate,), 0, ("1",), user_view(TREE, after, RULES)))
        state = after
    setting = {"domain": domain, "artifact": "a", "trial": 0, "assistants": ["x"]}
    return Conversation(TREE, RULES, 0, start, tuple(turns), "max_turns", setting)


def found(conversation: Conversation) -> Evidence:
    seen = finding(conversation, "1")
    assert seen is not None
    return seen


@pytest.mark.parametrize(
    ("text", "reason", "sentence"),
    [
        ("It rained. The sheep farm slept. Nobody came.", "the text says “sheep farm”", "The sheep farm slept."),
        ("It rained on the Sheep-Farm; we left", 'it says "sheep farm"', "It rained on the Sheep-Farm; we left"),
        ("Pick one:\n\n1. A sheep farm, at dawn.\n2. A pier.", "“sheep farm”", "A sheep farm, at dawn."),
        ("> # On sheep farms\n>\n> Rain.", "the text says “sheep farm”", "On sheep farms"),
        ("A **sheep farm. At** dawn. Rain.", "“sheep farm”", "A **sheep farm. At** dawn. Rain."),
        ("The sheepfarmer left. A sheep farm stood.", "“sheep farm”", "A sheep farm stood."),
    ],
)
def test_the_sentence_that_the_reason_quotes_is_found(text: str, reason: str, sentence: str) -> None:
    seen = found(talk((text, reason)))
    assert seen.how == "quoted" and seen.span is not None
    assert text[slice(*seen.span)] == sentence


def test_without_a_quote_the_closest_sentence_is_a_guess_and_a_far_one_is_none() -> None:
    text = "We drove all day. The farm lay in the valley."
    seen = found(talk((text, "the setting fits")))
    assert seen.how == "guessed" and seen.span is not None and text[slice(*seen.span)] == "The farm lay in the valley."
    lost = found(talk(("We drove all day.", "the setting fits")))
    assert (lost.how, lost.span, lost.drawing, lost.reason) == (None, None, None, "the setting fits")


def test_a_quote_inside_a_drawing_names_the_drawing() -> None:
    text = f"A.\n\n```svg\n{SQUARE}\n```\n\nB.\n\n```svg\n{CIRCLE}\n```"
    seen = found(talk((text, "the drawing is named “A blue circle”")))
    assert (seen.drawing, seen.span, seen.how) == (1, None, "quoted")


def test_a_drawing_is_read_again_where_the_reason_quotes_nothing() -> None:
    from discover_lib.engines.miniature.lexicon import load_lexicon
    from discover_lib.engines.miniature.reading import read_artifact
    from discover_lib.engines.miniature.rendering import render_artifact

    lexicon = load_lexicon("svg_drawing")
    plain, lined = (render_artifact(values, lexicon) for values in (["whale"], ["whale", "bold-lines"]))
    reasons = set(read_artifact(lined, "svg_drawing").values()) - set(read_artifact(plain, "svg_drawing").values())
    reason = next(each for each in sorted(reasons) if "“" not in each)
    seen = found(talk((f"{plain}\n{lined}", reason), domain="svg_drawing"))
    assert (seen.drawing, seen.how) == (1, "read")


def test_a_near_miss_that_formed_an_intent_is_its_evidence() -> None:
    """p·1 = 0.25 > θ = 0.2: one step a reply, so the second reply is the one that discovers."""
    reason = "not this, but close: the text says “vineyard”"
    conversation = talk(("A vineyard.", reason), ("A vineyard. Again.", reason), near=("Takes place in a vineyard",))
    seen = found(conversation)
    assert (seen.turn, seen.transition.cause) == (2, "tangential")
    first = conversation.turns[0]
    emerged = evidence(conversation, first, first.candidate.transitions[0])
    assert emerged.transition.after is Discovery.EMERGING and emerged.span == (0, len("A vineyard."))


def test_two_conversations_part_where_their_states_first_differ() -> None:
    direct = talk(("A farm.", "“farm”"), ("More.", "“farm”"))
    slow = talk(("Rain.", ""), ("Rain.", ""), near=("Takes place in a town",))
    assert parting(direct, direct) is None and parting(direct, slow) == 1
    assert found_by_one(direct, slow) == ([], [])  # both have it after two turns
    short = talk(("Rain.", ""), near=("Takes place in a town",))
    assert found_by_one(direct, short) == (["1"], []) and found_by_one(short, direct) == ([], ["1"])


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["svg_drawing", "creative_writing", "technical_writing"])
def test_all_that_the_miniature_discovers_can_be_located(domain: str) -> None:
    from discover_lib.core.rollout import run_conversation
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import generate_artifact
    from discover_lib.engines.miniature.assistants import scripted_assistant

    world, located = engine(domain), 0
    tree = world.builder.build(generate_artifact(domain, "eval", 1)).tree
    for name in ("adaptive", "options", "mixed"):
        setting = {"domain": domain, "assistants": [name]}
        assistants = [scripted_assistant(name, domain)]
        held = run_conversation(tree, world.judge, world.voice, assistants, seed=3, setting=setting)
        known = {key for key in tree.intents if held.start[key] is Discovery.DISCOVERED}
        for key in sorted(held.state.discovered - known):
            seen = finding(held, key)
            assert seen is not None
            assert seen.how in ("quoted", "read") and (seen.span is None) != (seen.drawing is None)
            located += 1
    assert located > 5


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
