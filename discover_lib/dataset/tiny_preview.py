"""What a trainer is given of a row when the tiny model learns from it, and which words carry loss.

The same as `loss_preview` for the templates of other models: pieces of the very text that the tiny model's tokenizer
makes of the row (a test compares them with its own mask).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discover_lib.base.tokens import WireMessage
from discover_lib.dataset.preview import Piece
from discover_lib.engines.local.tiny_language import ASSISTANT, END, USER, encode_messages

MARKS = {"user": f" {USER} ", "assistant": f" {ASSISTANT} "}


def tiny_sequences(row: Mapping[str, Any], domain: str) -> dict[str, list[Piece]]:
    """The sequences that a trainer makes of a row of `domain`: name → pieces.  A preference row makes two."""
    if "messages" in row:
        return {"conversation": _pieces(encode_messages(row["messages"], domain), loss=True)}
    prompt = encode_messages(row["prompt"], domain)
    if "chosen" in row:
        before = [*_pieces(prompt, loss=False), Piece(MARKS["assistant"], "template", False)]
        return {name: before + _reply(row[name], domain) for name in ("chosen", "rejected")}
    return {"prompt": [*_pieces(prompt, loss=False), Piece(MARKS["assistant"], "template", False)]}


def _reply(reply: Sequence[WireMessage], domain: str) -> list[Piece]:
    """A reply behind its prompt: all of it carries loss."""
    said = encode_messages(reply, domain)[-1]["content"]
    return [Piece(said, "assistant", True), Piece(f" {END}", "template", True)]


def _pieces(wire: Sequence[Mapping[str, str]], *, loss: bool) -> list[Piece]:
    pieces = []
    for message in wire:
        learnt = loss and message["role"] == "assistant"
        mark = MARKS.get(message["role"])
        pieces += [Piece(mark, "template", False)] if mark else []
        pieces.append(Piece(message["content"], message["role"], learnt))
        pieces += [Piece(f" {END}", "template", learnt)] if mark else []
    return pieces
