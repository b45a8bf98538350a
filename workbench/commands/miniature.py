"""`discover miniature`: the whole paper, one command, one table and one page at the end."""

from __future__ import annotations

import importlib.util
import threading
from pathlib import Path
from typing import Annotated

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import graceful_stop, outputs_folder
from discover_lib.cli.common import STOPPED, console
from discover_lib.cli.show import print_results
from discover_lib.engines.miniature.lexicon import DOMAINS
from discover_lib.paper import Paper, PaperOptions, PaperStopped
from workbench.views.report import PaperRun, write_report


def miniature(
    run: Annotated[Path | None, typer.Option(help="Folder; the same command again resumes it.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    domain: Annotated[list[str], typer.Option(help="Train and evaluate in this domain only; repeatable.")] = [],  # noqa: B006
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: shows that everything works, not what it finds.")
    ] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Processes for what is simulated.")] = 2,
    taste: Annotated[
        int, typer.Option(min=0, help="Number of the taste that artifacts are drawn with; 0 draws all values evenly.")
    ] = 0,
) -> None:
    """The whole paper in miniature: data, trained variants, evaluation, generalisation, and a report."""
    missing = [name for name in ("torch", "transformers", "trl", "peft") if importlib.util.find_spec(name) is None]
    if missing:
        raise DiscoverError(f"training needs {', '.join(missing)}: install them with 'make train'")
    unknown = [name for name in domain if name not in DOMAINS]
    if unknown:
        raise DiscoverError(f"unknown domain {unknown[0]!r}; the paper's are {', '.join(DOMAINS)}")
    domains = tuple(domain) or (DOMAINS[:1] if quick else DOMAINS)
    folder = run or outputs_folder() / (f"miniature-quick-{seed}" if quick else f"miniature-{seed}")
    options = PaperOptions.small(seed, domains, taste) if quick else PaperOptions(seed, domains, taste=taste)
    stop = threading.Event()
    paper = Paper(folder, options, typer.echo, stop, concurrency)
    with graceful_stop(stop.set):
        try:
            paper.run()
        except PaperStopped:
            typer.echo(f"stopped; the same command resumes it in {folder}")
            raise typer.Exit(STOPPED) from None
    _show(paper)


def _show(paper: Paper) -> None:
    """The tables on screen, and where the report is."""
    run, screen = PaperRun.read(paper.folder), console()
    for name, part in (("evaluation", run.evaluation), ("generalisation", run.generalisation)):
        if part is not None:
            screen.print(f"\n[bold]{name}[/]", markup=True)
            print_results(screen, part.scopes, "paper", "none", part.ceilings, run.unchanged)
    for line in (*run.unchanged_lines, *filter(None, [run.user_blind_line])):
        typer.echo(line)
    seconds = paper.seconds()
    typer.echo(
        f"\n{sum(seconds.values()) / 60:.1f} minutes: " + ", ".join(f"{k} {v:.0f} s" for k, v in seconds.items())
    )
    typer.echo(f"the report: {write_report(paper.folder)}")
    if paper.options.quick:
        typer.echo("this was the quick size: it shows that every step works, and nothing about who is better")
