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
from workbench.views.located import Evidence, finding, found_by_one, marked_reply, parting
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
    """At which turn the two part, and what did it, in words."""
    turn = parting(ours.conversation, theirs.conversation)
    if turn is None:
        return tag("p", "After every turn the same intents are discovered or emerging with both.", class_="ds-parting")
    lead = (
        "They differ from the first reply."
        if turn == 1
        else f"They are the same until turn {turn - 1} and differ in turn {turn}."
    )
    moved = (tag("span", " ", side.title, f" {_moved(side.conversation, turn)}.") for side in (ours, theirs))
    return tag("p", tag("b", lead), *moved, class_="ds-parting")


def unequal(ours: Side, theirs: Side) -> Markup:
    """A line where one of the two has more turns than the other."""
    counts = [(side, len(side.conversation.turns)) for side in (ours, theirs)]
    if counts[0][1] == counts[1][1]:
        return EMPTY
    told = "; ".join(f"{side.name}: {count} turns" for side, count in counts)
    return tag("p", f"They have unequal numbers of turns. {told}.", class_="ds-parting")


def _moved(conversation: Conversation, turn: int) -> str:
    """Which intents a reply moved, in a few words."""
    if turn > len(conversation.turns):
        return "had ended already"
    moves = [each for each in conversation.turns[turn - 1].candidate.transitions if each.moved]
    if not moves:
        return "moved nothing"
    texts = [f"“{conversation.tree.text(each.intent_id)}”" for each in moves[:3]]
    rest = f" and {len(moves) - 3} more" if len(moves) > 3 else ""
    return f"moved {', '.join(texts)}{rest}"


def turns_beside(ours: Side, theirs: Side) -> Markup:
    """Both conversations turn by turn, the first turn at which they part marked, and the evidence of what only one
    found highlighted where it was said.
    """
    apart = parting(ours.conversation, theirs.conversation)
    only = found_by_one(ours.conversation, theirs.conversation)
    evidence = [
        [each for key in intents if (each := finding(side.conversation, key)) is not None]
        for side, intents in zip((ours, theirs), only, strict=True)
    ]
    longest = max(len(ours.conversation.turns), len(theirs.conversation.turns))
    pairs = [
        (number, number == apart, [_column(*each, number) for each in zip((ours, theirs), evidence, strict=True)])
        for number in range(1, longest + 1)
    ]
    return show.part("turns_beside", ours.conversation.tree.initial_request, pairs)


def _column(side: Side, evidence: Sequence[Evidence], number: int) -> dict[str, Any]:
    """One turn of one side; without a turn where the conversation had ended."""
    if number > len(side.conversation.turns):
        return {"title": side.title, "turn": None}
    turn, here = side.conversation.turns[number - 1], [each for each in evidence if each.turn == number]
    texts = {each.transition.intent_id: side.conversation.tree.text(each.transition.intent_id) for each in here}
    reply = marked_reply(turn, here, texts)
    return {"title": side.title, "turn": turn, "reply": reply, "answer": show.user_message(turn)}
