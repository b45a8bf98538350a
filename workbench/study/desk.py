"""A study on disk: one file a participant, so that a withdrawal is the removal of a file.

    study.yaml            the file that the study was begun with
    key                   salts what tells people apart; readable by this user alone
    participants/CODE     events, one JSON line each, forced to disk before they are answered
    identities/HASH       salted hash of an outside id → code; the id itself is never written
    withdrawn             a line for everybody who withdrew, with step and conditions: nothing else is left of them

One process serves a study, behind a lock.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, whole_file, write_json
from discover_lib.runs.database import locked
from workbench.lessons.class_answers import append, read_lines
from workbench.lessons.classroom import kept_key
from workbench.study.design import Study, load_study
from workbench.study.flow import Progress

STUDY_FILE, KEY_FILE, WITHDRAWN = "study.yaml", "key", "withdrawn"
EXPORTED, RUN = "export", "run"  # what `discover study export` writes: tables and a run; gone after a withdrawal
_CODE = re.compile(r"^[A-Z2-7]{16}$")


class Desk:
    """See the module.

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
        """The desk of a study, for taking participants: a new one, or the one where it was left.

        Raises:
            DiscoverError: the folder was begun with another version of the study.
            LockedError: another process serves this study.
        """
        folder = folder or outputs_folder() / f"study-{study.name}"
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)  # what people wrote is nobody else's on this machine
        kept = folder / STUDY_FILE
        if not kept.exists():
            with whole_file(kept) as file:
                yaml.safe_dump(msgspec.to_builtins(study), file, sort_keys=False, allow_unicode=True)
        elif (before := load_study(kept).version) != study.version:
            raise DiscoverError(
                f"{folder} was begun with another version of this file ({before}, now {study.version}); "
                "answers to different questions are not mixed: choose another --folder"
            )
        desk = cls(folder, study, clock)
        desk._lock_file = locked(folder)
        return desk

    @classmethod
    def read(cls, folder: Path) -> Desk:
        """The desk of a folder, to be looked at.

        Raises:
            DiscoverError: no study was begun there.
        """
        if not (folder / STUDY_FILE).is_file():
            raise DiscoverError(f"{folder}: no study here (no {STUDY_FILE})")
        return cls(folder, load_study(folder / STUDY_FILE))

    def close(self) -> None:
        if self._lock_file is not None:
            self._lock_file.close()

    # -- participants --------------------------------------------------------------------------------------------------

    def arrive(self, outside_id: str = "", session: str = "", *, bot: bool = False) -> str | None:
        """The code of a participant who arrives: a new one, or the same for the same outside id and session.

        None for somebody who is known and comes with another session: nobody takes part twice.
        """
        with self._writing:
            if outside_id:
                path = self.folder / "identities" / self.salted(outside_id)
                if path.exists():
                    known = json.loads(path.read_text(encoding="utf-8"))
                    return known["code"] if known["session"] == self.salted(session) else None
            code = base64.b32encode(secrets.token_bytes(10)).decode("ascii")
            self.add(code, "arrived", version=self.study.version, bot=bot)
            if outside_id:
                write_json(path, {"code": code, "session": self.salted(session)})
            return code

    def salted(self, text: str) -> str:
        return hmac.new(self.key.encode(), text.encode(), hashlib.sha256).hexdigest()

    def pseudonym(self, code: str) -> str:
        """The name of a participant in everything that is given out; it cannot be traced back to the code."""
        return f"p-{self.salted(f'name {code}')[:10]}"

    def progress(self, code: str) -> Progress | None:
        """Where a participant stands; None if there is no such code."""
        with self._writing:
            if code not in self._progress:
                path = self._path(code)
                if path is None or not path.exists():
                    return None
                self._progress[code] = Progress(self.study, tuple(read_lines(path)))
            return self._progress[code]

    def add(self, code: str, kind: str, **what: Any) -> Progress:
        """Keep an event: it is on the disk when this returns."""
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
        """Give a participant the first free slot of the drawn order; a slot is free again when its owner is gone."""
        with self._writing:
            taken = {progress.slot for _, progress in self.everybody() if progress.closed in (None, "done")}
            slot = next(number for number in range(len(taken) + 1) if number not in taken)
            cell = self.study.cell(slot)
            return self.add(code, "assigned", slot=slot, task=cell.task, arms=list(cell.arms))

    def everybody(self) -> Iterator[tuple[str, Progress]]:
        """(code, progress) of all who are here, in the order of their codes."""
        for path in sorted((self.folder / "participants").glob("*")):
            progress = self.progress(path.name)
            if progress is not None and progress.events:
                yield path.name, progress

    def expire(self) -> None:
        """Close what has rested for longer than the study allows; the slots are free again."""
        for code, progress in list(self.everybody()):
            if progress.closed is None and self.clock() - progress.at > 60 * self.study.timeout_minutes:
                self.add(code, "closed", why="timed_out")

    def withdraw(self, code: str) -> bool:
        """Delete everything that is known of a participant, exports included; returns whether there was anybody."""
        with self._writing:
            path, progress = self._path(code), self.progress(code)
            if path is None or progress is None:
                return False
            line = " ".join(filter(None, (progress.step, "+".join(progress.arms))))
            self.forget_identity(code)
            path.unlink()
            self._progress.pop(code, None)
            for given_out in (EXPORTED, RUN):
                shutil.rmtree(self.folder / given_out, ignore_errors=True)
            append(self.folder / WITHDRAWN, f"{line}\n".encode())
            return True

    def forget_identity(self, code: str) -> None:
        """Delete what would recognise a participant who comes again."""
        for identity in (self.folder / "identities").glob("*"):
            if json.loads(identity.read_text(encoding="utf-8"))["code"] == code:
                identity.unlink()

    def withdrawn(self) -> Counter[tuple[str, str]]:
        """(step, conditions) → how many withdrew there; "" where no condition was drawn yet, or none was kept."""
        path = self.folder / WITHDRAWN
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ()
        return Counter((step, arms) for step, _, arms in (line.partition(" ") for line in lines))

    def _path(self, code: str) -> Path | None:
        return self.folder / "participants" / code if _CODE.match(code) else None
