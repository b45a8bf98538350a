"""Personal data in a text, by pattern. Participants read a warning before they send it, and the export searches again.

Patterns find addresses, numbers and a few phrases. They miss a name in passing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PATTERNS = {
    "an e-mail address": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "a web address": r"\b(?:https?://|www\.)\S+",
    "a card or account number": r"\b(?:[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}|\d{4}(?:[ -]?\d{4}){3})\b",
    "a telephone number": r"(?<![\w.])(?:\+\d{1,3}[ /-]?)?(?:\(\d{2,5}\)|\d{2,5})(?:[ /-]?\d{2,4}){2,4}(?![\w.])",
    "a postcode": r"\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b",
    "a street address": r"\b\d{1,4}[a-z]? (?:[A-Z]\w+ ){1,3}(?:Street|St|Road|Rd|Avenue|Ave|Lane|Drive|Close|Way)\b",
    "a name": r"\b(?:[Mm]y name is|I am called|[Ii]'m called) [A-Z]\w+(?: [A-Z]\w+)?",
    "a date of birth": r"\b[Bb]orn (?:on|in) (?:the )?\d[\w ./-]*\d{2,4}\b",
}
_COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
MIN_DIGITS = 9  # of a telephone number; fewer digits are years, scores and sizes


class PersonalData(NamedTuple):
    """A stretch of a text that looks like personal data."""

    kind: str
    text: str


def personal_data(text: str) -> list[PersonalData]:
    """The stretches of a text that look like personal data, in the order of `PATTERNS`. A stretch counts once."""
    found, taken = [], [False] * len(text)
    for kind, pattern in _COMPILED.items():
        for match in pattern.finditer(text):
            short = kind == "a telephone number" and sum(map(str.isdigit, match[0])) < MIN_DIGITS
            if short or any(taken[match.start() : match.end()]):
                continue
            taken[match.start() : match.end()] = [True] * len(match[0])
            found.append(PersonalData(kind, match[0]))
    return found
