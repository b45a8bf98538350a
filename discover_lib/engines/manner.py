"""How a simulated user types: lengths, questions, exclamation marks, small letters.  Never what the user knows.

`paper` is the method's own: about twenty words, the same from user to user.  Others are numbers alone, set by hand
(`terse`, `rambling`) or fitted to chats of people (`people`, or yours); they hold nobody's text.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json, write_json
from discover_lib.base.records import Record
from discover_lib.metrics.manners import Messages, manners_of

PAPER = "paper"
FORMAT = "discover-manner/1"
LONGEST = 120  # words of a message: what people paste is longer, and is not talk
SHARES = ("questions", "exclaims", "lower_case")
STEPS = 40  # between the quantiles of a fitted manner


class MannerError(DiscoverError):
    """A manner that is not known, or a file that holds none; the message says what can be given."""


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

    def write(self, path: Path) -> None:
        write_json(path, {"format": FORMAT} | self.to_dict())


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


def fit_manner(chats: Sequence[Messages], name: str = "fitted") -> Manner:
    """The manner of people's chats, in each of which the user said something; every chat counts once.

    Raises:
        ValueError: no chat.
    """
    if not chats:
        raise ValueError("a manner is fitted to one chat at least")
    sizes = sorted((min(len(message.split()), LONGEST), 1 / len(chat)) for chat in chats for message in chat)
    features = [manners_of(chat) for chat in chats]

    def mean(feature: str) -> float:
        return sum(each[feature] for each in features) / len(features)

    return Manner(
        name, _quantiles(sizes), mean("questions"), mean("exclaims"), mean("lower case"), sum(map(len, chats))
    )


def _quantiles(sizes: Sequence[tuple[int, float]]) -> tuple[float, ...]:
    """Evenly spaced quantiles of sorted (words, weight) pairs; each pair stands at the middle of its weight."""
    total, at, quantiles, reached = sum(weight for _, weight in sizes), 0, [], 0.0
    for step in range(STEPS + 1):
        while at < len(sizes) - 1 and reached + sizes[at][1] / 2 < total * step / STEPS:
            reached += sizes[at][1]
            at += 1
        quantiles.append(float(sizes[at][0]))
    return tuple(quantiles)


def manner_named(name: str) -> Manner | None:
    """The manner of a name, or of a file that `discover reality --fit` wrote; None for the paper's.

    Raises:
        MannerError: neither.
    """
    if name == PAPER:
        return None
    if name in MANNERS:
        return MANNERS[name]
    path = Path(name)
    if not path.is_file():
        raise MannerError(f"unknown manner {name!r}; give {PAPER}, {', '.join(MANNERS)} or a file of --fit")
    data = read_json(path, MannerError)
    try:
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise ValueError(f"its format is not {FORMAT!r}")
        manner = Manner.from_dict(data)
        if len(manner.words) < 2 or list(manner.words) != sorted(manner.words) or manner.words[0] < 0:
            raise ValueError("its quantiles do not rise")
        outside = [name for name in SHARES if not 0 <= getattr(manner, name) <= 1]
        if outside:
            raise ValueError(f"{outside[0]} is a share from 0 to 1, got {getattr(manner, outside[0])}")
    except ValueError as error:
        raise MannerError(f"{path}: not a manner ({error})") from None
    return manner
