"""`discover import` and `discover export`: conversations and training rows, from and to files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, write_lines
from discover_lib.base.tokens import token_count
from discover_lib.cli.common import writable
from discover_lib.cli.flags import OWN_PANEL
from discover_lib.dataset.authors_format import (
    NO_VERDICTS,
    NOT_HELD,
    export_runs,
    import_run,
    row_set_of,
    rows_of_conversation,
)
from discover_lib.dataset.export import RowSet, Source, make_rows, write_rows, write_table
from discover_lib.dataset.filters import Filters
from discover_lib.dataset.formats import write_jsonl
from discover_lib.dataset.hub import write_folder
from discover_lib.dataset.inspect_log import import_log, write_log
from discover_lib.dataset.rows import GRPO_TAU, Kind, RowOptions
from discover_lib.runs.options import write_results
from discover_lib.runs.store import RunStore

Foreign = Literal["authors", "authors-rows", "inspect"]


def import_files(
    path: Annotated[Path, typer.Argument(help="File or output folder of the authors' code, or an Inspect log.")],
    form: Annotated[Foreign, typer.Option("--format", help="Format of the file.")] = "authors",
    run: Annotated[Path | None, typer.Option(help="Folder for the new run.")] = None,
) -> None:
    """Import conversations of the authors' code or of Inspect into a run, to browse and export them."""
    if form == "authors-rows":
        _import_rows(path, run or outputs_folder() / f"rows-{path.stem}")
        return
    folder = run or outputs_folder() / f"imported-{path.stem}"
    if form == "inspect":
        with _made(folder):
            count = import_log(path, folder)
        typer.echo(f"{count} conversations → {folder} (those that others had are not judged)")
        return
    if path.suffix == ".eval":
        raise DiscoverError(f"{path}: looks like an Inspect log; use --format inspect")
    with _made(folder):
        imported = import_run(path, folder)
        write_results(folder)
    typer.echo(f"{imported.conversations} conversations → {folder} ({NO_VERDICTS})")
    for empty in imported.empty:
        typer.echo(f"left out: {empty}: ended in an error before the first message", err=True)


def export_files(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    form: Annotated[
        Literal["jsonl", "parquet", "authors", "authors-rows", "inspect", "hub", "sft", "preference", "prompt"],
        typer.Option(
            "--format",
            metavar="NAME",
            help="Conversations as jsonl, parquet, authors, authors-rows, inspect or hub; training rows as sft, "
            "preference or prompt.",
        ),
    ],
    out: Path,
    files: Annotated[
        Literal["jsonl", "parquet", "datasets"],
        typer.Option(metavar="NAME", help="File type of training rows: jsonl, parquet or datasets."),
    ] = "jsonl",
    system: str = "none",
    text: Annotated[
        Literal["content", "notation"],
        typer.Option(help="Assistant turns as text, or in the compact notation of the tiny model."),
    ] = "content",
    tau: Annotated[float | None, typer.Option(min=0, help="Free tokens τ of prompt rows' rewards (default 500).")] = (
        None
    ),
    min_margin: Annotated[float, typer.Option(min=0, help="Minimum reward difference of a pair.")] = 0.0,
    max_similarity: Annotated[
        float, typer.Option(min=0, help="Drop pairs at least this similar; 1 drops equal ones only.")
    ] = 0.9,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Maximum tokens of a row's longest text.", rich_help_panel=OWN_PANEL),
    ] = None,
    base: Annotated[str | None, typer.Option(help="Count tokens with the tokenizer of this local model.")] = None,
    leaks: Annotated[bool, typer.Option(help="Keep rows whose user message reveals an undiscovered intent.")] = False,
    test_share: Annotated[float, typer.Option(min=0, max=0.9, help="Share of artifacts in the test split.")] = 0.1,
    seed: int = 0,
) -> None:
    """Export a run's conversations, or training rows with a card that lists the omitted turns."""
    if form not in get_args(Kind):
        _export_conversations(run, form, out)
        return
    writable(out.resolve().parent)
    rows = make_rows(
        cast(Kind, form),
        [Source.of_run(run)],
        RowOptions(None, system, text, GRPO_TAU if tau is None else tau, token_count(base)),
        Filters(min_margin, max_similarity, max_tokens, leaks),
        shares={"train": 1 - test_share, "test": test_share} if test_share else {"train": 1.0},
        seed=seed,
    )
    write_rows(rows, out, files)
    _print_rows(rows, out)


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder to write into; one that was made and stayed empty is gone after an error."""
    had = folder.exists()
    writable(folder)
    try:
        yield
    except BaseException:
        if not had and not any(folder.iterdir()):
            folder.rmdir()
        raise


def _import_rows(path: Path, out: Path) -> None:
    writable(out.resolve().parent)
    rows = row_set_of(path)
    write_rows(rows, out)
    _print_rows(rows, out)


def _print_rows(rows: RowSet, out: Path) -> None:
    splits = ", ".join(f"{len(kept)} to {split}" for split, kept in rows.splits.items())
    dropped = ", ".join(f"{reason} {count}" for reason, count in rows.sieved.counts.items()) or "none"
    typer.echo(f"{len(rows.sieved.kept)} {rows.kind} rows of {rows.sieved.considered} ({splits}) → {out}")
    typer.echo(f"left out: {dropped}")
    if rows.length is not None:
        typer.echo(rows.length.sentence)


def _export_conversations(run: Path, form: str, folder: Path) -> None:
    with RunStore.read(run) as store, _made(folder):
        if form == "authors":
            count = export_runs(folder, store.conversations())
            typer.echo(f"{count} run files → {folder}; their format cannot hold {'; '.join(NOT_HELD)}")
            return
        if form == "hub":
            typer.echo(f"{write_folder(folder, store)} conversations → {folder}")
            return
        path = folder / f"conversations.{form}"
        if form == "inspect":
            path = folder / "conversations.eval"
            typer.echo(f"{write_log(path, store)} conversations → {path}")
            return
        if form == "authors-rows":
            path = folder / "rows.jsonl"
            write_lines(path, (row for talk in store.conversations() for row in rows_of_conversation(talk)))
        elif form == "parquet":
            write_table(path, store.conversations())
        else:
            write_jsonl(path, store.conversations())
        typer.echo(f"{store.counts().finished} conversations → {path}")
