"""Counting the tokens of whole conversations, as a trainer will see them, by a way that the data can name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from discover_lib.base.tokens import COUNTING, count_tokens

WireMessage = dict[str, str]  # role and content, as TRL and every chat API take them


def count_texts(messages: Sequence[WireMessage]) -> int:
    """Tokens of the messages' texts by the documented rule; what a chat template adds is left out."""
    return sum(_count_cached(each["content"]) for each in messages)


_count_cached = lru_cache(maxsize=65536)(count_tokens)  # every prompt repeats the one before it


@dataclass(frozen=True)
class TokenCount:
    """A way of counting the tokens of a whole conversation, with the name that the data give it."""

    name: str = f"{COUNTING}, texts only"
    count: Callable[[Sequence[WireMessage]], int] = count_texts


def token_count(base: str | None = None) -> TokenCount:
    """Counting by the tokenizer and chat template of a base model, a folder or one that was downloaded before.

    Where it is not present, or no base is named, the documented rule counts, and its name says so.
    """
    if base is None:
        return TokenCount()
    try:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    except (ImportError, OSError, ValueError):
        return TokenCount(f"{TokenCount.name} (no tokenizer of {base} on this machine)")
    if tokenizer.chat_template is None:
        return TokenCount(
            f"tokenizer of {base}, texts only",
            lambda messages: sum(len(tokenizer(each["content"]).input_ids) for each in messages),
        )
    return TokenCount(
        f"tokenizer and chat template of {base}",
        lambda messages: len(tokenizer.apply_chat_template(list(messages), return_dict=True)["input_ids"]),
    )
