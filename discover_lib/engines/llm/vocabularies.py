"""Tokens of a text by the vocabulary of the model that wrote it, where that is on this machine.

LiteLLM's package holds the vocabularies of OpenAI's models (cl100k_base, o200k_base) as tiktoken stores them.  They are
read from there and never from the network.  Other providers do not publish theirs: for their models the documented rule
counts (`discover_lib.base.tokens`).
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from discover_lib.base.tokens import COUNTING, count_tokens

FOLDER = Path("litellm_core_utils/tokenizers")  # in LiteLLM's package
SOURCE = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"  # a file's name is this address's SHA-1
LETTER = r"[^\r\n\p{L}\p{N}]?"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
# How each vocabulary divides a text before it merges, as tiktoken states it.
PATTERNS = {
    "cl100k_base": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "o200k_base": rf"{LETTER}{UPPER}*{LOWER}+{ENDING}|{LETTER}{UPPER}+{LOWER}*{ENDING}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}

_reading = threading.Lock()


def count_for(model: str, text: str) -> tuple[int, str]:
    """Tokens of a text that `model` wrote, and the way they were counted, for the record."""
    vocabulary = vocabulary_of(model)
    encoding = _encoding(vocabulary) if vocabulary else None
    if encoding is None:
        return count_tokens(text), COUNTING
    return len(encoding.encode_ordinary(text)), f"{vocabulary} vocabulary, text only"


def vocabulary_of(model: str) -> str | None:
    """The vocabulary of a model by its name, whichever provider serves it; None where it is not known."""
    try:
        from tiktoken.model import encoding_name_for_model

        name = encoding_name_for_model(model.rpartition("/")[2]).replace("o200k_harmony", "o200k_base")
    except (ImportError, KeyError):
        return None
    return name if name in PATTERNS else None


def _encoding(vocabulary: str) -> Any:
    """tiktoken's encoding; None where LiteLLM's package does not hold the vocabulary."""
    with _reading:  # half a second, once
        return _read_encoding(vocabulary)


@lru_cache
def _read_encoding(vocabulary: str) -> Any:
    import tiktoken

    package = importlib.util.find_spec("litellm")
    name = hashlib.sha1(SOURCE.format(vocabulary).encode(), usedforsecurity=False).hexdigest()
    if package is None or package.origin is None or not (path := Path(package.origin).parent / FOLDER / name).is_file():
        return None
    lines = (line.split() for line in path.read_bytes().splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding(vocabulary, pat_str=PATTERNS[vocabulary], mergeable_ranks=ranks, special_tokens={})
