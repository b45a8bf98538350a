"""Conversations of people as runs: the final text gives a tree, and every reply is scored against it afterwards.

People's intents cannot be observed.  The score measures which reply first showed a part of the final text, and each
conversation has a note about this (`setting["note"]`).  An intent that the participant names before any reply shows it
counts as known from the start, and no reply is credited with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from discover_lib.base import VERSION
from discover_lib.base.seeds import derive_seed
from discover_lib.core.advance import finished, focus, initial_state
from discover_lib.core.conversation import Artifact, Candidate, Conversation, Message, Reply, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import BuildError, Judge, JudgeError, RoleError
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import as_reply, score_candidate
from discover_lib.core.state import IntentState
from discover_lib.core.view import user_view
from discover_lib.dataset.formats import keep_run
from discover_lib.engines.spec import RoleEngines
from discover_lib.metrics.scores import Assessment

PEOPLE = "people"  # the voice, in the configuration and the setting
T = TypeVar("T")
NOTE = "a person's conversation: the tree was built from the finished text, and every reply was scored afterwards"


@dataclass(frozen=True)
class Chat:
    """A conversation of a participant with an assistant, and its final text.

    Attributes:
        replies: in order; each answers the message of the same place.
        text: the final artifact.
        more: further plain values for the record.
    """

    id: str
    assistant: str
    messages: tuple[str, ...]
    replies: tuple[Reply, ...]
    text: str
    artifact_type: str
    domain: str = ""
    topic: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)


def scored_afterwards(chat: Chat, engines: RoleEngines, rules: Rules | None = None, seed: int = 0) -> Conversation:
    """The conversation with a tree of its final text, and every reply judged against it.

    Raises:
        BuildError: no tree can be built from the text.
        ValueError: messages and replies do not alternate.
    """
    if not chat.replies or len(chat.messages) != len(chat.replies):
        raise ValueError(f"{chat.id}: {len(chat.messages)} messages and {len(chat.replies)} replies do not alternate")
    rules, judge = rules or Rules.paper(), engines.judge(chat.domain)
    built = engines.builder(chat.domain).build(
        Artifact(chat.id, chat.artifact_type, chat.text, chat.topic, chat.domain)
    )
    tree = dataclasses.replace(built.tree, initial_request=chat.messages[0], initially_discovered=())
    tree = dataclasses.replace(tree, initially_discovered=_brought(tree, judge, chat, rules))
    setting = {
        **chat.more,
        "engine": PEOPLE,
        "domain": chat.domain,
        "artifact": chat.id,
        "assistants": [chat.assistant],
        "trial": 0,
        "note": NOTE,
    }
    own_seed = derive_seed(seed, chat.id)
    start = initial_state(tree, rules, own_seed)
    turns = _turns(tree, start, judge, chat, rules)
    stop = finished(tree, turns[-1].after, rules) or "max_turns"
    return Conversation(tree, rules, own_seed, start, turns, stop, setting)


def _turns(tree: IntentTree, start: IntentState, judge: Judge, chat: Chat, rules: Rules) -> tuple[Turn, ...]:
    state, before, turns = start, [Message("user", chat.messages[0])], []
    answers = (*chat.messages[1:], None)
    for index, (reply, answer) in enumerate(zip(chat.replies, answers, strict=True), 1):
        reply = dataclasses.replace(reply, assistant=chat.assistant)
        try:
            evaluation = judge.evaluate(tree, state, tuple(before), reply, rules)
            candidate = score_candidate(tree, state, reply, evaluation, rules)
        except JudgeError as error:
            candidate = Candidate(reply, None, state, error=f"judge: {error}")
        view = user_view(tree, candidate.after, rules, {}, candidate.transitions)
        turns.append(Turn(index, state, (candidate,), 0, focus(tree, state, rules), view, answer))
        state = candidate.after
        before += turns[-1].messages
    return tuple(turns)


def _brought(tree: IntentTree, judge: Judge, chat: Chat, rules: Rules) -> tuple[str, ...]:
    """Intents that the participant named before any reply touched them, parents first."""
    own: set[str] = set()
    shown: set[str] = set()
    for message, reply in zip(chat.messages, chat.replies, strict=True):
        own |= _touched(tree, judge, as_reply(message), rules) - shown
        shown |= _touched(tree, judge, reply, rules)
    parents = (intent_id.split(".")[:depth] for intent_id in own for depth in range(1, intent_id.count(".") + 2))
    with_parents = {".".join(parts) for parts in parents}
    return tuple(intent_id for intent_id in tree.intents if intent_id in with_parents)


def _touched(tree: IntentTree, judge: Judge, reply: Reply, rules: Rules) -> set[str]:
    """What a text shows or names of any of the trees, one after the other as a judge is shown them."""
    touched: set[str] = set()
    for root in tree.roots:
        alone = dataclasses.replace(tree, roots=(root,), initially_discovered=())
        try:
            evaluation = judge.evaluate(alone, initial_state(alone, rules), (), reply, rules)
        except JudgeError:
            continue
        touched |= {verdict.intent_id for verdict in evaluation.verdicts if verdict.engaged}
    return touched


@dataclass(frozen=True)
class Written:
    """What became of chats: how many are conversations of the run, and why the others are not."""

    conversations: int
    without_tree: Mapping[str, str]  # chat id → what the builder said


def write_people(
    folder: Path,
    chats: Sequence[Chat],
    engines: RoleEngines,
    *,
    name: str,
    judge: str,
    rules: Rules | None = None,
    seed: int = 0,
) -> Written:
    """Write chats as an evaluation in a new folder: it opens wherever a simulated one does.

    Satisfaction is left unscored: the tree is made of the finished text, which satisfies it by construction.

    Raises:
        StoreError: the folder holds something else.
    """
    rules = rules or Rules.paper()
    conversations, without = [], {}
    for chat in chats:
        try:
            conversations.append(scored_afterwards(chat, engines, rules, seed))
        except BuildError as error:
            without[chat.id] = str(error)
    configuration = _configuration(conversations, name, judge, rules, seed)
    keep_run(folder, conversations, configuration, [_assessed(each, engines) for each in conversations])
    return Written(len(conversations), without)


def _assessed(conversation: Conversation, engines: RoleEngines) -> Assessment:
    scorer = engines.scorer(conversation.setting["domain"])
    interactivity, behaviour = _or_none(scorer.interactivity, conversation), _or_none(scorer.behaviour, conversation)
    return Assessment(scorer.name, interactivity=interactivity, behaviour=behaviour)


def _or_none(score: Callable[[Conversation], T], conversation: Conversation) -> T | None:
    try:
        return score(conversation)
    except RoleError:
        return None


def _configuration(
    conversations: Sequence[Conversation], name: str, judge: str, rules: Rules, seed: int
) -> dict[str, Any]:
    domains = sorted({each.setting["domain"] for each in conversations})
    return {
        "code_version": VERSION,
        "kind": "evaluate",
        "people": name,
        "domain": ", ".join(domains),
        "engine": {"judge": judge, "voice": PEOPLE},
        "assistants": sorted({each.setting["assistants"][0] for each in conversations}),
        "trials": 1,
        "turns": max((len(each.turns) for each in conversations), default=0),
        "seed": seed,
        "rules": rules.to_dict(),
    }
