"""`discover study`: a study with people in one file, from its check to its report."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.cli.common import OneValueCommand, command_from, console, example_of
from discover_lib.tasks.playing import Access
from discover_lib.tasks.waist import Table

study = typer.Typer(
    help="Run a user study with people, from one study file.",
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)
File = Annotated[Path, typer.Argument(help="Study file, such as data/study/paper.yaml.")]
Store = Annotated[Path, typer.Argument(help="Folder of a study that was served.")]


def command(example: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a command whose help ends with this example."""

    def registered(function: Callable[..., Any]) -> Callable[..., Any]:
        about = example_of(f"study {function.__name__} {example}")
        study.command(function.__name__, cls=OneValueCommand, epilog=about)(command_from(function))
        return function

    return registered


@command("data/study/paper.yaml --pack outputs/pack")
def check(
    file: File,
    pack: Annotated[Path | None, typer.Option(help="Write the documents for an ethics board to this folder.")] = None,
) -> None:
    """Check a study file, and write the documents for an ethics board."""
    from workbench.study.design import hints, load_study
    from workbench.study.study_report import write_pack

    read = load_study(file)
    typer.echo(f"{read.title}: version {read.version}, {read.participants} participants")
    typer.echo(f"blocks of {len(read.cells)}: {'; '.join(map(' '.join, read.cells))}")
    for hint in hints(read):
        typer.echo(f"check: {hint}")
    if pack is not None:
        typer.echo(f"written: {', '.join(str(path) for path in write_pack(read, pack))}")


@command("data/study/paper.yaml --port 2720")
def serve(
    file: File,
    how: Access,
    folder: Path | None = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the server.")] = 2720,
    host: Annotated[
        str, typer.Option(help="Address of the server. Any address other than the default requires a token.")
    ] = "127.0.0.1",
) -> None:
    """Serve the study. Repeat the command to resume after a stop."""
    from discover_lib.runs.work import graceful_stop
    from workbench.serve import serving
    from workbench.study.design import hints, load_study, unfilled
    from workbench.study.desk import Desk
    from workbench.study.study_server import Assistants, StudyServer

    read, settings = load_study(file), how.settings
    for hint in hints(read):
        typer.echo(f"check: {hint}", err=True)
    local = host in ("127.0.0.1", "localhost", "::1")
    if not local and (missing := unfilled(read)):
        raise DiscoverError(f"{file}: fill in these fields before you show the study to others: {'; '.join(missing)}")
    stop, desk = threading.Event(), Desk.open(read, folder)
    token = "" if local else desk.salted("token")[:24]
    try:
        with (
            serving(StudyServer(desk, Assistants(read, settings), token).app, host, port) as url,
            graceful_stop(stop.set),
        ):
            typer.echo(f"{url}/{f'?token={token}' if token else ''}")
            typer.echo(f"answers: {desk.folder}; press Ctrl-C to stop", err=True)
            while not stop.wait(60):
                desk.expire()
    finally:
        desk.close()


@command("outputs/study-paper --personal redact")
def export(
    folder: Store,
    personal: Annotated[
        Literal["refuse", "redact", "keep"], typer.Option(help="Action when a text looks like personal data.")
    ] = "refuse",
) -> None:
    """Export tables with a codebook."""
    from workbench.study.desk import EXPORTED, Desk
    from workbench.study.study_report import export_study

    typer.echo(f"{export_study(Desk.read(folder), personal)} participants → {folder / EXPORTED}")


@command("outputs/study-paper")
def report(
    folder: Store,
    unblind: Annotated[
        bool, typer.Option("--unblind", help="Show outcomes before the planned number is reached.")
    ] = False,
) -> None:
    """Report the progress of participants and, once enough have finished, the ratings by condition."""
    from workbench.study.desk import Desk
    from workbench.study.study_report import ATTRITION_COLUMNS, OUTCOMES, attrition, finished, outcomes

    desk = Desk.read(folder)
    done, planned = len(list(finished(desk))), desk.study.participants
    typer.echo(f"finished {done} of {planned} planned")
    Table(tuple(ATTRITION_COLUMNS), tuple(attrition(desk))).print(console())
    if done < planned and not unblind:
        typer.echo(f"outcomes are shown at {planned}; --unblind shows them now (mention it in your report)")
        return
    Table(OUTCOMES, tuple(outcomes(desk))).print(console())
    typer.echo("means and differences with 95% intervals; p by Holm over the pairs of a scale")
