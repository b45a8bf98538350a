"""Evaluations: assistants × artifacts × trials from identical states, scored, with intervals (paper, section 4.2).

An evaluation is a run whose conversations end with the final artifact and its scores
(see `discover_lib.runs.options.execute`).  `load_scores` reads the scores without the conversations.
`discover_lib.metrics.results` turns them into results.
"""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from discover_lib.base.cells import harmless_row
from discover_lib.base.files import outputs_folder, rounded, whole_file, write_json
from discover_lib.base.ids import DiscoverId, IdError
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.engines.local.tiny_language import is_broken
from discover_lib.metrics.discovery import ceiling, ceiling_over, hides
from discover_lib.metrics.intervals import INTERVAL, Estimate, bootstrap_mean
from discover_lib.metrics.paired import TEST, Comparison, compare
from discover_lib.metrics.rescore import SensitivityMap, sensitivity
from discover_lib.metrics.results import (
    ALL,
    BROKEN,
    CEILING,
    CSV_COLUMNS,
    MEASURES,
    Pool,
    ScopeResults,
    ids_of_results,
    results_by_scope,
    tidy_rows,
)
from discover_lib.metrics.satisfaction import LeaveOut
from discover_lib.metrics.scores import EMERGING, ConversationScores
from discover_lib.runs.options import lay_out_evaluation as lay_out_evaluation
from discover_lib.runs.outcomes import Outcomes
from discover_lib.runs.store import FILE, RunStore, StoreError, id_of_run
from discover_lib.runs.units import stored_scores

RESULTS_FORMAT = "discover-results/1"
RESULTS_FILE, SCORES_FILE, SENSITIVITY_FILE = "results.json", "scores.csv", "sensitivity.json"
_SAID_OF_A_RUN = ("domain", "engine", "assistants", "trials", "turns", "seed", "kind")


def load_scores(folder: Path) -> list[ConversationScores]:
    """The scores of every finished conversation of a run, assessed or not, in the order of the plan.

    Raises:
        StoreError: there is no run.
    """
    with RunStore.read(folder) as store:
        return list(stored_scores(store))


def ceilings_of(store: RunStore) -> dict[str, float]:
    """Artifact → share of its user's hidden intents that perfect replies in every turn of this run would discover.

    Users without hidden intents are left out, as they are in a mean share.
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
    """The results of a run so far, in plain form: the run, its judge, then the results of every scope.

    Raises:
        StoreError: there is no run, or it has no finished conversation.
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
        StoreError: there is no run, or it has no finished conversation.
    """
    with RunStore.read(folder) as store:
        places = [row.place for row in store.listing() if row.stop not in (None, "error")]
        if not places:
            raise StoreError(f"{folder}: no conversation of this run is finished; resume it first")
        changes = sensitivity(((place, store.conversation(place)) for place in places), store.rules)
    write_json(folder / SENSITIVITY_FILE, rounded(changes.to_dict()))
    return changes


# -- the stored data behind a discover:// id --------------------------------------------------------------------------

BY_LABEL = {measure.label: measure for measure in MEASURES}  # those that tables average go by their heading


@dataclass(frozen=True)
class Resolved:
    """The stored data behind an id.

    Attributes:
        values: conversation (artifact for a ceiling) → its value of the measure.  For a difference: the user's
            conversation with `assistants` → the difference.
        estimate: the mean over artifacts, if the measure is averaged and the values belong to one assistant.
        comparison: for a difference, with Holm's correction over all pairs of the pool.
        places: positions of the conversations in the run.
        conversation: the conversation, if the id names one.
        pool: the compared assistants; None for a ceiling.
    """

    id: DiscoverId
    folder: Path
    values: Mapping[DiscoverId, Any]
    estimate: Estimate | None = None
    comparison: Comparison | None = None
    places: tuple[int, ...] = ()
    conversation: Conversation | None = None
    pool: Pool | None = None

    @property
    def turn(self) -> Turn | None:
        turn = self.id.turn
        return self.conversation.turns[turn - 1] if self.conversation and turn else None


def resolve(id: DiscoverId) -> Resolved:
    """The stored data behind an id, below the outputs folder.

    A mean has the values of conversations, a difference has users that both assistants met, a conversation has turns.

    Raises:
        IdError: the id is not stored, or its measure is unknown.
        StoreError: the run cannot be read.
    """
    folder = outputs_folder() / id.run  # which a path from the root replaces
    if not (folder / FILE).is_file():
        raise IdError(f"{id}: no run {id.run} in {outputs_folder()}; give its name there, or its folder's path")
    with RunStore.read(folder) as store:
        if id.measure == CEILING:
            return _ceiling(id, folder, store)
        everybody = Pool(stored_scores(store))
        members = [
            each
            for each in everybody.scores
            if id.domain in ("", each.domain) and (not id.pool or each.assistant in id.pool)
        ]
        chosen = [each for each in members if _matches(id, each)]
        named = (*id.pool, *filter(None, (id.assistants, id.against)))
        if unknown := [name for name in named if name not in everybody.assistants]:
            raise IdError(f"{id}: no assistant {unknown[0]!r}; there are {', '.join(everybody.assistants)}")
        if id.leave_out not in ("", *get_args(LeaveOut)):
            raise IdError(f"{id}: no leave_out {id.leave_out!r}; there are {', '.join(get_args(LeaveOut))}")
        if not chosen:
            raise IdError(f"{id}: no finished conversation of this run is so named")
        conversation = store.conversation(chosen[0].place) if len(chosen) == 1 else None
        if conversation and (id.turn or 0) > len(conversation.turns):
            raise IdError(f"{id}: that conversation has {len(conversation.turns)} turns")
        if conversation and id.intent and id.intent not in conversation.tree.intents:
            raise IdError(f"{id}: that conversation has no intent {id.intent!r}")
        pool, run = Pool(members, id.leave_out or "none"), DiscoverId(id.run)  # type: ignore[arg-type]
        values: dict[DiscoverId, Any]
        if id.measure == BROKEN:
            values = {id_of(run, each): broken_replies(store.conversation(each.place)) for each in chosen}
        else:
            values = _values(id, pool, chosen)
    estimate = None
    if id.measure in BY_LABEL and len({each.assistant for each in chosen}) == 1 and len(chosen) > 1:
        by_artifact: dict[str, list[float]] = {}
        for each, value in values.items():
            if value is not None:
                by_artifact.setdefault(each.artifact or "", []).append(value)
        estimate = bootstrap_mean(by_artifact) if by_artifact else None
    compared = compare(dict(pool.values(BY_LABEL[id.measure].name))) if id.against and id.measure in BY_LABEL else []
    pair = next((each for each in compared if {each.ours, each.theirs} == {id.assistants, id.against}), None)
    return Resolved(id, folder, values, estimate, pair, tuple(each.place for each in chosen), conversation, pool)


def _matches(id: DiscoverId, each: ConversationScores) -> bool:
    wanted = ((id.artifact, each.artifact), (id.assistants, each.assistant), (id.trial, each.trial))
    return all(ours is None or ours == theirs for ours, theirs in wanted)


def id_of(base: DiscoverId, each: ConversationScores) -> DiscoverId:
    """The id of a conversation of the run of `base`."""
    return dataclasses.replace(base, artifact=each.artifact, assistants=each.assistant, trial=each.trial)


def _values(id: DiscoverId, pool: Pool, chosen: list[ConversationScores]) -> dict[DiscoverId, Any]:
    """The values of a measure.  Averages in tables use only users for whom the whole pool has a value."""
    run, measure = DiscoverId(id.run), BY_LABEL.get(id.measure)
    if not id.measure:
        return {id_of(run, each): None for each in chosen}
    if id.turn:
        return {id_of(run, each): _after(id, each) for each in chosen if id.measure == "found" or each.turns >= id.turn}
    alone = None not in (id.artifact, id.assistants, id.trial) and not id.against
    if measure and not (alone and id.measure in CSV_COLUMNS):
        per_user = pool.per_user(measure.name)
        theirs = per_user.get(id.against, {})
        return {
            id_of(run, each): per_user[each.assistant][each.unit] - theirs.get(each.unit, 0.0)
            for each in chosen
            if each.unit in per_user.get(each.assistant, {})
        }
    if id.measure not in CSV_COLUMNS:
        names = dict.fromkeys((*BY_LABEL, *CSV_COLUMNS, CEILING, BROKEN))
        raise IdError(f"{id}: unknown measure {id.measure!r}; those known are {', '.join(names)}")
    rows_of = {row["place"]: row for row in tidy_rows(pool)}
    return {id_of(run, each): rows_of[each.place][id.measure] for each in chosen}


def broken_replies(talk: Conversation) -> tuple[int, int]:
    """Replies that broke a trained model's notation, and all replies, the final artifact included."""
    replies = [turn.reply for turn in talk.turns] + ([talk.final.reply] if talk.final else [])
    return sum(map(is_broken, replies)), len(replies)


def _after(id: DiscoverId, each: ConversationScores) -> float | None:
    """The share found after the turn of an id, or that turn's own reward or tokens."""
    assert id.turn is not None
    of_turns = {"reward": each.rewards, "tokens": each.tokens}
    if id.measure == "found":
        return each.proportion(id.turn, EMERGING)
    if id.measure not in of_turns:
        raise IdError(f"{id}: a turn has no {id.measure}; it has found, {', '.join(of_turns)}")
    return of_turns[id.measure][id.turn - 1]


def _ceiling(id: DiscoverId, folder: Path, store: RunStore) -> Resolved:
    rows = store.listing()
    named = {row.artifact for row in rows if id.domain in ("", row.domain) and id.artifact in (None, row.artifact)}
    values = {artifact: share for artifact, share in ceilings_of(store).items() if artifact in named}
    if not values:
        raise IdError(f"{id}: no artifact with a hidden intent is so named, and without one there is no ceiling")
    estimate = ceiling_over(values, values)
    return Resolved(id, folder, {DiscoverId(id.run, artifact): share for artifact, share in values.items()}, estimate)
