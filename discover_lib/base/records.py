"""Frozen records ↔ plain JSON data, from their type hints, by name.

A dataclass that inherits from `Record` has `to_dict` and `from_dict`.  Both are compiled from its fields when they are
first used, as `dataclasses` compiles `__init__`: a conversation holds thousands of small records, and a general walk
over hints takes several times as long.  What a hint means in JSON:

    str, int, float, bool, None, Any, Literal     itself
    an Enum                                       the member's name in lower case
    a Record                                      an object
    tuple[X, ...], tuple[X, Y], Sequence[X]       a list
    frozenset[str]                                a sorted list
    Mapping[K, X]                                 an object
    X | None                                      the same, or null
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from discover_lib.base.errors import DiscoverError

_PLAIN = (str, int, float, bool, type(None), Any)


class RecordError(DiscoverError):
    """Data that are not of a record's form; the message names the record and the field."""


class Record:
    """The base of frozen dataclasses that go to JSON and back.

    Keyword arguments of the class statement:
        order: the names of all fields in the order in which they are written; by default as they are declared.
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

    _order: ClassVar[tuple[str, ...]]
    _omit: ClassVar[tuple[str, ...]]
    _derived: ClassVar[tuple[str, ...]]

    def __init_subclass__(
        cls, *, order: tuple[str, ...] = (), omit: tuple[str, ...] = (), derived: tuple[str, ...] = ()
    ) -> None:
        super().__init_subclass__()
        if cls.__base__ is not Record:
            raise TypeError(f"{cls.__name__}: a record inherits from Record alone")
        cls._order, cls._omit, cls._derived = order, omit, derived

    def to_dict(self) -> dict[str, Any]:
        """This record as plain data: what `json.dumps` takes."""
        return _form(type(self)).write(self)

    def encodable(self) -> dict[str, Any]:
        """`to_dict` for an encoder that reads it at once: tuples stay tuples, which are written as lists are."""
        return _form(type(self)).encodable(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The record that `to_dict` wrote.

        Raises:
            RecordError: a field is missing, unknown, or of another form.
        """
        record: Self = _form(cls).read(cls, data)
        return record


@dataclasses.dataclass(frozen=True)
class _Form:
    """The compiled functions of one record."""

    write: Callable[[Any], dict[str, Any]]
    encodable: Callable[[Any], dict[str, Any]]
    read: Callable[[Any, Mapping[str, Any]], Any]


_forms: dict[type, _Form] = {}


def _form(cls: type[Record]) -> _Form:
    if cls not in _forms:
        compiler = _Compiler(cls)
        own = vars(cls).get("to_dict")
        _forms[cls] = form = _Form(compiler.writer(), own or compiler.writer(tuples=True), compiler.reader())
        # From now on the methods are the compiled functions themselves, unless the record has its own.
        if not own:
            cls.to_dict = form.write  # type: ignore[method-assign, assignment]
        cls.encodable = form.encodable  # type: ignore[method-assign, assignment]
        if "from_dict" not in vars(cls):
            cls.from_dict = classmethod(form.read)  # type: ignore[method-assign, assignment]
    return _forms[cls]


class _Compiler:
    """Writes the source of a record's two functions, and compiles it."""

    def __init__(self, cls: type[Record]) -> None:
        self.cls = cls
        hints = typing.get_type_hints(cls)
        self.fields = {each.name: each for each in dataclasses.fields(cls) if each.init}  # type: ignore[arg-type]
        self.hints = {name: hints[name] for name in self.fields}
        self.hints |= dict.fromkeys(cls._derived, Any)
        self.order = cls._order or (*self.fields, *cls._derived)
        if {*self.order, *cls._omit} != set(self.hints):
            raise TypeError(f"{cls.__name__}: 'order' and 'omit' must name every field, and nothing else")
        self.names: dict[str, Any] = {}  # what the source refers to

    def writer(self, tuples: bool = False) -> Callable[[Any], dict[str, Any]]:
        make = self.with_tuples if tuples else self.code
        written = {name: make(self.hints[name], f"self.{name}") for name in self.hints}
        always = [f"{name!r}: {written[name]}" for name in self.order if name not in self.cls._omit]
        lines = [f"data = {{{', '.join(always)}}}"]
        for name in self.cls._omit:
            lines.append(f"if self.{name} != {self.name(_default(self.fields[name]))}:")
            lines.append(f"    data[{name!r}] = {written[name]}")
        return self.function("write(self)", [*lines, "return data"])

    def reader(self) -> Callable[[Any, Mapping[str, Any]], Any]:
        arguments = []
        for name, field in self.fields.items():
            value = self.code(self.hints[name], f"data[{name!r}]", back=True)
            if not _required(field):
                value = f"{value} if {name!r} in data else {self.name(_default(field))}"
                if field.default_factory is not dataclasses.MISSING:
                    value += "()"
            arguments.append(f"{name}={value}")
        known = self.name(frozenset(self.hints))
        lines = [
            "try:",
            f"    if data.keys() <= {known}:",
            f"        return cls({', '.join(arguments)})",
            "except (AttributeError, LookupError, TypeError):",
            "    pass",
            f"raise {self.name(_what_is_wrong)}(cls, data)",
        ]
        return self.function("read(cls, data)", lines)

    def function(self, head: str, body: list[str]) -> Any:
        source = "\n".join([f"def {head}:", *(f"    {line}" for line in body)])
        exec(compile(source, f"<{self.cls.__qualname__}>", "exec"), self.names)
        return self.names[head.partition("(")[0]]

    def name(self, value: Any) -> str:
        """A name for `value` in the source."""
        name = f"_{len(self.names)}"
        self.names[name] = value
        return name

    def code(self, hint: Any, value: str, back: bool = False) -> str:
        """The expression that makes plain data of a `value` with this hint or, with `back`, the value of plain data."""
        match _shape(hint):
            case "plain":
                return value
            case "optional", inner:
                code = self.code(inner, value, back)
                return value if code == value else f"(None if {value} is None else {code})"
            case "union", _:
                made, of = ("tuple", "list") if back else ("list", "tuple")
                return f"({made}({value}) if type({value}) is {of} else {value})"
            case "record", of:
                return f"{self.name(of)}.from_dict({value})" if back else f"{value}.to_dict()"
            case "enum", of:
                names = {each.name.lower(): each for each in of} if back else {each: each.name.lower() for each in of}
                return f"{self.name(names)}[{value}]"
            case "list", inner:
                element = self.code(inner, "x", back)
                items = value if element == "x" else f"[{element} for x in {value}]"
                if back and typing.get_origin(hint) is tuple:
                    return f"tuple({items})"
                return f"list({value})" if element == "x" else items
            case "set", _:
                return f"{'frozenset' if back else 'sorted'}({value})"
            case "map", inner:
                element = self.code(inner, "v", back)
                if element == "v":
                    return value if back else f"dict({value})"
                return f"{{k: {element} for k, v in {value}.items()}}"
        raise TypeError(f"{self.cls.__name__}: no JSON form for {hint}")

    def with_tuples(self, hint: Any, value: str) -> str:
        """The expression for a `value` that is encoded at once: as `code`, but tuples stay tuples."""
        match _shape(hint):
            case "union", _:
                return value
            case "optional", inner:
                code = self.with_tuples(inner, value)
                return value if code == value else f"(None if {value} is None else {code})"
            case "record", _:
                return f"{value}.encodable()"
            case "list", inner if typing.get_origin(hint) is tuple:  # which is encoded as a list is
                element = self.with_tuples(inner, "x")
                return value if element == "x" else f"[{element} for x in {value}]"
            case "map", inner:
                element = self.with_tuples(inner, "v")
                return f"dict({value})" if element == "v" else f"{{k: {element} for k, v in {value}.items()}}"
        return self.code(hint, value)


def _shape(hint: Any) -> Any:
    """What kind of hint this is, and what it is of."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if hint in _PLAIN or origin is typing.Literal:
        return "plain"
    if origin in (typing.Union, types.UnionType):
        inner = tuple(each for each in of if each is not type(None))
        if len(inner) < len(of):
            return "optional", inner[0] if len(inner) == 1 else typing.Union[inner]  # noqa: UP007
        return "plain" if all(_shape(each) == "plain" for each in inner) else ("union", inner)
    if isinstance(hint, type) and issubclass(hint, Record):
        return "record", hint
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return "enum", hint
    if origin in (tuple, collections.abc.Sequence):
        return "list", of[0]
    if origin is frozenset:
        return "set", of[0]
    return ("map", of[1]) if origin is collections.abc.Mapping else None


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default is not dataclasses.MISSING else field.default_factory


def _what_is_wrong(cls: type[Record], data: Any) -> RecordError:
    """Why data could not be read; looked for only when something is wrong."""
    if not isinstance(data, Mapping):
        return RecordError(f"{cls.__name__}: must be an object, got {data!r:.60}")
    compiler = _Compiler(cls)
    problems = [
        f"{name!r} is missing" for name, each in compiler.fields.items() if _required(each) and name not in data
    ]
    problems += [f"{name!r} is unknown" for name in data if name not in compiler.hints]
    for name in () if problems else compiler.fields.keys() & data.keys():
        code = compiler.code(compiler.hints[name], f"data[{name!r}]", back=True)
        read = compiler.function("read(data)", [f"return {code}"])
        try:
            read(data)
        except (AttributeError, LookupError, TypeError):
            problems.append(f"{name!r} cannot be {data[name]!r:.60}")
    return RecordError(f"{cls.__name__}: {', '.join(problems) or 'cannot be read'}")
