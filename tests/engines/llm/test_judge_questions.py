"""What judges were unsure of: the case as the prompt puts it, a careful reader's answer, and what it does to the user.

Each case is also answered the other way, and that answer is read as what it says: the reading adds no opinion.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from discover_lib.base.tokens import COUNTING
from discover_lib.core.advance import advance
from discover_lib.core.conversation import Message, Reply
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, IntentState
from discover_lib.core.view import user_view
from discover_lib.engines.llm.calls.records import Answered, Completion, Request
from discover_lib.engines.llm.judge import LLMJudge, askable, describe_focus
from discover_lib.engines.llm.prompting import PromptSet
from discover_lib.engines.llm.voice import describe_items, without_ids

PAPER = Rules.paper()
U, E, D = Discovery.UNDISCOVERED, Discovery.EMERGING, Discovery.DISCOVERED


@dataclass
class Reader:
    """A client behind which somebody gives one answer."""

    answer: dict[str, Any]
    asked: list[Request] = field(default_factory=list)
    remarks: Counter[str] = field(default_factory=Counter)

    def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        return Completion(json.dumps(self.answer), finish_reason="stop")

    def note(self, answer: Answered) -> None:
        self.remarks.update(answer.remarks)


@dataclass(frozen=True)
class Case:
    """A reply to judge, where the user has found everything but the last intent of the tree."""

    rule: str  # what the prompt says about it
    artifact_type: str
    tree: tuple[str, ...]  # texts from the root down
    reply: str
    kind: str
    careful: tuple[bool, tuple[str, ...]]  # engaged, near misses of the last intent
    after: Discovery
    otherwise: tuple[bool, tuple[str, ...]]
    then: Discovery


CASES = {
    "alternatives narrower than the intent": Case(
        "as specific as the intent: a poodle and a beagle are one near miss",
        "svg drawing",
        ("Shows a small creature", "Shows a small creature with a shell"),
        "Should it be a mouse, a hamster or a mole?",
        "dialogue_act",
        (False, ("a small creature with fur",)),
        U,
        (False, ("a mouse", "a hamster", "a mole")),
        E,
    ),
    "what a sample can show": Case(
        "A two-line sample does not show it; it can show tone, humour and language",
        "poem",
        ("Has a tone of its own", "Is funny in tone"),
        "A: The vicar's goose, in Sunday hat,\nmistook the organist for the cat.",
        "artifact",
        (True, ()),
        D,
        (False, ()),
        U,
    ),
    "what a sample cannot show": Case(
        '"Every", "all", "exactly", "only", and whatever concerns the work as a whole (an ending',
        "poem",
        ("Rhymes", "Every stanza ends on a question"),
        "A: The vicar's goose, in Sunday hat,\nmistook the organist for the cat?",
        "artifact",
        (False, ()),
        U,
        (True, ()),
        D,
    ),
    "a caption": Case(
        'a title, caption or comment within, claims about the content does not count: a shape labelled\n  "snail" must',
        "svg drawing",
        ("Shows an animal", "Shows a snail"),
        '<svg viewBox="0 0 9 9"><title>A snail</title><rect width="9" height="9"/></svg>',
        "artifact",
        (False, ()),
        U,
        (True, ()),
        D,
    ),
    "one intent split over two options": Case(
        "one is enough, but that one must hold all of the intent, not half of it each",
        "poem",
        ("Somebody is overheard", "Gossiping neighbours are overheard"),
        "A: Behind the door I heard them speak ...\nB: The neighbours gossip all the week ...",
        "artifact",
        (False, ("voices behind a door are overheard",)),
        U,
        (True, ()),
        D,
    ),
    "two parts that differ": Case(
        "a near miss has exactly one with another value and meets the others",
        "svg drawing",
        ("The sails are in warm colours", "Two sails, the left one amber"),
        "One sail, all of it red.",
        "artifact",
        (False, ()),
        U,
        (False, ("one sail", "the left one red")),
        E,
    ),
}


def judged(case: Case, answer: tuple[bool, tuple[str, ...]]) -> tuple[Reader, IntentState]:
    """The request that is sent, and the user's state after this answer (θ = 0.3: one near miss is not enough)."""
    inner = Intent("1.1", case.tree[1])
    tree = IntentTree(case.artifact_type, "test", "please", ("1",), (Intent("1", case.tree[0], (inner,)),))
    state = IntentState({"1": D, "1.1": U}, thresholds={"1": 0.3, "1.1": 0.3})
    engaged, near = answer
    intents = [
        {"id": "1", "reason": "it does", "engaged": True, "near_misses": []},
        {"id": "1.1", "reason": "look at it", "engaged": engaged, "near_misses": list(near)},
    ]
    reader = Reader({"kind_reason": "so it is", "kind": case.kind, "intents": intents})
    judge = LLMJudge(reader, "m")  # type: ignore[arg-type]
    evaluation = judge.evaluate(tree, state, [Message("user", "please")], Reply(case.reply, 9, COUNTING), PAPER)
    return reader, advance(tree, state, evaluation, PAPER)[0]


@pytest.mark.parametrize("name", CASES)
def test_a_careful_readers_answer_moves_the_user_as_it_should(name: str) -> None:
    case = CASES[name]
    assert case.rule in PromptSet()["response_evaluation"].parts[0][1]
    reader, state = judged(case, case.careful)
    (request,) = reader.asked
    prompt = str(request.messages[1]["content"])
    assert case.reply in prompt and f"  - [1.1] (undiscovered) {case.tree[1]}" in prompt
    assert f"Type of artifact: {case.artifact_type}" in prompt
    assert state["1.1"] is case.after and not reader.remarks["contradicted"]
    assert ("1.1" in state.satisfied) == (case.after is D and case.kind == "artifact")


@pytest.mark.parametrize("name", CASES)
def test_the_opposite_answer_is_read_as_the_opposite(name: str) -> None:
    case = CASES[name]
    _, state = judged(case, case.otherwise)
    assert state["1.1"] is case.then is not case.after


def test_every_status_that_an_intent_is_shown_with_is_explained() -> None:
    tree = IntentTree("poem", "x", "", (), (Intent("1", "a", (Intent("1.1", "b", (Intent("1.1.1", "c"),)),)),))
    state = IntentState({"1": D, "1.1": E, "1.1.1": U}, thresholds=dict.fromkeys(tree.intents, 0.3))
    shown = describe_focus(tree, state, PAPER, askable(tree, state, PAPER))
    prompt = PromptSet()["response_evaluation"].parts[0][1]
    for status in re.findall(r"\((\w+)\)", shown):
        assert f'"{status}"' in prompt


def test_a_contradiction_is_counted_and_reaches_the_voice_without_ids() -> None:
    """The parent missed, its child met: the child implies the parent, and the user is told no ids."""
    tree = IntentTree("poem", "gossip", "", (), (Intent("1", "Has a listener", (Intent("1.1", "She listens"),)),))
    state = IntentState({"1": U, "1.1": U}, thresholds={"1": 0.9, "1.1": 0.9})
    intents = [
        {"id": "1", "reason": "nobody, see 1.1", "engaged": False, "near_misses": ["a writer"]},
        {"id": "1.1", "reason": "as [1] and intent 1.1 ask, she bends to the door (1.1)", "engaged": True},
    ]
    reader = Reader({"kind_reason": "verse", "kind": "artifact", "intents": intents})
    judge = LLMJudge(reader, "m")  # type: ignore[arg-type]
    evaluation = judge.evaluate(tree, state, [], Reply("She bends.", 3, COUNTING), PAPER)
    assert reader.remarks["contradicted"] == 1
    after, transitions = advance(tree, state, evaluation, PAPER)
    assert after["1"] is D and after["1.1"] is D and after.satisfied == {"1", "1.1"}
    reasons = {each.intent_id: each.reason for each in evaluation.verdicts}
    assert reasons["1"].startswith("met with something more specific")
    view = user_view(tree, after, PAPER, reasons, transitions)
    told = describe_items(view.achieved, view)
    assert told.splitlines()[0] == "- [1.1] She listens"
    assert not any(mark in told.split("what happened: ")[1] for mark in ("1.1", "[1]", "intent"))


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
    view = user_view(tree, IntentState({"1": D, "1.1": D}, satisfied=frozenset({"1", "1.1"})), PAPER)
    assert without_ids(note, view) == words
