"""Estimates of a run before anything is spent: calls × mean lengths, in tokens and dollars; low, expected and high.

The number of calls follows from the configuration.  The lengths of calls are from a table of typical lengths, which is
right to within half and double.  The plan lists its assumptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discover_lib.engines.llm.calls.exchange import Price, price_of
from discover_lib.engines.llm.judge import LEAK_PURPOSE as LEAK_CHECK
from discover_lib.engines.spec import MINIATURE, asked_assistants, model_of
from discover_lib.metrics.intervals import percent
from discover_lib.runs.options import within_reach
from discover_lib.runs.units import SCORING

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.runs.options import LaidOut


@dataclass(frozen=True)
class Span:
    """A quantity as low, expected and high."""

    low: float
    expected: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Span:
        return cls(value, value, value)

    def __add__(self, other: Span) -> Span:
        return Span(self.low + other.low, self.expected + other.expected, self.high + other.high)

    def __mul__(self, other: Span | float) -> Span:
        factor = other if isinstance(other, Span) else Span.exactly(other)
        return Span(self.low * factor.low, self.expected * factor.expected, self.high * factor.high)


NOTHING = Span.exactly(0.0)


def sum_of(spans: Iterable[Span]) -> Span:
    """The sum: all low together, all high together."""
    return sum(spans, NOTHING)


FINAL = "final reply"  # the stage; its calls are recorded with the assistant's others
# Prompt and completion tokens of a call: of our prompts, counted by our own rule over
# conversations of five turns in the paper's three domains, and of answers as the prompts ask for them.
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
ASKED = Span.exactly(1.0) + REASKED  # calls of one structured answer
TURNS_TAKEN = Span(0.8, 1.0, 1.0)  # a conversation ends early when everything is discovered
TYPICAL_BASIS = "lengths: typical ones, half to double"


@dataclass(frozen=True)
class Stage:
    """One line of a plan: calls of one purpose to one model.  Its name is one of `TYPICAL`."""

    name: str
    model: str
    calls: Span
    price: Price | None  # None: unknown, which is not free

    @property
    def tokens(self) -> tuple[Span, Span]:
        """Tokens in and out of all calls."""
        prompt, completion = TYPICAL[self.name]
        return self.calls * HALF_TO_DOUBLE * prompt, self.calls * HALF_TO_DOUBLE * completion

    @property
    def cost(self) -> Span | None:
        """Dollars, or None if the price is unknown."""
        if self.price is None:
            return None
        into, out = self.tokens
        return into * (self.price.input_per_million / 1e6) + out * (self.price.output_per_million / 1e6)


@dataclass(frozen=True)
class Plan:
    """The estimate of a run.  Roles that the miniature or a script plays make no calls and have no stage."""

    conversations: int
    turns: Span
    stages: tuple[Stage, ...]
    assumptions: tuple[str, ...] = ()

    @property
    def calls(self) -> Span:
        return sum_of(stage.calls for stage in self.stages)

    @property
    def cost(self) -> Span:
        """Dollars of the stages with a known price."""
        return sum_of(stage.cost for stage in self.stages if stage.cost is not None)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Models of unknown price."""
        return tuple(dict.fromkeys(stage.model for stage in self.stages if stage.price is None))


def plan_run(run: LaidOut, *, settings: ClientSettings, builder: str | None = None) -> Plan:
    """The plan of a run laid out by `discover_lib.runs.options.lay_out`, or of an evaluation by `lay_out_evaluation`.

    At the end of a conversation an evaluation asks its assistant once for the final artifact.  A language model that
    judges is also asked three times for the scores.

    Args:
        builder: a model that builds the trees, to be counted too.
    """
    asked = run.options
    turns = TURNS_TAKEN * (asked.turns * len(run.units))
    stages = list(building_stages(builder, settings, len(run.trees)) if builder else ())
    for (purpose, model), count in _calls(run, turns).items():
        stages.append(Stage(purpose, model, count, _price(model, settings)))
    return Plan(len(run.units), turns, tuple(stages), (*_assumptions(stages), within_reach(run)))


def building_stages(model: str, settings: ClientSettings, trees: int = 1) -> Iterator[Stage]:
    """The calls to a model that builds so many trees."""
    for purpose in TYPICAL:
        if purpose.startswith("builder: "):
            yield Stage(purpose, model, ASKED * trees, _price(model, settings))


def _price(model: str, settings: ClientSettings) -> Price | None:
    return price_of(model, settings.prices, settings.address_of(model))


def _calls(run: LaidOut, turns: Span) -> dict[tuple[str, str], Span]:
    """(purpose, model) → calls, in the order of the work."""
    spec, units = run.options, len(run.units)
    calls: dict[tuple[str, str], Span] = {}
    final: dict[tuple[str, str], Span] = {}
    for unit in run.units:
        for model in map(model_of, asked_assistants(unit.assistants)):
            calls["assistant", model] = calls.get(("assistant", model), NOTHING) + turns * (1 / units)
            final[FINAL, model] = final.get((FINAL, model), NOTHING) + Span.exactly(1.0)
    candidates = sum(len(unit.assistants) for unit in run.units) / units
    ahead = candidates * run.options.look_ahead  # turns played ahead, per turn
    for model in map(model_of, asked_assistants([run.options.reward_assistant] if ahead else [])):
        calls["assistant", model] = calls.get(("assistant", model), NOTHING) + turns * ahead
    if spec.judge != MINIATURE:
        calls["judge", spec.judge] = turns * (candidates + ahead) * ASKED
    if spec.voice != MINIATURE:
        spoken = turns * (1 + ahead) + Span.exactly(-float(units))  # the last turn has no answer
        calls["voice", spec.voice] = Span(max(0.0, spoken.low), spoken.expected, spoken.high) * ASKED
        if spec.leak_check:  # at most of every message; of none that asks plainly
            calls[LEAK_CHECK, spec.leak_check] = Span(0.0, spoken.expected, spoken.high) * ASKED
    if run.is_evaluation:
        calls |= final
        if spec.judge != MINIATURE:  # the judge of the turns scores the whole, too
            calls |= {(purpose, spec.judge): ASKED * units for purpose in SCORING}
    return calls


def _assumptions(stages: Sequence[Stage]) -> Iterator[str]:
    if stages:
        yield TYPICAL_BASIS
        yield f"re-asked structured answers: {_percent(REASKED)}; turns taken of those planned: {_percent(TURNS_TAKEN)}"
    for model, price in dict.fromkeys((stage.model, stage.price) for stage in stages):
        if price is None:
            yield f"price of {model}: unknown (give it with --prices)"
        else:
            source = ", ".join(filter(None, (price.source, price.as_of)))
            in_and_out = f"${price.input_per_million:g} in, ${price.output_per_million:g} out per million tokens"
            yield f"price of {model}: {in_and_out} ({source})"
    if stages:
        yield "left out: discounts for cached prompts, reasoning that was not measured, and failed calls"


def _percent(span: Span) -> str:
    return f"{percent(span.expected)} ({percent(span.low)} to {percent(span.high)})"
