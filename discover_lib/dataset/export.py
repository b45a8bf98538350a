"""Training rows as files for others: JSON lines, which `datasets` reads; and a run as a folder for the Hub.

Filters decide which examples become rows and count the others.  Splits keep artifacts apart.

A folder is written whole or not at all.  Beside the rows it holds `dropped.jsonl` (every example left out, with its
reasons), `dataset.json` (options, counts and statistics, for programs) and `README.md` (the card, for people).
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json_lines, whole_file, whole_folder, write_json, write_lines
from discover_lib.base.ids import DiscoverId
from discover_lib.base.seeds import derive_seed
from discover_lib.core.conversation import Conversation
from discover_lib.dataset.formats import library, to_frame
from discover_lib.dataset.inspect_log import was_judged
from discover_lib.dataset.lengths import Table3, length_line, table_3
from discover_lib.dataset.rows import Example, Kind, Origin, RowOptions, examples
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.scores import scores_of
from discover_lib.runs.evaluation import id_of
from discover_lib.runs.store import RunStore, id_of_run

FORMAT = "discover-rows/1"
FILES = "jsonl"  # the kind of the files
MARK = "dataset.json"  # a folder with this file is one of ours and may be replaced
TEST_SHARE = 0.1  # of the artifacts


# -- which examples become rows ---------------------------------------------------------------------------------------

# Why an example can be left out, in the order in which it is asked; the first that holds is the one it is counted by.
REASONS: Mapping[str, str] = {
    "unfinished": "the conversation is not finished",
    "one_candidate": "only one candidate, so there is no preference",
    "failed_assistant": "an assistant failed: fewer than two candidates were judged",
    "failed_judgement": "fewer than two candidates were judged",
    "tie": "equal rewards: no label",
    "empty": "a reply without text",
    "identical": "both replies differ only in case, punctuation and spaces",
    "near_identical": "the replies are nearly the same",
    "margin": "the rewards differ by less than asked",
    "leak": "the user leaked a hidden intent in the prompt",
    "too_long": "longer than the token budget",
    "invalid": "text that is not valid Unicode, which no tokenizer can read",
    "duplicate": "the same as an earlier row",
}


@dataclass(frozen=True)
class Filters:
    """Which examples become rows.  Ties, single candidates and failed judgements have no label and never do.

    Attributes:
        min_margin: least difference of a pair's rewards.
        max_similarity: pairs at least this alike are near-identical (see `SIMILARITY`); above 1 keeps all but equals.
        max_tokens: budget for the longest sequence of a row; None for any.
        leaks: keep rows in which the user leaked a hidden intent.
    """

    min_margin: float = 0.0
    max_similarity: float = 0.9
    max_tokens: int | None = None
    leaks: bool = False

    def reasons(self, example: Example) -> tuple[str, ...]:
        """All reasons to leave it out (names of `REASONS`, in their order); () to keep it."""
        margin, similarity = example.margin, example.similarity
        holds = {
            "empty": example.empty,
            "identical": example.identical,
            "near_identical": similarity is not None and not example.identical and similarity >= self.max_similarity,
            "margin": margin is not None and margin < self.min_margin,
            "leak": bool(example.leaks) and not self.leaks,
            "invalid": example.invalid,
            "too_long": self.max_tokens is not None and example.n_tokens > self.max_tokens,
        }
        return tuple(reason for reason in REASONS if reason == example.problem or holds.get(reason))


@dataclass(frozen=True)
class Sieved:
    """The kept examples, and the dropped ones with their reasons.

    Attributes:
        dropped: (example, all its reasons), in order.
    """

    kept: tuple[Example, ...]
    dropped: tuple[tuple[Example, tuple[str, ...]], ...]

    @property
    def considered(self) -> int:
        return len(self.kept) + len(self.dropped)

    @property
    def counts(self) -> dict[str, int]:
        """Reason → examples dropped for it first; with the kept ones they add up to those considered."""
        first = Counter(reasons[0] for _, reasons in self.dropped)
        return {reason: first[reason] for reason in REASONS if first[reason]}


def sieve(examples: Iterable[Example], filters: Filters | None = None) -> Sieved:
    """Keep the examples that no filter holds back; of rows that teach the same the first."""
    filters = filters or Filters()
    kept: list[Example] = []
    dropped: list[tuple[Example, tuple[str, ...]]] = []
    seen: set[str] = set()
    for example in examples:
        reasons = filters.reasons(example)
        if not reasons:
            identity = example.identity
            reasons = ("duplicate",) if identity in seen else ()
            seen.add(identity)
        if reasons:
            dropped.append((example, reasons))
        else:
            kept.append(example)
    return Sieved(tuple(kept), tuple(dropped))


def split_by_artifact(rows: Sequence[Example], test_share: float, seed: int = 0) -> dict[str, list[Example]]:
    """Rows for training and for tests, all rows of an artifact in the same split.

    The order of the artifacts is drawn by `seed` and their names.  Both splits have at least one artifact.

    Args:
        test_share: share of the artifacts in the split "test"; 0 makes no such split.

    Raises:
        DiscoverError: only one artifact.
    """
    if not test_share:
        return {"train": list(rows)}
    names = sorted({row.artifact for row in rows}, key=lambda name: derive_seed(seed, "split", name))
    if len(names) < 2:
        raise DiscoverError("1 artifact cannot be split 2 ways; take more, or --test-share 0")
    tested = set(names[min(max(round((1 - test_share) * len(names)), 1), len(names) - 1) :])
    splits: dict[str, list[Example]] = {"train": [], "test": []}
    for row in rows:
        splits["test" if row.artifact in tested else "train"].append(row)
    return splits


# -- making -----------------------------------------------------------------------------------------------------------


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
        table: Table 3 of the conversations, under the rules that label the rows.
        length: how often the longer reply is chosen, in words; of preference rows only.
    """

    kind: Kind
    sources: tuple[Source, ...]
    options: RowOptions
    filters: Filters
    sieved: Sieved
    splits: Mapping[str, Sequence[Example]]
    table: Table3
    length: str | None


def make_rows(
    kind: Kind,
    sources: Sequence[Source],
    options: RowOptions | None = None,
    filters: Filters | None = None,
    *,
    test_share: float = TEST_SHARE,
    seed: int = 0,
) -> RowSet:
    """Conversations to rows: made, sieved, split by artifact, described.

    Raises:
        DiscoverError: no row is left, or the artifacts cannot be split so.
    """
    options, filters = options or RowOptions(), filters or Filters()
    made = (each for source in sources for each in examples(kind, source.conversations, source.origin, options))
    sieved = sieve(made, filters)
    if not sieved.kept:
        why = ", ".join(f"{reason} {count}" for reason, count in sieved.counts.items()) or "the run is empty"
        raise DiscoverError(f"no {kind} row is left of {sieved.considered}: {why}")
    return RowSet(
        kind,
        tuple(sources),
        options,
        filters,
        sieved,
        split_by_artifact(sieved.kept, test_share, seed),
        table_3((talk for source in sources for talk in source.conversations), options.rules),
        length_line(each.row for each in sieved.kept) if kind == "preference" else None,
    )


# -- writing ----------------------------------------------------------------------------------------------------------


def write_rows(rows: RowSet, folder: Path) -> None:
    """Write a row set into a new or empty folder, or in place of one that this function wrote.

    Raises:
        DiscoverError: the folder holds something else.
    """
    _check_free(folder)
    with whole_folder(folder) as target:
        for split, kept in rows.splits.items():
            write_lines(target / "data" / f"{split}.{FILES}", (each.row for each in kept))
        write_lines(
            target / "dropped.jsonl",
            ({"reasons": list(reasons), **each.provenance} for each, reasons in rows.sieved.dropped),
        )
        write_json(target / MARK, description(rows))
        (target / "README.md").write_text(card(description(rows)), encoding="utf-8")


def description(rows: RowSet) -> dict[str, Any]:
    """All facts about a row set, as plain JSON values; the card is the same in words."""
    options, filters = rows.options, rows.filters
    some = rows.sieved.kept[0]
    rules = {each.provenance["rules_hash"]: each.provenance["rules"] for each in rows.sieved.kept}
    return {
        "format": FORMAT,
        "kind": rows.kind,
        "files": FILES,
        "columns": {"trained_on": list(some.train), "provenance": list(some.provenance)},
        "runs": [
            {**dataclasses.asdict(source.origin), "failures_by_role": dict(source.failures)} for source in rows.sources
        ],
        "domains": sorted({each.provenance.get("domain", "") for each in rows.sieved.kept}),
        "rules": rules,
        "options": {
            "relabelled_under": options.rules.to_dict() if options.rules else None,
            "system_policy": some.provenance["system_policy"],
            "system_text": options.system_text,
            "text_form": options.text,
            "grpo_tau": options.grpo_tau if rows.kind == "prompt" else None,
            "length_counting": options.tokens.name,
        },
        "filters": dataclasses.asdict(filters),
        "considered": rows.sieved.considered,
        "kept": len(rows.sieved.kept),
        "dropped": rows.sieved.counts,
        "splits": {
            split: {"rows": len(kept), "artifacts": len({each.artifact for each in kept})}
            for split, kept in rows.splits.items()
        },
        "table_3": rows.table.rows(),
        "length": rows.length,
    }


def _check_free(folder: Path) -> None:
    held = folder.is_file() or (folder.is_dir() and any(folder.iterdir()))
    if held and not (folder / MARK).is_file():
        raise DiscoverError(f"{folder} is a file or holds other files; choose a new or empty folder")


def write_table(path: Path, conversations: Iterable[Conversation]) -> None:
    """Conversations as one Parquet table, a row per candidate (see `discover_lib.dataset.formats.to_frame`).

    Raises:
        DiscoverError: a library for Parquet is missing.
    """
    partial = path.with_name(path.name + ".partial")
    with library("Parquet"):
        to_frame(conversations).to_parquet(partial, index=False)
    partial.replace(path)


# -- reading ----------------------------------------------------------------------------------------------------------


def read_rows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Split → rows of a folder that `write_rows` wrote.

    Raises:
        DiscoverError: no such folder, or a damaged one.
    """
    try:
        about = json.loads((folder / MARK).read_text(encoding="utf-8"))
        found, known = (about["format"], about["files"]), (FORMAT, FILES)
        if found != known:
            raise DiscoverError(f"{folder}: rows of format {found}; this version reads {known}")
        return {split: [*read_json_lines(folder / "data" / f"{split}.{FILES}")] for split in about["splits"]}
    except OSError as error:
        raise DiscoverError(f"{folder}: no training rows here ({error.filename}: {error.strerror})") from None
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise DiscoverError(f"{folder}: damaged training rows ({type(error).__name__}: {error})") from None


# -- a run for the Hub -------------------------------------------------------------------------------------------------

DATA = "data/conversations.jsonl"
COLUMNS = {
    "id": "artifact, trial and assistants",
    "discover_id": "the origin of the row's numbers: `discover show` opens it where the run is",
    "artifact, domain, trial, assistants, seed, rules, stop": "which conversation it is, and why it ended",
    "messages": "role and content, the user's opening first",
    "rewards": "of every turn; null where it is unscored",
    "discovered": "hidden intents that were discovered; null: unscored",
    "share": "share of the hidden intents that the user discovered; null: unscored",
    "tokens, leaks": "of all replies, and user messages that leaked a hidden intent",
}


def write_hub_folder(folder: Path, store: RunStore) -> int:
    """Write the finished conversations of a run as a data set with its card; returns how many."""
    count, run = 0, id_of_run(store.path.parent)
    with whole_file(folder / DATA) as data:
        for talk in store.conversations():
            count += 1
            data.write(json.dumps(conversation_row(talk, run), ensure_ascii=False) + "\n")
    asked, engine = store.configuration, store.configuration.get("engine") or {}
    values = {"count": count, "data": DATA, "columns": COLUMNS.items(), "assistants": asked.get("assistants", ())}
    warning = beware(str(engine.get("judge", "")), str(engine.get("voice", "")))
    with whole_file(folder / "README.md") as card_file:
        card_file.write(rendered(Path(__file__).with_name("hub_card.md.jinja"), **values, warning=warning))
    return count


def conversation_row(talk: Conversation, run: DiscoverId) -> dict[str, Any]:
    """A conversation of a run as one row: its origin, its messages and its numbers."""
    setting, scores = talk.setting, scores_of(talk, 0)
    judged = was_judged(talk)
    return {
        "id": f"{setting['artifact']}/{setting['trial']}/{scores.assistant}",
        "discover_id": str(id_of(run, scores)),
        "artifact": setting["artifact"],
        "domain": scores.domain,
        "trial": setting["trial"],
        "assistants": list(setting["assistants"]),
        "seed": str(talk.seed),  # of 63 bits, more than some readers of JSON keep
        "rules": talk.rules.name,
        "stop": talk.stop,
        "messages": [{"role": each.role, "content": each.content} for each in talk.messages()],
        "rewards": list(scores.rewards),
        "discovered": scores.discovered if judged else None,
        "share": scores.share_discovered if judged else None,
        "tokens": sum(scores.tokens),
        "leaks": scores.known_leaks,
    }


# -- the card ----------------------------------------------------------------------------------------------------------

KINDS = {
    "sft": "supervised fine-tuning: whole conversations as they went, the best of each turn's candidates in them",
    "preference": "preference pairs: per turn the best and the worst of the candidates, judged in the same state",
    "prompt": "prompts for reinforcement learning: a conversation so far, and the simulated user at that point as JSON",
}


def card(about: Mapping[str, Any]) -> str:
    """The card (Markdown with the front matter that dataset hubs read) of a row set.

    Args:
        about: the result of `description`.
    """
    warnings = dict.fromkeys(beware(run["judge"], run["voice"]) for run in about["runs"])
    template = Path(__file__).with_name("rows_card.md.jinja")
    return rendered(template, **about, meaning=KINDS[about["kind"]], reasons=REASONS, warnings=warnings)


def beware(judge: str, voice: str) -> str:
    """A warning about the judge and the user of the rows; "" as a name means unknown."""
    if judge == voice == MINIATURE:
        return (
            "**A miniature.** Users, judge and artifacts are those of a small self-contained world without language "
            "models. Good for learning how the method works and for testing a pipeline, not for training a product."
        )
    if not judge:
        return "Read from files made elsewhere: who judged, and under which rules, is not known here."
    return f"Judge ({judge}) and user ({voice}) are language models; their mistakes are in the labels."


def rendered(template: Path, **values: Any) -> str:
    """A card from its template.

    Raises:
        jinja2.UndefinedError: the template names a value that is not given.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(template.read_text(encoding="utf-8")).render(values, table=table)


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Rows as a table in Markdown."""
    titles = list(head)
    lines: list[Iterable[object]] = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |\n" for line in lines)
