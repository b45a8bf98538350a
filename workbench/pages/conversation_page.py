"""The page Conversation: its first session, the menus of a session, who plays, stored runs, and other rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.base.forest import figure
from discover_lib.core.rules import NAMED_RULES
from discover_lib.engines.miniature.assistants import POOL, SCRIPTED, about
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
from discover_lib.engines.spec import MINIATURE
from workbench import controls
from workbench.carried import below_outputs, kept
from workbench.parts import plain_table
from workbench.session import Session
from workbench.sources import (
    Settings,
    assistant_names,
    built_trees,
    miniature_artifacts,
    recorded_choices,
)
from workbench.views import conversation_parts as show
from workbench.views.conversation_parts import chat, receipt
from workbench.views.html import EMPTY, Markup, beside, error_line, quiet, styled, tag
from workbench.views.moments import rules_told

if TYPE_CHECKING:
    from discover_lib.core.conversation import Conversation
    from discover_lib.core.simulator import UserSimulator
    from workbench.controls import Choice
    from workbench.stage import StagePlayer

ROLES = ("judge", "voice", "assistant")
AS_RECORDED = "as recorded"
ABOUT = {  # a line about each assistant, where it is chosen
    **{name: about(name) for name in SCRIPTED},
    AS_RECORDED: "The replies of the recorded conversation.",
}
ABOUT_RULES = {
    "paper": "The paper’s rules: a discovered intent earns 1. The user thinks about one topic at a time.",
    "paper, GRPO": "The same, but the first 500 tokens (parts of words) of a reply are free, not 250.",
    "authors": "The authors’ published code: an emerging intent earns ½. A topic ends only when it is satisfied.",
}


def opened(address: Mapping[str, str]) -> tuple[Session | None, str]:
    """The session that a page's address names, else a conversation of a run, else a new session, and what went wrong.

    The session is None where not even a new one can be begun.
    """
    trouble = ""
    try:
        if name := address.get("session"):
            return Session.load(name), ""
        if (run := address.get("run")) and (number := address.get("conversation")):
            return Session(of_run(outputs_folder() / run, int(number))), ""
    except (DiscoverError, ValueError) as error:
        trouble = str(error)
    try:
        return opening(), trouble
    except DiscoverError as error:
        return None, str(error)


def of_run(folder: Path, number: int) -> Settings:
    """The settings of a session that shows a conversation of a stored run.

    Raises:
        StoreError: the run has no such conversation.
    """
    from discover_lib.runs.store import RunStore

    with RunStore.read(folder) as store:
        conversation = store.conversation(number)
    domain = str(conversation.setting.get("domain") or "svg_drawing")
    rules = conversation.rules.name if conversation.rules.name in NAMED_RULES else "paper"
    return Settings(
        source="run", domain=domain, artifact=f"{below_outputs(folder)}:{number}", rules=rules, seed=conversation.seed
    )


def run_rows(folder: Path) -> list[dict[str, Any]]:
    """A row per conversation of a run, for a table: who talked, with which user, and what was discovered."""
    from discover_lib.runs.store import RunStore

    with RunStore.read(folder) as store:
        return [
            {
                "conversation": row.place,
                "assistant": " + ".join(row.assistants),
                "user": row.artifact,
                "turns": row.turns,
                "intents discovered": row.discovered,
                "reward": round(row.reward, 2),
                "leaks": row.leaks,
                "ended": (row.stop or "not finished").replace("_", " "),
            }
            for row in store.listing()
        ]


# The first user: a drawing whose next replies by this assistant each discover something.
OPENING = Settings(domain="svg_drawing", artifact="goldfish-sticker", assistant="adaptive", seed=2)
OPENING_WITHOUT_DATA = "svg_drawing-eval-007"  # the artifact where only the package is installed, as on Colab


def opening(folder: Path | None = None) -> Session:
    """A new session after its first turn.

    Raises:
        SessionError: the first turn cannot be played.
    """
    start = OPENING
    if OPENING.artifact not in miniature_artifacts(OPENING.domain).values():
        start = dataclasses.replace(OPENING, artifact=OPENING_WITHOUT_DATA)
    session = Session(start, folder=folder)
    session.next()
    return session


def asks_a_model(session: Session, action: Callable[..., object]) -> bool:
    """Whether a language model will be waited for."""
    steps = (session.next, session.reply, session.candidates, session.take, session.fork)
    known = action == session.next and not session.at_end
    return bool(session.settings.models) and action in steps and not known


# -- menus -------------------------------------------------------------------------------------------------------------


def sources(session: Session) -> dict[str, str]:
    """Where users come from; recordings, runs and trees built here only where there are some."""
    there = {
        "Miniature: no language model": "miniature",
        "Recorded with a language model": "recorded" if recorded_choices() else "",
        "Trees built here": "trees" if built_trees() else "",
    }
    used = {"recorded": "Recorded with a language model", "trees": "Trees built here", "run": "A run"}
    labels = {label: source for label, source in there.items() if source}
    source = session.settings.source
    return labels | ({used[source]: source} if source in used else {})


def domains(session: Session, source: str) -> dict[str, str]:
    """Domains of a source by their labels; of recordings and of a run only those that it has."""
    there = {
        "recorded": {entry.domain for entry in recorded_choices()},
        "run": {session.settings.domain},
    }.get(source)
    return {label: name for label, name in controls.domain_labels().items() if there is None or name in there}


def artifacts(session: Session, source: str, domain: str) -> dict[str, str]:
    """Artifacts of a source and domain by their labels; the one in use is always among its own."""
    used = session.settings
    if source == "recorded":
        labels = {entry.title: entry.artifact_id for entry in recorded_choices() if entry.domain == domain}
    elif source == "run":
        labels = {used.artifact: used.artifact}
    elif source == "trees":
        labels = {name.replace("_", " ").replace("-", " "): name for name in built_trees()}
    else:
        labels = miniature_artifacts(domain)
    if (used.source, used.domain) == (source, domain) and used.artifact not in labels.values():
        labels[used.artifact] = used.artifact
    return labels


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
    names = [AS_RECORDED] if used.recorded else list(dict.fromkeys([*assistant_names(), used.assistant]))
    chosen = AS_RECORDED if used.recorded else used.assistant
    return {
        "users": [
            {
                "value": source,
                "label": label,
                "domains": [
                    {"value": domain, "label": kind, "users": _options(artifacts(session, source, domain))}
                    for kind, domain in domains(session, source).items()
                ],
            }
            for label, source in sources(session).items()
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
        # a title names hidden intents
        "line": f"{session.tree.artifact_type} · assistant {chosen}"
        + f" · {used.rules} rules" * (used.rules != "paper"),
    }


def _options(labels: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"value": value, "label": label} for label, value in labels.items()]


def title(session: Session) -> str:
    """The user of a session as the menu names it."""
    used = session.settings
    labels = artifacts(session, used.source, used.domain)
    return next(label for label, artifact in labels.items() if artifact == used.artifact)


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
        leak_check=used.leak_check or None,
    )


def who_plays(session: Session) -> str:
    used = session.settings
    if used.recorded or not used.models:
        return AS_RECORDED if used.recorded else "none"
    user = f"judge and voice {used.judge}"
    if used.judge != used.voice:
        user = f"judge {used.judge}, voice {used.voice}"
    return f"{user}, assistant {used.assistant}"


def roles(player: StagePlayer, form: Any) -> dict[str, Any]:
    """Who plays → the form, which takes effect when it is sent, and what a conversation will take."""
    import marimo as mo

    choice, mistake = players(player.session), EMPTY
    try:
        if form.value is not None:
            choice = controls.read_choice(form.value)
            player.cast(choice)
    except controls.ChoiceError as error:
        mistake = error_line(str(error))
    told = mo.md(
        "The *judge* decides which intents a reply matches. The *voice* writes the user’s messages. The *miniature* "
        "plays both with programs, and a *script* plays the assistant."
    )
    return {
        f"Use a language model (now: {who_plays(player.session)})": mo.vstack(
            [told, form, mo.Html(styled(mistake, plan(player.session, choice)))]
        )
    }


def plan(session: Session, choice: Choice) -> Markup:
    """What a whole conversation will take, where a language model takes part, before anything is spent."""
    from discover_lib.runs.options import LaidOut, RunOptions
    from discover_lib.runs.plan import plan_run
    from discover_lib.runs.units import units_of

    if not session.settings.models:
        return quiet("No language model takes part, so this costs nothing.")
    conversation, used = session.conversation, session.settings
    trees = {"this one": (conversation.setting.get("domain", ""), session.tree)}
    options = RunOptions((used.assistant,), turns=used.turns, rules=conversation.rules, **choice.roles)
    laid_out = LaidOut(options, trees, tuple(units_of(options, trees)), {})
    forecast = plan_run(laid_out, settings=choice.client_settings)
    return controls.plan_table(
        forecast.stages, f"Estimate for a conversation of {used.turns} turns: expected (low to high)"
    )


def rules_line(session: Session) -> str:
    """The rules in force, who plays, and what has been spent."""
    about, used = rules_told(session.conversation.rules), session.settings
    if used.recorded:
        return ". ".join(filter(None, (about, session.conversation.setting.get("note")))) + "."
    if used.models:
        spent = session.calls.line
        return f"{about}. Random seed {used.seed}. Language models: {who_plays(session)}. {spent}{'.' if spent else ''}"
    return f"{about}. Random seed {used.seed}. No language model takes part: every number is computed."


# -- figures of the page -----------------------------------------------------------------------------------------------


def framed(stage_view: Any) -> Any:
    """The stage with the style sheet that carries the page's colors into it."""
    import marimo as mo

    return mo.Html(styled(tag("div", controls.placed(stage_view), class_="sim")))


def follow(
    player: StagePlayer, note: str, address: Any, changed: Callable[..., Any], restarted: Callable[..., Any]
) -> None:
    """Connect a stage with its page: counters of steps and of conversations, and the address.

    Args:
        note: a line to begin with.
        address: of the page; it names the session, and a turn that a missing turn passes over.
        changed, restarted: setters of the counters.
    """

    def moved(fresh: Session) -> None:
        address.set("session", fresh.id)
        restarted(lambda count: count + 1)

    player.note = note
    with suppress(ValueError):  # a session's refusal is one
        player.session.jump(int(address.get("turn") or player.session.cursor))
    player.show()
    player.on_change, player.on_session = lambda: changed(lambda count: count + 1), moved
    address.set("session", player.session.id)


def run_menu() -> Any:
    """The stored runs, `run` in the address."""
    import marimo as mo

    from workbench.jobs import find_runs, labelled

    runs = labelled(list(find_runs(outputs_folder()).values()))
    first = next(iter(runs), None)
    return kept(mo.ui.dropdown, "run", runs, value=first, label="Saved in", searchable=True, forgets=("conversation",))


def run_table(player: StagePlayer, run_choice: Any) -> Any:
    """The conversations of a run; the one that is selected opens on the stage."""
    import marimo as mo

    if run_choice.value is None:
        return mo.md(
            "No conversations are saved yet. [Compare](/?file=6_compare.py) and [Data](/?file=4_data.py) save some."
        )

    def opens(rows: Any) -> None:
        if rows:
            mo.query_params().set("conversation", str(rows[0]["conversation"]))
            player.open(of_run(run_choice.value, rows[0]["conversation"]))

    try:
        rows = run_rows(run_choice.value)
    except DiscoverError as error:
        return mo.callout(str(error), kind="danger")
    return plain_table(rows, selection="single", page_size=8, on_change=opens)


def domain_of(session: Session) -> str | None:
    """The miniature's domain of a session's user; None where the miniature cannot step the user."""
    name = str(session.conversation.setting.get("domain") or session.settings.domain)
    return None if session.settings.recorded or name not in ALL_DOMAINS else name


def rewards(session: Session, now: Conversation) -> Any:
    """The turn at the cursor and the whole conversation under other rules, beside the rules of the conversation."""
    import marimo as mo

    original, number = session.conversation, session.cursor
    turn = now.turns[number - 1] if number else None
    if turn is None or turn.candidate.reward is None or original.turns[number - 1].candidate.reward is None:
        return mo.md("This turn has no reward. Choose another turn.")
    table = show.compared(original.turns[number - 1], turn, original.tree)
    return mo.Html(styled(table, show.every_turn(original, now)))


def tree_figure(player: StagePlayer) -> Any:
    """The plotly figure of the tree at this turn; without the texts of hidden intents until the stage shows these."""
    graph = player.session.tree.graph(player.session.state)
    for node in graph.nodes.values():
        if node["discovery"] != "discovered" and not player.shows_hidden:
            node["text"] = "not discovered yet"
    return figure(graph, live=True)


def stepped(user: UserSimulator) -> Any:
    """A simulator's conversation beside the reward breakdown of its last turn."""
    import marimo as mo

    conversation = user.conversation
    return mo.Html(styled(beside(chat(conversation), receipt(user.tree, conversation.turns[-1], user.rules))))
