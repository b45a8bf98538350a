"""Did the user say what they cannot know?  The check that every simulated user message goes through.

A word leaks if only intents that the user has not discovered hold it and nobody has said it in the conversation.
"""

from __future__ import annotations

from collections.abc import Iterable

from discover_lib.conversation import Message
from discover_lib.intent_state import Discovery, IntentState
from discover_lib.intents import IntentTree
from discover_lib.words import content_words


def leaked_words(message: str, tree: IntentTree, state: IntentState, messages: Iterable[Message]) -> tuple[str, ...]:
    """Content words (stemmed, sorted) of `message` that only undiscovered or emerging intents hold.

    Args:
        messages: the conversation before `message`, the assistant's last reply included.
    """
    spoken = content_words(message)
    hidden: set[str] = set()
    known: set[str] = set()
    for intent in tree.intents.values():
        (known if state[intent.id] is Discovery.DISCOVERED else hidden).update(content_words(intent.text))
    suspects = (spoken & hidden) - known
    if suspects:
        for said in messages:
            suspects -= content_words(said.content)
    return tuple(sorted(suspects))
