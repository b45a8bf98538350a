"""What the judge and the voice of a GRPO stage will take, before anything is spent: calls, tokens, dollars, minutes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.llm.calls.exchange import price_of
from discover_lib.engines.spec import MINIATURE
from discover_lib.runs.plan import REASKED, TURNS_TAKEN, TYPICAL_BASIS, Plan, Span, Stage, sum_of, typical
from discover_lib.train.data import TrainingRows, load_rows, starting_users

if TYPE_CHECKING:
    from discover_lib.train.access import Access
    from discover_lib.train.run_stage import StageSettings


def plan_stage(settings: StageSettings, access: Access) -> Plan:
    """The plan of a GRPO stage's judge and voice; the policy itself costs no calls.

    Raises:
        DiscoverError: there are no such rows.
    """
    rows, part = _rows(settings), settings.recipe.grpo
    steps = part.steps(len(rows.train))
    completions = math.ceil(steps / part.iterations) * part.batch
    talks = Span(1, part.multi_turn, part.multi_turn) if part.multi_turn > 1 else Span.exactly(1)
    judged = talks * ((1 + part.look_ahead) * completions)
    spoken = (talks + Span.exactly(-1.0) + Span.exactly(part.look_ahead)) * completions
    probed = min(part.probe_users, len(starting_users(rows.held_out))) * ((part.rounds + 1) if part.probe_users else 0)
    collected = completions / part.n_generations if part.own_prefixes else 0.0
    for conversations in (probed, collected / part.probe_turns):
        judged += TURNS_TAKEN * (conversations * part.probe_turns)
        spoken += TURNS_TAKEN * (conversations * (part.probe_turns - 1))
    stages = []
    for role, calls in (("judge", judged), ("voice", spoken)):
        model = getattr(settings, role)
        if model != MINIATURE:
            price = price_of(model, access.client.prices, access.client.address_of(model))
            again = Span.exactly(1.0) + REASKED
            stages.append(Stage(role, model, calls * again, typical(role, settings.spec.options), price))
    seconds = sum_of(stage.calls * stage.length.duration for stage in stages)
    assumptions: tuple[str, ...] = (
        f"{steps:,} updates of {part.batch} replies, {probed} conversations to measure it, "
        f"{part.workers} judgements at a time; the model's own time is not in these minutes",
        f"lengths: {TYPICAL_BASIS}",
    )
    if part.multi_turn > 1:
        assumptions += (f"a rollout has {part.multi_turn} turns, at the least one: it ends where all is discovered",)
    at_once = min(part.workers, access.client.concurrency)
    return Plan(completions + probed, judged, tuple(stages), seconds * (1 / at_once / 60), assumptions)


def _rows(settings: StageSettings) -> TrainingRows:
    """Whatever form they are in: it decides nothing here."""
    try:
        return load_rows(Path(settings.data), "grpo", "content", system=settings.system, seed=settings.seed)
    except DiscoverError:
        return load_rows(Path(settings.data), "grpo", "notation", system=settings.system, seed=settings.seed)
