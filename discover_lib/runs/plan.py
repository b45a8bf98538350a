"""What a run will take, before anything is spent: calls, tokens, dollars, minutes; low, expected and high.

How many calls there are follows from the configuration.  How long they are is the mean of those of a run like it
(`measured_lengths`), or of a few conversations of this one that are really had (`probe`, which spends); where neither
is at hand, a table of typical lengths stands in, good for half to double.  Every assumption is listed with the plan.
"""

from __future__ import annotations

import dataclasses
import math
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discover_lib.engines.llm.calls.exchange import Price, Spent, price_of
from discover_lib.engines.llm.leak_check import PURPOSE as LEAK_CHECK
from discover_lib.engines.local.dialect import is_local
from discover_lib.engines.miniature.assistants import SCRIPTED
from discover_lib.engines.role_options import RoleOptions, role_defaults
from discover_lib.engines.spec import MINIATURE, EngineSpec, RoleEngines, model_of
from discover_lib.metrics.intervals import percent
from discover_lib.metrics.satisfaction import FINAL_REQUEST
from discover_lib.runs.options import RunOptionsError, execute, within_reach
from discover_lib.runs.scoring import SCORING, scored
from discover_lib.runs.store import RunStore
from discover_lib.runs.units import Unit, run_unit

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.runs.options import LaidOut

CALLS_PER_SECOND = 200  # what one process drives at most
REHEARSED = 8  # conversations of the miniature that are really had, to time them


@dataclass(frozen=True)
class Span:
    """A quantity as low, expected and high."""

    low: float
    expected: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Span:
        return cls(value, value, value)

    @classmethod
    def about(cls, value: float, share: float) -> Span:
        """`value`, give or take a share of it."""
        return cls(value * (1 - share), value, value * (1 + share))

    def __add__(self, other: Span) -> Span:
        return Span(self.low + other.low, self.expected + other.expected, self.high + other.high)

    def __mul__(self, other: Span | float) -> Span:
        factor = other if isinstance(other, Span) else Span.exactly(other)
        return Span(self.low * factor.low, self.expected * factor.expected, self.high * factor.high)


NOTHING = Span.exactly(0.0)


def sum_of(spans: Iterable[Span]) -> Span:
    """The sum: all low together, all high together."""
    return sum(spans, NOTHING)


FINAL = "final reply"  # the stage; its calls are metered with the assistant's others
# Prompt and completion tokens of a call, where nothing was measured: of our prompts, counted by our own rule over
# conversations of five turns in the paper's three domains, and of answers as they are asked for.
TYPICAL = {
    "builder: synthesis": (2200, 900),
    "builder: abstraction": (1800, 1600),
    "builder: organisation": (2300, 1200),
    "builder: direction": (1800, 1200),
    "builder: initial request": (1300, 120),
    "builder: leak check": (1000, 30),
    "assistant": (720, 450),
    "judge": (2350, 130),
    "voice": (2300, 70),
    LEAK_CHECK: (1480, 30),
    FINAL: (3600, 450),
    "satisfaction": (1150, 280),
    "interactivity": (3900, 80),
    "behaviour": (3900, 140),
}
HALF_TO_DOUBLE = Span(0.5, 1.0, 2.0)
REASKED = Span(0.0, 0.02, 0.15)  # share of structured answers that are asked for again
TURNS_TAKEN = Span(0.8, 1.0, 1.0)  # a conversation in which everything is discovered ends early
MEASURED = 0.1  # how far another run may differ from the one measured
PROBED = 0.2  # how far the run may differ from a few of its conversations
ASSUMED_BASIS = "assumed"
TYPICAL_BASIS = "typical lengths, half to double; --like and --probe measure them"
# How fast models answer, where nothing was measured.
FIRST_TOKEN_SECONDS = Span(0.4, 1.0, 3.0)
SECONDS_PER_TOKEN = Span(1 / 150, 1 / 70, 1 / 25)


@dataclass(frozen=True)
class Length:
    """What one call takes: tokens in and out, seconds.  `basis` says where that is from."""

    prompt: Span
    completion: Span
    basis: str
    seconds: Span | None = None

    @property
    def duration(self) -> Span:
        return self.seconds or FIRST_TOKEN_SECONDS + SECONDS_PER_TOKEN * self.completion

    def within(self, max_tokens: int | None) -> Length:
        """The length of a call whose completion is bounded."""
        if max_tokens is None:
            return self
        bounded = Span(*(min(tokens, max_tokens) for tokens in dataclasses.astuple(self.completion)))
        return dataclasses.replace(self, completion=bounded)


def typical(purpose: str, options: RoleOptions, assistants: Sequence[str] = ("",)) -> Length:
    """What a call of a purpose takes where nothing was measured, within the limit that the role has or was given.

    Args:
        assistants: by name, where an assistant is called; of several the widest limit holds.
    """
    prompt, completion = (HALF_TO_DOUBLE * tokens for tokens in TYPICAL[purpose])
    length = Length(prompt, completion, TYPICAL_BASIS)
    if purpose == LEAK_CHECK:
        return length
    role = "scorer" if purpose in SCORING else purpose.partition(":")[0].replace(FINAL, "assistant")
    limits = [(role_defaults(role) | options.of(role, name))["max_tokens"] for name in assistants]
    return length.within(None if None in limits else max(limits))


@dataclass(frozen=True)
class Stage:
    """One line of a plan: calls of one purpose to one model."""

    name: str
    model: str
    calls: Span
    length: Length
    price: Price | None  # None: unknown, which is not free

    @property
    def tokens(self) -> Span:
        return self.calls * (self.length.prompt + self.length.completion)

    @property
    def cost(self) -> Span | None:
        """Dollars, or None if the price is unknown."""
        if self.price is None:
            return None
        into, out = self.price.input_per_million / 1e6, self.price.output_per_million / 1e6
        return self.calls * (self.length.prompt * into + self.length.completion * out)


@dataclass(frozen=True)
class Plan:
    """What a run will take.  Roles that the miniature or a script plays take no calls and have no stage."""

    conversations: int
    turns: Span
    stages: tuple[Stage, ...]
    minutes: Span
    assumptions: tuple[str, ...] = ()

    @property
    def calls(self) -> Span:
        return sum_of(stage.calls for stage in self.stages)

    @property
    def tokens(self) -> Span:
        return sum_of(stage.tokens for stage in self.stages)

    @property
    def cost(self) -> Span:
        """Dollars of the stages whose price is known."""
        return sum_of(stage.cost for stage in self.stages if stage.cost is not None)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Models whose price is unknown."""
        return tuple(dict.fromkeys(stage.model for stage in self.stages if stage.price is None))


def plan_run(
    run: LaidOut,
    *,
    settings: ClientSettings,
    concurrency: int = 1,
    builder: str | None = None,
    measured: Mapping[str, Length] | None = None,
) -> Plan:
    """The plan of a run laid out by `discover_lib.runs.options.lay_out`, or of an evaluation by `lay_out_evaluation`.

    An evaluation asks more when a conversation is over: its assistant once for the finished piece, and, where a
    language model judges, that model three times for the scores.

    Args:
        concurrency: as it will be executed.
        builder: a model that builds the trees, to be counted too.
        measured: purpose → what its calls took in another run, in place of typical lengths.
    """
    asked, units = run.options, len(run.units)
    if not run.models and builder is None:
        had, seconds = _rehearsed(run)
        minutes = Span.about(seconds * units / concurrency / 60, 0.5)
        note = f"time: {had} of these conversations were just run on this machine"
        return Plan(units, Span.exactly(asked.turns * units), (), minutes, (note, within_reach(run)))
    turns = TURNS_TAKEN * asked.turns * units
    known = dict(measured or {})
    if "assistant" in known:
        known[FINAL] = known["assistant"]  # metered together
    calls = _calls(run, turns)
    stages = list(building_stages(builder, asked.role_options, settings, len(run.trees)) if builder else ())
    for (purpose, model), count in calls.items():
        named = [name for name in asked.everyone if _models_of([name]) == [model]] or [""]
        length = known.get(purpose) or typical(purpose, asked.role_options, named)
        stages.append(Stage(purpose, model, count, length, _price(model, settings)))
    players = asked.spec.players(asked.everyone) | ({"builder": "builder"} if builder else {})
    if not run.is_evaluation:
        players.pop("scorer", None)
    options = (f"as asked for, {line}" for line in asked.role_options.lines(players))
    assumptions = (*_assumptions(stages), *options, within_reach(run))
    return Plan(units, turns, tuple(stages), _minutes(stages, run, concurrency, settings), assumptions)


def building_stages(model: str, options: RoleOptions, settings: ClientSettings, trees: int = 1) -> Iterator[Stage]:
    """What a model is asked for in building so many trees."""
    calls, price = (Span.exactly(1.0) + REASKED) * trees, _price(model, settings)
    for purpose in TYPICAL:
        if purpose.startswith("builder: "):
            yield Stage(purpose, model, calls, typical(purpose, options), price)


def _price(model: str, settings: ClientSettings) -> Price | None:
    return price_of(model, settings.prices, settings.address_of(model))


def _rehearsed(run: LaidOut) -> tuple[int, float]:
    """How many of a run's conversations were had, spread over it, by scripts in place of models, and seconds of one."""
    chosen = run.units[:: max(1, len(run.units) // REHEARSED)][:REHEARSED]
    began, miniature = time.perf_counter(), RoleEngines(EngineSpec())
    for unit in chosen:
        stand_ins = tuple(name if name in SCRIPTED else "adaptive" for name in unit.assistants)
        talk = run_unit(dataclasses.replace(unit, assistants=stand_ins))
        if run.is_evaluation:
            scored(talk, unit.place, miniature, FINAL_REQUEST)
    return len(chosen), (time.perf_counter() - began) / len(chosen)


def measured_lengths(folder: Path, share: float = MEASURED) -> dict[str, Length]:
    """Purpose → mean tokens and seconds of the finished calls of a run, give or take a share.

    Raises:
        StoreError: there is no run.
    """
    with RunStore.read(folder) as store:
        lengths = store.calls.lengths()
    return {
        purpose: Length(
            Span.about(prompt, share),
            Span.about(completion, share),
            f"the mean of {count} calls in {folder}",
            Span.about(seconds, 3 * MEASURED),
        )
        for purpose, (count, prompt, completion, seconds) in lengths.items()
    }


@dataclass(frozen=True)
class Probe:
    """What some conversations of a run took when they were really had: purpose → length, and what it cost."""

    conversations: int
    lengths: Mapping[str, Length]
    spent: Spent


def probe(run: LaidOut, conversations: int, *, settings: ClientSettings, concurrency: int = 1) -> Probe:
    """Have some whole conversations of each assistant for real, spread over the run's artifacts, and measure them.

    Whole ones, because prompts grow from turn to turn; an evaluation's are scored, too.  Their calls are paid for and
    not kept.

    Raises:
        RunOptionsError: no model takes part, or a conversation failed.
    """
    if not run.models:
        raise RunOptionsError("nothing to probe: no language model takes part in this run")
    groups: dict[tuple[str, ...], list[Unit]] = {}
    for unit in run.units:
        groups.setdefault(unit.assistants, []).append(unit)
    chosen = [unit for units in groups.values() for unit in units[:: -(-len(units) // conversations)]]
    units = tuple(dataclasses.replace(unit, place=place) for place, unit in enumerate(chosen))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        few = dataclasses.replace(run, units=units)
        report = execute(few, folder, concurrency=concurrency, settings=settings)
        with RunStore.read(folder) as store:
            failures, spent = store.failures(), store.calls.spent()
        if report.halted is not None or failures or report.unscored:
            why = report.message or (failures[-1][1].line if failures else f"{report.unscored} without a score")
            raise RunOptionsError(f"the probe failed: {' '.join(why.split())}")
        basis = f"of {len(units)} conversations run to measure it"
        lengths = measured_lengths(folder, PROBED)
    said = {name: dataclasses.replace(each, basis=f"the mean {basis}") for name, each in lengths.items()}
    return Probe(len(units), said, spent)


def _calls(run: LaidOut, turns: Span) -> dict[tuple[str, str], Span]:
    """(purpose, model) → calls, in the order of the work."""
    spec, units = run.options.spec, len(run.units)
    asked_again = Span.exactly(1.0) + REASKED
    calls: dict[tuple[str, str], Span] = {}
    final: dict[tuple[str, str], Span] = {}
    for unit in run.units:
        for model in _models_of(unit.assistants):
            calls["assistant", model] = calls.get(("assistant", model), NOTHING) + turns * (1 / units)
            final[FINAL, model] = final.get((FINAL, model), NOTHING) + Span.exactly(1.0)
    candidates = sum(len(unit.assistants) for unit in run.units) / units
    ahead = candidates * run.options.look_ahead  # turns played ahead, per turn
    for model in _models_of([run.options.reward_assistant] if ahead else []):
        calls["assistant", model] = calls.get(("assistant", model), NOTHING) + turns * ahead
    if spec.judge != MINIATURE:
        calls["judge", spec.judge] = turns * (candidates + ahead) * asked_again
    if spec.voice != MINIATURE:
        spoken = turns * (1 + ahead) + Span.exactly(-float(units))  # nobody speaks after the last turn
        calls["voice", spec.voice] = Span(max(0.0, spoken.low), spoken.expected, spoken.high) * asked_again
        if spec.leak_check:  # of every message; of none where everything is discovered
            calls[LEAK_CHECK, spec.leak_check] = Span(0.0, spoken.expected, spoken.high) * asked_again
    if run.is_evaluation:
        calls |= final
        if spec.judge != MINIATURE:  # who judges the turns scores the whole, too
            calls |= {(purpose, spec.judge): asked_again * units for purpose in SCORING}
    return calls


def _models_of(assistants: Iterable[str]) -> list[str]:
    """The models behind those assistants that are asked through an API."""
    return [model_of(name) for name in assistants if name not in SCRIPTED and not is_local(name)]


def _minutes(stages: Sequence[Stage], run: LaidOut, concurrency: int, settings: ClientSettings) -> Span:
    """The time of the longest chain that cannot be shortened: conversations in waves, or a limit on calls or tokens."""
    candidates = len(run.units[0].assistants)
    chain = NOTHING
    for stage in stages:
        at_once = candidates if stage.name in ("assistant", "judge") else len(SCORING) if stage.name in SCORING else 1
        chain = chain + stage.calls * stage.length.duration * (1 / at_once)
    waves = math.ceil(len(run.units) / concurrency) / len(run.units)
    floors = [chain * (waves / 60)]
    calls, tokens = sum_of(stage.calls for stage in stages), sum_of(stage.tokens for stage in stages)
    floors.append(calls * (1 / CALLS_PER_SECOND / 60))
    if settings.requests_per_minute:
        floors.append(calls * (1 / settings.requests_per_minute))
    if settings.tokens_per_minute:
        floors.append(tokens * (1 / settings.tokens_per_minute))
    return Span(*(max(values) for values in zip(*map(dataclasses.astuple, floors), strict=True)))


def _assumptions(stages: Sequence[Stage]) -> tuple[str, ...]:
    alike: dict[str, dict[str, None]] = {}  # basis → stages that rest on it, each once
    for stage in stages:
        alike.setdefault(stage.length.basis, {})[stage.name] = None
    return (
        *(f"{', '.join(names)}: {basis}" for basis, names in alike.items()),
        f"re-asked structured answers: {_percent(REASKED)}",
        f"turns taken of those planned: {_percent(TURNS_TAKEN)}",
        "prices: " + ("; ".join(_price_lines(stages)) or "none needed"),
        "discounts for cached prompts, thinking that was not measured, and failed calls are left out",
    )


def _price_lines(stages: Sequence[Stage]) -> Iterator[str]:
    for model, price in dict.fromkeys((stage.model, stage.price) for stage in stages):
        if price is None:
            yield f"{model} unknown (give it with --prices)"
        else:
            yield (
                f"{model} ${price.input_per_million:g} in, ${price.output_per_million:g} out per million tokens "
                f"({', '.join(filter(None, (price.source, price.as_of)))})"
            )


def _percent(span: Span) -> str:
    return f"{percent(span.expected)} ({percent(span.low)} to {percent(span.high)})"
