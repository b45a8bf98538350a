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
    HowFlags,
    ModelFlags,
    code_of_halt,
    progress,
    with_flags,
    writable,
)
from discover_lib.cli.show import halt_line, tree_lines
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.intervals import percent
from discover_lib.runs.artifact_files import tree_files
from discover_lib.runs.building import BuildOptions, BuildReport, BuiltFile, build_files, distinct
from discover_lib.runs.options import RunOptions
from discover_lib.runs.outcomes import cost_line


@with_flags(HowFlags, ModelFlags, without={"concurrency", "requests_per_minute", "tokens_per_minute", "on"})
def build(
    how: HowFlags,
    models: ModelFlags,
    files: Annotated[list[Path], typer.Argument(help="Artifact files.")],
    artifact_type: Annotated[
        str, typer.Option("--type", metavar="TEXT", help="Artifact type, such as 'svg drawing' or 'short story'.")
    ],
    engine: Annotated[str, typer.Option(help="Builder of the trees: miniature or a LiteLLM model.")] = MINIATURE,
    out: Annotated[Path | None, typer.Option(help="Folder for the trees (JSON).")] = None,
    prompts: Path | None = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Number of artifacts that a model builds at a time.")] = 8,
) -> None:
    """Build one intent tree (JSON) per artifact file, and skip trees that exist."""
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
            BuildOptions(artifact_type, engine, prompts, models.role_options),
            settings=how.client_settings(),
            budget_dollars=how.budget,
            concurrency=concurrency,
            on_built=on_built,
            on_ask=lambda source, stage: draw(len(done), len(files), f"{source.stem}: {stage}"),
        )
    simulation = next_command(folder, engine, _shared(how, models, prompts))
    raise typer.Exit(report_build(report, folder, len(distinct(files)), simulation))


def _shared(how: HowFlags, models: ModelFlags, prompts: Path | None) -> list[str]:
    """The options of a build that a simulation with its trees needs as well."""
    one = {"key_variable": how.key_variable, "prices": how.prices, "prompts": prompts}
    several = {"api_base": how.api_base or [], **vars(models)} | {name: [each] for name, each in one.items() if each}
    return [
        part
        for name, values in several.items()
        for value in values
        if not str(value).startswith("builder=")
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]


def next_command(folder: Path, engine: str, shared: Sequence[str]) -> str:
    """A simulation with the trees of a folder, as a shell reads it; `shared`: options of the build."""
    who = ["--assistant", "adaptive"] if engine == MINIATURE else ["--assistant", engine, "--engine", engine]
    run = folder.with_name(f"{folder.name}-run")
    trees = len(tree_files(folder))
    all_of_them = ["--artifacts", str(trees)] if trees > RunOptions.artifacts else []
    return shlex.join(["discover", "simulate", "--trees", str(folder), "--run", str(run), *all_of_them, *who, *shared])


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
