"""Prompts as readable files: rendered strictly, identified by a hash of the sent text, replaceable from a folder.

A template (`prompts/<name>.md`) opens with a comment for its readers.  One or more messages follow, each under a line
such as ``--- system ---``.  ``{{ name }}`` marks the place of a value.  `quoted` wraps a conversation or an artifact so
that its text cannot close the quotation.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Message

PROMPT_FOLDER = Path(__file__).parent / "prompts"
# Prompts that a run sends only by an option.
BY_CHOICE = frozenset({"collabllm", "leak_check", "refusal", "user_manner"})
# The style after the "+" of an assistant's name → its system prompt.
STYLES = {
    "co-creation": "co_creation",
    "collaborative": "collaborative",  # in the spirit of the release's system prompt
    "clarifying": "clarifying",
    "collabllm": "collabllm",  # the paper's prompt (E.10) in this project's words
}
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
        sha: SHA-256 of the parts, without the comment, hexadecimal.
    """

    name: str
    parts: tuple[tuple[str, str], ...]
    names: frozenset[str]
    sha: str

    def render(self, values: Mapping[str, str]) -> WireMessages:
        """The messages with every value in its place.

        Raises:
            DiscoverError: a value is missing or unknown.
        """
        for problem, names in (("needs", self.names - set(values)), ("has no place for", set(values) - self.names)):
            if names:
                raise DiscoverError(f"prompt {self.name!r} {problem} {', '.join(sorted(names))}")
        # One pass: a value may itself contain "{{ … }}".
        return tuple(
            {"role": role, "content": _VALUE.sub(lambda found: values[found.group(1)], text)}
            for role, text in self.parts
        )


class PromptSet:
    """All built-in templates; files of the same name in `folder` replace them.

    Raises:
        DiscoverError: `folder` is missing, or contains an unknown template or one that needs other values.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.templates = dict(_built_in())
        if folder is not None:
            self.templates |= self._replacements(folder)

    def render(self, name: str, /, **values: str) -> WireMessages:
        """The messages of prompt `name` (see `Template.render`)."""
        return self[name].render(values)

    def hashes(self, chosen: Collection[str] = ()) -> dict[str, str]:
        """Prompt name → SHA-256, as stored with every run; without the prompts of `BY_CHOICE` that are not `chosen`."""
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


@lru_cache(maxsize=1)
def _built_in() -> dict[str, Template]:
    return _read_folder(PROMPT_FOLDER)


def model_and_style(name: str) -> tuple[str, str]:
    """The model and the style in an assistant's name; the style is "" if there is none."""
    model, _, style = name.rpartition("+")
    return (model, style) if style in STYLES else (name, "")  # a "+" may belong to the model's own name


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


# -- values of prompts -------------------------------------------------------------------------------------------


def quoted(tag: str, text: str) -> str:
    """`text` between tags that do not occur in it: ``<reply>`` … ``</reply>``, or ``<reply2>`` if need be."""
    name, number = tag, 1
    while f"</{name}>" in text:
        number += 1
        name = f"{tag}{number}"
    return f"<{name}>\n{text}\n</{name}>"


def transcript(messages: Sequence[Message], *, numbered: bool = False) -> str:
    """A conversation as quotations; `numbered` writes its turn above every reply."""
    replies = count(1)
    return "\n".join(
        (f"Turn {next(replies)}:\n" if numbered and message.role == "assistant" else "")
        + quoted(message.role, message.content)
        for message in messages
    )


def one_line(text: str) -> str:
    return " ".join(text.split())


def listed(lines: Iterable[str]) -> str:
    """One line each, or "(none)"."""
    return "\n".join(f"- {line}" for line in lines) or "(none)"
