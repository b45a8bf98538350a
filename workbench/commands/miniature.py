"""`discover miniature`: the whole paper with one command, which prints a table and writes a report."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.cli.common import STOPPED, tell
from discover_lib.engines.miniature.lexicon import DOMAINS
from discover_lib.paper import Paper, PaperOptions, PaperStopped
from discover_lib.runs.work import graceful_stop
from discover_lib.tasks.told import results_told
from discover_lib.train.backend import missing_libraries
from workbench.views.paper_report import PaperRun, write_report


def miniature(
    run: Path | None = None,
    seed: int = 0,
    domain: Annotated[list[str], typer.Option(help="Train and evaluate in this domain only; repeatable.")] = [],  # noqa: B006
    quick: Annotated[
        bool, typer.Option("--quick", help="Use small sizes. They show that every step works, not who is better.")
    ] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Number of parallel processes for conversations.")] = 2,
    taste: Annotated[int, typer.Option(min=0, help="Seed of the value skew for generated artifacts. 0: uniform.")] = 0,
) -> None:
    """Reproduce the whole paper at small scale: data, training, evaluation, generalization and a report."""
    if missing := missing_libraries():
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
            typer.echo(f"stopped; repeat the command to resume in {folder}")
            raise typer.Exit(STOPPED) from None
    _show(paper)


def _show(paper: Paper) -> None:
    """Print the tables and the path of the report."""
    run = PaperRun.read(paper.folder)
    for name, part in (("evaluation", run.evaluation), ("generalization", run.generalisation)):
        if part is not None:
            typer.echo(f"\n{name}")
            tell(results_told(part.scopes, "paper", "none", part.ceilings))
    steps = ", ".join(f"{step} {seconds:.0f} s" for step, seconds in paper.seconds().items())
    lines = [*run.unchanged_lines, run.user_blind_line, "", f"time: {steps}", f"report: {write_report(paper.folder)}"]
    if paper.options.quick:
        lines.append("this was the quick size: it shows that every step works, not who is better")
    typer.echo("\n".join(lines))
