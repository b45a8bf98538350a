"""How a simulated user types: lengths, questions, exclamation marks, small letters.  Never what the user knows.

`paper` is the method's own: about twenty words, the same from user to user.  The other three are numbers alone: set by
hand (`terse`, `rambling`) or those of chats of people (`people`); they hold nobody's text.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from discover_lib.base.errors import DiscoverError
from discover_lib.base.records import Record

PAPER = "paper"


@dataclass(frozen=True)
class Form:
    """How one message is to look: its length in words, and whether it asks and exclaims."""

    words: int
    asks: bool
    exclaims: bool


@dataclass(frozen=True)
class Manner(Record):
    """A way of typing, as numbers.

    Attributes:
        words: evenly spaced quantiles of a message's words, from the shortest to the longest.
        questions, exclaims: shares of messages that hold such a mark.
        lower_case: share of users who begin without capitals.
        messages: how many it was fitted to; 0 where it was set by hand.
    """

    name: str
    words: tuple[float, ...]
    questions: float
    exclaims: float
    lower_case: float
    messages: int = 0

    @property
    def longest(self) -> int:
        return round(self.words[-1])

    def form(self, rng: random.Random) -> Form:
        """Draw the form of one message."""
        place = rng.random() * (len(self.words) - 1)
        low, share = self.words[int(place)], place % 1
        words = low + share * (self.words[int(place) + 1] - low)
        return Form(max(1, round(words)), rng.random() < self.questions, rng.random() < self.exclaims)


# Fitted to 308 chats about stories, songs, branding, e-mails, travel and books: those of WildChat that isle-dev/realsim
# selects, first messages included.  Numbers alone; the chats are not here.
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
    """The manner of a name; None for the paper's.

    Raises:
        DiscoverError: there is none of that name.
    """
    if name == PAPER:
        return None
    if name not in MANNERS:
        raise DiscoverError(f"unknown manner {name!r}; give {PAPER}, {', '.join(MANNERS)}")
    return MANNERS[name]
