"""Malformed and odd replies, kind by kind, over every structured answer: read as what was meant, or asked for again.

A kind that is read must be read as exactly the answer that it was made of; none may be read as another.
"""

from __future__ import annotations

import contextlib
import html
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from discover_lib.engines.llm import answers
from discover_lib.engines.llm.calls.reading import REASONS, UnusableError, read_answer

pytestmark = pytest.mark.slow

# One right answer of every form, with words that a careless reading would trip over.
RIGHT: dict[type[BaseModel], dict[str, Any]] = {
    answers.ResponseEvaluation: {
        "kind_reason": "it holds a draft, nearly whole",
        "kind": "artifact",
        "intents": [
            {"id": "1", "reason": "a dog is on stage", "engaged": True, "near_misses": []},
            {"id": "1.10", "reason": "no cat in sight", "engaged": False, "near_misses": ["includes a dog", "a fox"]},
        ],
    },
    answers.UserMessage: {"thought": "fuzzy, so I only hint", "message": "hm, the end feels off, maybe shorter"},
    answers.SatisfactionScores: {
        "scores": [
            {"id": "1.1", "reason": "named in line two", "score": 5},
            {"id": "1.10", "reason": "there is none", "score": 1},
        ]
    },
    answers.Interactivity: {"reason": "it asks in turn one, builds in turn two", "score": 3},
    answers.PaperInteractivity: {"reason": "it asks, and explores a little", "score": 2.5},
    answers.BehaviourAnnotation: {
        "turns": [
            {"turn": 1, "reason": "three openings", "behaviour": "divergent"},
            {"turn": 2, "reason": "one story", "behaviour": "convergent"},
        ]
    },
    answers.Synthesis: {
        "topic": "harbour at night",
        "description": "A quiet scene, seen from the water",
        "items": [
            {"text": "The narrator is a pilot", "aspect": "narrator", "evidence": "the word pilot"},
            {"text": "It ends at dawn", "aspect": "time", "evidence": "last line"},
        ],
    },
    answers.Abstraction: {"levels": [{"items": ["Knows the sea", "Set in the north"]}, {"items": ["By the sea"]}]},
    answers.Hierarchy: {
        "items": [
            {"id": "2.1", "parent": None, "same_as": None},
            {"id": "0.10", "parent": "2.1", "same_as": None},
        ]
    },
    answers.SupersetCheck: {
        "pairs": [
            {
                "number": 1,
                "reason": "a tabby is a cat",
                "narrow_implies_broad": True,
                "broad_implies_narrow": False,
                "instead": None,
            }
        ]
    },
    answers.InitialRequest: {"chosen": ["1", "3"], "request": "hi, could you write a story about a harbour?"},
    answers.LeakCheck: {"reason": "snooping is listening", "leaks": True, "ids": ["1.10"]},
}
FORMS = list(RIGHT)

Mangle = Callable[[str, dict[str, Any]], str]


def indented(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


def first_field(data: dict[str, Any]) -> str:
    return next(iter(data))


def deciding(data: dict[str, Any]) -> str:
    """The first field that is no reason."""
    return next(name for name in data if name not in REASONS)


def xml(data: Any, name: str = "answer") -> str:
    if isinstance(data, dict):
        return f"<{name}>{''.join(xml(value, key) for key, value in data.items())}</{name}>"
    if isinstance(data, list):
        return "".join(xml(each, name) for each in data)
    return f"<{name}>{data}</{name}>"


def other(data: Any) -> Any:
    """Another answer of the same form: its first text is a different one."""
    return json.loads(re.sub(r'(": |\[)"([^"]*)"', r'\1"quite another 7"', json.dumps(data), count=1))


def bare(text: str) -> str:
    """Keys without quotes."""
    return re.sub(r'"(\w+)":', r"\1:", text)


# What is read, as the answer that it was made of.
READ: dict[str, Mangle] = {
    "as asked": lambda text, data: text,
    "indented": lambda text, data: indented(data),
    "on one line without blanks": lambda text, data: json.dumps(data, separators=(",", ":")),
    "non-ASCII escaped": lambda text, data: json.dumps(data, ensure_ascii=True),
    "white space around": lambda text, data: f"\n\n  {text}\t\r\n",
    "Windows line ends": lambda text, data: indented(data).replace("\n", "\r\n"),
    "byte order mark": lambda text, data: "\ufeff" + text,
    "a fence": lambda text, data: f"```json\n{text}\n```",
    "a fence without a language": lambda text, data: f"```\n{text}\n```",
    "a fence of another language": lambda text, data: f"```python\n{text}\n```",
    "a fence with a capital": lambda text, data: f"```JSON\n{indented(data)}\n```",
    "a fence of tildes": lambda text, data: f"~~~json\n{text}\n~~~",
    "a fence that never closes": lambda text, data: f"```json\n{text}",
    "a fence closed but never opened": lambda text, data: f"{text}\n```",
    "prose before": lambda text, data: f"Sure! Here is the answer:\n\n{text}",
    "prose after": lambda text, data: f"{text}\n\nLet me know if anything is unclear!",
    "prose around a fence": lambda text, data: f"Here you go.\n```json\n{text}\n```\nHope that helps {{really}}.",
    "a heading": lambda text, data: f"# Answer\n\n{text}",
    "bold around": lambda text, data: f"**{text}**",
    "back-ticks around": lambda text, data: f"`{text}`",
    "a word in front": lambda text, data: f"json\n{text}",
    "a label in front": lambda text, data: f"Answer: {text}",
    "an XML tag around": lambda text, data: f"<answer>\n{text}\n</answer>",
    "thinking, closed": lambda text, data: f"<think>Let me see.</think>{text}",
    "thinking with a draft": lambda text, data: f"<think>{json.dumps(other(data))}</think>\n{text}",
    "thinking whose opening tag is cut off": lambda text, data: f"so I would say yes.\n</think>\n{text}",
    "thinking in capitals": lambda text, data: f"<THINK>hm</THINK>{text}",
    "reasoning tags": lambda text, data: f"<reasoning>hm {{ hm</reasoning>\n{text}",
    "an empty thinking tag": lambda text, data: f"<think></think>\n\n{text}",
    "two thoughts": lambda text, data: f"<think>a</think><think>b</think>{text}",
    "an object in a list": lambda text, data: f"[{text}]",
    "nested under answer": lambda text, data: json.dumps({"answer": data}),
    "nested under result": lambda text, data: json.dumps({"result": data}),
    "nested twice": lambda text, data: json.dumps({"response": {"answer": data}}),
    "nested beside thoughts": lambda text, data: json.dumps({"thoughts": "I looked at all.", "answer": data}),
    "a call of a tool": lambda text, data: json.dumps({"name": "answer", "arguments": data}),
    "a JSON string that holds it": lambda text, data: json.dumps(text),
    "the same answer twice": lambda text, data: f"{text}\n\n{text}",
    "the same answer, the second time fenced": lambda text, data: f"{text}\n```json\n{indented(data)}\n```",
    "a trailing comma": lambda text, data: re.sub(r"([\]}])$", r",\1", text),
    "trailing commas everywhere": lambda text, data: re.sub(r"\n(\s*[\]}])", r",\n\1", indented(data)).replace(
        "[,", "["
    ),
    "line comments": lambda text, data: indented(data).replace("{\n", "{ // here it is\n", 1),
    "block comments": lambda text, data: indented(data).replace("{\n", "{ /* here it is */\n", 1),
    "hash comments": lambda text, data: indented(data).replace("{\n", "{ # here it is\n", 1),
    "a Python dictionary": lambda text, data: repr(data),
    "a Python dictionary with a comment": lambda text, data: repr(data).replace("{", "{ # as asked\n", 1),
    "a Python dictionary, fenced": lambda text, data: f"```python\n{data!r}\n```",
    "keys without quotes": lambda text, data: bare(text),
    "fields in another order": lambda text, data: json.dumps(dict(reversed(data.items()))),
    "a field that nobody asked for, beside all": lambda text, data: json.dumps({**data, "confidence": 0.9}),
    "field names in capitals": lambda text, data: json.dumps({key.upper(): value for key, value in data.items()}),
    "field names in CamelCase": lambda text, data: json.dumps(
        {"".join(part.title() for part in key.split("_")): value for key, value in data.items()}
    ),
    "field names with a blank": lambda text, data: json.dumps(
        {key.replace("_", " "): value for key, value in data.items()}
    ),
    "YAML in a fence": lambda text, data: f"```yaml\n{yaml.safe_dump(data, sort_keys=False)}```",
}

# What is asked for again, and what the asking names.
REFUSED: dict[str, tuple[Mangle, str]] = {
    "empty": (lambda text, data: "", "no JSON object"),
    "white space": (lambda text, data: " \n\t ", "no JSON object"),
    "a refusal": (lambda text, data: "I'm sorry, but I can't help with that.", "no JSON object"),
    "an apology": (lambda text, data: "As an AI model, I have no opinion on this {topic}.", "no JSON object"),
    "null": (lambda text, data: "null", "."),
    "a number": (lambda text, data: "42", "."),
    "true": (lambda text, data: "true", "."),
    "an empty object": (lambda text, data: "{}", "."),
    "an empty list in a list": (lambda text, data: "[[]]", "."),
    "only thinking": (lambda text, data: f"<think>{text}</think>", "no JSON object"),
    "thinking that does not end": (lambda text, data: f"<think>I would say {text}", "thinking does not end"),
    "thinking that begins after a draft": (lambda text, data: f"{text}<think>no, wait", "thinking does not end"),
    "an HTML error page": (lambda text, data: "<html><body>502 Bad Gateway</body></html>", "no JSON object"),
    "a provider's error": (lambda text, data: '{"error": {"message": "overloaded", "code": 529}}', "."),
    "XML": (lambda text, data: xml(data), "no JSON object"),
    "a Markdown table": (lambda text, data: "| field | value |\n| --- | --- |\n| kind | artifact |", "no JSON object"),
    "bullets": (lambda text, data: "\n".join(f"- {key}: {value}" for key, value in data.items()), "."),
    "the schema": (lambda text, data: json.dumps({"type": "object", "properties": {"kind": {}}}), "."),
    "the form with dots": (lambda text, data: json.dumps(dict.fromkeys(data, "...")) + " and so on", "."),
    "two answers that differ": (lambda text, data: f"{text}\nOr rather:\n{json.dumps(other(data))}", "differ"),
    "two fences that differ": (
        lambda text, data: f"```json\n{text}\n```\n```json\n{json.dumps(other(data))}\n```",
        "differ",
    ),
    "a fenced draft, then another answer": (
        lambda text, data: f"```json\n{text}\n```\nNo, wait. Rather:\n{json.dumps(other(data))}",
        "differ",
    ),
    "two nested side by side": (lambda text, data: json.dumps({"draft": data, "final": data}), "."),
    "nested under error": (lambda text, data: json.dumps({"error": data, "code": 529}), "."),
    "a list of two that differ": (lambda text, data: f"[{text}, {json.dumps(other(data))}]", "."),
    "a draft, then one that breaks off": (lambda text, data: f"{text}\nBetter:\n{text[:-3]}", "breaks off"),
    "a field twice, with two values": (
        lambda text, data: text[:-1] + f', "{first_field(data)}": "another value"' + "}",
        ".",
    ),
    "the first field that decides missing": (
        lambda text, data: json.dumps({key: value for key, value in data.items() if key != deciding(data)}),
        ".",
    ),
    "the first field misspelt": (
        lambda text, data: json.dumps({("x" + key if key == first_field(data) else key): data[key] for key in data}),
        ".",
    ),
    "a bracket of the wrong kind": (lambda text, data: text[:-1] + "]", "."),
    "HTML entities for quotes": (lambda text, data: html.escape(text), "."),
    "escaped quotes throughout": (lambda text, data: text.replace('"', '\\"'), "."),
    "cut in the first word": (lambda text, data: text[:4], "breaks off"),
    "cut in the middle": (lambda text, data: text[: len(text) // 2], "breaks off"),
    "cut before the last bracket": (lambda text, data: text[:-1], "breaks off"),
    "cut, then closed by a fence": (lambda text, data: f"```json\n{text[:-1]}\n```", "breaks off"),
    "cut, with an apology": (lambda text, data: f"{text[:-1]}\nSorry, I ran out of space.", "breaks off"),
    "a cut Python dictionary": (lambda text, data: repr(data)[:-1], "breaks off"),
    "cut, with dots": (lambda text, data: f"{text[: -len(text) // 3]} ...", "breaks off"),
    "NUL bytes between": (lambda text, data: text.replace(" ", "\0"), "."),
    "base64": (lambda text, data: "eyJraW5kIjogImFydGlmYWN0In0=", "no JSON object"),
    "an object in words": (lambda text, data: f"open brace quote {first_field(data)} quote colon", "no JSON object"),
}


def read(form: type[BaseModel], text: str, finish: str | None = "stop") -> dict[str, Any]:
    return read_answer(text, form, lambda _: None, finish).value.model_dump()


def right(form: type[BaseModel]) -> dict[str, Any]:
    return form.model_validate(RIGHT[form]).model_dump()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("kind", READ)
def test_what_was_meant_is_read(kind: str, form: type[BaseModel]) -> None:
    text = READ[kind](json.dumps(RIGHT[form], ensure_ascii=False), RIGHT[form])
    assert read(form, text) == right(form)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_answer_is_asked_for_again(kind: str, form: type[BaseModel]) -> None:
    mangle, defect = REFUSED[kind]
    with pytest.raises(UnusableError, match=defect):
        read(form, mangle(json.dumps(RIGHT[form], ensure_ascii=False), RIGHT[form]))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_text_cut_anywhere_is_asked_for_again(form: type[BaseModel]) -> None:
    text = indented(RIGHT[form])
    misread = []
    for end in range(len(text)):
        for cut in (text[:end], repr(RIGHT[form])[:end], f"```json\n{text[:end]}\n```"):
            try:
                misread.append((cut, read(form, cut)))
            except UnusableError:
                continue
    assert [cut for cut, value in misread if value != right(form)] == []
    with pytest.raises(UnusableError, match="limit of tokens"):
        read(form, text, "length")


# -- kinds of one form -----------------------------------------------------------------------------------------------

JUDGE = RIGHT[answers.ResponseEvaluation]
ENTRY = JUDGE["intents"][1]


def entry(**changes: Any) -> tuple[type[BaseModel], dict[str, Any]]:
    return answers.ResponseEvaluation, {**JUDGE, "intents": [JUDGE["intents"][0], {**ENTRY, **changes}]}


def score(value: Any) -> tuple[type[BaseModel], dict[str, Any]]:
    return answers.SatisfactionScores, {"scores": [{"id": "1.1", "reason": "so", "score": value}]}


def rating(value: Any) -> tuple[type[BaseModel], dict[str, Any]]:
    return answers.Interactivity, {"reason": "so", "score": value}


def leak(value: Any) -> tuple[type[BaseModel], dict[str, Any]]:
    return answers.LeakCheck, {"reason": "so", "leaks": value, "ids": []}


def kind_of(value: Any) -> tuple[type[BaseModel], dict[str, Any]]:
    return answers.ResponseEvaluation, {**JUDGE, "kind": value}


def turn(number: Any, behaviour: str) -> tuple[type[BaseModel], dict[str, Any]]:
    return answers.BehaviourAnnotation, {"turns": [{"turn": number, "reason": "", "behaviour": behaviour}]}


def below(parent: str) -> tuple[type[BaseModel], dict[str, Any]]:
    return answers.Hierarchy, {"items": [{"id": "1", "parent": parent}]}


def place(**more: str | list[str]) -> tuple[type[BaseModel], dict[str, Any]]:
    return answers.Hierarchy, {"items": [{"id": "1", "parent": "2", **more}]}


def message(value: Any) -> tuple[type[BaseModel], dict[str, Any]]:
    return answers.UserMessage, {"thought": "so", "message": value}


NULL = object()  # where null is what is read
VALUES: list[tuple[str, tuple[type[BaseModel], dict[str, Any]], tuple[Any, ...], Any]] = [
    # kind, answer as sent, where to look, what is read there; None: asked again
    ("an id in brackets", entry(id="[1.10]"), ("intents", 1, "id"), "1.10"),
    ("an id in round brackets", entry(id="(1.10)"), ("intents", 1, "id"), "1.10"),
    ("an id with a dot at its end", entry(id="1.10."), ("intents", 1, "id"), "1.10"),
    ("an id with a colon", entry(id="1.10:"), ("intents", 1, "id"), "1.10"),
    ("an id with a hash", entry(id="#1.10"), ("intents", 1, "id"), "1.10"),
    ("an id with a quote too many", entry(id='1.10"'), ("intents", 1, "id"), "1.10"),
    ("an id with blanks", entry(id=" 1.10 "), ("intents", 1, "id"), "1.10"),
    ("a whole line for an id", entry(id="[1.10] Includes 2 cats"), ("intents", 1, "id"), "1.10"),
    ("an empty id", entry(id=""), (), None),
    ("no id", entry(id=None), (), None),
    ("an id in a list", entry(id=["1.10"]), (), None),
    ("engaged: true as a word", entry(engaged="true"), ("intents", 1, "engaged"), True),
    ("engaged: False as a word", entry(engaged="False"), ("intents", 1, "engaged"), False),
    ("engaged: yes", entry(engaged="yes"), ("intents", 1, "engaged"), True),
    ("engaged: No", entry(engaged="No"), ("intents", 1, "engaged"), False),
    ("engaged: 1", entry(engaged=1), ("intents", 1, "engaged"), True),
    ("engaged: 0", entry(engaged=0), ("intents", 1, "engaged"), False),
    ("engaged: 2", entry(engaged=2), (), None),
    ("engaged: 0.5", entry(engaged=0.5), (), None),
    ("engaged: partly", entry(engaged="partly"), (), None),
    ("engaged: null", entry(engaged=None), (), None),
    ("engaged: n/a", entry(engaged="n/a"), (), None),
    ("engaged: an empty text", entry(engaged=""), (), None),
    ("near misses: none", entry(near_misses="none"), ("intents", 1, "near_misses"), []),
    ("near misses: null", entry(near_misses=None), ("intents", 1, "near_misses"), []),
    ("near misses: an empty text", entry(near_misses=""), ("intents", 1, "near_misses"), []),
    ("near misses: a list of none", entry(near_misses=["none"]), ("intents", 1, "near_misses"), []),
    ("near misses: a list of N/A.", entry(near_misses=["N/A."]), ("intents", 1, "near_misses"), []),
    ("near misses: a list of (none)", entry(near_misses=["(none)"]), ("intents", 1, "near_misses"), []),
    ("near misses: a list of a dash", entry(near_misses=["-"]), ("intents", 1, "near_misses"), []),
    ("near misses: a list of null", entry(near_misses=[None]), ("intents", 1, "near_misses"), []),
    ("near misses: a list of an empty text", entry(near_misses=[""]), ("intents", 1, "near_misses"), []),
    ("near misses: none among others", entry(near_misses=["none", "a fox"]), ("intents", 1, "near_misses"), ["a fox"]),
    ("near misses: one text for a list", entry(near_misses="a fox"), (), None),
    ("near misses: numbers", entry(near_misses=[3]), ("intents", 1, "near_misses"), ["3"]),
    ("near misses: dots", entry(near_misses=["..."]), (), None),
    ("near misses: dots for a list", entry(near_misses="..."), (), None),
    ("near misses: objects", entry(near_misses=[{"text": "a fox"}]), (), None),
    ("near misses: a truth value", entry(near_misses=False), (), None),
    ("a reason that is null", entry(reason=None), ("intents", 1, "reason"), ""),
    ("a reason that is a list", entry(reason=["so"]), (), None),
    ("kind in capitals", kind_of("ARTIFACT"), ("kind",), "artifact"),
    ("kind with a blank", kind_of("Dialogue act"), ("kind",), "dialogue_act"),
    ("kind with a hyphen", kind_of("dialogue-act"), ("kind",), "dialogue_act"),
    ("kind in the paper's spelling", kind_of("dialog_act"), ("kind",), "dialogue_act"),
    ("kind: both", kind_of("artifact and dialogue_act"), (), None),
    ("kind: either", kind_of("artifact|dialogue_act"), (), None),
    ("kind: a list", kind_of(["artifact"]), (), None),
    ("intents by their ids", (answers.ResponseEvaluation, {**JUDGE, "intents": {"1": ENTRY}}), (), None),
    ("intents: null", (answers.ResponseEvaluation, {**JUDGE, "intents": None}), ("intents",), []),
    ("intents as texts", (answers.ResponseEvaluation, {**JUDGE, "intents": ["1: met"]}), (), None),
    ("a score in quotes", score("4"), ("scores", 0, "score"), 4),
    ("a score with a decimal", score(4.0), ("scores", 0, "score"), 4),
    ("a score between two steps", score(4.5), ("scores", 0, "score"), 4.5),
    ("a score of 0", score(0), (), None),
    ("a score of 6", score(6), (), None),
    ("a negative score", score(-4), (), None),
    ("a score as a percentage", score("80%"), (), None),
    ("a score of five", score("4/5"), ("scores", 0, "score"), 4),
    ("a score of ten", score("4/10"), (), None),
    ("a score in words", score("four"), (), None),
    ("a score that is true", score(True), (), None),
    ("a score that is null", score(None), (), None),
    ("a score in a list", score([4]), (), None),
    ("a score that is NaN", score(float("nan")), (), None),
    ("a score that is infinite", score(float("inf")), (), None),
    ("a rating in quotes", rating("2"), ("score",), 2),
    ("a rating between two steps", rating("2.5"), ("score",), 2.5),
    ("a rating of 3.5", rating(3.5), (), None),
    ("a rating of 5", rating(5), (), None),
    ("leaks: yes", leak("yes"), ("leaks",), True),
    ("leaks: no", leak("NO"), ("leaks",), False),
    ("leaks: maybe", leak("maybe"), (), None),
    ("a turn in quotes", turn("1", "Divergent"), ("turns", 0, "turn"), 1),
    ("a turn with a word", turn("turn 1", "divergent"), (), None),
    ("a turn of one and a half", turn(1.5, "divergent"), (), None),
    ("both behaviours", turn(1, "divergent/convergent"), (), None),
    ("a parent that is none", below("none"), ("items", 0, "parent"), NULL),
    ("a parent that is a dash", below("-"), ("items", 0, "parent"), NULL),
    ("a message that is empty", message("  "), (), None),
    ("a message in a list", message(["hm"]), (), None),
    ("a message that is a number", message(5), ("message",), "5"),
    ("a message of dots", message("…"), (), None),
    ("a message that trails off", message("hm..."), ("message",), "hm..."),
    ("all null", (answers.ResponseEvaluation, dict.fromkeys(JUDGE)), (), None),
    ("a list that is null", (answers.SatisfactionScores, {"scores": None}), ("scores",), []),
    ("a message with line breaks", message("hm\nok"), ("message",), "hm\nok"),
    ("one id for a list", (answers.InitialRequest, {"chosen": "1", "request": "hi"}), ("chosen",), ["1"]),
    ("two ids for a list", (answers.InitialRequest, {"chosen": "1, 2", "request": "hi"}), (), None),
    ("an item for a list", (answers.Abstraction, {"levels": {"items": ["By the sea"]}}), (), None),
    ("levels as lists", (answers.Abstraction, {"levels": [["By the sea"]]}), ("levels", 0, "items"), ["By the sea"]),
    ("a level that is an empty list", (answers.Abstraction, {"levels": [[]]}), (), None),
    ("no thought", (answers.UserMessage, {"message": "hm"}), ("thought",), ""),
    ("no thought beside what nobody asked for", (answers.UserMessage, {"message": "hm", "mood": "sad"}), (), None),
    ("an item with its words", place(text="The sea"), ("items", 0, "parent"), "2"),
    ("an item with what may be another's id", place(duplicate_of="1.1"), (), None),
    ("an item with a list", place(duplicates=["1.1"]), (), None),
]


@pytest.mark.parametrize(("kind", "sent", "place", "expected"), VALUES, ids=[kind for kind, *_ in VALUES])
@pytest.mark.parametrize("dressed", [json.dumps, repr, lambda data: f"Sure:\n```json\n{json.dumps(data)}\n```"])
def test_a_value_is_read_as_what_it_says_or_not_at_all(
    kind: str, sent: tuple[type[BaseModel], dict[str, Any]], place: tuple[Any, ...], expected: Any, dressed: Any
) -> None:
    form, data = sent
    try:
        found: Any = read(form, dressed(data))
    except UnusableError:
        assert not place
        return
    assert place, f"read as {found}"
    for step in place:
        found = found[step]
    assert (found is None) if expected is NULL else found == expected
    assert isinstance(found, bool) == isinstance(expected, bool)


NUMBERS = [
    ('{"id": 1.10, "reason": "", "engaged": true, "near_misses": []}', "1.10"),
    ('{"id": 1, "reason": "", "engaged": true, "near_misses": []}', "1"),
]


@pytest.mark.parametrize(("text", "expected"), NUMBERS)
def test_an_id_that_is_a_number_keeps_its_digits(text: str, expected: str) -> None:
    """1.10 as a number would be 1.1: its digits are read as they are written, or it is asked for again."""
    sent = f'{{"kind_reason": "", "kind": "artifact", "intents": [{text}]}}'
    assert read(answers.ResponseEvaluation, sent)["intents"][0]["id"] == expected


@pytest.mark.parametrize("between", [" ", "\n"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_texts_without_a_comma_between_them_never_become_one(quote: str, between: str) -> None:
    """As Python joins them: two near misses would count as one, and two requirements would be none of both."""
    sent = '{"levels": [{"items": ["A boat"&"A pier", "A gull"]}]}'.replace('"', quote).replace("&", between)
    with contextlib.suppress(UnusableError):
        assert read(answers.Abstraction, sent)["levels"][0]["items"] == ["A boat", "A pier", "A gull"]


def test_there_are_many_kinds(record_property: Any) -> None:
    kinds = len(READ) + len(REFUSED) + len(VALUES)
    record_property("kinds", kinds)
    assert kinds >= 80 and len({kind for kind, *_ in VALUES}) == len(VALUES)
