"""Many conversations: assistants × artifacts × trials, from identical states, and what came out.

Every unit of work has a seed of its own, derived from the run's seed, the artifact and the trial (not the assistant:
all assistants meet the same user with the same thresholds), so the results do not depend on how many run at once.
`discover_lib.runs.runner` runs units into a store; `run_units` runs the miniature's without one.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

from discover_lib.base.seeds import derive_seed
from discover_lib.base.tokens import COUNTING
from discover_lib.core.conversation import Candidate, Conversation, Reply, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import AssistantError, Judge, UserVoice
from discover_lib.core.rollout import Map, continue_conversation
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator
from discover_lib.engines.manner import Manner
from discover_lib.engines.spec import MINIATURE, Engines, EngineSpec, RoleEngines
from discover_lib.metrics.look_ahead import LookAhead

CHUNK = 8  # units handed to a worker at once
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Unit:
    """One conversation to be run."""

    domain: str
    artifact_id: str
    tree: Mapping[str, Any]  # plain form: workers are other processes
    assistants: tuple[str, ...]  # one, or several whose best goes on
    trial: int
    seed: int
    rules: Mapping[str, Any]
    turns: int
    place: int = 0  # in the run
    engine: str = MINIATURE  # who judges and speaks, as the record names it
    look_ahead: int = 0  # turns that candidates are rewarded for beyond their own
    reward_assistant: str = ""  # who plays those turns
    manner: Manner | None = None  # how the user types; None for the paper's

    @property
    def setting(self) -> dict[str, Any]:
        """What the conversation's record says about how it came about."""
        window = {"look_ahead": self.look_ahead, "reward_assistant": self.reward_assistant} if self.look_ahead else {}
        manner = {"manner": self.manner.name} if self.manner else {}
        return {
            **window,
            **manner,
            "engine": self.engine,
            "domain": self.domain,
            "artifact": self.artifact_id,
            "assistants": list(self.assistants),
            "trial": self.trial,
        }


def seed_of(run_seed: int, artifact_id: str, trial: int) -> int:
    """The seed of a conversation: the same for all assistants, which meet the same user."""
    return derive_seed(run_seed, artifact_id, trial)


def plan_units(
    trees: Mapping[str, tuple[str, IntentTree]],
    assistants: Sequence[str],
    *,
    trials: int,
    turns: int,
    rules: Rules,
    seed: int,
    engine: str = MINIATURE,
    candidates: int | None = None,
    look_ahead: int = 0,
    reward_assistant: str = "",
    manner: Manner | None = None,
) -> list[Unit]:
    """All units of a run.  `trees` maps artifact id → (domain, tree).

    With `candidates` all assistants take part in every conversation, each with that many candidate replies a turn, and
    the best goes on; without it every assistant has conversations of its own.  With `look_ahead` candidates are
    rewarded for this many further turns, played by `reward_assistant`.
    """
    groups: list[tuple[str, ...]] = [(name,) for name in assistants]
    if candidates is not None:
        groups = [tuple(name for name in assistants for _ in range(candidates))]
    plain = {artifact_id: tree.to_dict() for artifact_id, (_, tree) in trees.items()}
    plain_rules = rules.to_dict()
    wanted = [(artifact, trial, group) for artifact in trees for trial in range(trials) for group in groups]
    return [
        Unit(
            domain=trees[artifact_id][0],
            artifact_id=artifact_id,
            tree=plain[artifact_id],
            assistants=group,
            trial=trial,
            seed=seed_of(seed, artifact_id, trial),
            rules=plain_rules,
            turns=turns,
            place=place,
            engine=engine,
            look_ahead=look_ahead,
            reward_assistant=reward_assistant,
            manner=manner,
        )
        for place, (artifact_id, trial, group) in enumerate(wanted)
    ]


@runtime_checkable
class CheckedAgainstTree(Protocol):
    """A voice that may have what it says checked against a tree, which it does not speak from."""

    def checked_against(self, tree: IntentTree) -> UserVoice: ...


def user_of(engines: Engines, domain: str, tree: IntentTree) -> tuple[Judge, UserVoice]:
    """Who judges and who speaks for a user of this tree."""
    voice = engines.voice(domain)
    return engines.judge(domain), voice.checked_against(tree) if isinstance(voice, CheckedAgainstTree) else voice


def simulator_of(unit: Unit, engines: Engines, so_far: Conversation | None = None) -> UserSimulator:
    """The user of a unit, at the start or where a stored conversation stands."""
    tree = _TREES.of(unit.tree)
    judge, voice = user_of(engines, unit.domain, tree)
    if so_far is not None:
        return UserSimulator.resume(so_far, judge, voice)
    rules = Rules.from_dict(unit.rules)
    return UserSimulator(tree, judge, voice, rules=rules, seed=unit.seed, setting=unit.setting)


class _LastTree(threading.local):
    """The tree read last: the units of an artifact come one after the other, with one and the same plain form."""

    plain: Mapping[str, Any] | None = None
    tree: IntentTree

    def of(self, plain: Mapping[str, Any]) -> IntentTree:
        if plain is not self.plain:
            self.plain, self.tree = plain, IntentTree.from_dict(plain)
        return self.tree


_TREES = _LastTree()


def run_unit(
    unit: Unit,
    engines: Engines | None = None,
    *,
    simulator: UserSimulator | None = None,
    on_turn: Callable[[Turn], None] | None = None,
    parallel_map: Map = map,
    on_left_out: Callable[[AssistantError], None] = lambda _: None,
) -> Conversation:
    """Run one unit of work, from the start or from where `simulator` stands; the miniature plays unless told otherwise.

    Of several candidates of a turn one without a reply is left out: it stays unscored and never wins.

    Args:
        on_left_out: takes why, in the order of the candidates.

    Raises:
        RoleError: a role could not do its part; what was taken so far is in `simulator`.
    """
    engines = engines or RoleEngines(EngineSpec(manner=unit.manner))
    assistants = [engines.assistant(name, unit.domain) for name in unit.assistants]
    simulator = simulator or simulator_of(unit, engines)
    ahead = None
    if unit.look_ahead:
        ahead = LookAhead(unit.look_ahead, engines.assistant(unit.reward_assistant, unit.domain))
    candidates = partial(_without_failed, unit, simulator, parallel_map, on_left_out)
    return continue_conversation(
        simulator, assistants, turns=unit.turns, on_turn=on_turn, parallel_map=candidates, ahead=ahead
    )


def _without_failed(
    unit: Unit,
    simulator: UserSimulator,
    parallel_map: Map,
    on_left_out: Callable[[AssistantError], None],
    function: Callable[[int], Candidate],
    places: Iterable[int],
    /,
) -> list[Candidate]:
    """The candidates of a turn, unscored where an assistant failed; if all failed, the turn fails with the first."""
    errors: dict[int, AssistantError] = {}

    def candidate(place: int) -> Candidate:
        try:
            return function(place)
        except AssistantError as error:
            errors[place] = error
            reply = Reply("", 0, COUNTING, unit.assistants[place])
            return Candidate(reply, None, simulator.state, error=f"{error.role}: {error}")

    candidates = list(parallel_map(candidate, places))
    failed = [errors[place] for place in sorted(errors)]
    if len(failed) == len(candidates):
        raise failed[0]
    for error in failed:
        on_left_out(error)
    return candidates


def run_units(units: Sequence[Unit], processes: int = 1) -> Iterator[Conversation]:
    """Conversations of the miniature in the order of `units`, run by one or several processes."""
    # Plain dictionaries cross the process boundary: they are smaller than pickled records with their indexes.
    for data in map_in_processes(_run_to_dict, units, processes):
        yield Conversation.from_dict(data)


def _run_to_dict(unit: Unit) -> dict[str, Any]:
    return run_unit(unit).to_dict()


def map_in_processes(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    processes: int,
    chunk: int = CHUNK,
    *,
    fresh: bool = False,
) -> Generator[Result, None, None]:
    """`map` over worker processes, in order; closing the iterator drops what has not begun.

    Args:
        fresh: begin workers anew instead of forking them, for work with libraries that do not survive a fork (torch).
            A process with several threads does so anyhow: a forked worker could inherit a lock that nobody frees.

    Raises:
        BrokenProcessPool: a worker died.
    """
    if processes <= 1 and not fresh:
        yield from map(function, items)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("spawn") if fresh or threading.active_count() > 1 else None
    pool = ProcessPoolExecutor(min(processes, len(items) or 1), context, _init_worker)
    try:
        yield from pool.map(function, items, chunksize=chunk)
    finally:
        pool.shutdown(cancel_futures=True)


def _init_worker() -> None:
    """Set a worker up: Ctrl-C is the parent's to answer, and a parent that is killed leaves no workers behind."""
    import multiprocessing

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def leave() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()
