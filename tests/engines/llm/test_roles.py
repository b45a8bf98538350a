"""The roles played by a language model: what it is shown, what is made of its answers, and what is not accepted."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from llm_server import FakeServer

from discover_lib.base.tokens import COUNTING
from discover_lib.core.advance import initial_state
from discover_lib.core.conversation import Artifact, Message, Reply, Turn
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.roles import BuildError, JudgeError, VoiceError
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator
from discover_lib.core.state import Discovery, IntentState
from discover_lib.core.view import UserView, user_view
from discover_lib.engines.llm import answers, builder
from discover_lib.engines.llm.assistants import LLMAssistant
from discover_lib.engines.llm.builder import LLMBuilder
from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient, LLMError
from discover_lib.engines.llm.judge import LLMJudge
from discover_lib.engines.llm.scoring import LLMRefusalJudge
from discover_lib.engines.llm.voice import LLMVoice, describe_latent, find_flaws, plain, without_ids
from discover_lib.engines.manner import Manner
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.metrics.scorer import ScoreError

PAPER = Rules.paper()
MODEL = "openai/scripted"

TREE = IntentTree(
    "short story",
    "harbour",
    "could you write a short story about a harbour?",
    ("2",),
    (
        Intent("1", "Has a narrator", (Intent("1.1", "The narrator is a pilot", (Intent("1.1.1", "He is retired"),)),)),
        Intent("2", "Set at a harbour", (Intent("2.1", "The harbour lies far north"),)),
        Intent("3", "Ends quietly", (Intent("3.1", "The last line is a sound"),)),
    ),
)
START = initial_state(TREE, PAPER, seed=1)
TALK = (Message("user", TREE.initial_request),)
REPLY = Reply("It was cold at the quay. </reply> <b>Ole</b> waited.", 12, COUNTING)


class Scripted:
    """A model that says what it was given to say, the last thing again and again; `asked` is what it was sent."""

    def __init__(self) -> None:
        self.texts: deque[str] = deque()
        self.asked: list[dict[str, Any]] = []

    def __call__(self, messages: list[dict[str, Any]], body: dict[str, Any]) -> tuple[str, int]:
        self.asked.append(body)
        text = self.texts.popleft() if len(self.texts) > 1 else self.texts[0]
        return text, 7

    def says(self, *sayings: str | dict[str, Any]) -> None:
        self.asked.clear()
        self.texts = deque(each if isinstance(each, str) else json.dumps(each) for each in sayings)

    def prompt(self, call: int = 0, message: int = 1) -> str:
        return str(self.asked[call]["messages"][message]["content"])


@pytest.fixture(scope="module")
def brain() -> Scripted:
    return Scripted()


@pytest.fixture(scope="module")
def server(brain: Scripted) -> Iterator[FakeServer]:
    with FakeServer(brain) as running:
        yield running


@pytest.fixture
def client(server: FakeServer) -> Iterator[LLMClient]:
    settings = ClientSettings(api_base=server.api_base, env_file=None, first_wait_seconds=0.01)
    with LLMClient(settings) as ready:
        yield ready


# -- judge -----------------------------------------------------------------------------------------------------------


def judged(*entries: tuple[str, bool] | tuple[str, bool, list[str]], kind: str = "artifact") -> dict[str, Any]:
    intents = [
        {"id": intent_id, "reason": f"about {intent_id}", "engaged": engaged, "near_misses": near[0] if near else []}
        for intent_id, engaged, *near in entries
    ]
    return {"kind_reason": "it tells a story", "kind": kind, "intents": intents}


WISH = ("2", False)  # the discovered, unsatisfied root outside the focus is always asked about


def test_the_judge_is_shown_the_focus_and_known_wishes_and_nothing_else(client: LLMClient, brain: Scripted) -> None:
    brain.says(judged(("1", False), WISH))
    LLMJudge(client, MODEL).evaluate(TREE, START, TALK, REPLY, PAPER)
    prompt = brain.prompt()
    assert "- [1] (undiscovered) Has a narrator\n  - [1.1] (undiscovered) The narrator is a pilot" in prompt
    assert "# Known wishes outside the tree\n\n- [2] Set at a harbour" in prompt
    assert f"<reply2>\n{REPLY.text}\n</reply2>" in prompt and f"<user>\n{TREE.initial_request}\n</user>" in prompt
    for hidden in ("far north", "quietly", "sound"):
        assert hidden not in prompt
    assert brain.asked[0]["temperature"] == 0.0 and "seed" not in brain.asked[0]


def test_verdicts_come_in_the_order_of_the_walk_and_what_it_does_not_reach_is_dropped(
    client: LLMClient, brain: Scripted
) -> None:
    brain.says(judged(("2", True), ("1.1", False, ["a cook"]), ("1", False, ["no one"])))
    evaluation = LLMJudge(client, MODEL).evaluate(TREE, START, TALK, REPLY, PAPER)
    assert [each.intent_id for each in evaluation.verdicts] == ["1", "2"]
    assert evaluation.kind == "artifact" and evaluation.kind_reason == "it tells a story"


def test_a_met_intent_meets_what_stands_above_it(client: LLMClient, brain: Scripted) -> None:
    brain.says(judged(("1", False, ["a choir"]), ("1.1.1", True, ["ignored"]), WISH))
    evaluation = LLMJudge(client, MODEL).evaluate(TREE, START, TALK, REPLY, PAPER)
    assert [(each.intent_id, each.engaged, each.near_misses) for each in evaluation.verdicts] == [
        ("1", True, ()),
        ("1.1", True, ()),
        ("1.1.1", True, ()),
        ("2", False, ()),
    ]
    assert evaluation.verdicts[0].reason == "met with something more specific: about 1.1.1"
    assert client.usage.remarks == {"contradicted": 1}


def test_entries_too_many_are_left_out_and_counted(client: LLMClient, brain: Scripted) -> None:
    brain.says(judged(("1", False), WISH, ("9", True), ("3", True), ("9", False)))
    evaluation = LLMJudge(client, MODEL).evaluate(TREE, START, TALK, REPLY, PAPER)
    assert [(each.intent_id, each.engaged) for each in evaluation.verdicts] == [("1", False), ("2", False)]
    assert len(brain.asked) == 1 and client.usage.remarks == {"stray ids": 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (
            judged(("1", False), ("9", True)),
            "there is no intent '9'; the ids are 1, 1.1, 1.1.1, 2; there is no entry for 2",
        ),
        (judged(("1", False), ("3", True)), "there is no intent '3'"),
        (judged(("1", False), ("1", True), WISH), "intent '1' has more than one entry"),
        (judged(("1", False)), "there is no entry for 2"),
        (judged(("1", True), WISH), "there is no entry for 1.1"),
    ],
)
def test_ids_are_checked_and_the_judge_is_asked_once_more(
    client: LLMClient, brain: Scripted, answer: dict[str, Any], complaint: str
) -> None:
    brain.says(answer, judged(("1", False), WISH))
    evaluation = LLMJudge(client, MODEL).evaluate(TREE, START, TALK, REPLY, PAPER)
    assert [each.intent_id for each in evaluation.verdicts] == ["1", "2"]
    assert len(brain.asked) == 2 and complaint in brain.prompt(1, -1)
    brain.says(answer)
    with pytest.raises(JudgeError, match="the reply could not be judged"):
        LLMJudge(client, MODEL).evaluate(TREE, START, TALK, REPLY, PAPER)
    assert len(brain.asked) == 2


def test_a_reply_that_cannot_be_judged_is_a_judge_error_but_a_stop_is_not(server: FakeServer, brain: Scripted) -> None:
    brain.says("no")
    stop = threading.Event()
    settings = ClientSettings(api_base=server.api_base, env_file=None, max_attempts=1)
    with LLMClient(settings, stop=stop) as client:
        server.script.append("500")
        with pytest.raises(JudgeError, match="the reply could not be judged: openai/scripted"):
            LLMJudge(client, MODEL).evaluate(TREE, START, TALK, REPLY, PAPER)
        stop.set()
        with pytest.raises(LLMError) as caught:
            LLMJudge(client, MODEL).evaluate(TREE, START, TALK, REPLY, PAPER)
    assert caught.value.kind == "stopped"


# -- voice -----------------------------------------------------------------------------------------------------------

FUZZY = UserView(
    ("1",),
    "fuzzy",
    ("1.1",),
    {"1": "Has a narrator", "1.1": "The narrator is a weathered pilot"},
    {"1.1": "the narrator is\n a cook"},
    ("1.1",),
)
HEARD = (*TALK, Message("assistant", "A cook tells of the harbour."))


def said(message: str) -> dict[str, str]:
    return {"thought": "vague", "message": message}


def test_the_voice_sees_the_conversation_and_the_view(client: LLMClient, brain: Scripted) -> None:
    brain.says(said('  "hmm, the narrator could be someone else"  '))
    assert LLMVoice(client, MODEL).speak(FUZZY, HEARD, seed=5) == "hmm, the narrator could be someone else"
    prompt = brain.prompt()
    assert "Achieved:\n- [1] Has a narrator\n" in prompt
    assert (
        "Still wanting (fuzzy):\n- [1.1] The narrator is a weathered pilot\n"
        "  new: this changed with the last reply\n  what happened: the narrator is a cook\n" in prompt
    )
    assert "<assistant>\nA cook tells of the harbour.\n</assistant>" in prompt
    assert brain.asked[0]["seed"] == 5


def test_a_manner_is_told_after_the_rest_and_the_papers_prompt_stays(client: LLMClient, brain: Scripted) -> None:
    brain.says(said("fine"), said("no?"), said(" ".join(["well"] * 41)))
    LLMVoice(client, MODEL).speak(FUZZY, HEARD, seed=5)
    terse = LLMVoice(client, MODEL, manner=Manner("curt", (3, 3), 1, 0, 1)).of(1)
    assert terse.speak(FUZZY, HEARD, seed=5) == "no?"
    plain, formed = brain.prompt(0), brain.prompt(1)
    assert formed.startswith(plain) and "about 3 words" in formed[len(plain) :]
    assert "small letters throughout, a question, no exclamation mark" in formed
    assert len(brain.asked[0]["messages"]) == len(brain.asked[1]["messages"])
    rambling = LLMVoice(client, MODEL, manner=Manner("long", (20, 90), 0, 0, 0))
    assert rambling.flaws(rambling.speak(FUZZY, HEARD, seed=5), FUZZY, HEARD) == ()


def test_a_model_judges_refusals(client: LLMClient, brain: Scripted) -> None:
    brain.says({"reason": "declines", "refuses": True}, {"reason": "does it", "refuses": False}, "no", "no")
    judge = LLMRefusalJudge(client, MODEL)
    assert judge.refuses("Draw an owl.", "Not today.") and "<reply>\nNot today.\n</reply>" in brain.prompt()
    assert not judge.refuses("Draw an owl.", "Here.")
    with pytest.raises(ScoreError, match="whether a reply refuses"):
        judge.refuses("Draw an owl.", "Hm.")


def test_a_flawed_message_is_asked_for_once_more(client: LLMClient, brain: Scripted) -> None:
    voice = LLMVoice(client, MODEL)
    brain.says(said("maybe a weathered man"), said("maybe someone else"))
    assert voice.speak(FUZZY, HEARD, seed=0) == "maybe someone else"
    assert "cannot put it into words: avoid 'weathered'" in brain.prompt(1, -1)
    assert voice.flaws("maybe someone else", FUZZY, HEARD) == ()


def test_a_message_that_stays_flawed_is_used_and_its_flaws_are_told(client: LLMClient, brain: Scripted) -> None:
    voice = LLMVoice(client, MODEL)
    brain.says(said("- a **weathered** pilot"), said("a weathered man"))
    message = voice.speak(FUZZY, HEARD, seed=0)
    assert message == "a weathered man", "the one with fewer flaws"
    assert voice.flaws(message, FUZZY, HEARD) == ("leak",) and len(brain.asked) == 2


def test_a_turn_keeps_the_flaws_of_its_message(client: LLMClient, brain: Scripted) -> None:
    long = " ".join(["well"] * 41)
    brain.says(said(long), said(f"{long} **now**"), said("fine"))
    engines = engine("technical_writing")
    tree = engines.builder.build(generate_artifact("technical_writing", "eval", 0)).tree
    simulator = UserSimulator(tree, engines.judge, LLMVoice(client, MODEL))
    flawed, fine = simulator.step("hello"), simulator.step("hello again")
    assert (flawed.user_message, flawed.flaws, fine.flaws) == (long, ("length",), ())
    again = Turn.from_dict(json.loads(json.dumps(flawed.to_dict())))
    assert again == flawed and "flaws" not in fine.to_dict(), "what is fine is stored as it always was"


def test_no_message_at_all_is_a_voice_error(client: LLMClient, brain: Scripted) -> None:
    brain.says("I'd rather not.")
    with pytest.raises(VoiceError, match=r"the user's message could not be had: .*; it said: I'd rather not\."):
        LLMVoice(client, MODEL).speak(FUZZY, HEARD, seed=0)


@pytest.mark.parametrize("said", ["hm, not yet", ' "hm, not yet" ', "User: hm, not yet", 'user: "hm, not yet"'])
def test_what_stands_around_a_message_is_no_part_of_it(said: str) -> None:
    assert plain(said) == "hm, not yet"


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ("something about who tells it feels off", []),
        ("the narrator is fine, and so is the harbour", []),  # achieved, and said before
        ("i want pilots", ["leak"]),
        (" ".join(["well"] * 41), ["length"]),
        ("first\nsecond", ["markup"]),
        ("# a title", ["markup"]),
        ("i like [1.1] more", ["markup"]),
        ("use <b>bold</b>", ["markup"]),
        ("is 3 < 4 and 5 > 4?", []),
        ("```pilot", ["markup", "leak"]),
        ("could it be told by an ai?", []),
        ("i'm an ai researcher, so keep it short", []),
        ("the user should see the error first", []),
    ],
)
def test_what_is_checked_in_a_message(message: str, kinds: list[str]) -> None:
    assert [flaw.kind for flaw in find_flaws(message, FUZZY, HEARD)] == kinds
    clear = find_flaws(message, replace(FUZZY, pursuing="clear"), HEARD)
    assert [flaw.kind for flaw in clear] == [kind for kind in kinds if kind != "leak"]


LATENT = UserView(
    ("1.1", "3"),
    "latent",
    ("1.2", "1.2.1"),
    {"1.1": "Has a calm narrator", "3": "Ends quietly", "1.2": "The teller is old", "1.2.1": "The teller is a pilot"},
    {"1.1": "calm from line one, see [1.1] and 1.2.1", "1.2.1": "the teller is a cook, not a pilot"},
)


def test_of_what_is_latent_the_voice_is_told_the_category_alone(client: LLMClient, brain: Scripted) -> None:
    brain.says(said("something about who tells it feels off"))
    LLMVoice(client, MODEL).speak(LATENT, HEARD, seed=0)
    prompt = brain.prompt()
    assert "Still wanting (latent):\n- something of the category of [1.1]\n" in prompt
    for secret in ("teller", "pilot", "a cook, not"):
        assert secret not in prompt
    assert "what happened: calm from line one, see and\n" in prompt, "no ids in a reason"


@pytest.mark.parametrize(
    ("achieved", "shown"),
    [
        ((), "- something, of no category that you could name"),
        (("3",), "- something, of no category that you could name"),
        (("1.1", "3"), "- something of the category of [1.1]"),
        (("1.1", "1.2"), "- something of the category of [1.2]"),
    ],
)
def test_the_category_is_that_of_the_nearest_thing_achieved(achieved: tuple[str, ...], shown: str) -> None:
    assert describe_latent(replace(LATENT, achieved=achieved, items=("1.2.1",)), HEARD) == shown


@pytest.mark.parametrize(
    ("category", "heard", "shown"),
    [
        ("narrator", "Here you are.", "- something of the category 'narrator'"),  # known: something achieved says it
        ("point of view", "Here you are.", "- something of the category 'point of view'"),
        ("teller", "Here you are.", "- something of the category of [1.1]"),  # that there is one is hidden
        ("teller", "Who should the teller be?", "- something of the category 'teller'"),  # somebody has said it
    ],
)
def test_the_category_is_the_aspect_that_the_builder_named_unless_that_gives_something_away(
    category: str, heard: str, shown: str
) -> None:
    view = replace(LATENT, category=category)
    assert describe_latent(view, (*TALK, Message("assistant", heard))) == shown


def test_an_aspect_reaches_the_view_of_what_is_latent_and_survives_a_file() -> None:
    below = (Intent("1.1", "A pilot", (), "voice"), Intent("1.2", "A retired pilot", (), "voice"))
    tree = IntentTree("story", "sea", "", (), (Intent("1", "Has a narrator", below),))
    assert IntentTree.from_dict(tree.to_dict()).intents["1.1"].aspect == "voice"
    assert "aspect" not in tree.to_dict()["roots"][0]
    met = dict.fromkeys(("1", "1.1"), Discovery.DISCOVERED)
    view = user_view(tree, IntentState(met, satisfied=frozenset(met)))
    assert (view.pursuing, view.items, view.shared, view.category) == ("latent", ("1.2",), ("1.1",), "voice")
    assert UserView.from_dict(view.to_dict()).category == "voice" and "category" not in LATENT.to_dict()
    assert user_view(tree, IntentState({"1": Discovery.EMERGING})).category == ""
    assert user_view(tree, IntentState({})).category == "", "nothing achieved shares it"


def test_a_dimension_that_nothing_has_touched_has_no_name_for_a_user() -> None:
    subject = Intent("1", "About a boat", (Intent("1.1", "About a ferry", (), "subject"),))
    narrator = Intent("2", "Somebody tells it", (Intent("2.1", "A pilot tells it", (), "narrator"),))
    tree = IntentTree("story", "sea", "", (), (subject, narrator))
    found = dict.fromkeys(("1", "1.1"), Discovery.DISCOVERED)
    view = user_view(tree, IntentState(found, satisfied=frozenset(found)))
    assert (view.pursuing, view.items[0], view.shared, view.category) == ("latent", "2", (), "")
    assert describe_latent(view, TALK) == "- something, of no category that you could name"
    named = replace(view, category="narrator")  # as earlier versions stored it
    assert "narrator" not in describe_latent(named, TALK)

    found |= {"2": Discovery.DISCOVERED}
    touched = user_view(tree, IntentState(found, satisfied=frozenset(found)))
    assert (touched.shared, touched.category) == (("2",), ""), "only what is latent has that name"
    assert describe_latent(touched, TALK) == "- something of the category of [2]"


def test_of_several_names_in_a_tree_only_that_of_something_achieved_is_said() -> None:
    below = (Intent("1.1", "A pilot", (), "voice"), Intent("1.2", "Retired", (), "age"))
    tree = IntentTree("story", "sea", "", (), (Intent("1", "Has a narrator", below),))
    root = IntentState({"1": Discovery.DISCOVERED}, satisfied=frozenset({"1"}))
    assert user_view(tree, root).category == ""
    both = dict.fromkeys(("1", "1.1"), Discovery.DISCOVERED)
    assert user_view(tree, IntentState(both, satisfied=frozenset(both))).category == "voice"


@pytest.mark.parametrize(
    "message",
    [
        "As an AI language model, I cannot role-play as a user.",
        "I'm an AI, so i have no preference",
        "sorry, I can't pretend to be a user",
        "The assistant should offer a darker ending",
    ],
)
def test_a_message_that_breaks_the_role_is_refused(client: LLMClient, brain: Scripted, message: str) -> None:
    voice = LLMVoice(client, MODEL)
    brain.says(said(message), said("maybe darker"))
    assert voice.speak(FUZZY, HEARD, seed=0) == "maybe darker"
    assert "you are the user" in brain.prompt(1, -1)
    brain.says(said(message))
    with pytest.raises(VoiceError, match="the user's message could not be had"):
        voice.speak(FUZZY, HEARD, seed=0)


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("see 1.1", "see"),
        ("[1.2] is half there", "is half there"),
        ("as in 4.2.1, a door", "as in, a door"),
        ("intent 3 asks for it", "asks for it"),
        ("the line is 1.5 wide", "the line is 1.5 wide"),
        ("two of 3 stanzas rhyme", "two of 3 stanzas rhyme"),
    ],
)
def test_ids_are_taken_out_of_a_judges_words_and_numbers_are_not(note: str, words: str) -> None:
    tree = IntentTree("poem", "x", "", (), (Intent("1", "a", (Intent("1.1", "b"),)),))
    view = user_view(
        tree, IntentState(dict.fromkeys(("1", "1.1"), Discovery.DISCOVERED), satisfied=frozenset({"1", "1.1"})), PAPER
    )
    assert without_ids(note, view) == words


# -- assistants ------------------------------------------------------------------------------------------------------


def test_an_assistant_sees_its_system_prompt_and_the_messages(client: LLMClient, brain: Scripted) -> None:
    brain.says("<think>a boat? {no}</think>\n\nHere is a boat. \n")
    asked = (Message("user", "a boat"), Message("assistant", "Small?", notation="ask size ?"), Message("user", "yes"))
    reply = LLMAssistant(client, MODEL, "a", system="Be brief.", temperature=0.2).reply(asked, seed=3)
    assert reply == Reply("Here is a boat.", 5, COUNTING, "a"), "the 7 reported tokens hold the thinking"
    (body,) = brain.asked
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "a boat"},
        {"role": "assistant", "content": "Small?"},
        {"role": "user", "content": "yes"},
    ]
    assert (body["temperature"], body["seed"]) == (0.2, 3)


# -- scorer ----------------------------------------------------------------------------------------------------------


# -- builder ---------------------------------------------------------------------------------------------------------


def test_a_defect_that_stays_is_a_build_error_that_names_the_stage(client: LLMClient, brain: Scripted) -> None:
    item = {"text": "Ends quietly", "aspect": "ending", "evidence": "the last line"}
    brain.says({"topic": "harbour", "description": "quiet", "items": [item, item, item]})
    with pytest.raises(BuildError, match=r"tale, stage synthesis: .*stands twice"):
        LLMBuilder(client, MODEL).build(Artifact("tale", "short story", "Once."))
    assert len(brain.asked) == 2 and "the item 'Ends quietly' stands twice" in brain.prompt(1, -1)


def synthesis(topic: str, *texts: str) -> answers.Synthesis:
    items = [{"text": text, "aspect": "a", "evidence": "e"} for text in texts]
    return answers.Synthesis.model_validate({"topic": topic, "description": "d", "items": items})


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (synthesis("harbour", "Has a pilot", "Set in the north", "Ends quietly"), None),
        (synthesis("a harbour at night", "Has a pilot", "Set north", "Ends quietly"), "one to 3 words"),
        (synthesis("harbour", "Has a pilot", "Ends quietly"), "at least 3"),
        (synthesis("harbour", "Has a pilot", "has a  PILOT.", "Ends quietly"), "'has a  PILOT.' stands twice"),
        (synthesis("harbour", "Has a pilot", "!", "Ends quietly"), "has no words"),
        (synthesis("harbour", "Has a pilot", "long " * 500, "Ends quietly"), "2500 characters"),
    ],
)
def test_defects_of_a_synthesis(answer: answers.Synthesis, complaint: str | None) -> None:
    agree(builder.synthesis_defect(answer), complaint)


@pytest.mark.parametrize(
    ("levels", "complaint"),
    [
        ([["a tabby cat", "red boots"], ["a cat", "boots"], ["an animal"]], None),
        ([["a tabby cat"]], "no broader level"),
        ([["a tabby cat"], []], "level 1 is empty"),
        ([["a tabby cat"], ["a cat", "stripes"]], "cannot be broader"),
        ([["a tabby cat", "boots"], ["A tabby cat!"]], "nothing broader than level 0"),
        ([["a tabby cat", "red boots"], ["a cat", "red boots"], ["an animal", "boots"]], None),  # boots wait a level
        ([["a tabby cat", "red boots"], ["a cat", "A cat."]], "stands twice"),
        ([["a tabby cat"], ["a cat"], ["A short story"]], "says nothing beyond type and topic"),
    ],
)
def test_defects_of_an_abstraction(levels: list[list[str]], complaint: str | None) -> None:
    agree(builder.abstraction_defect(levels, frozenset({"short", "story", "harbour"})), complaint)


@pytest.mark.parametrize(
    ("chosen", "text", "complaint"),
    [
        (["2"], "a short story about a harbour, please", None),
        (["2.1"], "a story", "'2.1' cannot be chosen; choose among 1, 2, 3"),
        ([], "a story", "at least one"),
        (["1", "2", "3"], "a story", "every requirement was chosen"),
        (["2"], "well " * 41, "41 words"),
        (["2"], "a story\nat a harbour", "plain text on one line"),
    ],
)
def test_defects_of_a_first_request(chosen: list[str], text: str, complaint: str | None) -> None:
    answer = answers.InitialRequest(chosen=chosen, request=text)
    agree(builder.request_defect(answer, TREE.roots), complaint)


def test_a_first_request_gives_nothing_away() -> None:
    assert builder.leak_defect(TREE) is None
    told = replace(TREE, initial_request="a story about a harbour with a retired pilot")
    agree(builder.leak_defect(told), "leave out 'pilot', 'retired'")


WISHES = [f"{place} is shown" for place in ("Paris", "Loire", "Rome", "June")]
BROAD = ["about a city", "in some season"]


def hierarchy(**parents: str | None) -> dict[str, Any]:
    first = {"1.1": None, "0.1": "1.1", "0.2": "1.1", "0.3": "1.1", "1.2": None, "0.4": "1.2"}
    changed = {f"0.{name[1:]}": parent for name, parent in parents.items()}
    return {"items": [{"id": key, "parent": parent} for key, parent in (first | changed).items()]}


def verdicts(*holds: bool) -> dict[str, Any]:
    rows = enumerate(holds, start=1)
    return {
        "pairs": [
            {"number": number, "reason": "so", "narrow_implies_broad": each, "broad_implies_narrow": False}
            for number, each in rows
        ]
    }


@pytest.mark.parametrize("obeys", [True, False])
def test_a_denied_edge_is_named_once_and_cut_if_it_stays(client: LLMClient, brain: Scripted, obeys: bool) -> None:
    brain.says(
        {"topic": "journey", "description": "d", "items": [{"text": t, "aspect": "a", "evidence": ""} for t in WISHES]},
        {"levels": [{"items": BROAD}]},
        hierarchy(),
        verdicts(True, False, True, True),
        *([hierarchy(w2="1.2"), verdicts(True)] if obeys else [hierarchy()]),
        {"chosen": ["1"], "request": "a postcard of a journey about a city, please"},
    )
    built = LLMBuilder(client, MODEL, check_paraphrases=False).build(
        Artifact("card", "postcard", "Wish you were here.")
    )
    line = "[0.2] 'Loire is shown' does not imply [1.1] 'about a city' (so)"
    assert f"{line}; so there are 3 trees, [1.1], [0.2], [1.2]: two to five are wanted" in brain.prompt(4, -1)
    roots = [root.text for root in built.tree.roots]
    if obeys:
        assert "1. narrow: Loire is shown\n   broad: in some season" in brain.prompt(5)
        assert "2. narrow" not in brain.prompt(5), "only what is new is asked about"
        assert roots == BROAD and built.notes == ()
    else:
        assert len(brain.asked) == 6 and built.notes == (f"organisation, cut: {line}",)
        assert roots == ["about a city", "Loire is shown", "in some season"]


def agree(found: str | None, complaint: str | None) -> None:
    assert (found is None) if complaint is None else complaint in str(found)
