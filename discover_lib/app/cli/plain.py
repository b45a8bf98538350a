"""Values of options that are plainly what they should be, so that Typer need not validate them.

Typer validates every value, defaults too, by an adapter of pydantic.  To import that and to make thirty adapters takes
0.2 s, as long as a hundred turns of the miniature.  Whatever is not plain goes to Typer, which knows the messages.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer

_ANY = vars(typer.Option())
# What an option may say of itself beyond its type; any other thing said is a reason to ask Typer.
_UNDERSTOOD = {"default", "help", "hidden", "max", "metavar", "min", "rich_help_panel", "show_default"}


def accept_plain_values(parameters: Iterable[Any], hints: Mapping[str, Any]) -> None:
    """Have these parameters of a command take plain values as they are.

    Args:
        hints: the name of a parameter → its annotation, where that is known.
    """
    for parameter in parameters:
        hint = hints.get(parameter.name)
        parameter.process_value = partial(_processed, parameter, hint, parameter.process_value)


def _processed(parameter: Any, hint: Any, by_typer: Callable[[Any, Any], Any], context: Any, given: Any) -> Any:
    """The value of a parameter for which `given` stands on the command line, or by default."""
    if given is None:
        if parameter.required:
            return by_typer(context, given)
        value: Any = () if parameter.multiple or parameter.nargs == -1 else None
    else:
        value = plain_value(hint, given)
        if value is None:
            return by_typer(context, given)
    return value if parameter.callback is None else parameter.callback(context, parameter, value)


def plain_value(hint: Any, given: Any) -> Any:
    """`given`, or what its text stands for, where the annotation asks for no more; None where Typer is to look at it.

    >>> plain_value(Annotated[int, typer.Option(min=1)], "12"), plain_value(Annotated[int, typer.Option(min=1)], "0")
    (12, None)
    """
    hint, *infos = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    said = {name: value for info in infos for name, value in vars(info).items() if value != _ANY.get(name)}
    if not said.keys() <= _UNDERSTOOD:
        return None
    of = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [kind for kind in of if kind is not NoneType]
    if kinds == [list[str]]:
        return list(given) if isinstance(given, list | tuple) and all(isinstance(each, str) for each in given) else None
    if len(kinds) != 1 or not isinstance(kind := kinds[0], type):
        return None
    value = _read(given, kind) if isinstance(given, str) else given
    if not isinstance(value, kind):
        return None
    too_low = said.get("min") is not None and value < said["min"]
    too_high = said.get("max") is not None and value > said["max"]
    return None if too_low or too_high else value


def _read(text: str, kind: type) -> Any:
    """What a text says that writes one of this kind in the plainest way; else the text itself, or None."""
    if kind is int:
        digits = text.isascii() and text.isdecimal() and len(text) < 10
        return int(text) if digits and str(int(text)) == text else None
    if kind is Path:
        return Path(text) if "\0" not in text and (not os.path.exists(text) or os.access(text, os.R_OK)) else None
    if issubclass(kind, StrEnum):
        return next((member for member in kind if member.value == text), None)
    return text
