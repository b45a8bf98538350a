"""Structured answers: what models send, what is read of it, what is refused, and the one re-ask."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from llm_server import MENDABLE_FAULTS, UNMENDABLE_FAULTS, mangle
from pydantic import BaseModel, Field

from discover_lib.engines.llm.answers import BehaviourAnnotation, Interactivity, SatisfactionScores
from discover_lib.engines.llm.calls.reading import UnusableError, read_answer
from discover_lib.engines.llm.calls.records import Completion, LLMError, Request
from discover_lib.engines.llm.calls.structured import StructuredError, ask_structured
from discover_lib.engines.llm.calls.wire import response_format, strict_schema

REPLIES = Path(__file__).parents[2] / "data" / "replies"
INDEX: dict[str, dict[str, Any]] = yaml.safe_load((REPLIES / "index.yaml").read_text(encoding="utf-8"))
ANSWERS: dict[str, Any] = json.loads((REPLIES / "answers.json").read_text(encoding="utf-8"))


class Judged(BaseModel):
    id: str
    reason: str
    engaged: bool
    near_misses: list[str] = Field(default_factory=list)


class Judgement(BaseModel):
    kind_reason: str
    kind: Literal["artifact", "dialogue_act"]
    intents: list[Judged]


class Items(BaseModel):
    items: list[str]


class Spoken(BaseModel):
    thought: str
    message: str


def asked_for(*ids: str) -> Any:
    def check(answer: Judgement) -> str | None:
        given = [each.id for each in answer.intents]
        return None if sorted(given) == sorted(ids) else f"the ids are {', '.join(ids)}"

    return check


def anything(answer: BaseModel) -> str | None:
    return None


FORMS: dict[str, tuple[type[BaseModel], Any]] = {
    "judge": (Judgement, asked_for("1", "1.1")),
    "tens": (Judgement, asked_for("1.1", "1.10")),
    "items": (Items, anything),
    "voice": (Spoken, anything),
}


def read_reply(name: str) -> tuple[dict[str, Any] | None, str]:
    """What is read of a reply of the corpus, as plain data, and the outcome."""
    entry = INDEX[name]
    text = (REPLIES / f"{name}.txt").read_bytes().decode("utf-8")
    form, check = FORMS[entry.get("form", "judge")]
    try:
        read = read_answer(text, form, check, entry.get("finish_reason", "stop"))
    except UnusableError:
        return None, "refused"
    return read.value.model_dump(), "clean" if read.clean else "repaired"


@pytest.mark.parametrize("name", INDEX)
def test_a_reply_is_read_as_it_was_meant_or_refused(name: str) -> None:
    expected = INDEX[name]["expect"]
    value, outcome = read_reply(name)
    if expected == "refused":
        assert value is None
    else:
        assert value == ANSWERS[expected]
        assert (outcome == "clean") == name.startswith("clean")


@pytest.mark.parametrize(
    ("form", "data", "told"),
    [
        (
            SatisfactionScores,
            {"scores": [{"id": "1", "reason": "", "score": 4}, {"id": "5.1.1.1", "reason": "", "score": 7}]},
            "score of 5.1.1.1: must be a number from 1 to 5",
        ),
        (
            BehaviourAnnotation,
            {"turns": [{"turn": n, "reason": "", "behaviour": each} for n, each in ((1, "divergent"), (2, "mixed"))]},
            "behaviour of turn 2: Input should be 'divergent' or 'convergent'",
        ),
        (Judgement, {"kind_reason": "", "kind": "artifact", "intents": [{"id": "2", "reason": 1}]}, "reason of 2: "),
        (Items, {"items": ["a", ["b"]]}, "entry 2 of items: "),
        (Interactivity, {"reason": "", "score": 9}, "score: must be a number from 1 to 3"),
    ],
)
def test_a_complaint_names_an_entry_as_its_writer_does(form: type[BaseModel], data: object, told: str) -> None:
    with pytest.raises(UnusableError) as complaint:
        read_answer(json.dumps(data), form, anything)
    assert str(complaint.value).startswith(told)


@pytest.mark.parametrize(("score", "clean"), [("2", True), ('"2"', False), ('"2.5"', False), ("2.5", True)])
def test_a_number_given_as_text_is_read_and_counts_as_repaired(score: str, clean: bool) -> None:
    read = read_answer(f'{{"reason": "3", "score": {score}}}', Interactivity, anything)
    assert (read.value.score, read.clean) == (float(score.strip('"')), clean)


@pytest.mark.slow
def test_the_corpus_is_large_and_every_reply_has_an_expectation(record_property: Any) -> None:
    assert {path.stem for path in REPLIES.glob("*.txt")} == INDEX.keys()
    outcomes = Counter(read_reply(name)[1] for name in INDEX)
    record_property("outcomes", dict(outcomes))
    assert len(INDEX) - outcomes["clean"] >= 40


# -- whatever is sent ------------------------------------------------------------------------------------------------

PLAIN = ANSWERS["plain"]
MANGLED = [PLAIN, ANSWERS["quoted"], ANSWERS["braces"], ANSWERS["lines"]]


def read_judgement(text: str) -> dict[str, Any] | None:
    try:
        return read_answer(text, Judgement, asked_for("1", "1.1"), "stop").value.model_dump()
    except UnusableError:
        return None


@pytest.mark.parametrize("fault", MENDABLE_FAULTS)
@pytest.mark.parametrize("data", MANGLED, ids=lambda data: data["kind_reason"][:8])
def test_every_careless_form_is_mended(fault: str, data: dict[str, Any]) -> None:
    assert read_judgement(mangle(json.dumps(data), fault)) == data


@pytest.mark.parametrize("fault", UNMENDABLE_FAULTS)
def test_what_is_lost_or_wrong_is_never_mended(fault: str) -> None:
    assert read_judgement(mangle(json.dumps(PLAIN), fault)) is None


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "indented", "python", "fenced"])
def test_a_text_that_breaks_off_anywhere_is_refused(form: str) -> None:
    text = json.dumps(PLAIN, indent=2 if form == "indented" else None)
    text = {"python": repr(PLAIN), "fenced": f"```json\n{text}\n```"}.get(form, text)
    end = text.rindex("}")
    assert [cut for cut in range(end + 1) if read_judgement(text[:cut]) is not None] == []


texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\"'{}[],:#/\\`\n-&*"), max_size=40)
judged = st.fixed_dictionaries({"reason": texts, "engaged": st.booleans(), "near_misses": st.lists(texts, max_size=2)})


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(texts, judged, judged, st.sampled_from(["json", "ascii", *MENDABLE_FAULTS]))
def test_no_words_in_an_answer_make_it_read_as_another(reason: str, first: Any, second: Any, form: str) -> None:
    data = {"kind_reason": reason, "kind": "artifact", "intents": [{"id": "1", **first}, {"id": "1.1", **second}]}
    text = json.dumps(data, ensure_ascii=form == "ascii")
    read = read_judgement(mangle(text, form) if form in MENDABLE_FAULTS else text)
    assert read == data if form in ("json", "ascii") else read in (data, None)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 5000, "- " * 5000, "{ x " * 5000, '"' * 9999, "```" * 3000])
def test_a_hostile_text_is_refused_soon(text: str) -> None:
    assert read_judgement(text) is None


# -- asking ----------------------------------------------------------------------------------------------------------


class Script:
    """A client whose model gives these texts, one after the other."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.requests: list[Request] = []
        self.outcomes: list[tuple[str, str]] = []

    def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        return Completion(self.texts[len(self.requests) - 1], finish_reason="stop")

    def count_structured(self, purpose: str, outcome: str) -> None:
        self.outcomes.append((purpose, outcome))


REQUEST = Request("openai/judge", ({"role": "user", "content": "Judge this."},), "judge", seed=3)
GOOD = json.dumps(PLAIN)
WRONG_IDS = GOOD.replace('"1.1"', '"7"')


def ask(*texts: str) -> tuple[Script, Any]:
    script = Script(*texts)
    try:
        return script, ask_structured(script, REQUEST, Judgement, asked_for("1", "1.1"))
    except StructuredError as error:
        return script, error


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        ([GOOD], "clean"),
        ([f"```json\n{GOOD}\n```"], "repaired"),
        (["I cannot say.", GOOD], "reasked"),
        (["", GOOD], "reasked"),
        ([WRONG_IDS, f"Sorry! {GOOD}"], "reasked"),
        ([GOOD[:-9], WRONG_IDS], "failed"),
    ],
)
def test_every_answer_has_an_outcome_that_is_counted_and_its_raw_texts(replies: Sequence[str], outcome: str) -> None:
    script, answer = ask(*replies)
    assert answer.outcome == outcome
    assert answer.raw == tuple(replies)
    assert script.outcomes == [("judge", outcome)]
    if outcome != "failed":
        assert answer.value.model_dump() == PLAIN


def test_the_second_asking_names_the_defect_and_shows_what_was_said() -> None:
    script, _ = ask(WRONG_IDS, GOOD)
    first, second = script.requests
    assert [message["role"] for message in second.messages] == ["user", "assistant", "user"]
    assert second.messages[1]["content"] == WRONG_IDS
    assert "the ids are 1, 1.1" in second.messages[2]["content"]
    assert first.key != second.key
    assert first.schema == second.schema == Judgement.model_json_schema()


def test_an_answer_that_never_comes_is_an_error_that_says_why() -> None:
    _, error = ask(WRONG_IDS, "No.")
    assert isinstance(error, LLMError)
    assert str(error) == "openai/judge: no usable answer, also when asked again: there is no JSON object"


# -- schemas ---------------------------------------------------------------------------------------------------------


def test_a_strict_schema_requires_every_field_and_allows_no_other() -> None:
    strict = strict_schema(Judgement.model_json_schema())
    assert strict
    judged_schema = strict["$defs"]["Judged"]
    assert judged_schema["required"] == ["id", "reason", "engaged", "near_misses"]
    assert judged_schema["additionalProperties"] is False
    assert "default" not in judged_schema["properties"]["near_misses"]


def test_a_field_called_like_a_keyword_stays_in_a_strict_schema() -> None:
    class Named(BaseModel):
        title: str
        default: str = ""

    strict = strict_schema(Named.model_json_schema())
    assert strict
    assert strict["required"] == ["title", "default"] == list(strict["properties"])


def test_an_answer_with_free_keys_is_asked_for_without_strictness() -> None:
    class Free(BaseModel):
        scores: dict[str, int]

    assert strict_schema(Free.model_json_schema()) is None
    assert response_format(Free.model_json_schema())["json_schema"]["strict"] is False
