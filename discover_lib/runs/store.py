"""A run on disk: one SQLite file that keeps all finished work, even if the process is killed.

It holds the run's configuration, the trees, one row per planned conversation (a *unit*), and every finished turn as
JSON.  It also holds failures, every finished model call (`RunStore.calls`; see `discover_lib.runs.database`), and the
*digest* of every finished conversation.  Lists, tables and figures read its numbers in place of the turns.  One
process writes, behind a lock.  Notebooks and commands can read at the same time through `RunStore.read`.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base import EARLIER
from discover_lib.base.files import outputs_folder
from discover_lib.base.ids import DiscoverId
from discover_lib.base.json_text import record_json, to_json
from discover_lib.base.leak_words import is_checkable
from discover_lib.core.advance import initial_state
from discover_lib.core.conversation import FORMAT, Conversation, Stop, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import RoleError
from discover_lib.core.rules import Rules
from discover_lib.engines.llm.calls.exchange import Spent as Spent
from discover_lib.engines.spec import EDITION
from discover_lib.metrics.scores import leaked
from discover_lib.runs.database import (
    ANSWERS_TABLE,
    CALLS_INDEX,
    CALLS_TABLE,
    LOCK,
    CallStore,
    Database,
    StoreError,
    errors_in_one_line,
)
from discover_lib.runs.database import LockedError as LockedError

FILE = "run.sqlite"
RUN_FORMAT = "discover-run/1"  # of configurations, with EDITION
APPLICATION = 0x44697363  # "Disc": marks our SQLite files
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
    CALLS_TABLE,
    CALLS_INDEX,
    "CREATE INDEX failures_by_unit ON failures (place)",
    """CREATE TABLE assessments (
        place INTEGER PRIMARY KEY REFERENCES units, failed INTEGER NOT NULL, data TEXT NOT NULL,
        digest TEXT NOT NULL)""",
    """CREATE TABLE digests (
        place INTEGER PRIMARY KEY REFERENCES units, turns INTEGER NOT NULL, discovered INTEGER NOT NULL,
        reward REAL NOT NULL, tokens INTEGER NOT NULL, unscored INTEGER NOT NULL, leaks INTEGER NOT NULL,
        data TEXT NOT NULL)""",
    ANSWERS_TABLE,
)
TABLES = len([each for each in SCHEMA if each.startswith("CREATE TABLE")])
SUMS = """count(turn), CAST(total(discovered) AS INT), total(reward), CAST(total(tokens) AS INT),
    CAST(total(unscored) AS INT), CAST(total(leaks > 0) AS INT)"""
# The sums over the turns of every unit, from its digest if there is one.
NUMBERS = f"""SELECT place, turns, discovered, reward, tokens, unscored, leaks FROM digests UNION ALL
    SELECT place, {SUMS} FROM units LEFT JOIN turns USING (place)
    WHERE place NOT IN (SELECT place FROM digests) GROUP BY place"""
ENCODED = "CAST(? AS TEXT)"  # a value of bytes that becomes text
ENDED = "stop IS NOT NULL AND stop != 'error'"
UNSET: Any = object()  # in place of a value of a configuration that lacks it


@dataclass(frozen=True)
class UnitRow:
    """A planned conversation in the store.  `setting` becomes the conversation's setting."""

    place: int  # position in the run, from 0
    artifact: str
    domain: str
    tree: IntentTree
    assistants: tuple[str, ...]  # one, or several, whose best reply is selected
    trial: int
    seed: int
    setting: Mapping[str, Any]


@dataclass(frozen=True)
class Failure:
    """A failure in one turn, with the raw answers.

    Attributes:
        role: judge, voice, assistant ...
        kind: "content" (an unusable answer), "timeout", "server" ...; see `LLMError`.
        came_back: the raw, unusable answers.
        ended: whether it stopped the conversation; otherwise a candidate is unscored and the conversation continued.
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
    leaks: int  # user messages that reveal an undiscovered intent
    leaks_checked: bool = True  # False: the word rule cannot read the user's intents


@dataclass(frozen=True)
class Counts:
    """The progress of a run in counts."""

    units: int
    finished: int
    failed: int
    turns: int
    turns_open: int  # of conversations not finished
    assessed: int = 0  # finished and scored in full

    @property
    def open(self) -> int:
        return self.units - self.finished - self.failed


class RunStore:
    """See the module.  Made by `RunStore.write` or `RunStore.read`.

    Attributes:
        path: of the file.
        calls: the model calls in it, which the client takes as its cache.
    """

    def __init__(self, database: Database) -> None:
        self.path = database.path
        self.calls = CallStore(database)
        self._database = database

    # -- opening and closing ---------------------------------------------------------------------------------------

    @classmethod
    def write(cls, folder: Path, configuration: Mapping[str, Any]) -> RunStore:
        """Open a run for writing: a new one in a new or empty folder (made if it is missing), or the same one again.

        Args:
            configuration: all values that decide the results, as plain JSON; never a key.

        Raises:
            StoreError: the folder holds other files or cannot be written to, another process is at work in it, the file
                is damaged, or the run has another configuration.
        """
        path = folder / FILE
        if folder.is_dir() and not path.exists() and any(each.name != LOCK for each in folder.iterdir()):
            raise StoreError(f"{folder} holds other files and no run; choose another --run folder")
        return cls._opened(path, configuration)

    @classmethod
    def read(cls, folder: Path) -> RunStore:
        """Open a run for reading, also while another process writes to it.

        Raises:
            StoreError: there is no run, or the file is not one of ours or damaged.
        """
        path = folder / FILE if folder.is_dir() else folder
        if not path.is_file():
            raise StoreError(f"{folder}: no run here (no {FILE})")
        return cls._opened(path, None)

    @classmethod
    def _opened(cls, path: Path, configuration: Mapping[str, Any] | None) -> RunStore:
        """The run of a file: for reading, or for writing under a configuration."""
        with errors_in_one_line(path):
            store = cls(Database(path, read_only=configuration is None))
            try:
                if configuration is None:
                    store._check_kind()
                else:
                    store._settle(configuration)
            except BaseException:
                store.close()
                raise
        return store

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _settle(self, configuration: Mapping[str, Any]) -> None:
        """Set the file up, or check that it holds this run."""
        self._database.execute("PRAGMA synchronous=FULL")  # of this connection; the journal's mode is the file's
        committed = self._database.one("SELECT count(*) FROM sqlite_master")[0]
        if not committed and not self._database.one("PRAGMA application_id")[0]:  # new, or its creation was interrupted
            self._database.execute("PRAGMA page_size=16384")
            self._database.execute("PRAGMA journal_mode=WAL")
            with self._database.transaction():
                for statement in SCHEMA:
                    self._database.execute(statement)
                self._database.execute(f"PRAGMA application_id={APPLICATION}")
                self._database.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
                self._database.execute("INSERT INTO run VALUES ('configuration', ?)", (to_json(configuration),))
            return
        self._check_kind()
        difference = first_difference(self.configuration, json.loads(to_json(configuration)))
        if difference:
            raise StoreError(
                f"{self.path.parent} holds a run with another configuration: {difference}; "
                "choose another --run folder, or give the same options to resume"
            )

    def _check_kind(self) -> None:
        if self._database.one("PRAGMA application_id")[0] != APPLICATION:
            raise StoreError(f"{self.path}: an SQLite file, but not a run of this program")
        tables = self._database.one("SELECT count(*) FROM sqlite_master WHERE type = 'table'")[0]
        version = self._database.one("PRAGMA user_version")[0]
        run = self.configuration if (version, tables) == (SCHEMA_VERSION, TABLES) else None
        if run is None or (run.get("format") == RUN_FORMAT and run.get("edition") != EDITION):
            raise StoreError(f"{self.path}: a run of another format; {EARLIER}")

    # -- the run ---------------------------------------------------------------------------------------------------

    @property
    def configuration(self) -> dict[str, Any]:
        return json.loads(self._database.one("SELECT value FROM run WHERE name = 'configuration'")[0])

    def reconfigure(self, configuration: Mapping[str, Any]) -> None:
        """Give the run another configuration, under which its conversations would be the same."""
        with self._database.transaction():
            self._database.execute("UPDATE run SET value = ? WHERE name = 'configuration'", (to_json(configuration),))

    @functools.cached_property
    def rules(self) -> Rules:
        return Rules.from_dict(self.configuration["rules"])

    @functools.cached_property
    def _rules_text(self) -> str:
        return to_json(self.rules.to_dict())

    def add_units(self, units: Iterable[UnitRow]) -> None:
        """Write the plan: the planned conversations and their trees.  Idempotent."""
        units = list(units)
        of_artifact = {each.artifact: each for each in units}
        with self._database.transaction():
            self._database.execute_many(
                "INSERT OR IGNORE INTO trees VALUES (?, ?, ?)",
                ((artifact, each.domain, to_json(each.tree.to_dict())) for artifact, each in of_artifact.items()),
            )
            self._database.execute_many(
                "INSERT OR IGNORE INTO units VALUES (?, ?, ?, ?, ?, ?, NULL)",
                (
                    (each.place, each.artifact, to_json(each.assistants), each.trial, each.seed, to_json(each.setting))
                    for each in units
                ),
            )

    def forget_plan(self) -> None:
        """Delete all conversations, trees and their scores, but no calls, before a run is imported again."""
        with self._database.transaction():
            for table in ("turns", "assessments", "digests", "failures", "units", "trees"):
                self._database.execute(f"DELETE FROM {table}")

    def unfinished(self) -> list[int]:
        """Places of the unfinished units, including those that ended in an error."""
        return self._places("stop IS NULL OR stop = 'error'")

    def _places(self, condition: str) -> list[int]:
        return [place for (place,) in self._database.all(f"SELECT place FROM units WHERE {condition} ORDER BY place")]

    def begun(self) -> set[int]:
        """Places of the units that have turns."""
        return {place for (place,) in self._database.all("SELECT DISTINCT place FROM turns")}

    def put_turns(
        self,
        place: int,
        turns: Sequence[TurnRow],
        stop: Stop | None,
        failures: Iterable[Failure] = (),
        digest: bytes | None = None,
    ) -> None:
        """Commit finished turns of a unit, the reason for its end, if it ended, and its failures.

        Args:
            digest: the numbers of a conversation that ends with these turns (JSON; see
                `discover_lib.metrics.scores`).
        """
        with self._database.transaction():
            self._database.execute_many(
                f"INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, {ENCODED})", ((place, *turn) for turn in turns)
            )
            self._database.execute_many(
                "INSERT INTO failures (place, turn, role, kind, message, came_back, ended) VALUES (?,?,?,?,?,?,?)",
                (
                    (place, each.turn, each.role, each.kind, each.message, to_json(each.came_back), each.ended)
                    for each in failures
                ),
            )
            self._database.execute("UPDATE units SET stop = ? WHERE place = ?", (stop, place))
            if digest is not None:
                self._database.execute(
                    f"INSERT OR REPLACE INTO digests SELECT ?, {SUMS}, {ENCODED} FROM turns WHERE place = ?",
                    (place, digest, place),
                )

    def together(self) -> AbstractContextManager[None]:
        """One commit for all writes in its block, and one wait for the disk, for work without paid calls."""
        return self._database.transaction()

    def reopen(self) -> None:
        """Reopen conversations that ended in an error or without a score, and ask unusable answers again."""
        with self._database.transaction():
            ended = self._database.all("SELECT came_back FROM failures WHERE ended AND NOT retried")
            scores = self._database.all(
                """SELECT json_extract(failure.value, '$.came_back')
                FROM assessments, json_each(assessments.data, '$.failures') AS failure WHERE failed"""
            )
            self.calls.forget_answers(text for (texts,) in ended + scores for text in json.loads(texts))
            self._database.execute("UPDATE failures SET retried = 1 WHERE ended")
            self._database.execute("UPDATE units SET stop = NULL WHERE stop = 'error'")

    def put_assessment(self, place: int, data: Mapping[str, Any], digest: Mapping[str, Any]) -> None:
        """Commit the scores of a finished conversation (see `discover_lib.metrics.scores`).

        Args:
            data: the whole assessment, with the final turn under "final" and missing parts under "failures".
            digest: the numbers that tables and figures read in place of the conversation.
        """
        row = (place, bool(data.get("failures")), record_json(data), record_json(digest))
        with self._database.transaction():
            self._database.execute(f"INSERT OR REPLACE INTO assessments VALUES (?, ?, {ENCODED}, {ENCODED})", row)

    # -- reading ---------------------------------------------------------------------------------------------------

    def assessment(self, place: int) -> dict[str, Any] | None:
        """The `data` of `put_assessment`, or None."""
        row = self._database.one("SELECT data FROM assessments WHERE place = ?", (place,))
        return json.loads(row[0]) if row else None

    def digests(self) -> list[tuple[int, str | None]]:
        """(place, digest) of every finished conversation in the order of the plan; of its assessment, if any.

        The digest is None for people's and imported conversations, whose turns must be read.
        """
        return self._database.all(
            "SELECT place, coalesce(assessments.digest, digests.data) FROM units "
            f"LEFT JOIN assessments USING (place) LEFT JOIN digests USING (place) WHERE {ENDED} ORDER BY place"
        )

    def unassessed(self) -> list[int]:
        """Places of finished conversations without an assessment, or with one that failed in part."""
        return self._places(f"{ENDED} AND place NOT IN (SELECT place FROM assessments WHERE NOT failed)")

    def trees(self) -> dict[str, IntentTree]:
        """Artifact → its tree."""
        rows = self._database.all("SELECT artifact, tree FROM trees")
        return {artifact: IntentTree.from_dict(json.loads(tree)) for artifact, tree in rows}

    def conversation(self, place: int) -> Conversation:
        """One conversation, finished or as far as it is.

        Raises:
            StoreError: the run has no such unit.
        """
        return Conversation.from_dict(json.loads(self.line(place)))

    def line(self, place: int) -> bytes:
        """`Conversation.to_dict` as one line of encoded JSON, joined from the stored texts without decoding the turns.

        Raises:
            StoreError: the run has no such unit.
        """
        row = self._database.one(
            """SELECT tree, seed, stop, setting, json_extract(data, '$.final') FROM units JOIN trees USING (artifact)
            LEFT JOIN assessments USING (place) WHERE place = ?""",
            (place,),
        )
        if row is None:
            raise StoreError(f"{self.path.parent}: no conversation {place} in this run")
        tree, seed, stop, setting, final = row
        turns = [
            data
            for (data,) in self._database.all(
                "SELECT CAST(data AS BLOB) FROM turns WHERE place = ? ORDER BY turn", (place,)
            )
        ]
        # The start follows from tree, rules and seed; where a turn is stored, its own record of the start counts.
        if turns:
            start = turns[0].partition(b'"before":')[2].partition(b',"candidates":')[0].decode()  # ids and numbers
        else:
            start = to_json(initial_state(IntentTree.from_dict(json.loads(tree)), self.rules, seed).to_dict())
        head = f'{{"format":"{FORMAT}","tree":{tree},"rules":{self._rules_text},"seed":{seed},"start":{start},"turns":['
        tail = f'],"stop":{json.dumps(stop)},"setting":{setting}' + (f',"final":{final}}}' if final else "}")
        return b"".join((head.encode(), b",".join(turns), tail.encode()))

    def conversations(self, *, finished: bool = True) -> Iterator[Conversation]:
        """The finished conversations, or all, in the order of the plan, one at a time."""
        return map(self.conversation, self._places(ENDED if finished else "TRUE"))

    def lines(self) -> Iterator[bytes]:
        """The `line` of every finished conversation in the order of the plan."""
        return map(self.line, self._places(ENDED))

    def flawed(self) -> dict[int, int]:
        """Place → number of user messages with a flaw by the voice's check.  Reads every turn."""
        return dict(
            self._database.all(
                "SELECT place, count(*) FROM turns WHERE json_array_length(data, '$.flaws') > 0 GROUP BY place", {}
            )
        )

    def listing(self) -> list[Listed]:
        """The run's table of contents in the order of the plan."""
        rows = self._database.all(
            f"""SELECT place, artifact, domain, assistants, trial, stop, turns, discovered, reward, tokens, unscored,
                leaks FROM units JOIN trees USING (artifact) JOIN ({NUMBERS}) USING (place) ORDER BY place"""
        )
        named = {who: tuple(json.loads(who)) for who in {row[3] for row in rows}}
        unread = self.unread_artifacts()
        return [
            Listed(*(place, artifact, domain, named[who], *more, artifact not in unread))
            for place, artifact, domain, who, *more in rows
        ]

    def failures(self, place: int | None = None, *, retried: bool = False) -> list[tuple[int, Failure]]:
        """(place, failure) of the run or of one unit; with `retried` also failures of repeated turns."""
        rows = self._database.all(
            "SELECT place, turn, role, kind, message, came_back, ended FROM failures "
            "WHERE (:place IS NULL OR place = :place) AND (:retried OR NOT retried) ORDER BY place, turn, id",
            {"place": place, "retried": retried},
        )
        return [
            (of, Failure(turn, role, kind, message, tuple(json.loads(texts)), bool(ended)))
            for of, turn, role, kind, message, texts, ended in rows
        ]

    def unscored(self) -> dict[str, int]:
        """Missing scores with a count: "judge" for candidates, else the part of an assessment."""
        (candidates,) = self._database.one(f"SELECT total(unscored) FROM ({NUMBERS})")
        parts = self._database.all(
            """SELECT json_extract(failure.value, '$.part'), count(*)
            FROM assessments, json_each(assessments.data, '$.failures') AS failure WHERE failed GROUP BY 1 ORDER BY 1"""
        )
        return ({"judge": int(candidates)} if candidates else {}) | dict(parts)

    def leaks(self) -> int:
        """Number of user messages that reveal an undiscovered intent."""
        return int(self._database.one(f"SELECT total(leaks) FROM ({NUMBERS})")[0])

    def unread_artifacts(self) -> frozenset[str]:
        """Brought artifacts of no known domain whose intents the word rule cannot read: their leaks are unknown."""
        brought = self._database.all("SELECT artifact, tree FROM trees WHERE domain = ''")
        trees = ((artifact, IntentTree.from_dict(json.loads(tree))) for artifact, tree in brought)
        return frozenset(
            artifact for artifact, tree in trees if not is_checkable("", [each.text for each in tree.intents.values()])
        )

    def scoring_failures(self, limit: int) -> list[tuple[int, dict[str, Any]]]:
        """(place, `ScoringFailure` in plain form) of the first missing parts of assessments."""
        rows = self._database.all(
            """SELECT place, failure.value FROM assessments, json_each(assessments.data, '$.failures') AS failure
            WHERE failed ORDER BY place LIMIT ?""",
            (limit,),
        )
        return [(place, json.loads(failure)) for place, failure in rows]

    def failures_by_role(self) -> dict[str, int]:
        """Number of failures per role that were not retried, most first."""
        return dict(Counter(failure.role for _, failure in self.failures()).most_common())

    def counts(self) -> Counts:
        row = self._database.one(
            f"""SELECT count(*), total({ENDED}), total(stop = 'error'), total(taken), total((stop IS NULL) * taken),
                (SELECT count(*) FROM assessments WHERE NOT failed) FROM
                (SELECT stop, coalesce(digests.turns, (SELECT count(*) FROM turns WHERE turns.place = units.place))
                AS taken FROM units LEFT JOIN digests USING (place))"""
        )
        return Counts(*map(int, row))


def failed_call(error: BaseException | None) -> Any:
    """The kind of the failed model call behind an error ("timeout", "auth" ...), or None."""
    while error is not None:
        kind = getattr(error, "kind", None)
        if isinstance(kind, str):
            return kind
        error = error.__cause__
    return None


def failure_of(error: RoleError, turn: int, *, ended: bool = True) -> Failure:
    """The record of a role's failure, with the raw, unusable answers."""
    came_back: tuple[str, ...] = ()
    cause: BaseException | None = error
    while cause is not None and not came_back:
        came_back, cause = tuple(getattr(cause, "raw", ())), cause.__cause__
    return Failure(turn, error.role, failed_call(error) or "content", str(error), came_back, ended)


def id_of_run(folder: Path) -> DiscoverId:
    """The id of the run in a folder."""
    whole, outputs = folder.resolve(), outputs_folder().resolve()
    return DiscoverId(str(whole.relative_to(outputs) if whole.is_relative_to(outputs) else whole))


TurnRow = tuple[int, int, float | None, int, str, int, int, bytes]  # the columns of `turns` after the unit's place


def turn_row(turn: Turn) -> TurnRow:
    """The row of a turn.  Pure: workers make rows, the writer only inserts them."""
    discovered = len(turn.after.discovered) - len(turn.before.discovered)
    reward = turn.candidate.reward.total if turn.candidate.reward else None
    unscored = sum(each.evaluation is None for each in turn.candidates)
    leaks, data = len(turn.leaks) or int(leaked(turn)), record_json(turn.to_dict())
    return turn.index, discovered, reward, turn.reply.n_tokens, turn.reply.assistant, unscored, leaks, data


def first_difference(ours: Any, theirs: Any, name: str = "") -> str | None:
    """The first difference of two configurations, in words ("turns is 5 in the run and 6 now"), or None.

    The domain comes first, then options, last the differences of an evaluation.
    """
    if ours == theirs:
        return None
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return f"{name} is {_short(ours)} in the run and {_short(theirs)} now"
    places = {"domain": -1, "kind": 1, "final_request": 1}
    differing = [key for key in {**ours, **theirs} if ours.get(key, UNSET) != theirs.get(key, UNSET)]
    key = min(differing, key=lambda key: places.get(key, 0))
    return first_difference(ours.get(key, UNSET), theirs.get(key, UNSET), f"{name}.{key}" if name else key)


def _short(value: Any) -> str:
    text = "not set" if value is UNSET else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
