"""Runs that lose nothing: many conversations into a store, some at once, resumed by asking for the same again.

What is to be done is what is not in the store: conversations from the start or from their last finished turn, and, in
an evaluation, the scores of each as its last step.  The miniature computes, so its conversations run in worker
processes and are committed when they end.  Language models are waited for, so theirs run in threads, one per
conversation in flight, and every finished turn is committed.  A role that fails ends its conversation, not the run.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, Protocol, cast

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Conversation, Message, Reply, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import AssistantError, Judge, JudgeError, RoleError
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState
from discover_lib.engines.llm.calls.exchange import ENDS_THE_RUN, RETRIED, Spent
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.runs.digests import digest_of
from discover_lib.runs.scoring import SCORING, scored
from discover_lib.runs.store import Counts, Failure, RunStore, UnitRow, failed_call, failure_of, turn_row
from discover_lib.runs.units import Unit, run_unit, simulator_of
from discover_lib.runs.work import ParallelMap, Workers, beside, work

Halt = Literal["stopped", "budget", "auth", "failing"]
FAILING_STREAK = 20  # conversations that fail one after the other, with no turn finished between, end the run
TICK_SECONDS = 0.5
TICK_SHARE = 0.05  # of the time, at most: to count a hundred thousand conversations takes 0.2 s
COMMIT_SECONDS = 0.2


class JudgeUnreachable(RoleError):
    """The judge could not be asked.  Unlike a `JudgeError` it must not decide between candidates: the turn fails."""

    role = "judge"


@dataclass(frozen=True)
class Snapshot:
    """How a run stands, for a progress display.

    Attributes:
        done: conversations that nothing is left to do of: finished, and in an evaluation scored.
        turns_now: turns finished since this start or resumption, `seconds` ago.
        turns_left: turns still to come, at most.
        running: conversations in flight.
    """

    counts: Counts
    done: int
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

    @property
    def unscored(self) -> int:
        """Conversations of an evaluation that ended with a score missing; the same again tries them again."""
        return self.last.counts.finished - self.last.done


def register(store: RunStore, units: Sequence[Unit]) -> None:
    """Write the plan of a run into its store; on resumption it is there already."""
    first = {unit.artifact_id: unit for unit in reversed(units)}
    trees = {artifact: (unit.domain, unit.tree.to_dict()) for artifact, unit in first.items()}
    rows = [
        UnitRow(each.place, each.artifact_id, each.assistants, each.trial, each.seed, each.setting) for each in units
    ]
    store.add_units(trees, rows)


def run_into(
    store: RunStore,
    units: Sequence[Unit],
    on: Workers,
    *,
    engines: RoleEngines | None = None,
    together: int = 1,
    final_request: str | None = None,
    apart: float = 0.0,
    on_progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Report:
    """Have what is left of units, and keep it.

    Interrupted conversations go on from their last finished turn, failed ones and failed scores are tried again.
    Ctrl-C or `stop` begins nothing new and keeps what is finished; give the client of `engines` the same `stop`.

    Args:
        engines: who plays, in threads of this process; without them workers elsewhere make their own.
        together: conversations of one assistant that a worker elsewhere holds side by side.
        final_request: what asks for the finished piece, where conversations are scored.
        apart: seconds between the beginnings of the first conversations.  Begun at once they would send their calls
            at once, turn after turn, and each would wait for the processor until all are sent.

    Raises:
        StoreError: the store cannot be written to.
        DiscoverError: a worker process died, or no node of a cluster is left; what is finished is kept.
        Exception: a defect of ours in one conversation, after the others have stopped.
    """
    register(store, units)
    run = _Run(store, units, engines, final_request, apart, on.at_once, on_progress, stop or threading.Event())
    try:
        if engines is not None:
            work(run.left, run.have, lambda _: None, on, stop=run.stop, tick=run.tick)
        elif together == 1:
            work(run.left, partial(have_apart, final_request), run.keep, on, stop=run.stop, tick=run.tick)
        else:
            groups, do = _Groups(run.left, together), partial(have_together, final_request)
            work(groups, do, run.keep_all, on, stop=run.stop, tick=run.tick)
    except _Halted as halted:
        return run.report(halted.why, str(halted))
    except BrokenExecutor:
        raise DiscoverError(
            "a worker process died (out of memory?); what is finished is kept, resume the run"
        ) from None
    finally:
        run.commit()
    return run.report("stopped" if run.stop.is_set() else None)


# -- what is left to do -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """What is left of a unit: its conversation from the start, or from where it stands; if that is over, its scores."""

    unit: Unit
    so_far: Conversation | None


class _Left(Sequence[Step]):
    """What is left of a run, each conversation read when its turn comes; what ended in an error is made to go on."""

    def __init__(self, store: RunStore, units: Sequence[Unit], scored: bool) -> None:
        store.reopen()
        left = set(store.unfinished()) | set(store.unassessed() if scored else ())
        self._store, self._begun = store, store.begun()
        self.units = [unit for unit in units if unit.place in left]

    def __len__(self) -> int:
        return len(self.units)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        unit = self.units[at]
        return Step(unit, self._store.conversation(unit.place) if unit.place in self._begun else None)


class _Groups(Sequence[list[Step]]):
    """Steps with the same assistants, some side by side."""

    def __init__(self, left: _Left, together: int) -> None:
        self._left = left
        by_assistants: dict[tuple[str, ...], list[int]] = {}
        for at, unit in enumerate(left.units):
            by_assistants.setdefault(unit.assistants, []).append(at)
        self._groups = [
            places[at : at + together] for places in by_assistants.values() for at in range(0, len(places), together)
        ]

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        return [self._left[each] for each in self._groups[at]]


# -- one conversation -------------------------------------------------------------------------------------------------


def have(
    step: Step,
    engines: RoleEngines,
    store: RunStore,
    final_request: str | None,
    *,
    parallel_map: ParallelMap = map,
    on_turn: Callable[[], None] = lambda: None,
    given_up: Callable[[], bool] = lambda: False,
) -> Failure | None:
    """Have the rest of a conversation and tell the store: every turn, why it ended, what failed, the scores.

    Args:
        on_turn: called when a turn is told.
        given_up: whether the run is ending; what breaks then is no failure.

    Returns:
        What ended the conversation, if a role failed.
    """
    unit, conversation, left_out = step.unit, step.so_far, list[AssistantError]()
    if conversation is None or conversation.stop is None:
        simulator = simulator_of(unit, engines, conversation)
        judge = simulator.judge = _WatchedJudge(simulator.judge)

        def keep(turn: Turn) -> None:
            unscored = [failure_of(error, turn.index, ended=False) for error in (*left_out, *judge.taken())]
            left_out.clear()
            talk = simulator.conversation
            store.put_turns(
                unit.place, [turn_row(turn)], talk.stop, unscored, digest_of(talk, unit.place) if talk.stop else None
            )
            on_turn()

        how: dict[str, Any] = {"simulator": simulator, "on_turn": keep, "on_left_out": left_out.append}
        try:
            conversation = run_unit(unit, engines, parallel_map=parallel_map, **how)
        except RoleError as error:
            if given_up():
                return None
            cause = (judge.last if isinstance(error, JudgeError) else None) or error
            failure = failure_of(cause, len(simulator.conversation.turns) + 1)
            store.put_turns(unit.place, (), "error", [failure])
            return failure
    if final_request is not None and not given_up():
        store.put_assessment(unit.place, *scored(conversation, unit.place, engines, final_request, parallel_map))
    return None


class _Notes:
    """In place of the store, in another process: what it is told there, to be told to the store itself here."""

    def __init__(self) -> None:
        self.told: list[tuple[str, tuple[Any, ...]]] = []

    def put_turns(self, *what: Any) -> None:
        self.told.append(("put_turns", what))

    def put_assessment(self, *what: Any) -> None:
        self.told.append(("put_assessment", what))


Told = Sequence[tuple[str, tuple[Any, ...]]]


@cache
def _engines(spec: EngineSpec) -> RoleEngines:
    return RoleEngines(spec)


def have_apart(final_request: str | None, step: Step) -> Told:
    """`have` in another process, by the roles that it makes there; what the store is to be told."""
    notes = _Notes()
    have(step, _engines(step.unit.asked.spec), cast("RunStore", notes), final_request)
    return notes.told


def have_together(final_request: str | None, steps: Sequence[Step]) -> list[Told]:
    """`have_apart` of some conversations side by side: a model on this machine answers them at once."""
    with ThreadPoolExecutor(len(steps)) as pool:
        return list(pool.map(partial(have_apart, final_request), steps))


# -- a run under way --------------------------------------------------------------------------------------------------


class _Halted(Exception):
    """What ends a run before its end."""

    def __init__(self, why: Halt, message: str) -> None:
        super().__init__(message)
        self.why = why


class _Ending(Exception):
    """The run is ending: leave this conversation where it stands."""


class _Run:
    """The state of one `run_into`: what is left, what ends it, how it stands."""

    def __init__(
        self,
        store: RunStore,
        units: Sequence[Unit],
        engines: RoleEngines | None,
        final_request: str | None,
        apart: float,
        at_once: int,
        on_progress: Progress | None,
        stop: threading.Event,
    ) -> None:
        self.left = _Left(store, units, final_request is not None)
        self.stop = stop
        self._store, self._engines, self._final_request = store, engines, final_request
        self._turns_of_a_unit = units[0].asked.turns if units else 0
        self._on_progress = on_progress
        self._delays = itertools.chain((apart * place for place in range(at_once)), itertools.repeat(0.0))
        self._over = False
        self._lock = threading.Lock()
        self._turns = self._running = self._streak = 0
        self._told: list[Told] = []
        self._commit_due = 0.0
        self._began = time.monotonic()
        self._tick_due = self._began + TICK_SECONDS

    # -- in threads of this process

    def have(self, step: Step) -> None:
        """Have what is left of a conversation, every finished turn committed."""
        with self._lock:
            due = time.monotonic() + next(self._delays)
        while not self._ending() and (wait := due - time.monotonic()) > 0:
            self.stop.wait(min(wait, TICK_SECONDS))
        if self._ending():
            return
        helpers = max(len(step.unit.assistants), len(SCORING) if self._final_request is not None else 0) - 1
        try:
            with self._one_running(), beside(helpers) as parallel_map:
                engines = cast("RoleEngines", self._engines).for_conversation(step.unit.setting, step.unit.seed)
                how: dict[str, Any] = {"on_turn": self._taken, "given_up": self._ending}
                failure = have(step, engines, self._store, self._final_request, parallel_map=parallel_map, **how)
            if failure is not None:
                self._count(failure)
        except _Ending:
            pass
        except Exception as error:  # a budget or a key; or ours, or the store's: the run cannot be trusted to go on
            self._over = True
            if failed_call(error) not in ENDS_THE_RUN:
                raise
            raise _Halted(failed_call(error), str(error)) from None

    def _ending(self) -> bool:
        return self._over or self.stop.is_set()

    def _taken(self) -> None:
        with self._lock:
            self._turns += 1
            self._streak = 0
        if self._ending():
            raise _Ending

    def _count(self, failure: Failure) -> None:
        with self._lock:
            self._streak += 1
        if self._streak >= FAILING_STREAK:
            self._over = True
            raise _Halted(
                "failing", f"{self._streak} conversations failed one after the other; the last: {failure.line}"
            )

    @contextmanager
    def _one_running(self) -> Iterator[None]:
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    # -- in the thread that keeps

    def keep(self, writes: Told) -> None:
        """Commit what other processes have, that of a fifth of a second together: it costs that, and no more."""
        self._told.append(writes)
        self._turns += sum(len(what[1]) for name, what in writes if name == "put_turns")
        if time.monotonic() >= self._commit_due:
            self.commit()
            self._commit_due = time.monotonic() + COMMIT_SECONDS

    def keep_all(self, writes: Sequence[Told]) -> None:
        for one in writes:
            self.keep(one)

    def commit(self) -> None:
        told, self._told = self._told, []  # what Ctrl-C cuts off here is had again
        with self._store.together():
            for name, what in (each for one in told for each in one):
                getattr(self._store, name)(*what)

    def tick(self) -> None:
        """Tell how it stands, if the last time was long enough ago."""
        began = time.monotonic()
        if self._on_progress is not None and began >= self._tick_due:
            self._on_progress(self._snapshot())
            took = time.monotonic() - began
            self._tick_due = began + max(TICK_SECONDS, took / TICK_SHARE)

    def _snapshot(self) -> Snapshot:
        counts = self._store.counts()
        return Snapshot(
            counts=counts,
            done=counts.finished if self._final_request is None else counts.assessed,
            spent=self._store.calls.spent(),
            failures=self._store.failures_by_role(),
            turns_now=self._turns,
            turns_left=counts.open * self._turns_of_a_unit - counts.turns_open,
            running=self._running,
            seconds=time.monotonic() - self._began,
        )

    def report(self, halted: Halt | None = None, message: str = "") -> Report:
        self.commit()
        last = self._snapshot()
        if self._on_progress is not None:
            self._on_progress(last)
        return Report(last, halted, message)


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
