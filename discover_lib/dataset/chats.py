"""Chats of people from elsewhere: what they said, read from the exports that they have.

ShareGPT (`conversations` of `from` and `value`), WildChat and other lists or lines of `conversation` or `messages` with
`role` and `content`, and a study's own `messages.csv`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError

FORMS = "ShareGPT exports, lines with conversation or messages, and a study's messages.csv are read"
_GUARD = re.compile(r"^'(?=[=+@-])")  # what an export of a study puts before text that a spreadsheet would run
USER_ROLES = frozenset(("user", "human"))


def read_chats(path: Path) -> list[list[str]]:
    """The user's messages of every chat of a file that has any.

    Raises:
        DiscoverError: the file cannot be read, or holds no chat in a form that is known.
    """
    try:
        chats = [chat for chat in (_study(path) if path.suffix == ".csv" else map(_said, _items(path))) if chat]
    except OSError as error:
        raise DiscoverError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error):
        raise DiscoverError(f"{path}: no file of chats; {FORMS}") from None
    if not chats:
        raise DiscoverError(f"{path}: no chat found; {FORMS}")
    return chats


def _items(path: Path) -> list[Any]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    whole = json.loads(text)
    return whole if isinstance(whole, list) else [whole]


def _said(item: Mapping[str, Any]) -> list[str]:
    """The user's messages of one chat, whatever the form."""
    said = []
    for each in item.get("conversations") or item.get("conversation") or item.get("messages") or ():
        role, text = each.get("from") or each.get("role"), each.get("value") or each.get("content")
        if role in USER_ROLES and isinstance(text, str) and text.strip():
            said.append(text)
    return said


def _study(path: Path) -> Iterator[list[str]]:
    chats: dict[tuple[str, str], list[str]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["role"] == "user":
                chats.setdefault((row["participant"], row["place"]), []).append(_GUARD.sub("", row["text"]))
    yield from chats.values()
