"""What a reply met although nothing moved: the reading of a reply against all intents, not only those in focus.

Only the tree that the user is thinking about can form, so a reply may meet a wish and earn nothing.  `touched` says
which wishes, and why they did not count.  The miniature's judge reads the reply for the whole tree; a language model
was asked about the tree in focus alone, and then `complete` is False.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from discover_lib.core.conversation import Conversation, Turn
from discover_lib.core.roles import JudgeError
from discover_lib.core.state import Discovery, Evaluation, Transition, Verdict
from discover_lib.engines.miniature.judge import MiniatureJudge, judge_intent, requirement
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
from discover_lib.engines.miniature.reading import read_reply
from workbench.views.located import Evidence, evidence

Why = Literal["elsewhere", "waits", "asked", "repeated"]


@dataclass(frozen=True)
class Touch:
    """An intent that a reply met, or nearly met, without moving it.

    Attributes:
        met: the reply meets it; False: it shows another value of the same kind.
        why: "elsewhere", its tree is not in focus; "waits", the broader intent above it has yet to form; "asked", it is
            known already and only a piece can satisfy it; "repeated", it is satisfied already.
    """

    intent_id: str
    met: bool
    why: Why
    reason: str
    place: Evidence


@dataclass(frozen=True)
class Touched:
    """All that a reply touched without moving it; `complete` if the reply was read against every intent."""

    touches: tuple[Touch, ...]
    complete: bool


def read_by_miniature(conversation: Conversation) -> bool:
    """Whether the miniature judged all of a conversation, so that its reading can be repeated."""
    judge, _, later = str(conversation.setting.get("engine", "")).partition(";")
    return judge.split(",")[0] in ("miniature", "miniature (judge)") and not later and _domain(conversation) is not None


def touched(conversation: Conversation, turn: Turn) -> Touched:
    """What the reply of `turn` touched without moving it, in the order of the tree."""
    reading = _reading(conversation, turn) if read_by_miniature(conversation) else None
    judged = reading or turn.candidate.evaluation
    if judged is None:
        return Touched((), False)
    moved = {each.intent_id for each in turn.candidate.transitions}
    read = dataclasses.replace(turn.candidate, evaluation=judged)
    turn_read = dataclasses.replace(turn, candidates=(read,), chosen=0)
    touches = []
    for verdict in sorted(judged.verdicts, key=lambda each: list(conversation.tree.intents).index(each.intent_id)):
        why = _why(conversation, turn, verdict)
        if why is None or verdict.intent_id in moved:
            continue
        level = turn.before[verdict.intent_id]
        place = evidence(conversation, turn_read, Transition(verdict.intent_id, level, level, "direct"))
        touches.append(Touch(verdict.intent_id, verdict.engaged, why, verdict.reason, place))
    return Touched(tuple(touches), reading is not None)


def aspect_of(conversation: Conversation, intent_id: str) -> str:
    """What an intent is about in everyday words ("the canvas"); "" where the miniature does not know it."""
    domain = _domain(conversation)
    if domain is None:
        return ""
    from discover_lib.engines.miniature.lexicon import load_lexicon

    lexicon = load_lexicon(domain)
    try:
        needed = requirement(conversation.tree.text(intent_id), domain)
    except JudgeError:
        return ""
    return lexicon.dimensions[lexicon.values[needed[0]].dimension].aspect


def _domain(conversation: Conversation) -> str | None:
    domain = conversation.setting.get("domain")
    return str(domain) if domain in ALL_DOMAINS else None


def _reading(conversation: Conversation, turn: Turn) -> Evaluation | None:
    """The reply read against every intent; None for a tree with an intent that the miniature cannot read."""
    domain = _domain(conversation)
    assert domain is not None
    lexicon, reading = MiniatureJudge(domain).lexicon, read_reply(turn.reply.text, domain)

    def verdicts() -> Iterator[Verdict]:
        for intent in conversation.tree.intents.values():
            yield judge_intent(intent, requirement(intent.text, domain), reading.options, lexicon)

    try:
        return Evaluation(reading.kind, tuple(verdicts()), reading.kind_reason)
    except JudgeError:
        return None


def _why(conversation: Conversation, turn: Turn, verdict: Verdict) -> Why | None:
    """Why a verdict moved nothing; None where it met nothing, or only came near what is known."""
    tree, before, after = conversation.tree, turn.before, turn.after
    key = verdict.intent_id
    if not verdict.engaged and not verdict.near_misses:
        return None
    if before[key] is Discovery.DISCOVERED:
        if not verdict.engaged:
            return None
        return "repeated" if key in before.satisfied else "asked"
    if tree.root_of[key] not in turn.focus:
        return "elsewhere"
    parent = tree.parents[key]
    return "waits" if parent is not None and after[parent] is not Discovery.DISCOVERED else None
