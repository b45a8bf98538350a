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
from typing import Any

from discover_lib.base.cells import harmless_row
from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, whole_file, write_json
from discover_lib.base.ids import DiscoverId
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.engines.local.tiny_language import is_broken
from discover_lib.metrics.discovery import ceiling, ceiling_over, hides
from discover_lib.metrics.intervals import INTERVAL, Estimate
from discover_lib.metrics.paired import TEST
from discover_lib.metrics.rescore import SensitivityMap, sensitivity
from discover_lib.metrics.results import (
    ALL,
    CSV_COLUMNS,
    MEASURES,
    Pool,
    ScopeResults,
    results_by_scope,
    rounded,
    tidy_rows,
)
from discover_lib.metrics.satisfaction import LeaveOut
from discover_lib.metrics.scores import ConversationScores
from discover_lib.runs.options import lay_out_evaluation as lay_out_evaluation
from discover_lib.runs.outcomes import Outcomes
from discover_lib.runs.store import FILE, RunStore, StoreError
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


@dataclass(frozen=True)
class Evaluated:
    """The results of a run so far.

    Attributes:
        scopes: scope → its results, "all" first.
        ceilings: scope → the mean ceiling of its artifacts, where there is one.
    """

    configuration: Mapping[str, Any]
    scores: Sequence[ConversationScores]
    scopes: Mapping[str, ScopeResults]
    ceilings: Mapping[str, Estimate]


def evaluated(store: RunStore, leave_out: LeaveOut = "none", labels: Mapping[str, str] | None = None) -> Evaluated:
    """The results of a run so far.

    Args:
        labels: assistant → another name for it.

    Raises:
        StoreError: no conversation is finished.
    """
    scores = list(stored_scores(store))
    if not scores:
        raise StoreError(f"{store.path.parent}: no conversation of this run is finished; resume it first")
    if labels:
        scores = [dataclasses.replace(each, assistant=labels.get(each.assistant, each.assistant)) for each in scores]
    scopes, known = results_by_scope(scores, leave_out), ceilings_of(store)
    ceilings = {
        scope: ceiling_over(known, {each.artifact for each in scores if scope in (ALL, each.domain)})
        for scope in scopes
    }
    in_reach = {scope: estimate for scope, estimate in ceilings.items() if estimate is not None}
    return Evaluated(store.configuration, scores, scopes, in_reach)


def _plain(store: RunStore, found: Evaluated, leave_out: LeaveOut) -> dict[str, Any]:
    """The results in plain form: the run, its judge, then the results of every scope."""
    configuration, counts = found.configuration, store.counts()
    return {
        "format": RESULTS_FORMAT,
        "run": {name: configuration.get(name) for name in _SAID_OF_A_RUN} | {"code": configuration.get("code_version")},
        "rules": configuration["rules"],
        "conversations": {"planned": counts.units, "finished": counts.finished, "failed": counts.failed},
        "failures_by_role": store.failures_by_role(),
        "unassessed": len(set(store.unassessed())),
        "spent": dataclasses.asdict(store.calls.spent()),
        "answers": Outcomes.of_run(store).to_dict(),
        "interval": INTERVAL,
        "test": TEST,
        "leaves_left_out": leave_out,
        "measures": {measure.name: measure.meaning for measure in MEASURES},
        "ceilings": {scope: each.to_dict() for scope, each in found.ceilings.items()},
        "scopes": [each.to_dict() for each in found.scopes.values()],
    }


def write_evaluation(folder: Path, leave_out: LeaveOut = "none") -> Evaluated:
    """Write `results.json` and `scores.csv` (a row per conversation) beside the run's store; returns the results.

    Both can be made again from the store at any time.

    Raises:
        StoreError: there is no run, or it has no finished conversation.
    """
    with RunStore.read(folder) as store:
        found = evaluated(store, leave_out)
        write_json(folder / RESULTS_FILE, rounded(_plain(store, found, leave_out)))
    with whole_file(folder / SCORES_FILE) as file:
        table = csv.DictWriter(file, CSV_COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(map(harmless_row, rounded(tidy_rows(Pool(found.scores, leave_out)))))
    return found


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


# -- the conversations behind a discover:// id -------------------------------------------------------------------------

CONVERSATION = ("artifact", "assistants", "trial")  # the parts of an id that name one


@dataclass(frozen=True)
class Resolved:
    """The finished conversations that an id names.

    Attributes:
        places: the id of each → its place in the run.
        conversation: the conversation, if there is only one.
    """

    id: DiscoverId
    folder: Path
    places: Mapping[DiscoverId, int]
    conversation: Conversation | None

    @property
    def turn(self) -> Turn | None:
        turn = self.id.turn
        return self.conversation.turns[turn - 1] if self.conversation and turn else None


def resolve(id: DiscoverId) -> Resolved:
    """The stored conversations behind an id, below the outputs folder.

    Raises:
        DiscoverError: the id names no finished conversation, or a turn or an intent that is not in it.
        StoreError: the run cannot be read.
    """
    folder = outputs_folder() / id.run  # which a path from the root replaces
    if not (folder / FILE).is_file():
        raise DiscoverError(f"{id}: no run {id.run} in {outputs_folder()}; give its name there, or its folder's path")
    with RunStore.read(folder) as store:
        finished = {
            DiscoverId(id.run, row.artifact, "+".join(row.assistants), row.trial): row.place
            for row in store.listing()
            if row.stop not in (None, "error")
        }
        named = [part for part in CONVERSATION if getattr(id, part) is not None]
        places = {
            each: place
            for each, place in finished.items()
            if all(getattr(each, part) == getattr(id, part) for part in named)
        }
        if not places:
            raise DiscoverError(f"{id}: this run has no such finished conversation; 'discover show RUN' lists them")
        conversation = store.conversation(*places.values()) if len(places) == 1 else None
    if conversation and (id.turn or 0) > len(conversation.turns):
        raise DiscoverError(f"{id}: that conversation has {len(conversation.turns)} turns")
    if conversation and id.intent and id.intent not in conversation.tree.intents:
        raise DiscoverError(f"{id}: that conversation has no intent {id.intent!r}")
    return Resolved(id, folder, places, conversation)


def id_of(run: DiscoverId, each: ConversationScores) -> DiscoverId:
    """The id of a conversation of a run."""
    return DiscoverId(run.run, each.artifact, each.assistant, each.trial)


def broken_replies(talk: Conversation) -> tuple[int, int]:
    """Replies that broke a trained model's notation, and all replies, the final artifact included."""
    replies = [turn.reply for turn in talk.turns] + ([talk.final.reply] if talk.final else [])
    return sum(map(is_broken, replies)), len(replies)
