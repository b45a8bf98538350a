"""Reading the JSON that a language model answered with, without guessing what it did not say.

An answer is the outermost JSON object of a text, after the thinking that the text may begin with, whatever prose or
fence stands around it.  What is not quite JSON (trailing commas, single quotes) is read as json_repair mends it, if
every letter, digit and bracket is still there.  Anything else is asked for again: that costs a call, where a misreading
would cost the result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from discover_lib.base.errors import DiscoverError

T = TypeVar("T", bound=BaseModel)
Check = Callable[[T], str | None]  # one line that names what is wrong with an answer's content, or None

LONGEST_TEXT = 400_000  # characters; no answer is that long, and mending is not linear for hostile texts
NUMBERED_BY = ("id", "turn", "number")  # what an entry of a list is called by, as its prompt does

_TAGS = r"(?:think|thinking|thought|reasoning)"
# Some servers cut off the opening tag; a closing one in quotes is talk about it.
_THINKING = re.compile(rf"\s*(?:<({_TAGS})>.*?</\1>|(?:(?!<{_TAGS}\b).)*?(?<![`\"'])</{_TAGS}>)", re.DOTALL | re.I)
_UNENDED = re.compile(rf"\s*<{_TAGS}>", re.IGNORECASE)


class UnusableError(DiscoverError):
    """A text that is no usable answer; the message says why, in words for whoever wrote it."""


@dataclass(frozen=True)
class Read(Generic[T]):
    """An answer; `clean` if the text was exactly the JSON that was asked for."""

    value: T
    clean: bool


def read_answer(text: str, answer: type[T], check: Check[T], finish_reason: str | None = None) -> Read[T]:
    """The answer in `text`, whose content `check` has nothing against.

    Raises:
        UnusableError: there is no answer, it breaks off, or its form or content is wrong.
    """
    if finish_reason == "length":
        raise UnusableError("the answer breaks off, since the limit of tokens was reached")
    if len(text) > LONGEST_TEXT:
        raise UnusableError(f"the answer is {len(text)} characters long")
    told = without_thinking(text)
    part = told[told.find("{") : told.rfind("}") + 1]
    if not part:
        raise UnusableError("there is no JSON object")
    try:
        data, whole = _json_of(part)
        value = answer.model_validate(data)
    except RecursionError:
        raise UnusableError("the answer is nested too deep") from None
    except ValidationError as error:
        first = error.errors()[0]
        why = first["msg"].removeprefix("Value error, ")
        raise UnusableError(f"{_place_in(data, first['loc'])}: {why}") from None
    if defect := check(value):
        raise UnusableError(defect)
    return Read(value, whole and part == text.strip())


def without_thinking(text: str) -> str:
    """`text` after the thinking that it begins with, which servers without a parser for it leave there.

    Raises:
        UnusableError: the thinking never ends.
    """
    while closed := _THINKING.match(text):
        text = text[closed.end() :]
    if _UNENDED.match(text):
        raise UnusableError("the thinking does not end")
    return text


def _json_of(part: str) -> tuple[Any, bool]:
    """What a text from the first brace to the last one holds, and whether it needed no mending."""
    from json_repair import repair_json

    try:
        return json.loads(part, object_pairs_hook=_no_contradiction), True
    except ValueError:
        data = repair_json(part, return_objects=True)
    if not isinstance(data, dict) or not _says_the_same(part, data):
        raise UnusableError("what stands between the braces is not one whole JSON object")
    return data, False


def _no_contradiction(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if any(data[name] != value for name, value in pairs):
        raise ValueError("a field is given twice")
    return data


def _says_the_same(part: str, data: Any) -> bool:
    """Whether mended data holds all letters, digits and brackets in their order."""
    if re.search(r'\\[^"n]', part):
        return False  # an escape that may be mended to something else
    return _signs(part) == _signs(json.dumps(data, ensure_ascii=False))


def _signs(text: str) -> str:
    return "".join(sign for sign in text.casefold().replace("none", "null") if sign.isalnum() or sign in "{}[]")


def _place_in(data: Any, where: Sequence[int | str]) -> str:
    """A place in an answer as whoever wrote it knows it: "score of 5.1.1.1", "behaviour of turn 2"."""
    parts: list[str] = []
    for step in where:
        inside = (isinstance(data, dict) and step in data) or isinstance(data, list)
        data = data[step] if inside else None
        own = next((name for name in NUMBERED_BY if isinstance(data, dict) and name in data), "")
        if isinstance(step, int) and own:
            parts = [f"{own} {data[own]}".removeprefix("id ")]
        else:
            parts.insert(0, f"entry {step + 1}" if isinstance(step, int) else step)
    return " of ".join(parts) or "the answer"


@lru_cache(maxsize=64)
def schema_of(answer: type[BaseModel]) -> dict[str, Any]:
    """An answer's JSON schema."""
    return answer.model_json_schema()
