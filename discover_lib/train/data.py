"""Training rows: made or read from an export or a run, measured before training, and converted for the trainers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.dataset.export import MARK, Source, make_rows, read_rows
from discover_lib.dataset.rows import Kind, RowOptions, digest
from discover_lib.engines.local.dialect import Chat, Dialect
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
from discover_lib.runs.job_folder import working
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.store import FILE as STORE_FILE
from discover_lib.runs.store import RunStore
from discover_lib.train.recipes import Stage

Row = Mapping[str, Any]

KINDS: Mapping[Stage, Kind] = {"sft": "sft", "dpo": "preference", "grpo": "prompt"}
COLUMNS: Mapping[Kind, tuple[str, ...]] = {
    "sft": ("messages",),
    "preference": ("prompt", "chosen", "rejected"),
    "prompt": ("prompt", "state"),
}
TRAIN, HELD_OUT = "train", "test"
NAMED = 3  # omitted rows in a report
# Length says only a little about the labels of these conversations (`dataset.lengths`).
DEFAULT_RUN = RunOptions(("ask", "adaptive"), domain="svg_drawing", split="train", artifacts=100, candidates=1)
DEFAULT_SECONDS = 60.0  # that a caller waits while another simulates these conversations
IGNORED = -100  # label of a token that carries no loss


@dataclass(frozen=True)
class TrainingRows:
    """Rows of one kind, and their source.

    Attributes:
        digest: of all rows in their order.
        system: the system message of the rows, or "".
    """

    kind: Kind
    train: tuple[Row, ...]
    held_out: tuple[Row, ...]
    source: str
    digest: str
    system: str = ""

    def describe(self) -> dict[str, Any]:
        """For the lineage of a model."""
        counts = {"train": len(self.train), "held_out": len(self.held_out)}
        return {"folder": self.source, "digest": self.digest, "kind": self.kind, **counts}


def default_data() -> Path:
    """The folder of `DEFAULT_RUN` among the outputs.  Its conversations are simulated at first use, in two seconds.

    Several callers at once wait for each other.
    """
    folder = outputs_folder() / "synthesis" / "default"
    with working(folder.parent, DEFAULT_SECONDS):
        execute(lay_out(DEFAULT_RUN), folder)
    return folder


def load_rows(folder: Path, stage: Stage, text: str | None, *, system: str = "none", seed: int = 0) -> TrainingRows:
    """The rows of a stage from a folder of exported rows, or made from a run's folder.

    Args:
        text: the model's form of the assistant's turns: "content" or "notation"; None for any form.
        system: the system policy of rows made from a run.  Exported rows have a fixed system message.

    Raises:
        DiscoverError: the folder contains neither, or rows of another kind or form.
    """
    kind = KINDS[stage]
    if (folder / MARK).is_file():
        splits = read_rows(folder)
    elif (folder / STORE_FILE).is_file():
        options = RowOptions(system=system, text="notation" if text == "notation" else "content")
        made = make_rows(kind, [Source.of_run(folder)], options, seed=seed)
        splits = {split: [each.row for each in kept] for split, kept in made.splits.items()}
    else:
        raise DiscoverError(f"{folder}: neither exported rows nor a run; make some with 'discover export'")
    train, held_out = tuple(splits.get(TRAIN, ())), tuple(splits.get(HELD_OUT, ()))
    if not train:
        raise DiscoverError(f"{folder}: no rows to train on (split {TRAIN!r})")
    held = next((each for each, columns in COLUMNS.items() if set(columns) <= set(train[0])), None)
    if held != kind:
        raise DiscoverError(f"{folder}: rows of kind {held}, but {kind} rows are needed; export with --format {kind}")
    forms = {row.get("text_form", "content") for row in train}
    if text and forms != {text}:
        raise DiscoverError(
            f"{folder}: the rows contain {' and '.join(sorted(forms))}, the base needs {text}; "
            f"export them again with --text {text}"
        )
    first = (train[0]["messages"] if "messages" in train[0] else train[0]["prompt"])[0]
    sent = str(first["content"]) if first["role"] == "system" else ""
    return TrainingRows(kind, train, held_out, str(folder.resolve()), digest([*train, *held_out]), sent)


_OF_EVALUATIONS = re.compile(rf"(?:{'|'.join(ALL_DOMAINS)})-eval-\d+(?:-taste\d+)?")


def overlap(rows: TrainingRows) -> str:
    """Why these rows are refused for training, in one line, or "".

    Rows of an evaluation, and rows with artifacts of the evaluation split, would let a model learn its test users.
    """
    named = dict.fromkeys(str(row.get("artifact", "")) for row in (*rows.train, *rows.held_out))
    users = [name for name in named if _OF_EVALUATIONS.fullmatch(name)]
    folder = Path(rows.source)
    if not users and (folder / STORE_FILE).is_file():
        with RunStore.read(folder) as store:
            users = list(named) if store.configuration.get("kind") == "evaluate" else []
    if not users:
        return ""
    others = f" and {len(users) - 1} more" if len(users) > 1 else ""
    return (
        f"these rows are of users from evaluations ({users[0]}{others}), so a score would only measure memory; "
        "train on the train split, as 'discover synthesize' makes it"
    )


def domain_of(row: Row) -> str:
    return str(row.get("domain", ""))


# -- for the trainers -------------------------------------------------------------------------------------------------


def trainer_row(row: Row, dialect: Dialect, chat: Chat) -> dict[str, Any]:
    """A trainer's columns: the tokens that the model reads, or GRPO's prompt as messages."""
    domain = domain_of(row)
    if "messages" in row:
        whole = chat.labelled(dialect.encode(row["messages"], domain))
        labels = [token if own else IGNORED for token, own in zip(whole.ids, whole.own, strict=True)]
        return {"input_ids": whole.ids, "labels": labels}
    prompt = dialect.encode(row["prompt"], domain)
    if "chosen" not in row:
        return {"prompt": prompt, "state": row["state"], "domain": domain}
    ids = chat.prompt(prompt)
    sides = {
        f"{name}_ids": chat.labelled(dialect.encode([*row["prompt"], *row[name]], domain)).ids[len(ids) :]
        for name in ("chosen", "rejected")
    }
    return {"prompt_ids": ids, **sides}


def longest(row: Mapping[str, Any], chat: Chat) -> int:
    """Tokens of the longest sequence in a row of `trainer_row`; a prompt counts up to the reply."""
    if "input_ids" in row:
        return len(row["input_ids"])
    if "prompt_ids" in row:
        return len(row["prompt_ids"]) + max(len(row["chosen_ids"]), len(row["rejected_ids"]))
    return len(chat.prompt(row["prompt"]))


def fit(rows: Iterable[Row], dialect: Dialect, chat: Chat, limit: int, what: str) -> tuple[list[dict[str, Any]], str]:
    """Rows of at most `limit` tokens in the trainer's form, and a line about the longer ones, or "".

    Args:
        what: the rows' name in the line.
    """
    made = [(row, each, longest(each, chat)) for row in rows for each in [trainer_row(row, dialect, chat)]]
    kept = [each for _, each, tokens in made if tokens <= limit]
    too_long = [f"{row_name(row)} ({tokens})" for row, _, tokens in made if tokens > limit]
    if not too_long:
        return kept, ""
    named = ", ".join(too_long[:NAMED]) + (f" and {len(too_long) - NAMED} more" if len(too_long) > NAMED else "")
    return kept, f"{len(too_long)} of {len(made)} {what} are longer than {limit} tokens and omitted: {named}"


def row_name(row: Row) -> str:
    turn = f" turn {row['turn']}" if "turn" in row else ""
    return f"{row.get('artifact', 'a row')}{turn}"


def starting_users(rows: Iterable[Row]) -> list[Row]:
    """Prompt rows at the start of a conversation, one for each user."""
    users: dict[str, Row] = {}
    for row in rows:
        if row.get("turn", 1) == 1:
            users.setdefault(digest(json.loads(row["state"])), row)
    return list(users.values())
