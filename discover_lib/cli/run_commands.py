"""`discover simulate`, `synthesize`, `evaluate` and `plan`: conversations in a run folder, and their price."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.words import price_line
from discover_lib.cli import show
from discover_lib.cli.common import (
    Count,
    HowFlags,
    ModelFlags,
    RulesName,
    SplitName,
    Turns,
    parameters_of,
    progress,
    with_flags,
    writable,
)
from discover_lib.core.rules import Rules
from discover_lib.engines.manner import manner_named
from discover_lib.metrics.satisfaction import LeaveOut
from discover_lib.runs.options import (
    LaidOut,
    RunOptions,
    caveats,
    check_models,
    check_prices,
    check_spreads,
    execute,
    lay_out,
    lay_out_evaluation,
    write_results,
)
from discover_lib.runs.store import FILE
from discover_lib.runs.units import SCORING
from discover_lib.runs.work import cluster

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.runs.plan import Length, Plan
    from discover_lib.runs.runner import Report

DEFAULT_IN_FLIGHT = 64  # conversations with language models at a time
Kind = Literal["simulate", "synthesize", "evaluate"]
Whose = Literal["ours", "paper"]
FLAGS: dict[str, Any] = {  # field of `RunOptions` that is an option as it is → its type on the command line
    "trees": Path | None,
    "split": SplitName | None,
    "artifacts": Count,
    "trials": Count,
    "turns": Turns,
    "seed": int,
    "candidates": Count,
    "look_ahead": Annotated[int, typer.Option(min=0, max=20)],
    "reward_assistant": str,
    "leak_check": str | None,
    "interactivity": Whose,
    "final_request": Whose,
    "engine": str,
    "judge": str | None,
    "voice": str | None,
    "prompts": Path | None,
}
DEFAULTS: dict[str, dict[str, Any]] = {  # command → its own defaults
    "simulate": {},
    "synthesize": {"split": "train", "candidates": 1},
    "evaluate": {"artifacts": 100, "trials": 3},
}
UNUSED: dict[str, set[str]] = {  # command → options that it does not have
    "simulate": {"interactivity", "final_request", "look_ahead", "reward_assistant"},
    "synthesize": {"interactivity", "final_request"},
    "evaluate": {"candidates", "look_ahead", "reward_assistant"},
}


def settings_of(run: LaidOut, how: HowFlags) -> ClientSettings:
    """The settings for language models, with room for all candidates, or scores, of every conversation."""
    at_once = len(SCORING) if run.is_evaluation else run.options.candidates or 1
    conversations = (how.concurrency or DEFAULT_IN_FLIGHT) * max(1, len(run.options.assistants))
    return how.client_settings(concurrency=conversations * at_once)


def in_flight(run: LaidOut, how: HowFlags) -> int:
    """Processes for the miniature, parallel conversations for language models."""
    return how.concurrency or (DEFAULT_IN_FLIGHT if run.models else 1)


def asks(kind: Kind, *, of_all: bool = False) -> list[inspect.Parameter]:
    """The options that decide the results of a command.

    Args:
        of_all: the options of all commands, for `plan`, which leaves their defaults to `laid_out`.
    """
    defaults = {each.name: each.default for each in fields(RunOptions)} | DEFAULTS[kind] | {"candidates": None}
    defaults |= dict.fromkeys(("split", "artifacts", "trials")) if of_all else {}
    own = [each for each in parameters_of(laid_out) if each.kind is each.KEYWORD_ONLY]
    return own + [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=hint)
        for name, hint in FLAGS.items()
        if of_all or name not in UNUSED[kind]
    ]


def laid_out(
    kind: Kind,
    model_flags: ModelFlags,
    *,
    assistant: list[str],
    domain: list[str] = [],  # noqa: B006
    rules: RulesName = "paper",
    near_miss_cap: Count = None,
    manner: str = "paper",
    **given: Any,
) -> LaidOut:
    """The run of a command."""
    chosen = DEFAULTS[kind] | {name: value for name, value in given.items() if value is not None}
    if kind == "synthesize" and len(assistant) * chosen["candidates"] < 2:
        raise DiscoverError(
            "best-of-n needs at least 2 candidates per turn; add a second --assistant or set --candidates 2"
        )
    named = Rules.named(rules)
    options = RunOptions(
        tuple(assistant),
        rules=named if near_miss_cap is None else named.replace(near_miss_cap=near_miss_cap),
        manner=manner_named(manner),
        role_options=model_flags.role_options,
        **{name: value for name, value in chosen.items() if name not in UNUSED[kind]},
    )
    if kind == "evaluate":
        return lay_out_evaluation(options, domain)
    return lay_out(replace(options, domain=", ".join(domain) or None))


# -- the commands -----------------------------------------------------------------------------------------------------


@with_flags(HowFlags, ModelFlags, more=asks("simulate"))
def simulate(how: HowFlags, models: ModelFlags, run: Path, **asked: Any) -> None:
    """Run every assistant with the same simulated users and save the conversations.

    Users come from generated artifacts (--domain) or from your trees (--trees).
    """
    _run(laid_out("simulate", models, **asked), run, how)


@with_flags(HowFlags, ModelFlags, more=asks("synthesize"))
def synthesize(how: HowFlags, models: ModelFlags, run: Path, **asked: Any) -> None:
    """Let all assistants answer each turn of one conversation, and continue with the reply that has the highest reward.

    `discover export` and `discover train` make training rows from these conversations.
    """
    _run(laid_out("synthesize", models, **asked), run, how)


@with_flags(HowFlags, ModelFlags, more=asks("evaluate"))
def evaluate(
    how: HowFlags,
    models: ModelFlags,
    run: Path,
    leave_out: Annotated[
        LeaveOut,
        typer.Option(
            help="Leaves that do not count for satisfaction. none: no assistant satisfied them (paper, section 4.2). "
            "all: every assistant satisfied them (paper, appendix B.3)."
        ),
    ] = "none",
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Score again under other rules and list the conclusions that change.")
    ] = False,
    **asked: Any,
) -> None:
    """Score assistants on the same users, with intervals and paired comparisons."""
    evaluation = laid_out("evaluate", models, **asked)
    report = _done(evaluation, run, how)
    code = show.print_report(report, run)
    if report.last.counts.finished:
        show.write_and_print_results(run, leave_out, sensitivity=sensitivity)
    if evaluation.models:
        show.print_closing(run)
    raise typer.Exit(code)


def _run(run: LaidOut, folder: Path, how: HowFlags) -> NoReturn:
    """Do a run, print its summary, and leave with the exit code."""
    report = _done(run, folder, how)
    if summaries := write_results(folder):
        show.print_summary(summaries, run)
    if run.options.candidates is not None:
        show.print_table_3(folder)
    code = show.print_report(report, folder)
    if run.models:
        show.print_closing(folder)
    raise typer.Exit(code)


def _done(run: LaidOut, folder: Path, how: HowFlags) -> Report:
    """Do the missing conversations of a run, and show its progress.

    A new folder is made only if every model can be asked.  A run that was begun may be finished without that check.
    """
    gc.set_threshold(100_000, 50, 1000)  # conversations have no cycles; searching for some takes 4% of the time
    # Importing the client of models takes as long as thirty turns of the miniature.
    settings = settings_of(run, how) if run.models or how.api_base or how.prices else None
    if how.on is not None:
        check_spreads(run)
    with cluster(how.on) if how.on is not None else nullcontext() as nodes:
        check_prices(run.models, settings, how.budget)
        if not (folder / FILE).exists():
            check_models(run.models, settings)
        writable(folder)
        _print_caveats(run)
        with progress("conversations") as draw:
            report = execute(
                run,
                folder,
                concurrency=in_flight(run, how),
                settings=settings,
                budget_dollars=how.budget,
                spread=nodes,
                on_progress=lambda now: draw(now.done, now.counts.units, show.progress_line(now)),
            )
        if nodes is not None:
            typer.echo(nodes.line, err=True)
        return report


@with_flags(HowFlags, ModelFlags, more=asks("simulate", of_all=True), without={"budget", "on"})
def plan(
    how: HowFlags,
    models: ModelFlags,
    planned_for: Annotated[
        Literal["simulate", "synthesize", "evaluate", "train"],
        typer.Option("--for", help="Command to plan. Omitted options use the defaults of that command."),
    ] = "simulate",
    assistant: list[str] = [],  # noqa: B006
    data: Path | None = None,
    recipe: Annotated[str, typer.Option(help="Recipe, for --for train.")] = "paper",
    changes: Annotated[list[str], typer.Option("--set")] = [],  # noqa: B006
    builder: str | None = None,
    paper: Annotated[bool, typer.Option("--paper", help="Print only the paper's own accounting.")] = False,
    like: Annotated[Path | None, typer.Option(help="Plan with the lengths measured in this run.")] = None,
    probing: Annotated[
        int,
        typer.Option(
            "--probe", min=0, help="First run N conversations per assistant to measure token use (costs money)."
        ),
    ] = 0,
    **asked: Any,
) -> None:
    """Estimate calls, tokens and cost of a run before anything is spent."""
    from discover_lib.runs.plan import measured_lengths, plan_run

    if paper:
        show.print_paper_accounting()
        return
    if like and probing:
        raise DiscoverError("a plan uses one measurement: give --like or --probe, not both")
    if planned_for == "train":
        roles = {role: asked[role] or asked["engine"] for role in ("judge", "voice")}
        access = how.client_settings()
        show.print_plan(
            _plan_of_training(data, recipe, changes, access, options=dict(models.role_options.given), **roles)
        )
        typer.echo("This covers GRPO's judge and voice. For the memory of the training itself, run:")
        typer.echo(f"  discover train grpo --data {data} --base MODEL --run NEW --rehearse --card CARD")
        return
    run = laid_out(planned_for, models, assistant=assistant, **asked)
    settings = settings_of(run, how)
    measured: Mapping[str, Length] | None = measured_lengths(like) if like else None
    if probing:
        measured = _probe(run, probing, settings, in_flight(run, how))
    _print_caveats(run)
    show.print_plan(plan_run(run, settings=settings, builder=builder, measured=measured))


def _plan_of_training(
    data: Path | None, recipe_name: str, changes: list[str], settings: ClientSettings, **models: Any
) -> Plan:
    """The calls to the judge and the voice of a GRPO stage."""
    from discover_lib.train.access import Access
    from discover_lib.train.estimate import plan_stage
    from discover_lib.train.recipes import Recipe, assignments
    from discover_lib.train.run_stage import StageSettings

    if data is None:
        raise DiscoverError("--for train needs --data FOLDER: the rows or the run to train on")
    recipe = Recipe.named(recipe_name).changed("grpo", assignments(changes))
    if lines := recipe.problems("grpo"):
        raise DiscoverError("; ".join(lines))
    return plan_stage(StageSettings("grpo", str(data), "", recipe=recipe, **models), Access(settings))


def _probe(run: LaidOut, conversations: int, settings: ClientSettings, concurrency: int) -> Mapping[str, Length]:
    """The lengths of some conversations that are run for it; prints their cost."""
    from discover_lib.runs.plan import probe

    check_models(run.models, settings)
    typer.echo(f"probing: running up to {conversations} conversations per assistant", err=True)
    probed = probe(run, conversations, settings=settings, concurrency=concurrency)
    spent = probed.spent
    price = price_line(spent.cost, spent.unpriced, spent.calls)
    typer.echo(f"{probed.conversations} conversations, {spent.calls} calls, {price}", err=True)
    return probed.lengths


def _print_caveats(run: LaidOut) -> None:
    for caveat in caveats(run):
        typer.echo(f"note: {caveat}", err=True)
