"""One SQLite file behind one connection: its lock, its transactions, and its errors in one line each."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError

LOCK = "run.lock"


class StoreError(DiscoverError):
    """The run cannot be opened or written.  The message is one line with the remedy."""


class LockedError(StoreError):
    """Another process writes to the folder."""


class Database:
    """An open file; one connection serves all threads of the process.

    Attributes:
        path: of the file.
        lock: held by the thread that uses the connection.
    """

    def __init__(self, path: Path, *, read_only: bool) -> None:
        """Open a file, for writing with the lock of its folder.

        Raises:
            LockedError: another process is writing to it.
            sqlite3.DatabaseError: it is damaged; see `errors_in_one_line`.
        """
        self.path = path
        self.lock = threading.RLock()
        self._connection = (
            _read_only(path) if read_only else sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        )
        self._lock_file = None if read_only else locked(path.parent)
        self._waiting: dict[str, dict[str, tuple[Any, ...]]] = {}  # statement → key → row, for `write_with_next`

    def close(self) -> None:
        with self.lock:
            if self._waiting and not self._connection.in_transaction:
                self.write_waiting()
            self._connection.close()
            if self._lock_file is not None:
                self._lock_file.close()

    def one(self, sql: str, values: Any = ()) -> Any:
        """The first row, or None."""
        with self.lock, errors_in_one_line(self.path):
            return self._connection.execute(sql, values).fetchone()

    def all(self, sql: str, values: Any = ()) -> list[Any]:
        with self.lock, errors_in_one_line(self.path):
            return self._connection.execute(sql, values).fetchall()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Atomic, and on disk when it ends; a nested transaction is part of the outer one."""
        with self.lock, errors_in_one_line(self.path):
            if self._connection.in_transaction:
                yield
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                for statement, rows in self._waiting.items():
                    self._connection.executemany(statement, rows.values())
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
            self._waiting.clear()

    def execute(self, sql: str, values: Any = ()) -> None:
        """Run in the open transaction, or as a separate one."""
        self._connection.execute(sql, values)

    def execute_many(self, sql: str, rows: Iterable[Any]) -> None:
        """Within a transaction."""
        self._connection.executemany(sql, rows)

    def write_with_next(self, statement: str, key: str, row: tuple[Any, ...]) -> None:
        """Write a row with the next commit; until then another row of the same key replaces it."""
        with self.lock:
            self._waiting.setdefault(statement, {})[key] = row

    def write_waiting(self) -> None:
        """Commit the waiting rows."""
        with self.transaction():
            pass


def _read_only(path: Path) -> sqlite3.Connection:
    """A reader beside a writer.  It also reads a finished run in a read-only folder."""
    uri = path.resolve().as_uri()
    options: dict[str, Any] = {"uri": True, "check_same_thread": False, "isolation_level": None}
    connection = sqlite3.connect(f"{uri}?mode=ro", **options)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:  # the file is in WAL mode, and its companions cannot be made here
        connection.close()
        connection = sqlite3.connect(f"{uri}?immutable=1", **options)
    return connection


def locked(folder: Path) -> sqlite3.Connection:
    """Hold the folder's lock: released by the system however the process ends.

    Raises:
        StoreError: another process holds it.
    """
    lock_file = sqlite3.connect(folder / LOCK, timeout=0, check_same_thread=False, isolation_level=None)
    try:
        lock_file.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock_file.close()
        if "locked" in str(error):
            raise LockedError(f"{folder}: another process is writing to this run; wait for it or stop it") from None
        raise
    return lock_file


@contextlib.contextmanager
def errors_in_one_line(path: Path) -> Iterator[None]:
    """Turn an SQLite error about a file into a `StoreError`, one line that names the file."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise  # a defect of this code, not of the file
    except sqlite3.DatabaseError as error:
        full = "disk" in str(error) and "full" in str(error)
        what = "the disk is full; make room and resume" if full else f"damaged, or not a run of this program ({error})"
        raise StoreError(f"{path}: {what}") from None
