"""`discover study`: a study with people in one file, from its check to its report."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.cli.common import UNFINISHED, OneValueCommand, command_from, console, example_of
from discover_lib.engines.manner import PAPER, manner_named
from discover_lib.engines.spec import MINIATURE, EngineSpec, RoleEngines
from discover_lib.metrics.intervals import percent
from discover_lib.tasks.playing import Access, Server
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
    typer.echo(f"{read.title}: version {read.version}, {read.design}, {read.participants} participants")
    typer.echo(f"blocks of {len(read.cells)}: {'; '.join(' '.join((c.task, *c.arms)) for c in read.cells)}")
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
    from discover_lib.base.files import graceful_stop
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


@command("data/study/paper.yaml --n 12")
def bots(
    file: File,
    n: Annotated[int, typer.Option(min=1, max=10_000, help="Number of simulated participants.")] = 12,
    folder: Annotated[
        Path | None, typer.Option(help="Folder for their answers (default: outputs/study-NAME-bots).")
    ] = None,
    seed: int = 0,
    manner: str = PAPER,
) -> None:
    """Send simulated participants through the pages of the study, into a folder of their own."""
    from workbench.serve import serving
    from workbench.study.bots import quick, run_bots
    from workbench.study.design import load_study
    from workbench.study.desk import Desk
    from workbench.study.study_report import flow_lines
    from workbench.study.study_server import StudyServer

    typed, read = manner_named(manner), quick(load_study(file))
    desk = Desk.open(read, folder or outputs_folder() / f"study-{read.name}-bots")
    try:
        with serving(StudyServer(desk).app) as url:
            ended = run_bots(url, read, n, seed, manner=typed)
    finally:
        desk.close()
    _say(f"{count} {end}" for end, count in sorted(ended.items()))
    _say(flow_lines(desk))
    typer.echo(f"answers: {desk.folder}")
    if set(ended) != {"done"}:
        raise typer.Exit(UNFINISHED)


@command("outputs/study-paper --personal redact")
def export(
    folder: Store,
    how: Server,
    engine: Annotated[str, typer.Option(help="Model that judges the conversations: miniature or a LiteLLM model.")] = (
        MINIATURE
    ),
    personal: Annotated[
        Literal["refuse", "redact", "keep"], typer.Option(help="Action when a text looks like personal data.")
    ] = "refuse",
) -> None:
    """Export tables with a codebook, and the conversations as a run."""
    from discover_lib.engines.llm.calls.client import LLMClient
    from workbench.study.desk import RUN, Desk
    from workbench.study.study_report import export_study

    desk = Desk.read(folder)
    client = LLMClient(how.settings) if engine != MINIATURE else None
    with closing(client) if client else nullcontext():
        engines = RoleEngines(EngineSpec(builder=engine, judge=engine), client)
        exported = export_study(desk, engines, engine, personal)
    typer.echo(f"{exported.participants} participants → {exported.folder}")
    typer.echo(f"{exported.written.conversations} conversations as a run → {folder / RUN}")
    for name, why in exported.written.without_tree.items():
        typer.echo(f"no tree: {name}: {why}", err=True)


@command("data/study/paper.yaml --effect 0.5")
def power(
    file: File,
    effect: Annotated[float, typer.Option(help="Difference to detect, in points.")] = 1.0,
    sd: Annotated[
        float | None, typer.Option(help="Standard deviation of one condition's ratings, in points (default: 2).")
    ] = None,
    correlation: Annotated[
        float, typer.Option(help="Correlation between one participant's two ratings (paired design).")
    ] = 0.5,
    wanted: Annotated[
        float, typer.Option("--power", min=0.05, max=0.99, help="Probability of detecting the difference.")
    ] = 0.8,
    pilot: Annotated[Path | None, typer.Option(help="Take the standard deviation from this study store.")] = None,
) -> None:
    """Estimate the number of participants."""
    from discover_lib.metrics.power import MOST, Design, Planned
    from workbench.study.design import load_study
    from workbench.study.desk import Desk
    from workbench.study.study_report import ASSUMED_SD, finished, spread

    if sd is not None and pilot is not None:
        raise DiscoverError("choose one source of the standard deviation: --sd X or --pilot FOLDER")
    read = load_study(file)
    if pilot is not None:
        desk = Desk.read(pilot)
        sd = spread(desk)
        if any(row.progress.simulated for row in finished(desk)):
            typer.echo(
                f"{pilot}: participants are simulated, so their ratings may vary less or more than those of people",
                err=True,
            )
    try:
        plans = {
            design: Planned(design, effect, ASSUMED_SD if sd is None else sd, correlation, len(read.conditions))
            for design in get_args(Design)
        }
    except ValueError as error:
        raise DiscoverError(str(error)) from None
    for design, planned in plans.items():
        people, mark = planned.people(wanted), " (this study)" if design == read.design else ""
        if people is None:
            typer.echo(f"{design}{mark}: more than {MOST:,} people are needed to find {effect:g} points")
            continue
        typer.echo(
            f"{design}{mark}: {people} people find {effect:g} points with {percent(wanted)}, sd {planned.sd:.2f}"
        )
    planned = plans[read.design]
    detectable = planned.detectable(read.participants, wanted)
    typer.echo(f"the {read.participants} planned find {detectable:.2f} points with {percent(wanted)}")
    if planned.pairs > 1:
        typer.echo(
            f"all pairs of {planned.conditions} conditions are compared, each at 5% / {planned.pairs} (Bonferroni; "
            "Holm finds at least as much); between: equal groups; paired: each participant meets two"
        )


@command("outputs/study-paper")
def report(
    folder: Store,
    unblind: Annotated[
        bool, typer.Option("--unblind", help="Show outcomes before the planned number is reached.")
    ] = False,
    beside: Annotated[Path | None, typer.Option(help="Compare with the simulated participants in this folder.")] = None,
) -> None:
    """Report the progress of participants and, once enough have finished, the ratings by condition."""
    from workbench.study import study_report as told
    from workbench.study.desk import Desk

    desk = Desk.read(folder)
    sides = told.side_by_side(desk, Desk.read(beside)) if beside is not None else []
    _say(told.flow_lines(desk))
    done = len({row.code for row in told.finished(desk)})
    if done < desk.study.participants and not unblind:
        typer.echo(
            f"outcomes are shown at {desk.study.participants}; --unblind shows them now (mention it in your report)"
        )
        return
    _say([*told.attrition_lines(desk), *told.quality_lines(desk), *told.outcome_lines(desk)])
    if sides:
        Table(told.SIDES, tuple(sides)).print(console())
        typer.echo("means with 95% intervals; simulated participants rate their discovered share, with noise")


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)
