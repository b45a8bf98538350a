"""The simulator's page: the session it opens on, the menus that a session offers, who plays, and at what price."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discover_lib.core.rules import NAMED_RULES
from discover_lib.engines.miniature.assistants import POOL, SCRIPTED, about
from discover_lib.engines.spec import MINIATURE
from workbench import controls
from workbench.session import Session
from workbench.sources import (
    SessionError,
    Settings,
    assistant_names,
    built_trees,
    miniature_artifacts,
    recorded_choices,
)
from workbench.views.html import Markup, quiet

if TYPE_CHECKING:
    from workbench.controls import Choice

SOURCES = {"Miniature, simulated live": "miniature", "Recorded with a large model": "recorded"}
AS_RECORDED = "as recorded"
ABOUT = {  # a line about each assistant, where it is chosen
    **{name: about(name) for name in SCRIPTED},
    AS_RECORDED: "Replies that a large model wrote when this was recorded.",
}
ABOUT_RULES = {
    "paper": "The paper’s: one tree in focus, each new discovery is worth 1.",
    "paper, GRPO": "The paper’s with 500 free tokens, as in its GRPO runs.",
    "authors": "The released code: emerging intents pay ½, focus follows what is unsatisfied.",
}
V = TypeVar("V")
Menu = tuple[dict[str, str], str]  # label → value, and the label to begin with


def introduction() -> str:
    """The page's title and question, as HTML."""
    return f"""
<div class="sim-top"><h1 class="dl-title">Step a simulated user</h1><p><b>How do a user’s intents form while an
assistant replies?</b> You begin after turn {OPENING_TURNS}, beside a branch by <i>{OPENING_BRANCH[1]}</i>: press
<i>Next</i>, go back, answer, branch; no key, no GPU.</p></div>
"""


def label_of(labels: Mapping[str, V], value: V) -> str:
    """The label in a menu that stands for `value`."""
    return next(label for label, known in labels.items() if known == value)


def opened(session_id: str | None) -> tuple[Session | None, str]:
    """The session of this id, or a new one, and what went wrong; None where not even a new one could be begun."""
    trouble = ""
    try:
        if session_id:
            return Session.load(session_id), ""
    except SessionError as error:
        trouble = str(error)
    try:
        return opening(), trouble
    except SessionError as error:
        return None, str(error)


# What a visitor meets first: a user whose trees branch, some turns by one assistant and a branch by another.
OPENING = Settings(domain="svg_drawing", artifact="goldfish-sticker", assistant="adaptive", seed=4)
OPENING_TURNS = 4
OPENING_WITHOUT_DATA = "svg_drawing-eval-008"  # the artifact where only the package is installed, as on Colab
OPENING_BRANCH = (2, "ask", 2)  # leaves after this turn, who answers there, for how many turns


def opening(folder: Path | None = None) -> Session:
    """A new session with a conversation worth seeing, and a branch of it.

    Raises:
        SessionError: the opening cannot be played.
    """
    start = OPENING
    if OPENING.artifact not in miniature_artifacts(OPENING.domain).values():
        start = dataclasses.replace(OPENING, artifact=OPENING_WITHOUT_DATA)
    session = Session(start, folder=folder)
    for _ in range(OPENING_TURNS):
        session.next()
    left_at, other, turns = OPENING_BRANCH
    session.jump(left_at)
    session.fork()
    session.let_play(dataclasses.replace(start, assistant=other))
    for _ in range(turns):
        session.next()
    session.let_play(start)
    session.switch(0)
    session.jump(OPENING_TURNS)
    return session


def asks_a_model(session: Session, action: Callable[..., object]) -> bool:
    """Whether a language model will be waited for."""
    steps = (session.next, session.reply, session.candidates, session.take, session.fork)
    known = action == session.next and not session.at_end
    return bool(session.settings.models) and action in steps and not known


# -- menus -------------------------------------------------------------------------------------------------------------


def sources(session: Session) -> Menu:
    """Where users come from; recordings and trees built here only where there are some."""
    labels = dict(SOURCES)
    if not recorded_choices() and session.settings.source != "recorded":
        labels = {label: source for label, source in labels.items() if source != "recorded"}
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
        return list(dict.fromkeys([*POOL, used.assistant]))  # the list that ignores the user can be chosen to play
    return list(dict.fromkeys([used.assistant, "draft", "ask", "options"]))


def setup(session: Session, before: Session | None = None) -> dict[str, Any]:
    """What can be chosen on the stage, and what is: users by source and kind, assistants and rules with a line each.

    Args:
        before: the session that a press leads back to.
    """
    used = session.settings
    names, chosen = assistants(
        session, None if used.assistant in assistant_names() else used.assistant, used.source != "recorded"
    )
    return {
        "users": [
            {
                "value": source,
                "label": label,
                "domains": [
                    {"value": domain, "label": kind, "users": _options(artifacts(session, source, domain)[0])}
                    for kind, domain in domains(session, source)[0].items()
                ],
            }
            for label, source in sources(session)[0].items()
        ],
        "assistants": [{"value": name, "label": name, "about": ABOUT.get(name, "A language model.")} for name in names],
        "rules": [{"value": name, "label": name, "about": ABOUT_RULES[name]} for name in NAMED_RULES],
        "chosen": {
            "source": used.source,
            "domain": used.domain,
            "artifact": used.artifact,
            "seed": used.seed,
            "assistant": chosen,
            "rules": used.rules,
        },
        "before": "" if before is None else title(before),
        "line": f"{title(session)} · {chosen} · {used.rules} rules",
    }


def _options(labels: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"value": value, "label": label} for label, value in labels.items()]


def title(session: Session) -> str:
    """The user of a session as the menu names it."""
    used = session.settings
    return label_of(artifacts(session, used.source, used.domain)[0], used.artifact)


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
        options=used.spec.options,
        leak_check=used.leak_check or None,
    )


def who_plays(session: Session) -> str:
    used = session.settings
    if used.source == "recorded":
        return AS_RECORDED
    user = f"judge and voice {used.judge}"
    if used.judge != used.voice:
        user = f"judge {used.judge}, voice {used.voice}"
    return f"{user}, assistant {used.assistant}"


def plan(session: Session, choice: Choice) -> Markup:
    """What a whole conversation will take, where a language model takes part."""
    if not session.settings.models:
        return quiet("No language model takes part: nothing is asked, nothing is spent.")
    conversation, used = session.conversation, session.settings
    domain = conversation.setting.get("domain", "")
    forecast = controls.conversation_plan(session.tree, domain, conversation.rules, used.turns, choice, used.assistant)
    return controls.plan_table(
        forecast.stages, f"A conversation of {used.turns} turns, before it begins; expected (low to high)"
    )


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
