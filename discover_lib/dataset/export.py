"""Training rows as files that others load: JSON lines, Parquet, Hugging Face datasets; always with a card.

A folder is written whole or not at all.  Beside the rows it holds `dropped.jsonl` (every example left out, with its
reasons), `dataset.json` (options, counts and statistics, for programs) and `README.md` (the card, for people).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import whole_folder, write_json, write_lines
from discover_lib.core.conversation import Conversation
from discover_lib.dataset.filters import Filters, Sieved, sieve, split_by_artifact
from discover_lib.dataset.formats import library, to_frame
from discover_lib.dataset.hub import card
from discover_lib.dataset.lengths import LengthReport, PairLength, Table3, length_report, table_3
from discover_lib.dataset.rows import Example, Kind, Origin, RowOptions, examples
from discover_lib.runs.store import RunStore

Files = Literal["jsonl", "parquet", "datasets"]
FORMAT = "discover-rows/1"
MARK = "dataset.json"  # a folder with this file is one of ours and may be replaced
SPLITS: Mapping[str, float] = {"train": 0.9, "test": 0.1}


@dataclass(frozen=True)
class Source:
    """Conversations and the run that they come from.  `conversations` is gone through more than once."""

    origin: Origin
    conversations: Iterable[Conversation]
    failures: Mapping[str, int] = dataclasses.field(default_factory=dict)  # role → failures that the run still has

    @classmethod
    def of_run(cls, folder: Path) -> Source:
        """A run on disk, read one conversation at a time, also those that did not come to their end.

        Raises:
            StoreError: there is no run.
        """
        with RunStore.read(folder) as store:
            origin = Origin.of_run(folder.resolve().name, store.configuration)
            return cls(origin, _StoredConversations(folder), store.failures_by_role())


@dataclass(frozen=True)
class _StoredConversations:
    folder: Path

    def __iter__(self) -> Iterator[Conversation]:
        with RunStore.read(self.folder) as store:
            yield from store.conversations(finished=False)


@dataclass(frozen=True)
class RowSet:
    """Rows ready to be written, with all that the card says about them.

    Attributes:
        table: Table 3 of the conversations, under the rules that label the rows; None for rows of others.
        length: does length alone predict the label?  Of preference rows only.
    """

    kind: Kind
    sources: tuple[Source, ...]
    options: RowOptions
    filters: Filters
    sieved: Sieved
    splits: Mapping[str, Sequence[Example]]
    table: Table3 | None
    length: LengthReport | None


def make_rows(
    kind: Kind,
    sources: Sequence[Source],
    options: RowOptions | None = None,
    filters: Filters | None = None,
    *,
    shares: Mapping[str, float] = SPLITS,
    seed: int = 0,
) -> RowSet:
    """Conversations to rows: made, sieved, split by artifact, described.

    Raises:
        DiscoverError: no row is left, or the artifacts cannot be split so.
    """
    options = options or RowOptions()
    made = (each for source in sources for each in examples(kind, source.conversations, source.origin, options))
    rows = row_set(kind, made, sources, options, filters, shares=shares, seed=seed)
    every = (conversation for source in sources for conversation in source.conversations)
    return dataclasses.replace(rows, table=table_3(every, options.rules))


def row_set(
    kind: Kind,
    examples: Iterable[Example],
    sources: Sequence[Source],
    options: RowOptions,
    filters: Filters | None = None,
    *,
    shares: Mapping[str, float] = SPLITS,
    seed: int = 0,
) -> RowSet:
    """Examples already made, sieved, split by artifact, described; see `make_rows`."""
    filters = filters or Filters()
    sieved = sieve(examples, filters)
    if not sieved.kept:
        why = ", ".join(f"{reason} {count}" for reason, count in sieved.counts.items()) or "the run is empty"
        raise DiscoverError(f"no {kind} row is left of {sieved.considered}: {why}")
    return RowSet(
        kind,
        tuple(sources),
        options,
        filters,
        sieved,
        split_by_artifact(sieved.kept, shares, seed),
        None,
        length_report(PairLength.of_row(each.row) for each in sieved.kept) if kind == "preference" else None,
    )


# -- writing --------------------------------------------------------------------------------------------------------


def write_rows(rows: RowSet, folder: Path, files: Files = "jsonl") -> None:
    """Write a row set into a new or empty folder, or in place of one that this function wrote.

    Raises:
        DiscoverError: the folder holds something else, or a library for this kind of files is missing.
    """
    _check_free(folder)
    with whole_folder(folder) as target:
        write = {"jsonl": _write_jsonl, "parquet": _write_parquet, "datasets": _write_datasets}[files]
        write(target, {split: [each.row for each in kept] for split, kept in rows.splits.items()})
        write_lines(
            target / "dropped.jsonl",
            ({"reasons": list(reasons), **each.provenance} for each, reasons in rows.sieved.dropped),
        )
        write_json(target / MARK, description(rows, files))
        (target / "README.md").write_text(card(description(rows, files)), encoding="utf-8")


def description(rows: RowSet, files: Files) -> dict[str, Any]:
    """All facts about a row set, as plain JSON values; the card is the same in words."""
    options, filters = rows.options, rows.filters
    some = rows.sieved.kept[0]
    rules = {each.provenance["rules_hash"]: each.provenance["rules"] for each in rows.sieved.kept if rows.table}
    return {
        "format": FORMAT,
        "kind": rows.kind,
        "files": files,
        "columns": {"trained_on": list(some.train), "provenance": list(some.provenance)},
        "runs": [
            {**dataclasses.asdict(source.origin), "failures_by_role": dict(source.failures)} for source in rows.sources
        ],
        "domains": sorted({each.provenance.get("domain", "") for each in rows.sieved.kept}),
        "rules": rules,
        "options": {
            "relabelled_under": options.rules.to_dict() if options.rules else None,
            "system_policy": some.provenance.get("system_policy", "as in the rows that were read"),
            "system_text": options.system_text,
            "text_form": options.text,
            "grpo_tau": options.grpo_tau if rows.kind == "prompt" else None,
            "length_counting": options.tokens.name,
        },
        "filters": dataclasses.asdict(filters),
        "considered": rows.sieved.considered,
        "kept": len(rows.sieved.kept),
        "dropped": rows.sieved.counts,
        "dropped_any_reason": rows.sieved.counts_all,
        "splits": {
            split: {"rows": len(kept), "artifacts": len({each.artifact for each in kept})}
            for split, kept in rows.splits.items()
        },
        "table_3": rows.table.rows() if rows.table else None,
        "length": {**dataclasses.asdict(rows.length), "sentence": rows.length.sentence} if rows.length else None,
    }


def _check_free(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise DiscoverError(f"{folder}: this is a file; choose another folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise DiscoverError(f"{folder} holds other files; choose a new or empty folder")


Splits = Mapping[str, Sequence[Mapping[str, Any]]]


def _write_jsonl(folder: Path, splits: Splits) -> None:
    for split, rows in splits.items():
        write_lines(folder / "data" / f"{split}.jsonl", rows)


def _write_parquet(folder: Path, splits: Splits) -> None:
    with library("Parquet"):
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    (folder / "data").mkdir()
    for split, rows in splits.items():
        parquet.write_table(arrow.Table.from_pylist(rows), folder / "data" / f"{split}.parquet", compression="zstd")


def _write_datasets(folder: Path, splits: Splits) -> None:
    with library("a Hugging Face dataset"):
        import datasets
    made = {split: datasets.Dataset.from_list(list(rows)) for split, rows in splits.items()}
    datasets.disable_progress_bars()
    datasets.DatasetDict(made).save_to_disk(str(folder))


def write_table(path: Path, conversations: Iterable[Conversation]) -> None:
    """Conversations as one Parquet table, a row per candidate (see `discover_lib.dataset.formats.to_frame`).

    Raises:
        DiscoverError: a library for Parquet is missing.
    """
    partial = path.with_name(path.name + ".partial")
    with library("Parquet"):
        to_frame(conversations).to_parquet(partial, index=False)
    partial.replace(path)


# -- reading --------------------------------------------------------------------------------------------------------


def read_rows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Split → rows of a folder that `write_rows` wrote, in any kind of file.

    Raises:
        DiscoverError: no such folder, or a damaged one.
    """
    try:
        about = json.loads((folder / MARK).read_text(encoding="utf-8"))
        files, splits = about["files"], list(about["splits"])
        if about["format"] != FORMAT:
            raise DiscoverError(f"{folder}: rows of format {about['format']!r}; this version reads {FORMAT!r}")
        return {split: _read_split(folder, split, files) for split in splits}
    except OSError as error:
        raise DiscoverError(f"{folder}: no training rows here ({error.filename}: {error.strerror})") from None
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise DiscoverError(f"{folder}: damaged training rows ({type(error).__name__}: {error})") from None


def _read_split(folder: Path, split: str, files: Files) -> list[dict[str, Any]]:
    if files == "jsonl":
        text = (folder / "data" / f"{split}.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n") if line]
    with library(f"{folder}: reading {files} files"):
        if files == "parquet":
            import pyarrow.parquet as parquet

            return parquet.read_table(folder / "data" / f"{split}.parquet").to_pylist()
        from datasets import load_from_disk

        return load_from_disk(str(folder))[split].to_list()
