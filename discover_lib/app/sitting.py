"""What the simulator's page says and offers of a session: its menus, how a turn stands, the story of one intent."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from discover_lib.app import controls
from discover_lib.app.session import Session
from discover_lib.app.sources import (
    SessionError,
    Settings,
    assistant_names,
    built_trees,
    miniature_artifacts,
    recorded_choices,
)
from discover_lib.engines.spec import MINIATURE
from discover_lib.views import conversation as show
from discover_lib.views.transitions import in_words

if TYPE_CHECKING:
    from discover_lib.app.controls import Choice

SOURCES = {"Miniature, simulated live": "miniature", "Recorded with a large model": "recorded"}
AS_RECORDED = "as recorded"
V = TypeVar("V")
Menu = tuple[dict[str, str], str]  # label → value, and the label to begin with


def label_of(labels: Mapping[str, V], value: V) -> str:
    """The label in a menu that stands for `value`."""
    return next(label for label, known in labels.items() if known == value)


def opened(session_id: str | None) -> tuple[Session | None, str]:
    """The session of this id, or a new one, and what went wrong; None where not even a new one could be started."""
    trouble = ""
    try:
        if session_id:
            return Session.load(session_id), ""
    except SessionError as error:
        trouble = str(error)
    try:
        return Session(Settings(artifact=next(iter(miniature_artifacts("svg_drawing").values())))), trouble
    except SessionError as error:
        return None, str(error)


def asks_a_model(session: Session, action: Callable[..., object]) -> bool:
    """Whether a language model will be waited for."""
    steps = (session.next, session.reply, session.candidates, session.take, session.fork)
    known = action == session.next and not session.at_end
    return bool(session.settings.models) and action in steps and not known


# -- menus -------------------------------------------------------------------------------------------------------------


def sources(session: Session) -> Menu:
    """Where users come from; trees built here only where there are some."""
    labels = dict(SOURCES)
    if built_trees() or session.settings.source == "trees":
        labels["Trees built here"] = "trees"
    return labels, label_of(labels, session.settings.source)


def domains(session: Session, source: str) -> Menu:
    """Domains of a source; of recordings only those that there is one of."""
    labels, used = controls.domain_labels(), session.settings.domain
    if source == "recorded":
        recorded = {entry.domain for entry in recorded_choices()}
        labels = {label: name for label, name in labels.items() if name in recorded}
    return labels, label_of(labels, used) if used in labels.values() else next(iter(labels))


def artifacts(session: Session, source: str, domain: str) -> Menu:
    """Artifacts of a source and domain; the one in use is always among its own."""
    if source == "recorded":
        labels = {entry.title: entry.artifact_id for entry in recorded_choices() if entry.domain == domain}
    elif source == "trees":
        labels = {name.replace("_", " ").replace("-", " "): name for name in built_trees()}
    else:
        labels = miniature_artifacts(domain)
    used = session.settings
    if (used.source, used.domain) != (source, domain):
        return labels, next(iter(labels))
    if used.artifact not in labels.values():
        labels[used.artifact] = used.artifact
    return labels, label_of(labels, used.artifact)


def assistants(session: Session, chosen: str | None, live: bool) -> tuple[list[str], str]:
    """Who can answer, and who does: a model that was just chosen, else the one before."""
    if not live:
        return [AS_RECORDED], AS_RECORDED
    names = [*assistant_names(), *([chosen] if chosen else [])]
    used = session.settings.assistant
    return names, chosen or (used if used in names else names[0])


def compared(session: Session) -> list[str]:
    """Whose replies to compare at one moment: with a judge that costs, only a few."""
    used = session.settings
    if used.judge == MINIATURE:
        return list(dict.fromkeys([*assistant_names(), used.assistant]))
    return list(dict.fromkeys([used.assistant, "draft", "ask", "options"]))


# -- who plays ---------------------------------------------------------------------------------------------------------


def players(session: Session) -> Choice:
    """Who plays in this session, as a choice."""
    used = session.settings
    return controls.Choice(
        judge=used.judge,
        voice=used.voice,
        assistant=None if used.assistant in assistant_names() else used.assistant,
        api_base=used.api_base,
        key_variable=used.key_variable,
    )


def who_plays(session: Session) -> str:
    used = session.settings
    if used.source == "recorded":
        return AS_RECORDED
    user = f"judge and voice {used.judge}"
    if used.judge != used.voice:
        user = f"judge {used.judge}, voice {used.voice}"
    return f"{user}, assistant {used.assistant}"


def plan(session: Session, choice: Choice) -> str:
    """What a whole conversation will take, where a language model takes part."""
    if not session.settings.models:
        return '<p class="dl-quiet">No language model takes part: nothing is asked, nothing is spent.</p>'
    conversation, used = session.conversation, session.settings
    domain = conversation.setting.get("domain", "")
    forecast = controls.conversation_plan(session.tree, domain, conversation.rules, used.turns, choice, used.assistant)
    return controls.plan_table(
        forecast.stages, f"A conversation of {used.turns} turns, before it begins; expected (low to high)"
    )


# -- where it stands ---------------------------------------------------------------------------------------------------


def status(session: Session, *, playing: bool, asking: bool) -> str:
    """The turn being looked at, its reward, and how many intents are in which state."""
    turn, state, tree = session.turn, session.state, session.tree
    last = max(session.settings.turns, len(session.conversation.turns))
    parts = [f"<b>Turn {session.cursor}</b> of {last}"]
    parts += ["playing"] if playing else []
    parts += ["asking a language model …"] if asking else []
    if turn and turn.candidate.reward:
        parts.append(f"reward <b>{show.signed(turn.candidate.reward.total)}</b>")
    parts.append(f"<b>{len(state.discovered)}</b> of {len(tree)} discovered")
    emerging = sum(level == 1 for level in state.discovery.values())
    return " · ".join([*parts, f"{emerging} emerging", f"{len(state.satisfied)} satisfied"])


def rules_line(session: Session) -> str:
    """The rules in force, who plays, and what has been spent."""
    rules, used = session.conversation.rules, session.settings
    about = f"{rules.name} rules: p = {rules.p:g}, τ = {rules.tau:g} {rules.token_unit}, λ = {rules.lam:g}"
    if used.source == "recorded":
        return f"{about}. {session.conversation.setting.get('note', '')}."
    if used.models:
        spent = session.calls.line
        who = f"judge: {used.judge}, voice: {used.voice}, assistant: {used.assistant}"
        return f"{about}; seed {used.seed}. {who}. {spent}{'.' if spent else ''}"
    return (
        f"{about}; seed {used.seed}. Miniature: a small world of its own, no language model; every number is computed."
    )


def message(session: Session, trouble: str) -> str:
    """What went wrong, or why there is no next turn; "" where neither holds."""
    line = trouble or session.why_no_next
    if not line:
        return ""
    line = f"{line[0].upper()}{line[1:]}."
    return show.error_line(line) if trouble else f'<p class="dl-quiet">{html.escape(line)}</p>'


def intent_story(session: Session, intent_id: str | None) -> str:
    """One intent: its state now, and what happened to it turn by turn up to the one being looked at."""
    if intent_id is None or intent_id not in session.tree.intents:
        return '<p class="dl-quiet dl-small">Click an intent to see what happened to it, turn by turn.</p>'
    text, state = html.escape(session.tree.text(intent_id)), session.state
    known = state[intent_id].name.lower() + (", satisfied" if intent_id in state.satisfied else "")
    about = f'<span class="dl-quiet">{known}; θ left {show.theta_text(state.thresholds.get(intent_id))}</span>'
    rows = "".join(_turns_of(session, intent_id))
    rows = rows or '<li class="dl-quiet">The judge has not been asked about it yet.</li>'
    return f'<span class="dl-id">{intent_id}</span> <b>{text}</b> {about}<ul>{rows}</ul>'


def _turns_of(session: Session, intent_id: str) -> list[str]:
    rows = []
    for turn in session.conversation.turns[: session.cursor]:
        evaluation = turn.candidate.evaluation
        verdict = evaluation.verdict(intent_id) if evaluation else None
        moves = [in_words(move) for move in turn.candidate.transitions if move.intent_id == intent_id]
        if verdict is None and not moves:
            continue
        reason = f' <span class="dl-quiet">{html.escape(verdict.reason)}</span>' if verdict else ""
        rows.append(f"<li><b>Turn {turn.index}</b> {'; '.join(moves) or 'judged, nothing changed'}.{reason}</li>")
    return rows


# -- the page's cards --------------------------------------------------------------------------------------------------


def card(title: str, body: str, aside: str = "") -> str:
    """A card of the page.  Its title is no heading element: marimo would list it in a floating table of contents."""
    head = f'<div class="sim-head"><span role="heading" aria-level="2">{title}</span>{aside}</div>'
    return f'<section class="sim-card">{head}{body}</section>'


def considered(session: Session, buttons: Iterable[Any]) -> str:
    """The replies judged at this moment, side by side, each with the button that goes on with it."""
    if not session.considered:
        return ""
    rules = session.conversation.rules
    cards = "".join(
        f"<div>{show.candidates(session.tree, [candidate], rules)}{button}</div>"
        for candidate, button in zip(session.considered, buttons, strict=True)
    )
    lead = '<p class="dl-quiet">All are judged against the same state; nothing has changed yet.</p>'
    title = f"What each reply would discover as turn {session.cursor + 1}"
    return card(title, f'{lead}<div class="sim-cards">{cards}</div>')


def details(session: Session, curve: str) -> str:
    """Receipt, reasons and the user's view at the turn being looked at, beside the curve of discovery."""
    turn, tree, rules = session.turn, session.tree, session.conversation.rules
    waiting = '<p class="dl-quiet">No reply has been given yet. Press <i>Next</i>.</p>'
    message = turn.user_message if turn else tree.initial_request
    left = [
        card("Reward receipt", show.receipt(tree, turn, rules) if turn else waiting),
        card("The judge’s reasons", show.judge_reasons(tree, turn.candidate) if turn else waiting),
    ]
    right = [
        card("What the user may say now", show.user_view(tree, session.view, message)),
        card("Discovery, turn by turn", curve),
    ]
    columns = "".join(f'<div class="sim-column">{"".join(column)}</div>' for column in (left, right))
    rules_html = html.escape(rules_line(session))
    return f'<div class="sim-below">{columns}</div><p class="dl-quiet dl-small">{rules_html}</p>'
