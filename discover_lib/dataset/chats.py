"""Chats of people from elsewhere: what they said, read from the exports that they have.

ShareGPT (`conversations` of `from` and `value`), OpenAI's and Claude's account exports, WildChat and other lines of
`conversation` or `messages` with `role` and `content`, and a study's own `messages.csv`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError

FORMS = "ShareGPT, OpenAI and Claude exports, lines with conversation or messages, and a study's messages.csv are read"
_GUARD = re.compile(r"^'(?=[=+@-])")  # what an export of a study puts before text that a spreadsheet would run
USER_ROLES = frozenset(("user", "human"))


class ChatFileError(DiscoverError):
    """A file in which no chat can be found; the message says which forms are read."""


def read_chats(path: Path) -> list[list[str]]:
    """The user's messages of every chat of a file that has any.

    Raises:
        ChatFileError: the file cannot be read, or holds no chat in a form that is known.
    """
    try:
        chats = list(_study(path)) if path.suffix == ".csv" else list(_exported(path))
    except OSError as error:
        raise ChatFileError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ChatFileError(f"{path}: not a text file; {FORMS}") from None
    except csv.Error as error:
        raise ChatFileError(f"{path}: not a CSV file of chats ({error}); {FORMS}") from None
    chats = [chat for chat in chats if chat]
    if not chats:
        raise ChatFileError(f"{path}: no chat found; {FORMS}")
    return chats


def _exported(path: Path) -> Iterator[list[str]]:
    for place, item in enumerate(_items(path), 1):
        try:
            yield _said(item)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ChatFileError(f"{path}: chat {place} has none of the forms that are known; {FORMS}") from None


def _items(path: Path) -> Iterator[Any]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield _parsed(line, f"{path}, line {number}")
        return
    whole = _parsed(text, str(path))
    yield from whole if isinstance(whole, list) else [whole]


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ChatFileError(f"{where}: no JSON of chats; {FORMS}") from None


def _said(item: Mapping[str, Any]) -> list[str]:
    """The user's messages of one chat, whatever the form."""
    if "mapping" in item:
        return list(_openai(item))
    if "chat_messages" in item:  # Claude
        return [each["text"] for each in item["chat_messages"] if each["sender"] in USER_ROLES and each["text"].strip()]
    said = []
    for each in item.get("conversations") or item.get("conversation") or item.get("messages") or ():
        role, text = each.get("from") or each.get("role"), each.get("value") or each.get("content")
        if role in USER_ROLES and isinstance(text, str) and text.strip():
            said.append(text)
    return said


def _openai(item: Mapping[str, Any]) -> Iterator[str]:
    """The branch that the user left the chat on, from its first message."""
    nodes, branch, here = item["mapping"], [], item.get("current_node")
    while here:
        branch.append(nodes[here])
        here = nodes[here].get("parent")
    for node in reversed(branch):
        message = node.get("message")
        if message and message["author"]["role"] == "user":
            text = "\n".join(part for part in message["content"].get("parts", ()) if isinstance(part, str))
            if text.strip():
                yield text


def _study(path: Path) -> Iterator[list[str]]:
    chats: dict[tuple[str, str], list[str]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        missing = [name for name in ("participant", "place", "role", "text") if name not in (table.fieldnames or ())]
        if missing:
            raise ChatFileError(f"{path}: no chat found, since there is no column {', '.join(missing)}; {FORMS}")
        for row in table:
            if row["role"] == "user":
                chats.setdefault((row["participant"], row["place"]), []).append(_GUARD.sub("", row["text"]))
    yield from chats.values()
