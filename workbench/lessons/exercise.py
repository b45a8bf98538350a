"""What an exercise is: a question, the form of its answer, and a check that computes what the answer does.

A check takes plain data, calls the library on it and returns an `Outcome`; it never raises for a wrong answer, keeps
nothing and draws nothing at random.  Answers are data (numbers, choices, replies), except where the form is "code".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from discover_lib.base.records import Record

MAX_TEXT = 2_000  # characters of one reply
Form = Literal["number", "numbers", "order", "several", "reply", "replies", "code"]


@dataclass(frozen=True)
class Outcome(Record, omit=("shown",)):
    """What a check says of an answer.

    Attributes:
        hint: what to look at next; after a pass, what the answer shows.
        shown: numbers behind it, by what they belong to.
    """

    passed: bool
    hint: str
    shown: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Exercise:
    """One task of a lesson.

    Attributes:
        choices: what can be picked, for the forms "order" and "several".
        check: answer → outcome.
        words: terms of the glossary, and assistants, that its task uses first in the lesson.
    """

    key: str
    title: str
    task: str
    form: Form
    check: Callable[[Any], Outcome]
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def wrong(hint: str, **shown: float) -> Outcome:
    return Outcome(False, hint, shown)


def judged(right: str, hints: Mapping[str, bool], **shown: float) -> Outcome:
    """The first hint that applies; where none does, the answer is right.

    Args:
        right: what the answer shows.
        hints: what to look at next → whether it applies.
    """
    hint = next((hint for hint, applies in hints.items() if applies), "")
    return Outcome(not hint, hint or right, shown)


def number_of(answer: Any) -> float | None:
    """A finite number, or None for anything else."""
    if isinstance(answer, bool) or not isinstance(answer, int | float) or not math.isfinite(answer):
        return None
    return answer


def numbers_of(answer: Any) -> list[float] | None:
    """A list of finite numbers, or None."""
    if not isinstance(answer, Sequence) or isinstance(answer, str):
        return None
    numbers = [number_of(value) for value in answer]
    return None if None in numbers else [number for number in numbers if number is not None]


def texts_of(answer: Any) -> list[str] | None:
    """A list of texts without the empty ones, or None where there is something else or one is too long."""
    lines = [answer] if isinstance(answer, str) else answer
    if not isinstance(lines, Sequence) or not all(isinstance(line, str) and len(line) <= MAX_TEXT for line in lines):
        return None
    return [line.strip() for line in lines if line.strip()]
