"""JSON as compact text, for a run's file and the columns of a data set."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_SMALL = re.compile(r"e-[6-9]")  # as "0.0000": Python writes 1e-05, 1e-06 ...
_ENCODER = msgspec.json.Encoder()


def to_json(value: Any) -> str:
    """Compact JSON that SQLite can hold: half a surrogate pair, cut off by a model, is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace").decode()


def whole_characters(text: str) -> str:
    """The text without half characters, which cannot be shown: a text that a model cut may end with one.

    Two halves that belong together become one character, and any other half becomes a sign.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def record_json(record: Any) -> str:
    """`to_json` of plain values without infinities, eight times as fast: most of a run's JSON is that of its turns.

    A number from 1e16 on is spelt differently, and is the same number.
    """
    try:
        text = _ENCODER.encode(record).decode()
    except UnicodeEncodeError:
        return to_json(record)
    return to_json(record) if "0.0000" in text or _SMALL.search(text) else text
