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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from discover_lib.base.tokens import COUNTING, count_tokens
from discover_lib.core.advance import walk
from discover_lib.core.conversation import Conversation, FinalTurn, Message, Reply
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import JudgeError, RoleError
from discover_lib.core.rollout import run_conversation
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState, Verdict
from discover_lib.core.view import UserView
from discover_lib.engines.llm.builder import STAGES
from discover_lib.engines.llm.calls.prices import Price, price_of
from discover_lib.engines.llm.calls.probe import MAX_TOKENS as PROBE_TOKENS
from discover_lib.engines.llm.calls.probe import PURPOSE as PROBE
from discover_lib.engines.llm.calls.records import Completion, LLMError, Request
from discover_lib.engines.llm.leak_check import MAX_TOKENS as LEAK_CHECK_TOKENS
from discover_lib.engines.llm.leak_check import PURPOSE as LEAK_CHECK
from discover_lib.engines.local.dialect import is_local
from discover_lib.engines.miniature.assistants import SCRIPTED
from discover_lib.engines.options import EFFORTS, RoleOptions, role_defaults
from discover_lib.engines.spec import MINIATURE, EngineSpec, RoleEngines, model_of
from discover_lib.metrics.intervals import percent
from discover_lib.metrics.satisfaction import FINAL_REQUEST, FINAL_REQUESTS
from discover_lib.runs.calls import Spent
from discover_lib.runs.evaluation import SCORING, assess, assessed, final_question, final_turns, is_evaluation
from discover_lib.runs.options import RunOptionsError, execute, within_reach
from discover_lib.runs.store import RunStore
from discover_lib.runs.units import Unit, run_unit

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient
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
THINKING = {  # tokens that are billed with a call's completion and not shown, by reasoning effort
    "none": Span(0, 0, 0),
    "minimal": Span(0, 100, 400),
    "low": Span(100, 500, 1500),
    "medium": Span(300, 1500, 5000),
    "high": Span(1000, 4000, 15000),
    "xhigh": Span(2000, 8000, 30000),
}
USER_MESSAGE = Span(20, 28, 50)  # about 20 words are asked for, at most 40
PROBING = (Span(15, 20, 60), Span(8, 15, 40))  # the one question whether a server takes JSON schemas
CHECK = Span(15, 30, 60)  # whether it leaks, and why
THOUGHT = Span(20, 45, 120)  # beside the user's message
VERDICT = Span(30, 45, 75)  # one intent: reason, engaged, near misses
VERDICT_HEAD = Span(25, 45, 90)  # the kind of the reply, and why
GRADE = Span(20, 35, 65)  # one leaf of the finished piece: reason and score
RATING = Span(40, 80, 160)  # of a conversation's interactivity, and why
ANNOTATION = Span(18, 28, 50)  # what one turn does, and why
FINAL = "final reply"  # the stage; its calls are metered with the assistant's others
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
_BUILT_IN = (
    (Span(1500, 2200, 3500), Span(500, 900, 1800)),
    (Span(1200, 1800, 3000), Span(800, 1600, 3500)),
    (Span(1500, 2300, 4000), Span(600, 1200, 2500)),
    (Span(1000, 1800, 3500), Span(500, 1200, 3000)),
    (Span(900, 1300, 2200), Span(60, 120, 250)),
    (Span(700, 1000, 1800), CHECK),
)
BUILDING = dict(zip((*STAGES, LEAK_CHECK), _BUILT_IN, strict=True))


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
class Limits:
    """What bounds a call's completion, and how long the model is asked to think."""

    max_tokens: int | None = None
    effort: str | None = None

    @classmethod
    def of(cls, role: str, options: RoleOptions, assistants: Sequence[str] = ("",)) -> Limits:
        """Those of a role, or of assistants by name; of several the widest."""
        hows = [role_defaults(role) | options.of(role, name) for name in assistants]
        limits = [how["max_tokens"] for how in hows]
        efforts = [how["reasoning_effort"] for how in hows if "reasoning_effort" in how]
        return cls(None if None in limits else max(limits), max(efforts, key=EFFORTS.index, default=None))

    @property
    def thinking(self) -> Span:
        """Tokens that are billed with the completion and not shown, as assumed for the effort that is asked for."""
        return THINKING[self.effort] if self.effort else NOTHING

    def applied(self, length: Length, *, measured: bool = False) -> Length:
        """The length within these limits; what was measured holds its thinking already."""
        completion = length.completion if measured else length.completion + self.thinking
        if self.max_tokens is not None:
            completion = Span(*(min(tokens, self.max_tokens) for tokens in dataclasses.astuple(completion)))
        return dataclasses.replace(length, completion=completion)


@dataclass(frozen=True)
class Stage:
    """One line of a plan: calls of one purpose to one model."""

    name: str
    model: str
    calls: Span
    length: Length
    price: Price | None  # None: unknown, which is not free
    limits: Limits = Limits()

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
        return Plan(units, Span.exactly(run.options.turns * units), (), minutes, (note, within_reach(run)))
    turns = TURNS_TAKEN * run.options.turns * units
    lengths = _lengths(run, rehearsal) | dict(measured or {})
    if measured and "assistant" in measured:
        lengths[FINAL] = measured["assistant"]  # metered together
    calls = _calls(run, turns, builder)
    structured = dict.fromkeys(model for purpose, model in calls if purpose not in ("assistant", FINAL))
    calls |= {(PROBE, each): Span.exactly(probes) for each in structured if (probes := settings.probed_servers(each))}
    stages = []
    for (purpose, model), count in calls.items():
        limits = _limits(run, purpose, model)
        length = limits.applied(lengths[purpose], measured=bool(measured and (purpose in measured or purpose == FINAL)))
        price = price_of(model, settings.prices, settings.address_of(model))
        stages.append(Stage(purpose, model, count, length, price, limits))
    players = run.options.spec.players(run.options.everyone) | ({"builder": "builder"} if builder else {})
    if run.configuration.get("kind") != "evaluate":
        players.pop("scorer", None)
    options = run.options.role_options.lines(players)
    assumptions = (*_assumptions(stages), *(f"as asked for, {line}" for line in options), within_reach(run))
    return Plan(units, turns, tuple(stages), _minutes(stages, run, concurrency, settings), assumptions)


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
        for purpose, (count, prompt, completion, seconds) in store.calls.lengths().items()
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
            spent = store.calls.spent()
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
        if spec.leak_check:  # of every message; of none where everything is discovered
            calls[LEAK_CHECK, spec.leak_check] = Span(0.0, spoken.expected, spoken.high) * asked_again
    if is_evaluation(run):
        calls |= final
        if spec.judge != MINIATURE:  # who judges the turns scores the whole, too
            calls |= {(purpose, spec.judge): asked_again * units for purpose in SCORING}
    return calls


def _limits(run: LaidOut, purpose: str, model: str) -> Limits:
    """What the calls of a stage are bounded by."""
    if purpose == PROBE:
        return Limits(PROBE_TOKENS)
    if purpose == LEAK_CHECK:
        return Limits(LEAK_CHECK_TOKENS)
    role = "scorer" if purpose in SCORING else purpose.partition(":")[0].replace(FINAL, "assistant")
    named = [name for name in run.options.everyone if _models_of([name]) == [model]]
    return Limits.of(role, run.options.role_options, named if role == "assistant" else [""])


def _models_of(assistants: Iterable[str]) -> list[str]:
    """The models behind those assistants that are asked through an API."""
    return [model_of(name) for name in assistants if name not in SCRIPTED and not is_local(name)]


# -- how long they are ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rehearsal:
    """Some of the run's conversations as the miniature plays them, `adaptive` in place of models.

    `seconds` is the time of one, with its scores in an evaluation; then `finals` holds the finished piece of each.
    Of trees that the miniature does not know there is the opening, with an empty reply.
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
    seconds = (time.perf_counter() - began) / max(1, len(conversations))
    if not conversations:
        nobody, trees = Nobody(), itertools.islice(run.trees.values(), REHEARSED)
        conversations = [
            run_conversation(tree, nobody, nobody, [nobody], rules=run.options.rules, turns=1) for _, tree in trees
        ]
        finals = (FinalTurn(FINAL_REQUEST, NO_REPLY),) * len(conversations)
    return Rehearsal(tuple(conversations), seconds, finals)


def _rehearsed_finals(conversations: Sequence[Conversation]) -> tuple[FinalTurn, ...]:
    """The finished pieces, as scripts make them and the miniature scores them."""
    miniature = RoleEngines(EngineSpec())
    finals = []
    for talk, final in zip(conversations, final_turns(conversations, miniature), strict=True):
        scored = assessed(talk, miniature.scorer(talk.setting["domain"]), final)
        finals.append(scored.final or FinalTurn(FINAL_REQUEST, NO_REPLY))
    return tuple(finals)


NO_REPLY = Reply("", 0, COUNTING)


class Nobody:
    """All roles where none is known: nothing is written, nothing is met."""

    name = "nobody"

    def reply(self, messages: Sequence[Message], seed: int) -> Reply:
        return NO_REPLY

    def evaluate(
        self, tree: IntentTree, state: IntentState, messages: Sequence[Message], reply: Reply, rules: Rules
    ) -> Evaluation:
        return Evaluation("dialogue_act", walk(tree, state, rules, lambda intent: Verdict(intent.id, False)))

    def speak(self, view: UserView, messages: Sequence[Message], seed: int) -> str:
        return ""


class Scale:
    """In place of a client: weighs the prompts that roles would send, by purpose, and answers nothing."""

    def __init__(self) -> None:
        self.weights: dict[str, list[int]] = {}

    def complete(self, request: Request) -> Completion:
        contents = [message["content"] for message in request.messages]
        purpose = FINAL if contents[-1].endswith(tuple(FINAL_REQUESTS.values())) else request.purpose
        self.weights.setdefault(purpose, []).append(sum(map(count_tokens, contents)))
        raise LLMError("only weighed", "content")

    def remark(self, purpose: str, what: str, times: int = 1) -> None:
        """Nothing to count."""

    def weigh(self, ask: Callable[..., object], *arguments: object) -> None:
        with contextlib.suppress(RoleError):
            ask(*arguments)

    def mean(self, purpose: str) -> float:
        return _mean(self.weights.get(purpose, ()))


def _lengths(run: LaidOut, rehearsal: Rehearsal) -> dict[str, Length]:
    """Purpose → length: prompts as our roles really render them, completions as assumed.

    Where models write the replies, the share of the replies in a prompt is corrected to what models are assumed to
    write: a judge's prompt holds (T + 1)/2 of them on average over T turns, a voice's T/2, an assistant's (T − 1)/2.
    When the conversation is over all T stand in each prompt but that for satisfaction, which holds the finished piece
    alone.
    """
    scale, turns = _weighed(run, rehearsal), run.options.turns
    taken = [turn for talk in rehearsal.conversations for turn in talk.turns]
    more = _more_written(run, [turn.reply for turn in taken])
    verdicts = _mean([len(turn.candidate.evaluation.verdicts) for turn in taken if turn.candidate.evaluation])
    leaves = _mean([len(talk.tree.leaves()) for talk in rehearsal.conversations])
    assumed = {  # what is answered, and what the prompts hold beyond those that were weighed
        "assistant": (REPLY, more * ((turns - 1) / 2)),
        "judge": (VERDICT_HEAD + VERDICT * verdicts, more * ((turns + 1) / 2)),
        "voice": (USER_MESSAGE + THOUGHT, more * (turns / 2)),
        LEAK_CHECK: (CHECK, more * (turns / 2)),
        FINAL: (REPLY, more * turns),
        "satisfaction": (GRADE * leaves, _more_written(run, [final.reply for final in rehearsal.finals])),
        "interactivity": (RATING, more * turns),
        "behaviour": (ANNOTATION * turns, more * turns),
    }
    lengths = {
        purpose: Length(_at_least(scale, purpose, beyond), completion, COUNTED_BASIS)
        for purpose, (completion, beyond) in assumed.items()
    }
    lengths[PROBE] = Length(*PROBING, ASSUMED_BASIS)
    return lengths | {f"builder: {stage}": Length(*spans, ASSUMED_BASIS) for stage, spans in BUILDING.items()}


def _at_least(scale: Scale, purpose: str, beyond: Span) -> Span:
    """The mean prompt with what is written beyond it: as much as the shortest prompt that was weighed, at least.

    Models may write less than the rehearsed replies, whose share then goes off.
    """
    length = Span.about(scale.mean(purpose), COUNTED) + beyond
    least = (1 - COUNTED) * min(scale.weights.get(purpose, (0,)))
    return Span(*(max(tokens, least) for tokens in dataclasses.astuple(length)))


def _weighed(run: LaidOut, rehearsal: Rehearsal) -> Scale:
    """The prompts of the rehearsed turns, and in an evaluation those of what is asked afterwards."""
    from discover_lib.engines.llm.assistants import llm_assistant
    from discover_lib.engines.llm.judge import LLMJudge
    from discover_lib.engines.llm.leak_check import LeakCheck
    from discover_lib.engines.llm.prompting import PromptSet, default_prompts
    from discover_lib.engines.llm.scoring import LLMScorer
    from discover_lib.engines.llm.voice import LLMVoice, undiscovered

    scale = Scale()
    client = cast("LLMClient", scale)
    prompts = PromptSet(run.options.prompts) if run.options.prompts else default_prompts()
    judge = LLMJudge(client, "model", prompts=prompts)
    voice = LLMVoice(client, "model", prompts=prompts, manner=run.options.manner)
    check = LeakCheck(client, "model", prompts=prompts)
    scorer = LLMScorer(client, "model", prompts=prompts, interactivity=run.options.interactivity)
    names = [name for name in run.options.assistants if _models_of([name])]
    assistants = [llm_assistant(client, name, prompts=prompts) for name in names]
    for talk in rehearsal.conversations:
        for turn in talk.turns:
            past = talk.messages(turn.index - 1)
            for assistant in assistants:
                scale.weigh(assistant.reply, past, 0)
            scale.weigh(judge.evaluate, talk.tree, turn.before, past, turn.reply, talk.rules)
            heard = (*past, Message("assistant", turn.reply.text))
            scale.weigh(voice.speak, turn.view, heard, 0)
            if run.options.leak_check and turn.user_message is not None and turn.view.pursuing is not None:
                clear = turn.view.pursuing == "clear"
                hidden = undiscovered(talk.tree, turn.view.texts) if clear else turn.view.texts
                scale.weigh(check.given_away, turn.user_message, hidden, (), heard)
    for talk, final in zip(rehearsal.conversations, rehearsal.finals, strict=True) if is_evaluation(run) else ():
        for assistant in assistants:
            scale.weigh(assistant.reply, final_question(talk, FINAL_REQUESTS[run.options.final_request])[0], 0)
        scale.weigh(scorer.satisfaction, talk.tree, final.reply)
        scale.weigh(scorer.interactivity, talk)
        scale.weigh(scorer.behaviour, talk)
    return scale


def _more_written(run: LaidOut, rehearsed: Sequence[Reply]) -> Span:
    """How much longer than the rehearsed replies those of this run are assumed to be: by its share of models."""
    written = _mean([count_tokens(reply.text) for reply in rehearsed])
    names = run.options.assistants
    return (REPLY + Span.exactly(-written)) * (len(_models_of(names)) / len(names))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


# -- how long it takes ---------------------------------------------------------------------------------------------


def _minutes(stages: Sequence[Stage], run: LaidOut, concurrency: int, settings: ClientSettings) -> Span:
    """The time of the longest chain that cannot be shortened: conversations in waves, or a limit on calls or tokens."""
    if not stages:
        return NOTHING
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
    bases = [f"{', '.join(names)}: {basis}" for basis, names in alike.items()]
    general = (
        f"re-asked structured answers: {_percent(REASKED)}",
        f"turns taken of those planned: {_percent(TURNS_TAKEN)}",
        "prices: " + ("; ".join(_price_lines(stages)) or "none needed"),
        "discounts for cached prompts, thinking beyond what is named here, and failed calls are left out",
    )
    thinking = (
        f"{stage.name}: thinking tokens at {stage.limits.effort} effort "
        f"{stage.limits.thinking.expected:,.0f} "
        f"({stage.limits.thinking.low:,.0f} to {stage.limits.thinking.high:,.0f}) a call, "
        "assumed and within the limit of an answer"
        for stage in stages
        if stage.limits.effort and not stage.length.basis.startswith("the mean of")
    )
    return (*bases, *dict.fromkeys(thinking), *general)


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
