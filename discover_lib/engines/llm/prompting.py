"""Prompts as readable files: rendered strictly, told apart by a hash of what they send, replaceable from a folder.

A template (`prompts/<name>.md`) opens with a comment for its readers, then holds one or more messages, each under a
line such as ``--- system ---``; ``{{ name }}`` stands for a value.  Whatever is quoted in a prompt (a conversation, an
artifact) goes through `quoted`, so that no quotation can pretend to have ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Message

PROMPT_FOLDER = Path(__file__).parent / "prompts"
OVERRIDE_VARIABLE = "DISCOVER_PROMPTS"  # environment variable: a folder whose templates replace ours
# What a run sends only if it says so.
BY_CHOICE = frozenset({"collabllm", "interactivity_paper", "leak_check", "refusal", "user_manner"})
WIRE_ROLES = ("system", "user", "assistant")

_COMMENT = re.compile(r"\A\s*<!--.*?-->\s*", re.DOTALL)
_HEADING = re.compile(r"^--- (\w+) ---$", re.MULTILINE)
_VALUE = re.compile(r"\{\{\s*(\w+)\s*\}\}")

WireMessages = tuple[Mapping[str, str], ...]  # role and content, as every chat API takes them


@dataclass(frozen=True)
class Template:
    """One prompt.

    Attributes:
        parts: (role, text with placeholders) of each message.
        names: the values it needs.
        sha: SHA-256 of what is sent, hexadecimal: the parts, without the comment.
    """

    name: str
    parts: tuple[tuple[str, str], ...]
    names: frozenset[str]
    sha: str

    def render(self, values: Mapping[str, str]) -> WireMessages:
        """The messages with every value in its place.

        Raises:
            DiscoverError: a value is missing, unknown, or not text.
        """
        for problem, names in (("needs", self.names - set(values)), ("has no place for", set(values) - self.names)):
            if names:
                raise DiscoverError(f"prompt {self.name!r} {problem} {', '.join(sorted(names))}")
        for name, value in values.items():
            if not isinstance(value, str):
                raise DiscoverError(f"prompt {self.name!r}: {name} must be text, got {type(value).__name__}")
        # One pass: a value that itself holds "{{ … }}" is left as it is.
        return tuple(
            {"role": role, "content": _VALUE.sub(lambda found: values[found.group(1)], text)}
            for role, text in self.parts
        )


class PromptSet:
    """All templates, ours or with some replaced by files of the same name in `folder`.

    Raises:
        DiscoverError: `folder` is missing, or holds a template that we do not know or that needs other values.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.templates = _read_folder(PROMPT_FOLDER)
        if folder is not None:
            self.templates |= self._replacements(folder)

    def render(self, name: str, /, **values: str) -> WireMessages:
        """The messages of prompt `name` (see `Template.render`)."""
        return self[name].render(values)

    def hashes(self, chosen: Collection[str] = ()) -> dict[str, str]:
        """Prompt name → SHA-256 of what it sends, as stored with every run; of those by choice the `chosen` alone."""
        left_out = BY_CHOICE.difference(chosen)
        return {name: each.sha for name, each in sorted(self.templates.items()) if name not in left_out}

    def __getitem__(self, name: str) -> Template:
        if name not in self.templates:
            raise DiscoverError(f"unknown prompt {name!r}; there are {', '.join(sorted(self.templates))}")
        return self.templates[name]

    def _replacements(self, folder: Path) -> dict[str, Template]:
        if not folder.is_dir():
            raise DiscoverError(f"{folder}: no such folder of prompts")
        found = _read_folder(folder)
        for name, template in found.items():
            ours = self[name]
            if template.names != ours.names:
                wanted, given = (", ".join(sorted(each)) or "none" for each in (ours.names, template.names))
                raise DiscoverError(f"{folder}: prompt {name!r} must use the values {wanted}; it uses {given}")
        return found


def default_prompts() -> PromptSet:
    """Our prompts, with those of the folder that DISCOVER_PROMPTS names in their place."""
    return _prompts_of(os.environ.get(OVERRIDE_VARIABLE) or None)


def render(name: str, /, **values: str) -> WireMessages:
    """The messages of one of the default prompts (see `Template.render`)."""
    return default_prompts().render(name, **values)


@lru_cache(maxsize=8)
def _prompts_of(folder: str | None) -> PromptSet:
    return PromptSet(Path(folder) if folder else None)


def _read_folder(folder: Path) -> dict[str, Template]:
    return {path.stem: _parse(path.stem, path.read_text("utf-8")) for path in sorted(folder.glob("*.md"))}


def _parse(name: str, text: str) -> Template:
    text = text.replace("\r\n", "\n")
    pieces = _HEADING.split(_COMMENT.sub("", text))
    if len(pieces) < 3 or pieces[0].strip():
        raise DiscoverError(
            f"prompt {name!r}: after its comment, a template starts with a line such as '--- system ---'"
        )
    parts = tuple((role, body.strip()) for role, body in zip(pieces[1::2], pieces[2::2], strict=True))
    for role, body in parts:
        if role not in WIRE_ROLES:
            raise DiscoverError(f"prompt {name!r}: a message is from one of {', '.join(WIRE_ROLES)}, not {role!r}")
        if not body:
            raise DiscoverError(f"prompt {name!r}: an empty {role} message")
        if "{{" in _VALUE.sub("", body):
            raise DiscoverError(f"prompt {name!r}: a '{{{{' that opens no value; write {{{{ name }}}}")
    names = frozenset(name for _, body in parts for name in _VALUE.findall(body))
    sha = hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()
    return Template(name, parts, names, sha)


# -- what goes into a prompt ---------------------------------------------------------------------------------------


def quoted(tag: str, text: str) -> str:
    """`text` between tags that do not occur in it: ``<reply>`` … ``</reply>``, or ``<reply2>`` if need be."""
    name, number = tag, 1
    while f"</{name}>" in text:
        number += 1
        name = f"{tag}{number}"
    return f"<{name}>\n{text}\n</{name}>"


def transcript(messages: Sequence[Message], *, numbered: bool = False) -> str:
    """A conversation for someone who is not in it; `numbered` says above every reply which turn it is."""
    replies = count(1)
    return "\n".join(
        (f"Turn {next(replies)}:\n" if numbered and message.role == "assistant" else "")
        + quoted(message.role, message.content)
        for message in messages
    )


def one_line(text: str) -> str:
    return " ".join(text.split())


def listed(lines: Iterable[str]) -> str:
    """One line each, or a word that says that there is none."""
    return "\n".join(f"- {line}" for line in lines) or "(none)"
