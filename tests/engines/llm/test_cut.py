"""What is no reply: one that its limit cut off, and a model's thinking."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import pytest
from pydantic import BaseModel

from discover_lib.base.tokens import COUNTING, count_tokens
from discover_lib.core.conversation import Message
from discover_lib.core.roles import AssistantError
from discover_lib.engines.llm.assistants import REPORTED, REPORTED_TEXT, LLMAssistant
from discover_lib.engines.llm.calls.client import LLMClient
from discover_lib.engines.llm.calls.direct import _read_whole
from discover_lib.engines.llm.calls.reading import UnusableError, without_thinking
from discover_lib.engines.llm.calls.records import Completion, LLMError, Request
from discover_lib.engines.llm.calls.structured import StructuredError, ask_structured
from discover_lib.runs.store import failure_of

ASKED = (Message("user", "a long story"),)
EMPTY_AT_THE_LIMIT = LLMError("x: all tokens were used", "content", attempts=1, cut=True)


class Script:
    """A client whose model gives these completions, or errors, one after the other."""

    def __init__(self, *replies: Completion | LLMError) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []
        self.outcomes: list[str] = []

    def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        reply = self.replies[len(self.requests) - 1]
        if isinstance(reply, LLMError):
            raise reply
        return reply

    def stream(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        completion = self.complete(request)
        for end in range(len(completion.text) + 1):
            on_text(completion.text[:end])
        return completion

    def count_structured(self, purpose: str, outcome: str) -> None:
        self.outcomes.append(outcome)


def cut(text: str = "Once upon a") -> Completion:
    return Completion(text, 10, 2048, finish_reason="length")


def whole(text: str, tokens: int | None = 9, reasoning: int | None = None) -> Completion:
    return Completion(text, 10, tokens, finish_reason="stop", reasoning_tokens=reasoning)


def assistant(script: Script, **how: Any) -> LLMAssistant:
    return LLMAssistant(cast(LLMClient, script), "openai/x", "a", **how)


# -- cut off ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first", [cut(), cut("<think>well, a story"), EMPTY_AT_THE_LIMIT], ids=["text", "think", "empty"]
)
def test_a_reply_that_was_cut_off_is_asked_for_once_more_with_a_longer_limit(first: Completion | LLMError) -> None:
    script = Script(first, whole("The end."))
    assert assistant(script).reply(ASKED, 1).text == "The end."
    assert [each.max_tokens for each in script.requests] == [2048, 8192]
    assert script.requests[0].messages == script.requests[1].messages


@pytest.mark.parametrize(("limit", "limits"), [(8192, [8192, 16384]), (None, [None])])
def test_a_reply_that_stays_cut_off_is_no_reply(limit: int | None, limits: list[int | None]) -> None:
    script = Script(cut(), cut("Once upon a time"))
    with pytest.raises(AssistantError, match="a did not reply: openai/x: the reply was cut off by") as caught:
        assistant(script, max_tokens=limit).reply(ASKED, 1)
    assert [each.max_tokens for each in script.requests] == limits
    failure = failure_of(caught.value, 1, ended=True)
    assert failure.role == "assistant" and failure.came_back[0] == "Once upon a", "so that a resumed run asks anew"


def test_another_error_passes() -> None:
    with pytest.raises(AssistantError, match="refused"):
        assistant(Script(LLMError("refused", "bad_request"))).reply(ASKED, 1)


class Said(BaseModel):
    message: str


REQUEST = Request("openai/x", ({"role": "user", "content": "Speak."},), "voice", max_tokens=2048)
SAID = json.dumps({"message": "fine"})


@pytest.mark.parametrize("first", [cut(SAID[:-3]), cut(SAID), EMPTY_AT_THE_LIMIT], ids=["broken", "closed", "empty"])
def test_an_answer_that_was_cut_off_is_asked_for_with_a_longer_limit(first: Completion | LLMError) -> None:
    script = Script(first, whole(SAID))
    assert ask_structured(script, REQUEST, Said).value == Said(message="fine")
    assert [each.max_tokens for each in script.requests] == [2048, 8192] and script.outcomes == ["reasked"]
    assert script.requests[1].messages == REQUEST.messages, "there is nothing to complain about"


def test_an_answer_that_stays_cut_off_is_never_read() -> None:
    script = Script(cut(SAID), cut(SAID), whole(SAID))
    with pytest.raises(StructuredError, match="breaks off before its end"):
        ask_structured(script, REQUEST, Said)
    assert len(script.requests) == 2 and script.outcomes == ["failed"]


# -- thinking --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("completion", "n_tokens", "counting"),
    [
        (whole("A boat.", 9), 9, REPORTED),
        (whole("A boat.", 900, 891), 9, REPORTED_TEXT),
        (whole("A boat.", 900, 0), 900, REPORTED),
        (whole("<think>hm, a boat</think>A boat.", 20), count_tokens("A boat."), COUNTING),
        (whole("A boat.", None), count_tokens("A boat."), COUNTING),
    ],
)
def test_thinking_is_no_length(completion: Completion, n_tokens: int, counting: str) -> None:
    reply = assistant(Script(completion)).reply(ASKED, 1)
    assert (reply.text, reply.n_tokens, reply.counting) == ("A boat.", n_tokens, counting)


def test_reasoning_tokens_are_read_off_a_providers_count() -> None:
    usage: dict[str, Any] = {"prompt_tokens": 5, "completion_tokens": 90}
    data = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "usage": usage}
    assert _read_whole(REQUEST, json.dumps(data).encode()).reasoning_tokens is None
    usage["completion_tokens_details"] = {"reasoning_tokens": 80}
    assert _read_whole(REQUEST, json.dumps(data).encode()).reasoning_tokens == 80
    usage["completion_tokens_details"] = None
    assert _read_whole(REQUEST, json.dumps(data).encode()).reasoning_tokens is None


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("A boat.", "A boat."),
        ("<think>a</think>A boat.", "A boat."),
        (" <Thinking>\na\n</Thinking>\n\n<reasoning>b</reasoning>A boat.", "A boat."),
        ("so, a boat\n</think>\n\nA boat.", "A boat."),
        ("<think>a</think> more </think>A boat.", "A boat."),
        ("<|channel|>analysis<|message|>hm<|channel|>final<|message|>A boat.", "A boat."),
        ("Models write `<think>` and `</think>`.", "Models write `<think>` and `</think>`."),
        ("Put <think>a plan</think> first.", "Put <think>a plan</think> first."),
        ('<svg width="9"><desc>x</desc></svg>', '<svg width="9"><desc>x</desc></svg>'),
        ("<analysis id='1'>text</analysis>", "<analysis id='1'>text</analysis>"),
        ("<think>and so on", None),
        ("<reasoning>a</reasoning><think>b", None),
        ("<|channel|>analysis<|message|>hm", None),
    ],
)
def test_what_a_reply_is_without_its_thinking(text: str, reply: str | None) -> None:
    if reply is None:
        with pytest.raises(UnusableError, match=r"thinking"):
            without_thinking(text, prose=True)
        with pytest.raises(AssistantError, match=r"thinking"):
            assistant(Script(whole(text))).reply(ASKED, 1)
    else:
        assert without_thinking(text, prose=True) == reply
        assert assistant(Script(whole(text))).reply(ASKED, 1).text == reply


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning"])
def test_a_page_is_never_shown_thinking(tag: str) -> None:
    shown: list[str] = []
    script = Script(whole(f"<{tag}>secret</{tag}>\nA boat."))
    assert assistant(script).stream(ASKED, 1, shown.append).text == "A boat."
    assert shown[-1] == "A boat." and not any("secret" in each or "<" in each for each in shown)
