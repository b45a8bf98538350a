"""The central test of the LLM layer: the same truth behind the wire gives the same conversations as in process.

The miniature plays judge and voice twice: directly, and as a "model" that is sent rendered prompts over HTTP and
answers in JSON.  Nothing of the process that asks reaches it but the requests, so whatever the prompts left out, the
parser misread or the roles mixed up would show as a different state, reward or message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import llm_brain
import pytest
from llm_server import ALL_FAULTS, FakeServer, Faults

from discover_lib.core.conversation import Conversation, Turn
from discover_lib.core.roles import Assistant, JudgeError, SeesIntents, VoiceError
from discover_lib.core.rollout import run_conversation
from discover_lib.core.rules import Rules
from discover_lib.engines.llm.assistants import LLMAssistant
from discover_lib.engines.llm.builder import LLMBuilder
from discover_lib.engines.llm.calls import wires
from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient
from discover_lib.engines.llm.judge import LLMJudge
from discover_lib.engines.llm.voice import LLMVoice
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, DOMAINS
from discover_lib.engines.miniature.voice import MiniatureVoice

pytestmark = pytest.mark.slow

POLICIES = (("adaptive",), ("mixed", "draft"), ("options", "adaptive"), ("ask",), ("random", "silent"), ("oracle",))
FEW = 3
IN_FLIGHT = 8


def settings(server: FakeServer) -> ClientSettings:
    quick = {"first_wait_seconds": 0.01, "longest_wait_seconds": 0.05, "timeout_seconds": 60}
    return ClientSettings(api_base=server.api_base, env_file=None, **quick)


@pytest.fixture(autouse=True)
def all_that_decides_goes_over_the_wire(monkeypatch: pytest.MonkeyPatch) -> None:
    """The miniature behind the wire draws from whole seeds and does not know the conversation's temperament."""
    monkeypatch.setattr(wires, "LARGEST_SEED", 2**63 - 1)
    monkeypatch.setattr(MiniatureVoice, "of", lambda voice, user: voice)


@pytest.fixture(scope="module")
def client() -> Iterator[LLMClient]:
    with FakeServer(llm_brain.answer) as server, LLMClient(settings(server)) as ready:
        yield ready


def rules_of(number: int) -> Rules:
    """The paper's rules for most conversations, the authors' for every third."""
    return Rules.authors() if number % 3 == 2 else Rules.paper()


def scripted(domain: str, number: int) -> list[Assistant | SeesIntents]:
    return [scripted_assistant(name, domain) for name in POLICIES[number % len(POLICIES)]]


def in_process(domain: str, number: int) -> Conversation:
    user = engine(domain)
    tree = user.builder.build(generate_artifact(domain, "eval", number)).tree
    return run_conversation(tree, user.judge, user.voice, scripted(domain, number), rules=rules_of(number), seed=number)


def over_http(
    client: LLMClient,
    expected: Conversation,
    domain: str,
    assistants: Sequence[Assistant | SeesIntents],
    on_turn: Callable[[Turn], None] | None = None,
) -> Conversation:
    """The conversation of `expected`, with judge and voice behind the wire."""
    model = f"openai/miniature:{domain}"
    judge, voice = LLMJudge(client, model), LLMVoice(client, model)
    same = {"rules": expected.rules, "seed": expected.seed, "on_turn": on_turn}
    return run_conversation(expected.tree, judge, voice, assistants, **same)


def what_counts(conversation: Conversation) -> dict[str, Any]:
    """Everything but how a reply's tokens were counted and its notation, which do not go over the wire."""
    data = conversation.to_dict()
    for turn in data["turns"]:
        for candidate in turn["candidates"]:
            for name in ("assistant", "notation", "counting"):
                del candidate["reply"][name]
    return data


def differences(client: LLMClient, domain: str, count: int) -> list[int]:
    """Numbers of the conversations that came out differently in any recorded detail."""

    def differs(number: int) -> bool:
        expected = in_process(domain, number)
        return over_http(client, expected, domain, scripted(domain, number)).to_dict() != expected.to_dict()

    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        return [number for number, different in enumerate(pool.map(differs, range(count))) if different]


@pytest.mark.parametrize("domain", ALL_DOMAINS)
def test_a_model_behind_the_wire_gives_the_same_conversations(client: LLMClient, domain: str) -> None:
    assert differences(client, domain, FEW) == []


@pytest.mark.parametrize("domain", ALL_DOMAINS)
def test_assistants_behind_the_wire_change_nothing_either(client: LLMClient, domain: str) -> None:
    number = 1  # two candidates a turn
    expected = in_process(domain, number)
    names = [f"openai/miniature:{domain}:{name}" for name in POLICIES[number]]
    found = over_http(client, expected, domain, [LLMAssistant(client, name) for name in names])
    assert what_counts(found) == what_counts(expected)
    assert {each.reply.assistant for turn in found.turns for each in turn.candidates} == set(names)


def test_trees_built_behind_the_wire_are_the_same_trees(client: LLMClient) -> None:
    for domain in ALL_DOMAINS:
        for number in range(FEW):
            artifact = replace(generate_artifact(domain, "eval", number), topic="everyday life")
            built = LLMBuilder(client, f"openai/miniature:{domain}").build(artifact)
            assert built.tree == engine(domain).builder.build(artifact).tree


def failure(client: LLMClient, domain: str, number: int) -> str | None:
    """Run a conversation over a faulty line; the error that ended it early, if any.

    Its turns must be those of an undisturbed one.
    """
    expected, turns, ended = in_process(domain, number), [], None
    try:
        over_http(client, expected, domain, scripted(domain, number), turns.append)
    except (JudgeError, VoiceError) as error:
        ended = str(error)
    assert turns == list(expected.turns[: len(turns)])
    assert (len(turns) == len(expected.turns)) == (ended is None)
    return ended


def test_a_bad_line_alters_nothing() -> None:
    """30 % of all replies are faulty in every way the server knows; the line's own faults must all be overcome."""
    faults = Faults(0.3, ALL_FAULTS, timeout_seconds=2)
    patient = {"timeout_seconds": 0.5, "max_attempts": 20}  # a busy machine is late more than once
    with (
        FakeServer(llm_brain.answer, faults=faults) as server,
        LLMClient(replace(settings(server), **patient)) as client,
    ):
        jobs = [(domain, 6 * number) for domain in DOMAINS for number in range(FEW * 5)]
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            failures = [line for line in pool.map(lambda job: failure(client, *job), jobs) if line]
        calls = client.spent.calls
    assert all(server.counts[kind] for kind in ALL_FAULTS)
    assert all("no usable answer" in line or "the reply is empty" in line for line in failures)
    assert len(failures) <= 0.02 * calls
