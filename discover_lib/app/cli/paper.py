"""`discover miniature`: the whole paper, one command, one table and one page at the end."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.paths import outputs_folder
from discover_lib.base.stopping import asked_by_signals

if TYPE_CHECKING:
    from discover_lib.paper import Paper


class MiniatureUsage(DiscoverError):
    """What was asked for cannot be done; one line that says what to do."""


def miniature(
    run: Annotated[Path | None, typer.Option(help="Folder; the same command again goes on with it.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    domain: Annotated[list[str], typer.Option(help="Train and evaluate in this domain only; repeatable.")] = [],  # noqa: B006
    quick: Annotated[bool, typer.Option("--quick", help="Sizes that show that it works, and nothing else.")] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Processes for what is simulated.")] = 2,
) -> None:
    """The whole paper in miniature: data, trained variants, evaluation, generalisation, and a report."""
    import importlib.util

    from discover_lib.engines.miniature.lexicon import DOMAINS
    from discover_lib.paper import Paper, PaperError, PaperOptions, PaperStopped

    missing = [name for name in ("torch", "transformers", "trl", "peft") if importlib.util.find_spec(name) is None]
    if missing:
        raise MiniatureUsage(f"training needs {', '.join(missing)}: install them with 'make train'")
    unknown = [name for name in domain if name not in DOMAINS]
    if unknown:
        raise MiniatureUsage(f"unknown domain {unknown[0]!r}; the paper's are {', '.join(DOMAINS)}")
    domains = tuple(domain) or (DOMAINS[:1] if quick else DOMAINS)
    options = PaperOptions.small(seed, domains) if quick else PaperOptions(seed, domains)
    folder = run or outputs_folder() / (f"miniature-quick-{seed}" if quick else f"miniature-{seed}")
    stop = threading.Event()
    paper = Paper(folder, options, typer.echo, stop, concurrency)
    with asked_by_signals(stop.set):
        try:
            paper.run()
        except PaperError as error:
            raise MiniatureUsage(str(error)) from None
        except PaperStopped:
            typer.echo(f"stopped; the same command goes on in {folder}")
            raise typer.Exit(130) from None
    _show(paper)


def _show(paper: Paper) -> None:
    """The tables on screen, and where the report is."""
    from rich.console import Console

    from discover_lib.app.cli.evaluate import print_results
    from discover_lib.views.report import PaperRun, write_report

    run = PaperRun.read(paper.folder)
    for name, part in (("evaluation", run.evaluation), ("generalisation", run.generalisation)):
        if part is not None:
            Console().print(f"\n[bold]{name}[/]")
            print_results(Console(), part.scopes, "paper", "none")
    seconds = paper.seconds()
    typer.echo(
        f"\n{sum(seconds.values()) / 60:.1f} minutes: " + ", ".join(f"{k} {v:.0f} s" for k, v in seconds.items())
    )
    typer.echo(f"the report: {write_report(paper.folder)}")
