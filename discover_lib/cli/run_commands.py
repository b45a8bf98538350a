"""`discover build`, `simulate`, `synthesize`, `evaluate` and `plan`: trees, conversations in a run, their price.

Also `discover doctor` and `serve`, which check this machine and serve simulated users from it.
"""

from __future__ import annotations

import gc
import inspect
import shlex
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, writable
from discover_lib.base.words import counted, duration
from discover_lib.cli.common import (
    DONE,
    NO_ACCESS,
    UNFINISHED,
    USAGE_ERROR,
    Count,
    Dollars,
    RulesName,
    SplitName,
    Turns,
    also,
    code_of_halt,
    one_line,
    parameters_of,
    progress,
    tell,
)
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import Rules
from discover_lib.engines.manner import manner_named
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.intervals import percent
from discover_lib.metrics.satisfaction import LeaveOut
from discover_lib.runs.artifact_files import tree_files
from discover_lib.runs.options import (
    LaidOut,
    Report,
    RunOptions,
    Snapshot,
    caveats,
    check_models,
    check_prices,
    execute,
    lay_out,
    lay_out_evaluation,
    write_results,
)
from discover_lib.runs.outcomes import closing_lines, cost_line, price_line
from discover_lib.runs.store import FILE, RunStore
from discover_lib.runs.units import SCORING
from discover_lib.runs.work import cluster
from discover_lib.tasks.playing import Access, Server, Tuning
from discover_lib.tasks.told import plan_told, results_told, sensitivity_told, summary_told, tree_lines
from discover_lib.tasks.waist import Lines, Mark, Table

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.runs.building import BuildReport, BuiltFile

DEFAULT_IN_FLIGHT = 64  # conversations with language models at a time
Kind = Literal["simulate", "synthesize", "evaluate"]
Whose = Literal["ours", "paper"]
DEFAULTS: dict[str, dict[str, Any]] = {  # command → its own defaults
    "simulate": {"split": "eval", "artifacts": 20, "trials": 1},
    "synthesize": {"split": "train", "artifacts": 20, "trials": 1, "candidates": 1},
    "evaluate": {"split": "eval", "artifacts": 100, "trials": 3},
}
UNUSED: dict[str, set[str]] = {  # command → options that it does not have
    "simulate": {"look_ahead", "reward_assistant", "final_request", "leave_out", "sensitivity"},
    "synthesize": {"final_request", "leave_out", "sensitivity"},
    "evaluate": {"candidates", "look_ahead", "reward_assistant"},
}

# -- conversations ----------------------------------------------------------------------------------------------------


def laid_out(
    kind: Kind,
    tuning: Tuning,
    *,
    assistant: list[str],
    domain: list[str] = [],  # noqa: B006
    trees: Path | None = None,
    split: SplitName | None = None,
    artifacts: Count = None,
    trials: Count = None,
    turns: Turns = MAX_TURNS,
    seed: int = 0,
    candidates: Count = None,
    look_ahead: Annotated[int, typer.Option(min=0, max=20)] = 0,
    reward_assistant: str = "",
    rules: RulesName = "paper",
    near_miss_cap: Count = None,
    manner: str = "paper",
    leak_check: str | None = None,
    final_request: Whose = "ours",
    engine: str = MINIATURE,
    judge: str | None = None,
    voice: str | None = None,
    prompts: Path | None = None,
) -> LaidOut:
    """The run of a command; None: the command's default."""
    given = {"split": split, "artifacts": artifacts, "trials": trials, "candidates": candidates}
    sizes = DEFAULTS[kind] | {name: value for name, value in given.items() if value is not None}
    if kind == "synthesize" and len(assistant) * sizes["candidates"] < 2:
        raise DiscoverError(
            "best-of-n needs at least 2 candidates per turn; add a second --assistant or set --candidates 2"
        )
    named = Rules.named(rules)
    options = RunOptions(
        tuple(assistant),
        trees=trees,
        turns=turns,
        seed=seed,
        look_ahead=look_ahead,
        reward_assistant=reward_assistant,
        rules=named if near_miss_cap is None else named.replace(near_miss_cap=near_miss_cap),
        manner=manner_named(manner),
        leak_check=leak_check,
        final_request=final_request,
        engine=engine,
        judge=judge or "",
        voice=voice or "",
        prompts=prompts,
        role_options=tuning.role_options,
        **sizes,
    )
    if kind == "evaluate":
        return lay_out_evaluation(options, domain)
    return lay_out(replace(options, domain=", ".join(domain) or None))


def begun(
    kind: Kind,
    *,
    how: Access,
    tuning: Tuning,
    run: Path,
    budget: Dollars = None,
    concurrency: Count = None,
    on: str | None = None,
    leave_out: Annotated[
        LeaveOut,
        typer.Option(
            help="Leaves (most specific intents) that do not count for satisfaction: 'none' leaves out those that none "
            "of the assistants satisfied (section 4.2), 'all' those that all of them satisfied (B.3)."
        ),
    ] = "none",
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Score again under other rules and list the conclusions that change.")
    ] = False,
    **asked: Any,
) -> NoReturn:
    """Do the missing conversations of a run, print its results, and leave with the exit code.

    A new folder is made only if every model can be asked.  A run that was begun may be finished without that check.
    """
    gc.set_threshold(500_000, 50, 1000)  # conversations have no cycles; searching for some takes 4% of the time
    laid = laid_out(kind, tuning, **asked)
    # Importing the client of models takes as long as thirty turns of the miniature.
    settings = settings_of(laid, how, concurrency) if laid.models or how.api_base or how.prices else None
    with cluster(on) if on is not None else nullcontext() as nodes:
        check_prices(laid.models, settings, budget)
        if not (run / FILE).exists():
            check_models(laid.models, settings)
        writable(run)
        _print_notes(caveats(laid))
        with progress("conversations") as draw:
            report = execute(
                laid,
                run,
                concurrency=concurrency or (DEFAULT_IN_FLIGHT if laid.models else 1),
                settings=settings,
                budget_dollars=budget,
                spread=nodes,
                on_progress=lambda now: draw(now.done, now.counts.units, progress_line(now)),
            )
    if report.last.counts.finished and laid.is_evaluation:
        print_results(run, leave_out, sensitivity=sensitivity)
    elif report.last.counts.finished:
        _print_summary(laid, run)
    code = _print_end(report, run)
    if laid.models:
        with RunStore.read(run) as store:
            tell([Lines(tuple(closing_lines(store)))])
    raise typer.Exit(code)


def settings_of(run: LaidOut, how: Access, concurrency: int | None) -> ClientSettings:
    """The settings for language models, with room for all candidates, or scores, of every conversation."""
    at_once = len(SCORING) if run.is_evaluation else run.options.candidates or 1
    conversations = (concurrency or DEFAULT_IN_FLIGHT) * max(1, len(run.options.assistants))
    return replace(how.settings, concurrency=conversations * at_once)


def asks(kind: Kind) -> Iterator[inspect.Parameter]:
    """The options of a command, with its own defaults."""
    for each in (*parameters_of(begun), *parameters_of(laid_out)):
        if each.kind is each.KEYWORD_ONLY and each.name not in UNUSED[kind]:
            yield each.replace(default=DEFAULTS[kind].get(each.name, each.default))


@also(asks("simulate"))
def simulate(**asked: Any) -> None:
    """Run every assistant with the same simulated users and save the conversations.

    Users come from generated artifacts (--domain) or from your trees (--trees).
    """
    begun("simulate", **asked)


@also(asks("synthesize"))
def synthesize(**asked: Any) -> None:
    """Let all assistants answer each turn of one conversation, and continue with the reply that has the highest reward.

    `discover export` and `discover train` make training rows from these conversations.
    """
    begun("synthesize", **asked)


@also(asks("evaluate"))
def evaluate(**asked: Any) -> None:
    """Score assistants on the same users, with intervals and paired comparisons."""
    begun("evaluate", **asked)


# -- the end of a run -------------------------------------------------------------------------------------------------


def _print_notes(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(f"note: {line}", err=True)


def progress_line(now: Snapshot) -> str:
    """The speed of a run, its cost, and its failures."""
    parts = [f"{now.turns_per_second:.3g} turns/s"] if now.turns_per_second else []
    parts += [f"{duration(now.seconds_left)} left"] if now.seconds_left else []
    parts += [price_line(now.spent.cost, now.spent.unpriced, now.spent.calls)] if now.spent.calls else []
    return ", ".join([*parts, *(counted(count, f"{role} failure") for role, count in now.failures.items())])


def _print_end(report: Report, folder: Path) -> int:
    """Print the end of a run; returns the exit code."""
    counts, unreachable = report.last.counts, False
    typer.echo(f"{counts.finished} of {counts.units} conversations finished → {folder}")
    if counts.failed:
        roles = ", ".join(f"{count} by the {role}" for role, count in report.last.failures.items())
        typer.echo(f"{counts.failed} failed ({roles}); repeat the command to retry", err=True)
        with RunStore.read(folder) as store:
            failures, listing = store.failures(), store.listing()
        place, last = failures[-1]
        typer.echo(f"for example {listing[place].artifact}: {one_line(last.line)}", err=True)
        unreachable = {failure.kind for _, failure in failures if failure.ended} == {"connection"}
    if report.halted is not None:
        typer.echo(halt_line(report.halted, report.message), err=True)
        return NO_ACCESS if report.halted == "failing" and unreachable else code_of_halt(report.halted)
    if report.unscored:
        what = counted(report.unscored, "conversation")
        typer.echo(f"{what} could not be scored in full; repeat the command to retry", err=True)
        return UNFINISHED
    return NO_ACCESS if unreachable else UNFINISHED if counts.failed else DONE


def halt_line(halt: str, message: str) -> str:
    """The reason for an early end, and how to resume."""
    if halt == "budget":
        return f"{one_line(message)}; repeat the command with a larger --budget to resume"
    reason = {"auth": "no access", "failing": "given up"}.get(halt, halt)
    return f"{reason}{f': {one_line(message)}' if message else ''}; repeat the command to resume"


def _print_summary(run: LaidOut, folder: Path) -> None:
    """Write the results of a simulation beside it and print them; for best-of-n conversations the paper's Table 3."""
    tell(summary_told(write_results(folder), run))
    if run.options.candidates is not None:
        from discover_lib.dataset.export import Source
        from discover_lib.dataset.lengths import table_3

        tell([Table(("candidates", ""), tuple(table_3(Source.of_run(folder).conversations).rows()))])


def print_results(folder: Path, leave_out: LeaveOut, *, sensitivity: bool) -> None:
    """Write the results of a run beside it and print them."""
    from discover_lib.metrics.satisfaction import request_named
    from discover_lib.runs import evaluation

    found = evaluation.write_evaluation(folder, leave_out)
    tell(results_told(found.scopes, found.configuration["rules"]["name"], leave_out, found.ceilings))
    typer.echo(f"final request: {request_named(found.configuration.get('final_request'), 'another')}")
    written = [evaluation.RESULTS_FILE, evaluation.SCORES_FILE]
    if sensitivity:
        tell(sensitivity_told(evaluation.write_sensitivity(folder)))
        written.append(evaluation.SENSITIVITY_FILE)
    typer.echo(f"results → {', '.join(str(folder / name) for name in written)}")


# -- before a run -----------------------------------------------------------------------------------------------------


@also(each for each in parameters_of(laid_out) if each.kind is each.KEYWORD_ONLY)
def plan(
    how: Access,
    tuning: Tuning,
    planned_for: Annotated[
        Kind,
        typer.Option("--for", help="Command to plan. Omitted options use the defaults of that command."),
    ] = "simulate",
    assistant: list[str] = [],  # noqa: B006
    builder: str | None = None,
    **asked: Any,
) -> None:
    """Estimate calls, tokens and cost of a run before anything is spent."""
    from discover_lib.runs.plan import plan_run

    run = laid_out(planned_for, tuning, assistant=assistant, **asked)
    _print_notes(caveats(run))
    tell(plan_told(plan_run(run, settings=how.settings, builder=builder)))


# -- trees ------------------------------------------------------------------------------------------------------------


def build(
    how: Access,
    tuning: Tuning,
    files: Annotated[list[Path], typer.Argument(help="Artifact files.")],
    artifact_type: Annotated[
        str, typer.Option("--type", metavar="TEXT", help="Artifact type, such as 'svg drawing' or 'short story'.")
    ],
    engine: Annotated[str, typer.Option(help="Builder of the trees: miniature or a LiteLLM model.")] = MINIATURE,
    out: Annotated[Path | None, typer.Option(help="Folder for the trees (JSON).")] = None,
    prompts: Path | None = None,
    budget: Dollars = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Number of artifacts that a model works on at a time.")] = 8,
) -> None:
    """Build one intent tree (JSON) per artifact file, and skip trees that exist."""
    from discover_lib.runs.building import BuildOptions, build_files, distinct

    folder = writable(out or outputs_folder() / "trees")
    done: list[BuiltFile] = []

    def on_built(built: BuiltFile) -> None:
        done.append(built)
        for line in built_lines(built):
            typer.echo(line)

    with progress("trees") as draw:
        report = build_files(
            files,
            folder,
            BuildOptions(artifact_type, engine, prompts, tuning.role_options),
            settings=how.settings,
            budget_dollars=budget,
            concurrency=concurrency,
            on_built=on_built,
            on_ask=lambda source, stage: draw(len(done), len(files), f"{source.stem}: {stage}"),
        )
    if report.spent is not None and report.spent.calls:
        typer.echo(f"paid so far for the folder {folder}: {cost_line(report.spent)}\n{report.outcomes.line}")
    for failure in report.failures:
        typer.echo(f"discover: {one_line(failure)}", err=True)
    typer.echo(f"{len(report.built)} of {counted(len(distinct(files)), 'artifact')} built → {folder}")
    if report.halted is not None:
        typer.echo(halt_line(report.halted, report.message), err=True)
    elif report.built:
        typer.echo(f"simulate them with: {next_command(folder, engine)}")
    raise typer.Exit(code_of_build(report))


def built_lines(built: BuiltFile) -> Iterator[str]:
    """A tree in words: size, outline with the evidence for each intent, first message."""
    tree = built.tree
    shape = f"{counted(len(tree), 'intent')} in {counted(len(tree.roots), 'tree')}"
    size = f"{shape}, {percent(built.ceiling)} within reach of five perfect turns"
    if built.existing:
        yield f"{built.source}: {size} → {built.target} (there already)"
        return
    yield f"{built.source}: {size} → {built.target}"
    yield from tree_lines(tree, {each.text: each.reason for each in built.recognised})
    yield f"  user: {tree.initial_request}"
    yield from (f"  note: {note}" for note in built.notes)


def next_command(folder: Path, engine: str) -> str:
    """A simulation with the trees of a folder, as a shell reads it."""
    who = ["--assistant", "adaptive"] if engine == MINIATURE else ["--assistant", engine, "--engine", engine]
    run = folder.with_name(f"{folder.name}-run")
    trees = len(tree_files(folder))
    all_of_them = ["--artifacts", str(trees)] if trees > RunOptions.artifacts else []
    return shlex.join(["discover", "simulate", "--trees", str(folder), "--run", str(run), *all_of_them, *who])


def code_of_build(report: BuildReport) -> int:
    """The exit code: 2 for an unreadable file, 4 if no model answered, 1 for other failures."""
    if report.halted is not None:
        return code_of_halt(report.halted)
    if "file" in report.kinds:
        return USAGE_ERROR
    return NO_ACCESS if report.kinds == {"connection"} else UNFINISHED if report.failures else DONE


# -- this machine -----------------------------------------------------------------------------------------------------


def doctor(
    how: Server,
    tuning: Tuning,
    assistant: Annotated[str | None, typer.Option(help="Assistant to check: a local or a LiteLLM model.")] = None,
    backend: str = "auto",
    engine: str = MINIATURE,
    judge: str | None = None,
    voice: str | None = None,
) -> None:
    """Check hardware, packages and API keys, and whether the selected roles can work.

    Every named language model is asked for one word, with the options of its role.
    """
    from discover_lib.runs.doctor import Line, examine
    from discover_lib.train.backend import choose_backend

    options = tuning.role_options
    options.check_names([assistant] if assistant else ())
    roles = {role: who for role, who in (("judge", judge), ("voice", voice), ("assistant", assistant)) if who}
    try:
        trainer = Line("backend", choose_backend(backend).line)
    except DiscoverError as error:
        trainer = Line("backend", str(error), works=backend == "auto")  # without libraries all but training works
    findings = [*examine(engine, roles=roles, settings=how.settings, options=options), trainer]
    marks = {(False, True): Mark("✗", "bad"), (True, True): Mark("✓", "good"), (True, False): Mark("·")}
    rows = [(marks[each.works, each.present], each.role, each.text) for each in findings]
    tell([Table(("", "checked", "found"), tuple(rows))])
    if not all(each.works for each in findings):
        raise typer.Exit(UNFINISHED)


def serve(
    domain: Annotated[str, typer.Option(help="Domain of the generated artifacts.")] = "svg_drawing",
    split: SplitName = "train",
    artifacts: Annotated[int, typer.Option(min=1)] = 100,
    turns: Turns = MAX_TURNS,
    engine: str = MINIATURE,
    rules: RulesName = "paper",
    sessions: Annotated[int, typer.Option(min=1, help="Maximum number of conversations at a time.")] = 64,
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8000,
) -> None:
    """Serve simulated users to other trainers on localhost, over the OpenEnv protocol."""
    from discover_lib.cli.localhost import HOST, OwnPages, choose_port
    from discover_lib.doors import openenv

    openenv.serve(
        HOST,
        choose_port(port),
        sessions,
        OwnPages,
        domain=domain,
        split=split,
        artifacts=artifacts,
        turns=turns,
        engine=engine,
        rules=Rules.named(rules),
    )
