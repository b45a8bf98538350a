"""Messages of people in chats from other tools, read from their exports.

ShareGPT (`conversations` of `from` and `value`), WildChat and other lists or lines of `conversation` or `messages` with
`role` and `content`, and a study's own `messages.csv`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json, read_json_lines, read_text
from discover_lib.metrics.intervals import grouped

FORMS = "ShareGPT exports, lines with conversation or messages, and a study's messages.csv are read"
_GUARD = re.compile(r"^'(?=[=+@-])")  # a study's export puts it before text that a spreadsheet would run
USER_ROLES = frozenset(("user", "human"))


def read_chats(path: Path) -> list[list[str]]:
    """The user's messages of every chat of a file that has any.

    Raises:
        DiscoverError: the file cannot be read, or holds no chat in a form that is known.
    """
    try:
        chats = [chat for chat in _chats(path) if chat]
    except (KeyError, TypeError, AttributeError, csv.Error):
        raise DiscoverError(f"{path}: no file of chats; {FORMS}") from None
    if not chats:
        raise DiscoverError(f"{path}: no chat found; {FORMS}")
    return chats


def _chats(path: Path) -> Iterable[list[str]]:
    if path.suffix == ".csv":
        return _study(csv.DictReader(io.StringIO(read_text(path), newline="")))
    if path.suffix == ".jsonl":
        return [_said(data) for _, data in read_json_lines(path)]
    whole = read_json(path)
    return [_said(item) for item in (whole if isinstance(whole, list) else [whole])]


def _said(item: Mapping[str, Any]) -> list[str]:
    """The user's messages of one chat, in any known form."""
    said = []
    for each in item.get("conversations") or item.get("conversation") or item.get("messages") or ():
        role, text = each.get("from") or each.get("role"), each.get("value") or each.get("content")
        if role in USER_ROLES and isinstance(text, str) and text.strip():
            said.append(text)
    return said


def _study(rows: Iterable[Mapping[str, str]]) -> Iterable[list[str]]:
    said = (row for row in rows if row["role"] == "user")
    return grouped(((row["participant"], row["place"]), _GUARD.sub("", row["text"])) for row in said).values()
