"""Replies that people labelled as refusals or none, from elsewhere: what a judge of refusals is held against."""

from __future__ import annotations

import csv
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.metrics.refusals import LabelledReply


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
        while lines and lines[0].startswith("#"):
            del lines[0]
        rows = [row for row in csv.DictReader(lines) if row.get("data_type", "text") == "text"]
        verdicts = {"1": True, "0": False}
        labelled = [LabelledReply(r["objective"], r["assistant_response"], verdicts[r["human_score"]]) for r in rows]
    except OSError as error:
        raise LabelledFileError(f"{path}: {error.strerror}") from None
    except (KeyError, UnicodeDecodeError, csv.Error) as error:
        wanted = "objective, assistant_response and human_score (1 or 0)"
        raise LabelledFileError(
            f"{path}: a CSV file with {wanted} is needed ({type(error).__name__}: {error})"
        ) from None
    if not labelled:
        raise LabelledFileError(f"{path}: no labelled reply")
    return labelled
