"""`discover simulate`, `synthesize`, `evaluate` and `plan`: conversations in a run folder, and what they will cost."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.words import price_line
from discover_lib.cli import show
from discover_lib.cli.common import (
    Dollars,
    ModelFlags,
    PerMinute,
    RulesName,
    SplitName,
    Turns,
    progress,
    with_flags,
    writable,
)
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import Rules
from discover_lib.engines.manner import manner_named
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.satisfaction import LeaveOut
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
from discover_lib.runs.runner import Snapshot
from discover_lib.runs.store import FILE
from discover_lib.tasks.playing import client_settings

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.runs.plan import Length, Plan
    from discover_lib.runs.runner import Report

DEFAULT_IN_FLIGHT = 64  # conversations with language models at a time
Kind = Literal["simulate", "synthesize", "evaluate"]
Whose = Literal["ours", "paper"]
SIZES: dict[str, dict[str, Any]] = {  # command → its own defaults
    "simulate": {"split": "eval", "artifacts": 20, "trials": 1},
    "synthesize": {"split": "train", "artifacts": 20, "trials": 1},
    "evaluate": {"split": "eval", "artifacts": 100, "trials": 3},
}
UNUSED: dict[str, set[str]] = {  # command → options that it has no use for
    "simulate": {"interactivity", "final_request", "look_ahead", "reward_assistant"},
    "synthesize": {"interactivity", "final_request"},
    "evaluate": {"candidates", "look_ahead", "reward_assistant"},
}
NEEDED = inspect.Parameter.empty  # as the default of --run, where the command makes one


@dataclass(frozen=True, kw_only=True)
class RunFlags(ModelFlags):
    """Options of every command about a run, in the order of their help; a command leaves out what it has no use for."""

    assistant: list[str]
    run: Path = Path()
    domain: list[str] = field(default_factory=list)
    trees: Path | None = None
    split: SplitName | None = None
    artifacts: Annotated[int | None, typer.Option(min=1)] = None
    trials: Annotated[int | None, typer.Option(min=1)] = None
    turns: Turns = MAX_TURNS
    seed: int = 0
    candidates: Annotated[int | None, typer.Option(min=1)] = None
    look_ahead: Annotated[int, typer.Option(min=0, max=20)] = 0
    reward_assistant: str = ""
    rules: RulesName = "paper"
    near_miss_cap: Annotated[int | None, typer.Option(min=1)] = None
    manner: str = "paper"
    leak_check: str | None = None
    interactivity: Whose = "ours"
    final_request: Whose = "ours"
    budget: Dollars = None
    prices: Path | None = None
    concurrency: Annotated[int | None, typer.Option(min=1)] = None
    requests_per_minute: PerMinute = None
    tokens_per_minute: PerMinute = None
    on: str | None = None
    engine: str = MINIATURE
    judge: str | None = None
    voice: str | None = None
    prompts: Path | None = None
    api_base: list[str] | None = None
    key_variable: str | None = None

    def client_settings(self, at_once: int = 1) -> ClientSettings:
        """How language models are reached; `at_once`: candidates, or scores, of one conversation."""
        return client_settings(
            self.api_base,
            self.prices,
            key_variable=self.key_variable,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            concurrency=(self.concurrency or DEFAULT_IN_FLIGHT) * max(1, len(self.assistant)) * at_once,
        )

    def in_flight(self, run: LaidOut) -> int:
        """Processes for the miniature, conversations at a time for language models."""
        return self.concurrency or (DEFAULT_IN_FLIGHT if run.models else 1)

    def lay_out(self, kind: Kind) -> LaidOut:
        """The run of this command; what is not given is the command's own default."""
        missing = {name: value for name, value in SIZES[kind].items() if getattr(self, name) is None}
        flags = replace(self, **missing, candidates=self.candidates or (1 if kind == "synthesize" else None))
        rules = Rules.named(self.rules)
        taken = {each.name for each in fields(flags)} & {each.name for each in fields(RunOptions)}
        options = RunOptions(
            tuple(self.assistant),
            **{name: getattr(flags, name) for name in taken - UNUSED[kind] - {"domain"}}
            | {"rules": rules if self.near_miss_cap is None else rules.replace(near_miss_cap=self.near_miss_cap)}
            | {"manner": manner_named(self.manner), "role_options": self.role_options},
        )
        if kind == "evaluate":
            from discover_lib.runs.evaluation import lay_out_evaluation

            return lay_out_evaluation(options, self.domain)
        if kind == "synthesize" and len(self.assistant) * (flags.candidates or 1) < 2:
            raise DiscoverError(
                "best-of-n needs at least 2 candidates per turn; add a second --assistant or set --candidates 2"
            )
        return lay_out(replace(options, domain=", ".join(self.domain) or None))

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


# -- the commands -----------------------------------------------------------------------------------------------------


@with_flags(RunFlags, without=UNUSED["simulate"], run=NEEDED, **SIZES["simulate"])
def simulate(flags: RunFlags) -> None:
    """Run every assistant with the same simulated users and save the conversations.

    Users come from generated artifacts (--domain) or from your trees (--trees).
    """
    _run(flags, "simulate")


@with_flags(RunFlags, without=UNUSED["synthesize"], run=NEEDED, **SIZES["synthesize"])
def synthesize(flags: RunFlags) -> None:
    """Let all assistants answer each turn of one conversation, and continue with the reply of the highest reward.

    Training rows are made of these conversations with `discover export` or `discover train`.
    """
    _run(flags, "synthesize")


@with_flags(RunFlags, without=UNUSED["evaluate"], run=NEEDED, **SIZES["evaluate"])
def evaluate(
    flags: RunFlags,
    leave_out: Annotated[
        LeaveOut,
        typer.Option(
            help="Leaves that do not count for satisfaction: those that no assistant satisfied (none; the paper, "
            "section 4.2), or those that every assistant satisfied (all; its appendix B.3)."
        ),
    ] = "none",
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Score again under other rules and list the conclusions that change.")
    ] = False,
) -> None:
    """Score assistants on the same users, with intervals and paired comparisons."""
    from discover_lib.runs.scoring import SCORING

    report = _had(flags, flags.lay_out("evaluate"), flags.client_settings(len(SCORING)))
    code = show.print_report(report, flags.run)
    if report.last.counts.finished:
        show.write_and_print_results(flags.run, leave_out, sensitivity=sensitivity)
    show.print_closing(flags.run)
    raise typer.Exit(code)


@with_flags(RunFlags, without={"run", "budget", "on"}, assistant=[])
def plan(
    flags: RunFlags,
    planned_for: Annotated[
        Literal["simulate", "synthesize", "evaluate", "train"],
        typer.Option("--for", help="Command to plan. Its defaults hold for what is not given."),
    ] = "simulate",
    data: Path | None = None,
    recipe: Annotated[str, typer.Option(help="Of --for train: the recipe.")] = "paper",
    changes: Annotated[list[str], typer.Option("--set")] = [],  # noqa: B006
    builder: str | None = None,
    paper: Annotated[bool, typer.Option("--paper", help="Print the paper's own accounting and nothing else.")] = False,
    like: Annotated[Path | None, typer.Option(help="Plan with the lengths and times measured in this run.")] = None,
    probing: Annotated[
        int,
        typer.Option(
            "--probe", min=0, help="First run N conversations per assistant to measure token use (costs money)."
        ),
    ] = 0,
) -> None:
    """Estimate calls, tokens, cost and time of a run before anything is spent."""
    from discover_lib.runs.plan import measured_lengths, plan_run

    if paper:
        show.print_paper_accounting()
        return
    if like and probing:
        raise DiscoverError("a plan uses one measurement: give --like or --probe, not both")
    if planned_for == "train":
        show.print_plan(_plan_of_training(flags, data, recipe, changes))
        typer.echo("This covers GRPO's judge and voice. For the memory of the training itself, run:")
        typer.echo(f"  discover train grpo --data {data} --base MODEL --run NEW --rehearse --card CARD")
        return
    run, settings = flags.lay_out(planned_for), flags.client_settings(flags.candidates or 1)
    measured: Mapping[str, Length] | None = None
    if like:
        measured = measured_lengths(like)
    elif probing:
        measured = _probe(run, probing, settings, flags.in_flight(run))
    _print_caveats(run)
    concurrency = flags.in_flight(run)
    show.print_plan(plan_run(run, settings=settings, concurrency=concurrency, builder=builder, measured=measured))


def _plan_of_training(flags: RunFlags, data: Path | None, recipe_name: str, changes: list[str]) -> Plan:
    """What judge and voice of a GRPO stage will take."""
    from discover_lib.train.access import Access
    from discover_lib.train.forecast import plan_stage
    from discover_lib.train.recipes import Recipe, assignments
    from discover_lib.train.run_stage import StageSettings

    if data is None:
        raise DiscoverError("--for train needs --data FOLDER: the rows or the run to train on")
    recipe = Recipe.named(recipe_name).changed("grpo", assignments(changes))
    if lines := recipe.problems("grpo"):
        raise DiscoverError("; ".join(lines))
    judge, voice = flags.judge or flags.engine, flags.voice or flags.engine
    options = dict(flags.role_options.given)
    settings = StageSettings("grpo", str(data), "", recipe=recipe, judge=judge, voice=voice, options=options)
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


def _run(flags: RunFlags, kind: Kind) -> NoReturn:
    """Make a run, print what came out, and leave with the exit code."""
    run = flags.lay_out(kind)
    # What calls models takes as long to import as thirty turns of the miniature.
    asked_for = run.models or flags.api_base or flags.prices
    settings = flags.client_settings(run.options.candidates or 1) if asked_for else None
    report = _had(flags, run, settings)
    if summaries := write_results(flags.run):
        show.print_summary(summaries, run)
    if run.options.candidates is not None:
        show.print_table_3(flags.run)
    code = show.print_report(report, flags.run)
    show.print_closing(flags.run)
    raise typer.Exit(code)


def _had(flags: RunFlags, run: LaidOut, settings: ClientSettings | None) -> Report:
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
        with progress("conversations") as draw:

            def on_progress(now: Snapshot) -> None:
                draw(now.done, now.counts.units, show.progress_line(now, spread))

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
