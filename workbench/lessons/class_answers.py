"""The answers of a class: one file, one JSON line per answer. Lines are only added.

`discover open --class` names the file (`workbench.lessons.classroom`). Without a class no answer is stored. Each line
is on disk before the page confirms it, so a killed server loses no answer.
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
from typing import TYPE_CHECKING, Any

from discover_lib.base.records import Record

if TYPE_CHECKING:
    from workbench.lessons.exercise import Outcome

FILE_VARIABLE = "DISCOVER_CLASS_FILE"  # set in the server's own environment by `discover open --class`
MAX_LINE = 20_000  # bytes
_LOCK = threading.Lock()  # every session of a server is a thread of it


@dataclass(frozen=True)
class Answer(Record):
    """One answer of one student. `passed` is None for answers without a check, such as guesses."""

    at: float  # seconds since 1970
    student: str
    task: str
    answer: Any
    passed: bool | None = None
    hint: str = ""


def hand_in(student: str, task: str, answer: Any, outcome: Outcome | None = None) -> bool:
    """Store an answer in a class. Returns False without a class, and for an answer that is too long."""
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
    """A student's first answer to a task. None without a class."""
    path = os.environ.get(FILE_VARIABLE)
    answers = read_answers(Path(path)) if path and student else []
    return next((each.answer for each in answers if (each.student, each.task) == (student, task)), None)


def append(path: Path, data: bytes) -> None:
    """Add finished lines to a file and force them to disk. An unfinished line before them stays separate."""
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
    """The values of a file's lines. An unfinished line was never confirmed, and is skipped."""
    for line in path.read_bytes().splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def latest(answers: Iterable[Answer]) -> Mapping[tuple[str, str], Answer]:
    """(student, task) → the last answer. A passed answer comes before all others."""
    best: dict[tuple[str, str], Answer] = {}
    for answer in answers:
        before = best.get((answer.student, answer.task))
        if before is None or not before.passed or answer.passed:
            best[answer.student, answer.task] = answer
    return best
