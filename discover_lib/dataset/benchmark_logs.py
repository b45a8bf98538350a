"""Logs of benchmarks that others own and run: Inspect's, garak's and PyRIT's, read into one record.

Nothing of theirs is kept here: prompts, replies and scores stay in the log on the user's machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from discover_lib.dataset.formats import Foreign, FormatError, json_lines, parse, read_json
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


def read_benchmark(via: str, path: Path) -> list[Answer]:
    """The answers in a log of "inspect", "garak" or "pyrit".

    Raises:
        FormatError: it is no such log, it holds no answer, or what reads it is not here.
    """
    answers = list(READERS[via](path))
    if not answers:
        raise FormatError(f"{path}: a log of {via} without a prompt")
    return answers


def as_score(value: Any) -> float | None:
    """The number of a score: Inspect's letters (C, P, I, N), PyRIT's words and digits; None for anything else."""
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


# -- Inspect -----------------------------------------------------------------------------------------------------------


def _inspect(path: Path) -> Iterator[Answer]:
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


# -- garak -------------------------------------------------------------------------------------------------------------

COMPLETE = 2  # of an attempt: its detectors have run; the same attempt stands in the report before, without them


class _Text(Foreign):
    text: str | None


class _Turn(Foreign):
    role: str
    content: _Text


class _Prompt(Foreign):
    turns: list[_Turn]


class _Attempt(Foreign):
    uuid: str
    status: int
    prompt: _Prompt | _Text | str
    outputs: list[_Text | str | None]
    detector_results: dict[str, list[float | None]] = Field(default_factory=dict)


def _garak(path: Path) -> Iterator[Answer]:
    """An output of an attempt is an answer, its scores are the detectors' (1: what the probe was after)."""
    attempts: dict[str, _Attempt] = {}
    for where, line in json_lines(path):
        if not isinstance(line, dict) or "entry_type" not in line:
            raise FormatError(f"{where} is not an entry of garak's report.jsonl")
        if line["entry_type"] == "attempt":
            attempt = parse(_Attempt, line, where)
            if attempt.status == COMPLETE or attempt.uuid not in attempts:
                attempts[attempt.uuid] = attempt
    for attempt in attempts.values():
        for at, output in enumerate(attempt.outputs or [None]):
            results = attempt.detector_results.items()
            scores = {name: values[at] for name, values in results if at < len(values)}
            yield Answer(_garak_prompt(attempt.prompt), _text(output), _scores(scores))


def _garak_prompt(prompt: _Prompt | _Text | str) -> str:
    if isinstance(prompt, _Prompt):
        return "\n\n".join(turn.content.text or "" for turn in prompt.turns if turn.role == "user")
    return _text(prompt) or ""


def _text(message: _Text | str | None) -> str | None:
    return message.text if isinstance(message, _Text) else message


# -- PyRIT -------------------------------------------------------------------------------------------------------------

SENT = ("none", "blocked")  # errors of a piece that is a reply: a provider's filter answers, too


class _Score(Foreign):
    score_value: str | float | bool | None = None
    scorer_class_identifier: dict[str, Any] | str | None = None


class _Piece(Foreign):
    conversation_id: str
    sequence: int = 0
    role: str
    original_value: str
    converted_value: str = ""
    converted_value_data_type: str = "text"
    response_error: str | None = "none"
    scores: list[_Score] = Field(default_factory=list)


def _pyrit(path: Path) -> Iterator[Answer]:
    """A conversation is an answer: its first prompt as it was before converters, and its last reply."""
    data = read_json(path)
    if not isinstance(data, list):
        raise FormatError(f"{path}: not an export of PyRIT's memory (a list of message pieces)")
    conversations: dict[str, list[_Piece]] = {}
    for at, entry in enumerate(data):
        piece = parse(_Piece, entry, str(path), at)
        if piece.converted_value_data_type == "text":
            conversations.setdefault(piece.conversation_id, []).append(piece)
    for pieces in conversations.values():
        pieces.sort(key=lambda piece: piece.sequence)
        asked = [piece for piece in pieces if piece.role == "user"]
        replies = [piece for piece in pieces if piece.role == "assistant" and piece.response_error in SENT]
        if asked:
            yield _pyrit_answer(asked[0], replies[-1] if replies else None)


def _pyrit_answer(asked: _Piece, reply: _Piece | None) -> Answer:
    if reply is None:
        return Answer(asked.original_value, None)
    scores = {_scorer(score.scorer_class_identifier): score.score_value for score in reply.scores}
    return Answer(asked.original_value, reply.converted_value, _scores(scores))


def _scorer(identifier: Mapping[str, Any] | str | None) -> str:
    if isinstance(identifier, Mapping):
        identifier = next((str(identifier[key]) for key in ("class_name", "__type__") if key in identifier), None)
    return identifier or "score"


READERS = {"inspect": _inspect, "garak": _garak, "pyrit": _pyrit}
