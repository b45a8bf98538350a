"""What assistants do turn by turn: open up or close in, and patterns of three turns (paper, appendix B.6, Fig 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from discover_lib.base.records import Record

Behaviour = Literal["divergent", "convergent"]
Family = Literal["CCC", "DDD", "two in a row", "alternating"]
FAMILIES: tuple[Family, ...] = ("CCC", "DDD", "two in a row", "alternating")


@dataclass(frozen=True)
class TurnBehaviour(Record):
    """What one turn mainly does.

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
