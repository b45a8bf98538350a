"""The miniature's users in the lessons, and their conversations with assistants or with a student."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache

from discover_lib.core.conversation import Conversation
from discover_lib.core.intents import IntentTree
from discover_lib.core.rollout import MAX_TURNS, run_conversation
from discover_lib.core.simulator import UserSimulator
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.rendering import typed_reply

DOMAIN = "svg_drawing"
EVERYBODY = range(12)  # users of the evaluation split
SETTING = {"engine": "miniature", "domain": DOMAIN}


@lru_cache(maxsize=64)
def tree_of(person: int) -> IntentTree:
    return engine(DOMAIN).builder.build(generate_artifact(DOMAIN, "eval", person)).tree


def first_trees(person: int, count: int) -> IntentTree:
    """Only the first trees of a user's intents, to be shown."""
    tree = tree_of(person)
    return dataclasses.replace(tree, roots=tree.roots[:count])


@lru_cache(maxsize=256)
def talk(person: int, *assistants: str) -> Conversation:
    """Five turns of a scripted assistant, or of the best of several, with a user."""
    world = engine(DOMAIN)
    who = [scripted_assistant(name, DOMAIN) for name in assistants]
    return run_conversation(tree_of(person), world.judge, world.voice, who, seed=person, setting=SETTING)


def answered(person: int, replies: Sequence[str]) -> Conversation:
    """A user's conversation with these replies. Replies after its end are left out."""
    world, lexicon = engine(DOMAIN), load_lexicon(DOMAIN)
    user = UserSimulator(tree_of(person), world.judge, world.voice, seed=person, turns=MAX_TURNS, setting=SETTING)
    for reply in replies:
        if user.conversation.stop is None:
            user.step(typed_reply(reply, lexicon))
    return user.conversation


def found(conversation: Conversation) -> int:
    """The number of hidden intents that became discovered."""
    return len(conversation.state.discovered) - len(conversation.tree.initially_discovered)


def mean_found(assistant: str) -> float:
    """The mean of `found` over all users of the lessons."""
    return sum(found(talk(person, assistant)) for person in EVERYBODY) / len(EVERYBODY)
