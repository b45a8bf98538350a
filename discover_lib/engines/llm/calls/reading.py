"""Reading the JSON that a language model meant, without ever guessing what it did not say.

`read_answer` looks through what models put around their answer (thinking, prose, code fences) and mends its form
(trailing commas, comments, single quotes, Python's True, unescaped quotes, fenced YAML).  Content is never mended: a
text that ends too early is refused, and so are two answers that differ, and a mended form whose words are not those of
the text.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Generic, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from discover_lib.base.errors import DiscoverError

T = TypeVar("T", bound=BaseModel)
Check = Callable[[T], str | None]

LONGEST_TEXT = 400_000  # characters; no answer is that long, and reading is not linear for hostile texts
UNCLOSED_TRIES = 20

CUT_OFF = "the answer breaks off before its end"


class UnusableError(DiscoverError):
    """A text that is no usable answer; the message says why, in words for whoever wrote it."""


@dataclass(frozen=True)
class Read(Generic[T]):
    """An answer; `clean` if the text was exactly the JSON that was asked for, numbers as numbers."""

    value: T
    clean: bool


def read_answer(text: str, answer: type[T], check: Check[T], finish_reason: str | None = None) -> Read[T]:
    """The answer in `text`.

    `check` names what is wrong with the content of an answer (ids that were not asked for), or returns None.

    Raises:
        UnusableError: there is no answer, it breaks off, its content is wrong, or there are several that differ.
    """
    if finish_reason == "length":
        raise UnusableError(f"{CUT_OFF} (the limit of tokens was reached)")
    if len(text) > LONGEST_TEXT:
        raise UnusableError(f"the answer is {len(text)} characters long")
    reader = _Reader(answer, check)
    try:
        whole = reader.whole(text.strip())
        if whole is not None:
            return Read(whole, not _numbers_as_text(whole.model_dump(), json.loads(text)))
        return Read(reader.mended(without_thinking(_inner_text(text))), False)
    except RecursionError:
        raise UnusableError("the answer is nested too deep") from None


def _numbers_as_text(value: Any, given: Any) -> bool:
    """Whether a number of an answer was given as text."""
    if isinstance(value, dict) and isinstance(given, dict):
        return any(_numbers_as_text(each, given.get(name)) for name, each in value.items())
    if isinstance(value, list) and isinstance(given, list):
        return any(_numbers_as_text(*pair) for pair in zip(value, given, strict=False))
    return isinstance(value, int | float) and not isinstance(value, bool) and isinstance(given, str)


class _Reader(Generic[T]):
    """Tries the readings of a text, and remembers what was wrong with the best of them."""

    def __init__(self, answer: type[T], check: Check[T]) -> None:
        self._answer = answer
        self._check = check
        self._schema, self._fields = schema_of(answer)
        others: Mapping[str, str] = getattr(answer, "other_names", {})
        self._other_names = {_plain_name(other): name for other, name in others.items()}
        self._defects: list[tuple[int, str]] = []  # how near it came, what was wrong

    def whole(self, text: str) -> T | None:
        """The answer, if `text` is exactly the JSON that was asked for."""
        try:
            data = _strict_json(text)
        except ValueError:
            return None
        return self._accept(data)

    def mended(self, text: str) -> T:
        spans, cut_off = _spans(text, self._fields)
        found: list[tuple[T, bool]] = []
        last_word_read = True
        for start, end in spans:
            outside = text[:start] + " " + text[end:]
            alone = not self._named_in(outside)
            value = self._first(_bracket_readings(text[start:end], self._fields, alone), alone)
            if value is not None:
                found.append((value, text.count("```", 0, start) % 2 == 1))
                last_word_read = True
            elif self._named_in(text[start:end]):
                last_word_read = False
        if not found and not cut_off:
            for part in _yaml_parts(text, self._fields):
                value = self._first(_yaml_readings(part, self._fields), True)
                found += [] if value is None else [(value, True)]
        if cut_off:
            raise UnusableError(CUT_OFF)
        # A readable draft does not stand for what was said after it.
        meant = any(":" in text[start:end] for start, end in spans)
        unread = "what stands between the braces is not JSON" if meant else "there is no JSON object"
        return self._only(found if last_word_read else [], unread)

    def _only(self, found: list[tuple[T, bool]], unread: str) -> T:
        readings = [[value for value, _ in found]]
        if found and found[-1][1]:  # what comes last is fenced: what stands outside of fences is talk about it
            readings.append([value for value, fenced in found if fenced])
        for values in readings:
            if values and all(value == values[0] for value in values):
                return values[0]
        if found:
            raise UnusableError("there are several answers that differ; give one")
        raise UnusableError(max(self._defects)[1] if self._defects else unread)

    def _first(self, readings: Iterator[Any], alone: bool) -> T | None:
        for data in readings:
            # A list stands for the whole answer only where nothing else of the answer is in sight.
            shaped = self._shape(data) if alone or isinstance(data, dict) else data
            value = self._accept(_fit(_renamed(shaped, self._other_names), self._schema, self._schema))
            if value is not None:
                return value
        return None

    def _accept(self, data: Any) -> T | None:
        """Data as an answer whose content holds, or None with the defect remembered."""
        misspelt = _misspelt(data, self._schema, self._schema)
        if misspelt:
            self._defects.append((1, misspelt))
            return None
        try:
            value = self._answer.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            known = isinstance(data, dict) and bool(self._fields & data.keys())
            why = first["msg"].removeprefix("Value error, ")
            self._defects.append((1 if known else 0, f"{_place_in(data, first['loc'])}: {why}"))
            return None
        defect = self._check(value)
        if defect:
            self._defects.append((2, defect))
            return None
        return value

    def _shape(self, data: Any) -> Any:
        """An answer out of a wrapping: {"answer": {..}}, alone or beside what is no field, [{..}], or the bare list of
        an answer that is one list.
        """
        properties = self._schema.get("properties", {})
        if isinstance(data, list):
            whole = len(data) == 1 and isinstance(data[0], dict) and bool(data[0].keys() & properties.keys())
            if len(properties) == 1 and not whole:
                ((name, node),) = properties.items()
                return {name: data} if _resolve(node, self._schema).get("type") == "array" else data
            return data[0] if len(data) == 1 else data
        own = set(map(_plain_name, properties))
        while isinstance(data, dict) and own.isdisjoint(map(_plain_name, data)):
            inside = [name for name, each in data.items() if isinstance(each, dict)]
            if len(inside) != 1 or inside == ["error"]:
                break
            data = data[inside[0]]
        return data

    def _named_in(self, text: str) -> bool:
        return re.search(_field_pattern(self._fields), text) is not None


# What a model writes before it decides: where it is left out, as where it is null, what was decided stands.
REASONS = frozenset({"reason", "kind_reason", "thought", "evidence"})
NUMBERED_BY = ("id", "turn", "number")  # what an entry of a list is called by, as its prompt does


def _place_in(data: Any, where: Sequence[int | str]) -> str:
    """A place in an answer as whoever wrote it knows it: "score of 5.1.1.1", "behaviour of turn 2"."""
    parts: list[str] = []
    for step in where:
        inside = (isinstance(data, dict) and step in data) or (isinstance(data, list) and isinstance(step, int))
        data = data[step] if inside else None
        own = next((name for name in NUMBERED_BY if isinstance(data, dict) and name in data), "")
        if isinstance(step, int) and own:
            parts = [f"{own} {data[own]}".removeprefix("id ")]
        else:
            parts.insert(0, f"entry {step + 1}" if isinstance(step, int) else step)
    return " of ".join(parts) or "the answer"


# -- what stands around an answer ------------------------------------------------------------------------------------

_TAGS = r"(?:think|thinking|thought|reasoning|scratchpad|analysis|reflection)"
_CLOSED_THINKING = re.compile(rf"<({_TAGS})>.*?</\1>", re.DOTALL | re.IGNORECASE)
_END_OF_THINKING = re.compile(rf"</{_TAGS}>", re.IGNORECASE)
_START_OF_THINKING = re.compile(rf"<{_TAGS}>", re.IGNORECASE)
# Everything up to a closing tag that nothing has opened, if it is no quoted one.
_LONE_END = re.compile(rf"(?:(?!<{_TAGS}\b).)*?(?<![`\"'])</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.I)
_CHANNEL = "<|message|>"


def _inner_text(text: str) -> str:
    """The text within, where all of `text` is one JSON string."""
    try:
        data = json.loads(text)
    except ValueError:
        return text
    return data if isinstance(data, str) else text


def without_thinking(text: str, *, prose: bool = False) -> str:
    """`text` after its thinking, which servers without a parser for it leave there.

    Args:
        prose: the text may be about such tags, so that only what it begins with is thinking.

    Raises:
        UnusableError: the thinking never ends, so what looks like an answer is a draft.
    """
    if _CHANNEL in text:
        head, _, text = text.rpartition(_CHANNEL)
        if not head.rstrip().endswith("final"):
            raise UnusableError("there is thinking and no final answer")
    if prose:
        return _after_thinking(text)
    text = _CLOSED_THINKING.sub(" ", text)
    # Some servers cut off the opening tag.
    text = _END_OF_THINKING.split(text)[-1]
    if _START_OF_THINKING.search(text):
        raise UnusableError("the thinking does not end")
    return text


def _after_thinking(text: str) -> str:
    """`text` after the thinking that it begins with, whose opening tag some servers cut off."""
    while True:
        text = text.lstrip()
        closed = _CLOSED_THINKING.match(text) or _LONE_END.match(text)
        if closed is None:
            break
        text = text[closed.end() :]
    if _START_OF_THINKING.match(text):
        raise UnusableError("the thinking does not end")
    return text


def _spans(text: str, fields: frozenset[str]) -> tuple[list[tuple[int, int]], bool]:
    """Outermost bracketed parts as (start, end), and whether a part that looks like an answer never closes."""
    spans: list[tuple[int, int]] = []
    place = unclosed = 0
    begins_answer = re.compile(rf"[{{\[]\s*(?:[\"'“{{\[]|{_field_pattern(fields)})")
    while (found := re.compile(r"[{\[]").search(text, place)) is not None:
        start = found.start()
        end = _closing(text, start, tolerant=False) or _closing(text, start, tolerant=True)
        if end:
            spans.append((start, end))
            place = end
            continue
        unclosed += 1
        if begins_answer.match(text, start) or unclosed > UNCLOSED_TRIES:
            return spans, True
        place = start + 1
    return spans, False


_GOES_ON = re.compile(r"\s*(?:[,:\]}]|$)")


def _closing(text: str, start: int, *, tolerant: bool) -> int | None:
    """Where the bracket at `start` closes (the index after), or None.

    Single quotes count as quotes where the first quote is one.  A tolerant look takes a quote for the end of a string
    only where JSON could go on after it, so quotes that should have been escaped do not end it.
    """
    expected: list[str] = []
    quotes = "\"'" if re.compile(r"[{\[\s]*'").match(text, start) else '"'
    quote = ""
    place = start
    while place < len(text):
        char = text[place]
        if quote:
            if char == "\\":
                place += 1
            elif char == quote and (not tolerant or _GOES_ON.match(text, place + 1)):
                quote = ""
        elif char in quotes:
            quote = char
        elif char in "{[":
            expected.append("}" if char == "{" else "]")
        elif char in "}]":
            if expected.pop() != char:
                return None
            if not expected:
                return place + 1
        place += 1
    return None


# -- readings of a bracketed text ------------------------------------------------------------------------------------


def _bracket_readings(text: str, fields: frozenset[str], alone: bool) -> Iterator[Any]:
    for read in (_strict_json, _loose_json, _python_literal, _loose_python):
        try:
            yield read(text)
        except (ValueError, SyntaxError, MemoryError):
            continue
    if alone and (data := _repaired_json(text, fields)) is not None:
        yield data


def _strict_json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_no_contradiction, parse_constant=_no_constant)


def _loose_json(text: str) -> Any:
    """JSON with raw line breaks in strings, comments, trailing commas; numbers stay text, since 1.10 is an id."""
    kwargs: dict[str, Any] = {"object_pairs_hook": _no_contradiction, "parse_constant": _no_constant}
    return json.loads(_without_extras(text), strict=False, parse_float=str, parse_int=str, **kwargs)


def _no_contradiction(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if any(data[name] != value for name, value in pairs):
        raise ValueError("a field is given twice")
    return data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# What holds a quote is no comment: it may be the rest of a string with a quote in it.
_STRING_OR_EXTRA = re.compile(r'("(?:\\.|[^"\\])*")|(?://|#)[^\n"]*(?=\n|$)|/\*[^"]*?\*/|,(?=\s*[}\]])', re.DOTALL)


def _without_extras(text: str) -> str:
    """`text` without comments, then without commas before a closing bracket; strings are left alone."""
    for _ in range(2):
        text = _STRING_OR_EXTRA.sub(lambda found: found.group(1) or "", text)
    return text


def _loose_python(text: str) -> Any:
    return _python_literal(_without_extras(text))


def _python_literal(text: str) -> Any:
    """A Python dictionary or list; numbers stay as written."""
    source = text.strip()
    if re.search(r"(?<!\\)(?:\\\\)*\\[^\\'\"abfnrtvxuU0-7\n]", source):
        raise ValueError("an escape that Python does not know")  # it would warn, and keep the backslash

    def value(node: ast.expr) -> Any:
        match node:
            case ast.Dict(keys=keys, values=values):
                if None in keys:
                    raise ValueError("no literal")
                pairs = zip(keys, values, strict=True)
                return _no_contradiction([(value(key), value(each)) for key, each in pairs if key])
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return [value(each) for each in elements]
            case ast.Constant(value=None | bool() | str() as constant):
                return constant
            case ast.Name(id="true" | "false" | "null" as name):  # JSON's words among Python's quotes
                return json.loads(name)
            case ast.Constant(value=int() | float()):
                return ast.get_source_segment(source, node)
            case _:
                raise ValueError("no literal")

    parsed = ast.parse(source, mode="eval")
    if _joins_strings(source):
        raise ValueError("two strings without a comma between them")  # Python would make one of them
    return value(parsed.body)


def _joins_strings(source: str) -> bool:
    """Whether two strings follow one another with nothing between them."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    kinds = [each.type for each in tokens if each.type not in (tokenize.NL, tokenize.COMMENT)]
    return any(kind == following == tokenize.STRING for kind, following in pairwise(kinds))


def _repaired_json(text: str, fields: frozenset[str]) -> Any:
    """What json_repair makes of a text whose brackets close, if the words and the fields are those of the text."""
    from json_repair import repair_json

    if re.search(r"(?<!\\)(?:\\\\)*\\[^\\\"/bfnrtu]", text):
        return None  # an escape that JSON does not know would lose its backslash
    if "'" in text and '"' not in text:
        return None  # which apostrophes are quotes is anybody's guess, unless it is Python
    data = repair_json(text, return_objects=True)
    return (
        data
        if isinstance(data, dict | list) and _same_content(text, data, fields) and _same_quotes(text, data)
        else None
    )


_QUOTES = re.compile(r"[\"“”]")


def _same_quotes(text: str, data: Any) -> bool:
    """Whether every quote in `text` is accounted for: around a string, around a field's name, or in a string."""
    strings = list(_strings(data))
    around = 2 * len(strings) + 2 * len(re.findall(r"[\"“](?:\w+)[\"”]\s*:", text))
    return len(_QUOTES.findall(text)) == around + sum(len(_QUOTES.findall(each)) for each in strings)


def _same_content(text: str, data: Any, fields: frozenset[str]) -> bool:
    """Whether `data` holds what `text` says: all letters and digits in their order, each field as often, and every
    string as it is written there from end to end.
    """
    named = len(re.findall(_field_pattern(fields), text))
    return (
        _letters(text) == _letters(json.dumps(data, ensure_ascii=False))
        and named == _count_keys(data, fields)
        and all(_stands_in(text, each) for each in _strings(data))
    )


def _strings(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for each in data.values() if isinstance(data, dict) else data:
            yield from _strings(each)


def _stands_in(text: str, string: str) -> bool:
    """Whether `string` is a whole value in `text`, escaped or not, line breaks aside."""
    for written in (string, json.dumps(string, ensure_ascii=False)[1:-1], json.dumps(string)[1:-1]):
        words = r"\s+".join(map(re.escape, written.split()))
        if re.search(rf"(?:^|[\s,:\[{{])[\"'“‘]?\s*{words}\s*[\"'”’]?\s*(?:[,:\]}}\n]|$)", text):
            return True
    return False


def _letters(text: str) -> str:
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found.group(1), 16)), text)
    text = re.sub(r"\\[nrtbf]", " ", text).casefold().replace("none", "null")
    return "".join(filter(str.isalnum, text))


def _count_keys(data: Any, fields: frozenset[str]) -> int:
    if isinstance(data, dict):
        return sum((name in fields) + _count_keys(value, fields) for name, value in data.items())
    return sum(_count_keys(each, fields) for each in data) if isinstance(data, list) else 0


def _field_pattern(fields: frozenset[str]) -> str:
    """A field's name as a key, quoted or not."""
    names = "|".join(sorted(map(re.escape, fields), key=len, reverse=True))
    return rf"(?<![\w])[\"'“”‘’]?(?:{names})[\"'“”‘’]?\s*:"


# -- YAML ------------------------------------------------------------------------------------------------------------


class _PlainLoader(yaml.BaseLoader):
    """YAML whose values all stay text (no 1.10 → 1.1, no "no" → False)."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value]
        if len(set(map(str, names))) < len(names):
            raise yaml.YAMLError("a field is given twice")
        return dict(super().construct_mapping(node, deep))


_ANCHOR = re.compile(r"(?:^|[:\-\[{,])\s+&\w", re.MULTILINE)
_FENCED = re.compile(r"^[ \t]*```[ \t]*\w*[ \t]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)


def _yaml_parts(text: str, fields: frozenset[str]) -> Iterator[str]:
    """Fenced texts that may be YAML.

    YAML has no closing bracket, so nothing in it tells a text that broke off: only a closed fence does.
    """
    return (block for block in _FENCED.findall(text) if re.search(_field_pattern(fields), block))


def _yaml_readings(text: str, fields: frozenset[str]) -> Iterator[Any]:
    if _ANCHOR.search(text):
        return  # values that stand for one another are no plain answer, and can be nested without bound
    for written in (text, _with_quoted_scalars(text, fields)):
        try:
            data = yaml.load(written, Loader=_PlainLoader)
        except (yaml.YAMLError, ValueError, TypeError):
            continue
        if isinstance(data, dict | list) and _same_content(text, data, fields):
            yield data


def _with_quoted_scalars(text: str, fields: frozenset[str]) -> str:
    """YAML in which every value on a field's line is quoted, so that colons and hashes in it mean nothing."""
    names = "|".join(sorted(map(re.escape, fields), key=len, reverse=True))
    line = re.compile(rf"^(\s*(?:- )?(?:{names}):[ \t]+|\s*- (?!(?:{names}):))([^\s\"'|>\[{{].*)$", re.MULTILINE)
    return line.sub(lambda found: found.group(1) + json.dumps(found.group(2).strip(), ensure_ascii=False), text)


# -- fitting data to the fields --------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def schema_of(answer: type[BaseModel]) -> tuple[dict[str, Any], frozenset[str]]:
    """An answer's JSON schema and the names of all its fields."""
    schema = answer.model_json_schema()
    objects = [schema, *schema.get("$defs", {}).values()]
    return schema, frozenset(name for each in objects for name in each.get("properties", {}))


def _resolve(node: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in node:
        node = root["$defs"][node["$ref"].rpartition("/")[2]]
    return node


def _plain_name(name: Any) -> str:
    return "".join(filter(str.isalnum, str(name).casefold()))


_NOTHING = frozenset({"", "none", "null", "nil", "n/a", "na", "not applicable", "nothing", "no near misses"})


def left_out(value: str) -> bool:
    """Whether dots stand for what should have been written: "...", "…"."""
    return value.strip(" \t\n.…") == "" and ("…" in value or ".." in value)


def says_nothing(value: Any) -> bool:
    """Whether a text only says that there is none: "none", "(none)", "N/A.", "-", ""; "..." says that there is more."""
    return (
        isinstance(value, str)
        and not left_out(value)
        and value.strip(" \t\n()[]<>{}.,;:'\"`*_-–—~").casefold() in _NOTHING
    )


def _renamed(data: Any, names: Mapping[str, str]) -> Any:
    """`data` with fields by their own names where `names` (without blanks and marks) knows them by others."""
    if isinstance(data, list):
        return [_renamed(each, names) for each in data]
    if not isinstance(data, dict):
        return data
    renamed: dict[str, Any] = {}
    for name, value in data.items():
        own = names.get(_plain_name(name), name)
        renamed[name if own in data or own in renamed else own] = _renamed(value, names)
    return renamed


def _fit(data: Any, node: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """`data` with names, choices and empty values spelled as the schema has them."""
    node = _resolve(node, root)
    if "anyOf" in node:
        options = [_resolve(option, root) for option in node["anyOf"]]
        nullable = any(option.get("type") == "null" for option in options)
        if nullable and says_nothing(data):
            return None
        rest = [option for option in options if option.get("type") != "null"]
        return _fit(data, rest[0], root) if len(rest) == 1 and data is not None else data
    if node.get("type") == "array":
        if data is None or says_nothing(data):
            return []
        if not isinstance(data, list):
            return data
        item = _resolve(node.get("items", {}), root)
        return [_fit(_as_object(each, item), item, root) for each in data]
    if node.get("type") == "object" and isinstance(data, dict):
        properties = node.get("properties", {})
        spelled = {_plain_name(name): name for name in properties}
        # A name is respelled only where that is free and unique.
        taken = {name for name in data if name in properties}
        named = {name if name in taken else spelled.get(_plain_name(name), name): each for name, each in data.items()}
        if len(named) < len(data):
            return data
        if named.keys() < properties.keys():  # whatever else there is may be meant for one
            named |= dict.fromkeys(REASONS & properties.keys() - named.keys(), "")
        return {name: _fit(each, properties.get(name, {}), root) for name, each in named.items()}
    if "enum" in node and isinstance(data, str) and data not in node["enum"]:
        words = [choice for choice in node["enum"] if isinstance(choice, str)]  # of a number the marks mean something
        alike = [choice for choice in words if _plain_name(choice) == _plain_name(data)]
        return alike[0] if len(alike) == 1 else data
    return data


def _as_object(data: Any, node: Mapping[str, Any]) -> Any:
    """A list of texts as the object that holds nothing else: ["a cat"] → {"items": ["a cat"]}."""
    texts = isinstance(data, list) and data and all(isinstance(each, str) for each in data)
    names = list(node.get("properties", {}))
    return {names[0]: data} if texts and len(names) == 1 else data


def _misspelt(data: Any, node: Mapping[str, Any], root: Mapping[str, Any]) -> str | None:
    """An unknown field beside one that is missing: it may be meant for it, and its value must not get lost."""
    node = _resolve(node, root)
    if isinstance(data, list):
        return next(filter(None, (_misspelt(each, node.get("items", {}), root) for each in data)), None)
    properties = node.get("properties")
    if not isinstance(data, dict) or not properties:
        return None
    required = node.get("required", ())
    missing = properties.keys() - data.keys()
    for unknown in sorted(data.keys() - properties.keys(), key=str):
        for name in sorted(missing):
            if name in required or _may_be_meant_for(data[unknown], properties[name]):
                return f"there is a field {unknown!r}, which is not asked for, and {name!r} is missing"
    return next(filter(None, (_misspelt(each, properties.get(name, {}), root) for name, each in data.items())), None)


def _may_be_meant_for(value: Any, node: Mapping[str, Any]) -> bool:
    """Whether a value under another name may belong to a field that can be left out; words are no id and no number."""
    if node.get("type") == "array" or not isinstance(value, str):
        return value is not None
    return re.fullmatch(r"\S*\d\S*", value.strip()) is not None
