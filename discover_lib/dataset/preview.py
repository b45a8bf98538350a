"""The text that a trainer gets, piece by piece, and its loss mask: for Qwen2.5 and for the tiny model.

It needs no tokenizer.  `QWEN` gives the text and the loss mask of TRL's training template, and `tiny_sequences` gives
those of the tiny model's tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from discover_lib.base.tokens import WireMessage
from discover_lib.engines.local.tiny_language import ASSISTANT, END, USER, encode_messages

SIDES = ("chosen", "rejected")


@dataclass(frozen=True)
class Piece:
    """A run of text in one sequence.

    Attributes:
        kind: "template" for the text of the chat template, else the role that speaks.
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
        default_system: is used if a conversation has no system message; "" adds no message.
        roles: role → its name in the template, if it differs.
    """

    head: str
    lead: str
    tail: str
    default_system: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)

    def pieces(self, messages: Sequence[WireMessage], *, loss: bool) -> list[Piece]:
        """A conversation.  With `loss` the assistant's messages carry it, ends included; without, it is a prompt, up to
        where the model continues.
        """
        given = list(messages)
        if self.default_system and (not given or given[0]["role"] != "system"):
            given.insert(0, {"role": "system", "content": self.default_system})
        pieces: list[Piece] = []
        for message in given:
            learnt = loss and message["role"] == "assistant"
            head = Piece(self._head(message["role"]), "template", False)
            pieces += [head, Piece(self.lead, "template", learnt), *self._words(message, learnt)]
        pieces += [] if loss else [Piece(self._head("assistant") + self.lead, "template", False)]
        return _joined(pieces)

    def sequences(self, row: Mapping[str, Any]) -> dict[str, list[Piece]]:
        """The sequences that a trainer makes of a row: name → pieces.  A preference row makes two."""
        if "messages" in row:
            return {"conversation": self.pieces(row["messages"], loss=True)}
        prompt = self.pieces(row["prompt"], loss=False)
        if "chosen" not in row:
            return {"prompt": prompt}
        return {name: prompt + self._words(row[name][0], True) for name in SIDES}

    def _head(self, role: str) -> str:
        return self.head.format(role=self.roles.get(role, role))

    def _words(self, message: WireMessage, learnt: bool) -> list[Piece]:
        return [Piece(message["content"], message["role"], learnt), Piece(self.tail, "template", learnt)]


QWEN = ChatTemplate(
    head="<|im_start|>{role}",
    lead="\n",
    tail="<|im_end|>\n",
    default_system="You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
)
TINY = ChatTemplate(head=" {role} ", lead="", tail=f" {END}", roles={"user": USER, "assistant": ASSISTANT})


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbours of one kind become one piece; empty ones are left out."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and (joined[-1].kind, joined[-1].loss) == (piece.kind, piece.loss):
            joined[-1] = Piece(joined[-1].text + piece.text, piece.kind, piece.loss)
        elif piece.text:
            joined.append(piece)
    return joined


def tiny_sequences(row: Mapping[str, Any], domain: str) -> dict[str, list[Piece]]:
    """The sequences that the tiny model's trainer makes of a row of `domain`: name → pieces."""
    about, *_ = encode_messages((), domain)
    encoded = {name: encode_messages(row[name], domain)[1:] for name in ("messages", "prompt", *SIDES) if name in row}
    opening = [Piece(about["content"], "system", False)]
    return {name: opening + pieces for name, pieces in TINY.sequences(encoded).items()}
