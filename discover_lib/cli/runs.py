"""`discover simulate`, `synthesize`, `evaluate` and `plan`: conversations in a run folder, and what they will cost."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.words import price_line
from discover_lib.cli import show
from discover_lib.cli.common import (
    ApiBase,
    Engine,
    KeyVariable,
    ModelFlags,
    NearMissCap,
    PerMinute,
    Prices,
    Prompts,
    RoleModel,
    RulesName,
    RunBudget,
    Seed,
    SplitName,
    Turns,
    capped,
    with_flags,
    writable,
)
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.engines.manner import manner_named
from discover_lib.runs.cluster import Cluster, cluster
from discover_lib.runs.options import (
    LaidOut,
    RunOptions,
    caveats,
    check_models,
    check_prices,
    check_spreads,
    execute,
    lay_out,
    write_results,
)
from discover_lib.runs.store import FILE
from discover_lib.tasks.playing import client_settings

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.runs.plan import Length, Plan
    from discover_lib.runs.runner import Report

DEFAULT_IN_FLIGHT = 64  # conversations with language models at a time


class PlannedFor(StrEnum):
    """Commands whose runs can be planned."""

    simulate = "simulate"
    synthesize = "synthesize"
    evaluate = "evaluate"
    train = "train"


class LeaveOutName(StrEnum):
    """Which leaves do not count for satisfaction."""

    none = "none"
    all = "all"


Assistants = Annotated[
    list[str],
    typer.Option(
        help="A scripted assistant; tiny, or hf:DIR for a model or a training run of this machine; or a LiteLLM model, "
        "as MODEL or MODEL+STYLE; repeatable."
    ),
]
RunFolder = Annotated[Path, typer.Option(help="Folder of the run; the same command again resumes it.")]
Domains = Annotated[list[str], typer.Option(help="Generated artifacts of this domain; repeatable.")]
Split = Annotated[SplitName, typer.Option(help="Generated artifacts to train on, or those kept to evaluate on.")]
Artifacts = Annotated[int, typer.Option(min=1, help="How many artifacts, per domain.")]
Trials = Annotated[int, typer.Option(min=1, help="Conversations per assistant and artifact.")]
Candidates = Annotated[
    int | None,
    typer.Option(
        min=1, help="Replies per assistant and turn; the one with the highest reward continues the conversation."
    ),
]
LookAheadTurns = Annotated[
    int,
    typer.Option(
        min=0, max=20, help="Reward each candidate over this many further turns, played by --reward-assistant."
    ),
]
RewardAssistant = Annotated[str, typer.Option(help="The assistant that plays the look-ahead.")]
LeakCheckModel = Annotated[
    str | None,
    typer.Option(
        help="Who checks every user message for paraphrases: of the intents it hints at where these are felt or not "
        "known yet, of all undiscovered ones where it says plain wishes. MODEL, or judge."
    ),
]


class Whose(StrEnum):
    """Ours, or the paper's own."""

    ours = "ours"
    paper = "paper"


Interactivity = Annotated[Whose, typer.Option(help="The scale that a language model rates interactivity on.")]
FinalRequest = Annotated[Whose, typer.Option(help="The wording that asks for the finished piece.")]
On = Annotated[
    str | None,
    typer.Option(
        help="Run elsewhere than in this machine's processes: ray, or ray://HOST:PORT for a cluster far away "
        "(docs/scale.md).",
        metavar="ray[://HOST:PORT]",
    ),
]


@dataclass(frozen=True, kw_only=True)
class RunFlags(ModelFlags):
    """Options of every command about a run, in the order of their help; subclasses narrow the wide ones."""

    assistant: Assistants
    domain: Domains = field(default_factory=list)
    split: SplitName | None = None
    trees: Annotated[Path | None, typer.Option(help="A folder of trees (JSON), instead of generated ones.")] = None
    engine: Engine = "miniature"
    judge: RoleModel = None
    voice: RoleModel = None
    artifacts: int | None = None
    trials: int | None = None
    turns: Turns = MAX_TURNS
    rules: RulesName = RulesName.paper
    near_miss_cap: NearMissCap = None
    seed: Seed = 0
    prompts: Prompts = None
    leak_check: LeakCheckModel = None
    manner: Annotated[
        str,
        typer.Option(help="How users type: paper, terse, rambling, or people."),
    ] = "paper"
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, help="Processes (miniature, default 1), or conversations in flight (default 64)."),
    ] = None
    api_base: ApiBase = None
    key_variable: KeyVariable = None
    requests_per_minute: PerMinute = None
    tokens_per_minute: PerMinute = None
    prices: Prices = None

    def client_settings(self, candidates: int | None = None) -> ClientSettings:
        """How language models are reached; `candidates`, or scores, of one conversation are asked for at once."""
        at_once = max(1, len(self.assistant)) * (candidates or 1)
        return client_settings(
            api_base=self.api_base,
            key_variable=self.key_variable,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            concurrency=(self.concurrency or DEFAULT_IN_FLIGHT) * at_once,
            prices=self.prices,
        )

    def in_flight(self, run: LaidOut) -> int:
        """Processes for the miniature, conversations at a time for language models."""
        return self.concurrency or (DEFAULT_IN_FLIGHT if run.models else 1)


@dataclass(frozen=True, kw_only=True)
class MakeFlags(RunFlags):
    """What the commands share that make a run."""

    run: RunFolder
    split: Split = SplitName.eval
    artifacts: Artifacts = 20
    trials: Trials = 1
    budget: RunBudget = None
    on: On = None

    @property
    def options(self) -> RunOptions:
        """What decides the run's results."""
        return RunOptions(
            tuple(self.assistant),
            trees=self.trees,
            engine=self.engine,
            judge=self.judge,
            voice=self.voice,
            artifacts=self.artifacts,
            trials=self.trials,
            turns=self.turns,
            rules=capped(self.rules.rules, self.near_miss_cap),
            seed=self.seed,
            prompts=self.prompts,
            leak_check=self.leak_check,
            manner=manner_named(self.manner),
            split=self.split.value,
            role_options=self.role_options,
        )

    def lay_out(self) -> LaidOut:
        return lay_out(self.options)

    @contextmanager
    def spread(self, run: LaidOut) -> Iterator[Cluster | None]:
        """Where --on says, checked before anything begins; says at the end what its nodes did."""
        if self.on is None:
            yield None
            return
        check_spreads(run)
        with cluster(self.on) as nodes:
            yield nodes
            typer.echo(nodes.line, err=True)


@dataclass(frozen=True, kw_only=True)
class SimulateFlags(MakeFlags):
    candidates: Candidates = None

    @property
    def options(self) -> RunOptions:
        domain = ", ".join(self.domain) or None
        return dataclasses.replace(super().options, domain=domain, candidates=self.candidates)


@dataclass(frozen=True, kw_only=True)
class SynthesizeFlags(SimulateFlags):
    split: Split = SplitName.train
    look_ahead: LookAheadTurns = 0
    reward_assistant: RewardAssistant = ""

    @property
    def options(self) -> RunOptions:
        candidates = self.candidates or 1
        if len(self.assistant) * candidates < 2:
            raise DiscoverError("best-of-n needs two candidates: add a second --assistant or --candidates 2")
        return dataclasses.replace(
            super().options,
            candidates=candidates,
            look_ahead=self.look_ahead,
            reward_assistant=self.reward_assistant,
        )


@dataclass(frozen=True, kw_only=True)
class EvaluateFlags(MakeFlags):
    artifacts: Annotated[int, typer.Option(min=1, help="Artifacts per domain, at most.")] = 100
    trials: Trials = 3
    leave_out: Annotated[
        LeaveOutName,
        typer.Option(
            help="Leaves left out of satisfaction: those that none of the assistants satisfied (the paper, section "
            "4.2), or those that all of them did (its appendix B.3). Of one assistant alone all leaves count."
        ),
    ] = LeaveOutName.none
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Score again under other rules, and say which conclusions change.")
    ] = False

    interactivity: Interactivity = Whose.ours
    final_request: FinalRequest = Whose.ours

    @property
    def options(self) -> RunOptions:
        scale, request = self.interactivity.value, self.final_request.value
        return dataclasses.replace(super().options, interactivity=scale, final_request=request)

    def lay_out(self) -> LaidOut:
        from discover_lib.runs.evaluation import lay_out_evaluation

        return lay_out_evaluation(self.options, self.domain)


@dataclass(frozen=True, kw_only=True)
class PlanFlags(RunFlags):
    assistant: Assistants = field(default_factory=list)
    split: Annotated[SplitName | None, typer.Option(help="Default: that of the planned command.")] = None
    artifacts: Annotated[int | None, typer.Option(min=1, help="Default: that of the planned command.")] = None
    trials: Annotated[int | None, typer.Option(min=1, help="Default: that of the planned command.")] = None
    planned_for: Annotated[
        PlannedFor, typer.Option("--for", help="The command to plan: its options, its defaults, its calls.")
    ] = PlannedFor.simulate
    candidates: Candidates = None
    look_ahead: LookAheadTurns = 0
    reward_assistant: RewardAssistant = ""
    interactivity: Interactivity = Whose.ours
    final_request: FinalRequest = Whose.ours
    data: Annotated[Path | None, typer.Option(help="Of train: the rows or the run to train on.")] = None
    recipe: Annotated[str, typer.Option(help="Of train: its recipe.")] = "paper"
    changes: Annotated[list[str], typer.Option("--set", help="Of train: a change of its recipe; repeatable.")] = field(
        default_factory=list
    )
    builder: Annotated[str | None, typer.Option(help="Count building the trees with this model, too.")] = None
    paper: Annotated[bool, typer.Option("--paper", help="The paper's own cost accounting, and nothing else.")] = False
    like: Annotated[Path | None, typer.Option(help="A run whose measured lengths and times to plan with.")] = None
    probing: Annotated[
        int,
        typer.Option(
            "--probe",
            min=0,
            help="First run this many conversations per assistant to measure token use (costs money).",
        ),
    ] = 0

    def lay_out(self) -> LaidOut:
        """The run that the planned command would begin with these options."""
        shared = {each.name: getattr(self, each.name) for each in dataclasses.fields(RunFlags)}
        given: dict[str, Any] = {name: value for name, value in shared.items() if value is not None} | {"run": Path()}
        if self.planned_for is PlannedFor.evaluate:
            return EvaluateFlags(**given, interactivity=self.interactivity, final_request=self.final_request).lay_out()
        given |= {"candidates": self.candidates}
        if self.planned_for is PlannedFor.simulate:
            return SimulateFlags(**given).lay_out()
        given |= {"look_ahead": self.look_ahead, "reward_assistant": self.reward_assistant}
        return SynthesizeFlags(**given).lay_out()


# -- the commands -----------------------------------------------------------------------------------------------------


@with_flags(SimulateFlags)
def simulate(flags: SimulateFlags) -> None:
    """Run assistants × artifacts × trials from identical states into a run folder, or go on where it was left."""
    _run(flags)


@with_flags(SynthesizeFlags)
def synthesize(flags: SynthesizeFlags) -> None:
    """Best-of-n conversations: candidates are judged in the same state, the best goes on (options as in simulate)."""
    _run(flags)


@with_flags(EvaluateFlags)
def evaluate(flags: EvaluateFlags) -> None:
    """Score assistants on artifacts × trials from identical states, with intervals and paired comparisons."""
    from discover_lib.runs.scoring import SCORING

    run = flags.lay_out()
    report = _had(flags, run, flags.client_settings(len(SCORING)))
    code = show.print_report(report, flags.run)
    if report.last.counts.finished:
        show.write_and_print_results(flags.run, flags.leave_out.value, sensitivity=flags.sensitivity)
    show.print_closing(flags.run)
    raise typer.Exit(code)


@with_flags(PlanFlags)
def plan(flags: PlanFlags) -> None:
    """Calls, tokens, dollars and minutes of a run before anything is spent: simulate's, or that of --for."""
    from discover_lib.runs.plan import measured_lengths, plan_run

    if flags.paper:
        show.print_paper_accounting()
        return
    if flags.like and flags.probing:
        raise DiscoverError("give --like or --probe: a plan rests on one measurement")
    if flags.planned_for is PlannedFor.train:
        show.print_plan(_plan_of_training(flags))
        typer.echo("This counts GRPO's judge and simulated user alone. The training itself (memory on a card):")
        typer.echo(f"  discover train grpo --data {flags.data} --base MODEL --run NEW --rehearse --card CARD")
        return
    run, settings = flags.lay_out(), flags.client_settings(flags.candidates)
    measured: Mapping[str, Length] | None = None
    if flags.like:
        measured = measured_lengths(flags.like)
    elif flags.probing:
        measured = _probe(run, flags.probing, settings, flags.in_flight(run))
    _print_caveats(run)
    concurrency = flags.in_flight(run)
    show.print_plan(plan_run(run, settings=settings, concurrency=concurrency, builder=flags.builder, measured=measured))


def _plan_of_training(flags: PlanFlags) -> Plan:
    """What judge and voice of a GRPO stage will take."""
    from discover_lib.train.access import Access
    from discover_lib.train.plan import plan_stage
    from discover_lib.train.recipes import Recipe, assignments
    from discover_lib.train.stage import StageSettings

    if flags.data is None:
        raise DiscoverError("--for train needs --data: the rows or the run to train on")
    recipe = Recipe.named(flags.recipe).changed("grpo", assignments(flags.changes))
    if lines := recipe.problems("grpo"):
        raise DiscoverError("; ".join(lines))
    judge, voice = flags.judge or flags.engine, flags.voice or flags.engine
    options = flags.role_options.to_dict()
    settings = StageSettings("grpo", str(flags.data), "", recipe=recipe, judge=judge, voice=voice, options=options)
    return plan_stage(settings, Access(flags.client_settings()))


def _probe(run: LaidOut, conversations: int, settings: ClientSettings, concurrency: int) -> Mapping[str, Length]:
    """The lengths of some conversations that are really had; says what that cost."""
    from discover_lib.runs.plan import probe

    check_models(run.models, settings)
    typer.echo(f"probing: running up to {conversations} conversations per assistant", err=True)
    probed = probe(run, conversations, settings=settings, concurrency=concurrency)
    spent = probed.spent
    price = price_line(spent.cost, spent.unpriced, spent.calls)
    typer.echo(f"{probed.conversations} conversations, {spent.calls} calls, {price}", err=True)
    return probed.lengths


def _run(flags: SimulateFlags) -> NoReturn:
    """Make a run, print what came out, and leave with the exit code."""
    run = flags.lay_out()
    # What calls models takes as long to import as thirty turns of the miniature.
    asked_for = run.models or flags.api_base or flags.prices
    settings = flags.client_settings(run.options.candidates) if asked_for else None
    report = _had(flags, run, settings)
    if summaries := write_results(flags.run):
        show.print_summary(summaries, run)
    if run.options.candidates is not None:
        show.print_table_3(flags.run)
    code = show.print_report(report, flags.run)
    show.print_closing(flags.run)
    raise typer.Exit(code)


def _had(flags: MakeFlags, run: LaidOut, settings: ClientSettings | None) -> Report:
    """Have what is left of a run, and show how it goes.

    The folder of a new run is made only once every model can be asked; what was begun may be finished.
    """
    gc.set_threshold(100_000, 50, 1000)  # conversations leave no circles: to look for them takes 4 % of the time
    with flags.spread(run) as spread:
        check_prices(run.models, settings, flags.budget)
        if not (flags.run / FILE).exists():
            check_models(run.models, settings)
        folder = writable(flags.run)
        _print_caveats(run)
        with show.progress_bar(spread) as on_progress:
            return execute(
                run,
                folder,
                concurrency=flags.in_flight(run),
                settings=settings,
                budget_dollars=flags.budget,
                spread=spread,
                on_progress=on_progress,
            )


def _print_caveats(run: LaidOut) -> None:
    for caveat in caveats(run):
        typer.echo(f"note: {caveat}", err=True)
