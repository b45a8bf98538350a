"""Resolve a `discover://` id to stored data below the outputs folder.

A mean has the values of conversations, a difference has users that both assistants met, a conversation has turns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from discover_lib.base.files import outputs_folder
from discover_lib.base.ids import DiscoverId, IdError
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.engines.local.tiny_language import is_broken
from discover_lib.metrics.discovery import ceiling_over
from discover_lib.metrics.intervals import Estimate, bootstrap_mean
from discover_lib.metrics.paired import Comparison, compare
from discover_lib.metrics.results import BROKEN, CEILING, CSV_COLUMNS, MEASURES, Pool, tidy_rows
from discover_lib.metrics.satisfaction import LeaveOut
from discover_lib.metrics.scores import EMERGING, ConversationScores
from discover_lib.runs.evaluation import ceilings_of
from discover_lib.runs.store import FILE, RunStore
from discover_lib.runs.units import stored_scores

BY_LABEL = {measure.label: measure for measure in MEASURES}  # those that tables average go by their heading
NEAR_MISSES = "near misses"  # no column: steps, see `NearMisses`

LISTED = 8  # names of what there is, where one is not


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


def folder_of(id: DiscoverId) -> Path:
    """
    Raises:
        IdError: there is no such run.
    """
    folder = outputs_folder() / id.run  # which a path from the root replaces
    if not (folder / FILE).is_file():
        raise IdError(f"{id}: no run {id.run} in {outputs_folder()}; give its name there, or its folder's path")
    return folder


def resolve(id: DiscoverId) -> Resolved:
    """
    Raises:
        IdError: the id is not stored, or its measure is unknown.
        StoreError: the run cannot be read.
    """
    folder = folder_of(id)
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
        _check_names(id, everybody)
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


def _check_names(id: DiscoverId, everybody: Pool) -> None:
    """
    Raises:
        IdError: a part of the id is not in the run; the message lists the names of the run.
    """
    who = everybody.assistants
    known: dict[str, tuple[Iterable[Any], Collection[Any]]] = {  # part → what it names, what there is
        "leave_out": ([id.leave_out or "none"], get_args(LeaveOut)),
        "artifact": ([id.artifact], {each.artifact: None for each in everybody.scores}),
        "assistants": ([id.assistants], who),
        "against": ([id.against or None], who),
        "pool": (id.pool, who),
        "domain": ([id.domain or None], {each.domain: None for each in everybody.scores}),
        "trial": ([id.trial], {each.trial: None for each in everybody.scores}),
    }
    for part, (named, there) in known.items():
        for name in named:
            if name is not None and there and name not in there:
                listed = [*map(str, there)]
                more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
                raise IdError(f"{id}: no {part} {name!r}; there are {', '.join(listed[:LISTED])}{more}")


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
    if id.measure == NEAR_MISSES:
        return {id_of(run, each): each.steps for each in chosen}
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
        names = dict.fromkeys((*BY_LABEL, *CSV_COLUMNS, CEILING, NEAR_MISSES, BROKEN))
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
    listed = store.listing(domain=id.domain or None, artifact=id.artifact)
    ceilings = ceilings_of(store)
    if not listed:
        raise IdError(f"{id}: no artifact of this run is so named")
    values = {row.artifact: ceilings[row.artifact] for row in listed if row.artifact in ceilings}
    if not values:
        raise IdError(f"{id}: no intent was hidden at the start, so there is no ceiling")
    estimate = ceiling_over(values, values)
    return Resolved(id, folder, {DiscoverId(id.run, artifact): share for artifact, share in values.items()}, estimate)
