"""Runs on disk: what is written comes back, what is not ours is refused in one line."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from discover_lib.core.rules import Rules
from discover_lib.engines.llm.calls.exchange import Completion, Request
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.runs.database import Database, LockedError, StoreError, errors_in_one_line
from discover_lib.runs.options import run_into
from discover_lib.runs.store import FILE, RUN_FORMAT, Failure, RunStore, turn_row
from discover_lib.runs.units import plan_units, run_unit
from discover_lib.runs.work import Workers

DOMAIN = "technical_writing"
CONFIGURATION = {"rules": Rules.paper().to_dict(), "assistants": ["adaptive", "draft"], "seed": 0}


@pytest.fixture(scope="module")
def units():
    builder = engine(DOMAIN).builder
    trees = {each.id: (DOMAIN, builder.build(each).tree) for each in generate_artifacts(DOMAIN, "eval", 3)}
    return plan_units(trees, ["adaptive", "draft"], trials=1, turns=3, rules=Rules.paper(), seed=0)


@pytest.fixture
def store(tmp_path, units):
    with RunStore.write(tmp_path, CONFIGURATION) as opened:
        opened.add_units(units)
        yield opened


def test_a_conversation_comes_back_as_far_as_it_is(store, units):
    whole = run_unit(units[0])
    store.put_turns(0, [turn_row(turn) for turn in whole.turns[:2]], None)
    partial = store.conversation(0)
    assert (partial.turns, partial.stop, partial.start) == (whole.turns[:2], None, whole.start)
    assert store.conversation(1).turns == () and store.conversation(1).start == run_unit(units[1]).start
    assert (store.counts().open, store.counts().turns_open) == (len(units), 2)


def test_calls_that_end_together_are_written_together_and_stand_on_disk_when_put_returns(store, tmp_path):
    request = Request("openai/m", ({"role": "user", "content": "Hello"},), "judge")
    commits, everyone = [], threading.Barrier(32)

    def put(number: int) -> bool:
        everyone.wait()
        store.calls.put(str(number), request, Completion(f"text {number}", 1, 1, 0.0))
        with RunStore.read(tmp_path) as reader:
            return reader.calls.get(str(number)).text == f"text {number}"

    store._database._connection.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
    with ThreadPoolExecutor(32) as pool:
        assert all(pool.map(put, range(32)))
    store._database._connection.set_trace_callback(None)
    assert store.calls.spent().calls == 32 and len(commits) < 32


def test_a_turn_is_never_written_twice(store, units):
    row = turn_row(run_unit(units[0]).turns[0])
    store.put_turns(0, [row], None)
    with pytest.raises(sqlite3.IntegrityError):
        store.put_turns(0, [row], None)
    assert store.counts().turns == 1


def test_a_reader_sees_what_is_committed_while_the_writer_goes_on(store, units, tmp_path):
    with RunStore.read(tmp_path) as reader:
        assert reader.counts().turns == 0
        store.put_turns(0, [turn_row(turn) for turn in run_unit(units[0]).turns], "max_turns")
        assert reader.counts().finished == 1
        with pytest.raises(StoreError):
            reader.put_turns(1, [], "error")


def test_the_listing_is_made_without_loading(store, units):
    run_into(store, units[:5], Workers())
    store.put_turns(4, (), "error", [Failure(2, "judge", "content", "no ids", ("{}",))])
    everything = store.listing()
    assert [(row.place, row.assistants, row.artifact) for row in everything] == [
        (unit.place, unit.assistants, unit.artifact) for unit in units
    ]
    assert [row.stop for row in everything[4:]] == ["error", None]
    first, talk = everything[0], run_unit(units[0])
    assert first.reward == pytest.approx(sum(turn.candidate.reward.total for turn in talk.turns))
    assert first.discovered == len(talk.state.discovered) - len(talk.start.discovered)
    assert first.tokens == sum(turn.reply.n_tokens for turn in talk.turns)


def test_flawed_user_messages_are_counted_by_conversation(store, units):
    turns = list(run_unit(units[1]).turns)
    ahead = dataclasses.replace(turns[0].candidate, ahead=(dataclasses.replace(turns[0], flaws=("leak",)),))
    turns[0] = dataclasses.replace(turns[0], candidates=(ahead,), chosen=0)  # flawed in what was only tried out
    turns[1] = dataclasses.replace(turns[1], flaws=("length", "markup"))
    store.put_turns(0, [turn_row(turn) for turn in run_unit(units[0]).turns], "max_turns")
    store.put_turns(1, [turn_row(turn) for turn in turns], "max_turns")
    assert store.flawed() == {1: 1}


def test_finished_calls_are_kept_and_added_up(store):
    request = Request("openai/m", ({"role": "user", "content": "hi"},), "voice", sample=2)
    completion = Completion("hello \ud83d", 10, 5, 0.25, "stop", 1.5, 2)  # half a pair: models cut text anywhere
    store.calls.put(request.key, request, completion)
    store.calls.put("unpriced", request, Completion("x"))
    found = store.calls.get(request.key)
    assert found.cached and found.text == completion.text
    assert (found.prompt_tokens, found.completion_tokens, found.cost, found.attempts) == (10, 5, 0.25, 2)
    spent = store.calls.spent()
    assert (spent.calls, spent.cost, spent.unpriced, spent.prompt_tokens) == (2, 0.25, 1, 10)


def test_another_configuration_is_refused_naming_the_first_difference(store, tmp_path):
    store.close()
    fewer = {name: value for name, value in CONFIGURATION.items() if name != "seed"}
    rules = CONFIGURATION["rules"] | {"tau": 1}
    for other, says in (
        (CONFIGURATION | {"seed": 1}, "seed is 0 in the run and 1 now"),
        (CONFIGURATION | {"rules": rules, "seed": 1}, r"rules.tau is \d+ in the run and 1 now"),
        (CONFIGURATION | {"domain": "x", "seed": 1}, 'domain is not set in the run and "x" now'),
        (fewer, "seed is 0 in the run and not set now"),
    ):
        with pytest.raises(StoreError, match=says):
            RunStore.write(tmp_path, other)
    RunStore.write(tmp_path, CONFIGURATION).close()


def damaged(path):
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)


def foreign(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (name)")
    connection.commit()
    connection.close()


def old(path):
    RunStore.write(path.parent, {"format": RUN_FORMAT, "edition": 2}).close()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [(damaged, "damaged"), (foreign, "not a run of this program"), (old, "a run of another format; commit d2fda9c")],
)
def test_what_is_not_ours_is_refused_in_one_line_and_left_alone(spoil, says, tmp_path):
    spoil(tmp_path / FILE)
    before = (tmp_path / FILE).read_bytes()
    for opening in (lambda: RunStore.read(tmp_path), lambda: RunStore.write(tmp_path, CONFIGURATION)):
        with pytest.raises(StoreError, match=says) as refused:
            opening()
        assert len(str(refused.value).splitlines()) == 1
    assert (tmp_path / FILE).read_bytes() == before


def test_a_creation_that_was_cut_off_is_begun_again(tmp_path):
    (tmp_path / FILE).touch()
    with RunStore.write(tmp_path, CONFIGURATION) as store:
        assert store.configuration == json.loads(json.dumps(CONFIGURATION))


def test_the_lines_of_a_run_are_its_conversations(store, units):
    run_into(store, units[:3], Workers())
    half = dataclasses.replace(run_unit(units[3]).turns[0], user_message="cut \ud83d off")  # models cut text anywhere
    store.put_turns(3, [turn_row(half)], "max_turns")
    *whole, cut = map(json.loads, store.lines())
    assert whole == [json.loads(json.dumps(run_unit(unit).to_dict())) for unit in units[:3]]
    assert cut["turns"][0]["user_message"] == half.user_message, "what is not finished is left out"


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


def test_what_waits_is_written_in_order_with_what_is_committed_next(database):
    for value in ("first", "last"):
        database.write_with_next((INSERT, ("a", value)))
    assert notes(database.path) == []
    with database.transaction():
        database.execute(INSERT, ("b", "beside"))
    assert notes(database.path) == [("a", "last"), ("b", "beside")]


def test_what_waits_outlives_a_transaction_that_is_taken_back(database):
    database.write_with_next((INSERT, ("a", "waits")))
    with pytest.raises(ZeroDivisionError), database.transaction():
        raise ZeroDivisionError
    assert notes(database.path) == []
    database.close()
    assert notes(database.path) == [("a", "waits")]


def test_one_process_writes(database):
    with pytest.raises(LockedError, match="another process is at work here"):
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
