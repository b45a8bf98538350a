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
from discover_lib.base.files import outputs_folder, writable
from discover_lib.base.ids import FORM, SCHEME, DiscoverId, IdError
from discover_lib.base.tokens import token_count
from discover_lib.base.words import counted
from discover_lib.cli.common import OWN_PANEL
from discover_lib.core.conversation import Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.dataset.authors_format import NO_VERDICTS, NOT_HELD, export_runs, import_run
from discover_lib.dataset.export import Filters, Source, make_rows, write_hub_folder, write_rows, write_table
from discover_lib.dataset.formats import write_jsonl
from discover_lib.dataset.inspect_log import import_log, write_log
from discover_lib.dataset.rows import GRPO_TAU, Kind, RowOptions
from discover_lib.metrics.discovery import why_undefined
from discover_lib.metrics.results import Pool, met_leaves
from discover_lib.metrics.satisfaction import counted_leaves
from discover_lib.metrics.scores import EMERGING, scores_of
from discover_lib.metrics.transcript import in_words, level_name, reward_line, transcript
from discover_lib.runs.evaluation import BY_LABEL, Resolved, id_of, resolve
from discover_lib.runs.options import write_results
from discover_lib.runs.outcomes import refusals, refused_in
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
    with _made(folder):
        if form == "inspect":
            typer.echo(f"{import_log(path, folder)} conversations → {folder}")
            return
        imported = import_run(path, folder)
        write_results(folder)
    typer.echo(f"{imported.conversations} conversations → {folder} ({NO_VERDICTS})")
    for empty in imported.empty:
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
    files: Annotated[
        Literal["jsonl", "parquet"],
        typer.Option(metavar="NAME", help="File type of training rows: jsonl or parquet."),
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
        test_share=test_share,
        seed=seed,
    )
    write_rows(rows, out, files)
    splits = ", ".join(f"{len(kept)} to {split}" for split, kept in rows.splits.items())
    dropped = ", ".join(f"{reason} {count}" for reason, count in rows.sieved.counts.items()) or "none"
    typer.echo(f"{len(rows.sieved.kept)} {rows.kind} rows of {rows.sieved.considered} ({splits}) → {out}")
    typer.echo(f"left out: {dropped}")
    if rows.length is not None:
        typer.echo(rows.length.sentence)


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


def _export_conversations(run: Path, form: str, folder: Path) -> None:
    """Conversations as a file in a folder; the authors' format and the Hub's are the folder itself."""
    note = ""
    with RunStore.read(run) as store, _made(folder):
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
    of_run: Annotated[
        list[str] | None,
        typer.Argument(help="Artifact, assistants and trial of the run.", metavar="[ARTIFACT [ASSISTANTS] TRIAL]"),
    ] = None,
) -> None:
    """Print the conversations behind a number, one conversation, or one turn, by its discover:// ID."""
    wanted = _id_in(id, of_run or [])
    stored = resolve(wanted)
    if wanted.measure or stored.conversation is None:
        lines = _values_told(stored)
    elif stored.turn is None:
        lines = _conversation_told(stored, stored.conversation)
    else:
        lines = _turn_told(stored.conversation.tree, stored.turn, wanted.intent)
    for line in lines:
        typer.echo(line)


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


def _values_told(stored: Resolved) -> Iterator[str]:
    """The values of a number with their ids, and what they come to."""
    values, measure = list(stored.values.items()), BY_LABEL.get(stored.id.measure)
    yield from (f"{_short(value)}\t{each}".lstrip("\t") for each, value in values[:SHOWN])
    if len(values) > SHOWN:
        yield f"and {len(values) - SHOWN:,} more"
    yield f"{counted(len(values), 'value')} of {stored.id.measure or 'conversations'} in {stored.folder}"
    if stored.conversation is not None and stored.pool is not None and not stored.id.against:
        yield from _parts_of(stored, stored.conversation.tree, stored.pool)
    if stored.comparison and measure:
        yield stored.comparison.sentence(measure.label, measure.worth_seeing, measure.shown)
    elif stored.estimate:
        yield f"mean over artifacts: {stored.estimate} (n = {stored.estimate.n_artifacts})"


def _parts_of(stored: Resolved, tree: IntentTree, pool: Pool) -> Iterator[str]:
    """The parts of a measure of one conversation."""
    wanted = stored.id
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
        found = {1.0: "discovered", EMERGING: "emerging", 0.0: "not found"}
        yield from (f"{found[levels[own.assistant][intent]]}\t{_named(tree, intent)}" for intent in disputed)
    elif name == "satisfaction" and own.leaves and all(each.leaves for each in user.values()):
        met = {who: met_leaves(each) for who, each in user.items()}
        counting = counted_leaves(met, own.unit, pool.leave_out)
        for leaf, score in own.leaves.items():
            said = ("met" if met[own.assistant][leaf] else "not met") if leaf in counting else "left out"
            yield f"{said}\t{_named(tree, leaf)}: {score:g} of 5"
        if len(user) > 1:
            yield f"left out: leaves that {pool.leave_out} of {', '.join(user)} satisfied"
    elif name in ("reward", "tokens") and not wanted.turn:
        at = replace(id_of(DiscoverId(wanted.run), own), measure=name)
        turns = enumerate(own.rewards if name == "reward" else own.tokens, 1)
        yield from (f"{_short(value) or 'unscored'}\t{replace(at, turn=turn)}" for turn, value in turns)


def _short(value: object) -> str:
    """A value with at most three digits after the point; "" for None."""
    return "" if value is None else f"{round(value, 3):g}" if isinstance(value, float) else str(value)


def _conversation_told(stored: Resolved, talk: Conversation) -> Iterator[str]:
    """The transcript, refused messages of the user, and what was found."""
    with RunStore.read(stored.folder) as store:
        assessment = store.assessment(stored.places[0])
        refused = refused_in(talk, refusals(store))
    final = assessment["final"]["reply"]["text"] if assessment and assessment["final"] else None
    yield from transcript(talk, final)
    yield from (f"the user's message was asked for again: {each.line}" for each in refused)
    levels = Counter(scores_of(talk, 0).levels().values())
    yield f"\n{ending_line(talk)}"
    yield f"{levels[1.0]} discovered, {levels[EMERGING]} emerging of {levels.total()}"


def _turn_told(tree: IntentTree, turn: Turn, wanted: str | None) -> Iterator[str]:
    """The messages, verdicts, transitions, and the reward; only those of an intent if the id names one."""
    if wanted is None:
        yield f"assistant\n{turn.reply.text}\n\nuser\n{turn.user_message or '(nothing more)'}\n"
    for verdict in turn.candidate.evaluation.verdicts if turn.candidate.evaluation else ():
        if wanted in (None, verdict.intent_id):
            said = "engaged" if verdict.engaged else f"near misses: {', '.join(verdict.near_misses) or 'none'}"
            yield f"verdict on {_named(tree, verdict.intent_id)}: {said}. {verdict.reason}"
    for each in turn.candidate.transitions:
        if wanted in (None, each.intent_id):
            yield f"{each.intent_id}: {in_words(each)}"
    if wanted is None:
        yield reward_line(turn)
    else:
        before, after = (level_name(state[wanted]) for state in (turn.before, turn.after))
        yield f"{_named(tree, wanted)}: {before} before, {after} after"


def _named(tree: IntentTree, intent: str) -> str:
    return f"{intent} ({tree.text(intent)})"
