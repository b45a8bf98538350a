"""What a trainer is given, piece by piece, and which pieces carry loss, under the chat template of a base model.

Rendered without any tokenizer, so that it can be shown wherever the rows can.  The Qwen2.5 and Llama 3 templates give
the very text and loss mask of TRL's training templates, and `tiny_sequences` those of the tiny model's tokenizer (tests
compare them where TRL and transformers are installed).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discover_lib.base.tokens import WireMessage
from discover_lib.engines.local.tiny_language import ASSISTANT, END, USER, encode_messages


@dataclass(frozen=True)
class Piece:
    """A run of text in one sequence.

    Attributes:
        kind: "template" for what the chat template adds, else the role whose words these are.
        loss: the trainer learns to write it.
    """

    text: str
    kind: str
    loss: bool


@dataclass(frozen=True)
class ChatTemplate:
    """How a base model writes a conversation down.

    Attributes:
        head: opens a message; holds ``{role}``.
        lead: between head and words; of an assistant's message in SFT it carries loss, though a model is never asked
            to write it: generation starts behind it.
        tail: closes a message; the model must learn to write the assistant's, it is how it stops.
        begin: opens the whole text.
        default_system: is put in where a conversation brings no system message; "" for none.
        trims: words lose their outer spaces.
    """

    name: str
    head: str
    lead: str
    tail: str
    begin: str = ""
    default_system: str = ""
    trims: bool = False

    def conversation(self, messages: Sequence[WireMessage]) -> list[Piece]:
        """A whole conversation as SFT takes it: the assistant's messages carry loss, ends included."""
        return _joined([*self._opening(messages), *self._messages(messages, loss=True)])

    def prompt(self, messages: Sequence[WireMessage]) -> list[Piece]:
        """A prompt up to where the model goes on.  It carries no loss."""
        start = Piece(self.head.format(role="assistant") + self.lead, "template", False)
        return _joined([*self._opening(messages), *self._messages(messages, loss=False), start])

    def completion(self, reply: WireMessage) -> list[Piece]:
        """A reply after its prompt, as preference training takes it: all of it carries loss."""
        return [Piece(self._words(reply), reply["role"], True), Piece(self.tail, "template", True)]

    def _opening(self, messages: Sequence[WireMessage]) -> Iterator[Piece]:
        yield Piece(self.begin, "template", False)
        if self.default_system and (not messages or messages[0]["role"] != "system"):
            yield from self._messages([{"role": "system", "content": self.default_system}], loss=False)

    def _messages(self, messages: Iterable[WireMessage], *, loss: bool) -> Iterator[Piece]:
        for message in messages:
            learnt = loss and message["role"] == "assistant"
            yield Piece(self.head.format(role=message["role"]), "template", False)
            yield Piece(self.lead, "template", learnt)
            yield Piece(self._words(message), message["role"], learnt)
            yield Piece(self.tail, "template", learnt)

    def _words(self, message: WireMessage) -> str:
        return message["content"].strip() if self.trims else message["content"]


TEMPLATES: Mapping[str, ChatTemplate] = {
    each.name: each
    for each in (
        ChatTemplate(
            "Qwen2.5",
            head="<|im_start|>{role}",
            lead="\n",
            tail="<|im_end|>\n",
            default_system="You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
        ),
        ChatTemplate(
            "Llama 3",
            head="<|start_header_id|>{role}<|end_header_id|>\n\n",
            lead="",
            tail="<|eot_id|>",
            begin="<|begin_of_text|>",
            trims=True,
        ),
        ChatTemplate("Plain labels", head="[{role}]", lead=" ", tail="</s>\n"),
    )
}


def sequences(row: Mapping[str, Any], template: ChatTemplate) -> dict[str, list[Piece]]:
    """The sequences that a trainer makes of a row: name → pieces.  A preference row makes two."""
    if "messages" in row:
        return {"conversation": template.conversation(row["messages"])}
    if "chosen" in row:
        prompt = template.prompt(row["prompt"])
        return {name: prompt + template.completion(row[name][0]) for name in ("chosen", "rejected")}
    return {"prompt": template.prompt(row["prompt"])}


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbours of one kind become one piece; empty ones are left out."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and (joined[-1].kind, joined[-1].loss) == (piece.kind, piece.loss):
            joined[-1] = Piece(joined[-1].text + piece.text, piece.kind, piece.loss)
        elif piece.text:
            joined.append(piece)
    return joined


# -- the tiny model ----------------------------------------------------------------------------------------------------

_MARKS = {"user": f" {USER} ", "assistant": f" {ASSISTANT} "}


def tiny_sequences(row: Mapping[str, Any], domain: str) -> dict[str, list[Piece]]:
    """The sequences that a trainer makes of a row of `domain`: name → pieces.  A preference row makes two."""
    if "messages" in row:
        return {"conversation": _pieces(encode_messages(row["messages"], domain), loss=True)}
    prompt = encode_messages(row["prompt"], domain)
    if "chosen" in row:
        before = [*_pieces(prompt, loss=False), Piece(_MARKS["assistant"], "template", False)]
        return {name: before + _reply(row[name], domain) for name in ("chosen", "rejected")}
    return {"prompt": [*_pieces(prompt, loss=False), Piece(_MARKS["assistant"], "template", False)]}


def _reply(reply: Sequence[WireMessage], domain: str) -> list[Piece]:
    """A reply behind its prompt: all of it carries loss."""
    content = encode_messages(reply, domain)[-1]["content"]
    return [Piece(content, "assistant", True), Piece(f" {END}", "template", True)]


def _pieces(wire: Sequence[Mapping[str, str]], *, loss: bool) -> list[Piece]:
    pieces = []
    for message in wire:
        learnt = loss and message["role"] == "assistant"
        mark = _MARKS.get(message["role"])
        pieces += [Piece(mark, "template", False)] if mark else []
        pieces.append(Piece(message["content"], message["role"], learnt))
        pieces += [Piece(f" {END}", "template", learnt)] if mark else []
    return pieces
