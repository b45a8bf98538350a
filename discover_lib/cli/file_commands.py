"""`discover import`, `export` and `show`: conversations and training rows in files, and on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, write_lines
from discover_lib.base.ids import FORM, SCHEME, DiscoverId, IdError
from discover_lib.base.tokens import token_count
from discover_lib.base.words import counted
from discover_lib.cli.common import OWN_PANEL, writable
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.dataset.authors_format import (
    NO_VERDICTS,
    NOT_HELD,
    export_runs,
    import_run,
    row_set_of,
    rows_of_conversation,
)
from discover_lib.dataset.export import Filters, RowSet, Source, make_rows, write_hub_folder, write_rows, write_table
from discover_lib.dataset.formats import write_jsonl
from discover_lib.dataset.inspect_log import import_log, write_log
from discover_lib.dataset.rows import GRPO_TAU, Kind, RowOptions
from discover_lib.metrics.discovery import why_undefined
from discover_lib.metrics.results import met_leaves
from discover_lib.metrics.satisfaction import counted_leaves
from discover_lib.metrics.scores import EMERGING, scores_of
from discover_lib.runs.options import write_results
from discover_lib.runs.resolve import BY_LABEL, Resolved, id_of, resolve
from discover_lib.runs.store import FILE, RunStore, id_of_run

# -- import and export ------------------------------------------------------------------------------------------------


Foreign = Literal["authors", "authors-rows", "inspect"]
OWN_NAMES = {"inspect": "conversations.eval", "authors-rows": "rows.jsonl"}  # format → name of its file


def import_files(
    path: Annotated[Path, typer.Argument(help="File or output folder of the authors' code, or an Inspect log.")],
    form: Annotated[Foreign, typer.Option("--format", help="Format of the file.")] = "authors",
    run: Annotated[Path | None, typer.Option(help="Folder for the new run.")] = None,
) -> None:
    """Import conversations from the authors' code or from Inspect into a run, to browse and export them."""
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
        float, typer.Option(min=0, help="Drop pairs at least this similar; 1 drops only identical pairs.")
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
    """Make a folder to write into.  An error removes a new, empty folder."""
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
        talks, written, note = store.conversations(), f"{store.counts().finished} conversations", ""
        path = folder / OWN_NAMES.get(form, f"conversations.{form}")
        if form == "authors":
            path, written = folder, f"{export_runs(folder, talks)} run files"
            note = f"; their format cannot hold {'; '.join(NOT_HELD)}"
        elif form == "hub":
            path, _ = folder, write_hub_folder(folder, store)
        elif form == "inspect":
            write_log(path, store)
        elif form == "authors-rows":
            write_lines(path, (row for talk in talks for row in rows_of_conversation(talk)))
        elif form == "parquet":
            write_table(path, talks)
        else:
            write_jsonl(path, talks)
        typer.echo(f"{written} → {path}{note}")


# -- show -------------------------------------------------------------------------------------------------------------


SHOWN = 50  # conversations listed before the rest is counted


def show_id(
    id: Annotated[
        str,
        typer.Argument(
            help=f"ID in the form {FORM}, where * means all values of a part; or a run folder.", metavar="ID|RUN"
        ),
    ],
    of_run: Annotated[
        list[str] | None,
        typer.Argument(help="Artifact, assistants and trial of the run.", metavar="[ARTIFACT [ASSISTANTS] TRIAL]"),
    ] = None,
) -> None:
    """Print the conversations behind a number, one conversation, or one turn, by its discover:// ID."""
    wanted = _id_in(id, of_run or [])
    stored = resolve(wanted)
    if stored.turn and not wanted.measure:
        _show_turn(stored, stored.turn)
    elif stored.conversation and not wanted.measure:
        _show_conversation(stored)
    else:
        _show_values(stored)


def _id_in(first: str, rest: list[str]) -> DiscoverId:
    """The id in the words of the command.

    Raises:
        IdError: the words contain no id.
    """
    if first.startswith(SCHEME) and not rest:
        return DiscoverId.parse(first)
    run = id_of_run(Path(first)) if (Path(first) / FILE).is_file() else DiscoverId(first)
    if not rest:
        return run
    artifact, *assistants, trial = rest if len(rest) in (2, 3) else ("", "")
    if first.startswith(SCHEME) or not trial.isdecimal():
        raise IdError(f"invalid {' '.join([first, *rest])!r}; write {FORM}, or RUN ARTIFACT [ASSISTANTS] TRIAL")
    return replace(run, artifact=artifact, assistants="".join(assistants) or None, trial=int(trial))


def _show_values(stored: Resolved) -> None:
    for each, value in list(stored.values.items())[:SHOWN]:
        typer.echo(f"{_short(value)}\t{each}".lstrip("\t"))
    if (rest := len(stored.values) - SHOWN) > 0:
        typer.echo(f"and {rest:,} more")
    typer.echo(f"{counted(len(stored.values), 'value')} of {stored.id.measure or 'conversations'} in {stored.folder}")
    measure = BY_LABEL.get(stored.id.measure)
    for line in _made_of(stored):
        typer.echo(line)
    if stored.comparison and measure:
        typer.echo(stored.comparison.sentence(measure.label, measure.worth_seeing, measure.shown))
    elif stored.estimate:
        typer.echo(f"mean over artifacts: {stored.estimate} (n = {stored.estimate.n_artifacts})")


def _made_of(stored: Resolved) -> Iterator[str]:
    """The parts of a measure of one conversation, in lines."""
    wanted, talk, pool = stored.id, stored.conversation, stored.pool
    if talk is None or pool is None or wanted.against:
        return
    name = BY_LABEL[wanted.measure].name if wanted.measure in BY_LABEL else wanted.measure
    own = next(each for each in pool.scores if each.place == stored.places[0])
    user = {who: row[own.unit] for who, row in pool.by_user.items() if own.unit in row}
    if name == "proportion":
        counts = Counter(own.levels(wanted.turn).values())
        whole, half = counts[1.0], counts[EMERGING]
        yield f"found = ({whole} discovered + {EMERGING:g} × {half} emerging) / {len(own.moves)} hidden"
    elif name == "discovery":
        levels = {who: each.levels() for who, each in user.items()}
        disputed = [intent for intent in own.moves if len({each[intent] for each in levels.values()}) > 1]
        if disputed:
            yield f"{counted(len(disputed), 'intent')} in dispute: {', '.join(user)} did not all find the same"
        else:
            yield f"eq. 4: not defined: {why_undefined(len(user), 1, 0) or 'all assistants found the same'}"
        found = {1.0: "discovered", EMERGING: "emerging"}
        for intent in disputed:
            yield f"{found.get(levels[own.assistant][intent], 'not found')}\t{_named(talk, intent)}"
    elif name == "satisfaction" and own.leaves and all(each.leaves for each in user.values()):
        met = {who: met_leaves(each) for who, each in user.items()}
        counting = counted_leaves(met, own.unit, pool.leave_out)
        for leaf, score in own.leaves.items():
            said = ("met" if met[own.assistant][leaf] else "not met") if leaf in counting else "left out"
            yield f"{said}\t{_named(talk, leaf)}: {score:g} of 5"
        if len(user) > 1:
            yield f"left out: leaves that {pool.leave_out} of {', '.join(user)} satisfied"
    elif name in ("reward", "tokens") and not wanted.turn:
        for turn, value in enumerate(own.rewards if name == "reward" else own.tokens, 1):
            at = replace(id_of(DiscoverId(wanted.run), own), turn=turn, measure=name)
            yield f"{_short(value) or 'unscored'}\t{at}"


def _short(value: object) -> str:
    """A value with at most three digits after the point; "" for None."""
    return "" if value is None else f"{round(value, 3):g}" if isinstance(value, float) else str(value)


def _show_conversation(stored: Resolved) -> None:
    from discover_lib.cli.show import ending_line
    from discover_lib.metrics.transcript import transcript
    from discover_lib.runs.outcomes import refusals, refused_in

    talk = stored.conversation
    assert talk is not None
    with RunStore.read(stored.folder) as store:
        assessment = store.assessment(stored.places[0])
        refused = refused_in(talk, refusals(store))
    final = assessment["final"]["reply"]["text"] if assessment and assessment["final"] else None
    for line in transcript(talk, final):
        typer.echo(line)
    for each in refused:
        typer.echo(f"the user's message was asked for again: {each.line}")
    typer.echo(f"\n{ending_line(talk)}")
    levels = scores_of(talk, 0).levels()
    at = Counter(levels.values())
    typer.echo(f"{at[1.0]} discovered, {at[EMERGING]} emerging of {len(levels)}")


def _show_turn(stored: Resolved, turn: Turn) -> None:
    """The messages, verdicts, transitions, and the reward; only those of an intent if the id names one."""
    from discover_lib.metrics.transcript import in_words, level_name, reward_line

    talk, candidate, wanted = stored.conversation, turn.candidate, stored.id.intent
    assert talk is not None
    if wanted is None:
        typer.echo(f"assistant\n{turn.reply.text}\n\nuser\n{turn.user_message or '(nothing more)'}\n")
    for verdict in candidate.evaluation.verdicts if candidate.evaluation else ():
        if wanted in (None, verdict.intent_id):
            said = "engaged" if verdict.engaged else f"near misses: {', '.join(verdict.near_misses) or 'none'}"
            typer.echo(
                f"verdict on {verdict.intent_id} ({talk.tree.text(verdict.intent_id)}): {said}. {verdict.reason}"
            )
    for each in candidate.transitions:
        if wanted in (None, each.intent_id):
            typer.echo(f"{each.intent_id}: {in_words(each)}")
    if wanted is not None:
        before, after = (level_name(state[wanted]) for state in (turn.before, turn.after))
        typer.echo(f"{_named(talk, wanted)}: {before} before, {after} after")
    else:
        typer.echo(reward_line(turn))


def _named(talk: Conversation, intent: str) -> str:
    return f"{intent} ({talk.tree.text(intent)})"
