"""A conversation as a chat model reads it: the same tokens in training, in sampling and in use.

A reply's prompt is what the chat template writes up to where the reply begins; behind a reply stands what the template
writes between it and the next one.  So tokens are only ever added, and what a model wrote stays as it was.  Templates
alone do not promise this: Qwen3's leaves the block of the thoughts out of all turns but the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discover_lib.base.tokens import WireMessage
from discover_lib.engines.local.dialect import LocalModelError, heard

SLOT = "⟦the reply⟧"  # stands for a reply where only what surrounds it is wanted


@dataclass(frozen=True)
class Labelled:
    """Token ids, and of each whether it carries loss: the assistant's words with their end mark."""

    ids: list[int]
    own: list[bool]


@dataclass(frozen=True)
class Chat:
    """A tokenizer's chat template, with the one decision that many templates leave to whoever uses them.

    Attributes:
        thinking: whether the model may think before it replies.
    """

    tokenizer: Any
    thinking: bool = False

    def prompt(self, messages: Sequence[WireMessage]) -> list[int]:
        """Token ids of a conversation up to where the next reply begins."""
        return self._labelled(messages, reply_next=True).ids

    def labelled(self, messages: Sequence[WireMessage]) -> Labelled:
        """Token ids of a whole conversation, and which of them the assistant said."""
        return self._labelled(messages, reply_next=False)

    def between(self, messages: Sequence[WireMessage], *, ended: bool = False) -> list[int]:
        """What stands between the last reply and the next one: its end mark, the user's message, the next prompt.

        Args:
            ended: the end mark is written already.
        """
        parts = self._parted(self._gaps(messages, reply_next=True)[-1], behind=True, before=True)
        return [token for part in parts for token in self._ids(part)][int(ended) :]

    @cached_property
    def closing(self) -> list[int]:
        """What the template writes behind a reply, its end mark first; [] if it has none."""
        return self._ids(self._closed[1])

    def _labelled(self, messages: Sequence[WireMessage], *, reply_next: bool) -> Labelled:
        replies = [str(each["content"]).strip() for each in messages if each["role"] == "assistant"]
        parts: list[tuple[list[int], bool]] = []
        for place, gap in enumerate(self._gaps(messages, reply_next=reply_next)):
            reply, before = replies[place - 1] if place else "", place < len(replies) or reply_next
            end, others, opening = self._parted(gap, behind=place > 0, before=before)
            for text, is_own in ((reply, True), (end, True), (others, False), (opening, True)):
                parts.append((self._ids(text), is_own))
        own = [is_own for tokens, is_own in parts for _ in tokens]
        return Labelled([token for tokens, _ in parts for token in tokens], own)

    def _parted(self, gap: str, *, behind: bool, before: bool) -> tuple[str, str, str]:
        """A gap as the end of the reply that it stands behind, others' words, and the beginning of the next reply."""
        rest = gap.removesuffix(self._opening) if before else gap
        end = self._closed[1] if behind and rest.startswith(self._closed[1]) else ""
        return end, rest[len(end) :], gap[len(rest) :]

    def _gaps(self, messages: Sequence[WireMessage], *, reply_next: bool) -> list[str]:
        """What the template writes before, between and behind the replies."""
        slots: list[WireMessage] = [
            {"role": "assistant", "content": SLOT} if each["role"] == "assistant" else each for each in messages
        ]
        replies = [place for place, each in enumerate(slots) if each["role"] == "assistant"]
        gaps = []
        for number, place in enumerate([*replies, len(slots)]):
            last = place == len(slots)
            parts = self._parts(slots[:place], reply_next=reply_next or not last, replies=number)
            gaps.append(parts[-1] + ("" if last else self._extra))
        return gaps

    def _parts(self, messages: Sequence[WireMessage], *, replies: int, reply_next: bool = False) -> list[str]:
        """What the template writes around slots."""
        parts = self._render(messages, reply_next=reply_next).split(SLOT)
        if len(parts) != replies + 1:
            raise LocalModelError("the base's chat template leaves replies out, so they can be neither read nor learnt")
        return parts

    @cached_property
    def _closed(self) -> tuple[str, str]:
        """What the template writes around a conversation's last reply."""
        messages: list[WireMessage] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": SLOT}]
        before, behind = self._parts(messages, replies=1)
        return before, behind

    @cached_property
    def _extra(self) -> str:
        """What the template puts before a finished reply and leaves to the model when it has yet to be written."""
        asked = self._render([{"role": "user", "content": "a"}], reply_next=True)
        return self._closed[0].removeprefix(asked) if self._closed[0].startswith(asked) else ""

    @cached_property
    def _opening(self) -> str:
        """What the assistant's turn begins with beyond the words that call it up, such as an empty thought."""
        free = self._render([{"role": "user", "content": "a"}], reply_next=True, thinking=True)
        asked = self._render([{"role": "user", "content": "a"}], reply_next=True) + self._extra
        return asked.removeprefix(free) if asked.startswith(free) else ""

    def _render(self, messages: Sequence[WireMessage], *, reply_next: bool = False, thinking: bool = False) -> str:
        from jinja2 import TemplateError

        may_think = thinking or self.thinking
        try:
            text = self.tokenizer.apply_chat_template(
                list(messages),
                tokenize=False,
                add_generation_prompt=reply_next,
                enable_thinking=may_think,
                thinking=may_think,  # what other families call it
            )
        except TemplateError as error:
            raise LocalModelError(f"the base's chat template refuses a conversation: {error}") from None
        return str(text)

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"]) if text else []


def end_tokens(settings: Any, tokenizer: Any) -> tuple[int, ...]:
    """Ids of which each ends a reply: the tokenizer's, and those that a model's settings of generation name."""
    named = settings.eos_token_id
    listed = named if isinstance(named, list) else [named]
    return tuple(dict.fromkeys(each for each in (tokenizer.eos_token_id, *listed) if each is not None))


def said(ids: Sequence[int], tokenizer: Any, ends: Sequence[int]) -> tuple[str, int]:
    """A reply's text and its length in tokens: without end marks, and without thoughts, which nobody hears.

    A thought that never ends leaves nothing.

    Args:
        ends: of `end_tokens`.
    """
    kept = [each for each in ids if each not in (*ends, tokenizer.pad_token_id)]
    whole = tokenizer.decode(kept, skip_special_tokens=True).strip()
    text = heard(whole)
    return (text, len(kept)) if text == whole else (text, len(tokenizer(text, add_special_tokens=False)["input_ids"]))
