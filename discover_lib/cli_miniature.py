"""`discover miniature`: the whole paper, one command, one table and one page at the end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from discover_lib.paths import outputs_folder


class MiniatureUsage(ValueError):
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

    from discover_lib.miniature.lexicon import DOMAINS
    from discover_lib.paper_in_miniature import Paper, PaperError, PaperOptions, PaperStopped

    missing = [name for name in ("torch", "transformers", "trl", "peft") if importlib.util.find_spec(name) is None]
    if missing:
        raise MiniatureUsage(f"training needs {', '.join(missing)}: install them with 'make train'")
    unknown = [name for name in domain if name not in DOMAINS]
    if unknown:
        raise MiniatureUsage(f"unknown domain {unknown[0]!r}; the paper's are {', '.join(DOMAINS)}")
    domains = tuple(domain) or (DOMAINS[:1] if quick else DOMAINS)
    options = PaperOptions.small(seed, domains) if quick else PaperOptions(seed, domains)
    folder = run or outputs_folder() / (f"miniature-quick-{seed}" if quick else f"miniature-{seed}")
    with _stopping() as stop:
        paper = Paper(folder, options, typer.echo, stop, concurrency)
        try:
            paper.run()
        except PaperError as error:
            raise MiniatureUsage(str(error)) from None
        except PaperStopped:
            typer.echo(f"stopped; the same command goes on in {folder}")
            raise typer.Exit(130) from None
    _show(paper)


def _show(paper: object) -> None:
    """The tables on screen, and where the report is."""
    from rich.console import Console

    from discover_lib.cli_evaluate import print_results
    from discover_lib.comparison import results_by_scope
    from discover_lib.paper_in_miniature import Paper
    from discover_lib.report_page import write_report

    assert isinstance(paper, Paper)
    for part in ("evaluation", "generalisation"):
        if (paper.folder / part).exists():
            Console().print(f"\n[bold]{part}[/]")
            print_results(Console(), results_by_scope(paper.scores(paper.folder / part)), "paper", "none")
    seconds = paper.seconds()
    typer.echo(
        f"\n{sum(seconds.values()) / 60:.1f} minutes: " + ", ".join(f"{k} {v:.0f} s" for k, v in seconds.items())
    )
    typer.echo(f"the report: {write_report(paper.folder)}")


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """The first Ctrl-C asks for a clean end, the next one ends at once."""
    stop = threading.Event()

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
