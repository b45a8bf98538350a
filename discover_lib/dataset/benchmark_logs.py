"""Logs of benchmarks that others own and Inspect runs.

Nothing of theirs is kept here: prompts, replies and scores stay in the log on the user's machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.dataset.inspect_log import opened_log

WORDS = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0, "yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class Answer:
    """One reply to a benchmark's prompt.

    Attributes:
        reply: None where none came.
        scores: scorer of the benchmark → what it gave; one that gave no number is left out.
    """

    prompt: str
    reply: str | None
    scores: Mapping[str, float] = field(default_factory=dict)


def read_benchmark(path: Path) -> list[Answer]:
    """The answers in a log of Inspect.

    Raises:
        DiscoverError: it is no such log, it holds no answer, or what reads it is not here.
    """
    answers = list(_answers(path))
    if not answers:
        raise DiscoverError(f"{path}: a log of Inspect without a prompt")
    return answers


def as_score(value: Any) -> float | None:
    """The number of a score: Inspect's letters (C, P, I, N), words and digits; None for anything else."""
    if isinstance(value, str):
        text = value.strip().lower()
        try:
            value = WORDS.get(text) if text in WORDS else float(text)
        except ValueError:
            return None
    number = float(value) if isinstance(value, bool | int | float) else None
    return number if number is not None and math.isfinite(number) else None


def _scores(values: Mapping[str, Any]) -> dict[str, float]:
    numbers = {name: as_score(value) for name, value in values.items()}
    return {name: number for name, number in numbers.items() if number is not None}


def _answers(path: Path) -> Iterator[Answer]:
    """A sample is an answer; a scorer that gives several values is one score for each."""
    for sample in opened_log(path).samples or ():
        asked = sample.input
        prompt = asked if isinstance(asked, str) else "\n\n".join(each.text for each in asked if each.role == "user")
        values: dict[str, Any] = {}
        for name, score in (sample.scores or {}).items():
            several = score.value if isinstance(score.value, dict) else {"": score.value}
            values |= {f"{name}.{key}".rstrip("."): value for key, value in several.items()}
        reply = sample.output.completion if sample.output.choices and not sample.error else None
        yield Answer(prompt, reply, _scores(values))
