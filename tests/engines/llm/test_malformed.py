"""Malformed and odd replies, kind by kind, over structured answers: read as what was said, or asked for again.

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
from hypothesis import given, settings
from hypothesis import strategies as st
from llm_server import MANGLED, MENDABLE_FAULTS
from pydantic import BaseModel

from discover_lib.engines.llm import answers
from discover_lib.engines.llm.asking import UnusableError, read_answer

pytestmark = pytest.mark.slow

# Right answers of six forms, from flat to nested, with words that a careless reading would trip over.
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
    answers.SatisfactionScores: {"scores": [{"id": "1.1", "reason": "named in line two", "score": 5}]},
    answers.BehaviourAnnotation: {"turns": [{"turn": 1, "reason": "three openings", "behaviour": "divergent"}]},
    answers.Hierarchy: {
        "items": [{"id": "2.1", "parent": None, "same_as": None}, {"id": "0.10", "parent": "2.1", "same_as": None}]
    },
    answers.LeakCheck: {"reason": "snooping is listening", "leaks": True, "ids": ["1.10"]},
}
FORMS = list(RIGHT)
Mangle = Callable[[str, dict[str, Any]], str]


def indented(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


def first_field(data: dict[str, Any]) -> str:
    return next(iter(data))


def other(data: Any) -> Any:
    """Another answer of the same form: its first text is a different one."""
    return json.loads(re.sub(r'(": |\[)"([^"]*)"', r'\1"quite another 7"', json.dumps(data), count=1))


# What is read, as the answer that it was made of.
READ: dict[str, Mangle] = {
    "as asked": lambda text, data: text,
    "non-ASCII escaped": lambda text, data: json.dumps(data, ensure_ascii=True),
    "Windows line ends": lambda text, data: indented(data).replace("\n", "\r\n"),
    "byte order mark": lambda text, data: "\ufeff" + text,
    "a fence": lambda text, data: f"```json\n{text}\n```",
    "prose around": lambda text, data: f"Sure! Here is the answer:\n\n{text}\n\nLet me know if anything is unclear!",
    "thinking with a draft": lambda text, data: f"<think>{json.dumps(other(data))}</think>\n{text}",
    "thinking whose opening tag is cut off": lambda text, data: f"so I would say yes.\n</think>\n{text}",
    "an object in a list": lambda text, data: f"[{text}]",
    "a trailing comma": lambda text, data: re.sub(r"([\]}])$", r",\1", text),
    "a Python dictionary": lambda text, data: repr(data),
    "keys without quotes": lambda text, data: re.sub(r'"(\w+)":', r"\1:", text),
    "escaped quotes throughout": lambda text, data: text.replace('"', '\\"'),
    "fields in another order": lambda text, data: json.dumps(dict(reversed(data.items()))),
}

# What is asked for again, and what the asking names.
REFUSED: dict[str, tuple[Mangle, str]] = {
    "empty": (lambda text, data: "", "no JSON object"),
    "a refusal": (lambda text, data: "I'm sorry, but I can't help with that.", "no JSON object"),
    "only thinking": (lambda text, data: f"<think>{text}</think>", "no JSON object"),
    "thinking that does not end": (lambda text, data: f"<think>I would say {text}", "thinking does not end"),
    "the form with dots": (lambda text, data: json.dumps(dict.fromkeys(data, "...")), "."),
    "two answers": (lambda text, data: f"{text}\nOr rather:\n{json.dumps(other(data))}", "not one whole JSON object"),
    "comments": (lambda text, data: indented(data).replace("{\n", "{ // here it is\n", 1), "not one whole JSON object"),
    "a field that nobody asked for": (lambda text, data: json.dumps({**data, "confidence": 0.9}), "confidence: Extra"),
    "a field twice": (lambda text, data: text[:-1] + f', "{first_field(data)}": "another"' + "}", "."),
    "a field missing": (lambda text, data: json.dumps(dict([*data.items()][1:])), "Field required"),
    "HTML entities for quotes": (lambda text, data: html.escape(text), "."),
    "cut, then closed by a fence": (lambda text, data: f"```json\n{text[:-1]}\n```", "not one whole|no JSON object"),
}


def read(form: type[BaseModel], text: str, finish: str | None = "stop") -> dict[str, Any]:
    return read_answer(text, form, lambda _: None, finish).value.model_dump()


def right(form: type[BaseModel]) -> dict[str, Any]:
    return form.model_validate(RIGHT[form]).model_dump()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("kind", READ)
def test_what_was_said_is_read(kind: str, form: type[BaseModel]) -> None:
    text = READ[kind](json.dumps(RIGHT[form], ensure_ascii=False), RIGHT[form])
    answer = read_answer(text, form, lambda _: None, "stop")
    assert answer.value.model_dump() == right(form)
    assert answer.clean == (kind in ("as asked", "non-ASCII escaped", "Windows line ends", "fields in another order"))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_answer_is_asked_for_again(kind: str, form: type[BaseModel]) -> None:
    mangle, defect = REFUSED[kind]
    with pytest.raises(UnusableError, match=defect):
        read(form, mangle(json.dumps(RIGHT[form], ensure_ascii=False), RIGHT[form]))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_text_cut_anywhere_is_asked_for_again(form: type[BaseModel]) -> None:
    text = indented(RIGHT[form])
    for end in range(len(text)):
        for cut in (text[:end], repr(RIGHT[form])[:end], f"```json\n{text[:end]}\n```"):
            try:
                assert read(form, cut) == right(form)
            except UnusableError:
                continue
    with pytest.raises(UnusableError, match="limit of tokens"):
        read(form, text, "length")


JUDGE = RIGHT[answers.ResponseEvaluation]


def entry(**changes: Any) -> tuple[type[BaseModel], dict[str, Any]]:
    return answers.ResponseEvaluation, {**JUDGE, "intents": [{**JUDGE["intents"][1], **changes}]}


def score(value: Any) -> tuple[type[BaseModel], dict[str, Any]]:
    return answers.SatisfactionScores, {"scores": [{"id": "1.1", "reason": "so", "score": value}]}


def rating(value: Any) -> tuple[type[BaseModel], dict[str, Any]]:
    return answers.Interactivity, {"reason": "so", "score": value}


def near(*misses: Any) -> tuple[type[BaseModel], dict[str, Any]]:
    return entry(near_misses=list(misses))


AGAIN = object()  # asked for again
NEAR, ID = ("intents", 0, "near_misses"), ("intents", 0, "id")
VALUES: list[tuple[tuple[type[BaseModel], dict[str, Any]], tuple[Any, ...], Any]] = [
    # answer as sent, where to look, what is read there
    *((entry(id=written), ID, "1.10") for written in ("[1.10]", " 1.10 ")),
    *((entry(id=written), ID, AGAIN) for written in ("", None, ["1.10"], 1.10, 1)),
    *((entry(engaged=value), (), AGAIN) for value in ("true", "yes", 1, 0.5, None, "partly")),
    *((near(word), NEAR, []) for word in ("none", "(none)", "N/A", "", "-", "–", "nothing", "null", "[]")),
    (near("none", "a fox"), NEAR, ["a fox"]),
    *((near(value), NEAR, AGAIN) for value in ("...", 3, {"text": "a fox"}, None)),
    (entry(near_misses="a fox"), NEAR, AGAIN),
    (entry(reason=None), (), AGAIN),
    ((answers.ResponseEvaluation, {**JUDGE, "kind": "Artifact"}), ("kind",), "artifact"),
    ((answers.ResponseEvaluation, {**JUDGE, "kind": "artifact and dialogue_act"}), (), AGAIN),
    *((score(value), ("scores", 0, "score"), value) for value in (1, 4, 5, 4.0, 4.5)),
    *((score(value), (), AGAIN) for value in (0, 6, -4, "4", "4/5", True, None, [4], float("nan"), float("inf"))),
    *((rating(value), ("score",), value) for value in (2, 2.5, 2.7)),
    *((rating(value), (), AGAIN) for value in ("2", 3.5, 5)),
    ((answers.UserMessage, {"thought": "so", "message": "  "}), (), AGAIN),
    ((answers.UserMessage, {"thought": "so", "message": "…"}), (), AGAIN),
    ((answers.UserMessage, {"thought": "so", "message": "hm..."}), ("message",), "hm..."),
    ((answers.Hierarchy, {"items": [{"id": "1", "parent": None}]}), ("items", 0, "same_as"), None),
]


@pytest.mark.parametrize(("sent", "place", "expected"), VALUES)
@pytest.mark.parametrize("dressed", [json.dumps, repr, lambda data: f"Sure:\n```json\n{json.dumps(data)}\n```"])
def test_a_value_is_read_as_what_it_says_or_not_at_all(
    sent: tuple[type[BaseModel], dict[str, Any]], place: tuple[Any, ...], expected: Any, dressed: Any
) -> None:
    form, data = sent
    try:
        found: Any = read(form, dressed(data))
    except UnusableError:
        assert expected is AGAIN
        return
    for step in place:
        found = found[step]
    assert found == expected and isinstance(found, bool) == isinstance(expected, bool)


def test_a_complaint_names_the_place() -> None:
    with pytest.raises(UnusableError, match=r"^scores.0.score: Input should be less"):
        read(answers.SatisfactionScores, json.dumps(score(7)[1]))


@pytest.mark.parametrize("between", [" ", "\n"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_texts_without_a_comma_between_them_never_become_one(quote: str, between: str) -> None:
    """As Python joins them: two near misses would count as one, and two requirements would be none of both."""
    sent = '{"levels": [{"items": ["A boat"&"A pier", "A gull"]}]}'.replace('"', quote).replace("&", between)
    with contextlib.suppress(UnusableError):
        assert read(answers.Abstraction, sent)["levels"][0]["items"] == ["A boat", "A pier", "A gull"]


texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\"'{}[],:#/\\`\n-&*"), max_size=40)
judged = st.fixed_dictionaries({"reason": texts, "engaged": st.booleans(), "near_misses": st.lists(texts, max_size=2)})


@settings(max_examples=300, deadline=None)
@given(texts, judged, judged, st.sampled_from(["json", "ascii", *MENDABLE_FAULTS]))
def test_no_words_in_an_answer_make_it_read_as_another(reason: str, first: Any, second: Any, form: str) -> None:
    data = {"kind_reason": reason, "kind": "artifact", "intents": [{"id": "1", **first}, {"id": "1.1", **second}]}
    text = json.dumps(data, ensure_ascii=form == "ascii")
    try:
        meant = answers.ResponseEvaluation.model_validate(data)
        found = read(answers.ResponseEvaluation, MANGLED[form](text) if form in MENDABLE_FAULTS else text)
    except ValueError:
        return
    assert found == meant.model_dump()


@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 5000 + "}", "- " * 5000, "{ x " * 5000 + "}", '"' * 9999])
def test_a_hostile_text_is_refused_soon(text: str) -> None:
    with pytest.raises(UnusableError):
        read(answers.UserMessage, text)
