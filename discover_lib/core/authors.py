"""Where the authors' released code differs from the paper, in one place."""

from __future__ import annotations

from discover_lib.core.intents import Intent
from discover_lib.core.state import Discovery, IntentState


def _complete(root: Intent, satisfied: frozenset[str]) -> bool:
    return all(intent.id in satisfied for intent in root.walk() if not intent.children)


def is_done(intent: Intent, state: IntentState) -> bool:
    """Satisfied, or discovered with all its children discovered: the authors' code asks about it no more."""
    if intent.id in state.satisfied:
        return True
    everything = (intent, *intent.children)
    return bool(intent.children) and all(state[each.id] is Discovery.DISCOVERED for each in everything)
