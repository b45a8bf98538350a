"""What may stand in the file of a lexicon: a slip of the pen is one line that names the place and what belongs there.

Here is only which keys there are and what they hold; what the values mean to each other is held by `check_lexicon`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

_Texts = list[str | int | float]  # a number in a list of phrases is one
_Number = Annotated[int, msgspec.Meta(ge=1)]
_PLACE = re.compile(r"\.(\w+)\[(\d+)\]")  # within where msgspec says that a slip is
_WORDS = {  # msgspec's → a lexicon's
    "Object missing required field": "it lacks",
    "Object contains unknown field": "nothing is known there by the name",
    "Expected": "expected",
    "`array`": "a list",
    "`object`": "a mapping",
    "`object | null`": "a mapping",
    "`str`": "a text",
    "`int`": "a whole number",
    "`bool`": "true or false",
    "`float`": "a number",
    "`null`": "nothing",
}


class _Part(msgspec.Struct, forbid_unknown_fields=True):
    joint: str
    item: str = ""


class _Form(msgspec.Struct, forbid_unknown_fields=True):
    frame: str
    parts: dict[str, _Part]
    suffixes: _Texts
    language: str = ""


class _Value(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    text: str
    say: str
    cues: _Texts
    talk: _Texts = []
    line: str = ""
    opening: str = ""
    beside: bool = False
    never_with: _Texts = []
    values: list[_Value] | None = None


class _Dimension(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    aspect: str
    values: Annotated[list[_Value], msgspec.Meta(min_length=1)]
    asked: bool = False
    optional: bool = False
    holds: _Number = 1
    part: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    domain: str
    artifact_type: str
    request: str | list[str]
    dimensions: Annotated[list[_Dimension], msgspec.Meta(min_length=1)]
    form: _Form | None = None
    world: _Number = 1


def problem_of(data: Any) -> str:
    """What is wrong with the parsed file of a lexicon, in one line; "" if nothing is."""
    try:
        file = msgspec.convert(data, _File)
    except msgspec.ValidationError as error:
        return _named(str(error), data)
    return next(_problems(file), "")


def _problems(file: _File) -> Iterator[str]:
    requests = [file.request] if isinstance(file.request, str) else file.request
    if not requests or not all(map(_is_frame, requests)):
        yield f"'request' must be a text with {{items}} in it, or a list of such texts, got {file.request!r:.60}"
    for row in file.form.frame.split() if file.form else ():
        if re.fullmatch(r"\$\w+", row) and row[1:] not in {"title", *file.form.parts}:  # type: ignore[union-attr]
            yield f"the form's frame has a row {row}, and the form no such part"
    names = [dimension.name for dimension in file.dimensions]
    yield from (f"dimension {name!r} stands twice" for at, name in enumerate(names) if name in names[:at])
    if not any(dimension.asked for dimension in file.dimensions):
        yield "no dimension is asked for: one that a request begins with has 'asked: true'"


def _is_frame(text: str) -> bool:
    try:
        return "{items}" in text and bool(text.format(items="x"))
    except (LookupError, ValueError):  # another name in braces, or a brace alone
        return False


def _named(complaint: str, data: Any) -> str:
    """What msgspec says, in a lexicon's words, with the dimension and the values of its place by their names."""
    said, _, place = complaint.partition(" - at `$")
    path = []
    for key, number in _PLACE.findall(place):
        data = data[key][int(number)]
        name = data.get("name", data.get("id")) if isinstance(data, dict) else None
        path.append(repr(name) if isinstance(name, str) else f"{key}[{number}]")
    path.append(_PLACE.sub("", place).strip("`").lstrip("."))
    quotes = "; put it in quotes" if re.match(r"Expected `str`, got `(bool|int|float)`", said) else ""
    for theirs, ours in _WORDS.items():
        said = said.replace(theirs, ours)
    return ": ".join(filter(None, path)) + (": " if any(path) else "") + said.replace("`", "'") + quotes
