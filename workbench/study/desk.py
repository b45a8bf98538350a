"""A study on disk: one file per participant, so a withdrawal deletes one file.

    study.yaml            the study file at the start of the study
    key                   the salt of the hashes; only the owner can read it
    participants/CODE     events, one JSON line each, on disk before the server answers
    identities/HASH       salted hash of an outside ID → code; the ID itself is never written
    withdrawn             one line per withdrawal, with its condition and no other data

A lock lets one process serve a study. Only the events are stored, so the data on disk cannot contradict itself. The
progress of a participant follows from them: the next step, the conversation, the ratings that are due.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
import shutil
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, whole_file, write_json
from discover_lib.core.conversation import Message
from discover_lib.runs.database import locked
from workbench.lessons.classroom import kept_key
from workbench.lessons.exercise import append, read_lines
from workbench.study.design import Study, load_study

STUDY_FILE, KEY_FILE, WITHDRAWN = "study.yaml", "key", "withdrawn"
EXPORTED = "export"  # written by `discover study export`; a withdrawal deletes it
_CODE = re.compile(r"^[A-Z2-7]{16}$")


class Desk:
    """The participants of a study, and their events.

    Args:
        clock: seconds since 1970.
    """

    def __init__(self, folder: Path, study: Study, clock: Callable[[], float] = time.time) -> None:
        self.folder, self.study, self.clock = folder, study, clock
        self.key = kept_key(folder / KEY_FILE)
        self._writing = threading.RLock()
        self._progress: dict[str, Progress] = {}
        self._lock_file: sqlite3.Connection | None = None

    @classmethod
    def open(cls, study: Study, folder: Path | None = None, clock: Callable[[], float] = time.time) -> Desk:
        """Open the desk of a study for participants. An existing folder resumes.

        Raises:
            DiscoverError: the folder belongs to another version of the study.
            LockedError: another process serves this study.
        """
        folder = folder or outputs_folder() / f"study-{study.name}"
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)  # other users of this machine cannot read the answers
        kept = folder / STUDY_FILE
        if not kept.exists():
            with whole_file(kept) as file:
                yaml.safe_dump(msgspec.to_builtins(study), file, sort_keys=False, allow_unicode=True)
        elif (before := load_study(kept).version) != study.version:
            raise DiscoverError(
                f"{folder} belongs to another version of this file ({before}, now {study.version}); "
                "choose another --folder"
            )
        desk = cls(folder, study, clock)
        desk._lock_file = locked(folder)
        return desk

    @classmethod
    def read(cls, folder: Path) -> Desk:
        """Open the desk of a folder for reading.

        Raises:
            DiscoverError: the folder contains no study.
        """
        if not (folder / STUDY_FILE).is_file():
            raise DiscoverError(f"{folder}: no study here (no {STUDY_FILE})")
        return cls(folder, load_study(folder / STUDY_FILE))

    def close(self) -> None:
        if self._lock_file is not None:
            self._lock_file.close()

    # -- participants --------------------------------------------------------------------------------------------------

    def arrive(self, outside_id: str = "", session: str = "") -> str | None:
        """The code of a participant who arrives. The same outside ID and session get the same code.

        None for a known participant with another session, because each person takes part once.
        """
        with self._writing:
            if outside_id:
                path = self.folder / "identities" / self.salted(outside_id)
                if path.exists():
                    known = json.loads(path.read_text(encoding="utf-8"))
                    return known["code"] if known["session"] == self.salted(session) else None
            code = base64.b32encode(secrets.token_bytes(10)).decode("ascii")
            self.add(code, "arrived", version=self.study.version)
            if outside_id:
                write_json(path, {"code": code, "session": self.salted(session)})
            return code

    def salted(self, text: str) -> str:
        return hmac.new(self.key.encode(), text.encode(), hashlib.sha256).hexdigest()

    def pseudonym(self, code: str) -> str:
        """The name of a participant in exports. It cannot be traced to the code."""
        return f"p-{self.salted(f'name {code}')[:10]}"

    def progress(self, code: str) -> Progress | None:
        """The progress of a participant. None for an unknown code."""
        with self._writing:
            if code not in self._progress:
                path = self._path(code)
                if path is None or not path.exists():
                    return None
                self._progress[code] = Progress(self.study, tuple(read_lines(path)))
            return self._progress[code]

    def add(self, code: str, kind: str, **what: Any) -> Progress:
        """Store an event. It is on disk when this returns."""
        event = {"kind": kind, "at": round(self.clock(), 3), **what}
        path = self._path(code)
        assert path is not None
        with self._writing:
            before = self.progress(code)
            append(path, json.dumps(event, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            progress = Progress(self.study, (*(before.events if before else ()), event))
            self._progress[code] = progress
            return progress

    def assign(self, code: str) -> Progress:
        """Give a participant the first free slot of the random order. Slots of participants who left are free."""
        with self._writing:
            taken = {progress.slot for _, progress in self.everybody() if progress.closed in (None, "done")}
            slot = next(number for number in range(len(taken) + 1) if number not in taken)
            cell = self.study.cell(slot)
            return self.add(code, "assigned", slot=slot, task=cell.task, condition=cell.condition)

    def everybody(self) -> Iterator[tuple[str, Progress]]:
        """(code, progress) of each participant, in the order of the codes."""
        for path in sorted((self.folder / "participants").glob("*")):
            progress = self.progress(path.name)
            if progress is not None and progress.events:
                yield path.name, progress

    def expire(self) -> None:
        """Close the sessions that paused for too long. Their slots are free again."""
        for code, progress in list(self.everybody()):
            if progress.closed is None and self.clock() - progress.at > 60 * self.study.timeout_minutes:
                self.add(code, "closed", why="timed_out")

    def withdraw(self, code: str) -> bool:
        """Delete all data of a participant, with the export. Returns False for an unknown code."""
        with self._writing:
            path, progress = self._path(code), self.progress(code)
            if path is None or progress is None:
                return False
            self.forget_identity(code)
            path.unlink()
            self._progress.pop(code, None)
            shutil.rmtree(self.folder / EXPORTED, ignore_errors=True)
            append(self.folder / WITHDRAWN, f"{progress.condition}\n".encode())
            return True

    def forget_identity(self, code: str) -> None:
        """Delete the hash that recognizes a participant who comes again."""
        for identity in (self.folder / "identities").glob("*"):
            if json.loads(identity.read_text(encoding="utf-8"))["code"] == code:
                identity.unlink()

    def withdrawn(self) -> Counter[str]:
        """Condition → number of withdrawals. The condition is "" before the draw."""
        path = self.folder / WITHDRAWN
        return Counter(path.read_text(encoding="utf-8").splitlines() if path.exists() else ())

    def _path(self, code: str) -> Path | None:
        return self.folder / "participants" / code if _CODE.match(code) else None


# -- the progress of a participant: the state that follows from the events (paper, Figure 9) ---------------------------


Event = Mapping[str, Any]  # "kind", "at" (seconds since 1970), and the values of the kind
Closed = Literal["no_consent", "screened_out", "timed_out", "done"]
Step = Literal[
    "consent", "eligibility", "task", "chat", "rating", "final", "no_consent", "screened_out", "timed_out", "done"
]


@dataclass(frozen=True)
class Exchange:
    """One message of a participant and its reply. The reply is None until it arrives."""

    said: Event
    reply: Event | None
    failures: int = 0


@dataclass(frozen=True)
class Progress:
    """The state of a participant, computed from the events."""

    study: Study
    events: Sequence[Event]

    def every(self, kind: str) -> list[Event]:
        """The events of a kind."""
        return [event for event in self.events if event["kind"] == kind]

    def first(self, kind: str) -> Event | None:
        return next(iter(self.every(kind)), None)

    def _said(self, kind: str, name: str, otherwise: Any = None) -> Any:
        """A value of the first event of a kind."""
        event = self.first(kind)
        return event[name] if event else otherwise

    @property
    def slot(self) -> int | None:
        return self._said("assigned", "slot")

    @property
    def task(self) -> str:
        return self._said("assigned", "task", "")

    @property
    def condition(self) -> str:
        return self._said("assigned", "condition", "")

    @property
    def topic(self) -> str:
        return self._said("topic", "topic", "")

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """The messages so far, each with its reply. The last one may wait for its reply."""
        exchanges: list[Exchange] = []
        for event in self.events:
            if event["kind"] == "said":
                exchanges.append(Exchange(event, None))
            elif event["kind"] == "replied":
                exchanges[-1] = replace(exchanges[-1], reply=event)
            elif event["kind"] == "failed":
                exchanges[-1] = replace(exchanges[-1], failures=exchanges[-1].failures + 1)
        return exchanges

    @property
    def answered(self) -> int:
        """The number of messages with a reply."""
        return len(self.every("replied"))

    @property
    def pending(self) -> Exchange | None:
        """The message that waits for its reply. The last message of a spent budget waits for none."""
        last = self.exchanges[-1] if self.exchanges else None
        return last if last and last.reply is None and not self.first("spent") else None

    @property
    def messages(self) -> tuple[Message, ...]:
        messages = []
        for exchange in self.exchanges:
            messages.append(Message("user", exchange.said["text"]))
            if exchange.reply:
                messages.append(Message("assistant", exchange.reply["text"], exchange.reply.get("notation")))
        return tuple(messages)

    @property
    def final(self) -> Event:
        """The final answers. Empty before them."""
        return self.first("final") or {}

    @property
    def closed(self) -> Closed | None:
        return self._said("closed", "why")

    @property
    def at(self) -> float:
        """Time of the last event."""
        return float(self.events[-1]["at"])

    @property
    def minimum_reached(self) -> bool:
        return self.answered >= self.study.chat.minimum

    @property
    def at_limit(self) -> bool:
        """True at the maximum number of messages, and when the budget is spent."""
        return bool(self.first("spent")) or self.answered >= self.study.chat.maximum

    @property
    def cost(self) -> float:
        """Cost of the replies so far, in dollars."""
        return sum(event.get("cost", 0.0) for event in self.events)

    @property
    def step(self) -> Step:
        """The page that the participant sees next."""
        if self.closed:
            return self.closed
        if self.first("consent") is None:
            return "consent"
        if self.study.eligibility and self.first("eligibility") is None:
            return "eligibility"
        if not self.topic:
            return "task"
        if self.first("finished"):
            return "final"
        every = self.study.chat.rate_every
        if self.pending is None and every and len(self.every("rated")) < self.answered // every:
            return "rating"
        return "chat"
