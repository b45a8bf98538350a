"""One SQLite file behind one connection: its lock, its transactions, and its errors in one line each.

`CallStore` holds the model calls of a run in its file: finished calls with their cost, and a note on every answer.  A
resumed run pays for no call twice.  It is the client's cache (`CallCache`).
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import sqlite3
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.json_text import to_json
from discover_lib.engines.llm.calls.exchange import Answered, Completion, Request, Spent

LOCK = "run.lock"
Write = tuple[str, Sequence[Any]]  # a statement and its values


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
        self._lock_file = None if read_only else locked(path.parent)
        self._connection = (
            _read_only(path) if read_only else sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        )
        self._waiting: deque[tuple[Write, ...]] = deque()  # for `write_with_next`

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
            waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                for statement, values in itertools.chain(*waiting):
                    self._connection.execute(statement, values)
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self._waiting.extendleft(reversed(waiting))
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def execute(self, sql: str, values: Any = ()) -> None:
        """Run in the open transaction, or as a separate one."""
        self._connection.execute(sql, values)

    def execute_many(self, sql: str, rows: Iterable[Any]) -> None:
        """Within a transaction."""
        self._connection.executemany(sql, rows)

    def write_with_next(self, *writes: Write) -> None:
        """Run statements with the next commit.  Does not wait for the lock."""
        self._waiting.append(writes)

    def write_waiting(self) -> None:
        """Commit the waiting statements of all threads; afterwards those that waited before this call are on disk.

        Waiting for the disk takes as long for many rows as for one, and calls that begin together end together.
        """
        with self.lock:  # whose earlier holder may have written all of them
            if self._waiting:
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


def locked(folder: Path, name: str = LOCK, wait_seconds: float = 0.0) -> sqlite3.Connection:
    """Hold a folder's lock, which the system releases however the process ends; makes the folder if it is missing.

    Raises:
        LockedError: another process holds it for longer than `wait_seconds`.
        StoreError: the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock_file = sqlite3.connect(folder / name, wait_seconds, isolation_level=None, check_same_thread=False)
        lock_file.execute("BEGIN EXCLUSIVE")
    except (OSError, sqlite3.OperationalError) as error:
        if "locked" in str(error):
            raise LockedError(f"{folder}: another process is at work here; stop it or wait for it") from None
        raise StoreError(f"{folder}: cannot be written to ({error}); choose another folder") from None
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


# -- the model calls of a run -----------------------------------------------------------------------------------------

# SQLite keeps these texts in the file as they are written here, indentation included.
CALLS_TABLE = """CREATE TABLE calls (
        key TEXT PRIMARY KEY, purpose TEXT NOT NULL, model TEXT NOT NULL, sample INTEGER NOT NULL,
        request TEXT NOT NULL, reply TEXT NOT NULL, reply_hash TEXT NOT NULL, prompt_tokens INTEGER,
        completion_tokens INTEGER, cost REAL, seconds REAL NOT NULL, attempts INTEGER NOT NULL)"""
CALLS_INDEX = "CREATE INDEX calls_by_reply ON calls (reply_hash)"
ANSWERS_TABLE = """CREATE TABLE answers (
        key TEXT PRIMARY KEY, purpose TEXT NOT NULL, outcome TEXT, remarks TEXT NOT NULL)"""
INSERT_CALL = "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_ANSWER = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)"
# A call that is asked again keeps its row, and so its cost, under a key that no request has.
SET_ASIDE = "SET key = 'unusable:' || key || ':' || hex(randomblob(8)) WHERE instr(key, ':') = 0 AND "


class CallStore:
    """The calls of a run.  Thread-safe; `RunStore` has one of its file as `calls`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- the cache of calls (the client's `CallCache`) -------------------------------------------------------------

    def get(self, key: str) -> Completion | None:
        """The finished call of that key, or None."""
        row = self._database.one(
            "SELECT reply, prompt_tokens, completion_tokens, cost, seconds, attempts FROM calls WHERE key = ?", (key,)
        )
        if row is None:
            return None
        reply, prompt_tokens, completion_tokens, cost, seconds, attempts = row
        return Completion(
            **json.loads(reply),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cost=cost,
            seconds=seconds,
            attempts=attempts,
            cached=True,
        )

    def times_unusable(self, key: str) -> int:
        """How many answers to that call were put aside by `forget_answers`."""
        between = f"unusable:{key}:", f"unusable:{key};"  # ";" comes after ":"
        return int(self._database.one("SELECT count(*) FROM calls WHERE key > ? AND key < ?", between)[0])

    def put(self, key: str, request: Request, completion: Completion) -> None:
        """Keep a finished call, on disk when this ends.  No key of a provider is in the request."""
        unsaid = ["schema", "timeout_seconds", "session"]  # long and always the same, or not of the question
        unsaid += ["reasoning_effort"] if request.reasoning_effort is None else []
        asked = {name: value for name, value in vars(request).items() if name not in unsaid}
        reply: dict[str, Any] = {"text": completion.text, "finish_reason": completion.finish_reason}
        if completion.reasoning_tokens is not None:
            reply["reasoning_tokens"] = completion.reasoning_tokens
        row = (
            *(key, request.purpose, request.model, request.sample, to_json(asked), to_json(reply)),
            *(_hash(completion.text), completion.prompt_tokens, completion.completion_tokens),
            *(completion.cost, completion.seconds, completion.attempts),
        )
        self._database.write_with_next((f"UPDATE calls {SET_ASIDE} key = ?", (key,)), (INSERT_CALL, row))
        self._database.write_waiting()

    def forget_answers(self, texts: Iterable[str]) -> None:
        """Ask the calls with these answers again.

        Their cost stays counted (see `times_unusable`), and so do the notes on their answers.
        """
        with self._database.transaction():
            for hash_ in {_hash(text) for text in texts}:
                theirs = "key IN (SELECT key FROM calls WHERE reply_hash = ?)"
                self._database.execute(f"UPDATE answers {SET_ASIDE} {theirs}", (hash_,))
                self._database.execute(f"UPDATE calls {SET_ASIDE} reply_hash = ?", (hash_,))

    # -- notes on answers (the client's `CallCache`) ------------------------------------------------------------

    def put_answer(self, answer: Answered) -> None:
        """Note how an answer came about.  The next commit writes it, so it precedes the turn that uses it.

        A repeated call, as in a resumed run, replaces its note.
        """
        row = (answer.key, answer.purpose, answer.outcome, to_json(answer.remarks))
        self._database.write_with_next((INSERT_ANSWER, row))

    def put_answers(self) -> None:
        """Commit the notes."""
        self._database.write_waiting()

    def answers(self) -> tuple[dict[tuple[str, str], int], dict[str, int]]:
        """(purpose, outcome) → answers; remark → how often."""
        outcomes = self._database.all(
            "SELECT purpose, outcome, count(*) FROM answers WHERE outcome IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"
        )
        remarks = self._database.all(
            "SELECT each.key, sum(each.value) FROM answers, json_each(remarks) AS each GROUP BY 1"
        )
        return {(purpose, outcome): count for purpose, outcome, count in outcomes}, dict(remarks)

    # -- what was called -------------------------------------------------------------------------------------------

    def spent(self) -> Spent:
        return Spent(
            *self._database.one(
                "SELECT count(*), coalesce(sum(attempts), 0), coalesce(sum(prompt_tokens), 0), "
                "coalesce(sum(completion_tokens), 0), total(cost), coalesce(sum(cost IS NULL), 0) FROM calls"
            )
        )


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
