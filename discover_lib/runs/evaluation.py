"""Evaluation: assistants × artifacts × trials from identical states, assessed, with intervals (paper, section 4.2).

An evaluation is a run like any other, and resumes like one: first its conversations, then, for every finished one, the
final turn and the scores of it.  `assess` does the second part for any run.  `load_scores` reads what tables and
figures need without the conversations; `discover_lib.metrics.results` makes results of it.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from discover_lib.base.cells import harmless_row
from discover_lib.base.files import rounded, whole_file, write_json
from discover_lib.base.json_text import to_json
from discover_lib.base.seeds import derive_seed
from discover_lib.core.conversation import Conversation, FinalTurn, Message, Reply
from discover_lib.core.roles import Assistant, RoleError, SeesIntents, ask
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.engines.llm.calls.records import ENDS_THE_RUN
from discover_lib.engines.spec import Engines, EngineSpec, RoleEngines
from discover_lib.metrics.ceiling import ceiling, ceiling_over, hides
from discover_lib.metrics.evidence import ids_of_results
from discover_lib.metrics.intervals import INTERVAL, Estimate
from discover_lib.metrics.paired import TEST
from discover_lib.metrics.rescore import SensitivityMap, sensitivity
from discover_lib.metrics.results import ALL, CSV_COLUMNS, MEASURES, Pool, ScopeResults, results_by_scope, tidy_rows
from discover_lib.metrics.satisfaction import FINAL_REQUEST, FINAL_REQUESTS, LeaveOut
from discover_lib.metrics.scorer import Scorer
from discover_lib.metrics.scores import Assessment, ConversationScores, ScoringFailure, scores_of
from discover_lib.runs.cluster import Cluster
from discover_lib.runs.digests import stored_scores
from discover_lib.runs.options import (
    LaidOut,
    RunOptions,
    RunOptionsError,
    check_prices,
    execute,
    lay_out,
    lay_out_together,
    model_engines,
    processes_for,
)
from discover_lib.runs.outcomes import Outcomes
from discover_lib.runs.runner import Halt, ParallelMap, Progress, Report, beside, failed_call, failure_of
from discover_lib.runs.store import RunStore, StoreError, id_of_run
from discover_lib.runs.units import map_in_processes

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings

RESULTS_FORMAT = "discover-results/1"
RESULTS_FILE, SCORES_FILE, SENSITIVITY_FILE = "results.json", "scores.csv", "sensitivity.json"
_SAID_OF_A_RUN = ("domain", "engine", "assistants", "trials", "turns", "seed", "kind")
SCORING = ("satisfaction", "interactivity", "behaviour")  # of a conversation, in the order of their records
CHUNK = 32  # conversations assessed at once where nothing is waited for
T = TypeVar("T")


class OnAssessed(Protocol):
    """Takes how many conversations are assessed, of how many."""

    def __call__(self, done: int, total: int, /) -> None: ...


@dataclass(frozen=True)
class Assessed:
    """How an assessment ended.

    Attributes:
        failed: conversations of which a part could not be scored; the same again tries them again.
        halted: why it ended before all were assessed, if it did.
    """

    done: int
    failed: int
    halted: Halt | None = None
    message: str = ""


# -- the conversations -----------------------------------------------------------------------------------------------


def lay_out_evaluation(options: RunOptions, domains: Sequence[str] = ()) -> LaidOut:
    """The conversations of an evaluation over one or several domains, or over `options.trees`.  Spends nothing.

    Raises:
        RunOptionsError, ArtifactFileError, TreeError, LexiconError: naming what cannot be done.
    """
    if options.candidates is not None or options.look_ahead:
        raise RunOptionsError("an evaluation has one reply a turn; candidates and look-ahead belong to 'synthesize'")
    run = lay_out_together(options, domains) if domains else lay_out(options)
    configuration = {**run.configuration, "kind": "evaluate", "final_request": FINAL_REQUESTS[options.final_request]}
    configuration["domain"] = ", ".join(domains) or None
    return dataclasses.replace(run, configuration=configuration)


def take_over(run: LaidOut, folder: Path) -> None:
    """Make the simulation in a folder this evaluation, if its conversations are the same: none is paid for twice."""
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


def is_evaluation(run: LaidOut) -> bool:
    """Whether a run's conversations are assessed when they are finished."""
    return run.configuration.get("kind") == "evaluate"


def evaluate(
    run: LaidOut,
    folder: Path,
    *,
    concurrency: int = 1,
    settings: ClientSettings | None = None,
    budget_dollars: float | None = None,
    on_progress: Progress | None = None,
    on_assessed: OnAssessed | None = None,
    stop: threading.Event | None = None,
) -> tuple[Report, Assessed]:
    """Run and assess what is unfinished of an evaluation; arguments as of `discover_lib.runs.options.execute`.

    Args:
        on_progress: takes how the run stands.
        on_assessed: takes how the assessment stands.

    Raises:
        StoreError, RunError: as `execute`.
    """
    how: dict[str, Any] = {"settings": settings, "budget_dollars": budget_dollars, "stop": stop}
    take_over(run, folder)
    report = execute(run, folder, concurrency=concurrency, on_progress=on_progress, **how)
    if report.halted is not None:
        return report, Assessed(0, 0, report.halted, report.message)
    return report, assess(run, folder, concurrency=concurrency, on_progress=on_assessed, **how)


# -- the assessment --------------------------------------------------------------------------------------------------


def assess(
    run: LaidOut,
    folder: Path,
    *,
    concurrency: int = 1,
    settings: ClientSettings | None = None,
    budget_dollars: float | None = None,
    spread: Cluster | None = None,
    on_progress: OnAssessed | None = None,
    stop: threading.Event | None = None,
) -> Assessed:
    """Ask for the final piece of every finished conversation that has none yet, and score it.

    Who judged the run scores it.  A part that fails leaves the conversation unscored in it and is tried again the next
    time.  Ctrl-C or `stop` ends it and keeps what is finished.

    Raises:
        StoreError: the run cannot be read or written to.
    """
    stop = stop or threading.Event()
    check_prices(run.models, settings, budget_dollars)
    with RunStore.write(folder, run.configuration) as store:
        places = store.unassessed()
        for place in places:
            _forget_failures(store, place)
        keep = _Keeper(store, len(places), on_progress)
        try:
            if not run.models:
                if spread:
                    return _assess_on_cluster(run, store, places, keep, spread, stop)
                return _assess_in_processes(run, folder, places, keep, processes_for(run, concurrency), stop)
            with model_engines(run, store, settings, budget_dollars, stop) as engines:
                return _assess_in_threads(store, engines, _final_request(run), places, keep, concurrency, stop)
        except KeyboardInterrupt:
            stop.set()
            return keep.ended("stopped")


class _Keeper:
    """Commits assessments as they come and counts them."""

    def __init__(self, store: RunStore, total: int, on_progress: OnAssessed | None) -> None:
        self._store, self._total, self._on_progress = store, total, on_progress
        self._done = self._failed = 0

    def __call__(self, place: int, data: Mapping[str, Any], digest: Mapping[str, Any]) -> None:
        failed = bool(data["failures"])
        self._store.put_assessment(place, data, digest, failed=failed)
        self._done, self._failed = self._done + 1, self._failed + failed
        if self._on_progress is not None:
            self._on_progress(self._done, self._total)

    def ended(self, halted: Halt | None = None, message: str = "") -> Assessed:
        return Assessed(self._done, self._failed, halted, message)


def _forget_failures(store: RunStore, place: int) -> None:
    """Have the answers that could not be used asked for anew."""
    for failure in (store.assessment(place) or {}).get("failures", ()):
        store.calls.forget_answers(failure["came_back"])


def _final_request(run: LaidOut) -> str:
    """What asks for the finished piece; a run that was not begun as an evaluation has no choice of its own."""
    return str(run.configuration.get("final_request", FINAL_REQUEST))


def _assess_in_processes(
    run: LaidOut, folder: Path, places: Sequence[int], keep: _Keeper, processes: int, stop: threading.Event
) -> Assessed:
    request = _final_request(run)
    places = sorted(places, key=lambda place: run.units[place].assistants)  # an assistant's together: it is asked once
    chunks = [
        _Chunk(folder, run.options.spec, tuple(places[at : at + CHUNK]), request) for at in range(0, len(places), CHUNK)
    ]
    fresh = bool(run.local)  # torch does not survive a fork
    with closing(map_in_processes(_assess_chunk, chunks, processes, chunk=1, fresh=fresh)) as results:
        for rows in results:
            for place, data, digest in rows:
                keep(place, data, digest)
            if stop.is_set():
                return keep.ended("stopped")
    return keep.ended()


@dataclass(frozen=True)
class _Chunk:
    """Conversations that one worker assesses."""

    folder: Path
    spec: EngineSpec
    places: tuple[int, ...]
    request: str  # for the finished piece


def _assess_chunk(chunk: _Chunk) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
    """(place, assessment, digest) of every conversation, in plain form for another process."""
    with RunStore.read(chunk.folder) as store:
        conversations = [store.conversation(place) for place in chunk.places]
    return _assess_all(chunk.spec, chunk.request, chunk.places, conversations)


def _assess_on_cluster(
    run: LaidOut, store: RunStore, places: Sequence[int], keep: _Keeper, spread: Cluster, stop: threading.Event
) -> Assessed:
    """Conversations travel to the nodes, which have no disk in common with us."""
    work = partial(_assess_carried, run.options.spec, _final_request(run))
    with closing(spread.map(work, _Carried(store, places))) as results:
        for place, data, digest in results:
            keep(place, data, digest)
            if stop.is_set():
                return keep.ended("stopped")
    return keep.ended()


class _Carried(Sequence[tuple[int, dict[str, Any]]]):
    """Conversations in plain form, each read when its turn comes."""

    def __init__(self, store: RunStore, places: Sequence[int]) -> None:
        self._store, self._places = store, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        return self._places[at], self._store.conversation(self._places[at]).to_dict()


def _assess_carried(
    spec: EngineSpec, request: str, carried: tuple[int, dict[str, Any]]
) -> tuple[int, dict[str, Any], dict[str, Any]]:
    place, data = carried
    (row,) = _assess_all(spec, request, [place], [Conversation.from_dict(data)])
    return row


def _assess_all(
    spec: EngineSpec, request: str, places: Sequence[int], conversations: Sequence[Conversation]
) -> list[tuple[int, dict[str, Any], dict[str, Any]]]:
    engines = RoleEngines(spec)
    finals = final_turns(conversations, engines, request)
    rows = []
    for place, conversation, final in zip(places, conversations, finals, strict=True):
        assessment = assessed(conversation, engines.scorer(conversation.setting["domain"]), final)
        rows.append((place, assessment.to_dict(), scores_of(conversation, place, assessment).digest()))
    return rows


def _assess_in_threads(
    store: RunStore,
    engines: Engines,
    request: str,
    places: Sequence[int],
    keep: _Keeper,
    concurrency: int,
    stop: threading.Event,
) -> Assessed:
    """One conversation a thread, and one for each of its scores: they wait for the final piece, not on one another."""

    def work(place: int) -> tuple[Assessment, ConversationScores]:
        conversation = store.conversation(place)
        roles = engines.for_conversation(conversation.setting, conversation.seed)
        (final,) = final_turns([conversation], roles, request)
        with beside(len(SCORING) - 1) as parallel_map:
            scorer = roles.scorer(conversation.setting["domain"])
            assessment = assessed(conversation, scorer, final, parallel_map=parallel_map)
        return assessment, scores_of(conversation, place, assessment)

    pool = ThreadPoolExecutor(max(1, min(concurrency, len(places) or 1)))
    try:
        waiting = {pool.submit(work, place): place for place in places}
        for done in as_completed(waiting):
            try:
                assessment, digest = done.result()
            except Exception as error:
                kind = failed_call(error)
                if kind not in ENDS_THE_RUN:
                    raise
                return keep.ended(kind, str(error))
            keep(waiting[done], assessment.to_dict(), digest.digest())
            if stop.is_set():
                return keep.ended("stopped")
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # calls in flight are paid for: let them reach the cache
    return keep.ended()


@runtime_checkable
class RepliesTogether(Protocol):
    """An assistant that answers many conversations at once, each as it would alone."""

    def reply_batch(self, requests: Sequence[tuple[Sequence[Message], int]]) -> Sequence[Reply]: ...


def final_turns(
    conversations: Sequence[Conversation], engines: Engines, request: str = FINAL_REQUEST
) -> list[FinalTurn | ScoringFailure]:
    """The finished pieces of conversations, each asked of the assistant that held it, or why it is missing.

    An assistant that `RepliesTogether` is asked for all its conversations at once.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for at, conversation in enumerate(conversations):
        setting = conversation.setting
        groups.setdefault((setting["assistants"][0], setting["domain"]), []).append(at)
    finals: dict[int, FinalTurn | ScoringFailure] = {}
    for (name, domain), members in groups.items():
        assistant = engines.assistant(name, domain)
        held = [conversations[at] for at in members]
        if isinstance(assistant, RepliesTogether):
            finals_of_group = _answer_together(assistant, held, request)
        else:
            finals_of_group = _answer_alone(assistant, held, request)
        finals |= zip(members, finals_of_group, strict=True)
    return [finals[at] for at in range(len(conversations))]


def _answer_together(
    assistant: RepliesTogether, conversations: Sequence[Conversation], request: str
) -> Sequence[FinalTurn | ScoringFailure]:
    questions = [final_question(each, request) for each in conversations]
    replies = _tried("final", lambda: assistant.reply_batch(questions))
    if isinstance(replies, ScoringFailure):
        return [replies] * len(conversations)
    return [FinalTurn(request, reply) for reply in replies]


def _answer_alone(
    assistant: Assistant | SeesIntents, conversations: Sequence[Conversation], request: str
) -> Sequence[FinalTurn | ScoringFailure]:
    def final(conversation: Conversation) -> FinalTurn:
        messages, seed = final_question(conversation, request)
        return FinalTurn(request, ask(assistant, conversation.tree, conversation.state, messages, seed))

    return [_tried("final", lambda each=each: final(each)) for each in conversations]  # type: ignore[misc]


def final_question(conversation: Conversation, request: str = FINAL_REQUEST) -> tuple[tuple[Message, ...], int]:
    """What the assistant is asked for the finished piece, and with which seed."""
    messages = conversation.messages()
    if messages[-1].role == "user":  # the last turn was answered; what was said there comes with the request
        question = Message("user", f"{messages[-1].content}\n\n{request}")
        return (*messages[:-1], question), derive_seed(conversation.seed, "final")
    return (*messages, Message("user", request)), derive_seed(conversation.seed, "final")


def assessed(
    conversation: Conversation, scorer: Scorer, final: FinalTurn | ScoringFailure, *, parallel_map: ParallelMap = map
) -> Assessment:
    """Everything that an evaluation wants to know about a finished conversation; what fails is unscored.

    Args:
        parallel_map: how the scores are asked for; it must keep their order.
    """

    def score(name: str) -> Any:
        if name == "satisfaction":
            if isinstance(final, ScoringFailure):
                return final
            return _tried(name, lambda: scorer.satisfaction(conversation.tree, final.reply))
        return _tried(name, lambda: getattr(scorer, name)(conversation))

    scores = list(parallel_map(score, SCORING))
    failures = tuple(each for each in scores if isinstance(each, ScoringFailure))
    finished, *parts = (None if isinstance(each, ScoringFailure) else each for each in (final, *scores))
    return Assessment(scorer.name, finished, **dict(zip(SCORING, parts, strict=True)), failures=failures)


def _tried(name: str, score: Callable[[], T]) -> T | ScoringFailure:
    try:
        return score()
    except RoleError as error:
        failure = failure_of(error, 0)
        return ScoringFailure(name, failure.message, failure.came_back)


# -- results ---------------------------------------------------------------------------------------------------------


def load_scores(folder: Path) -> list[ConversationScores]:
    """The scores of every finished conversation of a run, assessed or not, in the order of the plan.

    Raises:
        StoreError: there is no run.
    """
    with RunStore.read(folder) as store:
        return list(stored_scores(store))


def ceilings_of(store: RunStore) -> dict[str, float]:
    """Artifact → what of its user a perfect reply in every turn of this run would find (`metrics.ceiling`).

    Those from whom nothing is hidden are left out, as they are of a mean share of what is.
    """
    rules, turns = store.rules, store.configuration.get("turns") or MAX_TURNS
    return {artifact: ceiling(tree, rules, turns) for artifact, tree in store.trees().items() if hides(tree)}


def ceilings_by_scope(
    scopes: Mapping[str, ScopeResults], scores: Sequence[ConversationScores], ceilings: Mapping[str, float]
) -> dict[str, Estimate]:
    """Scope → the mean ceiling of its artifacts."""
    found = {
        scope: ceiling_over(ceilings, {each.artifact for each in scores if scope in (ALL, each.domain)})
        for scope in scopes
    }
    return {scope: estimate for scope, estimate in found.items() if estimate is not None}


def results_of_run(folder: Path, leave_out: LeaveOut = "none") -> dict[str, Any]:
    """The results of a run so far, in plain form: what was run and how it was judged, then every scope's results.

    Raises:
        StoreError: there is no run, or nothing in it is finished.
    """
    with RunStore.read(folder) as store:
        scores = list(stored_scores(store))
        if not scores:
            raise StoreError(f"{folder}: no conversation of this run is finished; resume it first")
        configuration, counts = store.configuration, store.counts()
        failures = store.failures_by_role()
        unassessed = len(set(store.unassessed()))
        spent, outcomes = store.calls.spent(), Outcomes.of_run(store)
        ceilings = ceilings_of(store)
    scopes = results_by_scope(scores, leave_out)
    omitted = "" if leave_out == "none" else leave_out
    in_reach = ceilings_by_scope(scopes, scores, ceilings)
    return {
        "format": RESULTS_FORMAT,
        "run": {name: configuration.get(name) for name in _SAID_OF_A_RUN} | {"code": configuration.get("code_version")},
        "rules": configuration["rules"],
        "conversations": {"planned": counts.units, "finished": counts.finished, "failed": counts.failed},
        "failures_by_role": failures,
        "unassessed": unassessed,
        "spent": dataclasses.asdict(spent),
        "answers": outcomes.to_dict(),
        "interval": INTERVAL,
        "test": TEST,
        "leaves_left_out": leave_out,
        "measures": {measure.name: measure.meaning for measure in MEASURES},
        "ceilings": {scope: each.to_dict() for scope, each in in_reach.items()},
        "scopes": [each.to_dict() for each in scopes.values()],
        "ids": ids_of_results(scopes.values(), dataclasses.replace(id_of_run(folder), leave_out=omitted)),
    }


def write_evaluation(folder: Path, leave_out: LeaveOut = "none") -> list[ConversationScores]:
    """Write `results.json` and `scores.csv` (a row per conversation) beside the run's store; returns the scores.

    Both can be made again from the store at any time.

    Raises:
        StoreError: as `results_of_run`.
    """
    write_json(folder / RESULTS_FILE, rounded(results_of_run(folder, leave_out)))
    scores = load_scores(folder)
    with whole_file(folder / SCORES_FILE) as file:
        table = csv.DictWriter(file, CSV_COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(map(harmless_row, rounded(tidy_rows(Pool(scores, leave_out)))))
    return scores


def write_sensitivity(folder: Path) -> SensitivityMap:
    """Score a run again under other rules, and write which conclusions change to `sensitivity.json`.

    Raises:
        StoreError: there is no run, or nothing in it is finished.
    """
    with RunStore.read(folder) as store:
        places = [row.place for row in store.listing() if row.stop not in (None, "error")]
        if not places:
            raise StoreError(f"{folder}: no conversation of this run is finished; resume it first")
        changes = sensitivity(((place, store.conversation(place)) for place in places), store.rules)
    write_json(folder / SENSITIVITY_FILE, rounded(changes.to_dict()))
    return changes
