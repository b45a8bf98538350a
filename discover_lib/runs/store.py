"""A run on disk: one SQLite file that loses nothing finished, wherever the process is killed.

It holds the run's configuration, the trees, one row per planned conversation (a *unit*), every finished turn as JSON,
the numbers of every finished conversation (its *digest*: what lists, tables and figures read in place of its turns),
what went wrong, and every finished model call (which is the cache of calls: a resumed run pays for none twice).  One
process writes, behind a lock; notebooks and commands read at the same time through `RunStore.read`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import re
import sqlite3
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.base.ids import DiscoverId
from discover_lib.core.advance import initial_state
from discover_lib.core.conversation import FORMAT, Conversation, FinalTurn, Stop, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.rules import Rules
from discover_lib.metrics.scores import leaked

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.probe import Verdict
    from discover_lib.engines.llm.calls.records import Answered, Completion, Request

FILE = "run.sqlite"
LOCK = "run.lock"
APPLICATION = 0x44697363  # "Disc": tells our files from other SQLite files
SCHEMA_VERSION = 1
SCHEMA = (
    "CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE trees (artifact TEXT PRIMARY KEY, domain TEXT NOT NULL, tree TEXT NOT NULL)",
    """CREATE TABLE units (
        place INTEGER PRIMARY KEY, artifact TEXT NOT NULL REFERENCES trees, assistants TEXT NOT NULL,
        trial INTEGER NOT NULL, seed INTEGER NOT NULL, setting TEXT NOT NULL, stop TEXT)""",
    """CREATE TABLE turns (
        place INTEGER NOT NULL REFERENCES units, turn INTEGER NOT NULL, discovered INTEGER NOT NULL, reward REAL,
        tokens INTEGER NOT NULL, chosen TEXT NOT NULL, unscored INTEGER NOT NULL, leaks INTEGER NOT NULL,
        data TEXT NOT NULL, PRIMARY KEY (place, turn))""",
    """CREATE TABLE failures (
        id INTEGER PRIMARY KEY, place INTEGER NOT NULL REFERENCES units, turn INTEGER NOT NULL, role TEXT NOT NULL,
        kind TEXT NOT NULL, message TEXT NOT NULL, came_back TEXT NOT NULL, ended INTEGER NOT NULL,
        retried INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE calls (
        key TEXT PRIMARY KEY, purpose TEXT NOT NULL, model TEXT NOT NULL, sample INTEGER NOT NULL,
        request TEXT NOT NULL, reply TEXT NOT NULL, reply_hash TEXT NOT NULL, prompt_tokens INTEGER,
        completion_tokens INTEGER, cost REAL, seconds REAL NOT NULL, attempts INTEGER NOT NULL)""",
    "CREATE INDEX calls_by_reply ON calls (reply_hash)",
    "CREATE INDEX failures_by_unit ON failures (place)",
)
# Added to files of the same version that were made without them.
ADDED_LATER = {
    "assessments": """(place INTEGER PRIMARY KEY REFERENCES units, failed INTEGER NOT NULL, data TEXT NOT NULL,
        digest TEXT NOT NULL)""",
    "digests": """(place INTEGER PRIMARY KEY REFERENCES units, turns INTEGER NOT NULL, discovered INTEGER NOT NULL,
        reward REAL NOT NULL, tokens INTEGER NOT NULL, unscored INTEGER NOT NULL, leaks INTEGER NOT NULL,
        data TEXT NOT NULL)""",
    "answers": "(key TEXT PRIMARY KEY, purpose TEXT NOT NULL, outcome TEXT, remarks TEXT NOT NULL)",
}
OF_UNITS = ("turns", "assessments", "digests")  # tables with what is known of a conversation
PROBED = "schema probe: "  # how the names of verdicts begin, in the table of the run
BEFORE_ANSWERS = "calls before answers"  # how many calls a version made that kept no note of its answers
# The sums over the turns of every unit: read off its digest where there is one.
INSERT_CALL = "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
# A call whose answer is asked for anew keeps its row, and so its cost, under a key that no request has.
SET_ASIDE = "UPDATE calls SET key = 'unusable:' || key || ':' || hex(randomblob(8)) WHERE instr(key, ':') = 0 AND "
SUMS = "count(turn), total(discovered), total(reward), total(tokens), total(unscored), total(leaks > 0)"
NUMBERS = f"""SELECT place, turns, discovered, reward, tokens, unscored, leaks FROM digests UNION ALL
    SELECT place, {SUMS} FROM units LEFT JOIN turns USING (place)
    WHERE place NOT IN (SELECT place FROM digests) GROUP BY place"""
AT_ONCE = 64  # conversations whose turns are read together
ENDED = "stop IS NOT NULL AND stop != 'error'"


class StoreError(DiscoverError):
    """The run cannot be opened or written as asked; the message is one line that says what to do."""


class LockedError(StoreError):
    """Another process writes to the folder."""


@dataclass(frozen=True)
class UnitRow:
    """One planned conversation as the store keeps it.  `setting` goes into the conversation as it is."""

    place: int  # position in the run, from 0
    artifact: str
    assistants: tuple[str, ...]
    trial: int
    seed: int
    setting: Mapping[str, Any]


@dataclass(frozen=True)
class TurnRow:
    """A finished turn as the store keeps it: what lists and filters need, and the whole turn as JSON."""

    turn: int
    discovered: int
    reward: float | None
    tokens: int
    chosen: str
    unscored: int
    leaks: int
    data: str


@dataclass(frozen=True)
class Failure:
    """What went wrong in one turn, and what came back.

    Attributes:
        role: judge, voice, assistant ...
        kind: "content" (an answer came back and could not be used), "timeout", "server" ...; see `LLMError`.
        came_back: the raw answers that could not be used.
        ended: it stopped the conversation; otherwise a candidate went unscored and the conversation went on.
    """

    turn: int
    role: str
    kind: str
    message: str
    came_back: tuple[str, ...] = ()
    ended: bool = True

    @property
    def line(self) -> str:
        return f"{self.role}, turn {self.turn}: {self.message}"


@dataclass(frozen=True)
class Listed:
    """One line of a run's table of contents, read without loading the conversation."""

    place: int
    artifact: str
    domain: str
    assistants: tuple[str, ...]
    trial: int
    stop: Stop | None  # None: not finished yet
    turns: int
    discovered: int  # intents discovered beyond the initial ones
    reward: float  # sum over turns
    tokens: int
    unscored: int  # candidates without a judgement
    leaks: int  # user messages that said what the user could not know


@dataclass(frozen=True)
class Call:
    """A finished call, as it was asked and answered.  `cost` is in dollars, None if unknown."""

    key: str
    purpose: str
    model: str
    messages: tuple[Mapping[str, str], ...]
    seed: int | None
    text: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    seconds: float
    attempts: int


@dataclass(frozen=True)
class Counts:
    """How far a run is."""

    units: int
    finished: int
    failed: int
    turns: int
    turns_open: int  # of conversations not finished

    @property
    def open(self) -> int:
        return self.units - self.finished - self.failed


@dataclass(frozen=True)
class Spent:
    """What the finished calls of a run took.  `cost` sums the known prices, `unpriced` counts the unknown ones."""

    calls: int
    attempts: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    unpriced: int


class RunStore:
    """See the module.  Made by `RunStore.write` or `RunStore.read`; also implements the client's `CallCache`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock_file: sqlite3.Connection | None) -> None:
        self.path = path
        self._connection = connection
        self._lock_file = lock_file
        self._lock = threading.RLock()  # one connection serves all threads of the writing process
        self._answers: dict[str, Answered] = {}  # noted, to be written with what is committed next
        self._calls_before = 0  # of a file that an earlier version made, while it is only read
        self._calls_to_write: deque[tuple[tuple[Any, ...], Future[None]]] = deque()

    # -- opening and closing ---------------------------------------------------------------------------------------

    @classmethod
    def write(cls, folder: Path, configuration: Mapping[str, Any], notes: Mapping[str, Any] | None = None) -> RunStore:
        """Open a run for writing: a new one in a new or empty folder, or the same one again.

        Args:
            configuration: everything that decides the results, as plain JSON values; never a key.
            notes: what is worth knowing but decides nothing (when, where); kept from the first time.

        Raises:
            StoreError: the folder holds something else, another process is writing to the run, the file is damaged,
                or the run was made with another configuration.
        """
        path = folder / FILE
        if not path.exists() and any(each.name != LOCK for each in folder.iterdir()):
            raise StoreError(f"{folder} holds other files and no run; choose another --run folder")
        with _told(path):
            store = cls(path, sqlite3.connect(path, check_same_thread=False, isolation_level=None), locked(folder))
            try:
                store._settle(configuration, notes or {})
            except BaseException:
                store.close()
                raise
        return store

    @classmethod
    def read(cls, folder: Path) -> RunStore:
        """Open a run for reading only; it may be going on at the same time.

        Raises:
            StoreError: there is no run, or the file is not one of ours or damaged.
        """
        path = folder / FILE if folder.is_dir() else folder
        if not path.is_file():
            raise StoreError(f"{folder}: no run here (no {FILE})")
        with _told(path):
            store = cls(path, _read_only(path), None)
            try:
                store._check_kind()
                store._add_tables("TEMP")
            except BaseException:
                store.close()
                raise
        return store

    def close(self) -> None:
        with self._lock:
            if self._answers and not self._connection.in_transaction:
                self.put_answers()
            self._connection.close()
            if self._lock_file is not None:
                self._lock_file.close()

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _settle(self, configuration: Mapping[str, Any], notes: Mapping[str, Any]) -> None:
        """Set the file up, or find that it holds this very run."""
        self._connection.execute("PRAGMA synchronous=FULL")  # of this connection; the journal's mode is the file's
        if self._is_blank():
            self._connection.execute("PRAGMA journal_mode=WAL")
            with self._transaction():
                for statement in SCHEMA:
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id={APPLICATION}")
                self._connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
                values = [("configuration", to_json(configuration)), ("notes", to_json(notes))]
                self._connection.executemany("INSERT INTO run VALUES (?, ?)", values)
                self._add_tables()
            return
        self._check_kind()
        difference = first_difference(_kind_last(self.configuration), _kind_last(json.loads(to_json(configuration))))
        if difference:
            raise StoreError(
                f"{self.path.parent} holds a run with another configuration: {difference}; "
                "choose another --run folder, or give the same options to resume"
            )
        self._add_tables()

    def _add_tables(self, kind: Literal["", "TEMP"] = "") -> None:
        """Add the tables that the file was made without; a reader has them to itself, empty."""
        existing = {name for (name,) in self._all("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for name in ADDED_LATER.keys() - existing:
            self._connection.execute(f"CREATE {kind} TABLE {name} {ADDED_LATER[name]}")
        if "answers" not in existing:
            self._calls_before = self.spent().calls
            if self._calls_before and not kind:
                self._connection.execute("INSERT INTO run VALUES (?, ?)", (BEFORE_ANSWERS, str(self._calls_before)))

    def _is_blank(self) -> bool:
        """Nothing was committed to the file yet: it is new, or its creation was cut off."""
        return not self._one("SELECT count(*) FROM sqlite_master")[0] and not self._one("PRAGMA application_id")[0]

    def _check_kind(self) -> None:
        if self._one("PRAGMA application_id")[0] != APPLICATION:
            raise StoreError(f"{self.path}: an SQLite file, but not a run of this program")
        version = self._one("PRAGMA user_version")[0]
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"{self.path}: a run of format {version}; this version reads format {SCHEMA_VERSION} "
                "(use the version that made it)"
            )

    # -- the run ---------------------------------------------------------------------------------------------------

    @property
    def configuration(self) -> dict[str, Any]:
        return json.loads(self._one("SELECT value FROM run WHERE name = 'configuration'")[0])

    def reconfigure(self, configuration: Mapping[str, Any]) -> None:
        """Give the run another configuration, under which its conversations would be the same."""
        with self._transaction():
            self._connection.execute("UPDATE run SET value = ? WHERE name = 'configuration'", (to_json(configuration),))

    @property
    def notes(self) -> dict[str, Any]:
        return json.loads(self._one("SELECT value FROM run WHERE name = 'notes'")[0])

    @functools.cached_property
    def rules(self) -> Rules:
        return Rules.from_dict(self.configuration["rules"])

    def add_units(self, trees: Mapping[str, tuple[str, Mapping[str, Any]]], units: Iterable[UnitRow]) -> None:
        """Write the plan down: artifact → (domain, tree in plain form), and what is to be run.  Idempotent."""
        with self._transaction():
            self._connection.executemany(
                "INSERT OR IGNORE INTO trees VALUES (?, ?, ?)",
                ((artifact, domain, to_json(tree)) for artifact, (domain, tree) in trees.items()),
            )
            self._connection.executemany(
                "INSERT OR IGNORE INTO units VALUES (?, ?, ?, ?, ?, ?, NULL)",
                (
                    (each.place, each.artifact, to_json(each.assistants), each.trial, each.seed, to_json(each.setting))
                    for each in units
                ),
            )

    def unfinished(self) -> list[int]:
        """Places of the units still to be run, or to be run again since they ended in an error."""
        rows = self._all("SELECT place FROM units WHERE stop IS NULL OR stop = 'error' ORDER BY place")
        return [place for (place,) in rows]

    def put_turns(
        self,
        place: int,
        turns: Sequence[TurnRow],
        stop: Stop | None,
        failures: Iterable[Failure] = (),
        digest: str | None = None,
    ) -> None:
        """Commit finished turns of a unit, why it ended if it did, and what went wrong on the way.

        Args:
            digest: of a conversation that is finished with these turns; see `put_digest`.
        """
        with self._transaction():
            self._insert_turns(place, turns)
            self._insert_failures(place, failures)
            self._connection.execute("UPDATE units SET stop = ? WHERE place = ?", (stop, place))
            if digest is not None:
                self.put_digest(place, digest)

    def put_whole(
        self,
        place: int,
        turns: Sequence[TurnRow],
        stop: Stop | None,
        failures: Iterable[Failure] = (),
        digest: str | None = None,
    ) -> None:
        """Commit a conversation that was run from the start, in place of what was there of it."""
        with self._transaction():
            for table in OF_UNITS:
                self._connection.execute(f"DELETE FROM {table} WHERE place = ?", (place,))
            self.put_turns(place, turns, stop, failures, digest)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Commit what is put within at once: one wait for the disk in place of many.  For work that costs nothing."""
        with self._transaction():
            yield

    def put_digest(self, place: int, digest: str) -> None:
        """Keep the numbers of a finished conversation (JSON; see `discover_lib.metrics.scores`) beside its turns."""
        with self._transaction():
            self._connection.execute(
                f"INSERT OR REPLACE INTO digests SELECT ?, {SUMS}, ? FROM turns WHERE place = ?", (place, digest, place)
            )

    def put_failures(self, place: int, failures: Iterable[Failure]) -> None:
        """Commit failures that ended a unit: its stop is then "error"."""
        self.put_turns(place, (), "error", failures)

    def _insert_turns(self, place: int, turns: Sequence[TurnRow]) -> None:
        self._connection.executemany(
            "INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((place, *_AS_ROW(turn)) for turn in turns),
        )

    def _insert_failures(self, place: int, failures: Iterable[Failure]) -> None:
        self._connection.executemany(
            "INSERT INTO failures (place, turn, role, kind, message, came_back, ended) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (place, each.turn, each.role, each.kind, each.message, to_json(each.came_back), each.ended)
                for each in failures
            ),
        )

    def reopen(self, place: int) -> None:
        """Make a unit go on if it ended in an error: its last answers that could not be used are asked for anew."""
        if self._one("SELECT stop FROM units WHERE place = ?", (place,)) != ("error",):
            return
        with self._transaction():
            rows = self._all("SELECT came_back FROM failures WHERE place = ? AND ended AND NOT retried", (place,))
            self.forget_answers(text for (texts,) in rows for text in json.loads(texts))
            self._connection.execute("UPDATE failures SET retried = 1 WHERE place = ? AND ended", (place,))
            self._connection.execute("UPDATE units SET stop = NULL WHERE place = ? AND stop = 'error'", (place,))

    def forget_answers(self, texts: Iterable[str]) -> None:
        """Have the calls that were answered so asked anew.

        What they took stays counted (see `times_unusable`), and so does what became of their answers.
        """
        with self._transaction():
            for hash_ in {_hash(text) for text in texts}:
                before = self._all("SELECT rowid, key FROM calls WHERE reply_hash = ?", (hash_,))
                self._connection.execute(f"{SET_ASIDE} reply_hash = ?", (hash_,))
                for row, key in before:
                    now = self._one("SELECT key FROM calls WHERE rowid = ?", (row,))
                    self._connection.execute("UPDATE answers SET key = ? WHERE key = ?", (*now, key))

    def put_assessment(self, place: int, data: Mapping[str, Any], digest: Mapping[str, Any], *, failed: bool) -> None:
        """Commit what an evaluation found about a finished conversation (see `discover_lib.metrics.scores`).

        Args:
            data: the assessment whole, the final turn under "final".
            digest: what tables and figures need of the conversation, so that they need not read it.
            failed: something of it could not be had and is to be tried again.
        """
        row = (place, failed, record_json(data), record_json(digest))
        with self._transaction():
            self._connection.execute("INSERT OR REPLACE INTO assessments VALUES (?, ?, ?, ?)", row)

    # -- reading ---------------------------------------------------------------------------------------------------

    def assessment(self, place: int) -> dict[str, Any] | None:
        """What `put_assessment` was given as `data`, or None."""
        row = self._one("SELECT data FROM assessments WHERE place = ?", (place,))
        return json.loads(row[0]) if row else None

    def digests(self) -> list[tuple[int, str | None]]:
        """(place, digest) of every finished conversation in the order of the plan: of its assessment, if it has one.

        None for one of an older version, whose turns must be read.
        """
        return self._all(
            "SELECT place, coalesce(assessments.digest, digests.data) FROM units "
            f"LEFT JOIN assessments USING (place) LEFT JOIN digests USING (place) WHERE {ENDED} ORDER BY place"
        )

    def undigested(self) -> list[int]:
        """Places of finished conversations that have no digest: those of an older version."""
        rows = self._all(f"SELECT place FROM units WHERE {ENDED} AND place NOT IN (SELECT place FROM digests)")
        return [place for (place,) in rows]

    def unassessed(self) -> list[int]:
        """Places of finished conversations without an assessment, or with one that failed in part."""
        done = "SELECT place FROM assessments WHERE NOT failed"
        rows = self._all(f"SELECT place FROM units WHERE {ENDED} AND place NOT IN ({done}) ORDER BY place")
        return [place for (place,) in rows]

    def trees(self) -> dict[str, IntentTree]:
        """Artifact → its tree."""
        rows = self._all("SELECT artifact, tree FROM trees")
        return {artifact: IntentTree.from_dict(json.loads(tree)) for artifact, tree in rows}

    def conversation(self, place: int) -> Conversation:
        """One conversation, finished or as far as it is.

        Raises:
            StoreError: the run has no such unit.
        """
        row = self._one(
            "SELECT tree, seed, stop, setting FROM units JOIN trees USING (artifact) WHERE place = ?", (place,)
        )
        if row is None:
            raise StoreError(f"{self.path.parent}: no conversation {place} in this run")
        tree, seed, stop, setting = row
        turns = self._all("SELECT data FROM turns WHERE place = ? ORDER BY turn", (place,))
        whole = self._rebuilt(IntentTree.from_dict(json.loads(tree)), seed, stop, json.loads(setting), turns)
        final = (self.assessment(place) or {}).get("final")
        return dataclasses.replace(whole, final=FinalTurn.from_dict(final)) if final else whole

    def _rebuilt(
        self, tree: IntentTree, seed: int, stop: Stop | None, setting: Mapping[str, Any], turns: Sequence[tuple[str]]
    ) -> Conversation:
        rules = self.rules
        # The start follows from tree, rules and seed; where a turn is stored, its own record of the start counts.
        taken = tuple(Turn.from_dict(json.loads(data)) for (data,) in turns)
        start = taken[0].before if taken else initial_state(tree, rules, seed)
        return Conversation(tree, rules, seed, start, taken, stop, setting)

    def conversations(self, *, finished: bool = True, **filters: Any) -> Iterator[Conversation]:
        """Conversations in the order of the plan, one at a time; `filters` are those of `listing`."""
        for row in self.listing(**filters):
            if not finished or row.stop not in (None, "error"):
                yield self.conversation(row.place)

    def lines(self) -> Iterator[str]:
        """Every finished conversation in the order of the plan as one line of JSON, `Conversation.to_dict` of it."""
        return (line.decode() for line in self.encoded_lines())

    def encoded_lines(self) -> Iterator[bytes]:
        """`lines` in UTF-8, as they stand in a file.

        Strung together from what is stored, without making the conversations, and without decoding the turns.
        """
        rules = _spaced(to_json(self.rules.to_dict()).encode())
        trees = {artifact: _spaced(tree.encode()) for artifact, tree in self._all("SELECT artifact, tree FROM trees")}
        last = self._one("SELECT coalesce(max(place), -1) FROM units")[0]
        for first in range(0, last + 1, AT_ONCE):
            rows = self._all(
                f"""SELECT place, artifact, seed, stop, setting, assessments.data, CAST(turns.data AS BLOB) FROM units
                LEFT JOIN assessments USING (place) LEFT JOIN turns USING (place)
                WHERE {ENDED} AND place BETWEEN ? AND ? ORDER BY place, turn""",
                (first, first + AT_ONCE - 1),
            )
            for (place, artifact, seed, stop, setting, assessment), group in itertools.groupby(
                rows, lambda row: row[:-1]
            ):
                turns = [row[-1] for row in group if row[-1] is not None]
                start = (
                    _member(turns[0], "before") if turns else to_json(self.conversation(place).start.to_dict()).encode()
                )
                parts = {
                    "format": f'"{FORMAT}"'.encode(),
                    "tree": trees[artifact],
                    "rules": rules,
                    "seed": str(seed).encode(),
                    "start": _spaced(start),
                    "turns": b"[" + b", ".join(map(_spaced, turns)) + b"]",
                    "stop": f'"{stop}"'.encode(),
                    "setting": _spaced(setting.encode()),
                }
                final = _member(assessment.encode(), "final") if assessment else b"null"
                if final != b"null":
                    parts["final"] = _spaced(final)
                yield b"{" + b", ".join(f'"{name}": '.encode() + value for name, value in parts.items()) + b"}"

    def flawed(self) -> dict[int, int]:
        """Place → how many of its user messages are flawed by their voice's own check.  Reads every turn."""
        return dict(
            self._all(
                "SELECT place, count(*) FROM turns WHERE json_array_length(data, '$.flaws') > 0 GROUP BY place", {}
            )
        )

    def listing(
        self,
        *,
        artifact: str | None = None,
        domain: str | None = None,
        assistant: str | None = None,
        stop: Stop | Literal["open"] | None = None,
        failed_role: str | None = None,
        leaking: bool = False,
    ) -> list[Listed]:
        """The run's table of contents in the order of the plan; every filter given must hold.

        `assistant` matches conversations in which it took part, `stop="open"` those not finished, `failed_role`
        those in which that role failed (and was not retried since).
        """
        rows = self._all(
            f"""SELECT place, artifact, domain, assistants, trial, stop, turns, discovered, reward, tokens, unscored,
                leaks
            FROM units JOIN trees USING (artifact) JOIN ({NUMBERS}) USING (place)
            WHERE (:artifact IS NULL OR artifact = :artifact) AND (:domain IS NULL OR domain = :domain)
                AND (:assistant IS NULL OR EXISTS (SELECT 1 FROM json_each(assistants) WHERE value = :assistant))
                AND (:stop IS NULL OR coalesce(stop, 'open') = :stop)
                AND (:role IS NULL OR place IN (SELECT place FROM failures WHERE role = :role AND NOT retried))
                AND (NOT :leaking OR leaks) ORDER BY place""",
            {
                "artifact": artifact,
                "domain": domain,
                "assistant": assistant,
                "stop": stop,
                "role": failed_role,
                "leaking": leaking,
            },
        )
        named = {names: tuple(json.loads(names)) for names in {row[3] for row in rows}}
        return [
            Listed(
                place,
                of,
                where,
                named[names],
                trial,
                why,
                int(turns),
                int(discovered),
                reward,
                int(tokens),
                *map(int, rest),
            )
            for place, of, where, names, trial, why, turns, discovered, reward, tokens, *rest in rows
        ]

    def choices(self) -> tuple[list[str], list[str], int]:
        """What a list of conversations can be narrowed by: assistants, artifacts, and the most discovered in one."""
        groups = self._all("SELECT assistants FROM units GROUP BY assistants ORDER BY min(place)")
        artifacts = self._all("SELECT artifact FROM units GROUP BY artifact ORDER BY min(place)")
        (most,) = self._one(f"SELECT coalesce(max(discovered), 0) FROM ({NUMBERS})")
        names = dict.fromkeys(name for (group,) in groups for name in json.loads(group))
        return list(names), [artifact for (artifact,) in artifacts], int(most)

    def failures(self, place: int | None = None, *, retried: bool = False) -> list[tuple[int, Failure]]:
        """(place, failure) of the run or of one unit; those of turns retried since only if asked for."""
        rows = self._all(
            "SELECT place, turn, role, kind, message, came_back, ended FROM failures "
            "WHERE (:place IS NULL OR place = :place) AND (:retried OR NOT retried) ORDER BY place, turn, id",
            {"place": place, "retried": retried},
        )
        return [
            (of, Failure(turn, role, kind, message, tuple(json.loads(texts)), bool(ended)))
            for of, turn, role, kind, message, texts, ended in rows
        ]

    def unscored(self) -> dict[str, int]:
        """What could not be scored → how often: "judge" for candidates, else the part of an assessment."""
        (candidates,) = self._one(f"SELECT total(unscored) FROM ({NUMBERS})")
        parts = self._all(
            """SELECT json_extract(failure.value, '$.part'), count(*)
            FROM assessments, json_each(assessments.data, '$.failures') AS failure WHERE failed GROUP BY 1 ORDER BY 1"""
        )
        return ({"judge": int(candidates)} if candidates else {}) | dict(parts)

    def leaks(self) -> int:
        """User messages that give away what the user cannot know."""
        return int(self._one(f"SELECT total(leaks) FROM ({NUMBERS})")[0])

    def scoring_failures(self, limit: int) -> list[tuple[int, dict[str, Any]]]:
        """(place, `ScoringFailure` in plain form) of the first parts of assessments that could not be had."""
        rows = self._all(
            """SELECT place, failure.value FROM assessments, json_each(assessments.data, '$.failures') AS failure
            WHERE failed ORDER BY place LIMIT ?""",
            (limit,),
        )
        return [(place, json.loads(failure)) for place, failure in rows]

    def failures_by_role(self) -> dict[str, int]:
        """How many failures stand, per role, most first."""
        rows = self._all("SELECT role, count(*) FROM failures WHERE NOT retried GROUP BY role ORDER BY 2 DESC, 1")
        return dict(rows)

    def counts(self) -> Counts:
        row = self._one(
            f"""SELECT count(*), total({ENDED}), total(stop = 'error'), total(taken), total((stop IS NULL) * taken) FROM
                (SELECT stop, coalesce(digests.turns, (SELECT count(*) FROM turns WHERE turns.place = units.place))
                AS taken FROM units LEFT JOIN digests USING (place))"""
        )
        return Counts(*map(int, row))

    def spent(self) -> Spent:
        return Spent(
            *self._one(
                "SELECT count(*), coalesce(sum(attempts), 0), coalesce(sum(prompt_tokens), 0), "
                "coalesce(sum(completion_tokens), 0), total(cost), coalesce(sum(cost IS NULL), 0) FROM calls"
            )
        )

    def calls(self, purpose: str | None = None) -> Iterator[Call]:
        """The finished calls, of one purpose or all, in the order in which they were finished."""
        rows = self._all(
            "SELECT key, purpose, model, request, reply, prompt_tokens, completion_tokens, cost, seconds, attempts "
            "FROM calls WHERE :purpose IS NULL OR purpose = :purpose ORDER BY rowid",
            {"purpose": purpose},
        )
        for key, why, model, request, reply, *took in rows:
            asked = json.loads(request)
            yield Call(key, why, model, tuple(asked["messages"]), asked["seed"], json.loads(reply)["text"], *took)

    def call_lengths(self) -> dict[str, tuple[int, float, float, float]]:
        """Purpose → (calls, mean prompt tokens, mean completion tokens, mean seconds), of calls that said both."""
        rows = self._all(
            "SELECT purpose, count(*), avg(prompt_tokens), avg(completion_tokens), avg(seconds) FROM calls "
            "WHERE prompt_tokens IS NOT NULL AND completion_tokens IS NOT NULL GROUP BY purpose"
        )
        return {purpose: (count, prompt, completion, seconds) for purpose, count, prompt, completion, seconds in rows}

    # -- the cache of calls (the client's `CallCache`) -------------------------------------------------------------

    def get(self, key: str) -> Completion | None:
        """The finished call of that key, or None."""
        from discover_lib.engines.llm.calls.records import Completion

        row = self._one(
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
        """How many answers to that call were put aside by `forget_answers`; earlier versions kept none of them."""
        between = f"unusable:{key}:", f"unusable:{key};"  # ";" comes after ":"
        return int(self._one("SELECT count(*) FROM calls WHERE key > ? AND key < ?", between)[0])

    def put(self, key: str, request: Request, completion: Completion) -> None:
        """Keep a finished call.  The request holds no key: those never leave the environment."""
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
        self._put_with_others(row)

    def _put_with_others(self, row: tuple[Any, ...]) -> None:
        """Write the row of a call, on disk when this ends, with those of all threads that wait to write theirs.

        Waiting for the disk takes as long for many rows as for one, and calls that begin together end together.
        """
        written: Future[None] = Future()
        self._calls_to_write.append((row, written))
        with self._lock:
            if not written.done():
                waiting = [self._calls_to_write.popleft() for _ in range(len(self._calls_to_write))]
                try:
                    with self._transaction():
                        for values, _ in waiting:
                            self._connection.execute(f"{SET_ASIDE} key = ?", values[:1])
                            self._connection.execute(INSERT_CALL, values)
                except BaseException as error:
                    for _, other in waiting:
                        other.set_exception(error)
                    raise
                for _, other in waiting:
                    other.set_result(None)
        written.result()

    # -- what probes said (the client's `KeepsVerdicts`) -----------------------------------------------------------

    def schema_verdict(self, model: str, server: str) -> Verdict | None:
        row = self._one("SELECT value FROM run WHERE name = ?", (f"{PROBED}{model} at {server}",))
        return row[0] if row else None

    def put_schema_verdict(self, model: str, server: str, verdict: Verdict) -> None:
        with self._transaction():
            row = (f"{PROBED}{model} at {server}", verdict)
            self._connection.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", row)

    def schema_verdicts(self) -> dict[str, Verdict]:
        """Model and server in words → what its probe said."""
        rows = self._all("SELECT name, value FROM run WHERE substr(name, 1, ?) = ? ORDER BY 1", (len(PROBED), PROBED))
        return {name.removeprefix(PROBED): verdict for name, verdict in rows}

    # -- notes on answers (the client's `KeepsAnswers`) ------------------------------------------------------------

    def put_answer(self, answer: Answered) -> None:
        """Note how an answer came about; on disk with whatever is committed next, so before the turn that rests on it.

        The same call asked for again, as by a resumed run, replaces its note.
        """
        with self._lock:
            self._answers[answer.key] = answer

    def put_answers(self) -> None:
        """Commit what is noted."""
        with self._transaction():
            pass

    def answers(self) -> tuple[dict[tuple[str, str], int], dict[str, int], int]:
        """(purpose, outcome) → answers; remark → how often; calls of an earlier version, which noted nothing.

        Versions before the outcome "tidied" noted such answers as clean or repaired.
        """
        from discover_lib.engines.llm.calls.records import AS_THEY_CAME, TIDYING

        as_they_came, tidied = (", ".join("?" * len(names)) for names in (AS_THEY_CAME, TIDYING))
        outcomes = self._all(
            f"""SELECT purpose, CASE WHEN outcome IN ({as_they_came}) AND EXISTS
                (SELECT 1 FROM json_each(remarks) AS each WHERE each.key IN ({tidied})) THEN 'tidied' ELSE outcome END
            AS became, count(*) FROM answers WHERE outcome IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2""",
            (*AS_THEY_CAME, *TIDYING),
        )
        remarks = self._all("SELECT each.key, sum(each.value) FROM answers, json_each(remarks) AS each GROUP BY 1")
        before = self._one("SELECT value FROM run WHERE name = ?", (BEFORE_ANSWERS,))
        counted = {(purpose, outcome): count for purpose, outcome, count in outcomes}
        return counted, dict(remarks), int(before[0]) if before else self._calls_before

    def answers_with(self, remark: str, limit: int = -1) -> list[tuple[str, str]]:
        """(purpose, text) of the first answers in which that was seen."""
        rows = self._all(
            """SELECT answers.purpose, reply FROM answers JOIN calls USING (key), json_each(remarks) AS each
            WHERE each.key = ? ORDER BY calls.rowid LIMIT ?""",
            (remark, limit),
        )
        return [(purpose, json.loads(reply)["text"]) for purpose, reply in rows]

    # -- SQL -------------------------------------------------------------------------------------------------------

    def _one(self, sql: str, values: Any = ()) -> Any:
        with self._lock, _told(self.path):
            return self._connection.execute(sql, values).fetchone()

    def _all(self, sql: str, values: Any = ()) -> list[Any]:
        with self._lock, _told(self.path):
            return self._connection.execute(sql, values).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing, on disk when it ends; one inside another is part of it."""
        with self._lock, _told(self.path):
            if self._connection.in_transaction:
                yield
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                if self._answers:
                    notes = [
                        (each.key, each.purpose, each.outcome, to_json(each.remarks)) for each in self._answers.values()
                    ]
                    self._connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", notes)
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
            self._answers.clear()


def id_of_run(folder: Path) -> DiscoverId:
    """The id of all that a run's folder holds."""
    whole, outputs = folder.resolve(), outputs_folder().resolve()
    return DiscoverId(str(whole.relative_to(outputs) if whole.is_relative_to(outputs) else whole))


def turn_row(turn: Turn) -> TurnRow:
    """The row of a turn.  Pure: workers make rows, the writer only inserts them."""
    return TurnRow(
        turn=turn.index,
        discovered=len(turn.after.discovered) - len(turn.before.discovered),
        reward=turn.candidate.reward.total if turn.candidate.reward else None,
        tokens=turn.reply.n_tokens,
        chosen=turn.reply.assistant,
        unscored=sum(each.evaluation is None for each in turn.candidates),
        leaks=len(turn.leaks) or int(leaked(turn)),
        data=record_json(turn.encodable()),
    )


_AS_ROW = attrgetter(*(field.name for field in dataclasses.fields(TurnRow)))


def _kind_last(configuration: dict[str, Any]) -> dict[str, Any]:
    """What can be changed by an option first, beginning with the domain, on which much depends: a simulation becomes
    an evaluation where nothing else differs.
    """
    places = {"domain": -1, "kind": 1, "final_request": 1}
    return {key: configuration[key] for key in sorted(configuration, key=lambda key: places.get(key, 0))}


def first_difference(ours: Any, theirs: Any, name: str = "") -> str | None:
    """Where two configurations first differ, in words ("turns is 5 in the run and 6 now"), or None."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in dict.fromkeys([*ours, *theirs]):
            where = f"{name}.{key}" if name else key
            if key not in ours or key not in theirs:
                return f"{where} is {'not set' if key not in ours else _short(ours[key])} in the run and " + (
                    "not set now" if key not in theirs else f"{_short(theirs[key])} now"
                )
            difference = first_difference(ours[key], theirs[key], where)
            if difference:
                return difference
        return None
    return None if ours == theirs else f"{name} is {_short(ours)} in the run and {_short(theirs)} now"


def to_json(value: Any) -> str:
    """Compact JSON that SQLite can hold: text that is no valid Unicode is escaped, anything else stays readable."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, cut off by a model
        return json.dumps(value, separators=(",", ":"))
    return text


def record_json(record: Any) -> str:
    """`to_json` of plain values without infinities, eight times as fast: most of a run's JSON is that of its turns.

    A number from 1e16 on is spelt differently, and is the same number.
    """
    try:
        text = _ENCODER.encode(record).decode()
    except UnicodeEncodeError:
        return to_json(record)
    return to_json(record) if "0.0000" in text or _SMALL.search(text) else text


_SMALL = re.compile(r"e-[6-9]")  # as "0.0000": Python writes 1e-05, 1e-06 ...
_ENCODER = msgspec.json.Encoder()


def _spaced(text: bytes) -> bytes:
    """JSON with a space after every comma and colon, as `json.dumps` writes it; nothing else is touched."""
    try:
        return msgspec.json.format(text, indent=0)
    except msgspec.DecodeError:  # an escaped half of a surrogate pair
        return json.dumps(json.loads(text)).encode()


def _member(text: bytes, name: str) -> bytes:
    """The JSON of one member of an object."""
    try:
        return bytes(msgspec.json.decode(text, type=dict[str, msgspec.Raw])[name])
    except msgspec.DecodeError:
        return to_json(json.loads(text)[name]).encode()


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _read_only(path: Path) -> sqlite3.Connection:
    """A reader beside a writer; of a finished run in a folder that cannot be written to, a reader of what is there."""
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
def _told(path: Path) -> Iterator[None]:
    """Say what SQLite finds wrong in one line that names the file."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise  # ours to mend, not the file's
    except sqlite3.DatabaseError as error:
        full = "disk" in str(error) and "full" in str(error)
        what = "the disk is full; make room and resume" if full else f"damaged, or not a run of this program ({error})"
        raise StoreError(f"{path}: {what}") from None
