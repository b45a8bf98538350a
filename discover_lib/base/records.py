"""Frozen records ↔ plain JSON data, by the type hints of their fields.

A dataclass that inherits from `Record` has `to_dict` and `from_dict`.  Each hint has one JSON form:

    str, int, float, bool, None, Any, Literal     itself
    an Enum                                       the member's name in lower case
    a Record                                      an object
    tuple[X, ...], tuple[X, Y], Sequence[X]       a list
    frozenset[str]                                a sorted list
    Mapping[K, X]                                 an object
    X | None                                      the same, or null
    X | Y                                         itself; the class turns lists back into tuples where it needs them

Numbers keep the type that they have: an `int` in a field of type `float` is written and read as an `int`, so that a
record that was read is written again byte for byte.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import operator
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

import msgspec

from discover_lib.base.errors import DiscoverError

_PLAIN = (str, int, float, bool, type(None), Any)

Change = Callable[[Any], Any]


class RecordError(DiscoverError):
    """Data that do not have a record's form; the message names the record and the field."""


class Record:
    """The base of frozen dataclasses that become JSON and are read back from it.

    Keyword arguments of the class statement:
        written: the names of all fields in the order in which they are written; by default as they are declared.
        omit: fields that are left out while they hold their default.
        derived: properties that are written for people who read the file, and not read back.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Note(Record, omit=("tags",)):
    ...     text: str
    ...     tags: tuple[str, ...] = ()
    >>> Note("a dog").to_dict()
    {'text': 'a dog'}
    >>> Note.from_dict({"text": "a cat", "tags": ["pets"]})
    Note(text='a cat', tags=('pets',))
    """

    _written: ClassVar[tuple[str, ...]]
    _omit: ClassVar[tuple[str, ...]]
    _derived: ClassVar[tuple[str, ...]]

    def __init_subclass__(
        cls, *, written: tuple[str, ...] = (), omit: tuple[str, ...] = (), derived: tuple[str, ...] = ()
    ) -> None:
        super().__init_subclass__()
        cls._written, cls._omit, cls._derived = written, omit, derived

    def to_dict(self) -> dict[str, Any]:
        """This record as plain data, which `json.dumps` takes."""
        return _form(type(self)).write(self)  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The record that `to_dict` wrote.

        Raises:
            RecordError: a field is missing, unknown, or of another form.
        """
        form = _form(cls)  # type: ignore[arg-type]
        if not isinstance(data, dict | Mapping):
            raise RecordError(f"{cls.__name__}: must be an object, got {data!r:.60}")
        if not form.required <= data.keys() <= form.known:
            problems = [f"{name!r} is missing" for name in form.read if name in form.required - data.keys()]
            problems += [f"{name!r} is unknown" for name in data if name not in form.known]
            raise RecordError(f"{cls.__name__}: {', '.join(problems)}")
        values = {}
        for name, read in form.read.items():
            if name in data:
                try:
                    values[name] = read(data[name]) if read else data[name]
                except (AttributeError, LookupError, TypeError):
                    raise RecordError(f"{cls.__name__}: {name!r} cannot be {data[name]!r:.60}") from None
        try:
            return cls(**values)
        except (AttributeError, LookupError, TypeError) as error:
            raise RecordError(f"{cls.__name__}: cannot be read ({error})") from error


class _StructKind(msgspec.StructMeta):
    """Makes structs of the keyword arguments of `Record`, which `dataclasses.replace` takes, too."""

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        written: tuple[str, ...] = (),
        omit: tuple[str, ...] = (),
        derived: tuple[str, ...] = (),
        **settings: Any,
    ) -> Any:
        made: Any = super().__new__(cls, name, bases, namespace, **settings)
        made._written, made._omit, made._derived = written, omit, derived
        return dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False)(made)


class StructRecord(Record, msgspec.Struct, metaclass=_StructKind, frozen=True):
    """A record of which a run makes thousands: it takes a tenth of the time that a frozen dataclass takes to make."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


class _Form(NamedTuple):
    """How one class of records is written and read; a change of None leaves the value as it is."""

    write: Callable[[Record], dict[str, Any]]
    read: dict[str, Change | None]
    required: frozenset[str]
    known: frozenset[str]


@cache
def _form(cls: type[Record]) -> _Form:
    fields: dict[str, Any] = {
        each.name: each
        for each in (msgspec.structs.fields(cls) if issubclass(cls, msgspec.Struct) else dataclasses.fields(cls))  # type: ignore[arg-type]
        if getattr(each, "init", True)
    }
    hints = typing.get_type_hints(cls)
    changes = {name: _changes(hints[name]) for name in fields} | dict.fromkeys(cls._derived, (None, None))
    order = cls._written or tuple(changes)
    if {*order, *cls._omit} != changes.keys():
        raise TypeError(f"{cls.__name__}: 'written' and 'omit' must name every field, and no other")
    return _Form(
        _writer({name: changes[name][0] for name in order}, {name: fields[name].default for name in cls._omit}),
        {name: changes[name][1] for name in fields},
        frozenset(name for name, each in fields.items() if each.default is each.default_factory),
        frozenset(changes),
    )


def _writer(changes: Mapping[str, Change | None], defaults: Mapping[str, Any]) -> Callable[[Record], dict[str, Any]]:
    """A function that writes a record, compiled as `dataclasses` compiles `__init__`: a loop takes four times as long.

    Args:
        changes: the fields in the order in which they are written.
        defaults: of the fields that are left out while they hold it; they come last.
    """
    scope: dict[str, Any] = {}
    always, optional = [], list[str]()
    for name, change in changes.items():
        scope |= {f"change_{name}": change, f"default_{name}": defaults.get(name)}
        value = f"change_{name}(self.{name})" if change else f"self.{name}"
        if name in defaults:
            optional += [f"    if self.{name} != default_{name}:", f"        data[{name!r}] = {value}"]
        else:
            always.append(f"{name!r}: {value}")
    lines = ["def write(self):", f"    data = {{{', '.join(always)}}}", *optional, "    return data"]
    exec("\n".join(lines), scope)
    return scope["write"]  # type: ignore[no-any-return]


@cache
def _changes(hint: Any) -> tuple[Change | None, Change | None]:
    """How a value with this hint becomes plain data, and how plain data become the value again.

    Raises:
        TypeError: the hint has no JSON form.
    """
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN or origin is typing.Literal:
        return None, None
    if isinstance(hint, type) and issubclass(hint, Record):
        return operator.methodcaller("to_dict"), hint.from_dict
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        names = {member: member.name.lower() for member in hint}
        return names.__getitem__, {name: member for member, name in names.items()}.__getitem__
    if origin is frozenset:
        return sorted, frozenset
    if origin is collections.abc.Mapping:
        written, read = _changes(of[1])
        return _each_value(written), _each_value(read)
    if origin in (tuple, collections.abc.Sequence):
        written, read = _changes(of[0])
        return _each_item(written, list), _each_item(read, tuple if origin is tuple else list)
    if origin in (typing.Union, types.UnionType):
        inner = [each for each in of if each is not type(None)]
        if len(inner) > 1:
            return None, None
        written, read = _changes(inner[0])
        return _unless_none(written), _unless_none(read)
    raise TypeError(f"a record cannot hold {hint}: it has no JSON form")


def _each_value(change: Change | None) -> Change:
    def changed(mapping: Mapping[Any, Any]) -> dict[Any, Any]:
        return {key: change(value) for key, value in mapping.items()} if change else {**mapping}

    return changed


def _each_item(change: Change | None, collect: Change) -> Change:
    if change is None:
        return collect

    def changed(items: Any) -> Any:
        return collect([change(item) for item in items])

    return changed


def _unless_none(change: Change | None) -> Change | None:
    return None if change is None else lambda value: None if value is None else change(value)
