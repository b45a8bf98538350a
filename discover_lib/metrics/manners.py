"""How somebody talks: twelve features of a person's messages in one conversation, and the words' variety."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from discover_lib.base.words import words
from discover_lib.metrics.lexical import hdd, mattr, yules_k

SHORT, LONG = 5, 40  # words
_ORDER = re.compile(
    r"^\W*(?:please )?(?:make|write|add|change|remove|give|show|keep|use|try|create|draw|rewrite)\b", re.IGNORECASE
)
_PLAIN = str.maketrans("’‘ʼ＇？！", "''''?!")  # what telephones and other scripts type
Messages = Sequence[str]
Feature = Callable[[Messages], float | None]


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


def _variety(measure: Callable[[Sequence[str]], float | None]) -> Feature:
    return lambda messages: measure([word for message in messages for word in words(message)])


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
}
VARIETY: Mapping[str, tuple[str, Feature]] = {
    "MATTR": ("different words in windows of 50", _variety(mattr)),
    "Yule's K": ("repetition of words; higher is less varied", _variety(yules_k)),
    "HD-D": ("different words expected in a draw of 42", _variety(hdd)),
}
EVERY: Mapping[str, tuple[str, Feature]] = {**FEATURES, **VARIETY}


def manners_of(messages: Messages) -> dict[str, float]:
    """Feature → value, of one conversation's messages; without those that so few words do not have.

    Raises:
        ValueError: no message.
    """
    if not messages:
        raise ValueError("nobody said anything")
    messages = [message.translate(_PLAIN) for message in messages]
    values = {name: feature(messages) for name, (_, feature) in EVERY.items()}
    return {name: value for name, value in values.items() if value is not None}
