"""The page on what one reply is worth: its conversations, words and fragments, in the notebook and on the site."""

from __future__ import annotations

from functools import cache

from discover_lib.core.conversation import Conversation
from discover_lib.core.rollout import run_conversation
from discover_lib.core.rules import Rules
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.runs.recorded import load_recorded, recorded_index
from workbench.carried import rules_said
from workbench.controls import domain_labels
from workbench.views import conversation_parts as show
from workbench.views import reward_parts as show_reward
from workbench.views.html import Markup, more, panel, quiet, rich_text, signed, tag

EVERY_TURN = "What the reply of every turn earned"
_FIRST = "recorded: night harbour"


# -- conversations -----------------------------------------------------------------------------------------------------


def recorded_names() -> dict[str, str]:
    """What the menu calls each recorded conversation → what `load_recorded` takes."""
    return {f"recorded: {entry.title}": entry.name for entry in recorded_index() if entry.sessions}


def miniature_names() -> dict[str, str]:
    """What the menu calls each conversation of the miniature → its domain."""
    return {f"miniature: {label}": domain for label, domain in domain_labels().items()}


def conversation_names() -> tuple[list[str], str]:
    """The menu of conversations, and the one that it begins with."""
    names = [*recorded_names(), *miniature_names()]
    return names, _FIRST if _FIRST in names else names[0]


@cache
def conversation(name: str) -> Conversation:
    """The conversation of this name in the menu; those of the miniature are played when they are asked for first."""
    played = miniature_names()
    return miniature_conversation(played[name]) if name in played else load_recorded(recorded_names()[name])[0]


def miniature_conversation(domain: str) -> Conversation:
    """Two scripted assistants answer every turn of one miniature user; the better reply goes on."""
    world = engine(domain)
    tree = world.builder.build(generate_artifact(domain, "eval", 7)).tree
    assistants = [scripted_assistant(name, domain) for name in ("draft", "adaptive")]
    setting = {"engine": "miniature", "domain": domain, "assistants": ["draft", "adaptive"]}
    return run_conversation(tree, world.judge, world.voice, assistants, seed=7, setting=setting)


# -- fragments ---------------------------------------------------------------------------------------------------------


def reply_sum(now: Conversation, number: int) -> Markup:
    """What the reply of a turn (from 1) is worth, as a sum with its formula."""
    return show_reward.assembled(now.turns[number - 1], now.rules)


def reply_receipt(original: Conversation, now: Conversation, base: Rules, number: int) -> Markup:
    """The reply of a turn (from 1) beside its receipt, in which what other rules change is written anew.

    Args:
        now: the original under the rules as they are set.
        base: the rules chosen in the menu, which the sliders move.
    """
    turn, rules = now.turns[number - 1], now.rules
    named = rules if rules == base else rules.replace(name="your")
    was = show.receipt(original.tree, original.turns[number - 1], original.rules, explains=True)
    receipt = was
    if rules != original.rules:
        receipt = show_reward.compared(was, show.receipt(now.tree, turn, named, explains=True), rules_said(rules, base))
    reply = panel(f"The reply of turn {turn.index}", rich_text(turn.reply.text))
    return tag("div", reply, panel("Its receipt", receipt), class_="rw-one")


def explanation() -> Markup:
    """The letters of the sum, and what near misses do, to unfold."""
    return more(
        "What the letters mean, and what a near miss does",
        show_reward.symbols(),
        quiet(
            "An intent that a reply meets is discovered at once. One that it misses nearly, k times, forms by "
            "degrees: it moves up one state if p · k exceeds its threshold θ, else θ shrinks by p · k."
        ),
    )


def every_turn(original: Conversation, now: Conversation) -> Markup:
    """A bar for what the reply of each turn is worth, and their sum; every turn must be scored."""
    were, are = ([earned.total for turn in each.turns if (earned := turn.candidate.reward)] for each in (original, now))
    line = f"In all {signed(round(sum(are), 3))}"
    same = now.rules == original.rules
    line += "." if same else f"; under the {original.rules.name} rules {signed(sum(were))}."
    return show.reward_bars(are, were if are != were else ()) + quiet(line)
