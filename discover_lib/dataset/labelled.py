"""Replies that people labelled as refusals or none, from elsewhere: what a judge of refusals is held against."""

from __future__ import annotations

import csv
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.metrics.refusals import LabelledReply

COLUMNS = ("objective", "assistant_response", "human_score")
VERDICTS = {"1": True, "0": False}
NEEDED = f"a CSV file with the columns {', '.join(COLUMNS)} (1: a refusal, 0: none) is needed"


class LabelledFileError(DiscoverError):
    """A file of labelled replies that cannot be read; the message says what it has to hold."""


def read_labelled(path: Path) -> list[LabelledReply]:
    """Labelled replies of a CSV file as PyRIT ships them (`scorer_evals/refusal_scorer`).

    Columns: `objective`, `assistant_response`, `human_score` (1: a refusal, 0: none); lines before the head that begin
    with `#`, and rows whose `data_type` is not text, are passed over.

    Raises:
        LabelledFileError: the file cannot be read, or has no such columns or labels.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    except OSError as error:
        raise LabelledFileError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise LabelledFileError(f"{path}: not a text file; {NEEDED}") from None
    passed = next((place for place, line in enumerate(lines) if not line.startswith("#")), len(lines))
    table = csv.DictReader(lines[passed:], restval="")
    labelled = []
    try:
        missing = [name for name in COLUMNS if name not in (table.fieldnames or ())]
        if missing:
            raise LabelledFileError(f"{path}, line {passed + 1}: no column {', '.join(missing)}; {NEEDED}")
        for row in table:
            if (row.get("data_type") or "text") != "text":
                continue
            asked, reply, score = (row[name] for name in COLUMNS)
            if score not in VERDICTS:
                line = passed + table.line_num
                raise LabelledFileError(f"{path}, line {line}: human_score is {score!r}; {NEEDED}")
            labelled.append(LabelledReply(asked, reply, VERDICTS[score]))
    except csv.Error as error:
        raise LabelledFileError(f"{path}, line {passed + table.line_num}: {error}; {NEEDED}") from None
    if not labelled:
        raise LabelledFileError(f"{path}: no labelled reply")
    return labelled
