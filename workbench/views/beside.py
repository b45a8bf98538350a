"""HTML fragments for what stands behind a score: how one conversation was scored, and two with the same user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discover_lib.core.conversation import Conversation
from discover_lib.metrics.satisfaction import SATISFIED, LeafScore
from discover_lib.metrics.scores import Assessment
from workbench.views import conversation_parts as show
from workbench.views.html import EMPTY, Markup, quiet, tag
from workbench.views.located import parting
from workbench.views.theme import Look, named

# -- one conversation -------------------------------------------------------------------------------------------------


def assessed(conversation: Conversation, assessment: Assessment | None) -> Markup:
    """How the finished piece and the way to it were scored, with reasons; what is unscored says so."""
    if assessment is None:
        return show.panel("Scores", quiet("Not assessed yet."))
    manner = EMPTY
    if assessment.behaviour is not None:
        rows = [(str(each.turn), each.behaviour or "neither", each.reason) for each in assessment.behaviour]
        manner = show.table(("turn", "is", "because"), rows)
    final = conversation.final
    made = quiet("None.") if final is None else show.rich_text(final.reply.text)
    return show.part("assessed", assessment, made, _leaves(conversation, assessment.satisfaction), manner)


def _leaves(conversation: Conversation, scores: Sequence[LeafScore] | None) -> Markup:
    if scores is None:
        return quiet("Satisfaction is unscored.")
    satisfied = sum(each.satisfied for each in scores)
    rows = [
        (f"{'✓' if each.satisfied else '·'} {each.score}", conversation.tree.text(each.intent_id), each.reason)
        for each in scores
    ]
    caption = f"{satisfied} of {len(scores)} most specific intents scored {SATISFIED} or 5"
    return show.table(("score", "intent", "because"), rows, caption)


# -- two with the same user -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One of two conversations with the same user."""

    name: str
    look: Look | None
    conversation: Conversation

    @property
    def title(self) -> Markup:
        return named(self.name, self.look)


def parted(ours: Side, theirs: Side) -> Markup:
    """At which turn the two part, in words."""
    turn = parting(ours.conversation, theirs.conversation)
    line = (
        "After every turn the same intents are discovered or emerging with both."
        if turn is None
        else "They differ from the first reply."
        if turn == 1
        else f"They are the same until turn {turn - 1} and differ in turn {turn}."
    )
    return tag("p", line, class_="ds-parting")


def turns_beside(ours: Side, theirs: Side) -> Markup:
    """Both conversations turn by turn, the first turn at which they part marked."""
    apart = parting(ours.conversation, theirs.conversation)
    longest = max(len(ours.conversation.turns), len(theirs.conversation.turns))
    pairs = [
        (number, number == apart, [_column(side, number) for side in (ours, theirs)])
        for number in range(1, longest + 1)
    ]
    return show.part("turns_beside", ours.conversation.tree.initial_request, pairs)


def _column(side: Side, number: int) -> dict[str, Any]:
    """One turn of one side; without a turn where the conversation had ended."""
    if number > len(side.conversation.turns):
        return {"title": side.title, "turn": None}
    turn = side.conversation.turns[number - 1]
    return {"title": side.title, "turn": turn, "answer": show.user_message(turn)}
