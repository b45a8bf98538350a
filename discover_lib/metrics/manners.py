"""How a user talks: thirteen features of the messages in one conversation.

`distances` says how far a simulated user's talk is from that of people, beside the distance among people.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from discover_lib.base.seeds import derive_rng
from discover_lib.base.words import words
from discover_lib.metrics.intervals import Difference, welch

WINDOW = 50  # words, of MATTR
SHORT, LONG = 5, 40  # words
HALVINGS = 200
_ORDER = re.compile(
    r"^\W*(?:please )?(?:make|write|add|change|remove|give|show|keep|use|try|create|draw|rewrite)\b", re.IGNORECASE
)
_PLAIN = str.maketrans("’‘ʼ＇？！", "''''?!")  # characters that telephones and other scripts type
Messages = Sequence[str]
Feature = Callable[[Messages], float | None]


def mattr(words: Sequence[str], window: int = WINDOW) -> float | None:
    """The mean share of different words in every window of this many.  None for a text that is shorter."""
    if not 0 < window <= len(words):
        return None
    inside = Counter(words[:window])
    total = len(inside)
    for gone, come in zip(words, words[window:], strict=False):
        inside[gone] -= 1
        if not inside[gone]:
            del inside[gone]
        inside[come] += 1
        total += len(inside)
    return total / (len(words) - window + 1) / window


def _share(test: Callable[[str], object]) -> Feature:
    return lambda messages: sum(bool(test(message)) for message in messages) / len(messages)


def _having(pattern: str) -> Feature:
    return _share(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE).search)


def _size(message: str) -> int:
    return len(message.split())


def _repeats(messages: Messages) -> float | None:
    """Mean overlap (Jaccard) of a message's words with those of the one before; None for a single message."""
    sets = [set(words(message)) for message in messages]
    pairs = [(a, b) for a, b in pairwise(sets) if a | b]
    return sum(len(a & b) / len(a | b) for a, b in pairs) / len(pairs) if pairs else None


FEATURES: Mapping[str, tuple[str, Feature]] = {
    "words": ("mean words of a message", lambda messages: sum(map(_size, messages)) / len(messages)),
    "short": (f"share of messages of at most {SHORT} words", _share(lambda message: _size(message) <= SHORT)),
    "long": (f"share of messages of more than {LONG} words", _share(lambda message: _size(message) > LONG)),
    "questions": ("share with a question mark", _share(lambda message: "?" in message)),
    "exclaims": ("share with an exclamation mark", _share(lambda message: "!" in message)),
    "lower case": ("share that begin with a small letter", _share(lambda message: message.lstrip()[:1].islower())),
    "hedges": (
        "share that hedge",
        _having("maybe|perhaps|somehow|kind of|sort of|not sure|i think|i guess|possibly|a bit"),
    ),
    "polite": ("share with please or thanks", _having("please|thanks|thank you")),
    "self": ("share that speak of themselves", _having("i|i'm|i'd|me|my|mine")),
    "corrects": ("share that correct or refuse", _having("no|not|don't|doesn't|isn't|instead|rather|wrong|but")),
    "orders": ("share that begin with an order", _share(_ORDER.search)),
    "repeats": ("mean overlap of words with the message before", _repeats),
    "MATTR": (f"different words in windows of {WINDOW}", lambda messages: mattr(words(" ".join(messages)))),
}


def manners_of(messages: Messages) -> dict[str, float]:
    """Feature → value, of one conversation's messages; without those that need more words."""
    messages = [message.translate(_PLAIN) for message in messages]
    values = {name: feature(messages) for name, (_, feature) in FEATURES.items()}
    return {name: value for name, value in values.items() if value is not None}


# -- how far from people ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Distance:
    """One feature: both means, their difference with its interval, and how large that is.

    Attributes:
        n: conversations that are long enough for it, of ours and of people.
        size: of the difference, in standard deviations of people's conversations; None where people do not vary.
        ceiling: the size that 95% of random halves of the people's own conversations stay below.
    """

    feature: str
    meaning: str
    people: float
    ours: float
    n: tuple[int, int]
    difference: Difference | None
    size: float | None
    ceiling: float | None

    @property
    def beyond_people(self) -> bool:
        """Whether it is clear of zero, and larger than people differ from people."""
        clear = self.difference is not None and (self.difference.low > 0 or self.difference.high < 0)
        return clear and self.size is not None and self.ceiling is not None and self.size > self.ceiling


def distances(ours: Sequence[Messages], people: Sequence[Messages], seed: int = 0) -> list[Distance]:
    """Every feature that four conversations on each side are long enough for, the farthest first.

    Each conversation counts once.

    Raises:
        ValueError: fewer than four conversations on a side.
    """
    of_ours, of_people = ([manners_of(messages) for messages in side if messages] for side in (ours, people))
    if min(len(of_ours), len(of_people)) < 4:
        raise ValueError(
            f"four conversations are needed of each, got {len(of_people)} of people and {len(of_ours)} here"
        )
    found = []
    for name, (meaning, _) in FEATURES.items():
        mine, theirs = ([values[name] for values in side if name in values] for side in (of_ours, of_people))
        if min(len(mine), len(theirs)) < 4:
            continue
        spread = statistics.stdev(theirs)
        size = abs(statistics.fmean(mine) - statistics.fmean(theirs)) / spread if spread else None
        means, n = (statistics.fmean(theirs), statistics.fmean(mine)), (len(mine), len(theirs))
        found.append(Distance(name, meaning, *means, n, welch(mine, theirs), size, _ceiling(theirs, spread, seed)))
    return sorted(found, key=lambda each: -(each.size or 0))


def _ceiling(values: Sequence[float], spread: float, seed: int) -> float | None:
    """What random halves of the same people differ by, at the 95th percentile, in standard deviations."""
    if not spread:
        return None
    rng, half, drawn = derive_rng(seed, "halves"), len(values) // 2, list(values)
    sizes = []
    for _ in range(HALVINGS):
        rng.shuffle(drawn)
        sizes.append(abs(statistics.fmean(drawn[:half]) - statistics.fmean(drawn[half:])) / spread)
    return sorted(sizes)[round(0.95 * (HALVINGS - 1))]
