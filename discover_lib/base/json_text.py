"""JSON as compact text, for a run's file and the columns of a data set."""

from __future__ import annotations

import json
from typing import Any

import msgspec

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


def record_json(record: Any) -> bytes:
    """`to_json` of plain values without infinities, encoded, eight times as fast: most of a run's JSON is of turns.

    Numbers below 1e-4 and from 1e16 on are spelled differently, and are the same numbers.
    """
    try:
        return _ENCODER.encode(record)
    except UnicodeEncodeError:
        return to_json(record).encode()
