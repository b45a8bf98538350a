"""The work of a stage before it begins: its updates and time, and the calls of GRPO's judge and voice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.base.words import duration
from discover_lib.engines.llm.calls.exchange import price_of
from discover_lib.engines.local.dialect import is_tiny
from discover_lib.engines.spec import MINIATURE
from discover_lib.runs.plan import ASKED, TURNS_TAKEN, TYPICAL_BASIS, Plan, Span, typical
from discover_lib.runs.plan import Stage as CallPlan
from discover_lib.train.access import Access
from discover_lib.train.data import TrainingRows, load_rows, starting_users
from discover_lib.train.recipes import Recipe
from discover_lib.train.run_stage import StageSettings
from discover_lib.train.training_job import RESULT, find_jobs

UPDATE_SECONDS = {"sft": 0.4, "dpo": 1.0, "grpo": 6.0}  # of the tiny model with its recipe, on one core


@dataclass(frozen=True)
class Forecast:
    """The work of a stage, before it begins.

    Attributes:
        updates: of the stage.
        seconds: of the stage; None if unknown.
        measured: whether a finished run on this machine gave the seconds.
    """

    updates: int
    seconds: float | None
    measured: bool

    @property
    def line(self) -> str:
        """Updates and time, in words."""
        if self.seconds is None:
            return f"{self.updates:,} updates; the time on this machine is unknown"
        source = "as last time on this machine" if self.measured else "on one processor core"
        return f"{self.updates:,} updates, about {duration(self.seconds)} {source}"


def forecast(settings: StageSettings, n_rows: int) -> Forecast:
    """The updates and the time of a stage on this machine.

    The newest finished run with the same recipe gives the time.  Without one, the tiny model's time is a measurement on
    one processor core, and other models' time is unknown.
    """
    stage, part = settings.stage, settings.recipe.of(settings.stage)
    updates, seconds, measured = part.steps(n_rows), None, False
    if is_tiny(settings.base_path) and part.batch == getattr(Recipe.miniature(), stage).batch:
        seconds = updates * UPDATE_SECONDS[stage]
    for job in find_jobs(outputs_folder()).values():
        if (job.folder / RESULT).is_file():
            stored, result = job.settings(), job.result()
            if (stored["stage"], stored["base"], stored["recipe"]) == (stage, settings.base, settings.recipe.to_dict()):
                seconds, measured = updates * result["seconds"] / result["step"], True
                break
    return Forecast(updates, seconds, measured)


# -- calls of a judge and a voice -------------------------------------------------------------------------------------


def plan_stage(settings: StageSettings, access: Access) -> Plan:
    """Calls, tokens and dollars of a GRPO stage's judge and voice.  The policy makes no calls.

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
            stages.append(CallPlan(role, model, calls * ASKED, typical(role), price))
    assumptions: tuple[str, ...] = (
        f"{steps:,} updates of {part.batch} replies, {probed} conversations to measure it",
        f"lengths: {TYPICAL_BASIS}",
    )
    if part.multi_turn > 1:
        assumptions += (f"a rollout has 1 to {part.multi_turn} turns: it ends when all intents are discovered",)
    return Plan(completions + probed, judged, tuple(stages), assumptions)


def _rows(settings: StageSettings) -> TrainingRows:
    """Rows of either form: the form does not change the plan."""
    try:
        return load_rows(Path(settings.data), "grpo", "content", system=settings.system, seed=settings.seed)
    except DiscoverError:
        return load_rows(Path(settings.data), "grpo", "notation", system=settings.system, seed=settings.seed)
