"""What a class has answered: one file of JSON lines, only ever added to, and one line a student's answer.

`discover open --class` names the file and who speaks (`workbench.lessons.classroom`); without a class nothing is kept.
A line is written at once and forced to disk, so that a server killed anywhere loses nothing that was handed in.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base.records import Record
from workbench.lessons.exercise import Outcome

FILE_VARIABLE = "DISCOVER_CLASS_FILE"  # set in the server's own environment by `discover open --class`
MAX_LINE = 20_000  # bytes
_LOCK = threading.Lock()  # every session of a server is a thread of it


@dataclass(frozen=True)
class Answer(Record):
    """One answer of one student; `passed` is None for what is not checked, such as a prediction."""

    at: float  # seconds since 1970
    student: str
    task: str
    answer: Any
    passed: bool | None = None
    hint: str = ""


def hand_in(student: str, task: str, answer: Any, outcome: Outcome | None = None) -> bool:
    """Keep an answer, if a class is on; returns whether it was kept.  What is too long is not."""
    path = os.environ.get(FILE_VARIABLE)
    if not path or not student:
        return False
    said = (outcome.passed, outcome.hint) if outcome else (None, "")
    line = json.dumps(Answer(round(time.time(), 3), student, task, answer, *said).to_dict(), ensure_ascii=False)
    data = line.encode("utf-8", "replace") + b"\n"
    if len(data) > MAX_LINE:
        return False
    with _LOCK:
        append(Path(path), data)
    return True


def first_answer(student: str, task: str) -> Any:
    """What a student handed in first, if a class is on; else None."""
    path = os.environ.get(FILE_VARIABLE)
    answers = read_answers(Path(path)) if path and student else []
    return next((each.answer for each in answers if (each.student, each.task) == (student, task)), None)


def append(path: Path, data: bytes) -> None:
    """Add finished lines to a file and force them to disk; a line that was torn off before stays alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            data = data if file.read(1) == b"\n" else b"\n" + data
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_answers(path: Path) -> list[Answer]:
    """All answers in order."""
    return [Answer.from_dict(each) for each in read_lines(path)]


def read_lines(path: Path) -> Iterator[Any]:
    """The values of a file's lines; one that was torn off was never answered, and is passed over."""
    for line in path.read_bytes().splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def latest(answers: Iterable[Answer]) -> Mapping[tuple[str, str], Answer]:
    """(student, task) → the last answer, a passed one before any other."""
    best: dict[tuple[str, str], Answer] = {}
    for answer in answers:
        before = best.get((answer.student, answer.task))
        if before is None or not before.passed or answer.passed:
            best[answer.student, answer.task] = answer
    return best
