"""A model's check for paraphrases: of built first messages always, of a voice's by choice; never in the way."""

from __future__ import annotations

from typing import Any

import pytest
from llm_script import Script

from discover_lib.core.conversation import Artifact, Message
from discover_lib.core.intents import Intent
from discover_lib.core.roles import BuildError
from discover_lib.core.view import UserView
from discover_lib.engines.llm.builder import Abstracted, LLMBuilder, Organised, Synthesised
from discover_lib.engines.llm.calls.exchange import LLMError
from discover_lib.engines.llm.judge import LeakCheck
from discover_lib.engines.llm.voice import PARAPHRASED, LLMVoice

LEAKS = {"reason": "snooping is listening in secret", "leaks": True, "ids": ["1.1"]}
INNOCENT = {"reason": "only the topic", "leaks": False, "ids": []}


@pytest.mark.parametrize(
    ("replies", "ids", "unchecked"),
    [
        pytest.param([LEAKS], ("1.1",), 0, id="yes"),
        pytest.param([INNOCENT], (), 0, id="no"),
        pytest.param([LEAKS | {"ids": ["1.1", "9"]}], ("1.1",), 0, id="an id that is not hidden is left out"),
        pytest.param([LEAKS | {"ids": []}, LEAKS], ("1.1",), 0, id="a leak of nothing is asked again"),
        pytest.param([INNOCENT | {"ids": ["1.1"]}, INNOCENT], (), 0, id="and so is no leak of something"),
        pytest.param(["I'd rather not say."], None, 1, id="no usable answer"),
        pytest.param([LLMError("overloaded", "server")], None, 1, id="no answer at all"),
    ],
)
def test_what_is_read_of_an_answer(replies: list[Any], ids: tuple[str, ...] | None, unchecked: int) -> None:
    client = Script(checks=replies)
    check = LeakCheck(client, "m")
    for _ in range(2):  # the second time nothing is asked
        assert check.given_away("a lady snooping", {"1.1": "A woman listens at a keyhole"}, ["A poem"]) == ids
    assert client.remarks["unchecked"] == unchecked
    assert len(client.asked) <= 2


def test_a_stopped_run_stops_here_too() -> None:
    with pytest.raises(LLMError, match="stopped"):
        LeakCheck(Script(checks=[LLMError("stopped", "stopped")]), "m").given_away("a lady", {"1.1": "A woman"}, [])


ROOTS = (
    Intent("1", "Has a secret listener", (Intent("1.1", "A woman listens at a keyhole"),)),
    Intent("2", "Is funny"),
)
ORGANISED = Organised(Abstracted(Synthesised(Artifact("a", "poem", "A lady..."), "gossip", ()), ()), ROOTS)
HONEST = {"chosen": ["2"], "request": "hi, can you write me a funny poem about gossip?"}
PARAPHRASE = {"chosen": ["2"], "request": "hi, a funny poem about gossip? with a lady snooping at the door"}


@pytest.mark.parametrize(
    ("requests", "checks", "request_text"),
    [
        pytest.param([HONEST], [INNOCENT], HONEST["request"], id="honest"),
        pytest.param([PARAPHRASE, HONEST], [LEAKS, INNOCENT], HONEST["request"], id="asked again once"),
        pytest.param([PARAPHRASE], [LEAKS], None, id="then an error"),
        pytest.param([HONEST], ["no."], HONEST["request"], id="unchecked is kept"),
    ],
)
def test_a_first_message_that_leaks_in_other_words(requests: list, checks: list, request_text: str | None) -> None:
    client = Script(*requests, checks=checks)
    if request_text is None:
        with pytest.raises(BuildError, match=r"a, stage initial request: .*in other words.*A woman listens at a key"):
            LLMBuilder(client, "m").open(ORGANISED)
    else:
        assert LLMBuilder(client, "m").open(ORGANISED).tree.initial_request == request_text
    told = [str(request.messages[-1]["content"]) for request in client.asked if len(request.messages) > 2]
    assert any("in other words" in each and "A woman listens at a keyhole" in each for each in told) == (
        PARAPHRASE in requests
    )


FUZZY = UserView((), "fuzzy", ("1.1",), {"1.1": "A woman listens at a keyhole"})
CLEAR = UserView((), "clear", ("1.1",), {"1.1": "A woman listens at a keyhole"})
TALK = (Message("user", "a poem about gossip"), Message("assistant", "Two neighbours chat."))


def said(message: str) -> dict[str, str]:
    return {"thought": "so", "message": message}


SNOOP, VAGUE = said("maybe a lady snooping"), said("hm, something about who hears it")


def voice(client: Script, check: bool = True) -> LLMVoice:
    return LLMVoice(client, "m", leak_check=LeakCheck(client, "m") if check else None)


@pytest.mark.parametrize(
    ("spoken", "checks", "message", "flaws"),
    [
        pytest.param([VAGUE], [INNOCENT], VAGUE, (), id="innocent"),
        pytest.param([SNOOP, VAGUE], [LEAKS, INNOCENT], VAGUE, (), id="asked again once"),
        pytest.param([SNOOP], [LEAKS], SNOOP, ("leak",), id="used with its flaw if it stays"),
        pytest.param([SNOOP], ["no."], SNOOP, (), id="unchecked"),
    ],
)
def test_a_message_that_leaks_in_other_words_is_treated_as_one_that_leaks(spoken, checks, message, flaws) -> None:
    client = Script(*spoken, checks=checks)
    speaker = voice(client)
    told = speaker.speak(FUZZY, TALK, 1)
    asked = len(client.asked)
    assert told == message["message"]
    assert speaker.flaws(told, FUZZY, TALK) == flaws and len(client.asked) == asked, "what was checked is remembered"
    again = [str(request.messages[-1]["content"]) for request in client.asked if request.purpose == "voice"][1:]
    assert all(PARAPHRASED in each for each in again) and bool(again) == (checks[0] is LEAKS)


def test_nothing_is_checked_without_a_check_or_of_what_may_be_said() -> None:
    for view, check in ((FUZZY, False), (CLEAR, True)):
        client = Script(SNOOP, checks=[LEAKS])
        assert voice(client, check).speak(view, TALK, 1) == SNOOP["message"]
        assert [request.purpose for request in client.asked] == ["voice"]
