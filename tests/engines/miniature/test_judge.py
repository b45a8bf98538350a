"""The miniature's judge: kinds, engagement, near misses, several options, free text."""

import pytest

from discover_lib import IntentTree, Rules, initial_state
from discover_lib.core.conversation import Reply
from discover_lib.core.roles import JudgeError
from discover_lib.engines.miniature.judge import MiniatureJudge, requirement
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.notation import Move
from discover_lib.engines.miniature.reading import read_reply, read_user
from discover_lib.engines.miniature.rendering import make_reply

LEXICON = load_lexicon("creative_writing")
HERO = LEXICON.dimensions["hero"]
TOP, OTHER_TOP = HERO.tops[:2]
MIDDLE, OTHER_MIDDLE = LEXICON.values[TOP].children[:2]
LEAF, OTHER_LEAF = LEXICON.below[MIDDLE][:2]
COUSIN = LEXICON.below[OTHER_MIDDLE][0]
STRANGER = LEXICON.below[OTHER_TOP][0]
ELSEWHERE = LEXICON.dimensions["setting"].leaves[0]


def text(value: str) -> str:
    return LEXICON.values[value].text


SECOND = {"id": "1.1", "text": text(MIDDLE), "children": [{"id": "1.1.1", "text": text(LEAF)}]}
TREE = IntentTree.from_dict({"roots": [{"id": "1", "text": text(TOP), "children": [SECOND]}]})


def judge(*moves: Move, tree: IntentTree = TREE, known: tuple[str, ...] = ()):
    return judge_text(make_reply(moves, LEXICON, "test", known), tree)


def judge_text(reply: Reply | str, tree: IntentTree = TREE):
    reply = reply if isinstance(reply, Reply) else Reply(reply, 1, "test")
    state = initial_state(tree)
    return MiniatureJudge("creative_writing").evaluate(tree, state, (), reply, Rules.paper())


def engaged(evaluation) -> dict[str, bool]:
    return {verdict.intent_id: verdict.engaged for verdict in evaluation.verdicts}


def show(*values: str) -> Move:
    return Move("show", values, LEXICON.values[values[0]].dimension)


def maybe(*values: str) -> Move:
    return Move("maybe", values, LEXICON.values[values[0]].dimension)


@pytest.mark.parametrize(
    ("moves", "kind"),
    [
        ([Move("draft", (LEAF, ELSEWHERE))], "artifact"),
        ([show(LEAF, STRANGER)], "artifact"),
        ([maybe(LEAF, STRANGER)], "dialogue_act"),
        ([Move("ask", dimension="hero")], "dialogue_act"),
        ([Move("recap", (LEAF,))], "dialogue_act"),
        ([Move("pass")], "dialogue_act"),
        ([Move("draft", (ELSEWHERE,)), maybe(LEAF, STRANGER)], "artifact"),
    ],
    ids=["draft", "samples", "spoken options", "slot question", "talk", "nothing", "mixed counts as artifact"],
)
def test_kinds(moves, kind):
    assert judge(*moves).kind == kind


def test_a_leaf_shown_meets_its_ancestors_too():
    assert engaged(judge(Move("draft", (LEAF,)))) == {"1": True, "1.1": True, "1.1.1": True}


def test_any_one_option_is_enough_and_different_intents_may_be_met_by_different_options():
    assert engaged(judge(show(STRANGER, COUSIN, OTHER_LEAF))) == {"1": True, "1.1": True, "1.1.1": False}


def test_a_question_that_names_the_slot_but_no_value_is_no_probe():
    evaluation = judge(Move("ask", dimension="hero"))
    assert engaged(evaluation) == {"1": False}
    assert evaluation.verdicts[0].near_misses == ()


def test_options_only_spoken_beside_a_draft_do_not_satisfy():
    assert engaged(judge(Move("draft", (ELSEWHERE,)), maybe(LEAF, STRANGER))) == {"1": False}


def test_near_misses_are_the_siblings_shown_each_once():
    root = judge(show(STRANGER, LEXICON.below[OTHER_TOP][1])).verdicts[0]
    assert (root.engaged, root.near_misses) == (False, (text(OTHER_TOP),))
    leaf = judge(show(COUSIN, OTHER_LEAF)).verdict("1.1.1")
    assert leaf is not None and leaf.near_misses == (text(OTHER_LEAF),)


def test_the_walk_stops_below_an_intent_not_engaged():
    assert list(engaged(judge(show(STRANGER, COUSIN)))) == ["1", "1.1"]
    assert list(engaged(judge(show(STRANGER, LEXICON.below[OTHER_TOP][1])))) == ["1"]


def test_a_requirement_in_words_of_your_own_is_decided_by_its_cues():
    value = LEXICON.values[LEAF]
    assert requirement(f"There has to be {value.say} in it", "creative_writing") == (LEAF,)
    with pytest.raises(JudgeError, match="cannot decide"):
        requirement("Quite beyond any vocabulary", "creative_writing")


def compound_tree(*values: str) -> IntentTree:
    together = " with ".join(LEXICON.values[value].say for value in values)
    return IntentTree.from_dict({"roots": [{"id": "1", "text": f"Has {together}"}]})


def test_part_of_a_compound_alone_is_neither_met_nor_a_near_miss():
    tree = compound_tree(LEAF, ELSEWHERE)
    assert engaged(judge(Move("draft", (LEAF, ELSEWHERE)), tree=tree)) == {"1": True}
    part = judge(Move("draft", (LEAF,)), tree=tree).verdicts[0]
    assert (part.engaged, part.near_misses) == (False, ())


@pytest.mark.parametrize(
    ("message", "wanted", "liked", "hinted", "doubted"),
    [
        ("i want {leaf}", ["leaf"], [], [], []),
        ("i like {leaf}, but something about {aspect} feels off", [], ["leaf"], [], ["hero"]),
        ("not sure, maybe {aspect} could be some other kind of {middle}", [], [], ["middle"], ["hero"]),
        ("could you do {leaf}? but i love {elsewhere}", ["leaf"], ["elsewhere"], [], []),
        ("it is getting there, but something is missing, i can't say what", [], [], [], []),
    ],
)
def test_user_messages_are_read_clause_by_clause(message, wanted, liked, hinted, doubted):
    names = {"leaf": LEAF, "middle": MIDDLE, "elsewhere": ELSEWHERE}
    said = message.format(aspect=HERO.aspect, **{key: LEXICON.values[value].say for key, value in names.items()})
    reading = read_user(said, "creative_writing")
    assert list(reading.wanted) == [names[key] for key in wanted]
    assert list(reading.liked) == [names[key] for key in liked]
    assert list(reading.hinted) == [names[key] for key in hinted]
    assert list(reading.doubted) == doubted


@pytest.mark.parametrize("said", ["no {thing}, please", "what if without {thing}?", "not {thing}", "drop the {bare}"])
def test_what_is_denied_is_not_offered(said):
    thing = LEXICON.values[LEAF].say
    reply = said.format(thing=thing, bare=thing.partition(" ")[2])
    assert read_reply(reply, "creative_writing").options == ()
