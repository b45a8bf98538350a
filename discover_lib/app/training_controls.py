"""Controls of the training pages: every field of a recipe as a control that its type asks for, and back.

marimo is imported where it is used: the library itself does without it.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from discover_lib.train.recipes import FieldError

if TYPE_CHECKING:
    from pathlib import Path

    from _typeshed import DataclassInstance


Record = TypeVar("Record", bound="DataclassInstance")


def field_controls(record: DataclassInstance, prefix: str = "") -> dict[str, Any]:
    """A control for each field of a frozen record: name (with the prefix) → control, holding the field's value.

    Numbers are typed, since rates range over many powers of ten; "" stands for None.
    """
    import marimo as mo

    hints = get_type_hints(type(record))
    controls: dict[str, Any] = {}
    for field in dataclasses.fields(record):
        value, hint = getattr(record, field.name), hints[field.name]
        label = field.name.replace("_", " ")
        if choices := _choices(hint):
            offered = {_shown(each): each for each in choices}
            made = mo.ui.dropdown(offered, value=_shown(value), label=label, full_width=True)
        elif hint is bool:
            made = mo.ui.checkbox(value=value, label=label)
        else:
            made = mo.ui.text(value=_shown(value), label=label, full_width=True)
        controls[prefix + field.name] = made
    return controls


def changed_fields(record: DataclassInstance, values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Field → value where the controls hold something else than the record; raises as `read_fields`."""
    read = read_fields(record, values, prefix)
    names = [field.name for field in dataclasses.fields(record)]
    return {name: getattr(read, name) for name in names if getattr(read, name) != getattr(record, name)}


def read_fields(record: Record, values: Mapping[str, Any], prefix: str = "") -> Record:
    """The record with what the controls hold.

    Raises:
        FieldError: a text is no number, or no list, where one is needed.
        ValueError: the record itself refuses a value.
    """
    hints = get_type_hints(type(record))
    changes = {
        field.name: _read(field.name, hints[field.name], values[prefix + field.name])
        for field in dataclasses.fields(record)
        if prefix + field.name in values
    }
    return dataclasses.replace(record, **changes)


def _choices(hint: Any) -> tuple[Any, ...]:
    """The values of a Literal type, None among them where it is optional."""
    parts = [part for part in _parts(hint) if part is not type(None)]
    if not parts or any(get_origin(part) is not Literal for part in parts):
        return ()
    listed = tuple(value for part in parts for value in get_args(part))
    return (*listed, None) if type(None) in _parts(hint) else listed


def _parts(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _shown(value: Any) -> str:
    """A value as one types it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return ", ".join(_shown(each) for each in value)
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def _read(name: str, hint: Any, given: Any) -> Any:
    if not isinstance(given, str) or _choices(hint):
        return given
    text, parts = given.strip(), _parts(hint)
    if not text and type(None) in parts:
        return None
    if numeric := [part for part in (float, int) if part in parts]:
        return _number(name, numeric[0], text)
    for part in parts:
        if get_origin(part) is tuple:
            inner = get_args(part)[0]
            return tuple(_read(name, inner, each) for each in text.split(",") if each.strip())
    return text


def _number(name: str, kind: type, text: str) -> int | float:
    words = name.replace("_", " ")
    try:
        value = float(text.replace("−", "-"))
    except ValueError:
        raise FieldError(f"{words}: {text!r} is no number; write one such as 5e-6 or 16") from None
    if not math.isfinite(value):
        raise FieldError(f"{words}: a finite number is needed, got {text}")
    if kind is int:
        if value != int(value):
            raise FieldError(f"{words}: a whole number is needed, got {text}")
        return int(value)
    return value


def shown_path(path: Path, project: Path) -> str:
    """A path as one types it in the project's folder."""
    return str(path.relative_to(project)) if path.is_relative_to(project) else str(path)
