"""The simulator's page in parts: its cards, the turn being looked at, the story of one intent, replies to compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, IntentState
from discover_lib.core.view import UserView
from discover_lib.views import conversation as show
from discover_lib.views.html import EMPTY, Markup, joined, quiet, tag
from discover_lib.views.transitions import in_words, level_name


def card(title: str, *body: Markup, aside: Markup = EMPTY) -> Markup:
    """A card of the page.  Its title is no heading element: marimo would list it in a floating table of contents."""
    name = tag("span", title, role="heading", aria_level=2)
    return tag("section", tag("div", name, aside, class_="sim-head"), *body, class_="sim-card")


def row(*controls: Markup) -> Markup:
    """Controls next to each other, in as many lines as they need."""
    return tag("div", *controls, class_="sim-row")


def status(
    tree: IntentTree, state: IntentState, turn: Turn | None, last: int, *, playing: bool = False, asking: bool = False
) -> Markup:
    """The turn being looked at of `last`, its reward, and how many intents are in which state."""
    parts = [tag("b", f"Turn {turn.index if turn else 0}") + f" of {last}"]
    parts += [Markup("playing")] if playing else []
    parts += [Markup("asking a language model …")] if asking else []
    if turn and turn.candidate.reward:
        parts.append(Markup("reward ") + tag("b", show.signed(turn.candidate.reward.total)))
    emerging = sum(level is Discovery.EMERGING for level in state.discovery.values())
    parts.append(tag("b", str(len(state.discovered))) + f" of {len(tree)} discovered")
    parts += [Markup(f"{emerging} emerging"), Markup(f"{len(state.satisfied)} satisfied")]
    return Markup(" · ").join(parts)


def intent_story(conversation: Conversation, turns: int, intent_id: str | None) -> Markup:
    """One intent: its state after `turns`, and what happened to it turn by turn until then."""
    tree, state = conversation.tree, conversation.state_after(turns)
    if intent_id is None or intent_id not in tree.intents:
        return quiet("Click an intent to see what happened to it, turn by turn.", small=True)
    known = level_name(state[intent_id]) + (", satisfied" if intent_id in state.satisfied else "")
    about = f"{known}; θ left {show.theta_text(state.thresholds.get(intent_id))}"
    rows = list(_story(conversation.turns[:turns], intent_id))
    rows = rows or [tag("li", "The judge has not been asked about it yet.", class_="dl-quiet")]
    head = (show.intent_id_mark(intent_id), tag("b", tree.text(intent_id)), tag("span", about, class_="dl-quiet"))
    return Markup(" ").join(head) + tag("ul", *rows)


def _story(turns: Iterable[Turn], intent_id: str) -> Iterator[Markup]:
    for turn in turns:
        evaluation = turn.candidate.evaluation
        verdict = evaluation.verdict(intent_id) if evaluation else None
        moves = [in_words(move) for move in turn.candidate.transitions if move.intent_id == intent_id]
        if verdict is None and not moves:
            continue
        change = f" {'; '.join(moves) or 'judged, nothing changed'}. "
        reason = tag("span", verdict.reason, class_="dl-quiet") if verdict else EMPTY
        yield tag("li", tag("b", f"Turn {turn.index}"), change, reason)


def considered(
    tree: IntentTree, rules: Rules, candidates: Sequence[Candidate], buttons: Iterable[Markup], turn: int
) -> Markup:
    """Replies judged as number `turn`, side by side, each with the button that goes on with it."""
    if not candidates:
        return EMPTY
    cards = (
        tag("div", show.candidates(tree, [candidate], rules), button)
        for candidate, button in zip(candidates, buttons, strict=True)
    )
    lead = quiet("All are judged against the same state; nothing has changed yet.")
    return card(f"What each reply would discover as turn {turn}", lead, tag("div", *cards, class_="sim-cards"))


def details(tree: IntentTree, rules: Rules, turn: Turn | None, view: UserView, curve: Markup) -> Markup:
    """Receipt, reasons and the user's view at the turn being looked at, beside the curve of discovery."""
    waiting = tag("p", "No reply has been given yet. Press ", tag("i", "Next"), ".", class_="dl-quiet")
    message = turn.user_message if turn else tree.initial_request
    left = (
        card("Reward receipt", show.receipt(tree, turn, rules) if turn else waiting),
        card("The judge’s reasons", show.judge_reasons(tree, turn.candidate) if turn else waiting),
    )
    right = (
        card("What the user may say now", show.user_view(tree, view, message)),
        card("Discovery, turn by turn", curve),
    )
    return tag(
        "div", *(tag("div", joined(column), class_="sim-column") for column in (left, right)), class_="sim-below"
    )
