"""Runs that lose nothing: many conversations into a store, some at once, resumed by asking for the same again.

The miniature computes, so its conversations run in worker processes and are committed when they end.  Language models
are waited for, so theirs run in threads, one per conversation in flight, and every finished turn is committed.  A role
that fails ends its conversation, not the run.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Message, Reply, Stop, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import AssistantError, Judge, JudgeError, RoleError
from discover_lib.core.rollout import Map
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState
from discover_lib.engines.llm.calls.records import ENDS_THE_RUN, RETRIED
from discover_lib.engines.spec import Engines, EngineSpec, RoleEngines
from discover_lib.runs.calls import Spent
from discover_lib.runs.cluster import Cluster
from discover_lib.runs.digests import digest_of
from discover_lib.runs.store import Counts, Failure, RunStore, TurnRow, UnitRow, turn_row
from discover_lib.runs.units import Unit, map_in_processes, run_unit, simulator_of

Item = TypeVar("Item")
Result = TypeVar("Result")

Halt = Literal["stopped", "budget", "auth", "failing", "crashed"]
FAILING_STREAK = 20  # conversations that fail one after the other, with no turn finished between, end the run
TICK_SECONDS = 0.5
TICK_SHARE = 0.05  # of the time, at most: to count a hundred thousand conversations takes 0.2 s
COMMIT_SECONDS = 0.2


class RunError(DiscoverError):
    """The run cannot go on; the message is one line.  What is finished is in the store."""


class JudgeUnreachable(RoleError):
    """The judge could not be asked.  Unlike a `JudgeError` it must not decide between candidates: the turn fails."""

    role = "judge"


@dataclass(frozen=True)
class Snapshot:
    """How a run stands, for a progress display.

    Attributes:
        turns_now: turns finished since this start or resumption, `seconds` ago.
        turns_left: turns still to come, at most.
        running: conversations in flight.
    """

    counts: Counts
    spent: Spent
    failures: Mapping[str, int]
    turns_now: int
    turns_left: int
    running: int
    seconds: float

    @property
    def turns_per_second(self) -> float | None:
        return self.turns_now / self.seconds if self.turns_now and self.seconds else None

    @property
    def seconds_left(self) -> float | None:
        """None until a first turn has been finished."""
        return self.turns_left / self.turns_per_second if self.turns_per_second else None


class Progress(Protocol):
    """Shows how a run goes; called by the thread that started it, twice a second at most."""

    def __call__(self, snapshot: Snapshot, /) -> None: ...


@dataclass(frozen=True)
class Report:
    """How a run ended.  `halted` is None if every unit was run, though some may have failed."""

    last: Snapshot
    halted: Halt | None = None
    message: str = ""


def register(store: RunStore, units: Sequence[Unit]) -> None:
    """Write the plan of a run into its store; on resumption it is there already."""
    trees = {unit.artifact_id: (unit.domain, unit.tree) for unit in units}
    rows = [
        UnitRow(each.place, each.artifact_id, each.assistants, each.trial, each.seed, each.setting) for each in units
    ]
    store.add_units(trees, rows)


def run_in_processes(
    store: RunStore,
    units: Sequence[Unit],
    *,
    processes: int = 1,
    spread: Cluster | None = None,
    on_progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Report:
    """Run what is unfinished of the miniature's units; a finished conversation is committed whole.

    Ctrl-C or `stop` ends it and keeps what is finished.

    Args:
        spread: run them on its nodes, in place of processes on this machine.

    Raises:
        RunError: a worker process died.
        ClusterError: no node is left.
        StoreError: the store cannot be written to.
    """
    register(store, units)
    watch = _Watch(store, units, on_progress)
    pending = _reopened(store, units)
    results = spread.map(_run_whole, pending) if spread else map_in_processes(_run_whole, pending, processes)
    with closing(results):
        return _kept(store, results, watch, stop)


def run_groups_in_processes(
    store: RunStore,
    units: Sequence[Unit],
    spec: EngineSpec,
    *,
    processes: int,
    together: int,
    on_progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Report:
    """`run_in_processes` with models on this machine, which answer many conversations at once.

    Args:
        together: conversations of one assistant that a worker holds side by side; these are committed together.

    Raises:
        RunError, StoreError: as `run_in_processes`.
    """
    register(store, units)
    watch = _Watch(store, units, on_progress)
    by_assistants: dict[tuple[str, ...], list[Unit]] = {}
    for unit in _reopened(store, units):
        by_assistants.setdefault(unit.assistants, []).append(unit)
    groups = [
        _Group(spec, tuple(members[at : at + together]))
        for members in by_assistants.values()
        for at in range(0, len(members), together)
    ]
    with closing(map_in_processes(_run_group, groups, processes, chunk=1, fresh=True)) as results:
        return _kept(store, (done for group in results for done in group), watch, stop)


def _kept(store: RunStore, results: Iterable[_Whole], watch: _Watch, stop: threading.Event | None) -> Report:
    """Commit whole conversations as they come, those of a fifth of a second together: they cost that, and no more."""
    held: list[_Whole] = []
    due = 0.0

    def commit() -> None:
        with store.together():
            for done in held:
                store.put_whole(done.place, done.turns, done.stop, done.failures, done.digest)
        held.clear()

    try:
        try:
            for done in results:
                held.append(done)
                watch.add_turns(len(done.turns))
                if time.monotonic() >= due:
                    commit()
                    due = time.monotonic() + COMMIT_SECONDS
                watch.tick()
                if stop is not None and stop.is_set():
                    break
        finally:
            commit()
        if stop is not None and stop.is_set():
            return watch.report("stopped")
    except KeyboardInterrupt:
        return watch.report("stopped")
    except BrokenExecutor:
        raise RunError("a worker process died (out of memory?); what is finished is kept, resume the run") from None
    return watch.report()


@dataclass(frozen=True)
class _Whole:
    """A conversation as it comes back from a worker."""

    place: int
    turns: tuple[TurnRow, ...]
    stop: Stop | None
    failures: tuple[Failure, ...] = ()
    digest: str | None = None


@dataclass(frozen=True)
class _Group:
    """Conversations that a worker holds side by side."""

    spec: EngineSpec
    units: tuple[Unit, ...]


def _run_group(group: _Group) -> list[_Whole]:
    engines = RoleEngines(group.spec)
    with ThreadPoolExecutor(len(group.units)) as pool:
        return list(pool.map(lambda unit: _run_whole(unit, engines), group.units))


def _run_whole(unit: Unit, engines: Engines | None = None) -> _Whole:
    rows: list[TurnRow] = []
    try:
        conversation = run_unit(unit, engines, on_turn=lambda turn: rows.append(turn_row(turn)))
    except RoleError as error:
        return _Whole(unit.place, tuple(rows), "error", (failure_of(error, len(rows) + 1),))
    return _Whole(unit.place, tuple(rows), conversation.stop, digest=digest_of(conversation, unit.place))


def run_in_threads(
    store: RunStore,
    units: Sequence[Unit],
    engines: Engines,
    *,
    concurrency: int = 64,
    apart: float = 0.0,
    on_progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Report:
    """Run what is unfinished, `concurrency` conversations at a time; every finished turn is committed.

    Interrupted conversations go on from their last finished turn, failed ones are tried again.  Ctrl-C or `stop`
    begins nothing new and returns as soon as the calls in flight have been given up; give the client the same `stop`.

    Args:
        apart: seconds between the beginnings of the first conversations.  Begun at once they would send their calls
            at once, turn after turn, and each would wait for the processor until all are sent.

    Raises:
        StoreError: the store cannot be written to.
        Exception: a defect of ours in one conversation, after the others have stopped.
    """
    register(store, units)
    return _ThreadedRun(store, units, engines, concurrency, apart, on_progress, stop or threading.Event()).run()


class _ThreadedRun:
    """The state of one `run_in_threads`: what is pending, what ended it, who draws it."""

    def __init__(
        self,
        store: RunStore,
        units: Sequence[Unit],
        engines: Engines,
        concurrency: int,
        apart: float,
        on_progress: Progress | None,
        stop: threading.Event,
    ) -> None:
        self._store = store
        self._engines = engines
        self._apart = apart
        self._stop = stop
        self._lock = threading.Lock()
        pending = _reopened(store, units)
        self._pending = iter(pending)
        self._concurrency = min(concurrency, len(pending))
        self._watch = _Watch(store, units, on_progress)
        self._halted: tuple[Halt, str] | None = None
        self._defect: Exception | None = None
        self._streak = 0
        self._threads: deque[threading.Thread] = deque()

    def run(self) -> Report:
        try:
            for _ in range(self._concurrency):
                self._begin()
                self._stop.wait(self._apart)
            self._wait()
        except KeyboardInterrupt:
            self._stop.set()
            self._wait()  # a second Ctrl-C goes through
        if self._defect is not None:
            raise self._defect
        if self._halted is None and self._stop.is_set():
            self._halted = ("stopped", "")
        return self._watch.report(*(self._halted or ()))

    def _begin(self) -> None:
        """Start a thread for one conversation.

        Each has a new one: the allocator keeps memory for every thread as long as it lives, more and more of it.
        """
        thread = threading.Thread(target=self._work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _wait(self) -> None:
        """Until the last thread has ended; each begins the next one before it ends."""
        while self._threads:
            while self._threads[0].is_alive():
                self._threads[0].join(TICK_SECONDS)
                self._watch.tick()
            self._threads.popleft()

    @property
    def _ending(self) -> bool:
        return self._halted is not None or self._stop.is_set()

    def _halt(self, why: Halt, message: str) -> None:
        with self._lock:
            self._halted = self._halted or (why, message)

    def _work(self) -> None:
        """One thread: run the next unit, if there is one and the run is not ending, then hand on."""
        with self._lock:
            unit = None if self._ending else next(self._pending, None)
        if unit is None:
            return
        try:
            with self._watch.one_running(), beside(len(unit.assistants) - 1) as parallel_map:
                self._run(unit, parallel_map)
        except _Ending:
            return
        except Exception as error:  # ours, or the store's: the run cannot be trusted to go on
            self._defect = self._defect or error
            self._halt("crashed", str(error))
        self._begin()

    def _run(self, unit: Unit, parallel_map: Map) -> None:
        so_far = self._store.conversation(unit.place)
        engines = self._engines.for_conversation(unit.setting, unit.seed)
        simulator = simulator_of(unit, engines, so_far)
        judge = simulator.judge = _WatchedJudge(simulator.judge)
        left_out: list[AssistantError] = []

        def keep(turn: Turn) -> None:
            unscored = [failure_of(error, turn.index, ended=False) for error in (*left_out, *judge.taken())]
            left_out.clear()
            conversation = simulator.conversation
            digest = digest_of(conversation, unit.place) if conversation.stop else None
            self._store.put_turns(unit.place, [turn_row(turn)], conversation.stop, unscored, digest)
            self._streak = 0
            self._watch.add_turns(1)
            if self._ending:
                raise _Ending

        try:
            run_unit(
                unit,
                engines,
                simulator=simulator,
                on_turn=keep,
                parallel_map=parallel_map,
                on_left_out=left_out.append,
            )
        except RoleError as error:
            if not self._ending:  # what breaks while everything is being given up is no failure
                failure = failure_of(
                    (judge.last if isinstance(error, JudgeError) else None) or error,
                    len(simulator.conversation.turns) + 1,
                )
                self._store.put_failures(unit.place, [failure])
                self._count_failure(failure)
        except Exception as error:
            kind = failed_call(error)
            if kind not in ENDS_THE_RUN:
                raise
            self._halt(kind, str(error))
            raise _Ending from None

    def _count_failure(self, failure: Failure) -> None:
        self._streak += 1
        if self._streak >= FAILING_STREAK:
            self._halt("failing", f"{self._streak} conversations failed one after the other; the last: {failure.line}")


class ParallelMap(Protocol):
    """The builtin `map`, or one that does its work in parallel and keeps the order."""

    def __call__(self, function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterable[Result]: ...


@contextmanager
def beside(helpers: int) -> Iterator[ParallelMap]:
    """`map` with this many threads to help.  At its end what was begun is waited for: its calls are paid for."""
    if not helpers:
        yield map
        return
    with ThreadPoolExecutor(helpers) as pool:

        def parallel_map(function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
            return _map_beside(pool, function, items)

        yield parallel_map


def _map_beside(
    pool: ThreadPoolExecutor, function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[Result]:
    """`map` that works on the first item itself while the pool works on the others; results come in order.

    A thread for every candidate would be one more for every conversation, waiting and keeping its memory.
    """
    first, *others = items
    futures = [pool.submit(function, item) for item in others]
    try:
        yield function(first)
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


class _Ending(Exception):
    """The run is ending: leave this conversation where it stands."""


class _WatchedJudge:
    """A judge whose failures are kept with what came back, for the record of one conversation."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._errors: list[JudgeError] = []

    def evaluate(
        self, tree: IntentTree, state: IntentState, messages: Sequence[Message], reply: Reply, rules: Rules
    ) -> Evaluation:
        try:
            return self._judge.evaluate(tree, state, messages, reply, rules)
        except JudgeError as error:
            if failed_call(error) in RETRIED:
                raise JudgeUnreachable(str(error)) from error
            self._errors.append(error)
            raise

    @property
    def last(self) -> JudgeError | None:
        return self._errors[-1] if self._errors else None

    def taken(self) -> list[JudgeError]:
        """The failures since the last time."""
        errors, self._errors = self._errors, []
        return errors


class _Watch:
    """Counts what happens in a run and reports it.  Counting is thread-safe, reporting is for one thread."""

    def __init__(self, store: RunStore, units: Sequence[Unit], on_progress: Progress | None) -> None:
        self._store = store
        self._on_progress = on_progress
        self._turns_of_a_unit = units[0].turns if units else 0
        self._lock = threading.Lock()
        self._turns = 0
        self._running = 0
        self._began = time.monotonic()
        self._due = self._began + TICK_SECONDS

    @contextmanager
    def one_running(self) -> Iterator[None]:
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    def add_turns(self, number: int) -> None:
        with self._lock:
            self._turns += number

    def tick(self) -> None:
        """Tell how it stands, if the last time was long enough ago."""
        began = time.monotonic()
        if self._on_progress is not None and began >= self._due:
            self._on_progress(self.snapshot())
            took = time.monotonic() - began
            self._due = began + max(TICK_SECONDS, took / TICK_SHARE)

    def snapshot(self) -> Snapshot:
        counts = self._store.counts()
        return Snapshot(
            counts=counts,
            spent=self._store.calls.spent(),
            failures=self._store.failures_by_role(),
            turns_now=self._turns,
            turns_left=counts.open * self._turns_of_a_unit - counts.turns_open,
            running=self._running,
            seconds=time.monotonic() - self._began,
        )

    def report(self, halted: Halt | None = None, message: str = "") -> Report:
        last = self.snapshot()
        if self._on_progress is not None:
            self._on_progress(last)
        return Report(last, halted, message)


def _reopened(store: RunStore, units: Sequence[Unit]) -> list[Unit]:
    """The units still to be run; those that ended in an error are made to go on."""
    unfinished = set(store.unfinished())
    pending = [unit for unit in units if unit.place in unfinished]
    for unit in pending:
        store.reopen(unit.place)
    return pending


def failed_call(error: BaseException | None) -> Any:
    """Why the model call behind an error failed ("timeout", "auth" ...), or None if no call failed."""
    while error is not None:
        kind = getattr(error, "kind", None)
        if isinstance(kind, str):
            return kind
        error = error.__cause__
    return None


def failure_of(error: RoleError, turn: int, *, ended: bool = True) -> Failure:
    """The record of a role's failure, with the raw answers that could not be used."""
    came_back: tuple[str, ...] = ()
    cause: BaseException | None = error
    while cause is not None and not came_back:
        came_back, cause = tuple(getattr(cause, "raw", ())), cause.__cause__
    return Failure(turn, error.role, failed_call(error) or "content", str(error), came_back, ended)
