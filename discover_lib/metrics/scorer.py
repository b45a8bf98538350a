"""Who scores a finished conversation in an evaluation: satisfaction, interactivity, behaviour (paper, section 4.2).

A `Scorer` is an engine, as a judge is: the miniature's reads and computes, a language model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from discover_lib.base.records import Record
from discover_lib.core.conversation import Conversation, Reply
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import RoleError
from discover_lib.metrics.satisfaction import LeafScore

LOWEST, HIGHEST = 1, 3  # of an interactivity rating


class ScoreError(RoleError):
    """A scorer gave no score: the conversation is unscored in it, which is not 0."""

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
    """Scores finished conversations; must depend on its arguments only.

    Raises (every method):
        ScoreError: the scorer gave no score.
    """

    name: str  # as results say who scored

    def satisfaction(self, tree: IntentTree, reply: Reply) -> tuple[LeafScore, ...]:
        """A score for every leaf of the tree, in the tree's order."""
        ...

    def interactivity(self, conversation: Conversation) -> InteractivityRating: ...

    def behaviour(self, conversation: Conversation) -> tuple[TurnBehaviour, ...]:
        """What every turn does, in order."""
        ...


# -- behavior of a turn ------------------------------------------------------------------------------------------------

Behaviour = Literal["divergent", "convergent"]
Family = Literal["CCC", "DDD", "two in a row", "alternating"]
FAMILIES: tuple[Family, ...] = ("CCC", "DDD", "two in a row", "alternating")


@dataclass(frozen=True)
class TurnBehaviour(Record):
    """The main behavior of one turn.

    Attributes:
        behaviour: "divergent" (options, samples, questions), "convergent" (mostly one artifact), or None for a turn
            that does neither.
    """

    turn: int
    behaviour: Behaviour | None
    reason: str = ""


def family_of(three: Sequence[Behaviour]) -> Family:
    """The family of three turns in a row; the four families part all eight patterns."""
    first, second, third = three
    if first == second == third:
        return "CCC" if first == "convergent" else "DDD"
    return "alternating" if first == third else "two in a row"


def trigrams(behaviours: Sequence[Behaviour | None]) -> dict[Family, int]:
    """Windows of three turns by family; those with a turn of neither kind are left out."""
    counts: dict[Family, int] = dict.fromkeys(FAMILIES, 0)
    for start in range(len(behaviours) - 2):
        window = [each for each in behaviours[start : start + 3] if each is not None]
        if len(window) == 3:
            counts[family_of(window)] += 1
    return counts


def letters(behaviours: Sequence[Behaviour | None]) -> str:
    """ "CDDC-": one letter a turn, "-" for a turn of neither kind."""
    return "".join("-" if each is None else each[0].upper() for each in behaviours)


# -- does a reply refuse? ----------------------------------------------------------------------------------------------

_REFUSES = re.compile(
    r"\b(?:i(?:['’]m| am) (?:sorry|unable|not able)|i (?:can(?:['’]t|not)|won['’]t|must decline)|as an ai|"
    r"against (?:my|the) (?:rules?|guidelines|policy))",
    re.IGNORECASE,
)


class RefusalJudge(Protocol):
    """Says whether replies refuse."""

    name: str

    def refuses(self, asked: str, reply: str) -> bool:
        """Whether `reply` refuses what was `asked`.

        Raises:
            ScoreError: the judge gave no verdict.
        """
        ...


class Phrases:
    """Detects a refusal by its phrases alone.  People often disagree with such lists."""

    name = "phrases"

    def refuses(self, asked: str, reply: str) -> bool:
        return _REFUSES.search(reply) is not None
