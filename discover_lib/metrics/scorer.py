"""Who scores a finished conversation in an evaluation: satisfaction, interactivity, behaviour (paper, section 4.2).

A `Scorer` is an engine, as a judge is: the miniature's reads and computes, a language model is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from discover_lib.base.records import Record
from discover_lib.core.conversation import Conversation, Reply
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import RoleError
from discover_lib.metrics.behaviour import TurnBehaviour
from discover_lib.metrics.satisfaction import LeafScore

LOWEST, HIGHEST = 1, 3  # of an interactivity rating


class ScoreError(RoleError):
    """A score could not be had: the conversation is unscored in it, never 0."""

    role = "scorer"


@dataclass(frozen=True)
class InteractivityRating(Record):
    """How much an assistant worked together with the user over a conversation, 1 to 3, and why."""

    rating: float
    reason: str = ""

    @property
    def score(self) -> float:
        """Rescaled to [0, 1] (paper, section 4.2)."""
        return (self.rating - LOWEST) / (HIGHEST - LOWEST)


class Scorer(Protocol):
    """Scores what is finished; must not depend on anything but its arguments.

    Raises (every method):
        ScoreError: no score could be had.
    """

    name: str  # as results say who scored

    def satisfaction(self, tree: IntentTree, reply: Reply) -> tuple[LeafScore, ...]:
        """A score for every leaf of the tree, in the tree's order."""
        ...

    def interactivity(self, conversation: Conversation) -> InteractivityRating: ...

    def behaviour(self, conversation: Conversation) -> tuple[TurnBehaviour, ...]:
        """What every turn does, in order."""
        ...
