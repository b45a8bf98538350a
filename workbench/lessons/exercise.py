"""An exercise: a question, the form of its answer, a check that computes the outcome, and the users that it plays with.

A check takes the plain answer of its form, calls the library and returns an `Outcome`. The same answer has the same
outcome. Answers are data: numbers, choices or replies.

A class stores its answers in one file, one JSON line per answer. `discover open --class` names the file. A line is on
disk before the page confirms it, so a killed server loses no answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from discover_lib.base.records import Record
from discover_lib.core.conversation import Conversation
from discover_lib.core.intents import IntentTree
from discover_lib.core.rollout import MAX_TURNS, run_conversation
from discover_lib.core.simulator import UserSimulator
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.rendering import typed_reply

MAX_TEXT = 2_000  # characters of one reply
Form = Literal["number", "numbers", "order", "several", "reply", "replies"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a check.

    Attributes:
        hint: the next thing to look at. After a pass, the conclusion of the exercise.
    """

    passed: bool
    hint: str


@dataclass(frozen=True)
class Exercise:
    """One task of a lesson.

    Attributes:
        choices: the choices of the forms "order" and "several".
        check: answer → outcome.
        words: terms of the glossary, and assistants, that are new in its task.
    """

    key: str
    title: str
    task: str
    form: Form
    check: Callable[[Any], Outcome]
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def wrong(hint: str) -> Outcome:
    return Outcome(False, hint)


def judged(right: str, hints: Mapping[str, bool]) -> Outcome:
    """The first hint that applies. Without one, the answer is right.

    Args:
        right: the conclusion of a right answer.
        hints: hint → whether it applies.
    """
    hint = next((hint for hint, applies in hints.items() if applies), "")
    return Outcome(not hint, hint or right)


# -- the users of the lessons ------------------------------------------------------------------------------------------

DOMAIN = "svg_drawing"
EVERYBODY = range(12)  # users of the evaluation split
SETTING = {"engine": "miniature", "domain": DOMAIN}


@lru_cache(maxsize=64)
def tree_of(person: int) -> IntentTree:
    return engine(DOMAIN).builder.build(generate_artifact(DOMAIN, "eval", person)).tree


@lru_cache(maxsize=256)
def talk(person: int, *assistants: str) -> Conversation:
    """Five turns of a scripted assistant, or of the best of several, with a user."""
    world = engine(DOMAIN)
    who = [scripted_assistant(name, DOMAIN) for name in assistants]
    return run_conversation(tree_of(person), world.judge, world.voice, who, seed=person, setting=SETTING)


def answered(person: int, replies: Sequence[str]) -> Conversation:
    """A user's conversation with these replies. Replies after its end are left out."""
    world, lexicon = engine(DOMAIN), load_lexicon(DOMAIN)
    user = UserSimulator(tree_of(person), world.judge, world.voice, seed=person, turns=MAX_TURNS, setting=SETTING)
    for reply in replies:
        if user.conversation.stop is None:
            user.step(typed_reply(reply, lexicon, user.conversation.tree.initial_request))
    return user.conversation


# -- the answers of a class --------------------------------------------------------------------------------------------


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
