"""Values of the library at the end of a Jupyter cell: drawn as the pages draw them, and as short text in a terminal.

What is drawn is plain HTML, which can be read where no kernel runs, too: in a notebook opened again, exported, mailed.
`import discover_lib` hands `drawn` and `written` to IPython where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discover_lib.base.words import counted
from discover_lib.core.advance import initial_state
from discover_lib.core.conversation import Artifact, Conversation, Turn
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.reward import Reward
from discover_lib.core.roles import BuiltTree
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator
from discover_lib.core.state import Discovery, IntentState
from discover_lib.metrics.transcript import in_words, level_name, reward_line, transcript
from workbench.views import conversation_parts as show
from workbench.views.html import Markup

Value = Artifact | BuiltTree | Conversation | IntentState | IntentTree | Reward | Turn | UserSimulator


def drawn(value: Value) -> str | None:
    """HTML of a value; None where its text says all."""
    match value:
        case Artifact():
            return show.styled(show.artifact(value))
        case BuiltTree():
            return drawn(value.tree)
        case IntentTree():
            start = initial_state(value, Rules.paper(), 0)
            return show.styled(show.panel(_title(value), show.outline(value, start, focus=(), label="Intents")))
        case UserSimulator():
            return drawn(value.conversation)
        case Conversation():
            wants = show.outline(value.tree, value.state, value.rules)
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
            return "\n".join([_title(value), *_indented(value.roots)])
        case UserSimulator():
            return written(value.conversation)
        case Conversation():
            return "\n".join(transcript(value))
        case Turn():
            said = [value.reply.text, *_moves(value), reward_line(value), value.user_message]
            return "\n".join([f"turn {value.index}", *filter(None, said)])
        case IntentState():
            levels = list(value.discovery.values())
            return ", ".join(f"{levels.count(level)} {level_name(level)}" for level in Discovery)
        case Reward():
            parts = f"{value.discovered:+g} discovered, {value.penalty:+g} for {counted(value.n_tokens, 'token')}"
            return f"{value.total:+g} = {parts}; shares {dict(value.shares)}"


def _title(tree: IntentTree) -> str:
    return f"{tree.artifact_type}, {counted(len(tree), 'intent')}: “{tree.initial_request}”"


def _indented(intents: Sequence[Intent], depth: int = 0) -> Iterator[str]:
    for intent in intents:
        yield f"{'  ' * depth}{intent.id} {intent.text}"
        yield from _indented(intent.children, depth + 1)


def _moves(turn: Turn) -> list[str]:
    moves = [each for each in turn.candidate.transitions if each.moved or each.satisfied]
    return [f"{each.intent_id}: {in_words(each)}" for each in moves]


def _turn(turn: Turn) -> Markup:
    answer = show.bubble("user", show.user_message(turn)) if turn.user_message is not None else Markup()
    earned = show.quiet("; ".join([*_moves(turn), reward_line(turn)]))
    return show.panel(f"Turn {turn.index}", show.bubble("assistant", show.rich_text(turn.reply.text)), earned, answer)
