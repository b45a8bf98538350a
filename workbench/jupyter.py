"""Values of the library at the end of a Jupyter cell: drawn as the pages draw them, and as short text in a terminal.

What is drawn is plain HTML, which can be read where no kernel runs, too: in a notebook opened again, exported, mailed.
`import discover_lib` hands `drawn` and `written` to IPython where there is one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from discover_lib.base.words import counted
from discover_lib.core.advance import initial_state
from discover_lib.core.conversation import Artifact, Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import BuiltTree
from discover_lib.core.rules import NAMED_RULES, Rules
from discover_lib.core.simulator import UserSimulator
from discover_lib.metrics.transcript import in_words, reward_line, transcript
from discover_lib.tasks.told import tree_lines
from workbench.controls import domain_labels
from workbench.sources import assistant_names, miniature_artifacts
from workbench.views import conversation_parts as show
from workbench.views.html import Markup

if TYPE_CHECKING:
    from workbench.stage import StagePlayer

Value = Artifact | BuiltTree | Conversation | IntentTree | Turn | UserSimulator


def drawn(value: Value) -> str | None:
    """HTML of a value; None where its text says all."""
    match value:
        case Artifact():
            return show.styled(show.artifact(value))
        case BuiltTree():
            return drawn(value.tree)
        case IntentTree():
            return show.styled(show.panel(_title(value), show.outline(value, initial_state(value, Rules.paper(), 0))))
        case UserSimulator():
            return drawn(value.conversation)
        case Conversation():
            wants = show.outline(value.tree, value.state)
            chat = show.panel("Conversation", show.chat(value))
            return show.styled(show.beside(chat, show.panel("What the user wants", wants)))
        case Turn():
            return show.styled(_turn(value))
    return None


def written(value: Value) -> str:
    """A value in a few lines of text."""
    match value:
        case Artifact():
            return f"Artifact {value.id!r}, {value.type}: {len(value.text):,} characters"
        case BuiltTree():
            return written(value.tree)
        case IntentTree():
            return "\n".join([_title(value), *tree_lines(value)])
        case UserSimulator():
            return written(value.conversation)
        case Conversation():
            return "\n".join(transcript(value))
        case Turn():
            said = [value.reply.text, *_moves(value), reward_line(value), value.user_message]
            return "\n".join([f"turn {value.index}", *filter(None, said)])


def _title(tree: IntentTree) -> str:
    return f"{tree.artifact_type}, {counted(len(tree), 'intent')}: “{tree.initial_request}”"


def _moves(turn: Turn) -> list[str]:
    moves = [each for each in turn.candidate.transitions if each.moved or each.satisfied]
    return [f"{each.intent_id}: {in_words(each)}" for each in moves]


def _turn(turn: Turn) -> Markup:
    answer = show.bubble("user", show.user_message(turn)) if turn.user_message is not None else Markup()
    earned = show.quiet("; ".join([*_moves(turn), reward_line(turn)]))
    return show.panel(f"Turn {turn.index}", show.bubble("assistant", show.rich_text(turn.reply.text)), earned, answer)


def with_controls(player: StagePlayer) -> Any:
    """A stage below controls of ipywidgets: domain, user, assistant, rules and turn; the controls follow the stage."""
    import ipywidgets

    from workbench.pages import conversation_page

    used, following = player.session.settings, False
    users = conversation_page.artifacts(player.session, used.source, used.domain)
    domain = ipywidgets.Dropdown(options=domain_labels(), value=used.domain, description="Domain")
    user = ipywidgets.Dropdown(options=users, value=used.artifact, description="User")
    assistant = ipywidgets.Dropdown(options=assistant_names(), value=used.assistant, description="Assistant")
    rules = ipywidgets.Dropdown(options=list(NAMED_RULES), value=used.rules, description="Rules")
    turn = ipywidgets.IntSlider(value=player.session.cursor, max=used.turns, description="Turn")

    def follow() -> None:
        nonlocal following
        settings, following = player.session.settings, True
        domain.value = settings.domain
        user.options = conversation_page.artifacts(player.session, settings.source, settings.domain)
        user.value = settings.artifact
        assistant.value, rules.value = settings.assistant, settings.rules
        turn.max = max(len(player.session.conversation.turns), settings.turns)
        turn.value = player.session.cursor
        following = False

    def on(control: Any, act: Callable[[Any], Any]) -> None:
        control.observe(lambda change: None if following else act(change["new"]), "value")

    def reach(number: int) -> None:
        while player.session.cursor < number and player.session.why_no_next is None:
            player.do({"do": "next"})
        if player.session.cursor > number:
            player.session.jump(number)
            player.show()

    def meet(name: str) -> None:
        player.open(dataclasses.replace(player.session.settings, domain=domain.value, artifact=name))

    on(domain, lambda name: meet(next(iter(miniature_artifacts(name).values()))))
    on(user, meet)
    on(assistant, lambda name: player.do({"do": "assistant", "name": name}))
    on(rules, lambda name: player.do({"do": "rules", "name": name}))
    on(turn, reach)
    player.on_change = follow
    choices = ipywidgets.Layout(flex_flow="row wrap")
    return ipywidgets.VBox([ipywidgets.Box([domain, user, assistant, rules, turn], layout=choices), player.widget])
