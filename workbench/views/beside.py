"""HTML fragments for what stands behind a score: how one conversation was scored, and two with the same user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discover_lib.core.conversation import Conversation
from discover_lib.metrics.satisfaction import SATISFIED, LeafScore
from discover_lib.metrics.scores import Assessment
from workbench.views import conversation_parts as show
from workbench.views.html import EMPTY, Markup, joined, quiet, tag
from workbench.views.located import Evidence, finding, found_by_one, last_draft, marked_reply, parting
from workbench.views.theme import Look, named

# -- one conversation -------------------------------------------------------------------------------------------------


def assessed(conversation: Conversation, assessment: Assessment | None) -> Markup:
    """How the finished piece and the way to it were scored, with reasons; what is unscored says so."""
    if assessment is None:
        return show.panel("Scores", quiet("Not assessed yet."))
    failures = (show.error_line(f"{each.part} is unscored: {each.message}") for each in assessment.failures)
    manner = []
    if assessment.interactivity is not None:
        rated = assessment.interactivity
        score = tag("b", f"Interactivity {rated.score:.2f}")
        manner.append(tag("p", score, f" ({rated.rating:.2f} of 1 to 3). {rated.reason}"))
    if assessment.behaviour is not None:
        rows = [(str(each.turn), each.behaviour or "neither", each.reason) for each in assessment.behaviour]
        manner.append(show.table(("turn", "is", "because"), rows))
    final = conversation.final
    made = quiet("None.") if final is None else show.rich_text(final.reply.text)
    satisfaction = show.panel("Is it what the user wanted?", _leaves(conversation, assessment.satisfaction))
    return joined(
        [
            *failures,
            show.beside(
                show.panel("The final artifact", tag("div", made, class_="dl-prose", style="max-height:none")),
                satisfaction + show.panel("The conversation", *manner),
            ),
            quiet(f"Scored by: {assessment.scorer}."),
        ]
    )


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
    request = show.rich_text(ours.conversation.tree.initial_request)
    parts = [show.bubble("user", request, more_classes="ds-request")]
    for number in range(1, longest + 1):
        if number == apart:
            parts.append(tag("div", tag("span", "here they part"), class_="ds-apart", data_turn=number))
        columns = (
            _column(side, number, [each for each in its if each.turn == number])
            for side, its in zip((ours, theirs), evidence, strict=True)
        )
        parts.append(tag("div", *columns, class_="ds-pair", data_turn=number))
    return tag("div", *parts, class_="ds-beside")


def _column(side: Side, number: int, evidence: Sequence[Evidence]) -> Markup:
    if number > len(side.conversation.turns):
        return tag("div", tag("p", side.title, " had ended.", class_="dl-quiet"), class_="ds-column")
    turn = side.conversation.turns[number - 1]
    worth = turn.candidate.reward
    reward = tag("span", f"reward {show.signed(worth.total)}", class_="dl-num") if worth else EMPTY
    texts = {each.transition.intent_id: side.conversation.tree.text(each.transition.intent_id) for each in evidence}
    reply = show.bubble("assistant", marked_reply(turn, evidence, texts, last_draft(side.conversation, turn)))
    answer = EMPTY if turn.user_message is None else show.bubble("user", show.user_message(turn))
    head = tag("div", tag("span", f"Turn {number}"), side.title, reward, class_="dl-turn")
    return tag("div", head, reply, answer, class_="ds-column")
