"""Run many conversations into a store, some at once.  The same call resumes an interrupted run.

The store decides the remaining work: conversations from the start or from their last finished turn, and in an
evaluation their scores.  The miniature computes, so its conversations run in worker processes and are committed at
their end.  Language models make a run wait, so their conversations run in threads, and every finished turn is
committed.  A role that fails ends its conversation, not the run.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal, Protocol, cast

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Conversation, Message, Reply, Stop, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import AssistantError, Judge, JudgeError, RoleError
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState
from discover_lib.engines.llm.calls.exchange import ENDS_THE_RUN, RETRIED, Spent
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.runs.store import Counts, Failure, RunStore, TurnRow, UnitRow, failed_call, failure_of, turn_row
from discover_lib.runs.units import SCORING, Unit, digest_of, run_unit, scored, simulator_of
from discover_lib.runs.work import ParallelMap, Workers, beside, work

Halt = Literal["stopped", "budget", "auth", "failing"]
FAILING_STREAK = 20  # consecutive failed conversations, without a finished turn between them, that end the run
TICK_SECONDS = 0.5
TICK_SHARE = 0.05  # of the time, at most: counting a hundred thousand conversations takes 0.2 s
COMMIT_SECONDS = 0.2


class JudgeUnreachable(RoleError):
    """The judge could not be asked.  Unlike a `JudgeError` it must not decide between candidates: the turn fails."""

    role = "judge"


@dataclass(frozen=True)
class Snapshot:
    """The progress of a run.

    Attributes:
        done: complete conversations: finished, and in an evaluation scored.
        turns_now: turns finished since this start or resumption, `seconds` ago.
        turns_left: maximum number of remaining turns.
    """

    counts: Counts
    done: int
    spent: Spent
    failures: Mapping[str, int]
    turns_now: int
    turns_left: int
    seconds: float

    @property
    def turns_per_second(self) -> float | None:
        return self.turns_now / self.seconds if self.turns_now and self.seconds else None

    @property
    def seconds_left(self) -> float | None:
        """None until a first turn has been finished."""
        return self.turns_left / self.turns_per_second if self.turns_per_second else None


class Progress(Protocol):
    """Shows the progress of a run.  The thread that started the run calls it, at most twice a second."""

    def __call__(self, snapshot: Snapshot, /) -> None: ...


@dataclass(frozen=True)
class Report:
    """The end of a run.  `halted` is None if every unit was run, even if some failed."""

    last: Snapshot
    halted: Halt | None = None
    message: str = ""

    @property
    def unscored(self) -> int:
        """Finished conversations of an evaluation that lack a score; a repeated run retries them."""
        return self.last.counts.finished - self.last.done


def register(store: RunStore, units: Sequence[Unit]) -> None:
    """Write the plan of a run into its store, if it is not there."""
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
    """Do the remaining work of units and save it.

    Interrupted conversations resume after their last finished turn; failed conversations and scores are retried.
    After Ctrl-C or `stop`, no unit begins and finished work is saved.  Give the client of `engines` the same `stop`.

    Args:
        engines: players in threads of this process; without them, workers make theirs.
        together: parallel conversations of one assistant in a worker process.
        final_request: the message that asks for the final artifact, if conversations are scored.
        apart: seconds between the starts of the first conversations.  Started together, they would send all calls of a
            turn together, and every call would wait for the processor.

    Raises:
        StoreError: the store cannot be written to.
        DiscoverError: a worker process died, or no node of a cluster is left; finished work is saved.
        Exception: a defect of this code in one conversation, after the others have stopped.
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
            "a worker process died (out of memory?); finished work is saved, so resume the run"
        ) from None
    finally:
        run.commit()
    return run.report("stopped" if run.stop.is_set() else None)


# -- what is left to do -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """The remaining work of a unit: its conversation so far, or None at the start; if that is finished, its scores."""

    unit: Unit
    so_far: Conversation | None


class _Left(Sequence[Step]):
    """The remaining work of a run.  A conversation is read when it is needed; failed conversations resume."""

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
    """Steps with the same assistants, several in a group."""

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
    store: RunStore | Notes,
    final_request: str | None,
    *,
    parallel_map: ParallelMap = map,
    on_turn: Callable[[], None] = lambda: None,
    given_up: Callable[[], bool] = lambda: False,
) -> Failure | None:
    """Do the rest of a conversation and write it to the store: turns, the reason for its end, failures, scores.

    Args:
        on_turn: called after a turn is written.
        given_up: whether the run is ending; an error is then no failure.

    Returns:
        The failure that ended the conversation, if a role failed.
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


@dataclass
class Notes:
    """Replaces the store in another process: collects the rows of a conversation.

    Attributes:
        place: of the conversation; None if it was finished before.
        assessment: the arguments of `RunStore.put_assessment`, if it was scored.
    """

    place: int | None = None
    turns: list[TurnRow] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    stop: Stop | None = None
    digest: str | None = None
    assessment: tuple[Any, ...] = ()

    def put_turns(
        self,
        place: int,
        turns: Sequence[TurnRow],
        stop: Stop | None,
        failures: Sequence[Failure] = (),
        digest: str | None = None,
    ) -> None:
        self.place, self.stop, self.digest = place, stop, digest
        self.turns += turns
        self.failures += failures

    def put_assessment(self, *what: Any) -> None:
        self.assessment = what

    def tell(self, store: RunStore) -> None:
        """Write the rows to the store."""
        if self.place is not None:
            store.put_turns(self.place, self.turns, self.stop, self.failures, self.digest)
        if self.assessment:
            store.put_assessment(*self.assessment)


@cache
def _engines(spec: EngineSpec) -> RoleEngines:
    return RoleEngines(spec)


def have_apart(final_request: str | None, step: Step) -> Notes:
    """`have` in another process, with its own roles."""
    notes = Notes()
    have(step, _engines(step.unit.asked.spec), notes, final_request)
    return notes


def have_together(final_request: str | None, steps: Sequence[Step]) -> list[Notes]:
    """`have_apart` of several conversations in parallel: a model on this machine answers them in one batch."""
    with ThreadPoolExecutor(len(steps)) as pool:
        return list(pool.map(partial(have_apart, final_request), steps))


# -- a run under way --------------------------------------------------------------------------------------------------


class _Halted(Exception):
    """Ends a run early."""

    def __init__(self, why: Halt, message: str) -> None:
        super().__init__(message)
        self.why = why


class _Ending(Exception):
    """The run is ending: leave this conversation after its last turn."""


class _Run:
    """The state of one `run_into`: its remaining work, its end, its progress."""

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
        self._turns = self._streak = 0
        self._told: list[Notes] = []
        self._commit_due = 0.0
        self._began = time.monotonic()
        self._tick_due = self._began + TICK_SECONDS

    # -- in threads of this process

    def have(self, step: Step) -> None:
        """Do the remaining work of a conversation, and commit every finished turn."""
        with self._lock:
            due = time.monotonic() + next(self._delays)
        while not self._ending() and (wait := due - time.monotonic()) > 0:
            self.stop.wait(min(wait, TICK_SECONDS))
        if self._ending():
            return
        helpers = max(len(step.unit.assistants), len(SCORING) if self._final_request is not None else 0) - 1
        try:
            with beside(helpers) as parallel_map:
                engines = cast("RoleEngines", self._engines).for_conversation(step.unit.setting, step.unit.seed)
                how: dict[str, Any] = {"on_turn": self._taken, "given_up": self._ending}
                failure = have(step, engines, self._store, self._final_request, parallel_map=parallel_map, **how)
            if failure is not None:
                self._count(failure)
        except _Ending:
            pass
        except Exception as error:  # a budget or a key, or a defect of this code or the store: the run must end
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

    # -- in the thread that keeps

    def keep(self, notes: Notes) -> None:
        """Commit the work of other processes; that of a fifth of a second is one commit."""
        self._told.append(notes)
        self._turns += len(notes.turns)
        if time.monotonic() >= self._commit_due:
            self.commit()
            self._commit_due = time.monotonic() + COMMIT_SECONDS

    def keep_all(self, told: Sequence[Notes]) -> None:
        for one in told:
            self.keep(one)

    def commit(self) -> None:
        told, self._told = self._told, []  # conversations that Ctrl-C cuts off here are repeated
        with self._store.together():
            for notes in told:
                notes.tell(self._store)

    def tick(self) -> None:
        """Report the progress, if the last report was long enough ago."""
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
            seconds=time.monotonic() - self._began,
        )

    def report(self, halted: Halt | None = None, message: str = "") -> Report:
        self.commit()
        last = self._snapshot()
        if self._on_progress is not None:
            self._on_progress(last)
        return Report(last, halted, message)


class _WatchedJudge:
    """A judge whose failures are recorded with the raw answers, for one conversation."""

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
