"""`discover build`: build trees, and print each tree and the sum."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from discover_lib.base.files import outputs_folder
from discover_lib.base.words import counted
from discover_lib.cli.common import (
    DONE,
    NO_ACCESS,
    UNFINISHED,
    USAGE_ERROR,
    Dollars,
    ModelFlags,
    code_of,
    code_of_halt,
    progress,
    with_flags,
    writable,
)
from discover_lib.cli.show import halt_line, tree_lines
from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.engines.llm.calls.exchange import LLMError
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.intervals import percent
from discover_lib.runs.artifact_files import tree_files
from discover_lib.runs.building import BuildOptions, BuildReport, BuiltFile, build_files, distinct
from discover_lib.runs.options import RunOptions
from discover_lib.runs.outcomes import cost_line
from discover_lib.tasks.playing import client_settings


@with_flags(ModelFlags)
def build(
    flags: ModelFlags,
    files: Annotated[list[Path], typer.Argument(help="Artifact files.")],
    artifact_type: Annotated[
        str, typer.Option("--type", metavar="TEXT", help="Artifact type, such as 'svg drawing' or 'short story'.")
    ],
    engine: Annotated[str, typer.Option(help="Builder of the trees: miniature or a LiteLLM model.")] = MINIATURE,
    out: Annotated[Path | None, typer.Option(help="Folder for the trees (JSON).")] = None,
    prompts: Path | None = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Number of artifacts that a model builds at a time.")] = 8,
    budget: Dollars = None,
    prices: Path | None = None,
    api_base: list[str] | None = None,
    key_variable: str | None = None,
) -> None:
    """Build one intent tree (JSON) per artifact file, and skip trees that exist."""
    folder = writable(out or outputs_folder() / "trees")
    settings = client_settings(api_base, prices, key_variable=key_variable)
    options = BuildOptions(artifact_type, engine, prompts, flags.role_options)
    asked = {"--api-base": api_base, "--key-variable": [key_variable], "--prices": [prices], "--prompts": [prompts]}
    asked |= {f"--{name.replace('_', '-')}": values for name, values in vars(flags).items()}
    shared = [
        part
        for name, values in asked.items()
        for value in values or ()
        if value is not None and not str(value).startswith("builder=")
        for part in (name, str(value))
    ]
    code = build_and_tell(files, folder, options, settings, budget, concurrency, shared)
    raise typer.Exit(code)


def next_command(folder: Path, engine: str, shared: Sequence[str]) -> str:
    """A simulation with the trees of a folder, as a shell reads it.

    Args:
        shared: options of the build that the simulation needs as well.
    """
    who = ["--assistant", "adaptive"] if engine == MINIATURE else ["--assistant", engine, "--engine", engine]
    run = folder.with_name(f"{folder.name}-run")
    trees = len(tree_files(folder))
    all_of_them = ["--artifacts", str(trees)] if trees > RunOptions.artifacts else []
    return shlex.join(["discover", "simulate", "--trees", str(folder), "--run", str(run), *all_of_them, *who, *shared])


def build_and_tell(
    files: Sequence[Path],
    folder: Path,
    options: BuildOptions,
    settings: ClientSettings,
    budget_dollars: float | None,
    concurrency: int,
    shared: Sequence[str] = (),
) -> int:
    """Build, print every finished tree and the sum at the end; returns the exit code."""
    done = 0
    try:
        with progress("trees") as draw:

            def on_built(built: BuiltFile) -> None:
                nonlocal done
                done += 1
                for line in built_lines(built):
                    typer.echo(line)

            report = build_files(
                files,
                folder,
                options,
                settings=settings,
                budget_dollars=budget_dollars,
                concurrency=concurrency,
                on_built=on_built,
                on_ask=lambda source, stage: draw(done, len(files), f"{source.stem}: {stage}"),
            )
    except LLMError as error:
        typer.echo(f"discover: {' '.join(str(error).split())}", err=True)
        return code_of(error)
    return report_build(report, folder, len(distinct(files)), next_command(folder, options.engine, shared))


def built_lines(built: BuiltFile) -> Iterator[str]:
    """A tree in words: size, outline with the evidence for each intent, first message, cost."""
    tree = built.tree
    shape = f"{counted(len(tree), 'intent')} in {counted(len(tree.roots), 'tree')}"
    size = f"{shape}, {percent(built.ceiling)} within reach of five perfect turns"
    if built.existing:
        yield f"{built.source}: {size} → {built.target} (there already)"
        return
    instead = " (in place of a tree of another text)" if built.replaced else ""
    yield f"{built.source}: {size} → {built.target}{instead}"
    yield from tree_lines(tree, {each.text: each.reason for each in built.recognised})
    yield f"  user: {tree.initial_request}"
    yield from (f"  note: {note}" for note in built.notes)
    if built.totals is not None:
        yield f"  {built.totals.line}"


def report_build(report: BuildReport, folder: Path, asked: int, then: str) -> int:
    """Print the end of a build of so many artifacts, and the command for `then`; returns the exit code."""
    if report.totals is not None:
        reach = sum(each.ceiling for each in report.built) / len(report.built)
        typer.echo(f"{counted(len(report.built), 'artifact')}: {report.totals.line}")
        typer.echo(f"{percent(reach)} of their hidden intents are within reach of five perfect turns")
    if report.spent is not None and report.spent.calls:
        typer.echo(f"paid so far for the folder {folder}: {cost_line(report.spent)}")
        typer.echo(report.outcomes.line)
    for failure in report.failures:
        typer.echo(f"discover: {' '.join(failure.split())}", err=True)
    if report.halted is not None or (report.failures and asked > 1):
        typer.echo(f"{len(report.built)} of {counted(asked, 'artifact')} built → {folder}")
    if report.built and report.halted is None:
        typer.echo(f"simulate them with: {then}")
    if report.halted is not None:
        typer.echo(halt_line(report.halted, report.message), err=True)
        return code_of_halt(report.halted)
    if "file" in report.kinds:
        return USAGE_ERROR
    return NO_ACCESS if report.kinds == {"connection"} else UNFINISHED if report.failures else DONE
