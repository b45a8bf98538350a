"""One SQLite file behind one connection: what waits is written with what comes next, and errors are one line."""

import sqlite3

import pytest

from discover_lib.runs.database import Database, LockedError, StoreError, errors_in_one_line

INSERT = "INSERT OR REPLACE INTO notes VALUES (?, ?)"


@pytest.fixture
def database(tmp_path):
    opened = Database(tmp_path / "file.sqlite", read_only=False)
    with opened.transaction():
        opened.execute("CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT)")
    yield opened
    opened.close()


def notes(path):
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT * FROM notes ORDER BY name").fetchall()


def test_what_waits_is_written_with_what_is_committed_next_and_the_last_of_a_key_counts(database):
    for value in ("first", "last"):
        database.write_with_next(INSERT, "a", ("a", value))
    assert notes(database.path) == []
    with database.transaction():
        database.execute(INSERT, ("b", "beside"))
    assert notes(database.path) == [("a", "last"), ("b", "beside")]


def test_what_waits_outlives_a_transaction_that_is_taken_back(database):
    database.write_with_next(INSERT, "a", ("a", "waits"))
    with pytest.raises(ZeroDivisionError), database.transaction():
        raise ZeroDivisionError
    assert notes(database.path) == []
    database.close()
    assert notes(database.path) == [("a", "waits")]


def test_one_process_writes(database):
    with pytest.raises(LockedError, match="another process is writing"):
        Database(database.path, read_only=False)


@pytest.mark.parametrize(
    ("error", "raised", "line"),
    [
        (sqlite3.OperationalError("database or disk is full"), StoreError, "run.sqlite: the disk is full"),
        (sqlite3.DatabaseError("file is not a database"), StoreError, r"run.sqlite: damaged, .*not a database"),
        (sqlite3.IntegrityError("UNIQUE constraint failed"), sqlite3.IntegrityError, "UNIQUE"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line_and_what_is_wrong_with_the_code_is_not(tmp_path, error, raised, line):
    with pytest.raises(raised, match=line), errors_in_one_line(tmp_path / "run.sqlite"):
        raise error
