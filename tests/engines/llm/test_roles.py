"""The roles played by a language model: the prompt, the reading of the answer, and the answers that are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from llm_script import Script

from discover_lib.base.tokens import COUNTING
from discover_lib.core.advance import initial_state
from discover_lib.core.conversation import Artifact, Message, Reply
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.roles import BuildError, JudgeError, VoiceError
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, Evaluation, IntentState
from discover_lib.core.view import UserView, user_view
from discover_lib.engines.llm import answers, builder
from discover_lib.engines.llm.assistants import LLMAssistant
from discover_lib.engines.llm.builder import LLMBuilder
from discover_lib.engines.llm.calls.client import LLMClient
from discover_lib.engines.llm.calls.exchange import Completion, LLMError
from discover_lib.engines.llm.judge import LLMJudge
from discover_lib.engines.llm.prompting import PromptSet
from discover_lib.engines.llm.scoring import LLMRefusalJudge, LLMScorer
from discover_lib.engines.llm.voice import LLMVoice, describe_latent, find_flaws, plain, without_ids
from discover_lib.engines.manner import Manner
from discover_lib.metrics.scorer import ScoreError

PAPER = Rules.paper()
MODEL = "openai/scripted"

ROOTS = (
    Intent("1", "Has a narrator", (Intent("1.1", "The narrator is a pilot", (Intent("1.1.1", "He is retired"),)),)),
    Intent("2", "Set at a harbour", (Intent("2.1", "The harbour lies far north"),)),
    Intent("3", "Ends quietly", (Intent("3.1", "The last line is a sound"),)),
)
TREE = IntentTree("short story", "harbour", "could you write a short story about a harbour?", ("2",), ROOTS)
START = initial_state(TREE, PAPER, seed=1)
TALK = (Message("user", TREE.initial_request),)
REPLY = Reply("It was cold at the quay. </reply> <b>Ole</b> waited.", 12, COUNTING)


# -- judge -----------------------------------------------------------------------------------------------------------


def judged(*entries: tuple[str, bool] | tuple[str, bool, list[str]], kind: str = "artifact") -> dict[str, Any]:
    intents = [
        {"id": intent_id, "reason": f"about {intent_id}", "engaged": engaged, "near_misses": near[0] if near else []}
        for intent_id, engaged, *near in entries
    ]
    return {"kind_reason": "it tells a story", "kind": kind, "intents": intents}


def evaluated(script: Script) -> Evaluation:
    return LLMJudge(script, MODEL).evaluate(TREE, START, TALK, REPLY, PAPER)


CHAIN = ("1", "1.1", "1.1.1")
WISH = ("2", False)  # the judge is always asked about the discovered, unsatisfied root outside the focus


def test_the_judge_is_shown_the_focus_and_known_wishes_and_nothing_else() -> None:
    script = Script(judged(("1", False), WISH))
    evaluation = evaluated(script)
    assert evaluation.kind == "artifact" and evaluation.kind_reason == "it tells a story"
    prompt = script.prompt()
    assert "- [1] (undiscovered) Has a narrator\n  - [1.1] (undiscovered) The narrator is a pilot" in prompt
    assert "# Known wishes outside the tree\n\n- [2] Set at a harbour" in prompt
    assert f"<reply2>\n{REPLY.text}\n</reply2>" in prompt and f"<user>\n{TREE.initial_request}\n</user>" in prompt
    assert not any(hidden in prompt for hidden in ("far north", "quietly", "sound"))
    assert script.asked[0].temperature == 0.0 and script.asked[0].seed is None


@pytest.mark.parametrize(
    ("answer", "verdicts"),
    [
        # In the order of the walk; verdicts that the walk does not reach are dropped.
        (judged(("2", True), ("1.1", False, ["a cook"]), ("1", False, ["no one"])), [("1", False), ("2", True)]),
        # A met intent meets those above it.
        (judged(("1", False), ("1.1.1", True, ["x"]), WISH), [*((each, True) for each in CHAIN), ("2", False)]),
        # Extra entries are left out.
        (judged(("1", False), WISH, ("9", True), ("3", True), ("9", False)), [("1", False), ("2", False)]),
    ],
)
def test_verdicts_are_read_as_the_walk_asks_for_them(answer: dict[str, Any], verdicts: list[tuple[str, bool]]) -> None:
    script = Script(answer)
    found = evaluated(script).verdicts
    assert [(each.intent_id, each.engaged) for each in found] == verdicts
    assert all(each.near_misses == () for each in found if each.engaged)
    assert len(verdicts) < 4 or found[0].reason == "met with something more specific: about 1.1.1"
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (judged(("1", False), ("9", True)), "intent '9' is not asked about; give 1, 2; there is no entry for intent 2"),
        (judged(("1", False), ("1", True), WISH), "intent '1' has more than one entry"),
        (judged(("1", False)), "there is no entry for intent 2"),
        (judged(("1", True), WISH), "there is no entry for intent 1.1"),
    ],
)
def test_ids_are_checked_and_the_judge_is_asked_once_more(answer: dict[str, Any], complaint: str) -> None:
    script = Script(answer, judged(("1", False), WISH))
    assert [each.intent_id for each in evaluated(script).verdicts] == ["1", "2"]
    assert len(script.asked) == 2 and complaint in script.prompt(1)
    script = Script(answer)
    with pytest.raises(JudgeError, match="the reply could not be judged"):
        evaluated(script)
    assert len(script.asked) == 2


def test_a_reply_that_cannot_be_judged_is_a_judge_error_but_a_stop_is_not() -> None:
    with pytest.raises(JudgeError, match="the reply could not be judged: openai/scripted: HTTP 500"):
        evaluated(Script(LLMError("openai/scripted: HTTP 500", "server")))
    with pytest.raises(LLMError, match="stopped"):
        evaluated(Script(LLMError("stopped", "stopped")))


def test_a_scorer_leaves_out_extra_entries_and_keeps_scores_between_two_steps() -> None:
    scores = [{"id": key, "reason": "so", "score": 4.5} for key in (*TREE.leaves(), "9")]
    script = Script({"scores": scores[1:]}, {"scores": scores})
    found = LLMScorer(script, MODEL).satisfaction(TREE, REPLY)
    assert [(each.intent_id, each.score) for each in found] == [(leaf, 4.5) for leaf in TREE.leaves()]
    assert f"there is no entry for id {TREE.leaves()[0]}" in script.prompt(1)


def test_a_model_judges_refusals() -> None:
    script = Script({"reason": "declines", "refuses": True}, {"reason": "does it", "refuses": False}, "no")
    judge = LLMRefusalJudge(script, MODEL)
    assert judge.refuses("Draw an owl.", "Not today.") and "<reply>\nNot today.\n</reply>" in script.prompt()
    assert not judge.refuses("Draw an owl.", "Here.")
    with pytest.raises(ScoreError, match="whether a reply refuses"):
        judge.refuses("Draw an owl.", "Hm.")


# -- voice -----------------------------------------------------------------------------------------------------------

KNOWN = {"1": "Has a narrator", "1.1": "The narrator is a weathered pilot"}
FUZZY = UserView(("1",), "fuzzy", ("1.1",), KNOWN, {"1.1": "the narrator is\n a cook"}, ("1.1",))
HEARD = (*TALK, Message("assistant", "A cook tells of the harbour."))


def said(message: str) -> dict[str, str]:
    return {"thought": "vague", "message": message}


def test_the_voice_sees_the_conversation_and_the_view() -> None:
    script = Script(said('  "hmm, the narrator could be someone else"  '))
    assert LLMVoice(script, MODEL).speak(FUZZY, HEARD, seed=5) == "hmm, the narrator could be someone else"
    prompt = script.prompt()
    assert "Achieved:\n- [1] Has a narrator\n" in prompt
    assert (
        "Still wanting (fuzzy):\n- [1.1] The narrator is a weathered pilot\n"
        "  new: this changed with the last reply\n  what happened: the narrator is a cook\n" in prompt
    )
    assert "<assistant>\nA cook tells of the harbour.\n</assistant>" in prompt
    assert script.asked[0].seed == 5


def test_a_manner_is_told_after_the_rest_and_the_papers_prompt_stays() -> None:
    script = Script(said("fine"), said("no?"), said(" ".join(["well"] * 41)))
    LLMVoice(script, MODEL).speak(FUZZY, HEARD, seed=5)
    terse = LLMVoice(script, MODEL, manner=Manner("curt", (3, 3), 1, 0, 1)).of(1)
    assert terse.speak(FUZZY, HEARD, seed=5) == "no?"
    plain, formed = script.prompt(0), script.prompt(1)
    assert formed.startswith(plain) and "about 3 words" in formed[len(plain) :]
    assert "small letters throughout, a question, no exclamation mark" in formed
    assert len(script.asked[0].messages) == len(script.asked[1].messages)
    rambling = LLMVoice(script, MODEL, manner=Manner("long", (20, 90), 0, 0, 0))
    assert rambling.flaws(rambling.speak(FUZZY, HEARD, seed=5), FUZZY, HEARD) == ()


LONG = " ".join(["well"] * 41)


@pytest.mark.parametrize(
    ("spoken", "used", "told", "flaws"),
    [
        (["maybe a weathered man", "maybe someone else"], "maybe someone else", "avoid 'weathered'", ()),
        (["- a **weathered** pilot", "a weathered man"], "a weathered man", "plain text", ("leak",)),  # fewer flaws
        ([LONG, f"{LONG} **now**"], LONG, "41 words", ("length",)),
        (["As an AI language model, I cannot role-play.", "maybe darker"], "maybe darker", "you are the user", ()),
        (["The assistant should offer more", "maybe darker"], "maybe darker", "you are the user", ()),
    ],
)
def test_a_flawed_message_is_asked_for_once_more_and_used_if_it_stays(
    spoken: list[str], used: str, told: str, flaws: tuple[str, ...]
) -> None:
    script = Script(*map(said, spoken))
    voice = LLMVoice(script, MODEL)
    assert voice.speak(FUZZY, HEARD, seed=0) == used
    assert len(script.asked) == 2 and told in script.prompt(1) and voice.flaws(used, FUZZY, HEARD) == flaws


@pytest.mark.parametrize(
    ("replies", "told"),
    [
        (["I'd rather not."], r"the user's message could not be had: .*; it said: I'd rather not\."),
        ([said("I'm an AI, so i have no preference")], "the user's message could not be had"),
        ([said("a weathered man"), LLMError("overloaded", "server")], "overloaded"),
    ],
)
def test_no_message_at_all_is_a_voice_error(replies: list[Any], told: str) -> None:
    with pytest.raises(VoiceError, match=told):
        LLMVoice(Script(*replies), MODEL).speak(FUZZY, HEARD, seed=0)


@pytest.mark.parametrize("said", ["hm, not yet", ' "hm, not yet" ', "User: hm, not yet", 'user: "hm, not yet"'])
def test_what_stands_around_a_message_is_no_part_of_it(said: str) -> None:
    assert plain(said) == "hm, not yet"


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ("something about who tells it feels off", []),
        ("the narrator is fine, and so is the harbour", []),  # achieved, and said before
        (" ".join(["well"] * 41), ["length"]),
        ("first\nsecond", ["markup"]),
        ("i like [1.1] more", ["markup"]),
        ("use <b>bold</b>", ["markup"]),
        ("```pilot", ["markup", "leak"]),
        ("i'm an ai researcher, so keep it short", []),
        ("the user should see the error first", []),
    ],
)
def test_what_is_checked_in_a_message(message: str, kinds: list[str]) -> None:
    assert list(find_flaws(message, FUZZY, HEARD)) == kinds
    clear = find_flaws(message, replace(FUZZY, pursuing="clear"), HEARD)
    assert list(clear) == [kind for kind in kinds if kind != "leak"]


ACHIEVED = {"1.1": "Has a calm narrator", "3": "Ends quietly"}
TEXTS = {**ACHIEVED, "1.2": "The teller is old", "1.2.1": "The teller is a pilot"}
NOTES = {"1.1": "calm from line one, see [1.1] and 1.2.1", "1.2.1": "the teller is a cook, not a pilot"}
LATENT = UserView(("1.1", "3"), "latent", ("1.2", "1.2.1"), TEXTS, NOTES)


def test_of_what_is_latent_the_voice_is_told_the_category_alone() -> None:
    script = Script(said("something about who tells it feels off"))
    LLMVoice(script, MODEL).speak(LATENT, HEARD, seed=0)
    prompt = script.prompt()
    assert "Still wanting (latent):\n- something of the category of [1.1]\n" in prompt
    assert not any(secret in prompt for secret in ("teller", "pilot", "a cook, not"))
    assert "what happened: calm from line one, see and\n" in prompt, "no ids in a reason"


@pytest.mark.parametrize(
    ("view", "heard", "shown"),
    [
        ({"achieved": ()}, "Here you are.", "something, of no category that you could name"),
        ({"achieved": ("1.1", "3")}, "Here you are.", "something of the category of [1.1]"),  # the nearest
        ({"achieved": ("1.1", "1.2")}, "Here you are.", "something of the category of [1.2]"),
        ({"category": "point of view"}, "Here you are.", "something of the category 'point of view'"),
        ({"category": "teller"}, "Here you are.", "something of the category of [1.1]"),  # the teller is hidden
        ({"category": "teller"}, "Who should the teller be?", "something of the category 'teller'"),  # it was said
    ],
)
def test_the_category_is_a_name_that_gives_nothing_away_or_the_nearest_thing_achieved(
    view: dict[str, Any], heard: str, shown: str
) -> None:
    latent = replace(LATENT, items=("1.2.1",), **view)
    assert describe_latent(latent, (*TALK, Message("assistant", heard))) == f"- {shown}"


VOICED = Intent("1", "Has a narrator", (Intent("1.1", "A pilot", (), "voice"), Intent("1.2", "Retired", (), "voice")))
AGED = Intent("1", "Has a narrator", (Intent("1.1", "A pilot", (), "voice"), Intent("1.2", "Retired", (), "age")))
BOAT = Intent("1", "About a boat", (Intent("1.1", "About a ferry", (), "subject"),))
TELLER = Intent("2", "Somebody tells it", (Intent("2.1", "A pilot tells it", (), "narrator"),))


@pytest.mark.parametrize(
    ("roots", "met", "seen", "shown"),
    [
        ((VOICED,), "1 1.1", ("latent", "1.2", ("1.1",), "voice"), "of the category 'voice'"),
        ((VOICED,), "", ("latent", "1", (), ""), "of no category"),
        ((AGED,), "1", ("latent", "1.1", ("1",), ""), "of the category of [1]"),  # several names, none achieved
        ((AGED,), "1 1.1", ("latent", "1.2", ("1.1",), "voice"), "of the category 'voice'"),
        ((BOAT, TELLER), "1 1.1", ("latent", "2", (), ""), "of no category"),  # its tree is untouched
        ((BOAT, TELLER), "1 1.1 2", ("latent", "2.1", ("2",), ""), "of the category of [2]"),  # the name is latent
    ],
)
def test_a_view_names_the_category_only_by_an_achieved_intent(
    roots: tuple[Intent, ...], met: str, seen: tuple[Any, ...], shown: str
) -> None:
    tree = IntentTree.from_dict(IntentTree("story", "sea", "", (), roots).to_dict())
    state = IntentState(dict.fromkeys(met.split(), Discovery.DISCOVERED), satisfied=frozenset(met.split()))
    view = UserView.from_dict(user_view(tree, state).to_dict())
    assert (view.pursuing, view.items[0], view.shared, view.category) == seen
    assert shown in describe_latent(view, TALK)


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("see 1.1", "see"),
        ("as in 4.2.1, a door", "as in, a door"),
        ("intent 3 asks for it", "asks for it"),
        ("two of 3 stanzas rhyme", "two of 3 stanzas rhyme"),
    ],
)
def test_ids_are_taken_out_of_a_judges_words_and_numbers_are_not(note: str, words: str) -> None:
    tree = IntentTree("poem", "x", "", (), (Intent("1", "a", (Intent("1.1", "b"),)),))
    view = user_view(
        tree, IntentState(dict.fromkeys(("1", "1.1"), Discovery.DISCOVERED), satisfied=frozenset({"1", "1.1"})), PAPER
    )
    assert without_ids(note, view) == words


def test_an_assistant_sees_its_system_prompt_and_the_messages() -> None:
    script = Script(Completion("<think>a boat? {no}</think>\n\nHere is a boat. \n", 9, 7, finish_reason="stop"))
    asked = (Message("user", "a boat"), Message("assistant", "Small?", notation="ask size ?"), Message("user", "yes"))
    reply = LLMAssistant(cast(LLMClient, script), f"{MODEL}+clarifying", temperature=0.2).reply(asked, seed=3)
    assert reply == Reply("Here is a boat.", 5, COUNTING, f"{MODEL}+clarifying"), "7 tokens include the thinking"
    (request,) = script.asked
    said = [{"role": each.role, "content": each.content} for each in asked]
    assert request.messages == (*PromptSet().render("clarifying"), *said)
    assert (request.model, request.temperature, request.seed) == (MODEL, 0.2, 3)


# -- builder ---------------------------------------------------------------------------------------------------------


def test_a_defect_that_stays_is_a_build_error_that_names_the_stage() -> None:
    item = {"text": "Ends quietly", "aspect": "ending", "evidence": "the last line"}
    script = Script({"topic": "harbour", "description": "quiet", "items": [item, item, item]})
    with pytest.raises(BuildError, match=r"tale, stage synthesis: .*stands twice"):
        LLMBuilder(script, MODEL).build(Artifact("tale", "short story", "Once."))
    assert len(script.asked) == 2 and "the item 'Ends quietly' stands twice" in script.prompt(1)


def synthesis(topic: str, *texts: str) -> str | None:
    items = [{"text": text, "aspect": "a", "evidence": "e"} for text in texts]
    answer = answers.Synthesis.model_validate({"topic": topic, "description": "d", "items": items})
    return builder.synthesis_defect(answer)


def abstraction(*levels: list[str]) -> str | None:
    return builder.abstraction_defect(levels, frozenset({"short", "story", "harbour"}))


def request(chosen: list[str], text: str) -> str | None:
    return builder.request_defect(answers.InitialRequest(chosen=chosen, request=text), TREE.roots)


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        (synthesis("harbour", "Has a pilot", "Set in the north", "Ends quietly"), None),
        (synthesis("a harbour at night", "Has a pilot", "Set north", "Ends quietly"), "one to 3 words"),
        (synthesis("harbour", "Has a pilot", "Ends quietly"), "at least 3"),
        (synthesis("harbour", "Has a pilot", "has a  PILOT.", "Ends quietly"), "'has a  PILOT.' stands twice"),
        (synthesis("harbour", "Has a pilot", "long " * 500, "Ends quietly"), "2500 characters"),
        (abstraction(["a tabby cat", "red boots"], ["a cat", "boots"], ["an animal"]), None),
        (abstraction(["a tabby cat"]), "no broader level"),
        (abstraction(["a tabby cat"], []), "level 1 is empty"),
        (abstraction(["a tabby cat"], ["a cat", "stripes"]), "cannot be broader"),
        (abstraction(["a tabby cat", "boots"], ["A tabby cat!"]), "nothing broader than level 0"),
        (abstraction(["a tabby cat", "red boots"], ["a cat", "A cat."]), "stands twice"),
        (abstraction(["a tabby cat"], ["a cat"], ["A short story"]), "says nothing beyond type and topic"),
        (request(["2"], "a short story about a harbour, please"), None),
        (request(["2.1"], "a story"), "'2.1' cannot be chosen; choose among 1, 2, 3"),
        (request([], "a story"), "at least one"),
        (request(["1", "2", "3"], "a story"), "every requirement was chosen"),
        (request(["2"], "well " * 41), "41 words"),
        (builder.leak_defect(TREE), None),
        (builder.leak_defect(replace(TREE, initial_request="with a retired pilot")), "leave out 'pilot', 'retired'"),
    ],
)
def test_defects_of_a_builders_answers(found: str | None, complaint: str | None) -> None:
    assert (found is None) if complaint is None else complaint in str(found)


WISHES = [f"{place} is shown" for place in ("Paris", "Loire", "Rome", "June")]
BROAD = ["about a city", "in some season"]


def hierarchy(**parents: str | None) -> dict[str, Any]:
    first = {"1.1": None, "0.1": "1.1", "0.2": "1.1", "0.3": "1.1", "1.2": None, "0.4": "1.2"}
    changed = {f"0.{name[1:]}": parent for name, parent in parents.items()}
    return {"items": [{"id": key, "parent": parent} for key, parent in (first | changed).items()]}


def verdicts(*holds: bool) -> dict[str, Any]:
    pair = {"reason": "so", "broad_implies_narrow": False}
    return {"pairs": [{"number": at, **pair, "narrow_implies_broad": each} for at, each in enumerate(holds, start=1)]}


@pytest.mark.parametrize("obeys", [True, False])
def test_a_denied_edge_is_named_once_and_cut_if_it_stays(obeys: bool) -> None:
    script = Script(
        {"topic": "journey", "description": "d", "items": [{"text": t, "aspect": "a", "evidence": ""} for t in WISHES]},
        {"levels": [{"items": BROAD}]},
        hierarchy(),
        verdicts(True, False, True, True),
        *([hierarchy(w2="1.2"), verdicts(True)] if obeys else [hierarchy()]),
        {"chosen": ["1"], "request": "a postcard of a journey about a city, please"},
        checks=[{"reason": "so", "leaks": False, "ids": []}],
    )
    built = LLMBuilder(script, MODEL).build(Artifact("card", "postcard", "Wish you were here."))
    line = "[0.2] 'Loire is shown' does not imply [1.1] 'about a city' (so)"
    assert f"{line}; so there are 3 trees, [1.1], [0.2], [1.2]: two to five are wanted" in script.prompt(4)
    roots = [root.text for root in built.tree.roots]
    if obeys:
        assert "1. narrow: Loire is shown\n   broad: in some season" in script.prompt(5)
        assert "2. narrow" not in script.prompt(5), "only the new edge is asked about"
        assert roots == BROAD and built.notes == ()
    else:
        assert len(script.asked) == 7 and built.notes == (f"organisation, cut: {line}",)
        assert roots == ["about a city", "Loire is shown", "in some season"]
