"""From options to a run: check them, plan the conversations, and execute them into a folder.

Commands and notebooks go through `lay_out` and `execute`, so both give the same results and resume each other's runs.
The store decides the remaining work.  The miniature computes, so its conversations run in worker processes and are
committed at their end.  Language models make a run wait, so their conversations run in threads, and every finished
turn is committed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_file, write_json
from discover_lib.base.json_text import to_json
from discover_lib.core.intents import IntentTree
from discover_lib.engines.llm.calls.exchange import ENDS_THE_RUN, Spent
from discover_lib.engines.local.dialect import is_local
from discover_lib.engines.miniature import engine
from discover_lib.engines.spec import EDITION, RoleEngines
from discover_lib.engines.spec import RunOptionsError as RunOptionsError
from discover_lib.metrics.discovery import mean_ceiling
from discover_lib.metrics.intervals import percent
from discover_lib.metrics.satisfaction import FINAL_REQUEST, FINAL_REQUESTS
from discover_lib.metrics.summary import Summary, summarise
from discover_lib.runs.artifact_files import tree_files, trees_of
from discover_lib.runs.store import RUN_FORMAT, Counts, Failure, RunStore, StoreError, failed_call
from discover_lib.runs.units import SCORING, Notes, Step, Unit, have, have_apart, stored_scores, units_of
from discover_lib.runs.units import RunOptions as RunOptions
from discover_lib.runs.units import manner_in as manner_in
from discover_lib.runs.work import Cluster, Processes, Threads, Workers, beside, work

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient

LOCAL_IN_FLIGHT = 64  # conversations with models on this machine at once
APART_SECONDS = 0.01  # between the beginnings of the first conversations with language models
FAILING_STREAK = 20  # consecutive failed conversations, without a finished turn between them, that end the run
TICK_SECONDS = 0.5
TICK_SHARE = 0.05  # of the time, at most: counting a hundred thousand conversations takes 0.2 s
COMMIT_SECONDS = 0.5
Halt = Literal["stopped", "budget", "auth", "failing"]


@dataclass(frozen=True)
class LaidOut:
    """A run ready to be planned or executed."""

    options: RunOptions
    trees: Mapping[str, tuple[str, IntentTree]]  # artifact → (domain, tree)
    units: tuple[Unit, ...]
    configuration: Mapping[str, Any]  # what a store compares before it resumes

    @property
    def models(self) -> list[str]:
        """The language models that take part; [] if the miniature plays all roles."""
        return self.options.models(self.options.everyone)

    @property
    def is_evaluation(self) -> bool:
        """Whether its conversations end with their scores."""
        return self.configuration.get("kind") == "evaluate"

    @property
    def local(self) -> list[str]:
        """The assistants that are models on this machine."""
        return list(filter(is_local, self.options.everyone))


def lay_out(options: RunOptions) -> LaidOut:
    """Check the options and plan the conversations.  Makes no calls.

    Raises:
        RunOptionsError, DiscoverError, ArtifactFileError, TreeError, LexiconError: with the option and the reason.
    """
    if not options.assistants:
        raise RunOptionsError("give at least one --assistant")
    if twice := [name for name in options.assistants if options.assistants.count(name) > 1]:
        raise RunOptionsError(f"assistant {twice[0]!r} is named twice; for several samples of one use --candidates")
    if bool(options.look_ahead) != bool(options.reward_assistant):
        raise RunOptionsError("a look-ahead needs both a number of turns and the assistant that plays them")
    trees = trees_of(options)
    options.check_players(options.everyone, {domain for domain, _ in trees.values()})
    return LaidOut(options, trees, tuple(units_of(options, trees)), _configuration(options, trees))


def lay_out_evaluation(options: RunOptions, domains: Sequence[str] = ()) -> LaidOut:
    """The conversations of an evaluation over one or several domains, or over `options.trees`; raises as `lay_out`."""
    if options.candidates is not None or options.look_ahead:
        raise RunOptionsError("an evaluation has one reply a turn; candidates and look-ahead belong to 'synthesize'")
    run = lay_out(dataclasses.replace(options, domain=", ".join(domains)) if domains else options)
    evaluated = {"kind": "evaluate", "final_request": FINAL_REQUESTS[options.final_request]}
    configuration = {**run.configuration, **evaluated, "domain": ", ".join(domains) or None}
    return dataclasses.replace(run, configuration=configuration)


def check_models(models: Sequence[str], settings: ClientSettings | None) -> None:
    """Check that models can be asked: providers are known and keys are set.  Makes no calls.

    Raises:
        RunOptionsError: naming the model and the variable that is missing.
    """
    if not models:
        return
    from discover_lib.engines.llm.calls.client import LLMClient, LLMError

    with LLMClient(settings) as client:
        for model in models:
            try:
                client.warm_up(model)
            except LLMError as error:
                raise RunOptionsError(str(error)) from error


def check_prices(
    models: Sequence[str], settings: ClientSettings | None, budget_dollars: float | None, *, needed: bool = False
) -> None:
    """Check that the price of every model is known, without which a budget cannot hold.

    Args:
        needed: the work requires a budget.

    Raises:
        RunOptionsError: with the models of unknown price.
    """
    if budget_dollars is not None and (unknown := unpriced(models, settings)):
        raise RunOptionsError(
            f"a budget cannot hold: the price of {', '.join(unknown)} is not known; "
            f"give it with --prices (0 for your own machine){'' if needed else ', or leave the budget out'}"
        )


def unpriced(models: Sequence[str], settings: ClientSettings | None) -> list[str]:
    """The models of unknown price."""
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.engines.llm.calls.exchange import price_of

    how = settings or ClientSettings()
    return [each for each in models if price_of(each, how.prices, how.address_of(each)) is None]


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


# Shows the progress of a run.  The thread that started the run calls it, at most twice a second.
Progress = Callable[[Snapshot], None]


def execute(
    run: LaidOut,
    folder: Path,
    *,
    score: bool | None = None,
    concurrency: int = 1,
    settings: ClientSettings | None = None,
    budget_dollars: float | None = None,
    spread: Cluster | None = None,
    on_progress: Progress = lambda _: None,
    stop: threading.Event | None = None,
) -> Report:
    """Do the missing conversations of a run in its folder, which is new or holds the same run.

    An evaluation takes over the conversations of the same simulation, so no conversation is paid for twice.

    Args:
        score: ask for the final artifact of every conversation and score it; the default in an evaluation.
        concurrency: processes for the miniature, conversations in flight for language models.
        settings: endpoints of language models; may differ when a run resumes.
        budget_dollars: limit of the whole run, its earlier cost included; refuses models of unknown price.
        spread: run on its nodes, in place of processes on this machine; not for models.

    Raises:
        RunOptionsError: a budget for a model of unknown price, or a cluster for a model.
        StoreError: the folder holds other files, or cannot be written to.
        DiscoverError: the run broke; finished work is saved.
    """
    check_prices(run.models, settings, budget_dollars)
    if spread is not None and (models := run.models + run.local):
        raise RunOptionsError(
            f"a cluster computes, and {models[0]} does not run there; remove --on "
            "(--concurrency and several --api-base share the load of language models)"
        )
    if run.is_evaluation:
        _take_over(run, folder)
    stop, at_once = stop or threading.Event(), min(concurrency, len(run.units))
    how: dict[str, Any] = {"on_progress": on_progress, "stop": stop}
    if run.is_evaluation if score is None else score:
        how["final_request"] = run.configuration.get("final_request", FINAL_REQUEST)
    with RunStore.write(folder, run.configuration) as store:
        if run.models:
            with client_of(store, settings, budget_dollars, stop) as client:
                engines = RoleEngines(run.options, client)
                return run_into(store, run.units, Threads(at_once), engines=engines, apart=APART_SECONDS, **how)
        if run.local:
            from discover_lib.engines.local.names import on_gpu

            if concurrency == 1 and not on_gpu():
                on, engines = Threads(LOCAL_IN_FLIGHT), RoleEngines(run.options)
                return run_into(store, run.units, on, engines=engines, **how)
            # A process frees a GPU's memory at its end.
            processes = Processes(1 if on_gpu() else concurrency, fresh=True, chunk=1)
            return run_into(store, run.units, processes, together=LOCAL_IN_FLIGHT, **how)
        return run_into(store, run.units, spread or (Processes(at_once) if at_once > 1 else Workers()), **how)


def client_of(
    store: RunStore, settings: ClientSettings | None, budget_dollars: float | None, stop: threading.Event
) -> LLMClient:
    """The client that keeps its calls in a store, within a budget that includes the calls kept there."""
    from discover_lib.engines.llm.calls.client import Budget, LLMClient

    budget = None if budget_dollars is None else Budget(budget_dollars, spent=store.calls.spent().cost)
    return LLMClient(settings, cache=store.calls, budget=budget, stop=stop)


def run_into(
    store: RunStore,
    units: Sequence[Unit],
    on: Workers,
    *,
    engines: RoleEngines | None = None,
    together: int = 1,
    final_request: str | None = None,
    apart: float = 0.0,
    on_progress: Progress = lambda _: None,
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
    store.add_units(units)
    run = _Run(store, units, final_request, on_progress, stop or threading.Event())
    try:
        if engines is not None:
            run.begin_apart(on.at_once, apart)
            do: Callable[[Any], Any] = partial(run.have, engines)
            work(run.groups(1), do, lambda _: None, on, load=run.steps, stop=run.stop, tick=run.tick)
        else:
            do = partial(have_apart, final_request)
            work(run.groups(together), do, run.keep, on, load=run.steps, stop=run.stop, tick=run.tick)
    except _Halted as halted:
        return run.report(halted.why, str(halted))
    except BrokenExecutor:
        raise DiscoverError(
            "a worker process died (out of memory?); finished work is saved, so resume the run"
        ) from None
    finally:
        run.commit()
    return run.report("stopped" if run.stop.is_set() else None)


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
        final_request: str | None,
        on_progress: Progress,
        stop: threading.Event,
    ) -> None:
        store.reopen()
        left = {*store.unfinished(), *(store.unassessed() if final_request is not None else ())}
        self.left = [unit for unit in units if unit.place in left]
        self.stop = stop
        self._store, self._final_request, self._on_progress = store, final_request, on_progress
        self._with_turns = store.begun()
        self._over = False
        self._lock = threading.Lock()
        self._turns = self._streak = 0
        self._told: list[Notes] = []
        self._commit_due = 0.0
        self._began = time.monotonic()
        self._tick_due = self._began + TICK_SECONDS

    # -- the remaining work; a conversation is read when it is needed

    def steps(self, units: Sequence[Unit]) -> list[Step]:
        begun = {each.place: self._store.conversation(each.place) for each in units if each.place in self._with_turns}
        return [(unit, begun.get(unit.place)) for unit in units]

    def groups(self, together: int) -> list[list[Unit]]:
        """The units in groups of this size, each of the same assistants."""
        in_order = sorted(self.left, key=lambda unit: unit.assistants) if together > 1 else self.left
        alike = [list(group) for _, group in itertools.groupby(in_order, lambda unit: unit.assistants)]
        return [group[at : at + together] for group in alike for at in range(0, len(group), together)]

    # -- in threads of this process

    def begin_apart(self, at_once: int, apart: float) -> None:
        """Let the first conversations begin this many seconds after each other."""
        self._delays = itertools.chain((apart * place for place in range(at_once)), itertools.repeat(0.0))

    def have(self, engines: RoleEngines, steps: Sequence[Step]) -> None:
        """Do the remaining work of one conversation, and commit every finished turn."""
        with self._lock:
            due = time.monotonic() + next(self._delays)
        while not self._ending() and (wait := due - time.monotonic()) > 0:
            self.stop.wait(min(wait, TICK_SECONDS))
        if self._ending():
            return
        [(unit, _)] = steps
        helpers = max(len(unit.assistants), len(SCORING) if self._final_request is not None else 0) - 1
        how: dict[str, Any] = {"on_turn": self._taken, "given_up": self._ending}
        try:
            with beside(helpers) as parallel_map:
                own = engines.for_conversation(unit.setting, unit.seed)
                failure = have(steps[0], own, self._store, self._final_request, parallel_map=parallel_map, **how)
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

    def keep(self, told: Sequence[Notes]) -> None:
        """Commit the work of other processes; that of half a second is one commit."""
        self._told += told
        self._turns += sum(len(notes.turns) for notes in told)
        if time.monotonic() >= self._commit_due:
            self.commit()
            self._commit_due = time.monotonic() + COMMIT_SECONDS

    def commit(self) -> None:
        told, self._told = self._told, []  # conversations that Ctrl-C cuts off here are repeated
        with self._store.together():
            for notes in told:
                notes.tell(self._store)

    def tick(self) -> None:
        """Report the progress, if the last report was long enough ago."""
        began = time.monotonic()
        if began >= self._tick_due:
            self._on_progress(self._snapshot())
            took = time.monotonic() - began
            self._tick_due = began + max(TICK_SECONDS, took / TICK_SHARE)

    def _snapshot(self) -> Snapshot:
        counts = self._store.counts()
        turns = self.left[0].options.turns if self.left else 0
        return Snapshot(
            counts=counts,
            done=counts.finished if self._final_request is None else counts.assessed,
            spent=self._store.calls.spent(),
            failures=self._store.failures_by_role(),
            turns_now=self._turns,
            turns_left=counts.open * turns - counts.turns_open,
            seconds=time.monotonic() - self._began,
        )

    def report(self, halted: Halt | None = None, message: str = "") -> Report:
        self.commit()
        last = self._snapshot()
        self._on_progress(last)
        return Report(last, halted, message)


def _take_over(run: LaidOut, folder: Path) -> None:
    """Make the simulation in a folder this evaluation, if its conversations are the same."""
    try:
        with RunStore.read(folder) as store:
            stored = store.configuration
    except StoreError:
        return
    ours = run.configuration
    unscored = {key: value for key, value in ours.items() if key != "final_request"} | {"kind": "simulate"}
    unscored["prompts"] = {name: text for name, text in ours["prompts"].items() if name in stored.get("prompts", {})}
    if stored == json.loads(to_json(unscored)):
        with RunStore.write(folder, stored) as store:
            store.reconfigure(ours)


def write_results(folder: Path) -> list[Summary]:
    """Write the results of a run so far as files beside its store; returns the summary per assistant.

    `run.json` is the configuration, `conversations.jsonl` the finished conversations in the order of the plan, and
    `summary.json` the table.  The store suffices to write them again.
    """
    with RunStore.read(folder) as store:
        write_json(folder / "run.json", store.configuration)
        with whole_file(folder / "conversations.jsonl") as file:
            file.buffer.writelines(line + b"\n" for line in store.lines())
        summaries = summarise(stored_scores(store))
    write_json(folder / "summary.json", [each.to_dict() for each in summaries])
    return summaries


def within_reach(run: LaidOut) -> str:
    """The ceiling of every "share of hidden", in words."""
    options = run.options
    share = percent(mean_ceiling((tree for _, tree in run.trees.values()), options.rules, options.turns))
    return f"within reach of {options.turns} perfect turns: {share} of the hidden intents (mean over artifacts)"


def caveats(run: LaidOut) -> list[str]:
    """Limits of the results of a run, to print before it begins."""
    from discover_lib.engines.miniature.assistants import SCRIPTED

    notes = []
    if run.configuration.get("kind") == "evaluate" and len(run.options.assistants) == 1:
        notes.append("eq. 4 compares assistants: with one alone it is not defined; name a second --assistant")
    if run.options.trees is not None and (there := len(tree_files(run.options.trees))) > len(run.trees):
        notes.append(
            f"{len(run.trees)} of the {there} trees in {run.options.trees} are played; --artifacts {there} takes all"
        )
    scripted = [name for name in run.options.assistants if name in SCRIPTED]
    brought = run.trees.values() if scripted and run.options.trees is not None else ()
    if any(engine(domain).judge.undecidable(tree) for domain, tree in brought):
        notes.append(
            f"scripted assistants ({', '.join(scripted)}) know the miniature's words alone, and these trees use other "
            "words; name a language model as assistant"
        )
    return notes


def _configuration(options: RunOptions, trees: Mapping[str, tuple[str, IntentTree]]) -> dict[str, Any]:
    """Everything that decides the results, as a store compares it."""
    from discover_lib.base import VERSION
    from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, load_lexicon

    known = sorted({domain for domain, _ in trees.values()}.intersection(ALL_DOMAINS))
    where_not_the_default = {
        "look_ahead": options.look_ahead,
        "reward_assistant": options.reward_assistant if options.look_ahead else "",
        "taste": options.taste,
        "worlds": {domain: world for domain in known if (world := load_lexicon(domain).world) > 1},
    }
    return {name: value for name, value in where_not_the_default.items() if value} | {
        "format": RUN_FORMAT,
        "code_version": VERSION,
        "kind": "simulate" if options.candidates is None else "synthesize",
        "domain": options.domain,
        "assistants": list(options.assistants),
        "candidates": options.candidates,
        "trials": options.trials,
        "turns": options.turns,
        "seed": options.seed,
        "rules": options.rules.to_dict(),
        **options.to_store(options.everyone),
        "artifacts": {
            artifact: hashlib.sha256(to_json(tree.to_dict()).encode()).hexdigest()[:16]
            for artifact, (_, tree) in trees.items()
        },
        "edition": EDITION,
    }
