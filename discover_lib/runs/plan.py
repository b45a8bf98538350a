"""What a run will take, before anything is spent: calls, tokens, dollars, minutes; low, expected and high.

How many calls there are follows from the configuration.  How long they are is counted where it can be (our prompts,
the trees) and assumed where it cannot (what models write).  In place of the assumptions can stand what was measured: in
a finished run (`measured_lengths`), or in a few conversations of this one that are really had (`probe`, which spends).
Every assumption is listed with the plan.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from discover_lib.base.tokens import COUNTING, count_tokens
from discover_lib.core.advance import initial_state, walk
from discover_lib.core.conversation import Conversation, FinalTurn, Message, Reply
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import JudgeError, RoleError
from discover_lib.core.rules import Rules
from discover_lib.core.state import IntentState, Verdict
from discover_lib.core.view import UserView, user_view
from discover_lib.engines.llm.calls.prices import Price, price_of
from discover_lib.engines.llm.calls.records import Completion, LLMError, Request
from discover_lib.engines.local.names import is_local
from discover_lib.engines.miniature.assistants import SCRIPTED
from discover_lib.engines.spec import MINIATURE, EngineSpec, RoleEngines, model_of
from discover_lib.metrics.satisfaction import FINAL_REQUEST
from discover_lib.runs.evaluation import assess, assessed, final_question, final_turns, is_evaluation
from discover_lib.runs.options import RunOptionsError, execute
from discover_lib.runs.store import RunStore, Spent
from discover_lib.runs.units import Unit, run_unit

if TYPE_CHECKING:
    from discover_lib.engines.llm.assistants import LLMAssistant
    from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient
    from discover_lib.engines.llm.prompting import PromptSet
    from discover_lib.runs.options import LaidOut

CALLS_PER_SECOND = 200  # what one process drives at most
REHEARSED = 8  # conversations of the miniature that are really run to measure what can be measured


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


# What models write, in tokens, where nothing was measured.
REPLY = Span(250, 450, 800)  # an assistant's; the paper's own conversations of five turns took 1.7-2.9 thousand
USER_MESSAGE = Span(20, 28, 50)  # about 20 words are asked for, at most 40
THOUGHT = Span(20, 45, 120)  # beside the user's message
VERDICT = Span(30, 45, 75)  # one intent: reason, engaged, near misses
VERDICT_HEAD = Span(25, 45, 90)  # the kind of the reply, and why
GRADE = Span(20, 35, 65)  # one leaf of the finished piece: reason and score
RATING = Span(40, 80, 160)  # of a conversation's interactivity, and why
ANNOTATION = Span(18, 28, 50)  # what one turn does, and why
FINAL = "final reply"  # the stage; its calls are metered with the assistant's others
SCORING = ("satisfaction", "interactivity", "behaviour")
REASKED = Span(0.0, 0.02, 0.15)  # share of structured answers that are asked for again
TURNS_TAKEN = Span(0.8, 1.0, 1.0)  # a conversation in which everything is discovered ends early
COUNTED = 0.15  # what our way of counting tokens may be off by
MEASURED = 0.1  # how far another run may differ from the one measured
PROBED = 0.2  # how far the run may differ from a few of its conversations
COUNTED_BASIS = "prompts rendered on rehearsed turns and counted; what models write is assumed"
ASSUMED_BASIS = "assumed"
# How fast models answer, where nothing was measured.
FIRST_TOKEN_SECONDS = Span(0.4, 1.0, 3.0)
SECONDS_PER_TOKEN = Span(1 / 150, 1 / 70, 1 / 25)
# Building one tree: prompt and completion tokens of each stage, for an artifact of some 800 tokens.
BUILDING = {
    "synthesis": (Span(1500, 2200, 3500), Span(500, 900, 1800)),
    "abstraction": (Span(1200, 1800, 3000), Span(800, 1600, 3500)),
    "hierarchy": (Span(1500, 2300, 4000), Span(600, 1200, 2500)),
    "superset check": (Span(1000, 1800, 3500), Span(500, 1200, 3000)),
    "initial request": (Span(900, 1300, 2200), Span(60, 120, 250)),
}


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
        measured: purpose → what its calls took in another run, in place of the assumptions.
    """
    rehearsal = rehearse(run)
    units = len(run.units)
    if not run.models and builder is None:
        minutes = Span.about(rehearsal.seconds * units / concurrency / 60, 0.5)
        done = "run and scored" if is_evaluation(run) else "run"
        note = f"time: {len(rehearsal.conversations)} of these conversations were just {done} on this machine"
        return Plan(units, Span.exactly(run.options.turns * units), (), minutes, (note,))
    turns = TURNS_TAKEN * run.options.turns * units
    lengths = _lengths(run, rehearsal) | dict(measured or {})
    if measured and "assistant" in measured:
        lengths[FINAL] = measured["assistant"]  # metered together
    calls = _calls(run, turns, builder)
    stages = tuple(
        Stage(purpose, model, count, lengths[purpose], price_of(model, settings.prices, settings.api_base))
        for (purpose, model), count in calls.items()
    )
    return Plan(units, turns, stages, _minutes(stages, run, concurrency, settings), _assumptions(stages))


def measured_lengths(folder: Path) -> dict[str, Length]:
    """Purpose → mean tokens and seconds of the finished calls of a run.

    Raises:
        StoreError: there is no run.
    """
    with RunStore.read(folder) as store:
        return _mean_lengths(store, f"in {folder}", MEASURED)


def _mean_lengths(store: RunStore, where: str, share: float) -> dict[str, Length]:
    return {
        purpose: Length(
            Span.about(prompt, share),
            Span.about(completion, share),
            f"the mean of {count} calls {where}",
            Span.about(seconds, 3 * MEASURED),
        )
        for purpose, (count, prompt, completion, seconds) in store.call_lengths().items()
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
    with tempfile.TemporaryDirectory() as folder:
        few = dataclasses.replace(run, units=units)
        report = execute(few, Path(folder), concurrency=concurrency, settings=settings)
        with RunStore.read(Path(folder)) as store:
            failures = store.failures()
        if report.halted is not None or failures:
            why = report.message or failures[-1][1].line
            raise RunOptionsError(f"the probe failed: {' '.join(why.split())}")
        if is_evaluation(run):
            ended = assess(few, Path(folder), concurrency=concurrency, settings=settings)
            if ended.halted is not None or ended.failed:
                why = ended.message or f"{ended.failed} of {len(units)} conversations could not be scored in full"
                raise RunOptionsError(f"the probe failed: {' '.join(why.split())}")
        with RunStore.read(Path(folder)) as store:
            lengths = _mean_lengths(store, f"of {len(units)} conversations run to measure it", PROBED)
            spent = store.spent()
    return Probe(len(units), lengths, spent)


# -- how many calls ------------------------------------------------------------------------------------------------


def _calls(run: LaidOut, turns: Span, builder: str | None) -> dict[tuple[str, str], Span]:
    """(purpose, model) → calls, in the order of the work."""
    spec, units = run.options.spec, len(run.units)
    asked_again = Span.exactly(1.0) + REASKED
    calls: dict[tuple[str, str], Span] = {}
    if builder is not None:
        for stage in BUILDING:
            calls[f"builder: {stage}", builder] = asked_again * len(run.trees)
    final: dict[tuple[str, str], Span] = {}
    for unit in run.units:
        for model in _models_of(unit.assistants):
            key = "assistant", model
            calls[key] = calls.get(key, NOTHING) + turns * (1 / units)
            final[FINAL, model] = final.get((FINAL, model), NOTHING) + Span.exactly(1.0)
    candidates = sum(len(unit.assistants) for unit in run.units) / units
    ahead = candidates * run.options.look_ahead  # turns played ahead, per turn
    for model in _models_of([run.options.reward_assistant] if ahead else []):
        key = "assistant", model
        calls[key] = calls.get(key, NOTHING) + turns * ahead
    if spec.judge != MINIATURE:
        calls["judge", spec.judge] = turns * (candidates + ahead) * asked_again
    if spec.voice != MINIATURE:
        spoken = turns * (1 + ahead) + Span.exactly(-float(units))  # nobody speaks after the last turn
        calls["voice", spec.voice] = Span(max(0.0, spoken.low), spoken.expected, spoken.high) * asked_again
    if is_evaluation(run):
        calls |= final
        if spec.judge != MINIATURE:  # who judges the turns scores the whole, too
            calls |= {(purpose, spec.judge): asked_again * units for purpose in SCORING}
    return calls


def _models_of(assistants: Iterable[str]) -> list[str]:
    """The models behind those assistants that are asked through an API."""
    return [model_of(name) for name in assistants if name not in SCRIPTED and not is_local(name)]


# -- how long they are ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rehearsal:
    """Some of the run's conversations as the miniature plays them, `adaptive` in place of models.

    `seconds` is the time of one, with its scores in an evaluation; then `finals` holds the finished piece of each.
    Trees that the miniature does not know are not rehearsed.
    """

    conversations: tuple[Conversation, ...]
    seconds: float
    finals: tuple[FinalTurn, ...] = ()


def rehearse(run: LaidOut) -> Rehearsal:
    """Play up to `REHEARSED` conversations, spread over the run."""
    known = [unit for unit in run.units if unit.domain]
    began, conversations = time.perf_counter(), []
    for unit in known[:: max(1, len(known) // REHEARSED)][:REHEARSED]:
        stand_ins = tuple(name if name in SCRIPTED else "adaptive" for name in unit.assistants)
        with contextlib.suppress(JudgeError):  # a requirement outside the lexicon, for a model to judge
            conversations.append(run_unit(dataclasses.replace(unit, assistants=stand_ins)))
    finals = _rehearsed_finals(conversations) if is_evaluation(run) else ()
    return Rehearsal(tuple(conversations), (time.perf_counter() - began) / max(1, len(conversations)), finals)


def _rehearsed_finals(conversations: Sequence[Conversation]) -> tuple[FinalTurn, ...]:
    """The finished pieces, as scripts make them and the miniature scores them."""
    miniature = RoleEngines(EngineSpec())
    finals = []
    for talk, final in zip(conversations, final_turns(conversations, miniature), strict=True):
        assessment = assessed(talk, miniature.scorer(talk.setting["domain"]), final)
        finals.append(assessment.final or FinalTurn(FINAL_REQUEST, Reply("", 0, COUNTING)))
    return tuple(finals)


class _Scale:
    """In place of a client: weighs the prompts that roles would send, and answers nothing."""

    def __init__(self) -> None:
        self.weights: list[int] = []

    def complete(self, request: Request) -> Completion:
        self.weights.append(sum(count_tokens(message["content"]) for message in request.messages))
        raise LLMError("only weighed", "content")

    @property
    def mean(self) -> float:
        return sum(self.weights) / len(self.weights) if self.weights else 0.0


@dataclass(frozen=True)
class _Moment:
    """One turn as the roles meet it: the user's state, what was said before, the reply, what the user then sees."""

    tree: IntentTree
    rules: Rules
    state: IntentState
    past: tuple[Message, ...]
    reply: Reply
    verdicts: int
    view: UserView


def _moments(run: LaidOut, rehearsal: Rehearsal) -> Iterator[_Moment]:
    """The rehearsed turns; where nothing could be rehearsed, each tree's opening with an empty reply."""
    for talk in rehearsal.conversations:
        for turn in talk.turns:
            past, judged = talk.messages(turn.index - 1), turn.candidate.evaluation
            verdicts = len(judged.verdicts) if judged else 0
            yield _Moment(talk.tree, talk.rules, turn.before, past, turn.reply, verdicts, turn.view)
    if not rehearsal.conversations:
        rules = run.options.rules
        for _, tree in itertools.islice(run.trees.values(), REHEARSED):
            state = initial_state(tree, rules)
            shown = len(walk(tree, state, rules, lambda intent: Verdict(intent.id, False)))
            opening = (Message("user", tree.initial_request),)
            yield _Moment(tree, rules, state, opening, Reply("", 0, COUNTING), shown, user_view(tree, state, rules))


def _lengths(run: LaidOut, rehearsal: Rehearsal) -> dict[str, Length]:
    """Purpose → length: prompts as our roles really render them, completions as assumed.

    Where models write the replies, the share of the replies in a prompt is corrected to what models are assumed to
    write: a judge's prompt holds (T + 1)/2 of them on average over T turns, a voice's T/2, an assistant's (T − 1)/2.
    """
    from discover_lib.engines.llm.judge import LLMJudge
    from discover_lib.engines.llm.prompting import PromptSet, default_prompts
    from discover_lib.engines.llm.voice import LLMVoice

    prompts = PromptSet(run.options.prompts) if run.options.prompts else default_prompts()
    scales, clients = _scales("assistant", "judge", "voice")
    judge = LLMJudge(clients["judge"], "model", prompts=prompts)
    voice = LLMVoice(clients["voice"], "model", prompts=prompts)
    assistants = _weighed_assistants(run, clients["assistant"], prompts)
    moments = list(_moments(run, rehearsal))
    for each in moments:
        messages = (*each.past, Message("assistant", each.reply.text))
        for assistant in assistants:
            with contextlib.suppress(RoleError):
                assistant.reply(each.past, 0)
        with contextlib.suppress(RoleError):
            judge.evaluate(each.tree, each.state, each.past, each.reply, each.rules)
        with contextlib.suppress(RoleError):
            voice.speak(each.view, messages, 0)
    verdicts = sum(each.verdicts for each in moments) / len(moments)
    more = _more_written(run, [each.reply for each in moments])
    turns = run.options.turns
    completions = {
        "assistant": (REPLY, more * ((turns - 1) / 2)),
        "judge": (VERDICT_HEAD + VERDICT * verdicts, more * ((turns + 1) / 2)),
        "voice": (USER_MESSAGE + THOUGHT, more * (turns / 2)),
    }
    lengths = _counted(scales, completions)
    if is_evaluation(run):
        lengths |= _assessment_lengths(run, rehearsal, prompts, more)
    return lengths | {f"builder: {stage}": Length(*spans, ASSUMED_BASIS) for stage, spans in BUILDING.items()}


def _assessment_lengths(run: LaidOut, rehearsal: Rehearsal, prompts: PromptSet, more: Span) -> dict[str, Length]:
    """As `_lengths`, of what an evaluation asks when a conversation is over.

    All T replies stand in each prompt but that for satisfaction, which holds the finished piece alone.
    """
    from discover_lib.engines.llm.scoring import LLMScorer

    scales, clients = _scales(FINAL, *SCORING)
    assistants = _weighed_assistants(run, clients[FINAL], prompts)
    scorers = {purpose: LLMScorer(clients[purpose], "model", prompts=prompts) for purpose in SCORING}
    ended = list(_ended(run, rehearsal))
    for talk, final in ended:
        for assistant in assistants:
            with contextlib.suppress(RoleError):
                assistant.reply(final_question(talk)[0], 0)
        with contextlib.suppress(RoleError):
            scorers["satisfaction"].satisfaction(talk.tree, final.reply)
        with contextlib.suppress(RoleError):
            scorers["interactivity"].interactivity(talk)
        with contextlib.suppress(RoleError):
            scorers["behaviour"].behaviour(talk)
    leaves = sum(len(talk.tree.leaves()) for talk, _ in ended) / len(ended)
    turns = run.options.turns
    completions = {
        FINAL: (REPLY, more * turns),
        "satisfaction": (GRADE * leaves, _more_written(run, [final.reply for _, final in ended])),
        "interactivity": (RATING, more * turns),
        "behaviour": (ANNOTATION * turns, more * turns),
    }
    return _counted(scales, completions)


def _ended(run: LaidOut, rehearsal: Rehearsal) -> Iterator[tuple[Conversation, FinalTurn]]:
    """The rehearsed conversations with their finished pieces; without any, each tree's opening."""
    yield from zip(rehearsal.conversations, rehearsal.finals, strict=True)
    if not rehearsal.conversations:
        rules = run.options.rules
        for _, tree in itertools.islice(run.trees.values(), REHEARSED):
            opening = Conversation(tree, rules, run.options.seed, initial_state(tree, rules))
            yield opening, FinalTurn(FINAL_REQUEST, Reply("", 0, COUNTING))


def _scales(*purposes: str) -> tuple[dict[str, _Scale], dict[str, LLMClient]]:
    """A scale for every purpose, and the same as the clients that roles take them for."""
    scales = {purpose: _Scale() for purpose in purposes}
    return scales, {purpose: cast("LLMClient", scale) for purpose, scale in scales.items()}


def _weighed_assistants(run: LaidOut, client: LLMClient, prompts: PromptSet) -> list[LLMAssistant]:
    from discover_lib.engines.llm.assistants import llm_assistant

    asked = [name for name in run.options.assistants if _models_of([name])]
    return [llm_assistant(client, name, prompts=prompts) for name in asked]


def _more_written(run: LaidOut, rehearsed: Sequence[Reply]) -> Span:
    """How much longer than the rehearsed replies those of this run are assumed to be: by its share of models."""
    written = sum(count_tokens(reply.text) for reply in rehearsed) / len(rehearsed)
    names = run.options.assistants
    return (REPLY + Span.exactly(-written)) * (len(_models_of(names)) / len(names))


def _counted(scales: Mapping[str, _Scale], assumed: Mapping[str, tuple[Span, Span]]) -> dict[str, Length]:
    """Purpose → what its prompts weigh; `assumed` pairs what is answered with what the prompts hold beyond that."""
    return {
        purpose: Length(Span.about(scales[purpose].mean, COUNTED) + more, completion, COUNTED_BASIS)
        for purpose, (completion, more) in assumed.items()
    }


# -- how long it takes ---------------------------------------------------------------------------------------------


def _minutes(stages: Sequence[Stage], run: LaidOut, concurrency: int, settings: ClientSettings) -> Span:
    """The time of the longest chain that cannot be shortened: conversations in waves, or a limit on calls or tokens."""
    if not stages:
        return NOTHING
    candidates = len(run.units[0].assistants)
    chain = NOTHING
    for stage in stages:
        at_once = candidates if stage.name in ("assistant", "judge") and candidates > 1 else 1
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
    bases = dict.fromkeys(f"{stage.name}: {stage.length.basis}" for stage in stages)
    general = (
        f"re-asked structured answers: {_percent(REASKED)}",
        f"turns taken of those planned: {_percent(TURNS_TAKEN)}",
        "prices: " + ("; ".join(_price_lines(stages)) or "none needed"),
        "discounts for cached prompts, thinking that is billed but not shown, and failed calls are left out",
    )
    return (*bases, *general)


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
    return f"{span.low:.0%} / {span.expected:.0%} / {span.high:.0%}"


# -- the paper's own accounting ------------------------------------------------------------------------------------

PAPER_PRICES_AS_OF = "2025-12"
PAPER_TREE = {
    "builder: synthesis": (3500, 1000),
    "builder: abstraction": (5000, 3000),
    "builder: hierarchy": (3500, 1500),
    "builder: initial request": (1500, 267),
}
PAPER_TURN = {"judge": (6000, 2000), "voice": (2000, 400)}
PAPER_TURNS = 5
PAPER_PRINTED = {"tree": 0.127, "five turns": 0.056, "sum": 0.189}  # dollars


def paper_accounting() -> tuple[Plan, Plan]:
    """What one tree and one conversation of five turns cost by the paper's models, stage by stage.

    Given are the models (Claude Sonnet 4.5 builds, Gemini 3 Flash judges and speaks), their list prices, and the two
    totals, 0.127 and 0.056 dollars.  The lengths of the calls are not given: those here are assumptions, chosen so that
    the stages add up to these totals.  The sum of the two is 0.183; the paper prints 0.189.  A user message is counted
    for each of the five turns; our conversations leave the last one out.
    """
    sonnet = Price(3.0, 15.0, "list price", PAPER_PRICES_AS_OF)
    flash = Price(0.5, 3.0, "list price", PAPER_PRICES_AS_OF)
    tree = _paper_stages(PAPER_TREE, "claude-sonnet-4-5", sonnet, 1)
    talk = _paper_stages(PAPER_TURN, "gemini-3-flash-preview", flash, PAPER_TURNS)
    note = "lengths are assumptions chosen to agree with the printed totals; models, prices and totals are given"
    return (
        Plan(0, NOTHING, tree, NOTHING, (note,)),
        Plan(1, Span.exactly(PAPER_TURNS), talk, NOTHING, (note,)),
    )


def _paper_stages(lengths: Mapping[str, tuple[int, int]], model: str, price: Price, calls: int) -> tuple[Stage, ...]:
    return tuple(
        Stage(
            name,
            model,
            Span.exactly(calls),
            Length(Span.exactly(prompt), Span.exactly(completion), ASSUMED_BASIS),
            price,
        )
        for name, (prompt, completion) in lengths.items()
    )
