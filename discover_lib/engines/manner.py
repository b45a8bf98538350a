"""Typing styles of the simulated user: message length, questions, exclamation marks, lower case.

A typing style never changes the user's knowledge.  `paper` is the style of the method: about twenty words for every
user.  The other three are only numbers, set by hand (`terse`, `rambling`) or fitted to people's chats (`people`).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from discover_lib.base.errors import DiscoverError
from discover_lib.base.records import Record

PAPER = "paper"


@dataclass(frozen=True)
class Form:
    """The form of one message: its length in words, and whether it asks and exclaims."""

    words: int
    asks: bool
    exclaims: bool


@dataclass(frozen=True)
class Manner(Record):
    """A typing style as numbers.

    Attributes:
        words: evenly spaced quantiles of message length in words, from the shortest to the longest.
        questions, exclaims: shares of messages with such a mark.
        lower_case: share of users who type without capitals.
        messages: number of messages in the fit; 0 if set by hand.
    """

    name: str
    words: tuple[float, ...]
    questions: float
    exclaims: float
    lower_case: float
    messages: int = 0

    def form(self, rng: random.Random) -> Form:
        """Draw the form of one message."""
        place = rng.random() * (len(self.words) - 1)
        low, share = self.words[int(place)], place % 1
        words = low + share * (self.words[int(place) + 1] - low)
        return Form(max(1, round(words)), rng.random() < self.questions, rng.random() < self.exclaims)


# Fitted to 308 chats about stories, songs, branding, e-mails, travel and books, which isle-dev/realsim selects from
# WildChat, first messages included.
_PEOPLE = """
    1 1 2 3 4 4 5 5 6 6 7 7 8 8 8 9 9 10 10 11 11 12 12 13 14 15 16 17 18 19 20 22 25 26 30 34 40 50 65 112 120
""".split()
MANNERS = {
    manner.name: manner
    for manner in (
        Manner("terse", (1, 2, 2, 3, 3, 4, 4, 5, 6, 8, 12), 0.15, 0.02, 0.8),
        Manner("rambling", (8, 15, 21, 26, 31, 36, 42, 49, 58, 70, 90), 0.35, 0.15, 0.6),
        Manner("people", tuple(map(int, _PEOPLE)), 0.222, 0.021, 0.435, 2077),
    )
}


def manner_named(name: str) -> Manner | None:
    """The typing style of a name; None for the paper's.

    Raises:
        DiscoverError: an unknown name.
    """
    if name == PAPER:
        return None
    if name not in MANNERS:
        raise DiscoverError(f"unknown manner {name!r}; give {PAPER}, {', '.join(MANNERS)}")
    return MANNERS[name]
