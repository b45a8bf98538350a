"""Asking for a structured answer: the one re-ask, what is noted of it, limits that cut it off, and thinking."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from llm_script import Script

from discover_lib.base.tokens import COUNTING, count_tokens
from discover_lib.core.conversation import Message
from discover_lib.core.roles import AssistantError
from discover_lib.engines.llm.answers import InitialRequest, JudgedIntent, LeakCheck
from discover_lib.engines.llm.asking import ask_structured
from discover_lib.engines.llm.assistants import REPORTED, LLMAssistant
from discover_lib.engines.llm.calls.client import LLMClient
from discover_lib.engines.llm.calls.exchange import Answered, Completion, LLMError, Request
from discover_lib.runs.store import failure_of


def cut(text: str) -> Completion:
    return Completion(text, 10, 2048, finish_reason="length")


def whole(text: str, tokens: int | None = 9, reasoning: int | None = None) -> Completion:
    return Completion(text, 10, tokens, finish_reason="stop", reasoning_tokens=reasoning)


REQUEST = Request("openai/x", ({"role": "user", "content": "Check."},), "check", max_tokens=2048, seed=3)
SAID = {"reason": "so", "leaks": True, "ids": ["1", "7"]}
GOOD = json.dumps(SAID)
WRONG = GOOD.replace('"1"', '"9"')


def missing(answer: LeakCheck) -> str | None:
    return None if "1" in answer.ids else "id 1 is missing"


def ask(*replies: Any) -> tuple[Script, Any]:
    """The script after an answer or an error, and that."""
    script = Script(*replies)
    try:
        return script, ask_structured(script, REQUEST, LeakCheck, missing)
    except LLMError as error:
        return script, error


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        ([GOOD], "clean"),
        ([f"```json\n{GOOD}\n```"], "repaired"),
        (["I cannot say.", GOOD], "reasked"),
        ([WRONG, f"Sorry! {GOOD}"], "reasked"),
        ([GOOD[:-9], WRONG], "failed"),
    ],
)
def test_every_answer_has_an_outcome_that_is_noted_and_its_raw_texts(replies: Sequence[str], outcome: str) -> None:
    script, answer = ask(*replies)
    assert answer.raw == tuple(replies)
    assert script.notes == [Answered(script.asked[-1].key, "check", outcome)]


def test_the_second_asking_names_the_defect_and_shows_what_was_said() -> None:
    script, _ = ask(WRONG, GOOD)
    first, second = script.asked
    assert [message["role"] for message in second.messages] == ["user", "assistant", "user"]
    assert second.messages[1]["content"] == WRONG
    assert "id 1 is missing" in second.messages[2]["content"]
    assert first.key != second.key and first.schema == second.schema == LeakCheck.model_json_schema()


@pytest.mark.parametrize("first", [GOOD[:-3], GOOD, ""], ids=["broken", "closed", "empty"])
def test_an_answer_that_was_cut_off_is_asked_for_with_a_longer_limit(first: str) -> None:
    script, answer = ask(cut(first), whole(GOOD))
    assert answer.value.model_dump() == SAID
    assert [each.max_tokens for each in script.asked] == [2048, 8192]
    assert script.asked[1].messages == REQUEST.messages, "there is nothing to complain about"
    assert [each.outcome for each in script.notes] == [None, "reasked"] and script.notes[0].remarks == {"cut": 1}


def test_an_answer_that_stays_cut_off_is_never_read() -> None:
    script, error = ask(cut(GOOD), cut(GOOD))
    assert "limit of tokens" in str(error) and len(script.asked) == 2
    assert [(each.outcome, each.remarks) for each in script.notes] == [(None, {"cut": 1}), ("failed", {"cut": 1})]


def test_a_schema_requires_every_field_and_allows_no_other() -> None:
    assert InitialRequest.model_json_schema()["additionalProperties"] is False
    judged = JudgedIntent.model_json_schema()
    assert judged["required"] == ["id", "reason", "engaged", "near_misses"] == list(judged["properties"])
    assert "default" not in judged["properties"]["near_misses"]


ASKED = (Message("user", "a long story"),)


def assistant(script: Script, **how: Any) -> LLMAssistant:
    return LLMAssistant(cast(LLMClient, script), "openai/x", **how)


def test_a_reply_that_was_cut_off_is_asked_for_once_more_with_a_longer_limit() -> None:
    script = Script(cut("<think>well, a story"), whole("The end."))
    assert assistant(script).reply(ASKED, 1).text == "The end."
    assert [each.max_tokens for each in script.asked] == [2048, 8192]
    assert script.asked[0].messages == script.asked[1].messages


@pytest.mark.parametrize(("limit", "limits"), [(8192, [8192, 16384]), (None, [None, None])])
def test_a_reply_that_stays_cut_off_is_no_reply(limit: int | None, limits: list[int | None]) -> None:
    script = Script(cut("Once upon a"), cut("Once upon a time"))
    with pytest.raises(AssistantError, match="openai/x: the reply was cut off by") as caught:
        assistant(script, max_tokens=limit).reply(ASKED, 1)
    assert [each.max_tokens for each in script.asked] == limits
    assert failure_of(caught.value, 1, ended=True).came_back == ("Once upon a time",), "a resumed run asks anew"


@pytest.mark.parametrize(
    ("completion", "n_tokens", "counting"),
    [
        (whole("A boat.", 9), 9, REPORTED),
        (whole("A boat.", 900, 891), count_tokens("A boat."), COUNTING),
        (whole("<think>hm, a boat</think>A boat.", 20), count_tokens("A boat."), COUNTING),
        (whole("A boat.", None), count_tokens("A boat."), COUNTING),
    ],
)
def test_thinking_is_no_length(completion: Completion, n_tokens: int, counting: str) -> None:
    reply = assistant(Script(completion)).reply(ASKED, 1)
    assert (reply.text, reply.n_tokens, reply.counting) == ("A boat.", n_tokens, counting)


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("<think>a</think>A boat.", "A boat."),
        (" <Thinking>\na\n</Thinking>\n\n<reasoning>b</reasoning>A boat.", "A boat."),
        ("so, a boat\n</think>\n\nA boat.", "A boat."),
        ("<think>a</think> more </think>A boat.", "A boat."),
        ("Models write `<think>` and `</think>`.", "Models write `<think>` and `</think>`."),
        ('<svg width="9"><desc>x</desc></svg>', '<svg width="9"><desc>x</desc></svg>'),
        ("<think>and so on", None),
    ],
)
def test_what_a_reply_is_without_its_thinking(text: str, reply: str | None) -> None:
    if reply is None:
        with pytest.raises(AssistantError, match=r"thinking"):
            assistant(Script(text)).reply(ASKED, 1)
    else:
        assert assistant(Script(text)).reply(ASKED, 1).text == reply
