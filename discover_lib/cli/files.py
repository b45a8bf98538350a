"""`discover import` and `discover export`: conversations and training rows, from and to files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, write_lines
from discover_lib.base.glossary import meaning
from discover_lib.base.tokens import token_count
from discover_lib.cli.common import Seed, with_flags, writable
from discover_lib.dataset.authors import NO_VERDICTS, NOT_HELD, export_runs, import_run
from discover_lib.dataset.authors_rows import row_set_of, rows_of_conversation
from discover_lib.dataset.export import RowSet, Source, make_rows, write_rows, write_table
from discover_lib.dataset.filters import Filters
from discover_lib.dataset.formats import write_jsonl
from discover_lib.dataset.hub import write_folder
from discover_lib.dataset.inspect_log import import_log, write_log
from discover_lib.dataset.rows import GRPO_TAU, Kind, RowOptions
from discover_lib.runs.options import write_results
from discover_lib.runs.store import RunStore


class Foreign(StrEnum):
    """Formats of others that can be read: run files and dataset rows of the authors' code, logs of Inspect."""

    authors = "authors"
    authors_rows = "authors-rows"
    inspect = "inspect"


class Written(StrEnum):
    """What a run can be written as: its conversations (jsonl, parquet, authors, inspect, hub), or rows to train on."""

    jsonl = "jsonl"
    parquet = "parquet"
    authors = "authors"
    authors_rows = "authors-rows"
    inspect = "inspect"
    hub = "hub"
    sft = "sft"
    preference = "preference"
    prompt = "prompt"


ROWS: dict[Written, Kind] = {Written.sft: "sft", Written.preference: "preference", Written.prompt: "prompt"}


class RowFiles(StrEnum):
    """Kinds of files that training rows can be written in."""

    jsonl = "jsonl"
    parquet = "parquet"
    datasets = "datasets"


class TextForm(StrEnum):
    """What assistant turns of training rows hold."""

    content = "content"
    notation = "notation"


@dataclass(frozen=True, kw_only=True)
class ExportFlags:
    run: Annotated[Path, typer.Argument(help="Folder of a run.")]
    form: Annotated[Written, typer.Option("--format")]
    out: Annotated[Path, typer.Option(help="Folder for the files.")]
    files: Annotated[RowFiles, typer.Option(help="Of training rows: the kind of files.")] = RowFiles.jsonl
    system: Annotated[str, typer.Option(help="Of training rows: none, collaborative, or the text itself.")] = "none"
    text: Annotated[TextForm, typer.Option(help="Of training rows: notation is for a tiny model.")] = TextForm.content
    tau: Annotated[
        float | None, typer.Option(min=0, help="Of prompt rows: free tokens τ of their rewards (default 500).")
    ] = None
    min_margin: Annotated[float, typer.Option(min=0, help="Of pairs: minimum difference of rewards.")] = 0.0
    max_similarity: Annotated[
        float, typer.Option(min=0, help="Of pairs: drop those that are at least this similar (1: equal).")
    ] = 0.9
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Of training rows: maximum tokens of a row's longest text.")
    ] = None
    base: Annotated[str | None, typer.Option(help="Count with this base model's tokenizer, if it is here.")] = None
    leaks: Annotated[bool, typer.Option(help=f"Keep rows with a leak. {meaning('leak')}")] = False
    test_share: Annotated[float, typer.Option(min=0, max=0.9, help="Share of artifacts for the test split.")] = 0.1
    seed: Seed = 0


def import_files(
    path: Annotated[
        Path, typer.Argument(help="A run file or output folder of the authors' code, or a log of Inspect.")
    ],
    form: Annotated[Foreign, typer.Option("--format")] = Foreign.authors,
    run: Annotated[Path | None, typer.Option(help="Folder for the run that is made of it.")] = None,
) -> None:
    """Read conversations of others into a run, to browse and to export: of the authors' code, or of Inspect."""
    if form is Foreign.authors_rows:
        _import_rows(path, run or outputs_folder() / f"rows-{path.stem}")
        return
    folder = run or outputs_folder() / f"imported-{path.stem}"
    if form is Foreign.inspect:
        with _made(folder):
            count = import_log(path, folder)
        typer.echo(f"{count} conversations → {folder} (those that others had are not judged)")
        return
    if path.suffix == ".eval":
        raise DiscoverError(f"{path}: looks like an Inspect log: --format inspect")
    with _made(folder):
        imported = import_run(path, folder)
        write_results(folder)
    typer.echo(f"{imported.conversations} conversations → {folder} ({NO_VERDICTS})")
    for empty in imported.empty:
        typer.echo(f"left out: {empty}: ended in an error before the first message", err=True)


@with_flags(ExportFlags)
def export_files(flags: ExportFlags) -> None:
    """Write a run as files: its conversations, or rows to train on with a card that says what was left out."""
    if flags.form in ROWS:
        _export_rows(flags, ROWS[flags.form])
    else:
        _export_conversations(flags.run, flags.form, flags.out)


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


def _export_rows(flags: ExportFlags, kind: Kind) -> None:
    writable(flags.out.resolve().parent)
    tau = GRPO_TAU if flags.tau is None else flags.tau
    share = flags.test_share
    rows = make_rows(
        kind,
        [Source.of_run(flags.run)],
        RowOptions(None, flags.system, flags.text.value, tau, token_count(flags.base)),
        Filters(flags.min_margin, flags.max_similarity, flags.max_tokens, flags.leaks),
        shares={"train": 1 - share, "test": share} if share else {"train": 1.0},
        seed=flags.seed,
    )
    write_rows(rows, flags.out, flags.files.value)
    _print_rows(rows, flags.out)


def _print_rows(rows: RowSet, out: Path) -> None:
    splits = ", ".join(f"{len(kept)} to {split}" for split, kept in rows.splits.items())
    dropped = ", ".join(f"{reason} {count}" for reason, count in rows.sieved.counts.items()) or "none"
    typer.echo(f"{len(rows.sieved.kept)} {rows.kind} rows of {rows.sieved.considered} ({splits}) → {out}")
    typer.echo(f"left out: {dropped}")
    if rows.length is not None:
        typer.echo(rows.length.sentence)


def _export_conversations(run: Path, form: Written, folder: Path) -> None:
    with RunStore.read(run) as store, _made(folder):
        if form is Written.authors:
            count = export_runs(folder, store.conversations())
            typer.echo(f"{count} run files → {folder}; their format cannot hold {'; '.join(NOT_HELD)}")
            return
        if form is Written.hub:
            typer.echo(f"{write_folder(folder, store)} conversations → {folder}")
            return
        path = folder / f"conversations.{form.value}"
        if form is Written.inspect:
            path = folder / "conversations.eval"
            typer.echo(f"{write_log(path, store)} conversations → {path}")
            return
        if form is Written.authors_rows:
            path = folder / "rows.jsonl"
            write_lines(path, (row for talk in store.conversations() for row in rows_of_conversation(talk)))
        elif form is Written.parquet:
            write_table(path, store.conversations())
        else:
            write_jsonl(path, store.conversations())
        typer.echo(f"{store.counts().finished} conversations → {path}")
