"""`discover import`, `export` and `show`: conversations and training rows in files, and on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, writable
from discover_lib.base.ids import FORM, SCHEME, DiscoverId
from discover_lib.cli.common import OWN_PANEL
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.dataset.authors_format import NO_VERDICTS, NOT_HELD, export_runs, import_run
from discover_lib.dataset.export import Filters, Source, make_rows, write_hub_folder, write_rows, write_table
from discover_lib.dataset.formats import write_jsonl
from discover_lib.dataset.inspect_log import import_log, write_log
from discover_lib.dataset.rows import GRPO_TAU, Kind, RowOptions, token_count
from discover_lib.metrics.transcript import in_words, reward_line, transcript
from discover_lib.runs.evaluation import Resolved, resolve
from discover_lib.runs.options import write_results
from discover_lib.runs.store import FILE, RunStore, id_of_run
from discover_lib.tasks.told import ending_line

# -- import and export ------------------------------------------------------------------------------------------------

OWN_NAMES = {  # format of conversations → the name of its file
    "jsonl": "conversations.jsonl",
    "parquet": "conversations.parquet",
    "inspect": "conversations.eval",
}


def import_files(
    path: Annotated[Path, typer.Argument(help="Output of the authors' code (a file or a folder), or our Inspect log.")],
    form: Annotated[Literal["authors", "inspect"], typer.Option("--format", help="Format of the file.")] = "authors",
    run: Annotated[Path | None, typer.Option(help="Folder for the new run.")] = None,
) -> None:
    """Import conversations from the authors' code or from Inspect into a run, to browse and export them."""
    folder = run or outputs_folder() / f"imported-{path.stem}"
    if form == "authors" and path.suffix == ".eval":
        raise DiscoverError(f"{path}: looks like an Inspect log; use --format inspect")
    if form == "inspect":
        typer.echo(f"{import_log(path, folder)} conversations → {folder}")
        return
    count, left_out = import_run(path, folder)
    write_results(folder)
    typer.echo(f"{count} conversations → {folder} ({NO_VERDICTS})")
    for empty in left_out:
        typer.echo(f"left out: {empty}: ended in an error before the first message", err=True)


def export_files(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    form: Annotated[
        Literal["jsonl", "parquet", "authors", "inspect", "hub", "sft", "preference", "prompt"],
        typer.Option(
            "--format",
            metavar="NAME",
            help="Conversations as jsonl, parquet, authors, inspect or hub; rows as sft, preference or prompt.",
        ),
    ],
    out: Path,
    system: str = "none",
    text: Annotated[
        Literal["content", "notation"],
        typer.Option(help="Assistant turns as text, or in the compact notation of the tiny model."),
    ] = "content",
    tau: Annotated[
        float | None, typer.Option(min=0, help="Tokens without a length penalty (τ), in prompt rows (default 500).")
    ] = None,
    min_margin: Annotated[float, typer.Option(min=0, help="Minimum reward difference of a pair.")] = 0.0,
    max_similarity: Annotated[
        float, typer.Option(min=0, help="Drop a pair if its replies are at least this similar; 1 means identical.")
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
        test_share=test_share,
        seed=seed,
    )
    write_rows(rows, out)
    splits = ", ".join(f"{len(kept)} to {split}" for split, kept in rows.splits.items())
    dropped = ", ".join(f"{reason} {count}" for reason, count in rows.sieved.counts.items()) or "none"
    typer.echo(f"{len(rows.sieved.kept)} {rows.kind} rows of {rows.sieved.considered} ({splits}) → {out}")
    typer.echo(f"left out: {dropped}")
    if rows.length is not None:
        typer.echo(rows.length)


def _export_conversations(run: Path, form: str, folder: Path) -> None:
    """Conversations as a file in a folder; the authors' format and the Hub's are the folder itself."""
    note = ""
    with RunStore.read(run) as store:
        writable(folder)
        talks = store.conversations()
        path = folder / OWN_NAMES.get(form, "")
        if form == "authors":
            export_runs(folder, talks)
            note = f"; their format cannot hold {'; '.join(NOT_HELD)}"
        elif form == "hub":
            write_hub_folder(folder, store)
        elif form == "inspect":
            write_log(path, store)
        elif form == "parquet":
            write_table(path, talks)
        else:
            write_jsonl(path, talks)
        typer.echo(f"{store.counts().finished} conversations → {path}{note}")


# -- show -------------------------------------------------------------------------------------------------------------


SHOWN = 50  # conversations listed before the rest is counted


def show_id(
    id: Annotated[
        str,
        typer.Argument(
            help=f"ID in the form {FORM}, where * means all values of a part; or a run folder.", metavar="ID|RUN"
        ),
    ],
) -> None:
    """Print all conversations of a run, or one conversation or one turn, by its discover:// ID."""
    if id.startswith(SCHEME):
        wanted = DiscoverId.parse(id)
    else:
        wanted = id_of_run(Path(id)) if (Path(id) / FILE).is_file() else DiscoverId(id)
    stored = resolve(wanted)
    if stored.conversation is None:
        lines = _listed(stored)
    elif stored.turn is None:
        lines = _conversation_told(stored, stored.conversation)
    else:
        lines = _turn_told(stored.conversation.tree, stored.turn)
    for line in lines:
        typer.echo(line)


def _listed(stored: Resolved) -> Iterator[str]:
    """The ids of several conversations."""
    yield from map(str, list(stored.places)[:SHOWN])
    if len(stored.places) > SHOWN:
        yield f"and {len(stored.places) - SHOWN:,} more"
    yield f"{len(stored.places):,} conversations in {stored.folder}"


def _conversation_told(stored: Resolved, talk: Conversation) -> Iterator[str]:
    """The transcript, and what was found."""
    with RunStore.read(stored.folder) as store:
        assessment = store.assessment(*stored.places.values())
    final = assessment["final"]["reply"]["text"] if assessment and assessment["final"] else None
    yield from transcript(talk, final)
    yield f"\n{ending_line(talk)}"


def _turn_told(tree: IntentTree, turn: Turn) -> Iterator[str]:
    """The messages, verdicts, transitions, and the reward."""
    yield f"assistant\n{turn.reply.text}\n\nuser\n{turn.user_message or '(nothing more)'}\n"
    for verdict in turn.candidate.evaluation.verdicts if turn.candidate.evaluation else ():
        said = "engaged" if verdict.engaged else f"near misses: {', '.join(verdict.near_misses) or 'none'}"
        yield f"verdict on {verdict.intent_id} ({tree.text(verdict.intent_id)}): {said}. {verdict.reason}"
    yield from (f"{each.intent_id}: {in_words(each)}" for each in turn.candidate.transitions)
    yield reward_line(turn)
