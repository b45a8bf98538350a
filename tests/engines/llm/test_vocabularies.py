"""Tokens by a model's own vocabulary, read from LiteLLM's package and never from the network."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from llm_server import FakeServer

from discover_lib.base.tokens import COUNTING, count_tokens
from discover_lib.core.conversation import Message
from discover_lib.engines.llm import vocabularies
from discover_lib.engines.llm.assistants import REPORTED, llm_assistant
from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient
from discover_lib.engines.llm.vocabularies import _encoding, count_for, vocabulary_of

# As OpenAI publishes them ("How to count tokens with tiktoken").
KNOWN = {
    ("cl100k_base", "tiktoken is great!"): [83, 1609, 5963, 374, 2294, 0],
    ("cl100k_base", "antidisestablishmentarianism"): [519, 85342, 34500, 479, 8997, 2191],
    ("cl100k_base", "2 + 2 = 4"): [17, 489, 220, 17, 284, 220, 19],
    ("cl100k_base", "お誕生日おめでとう"): [33334, 45918, 243, 21990, 9080, 33334, 62004, 16556, 78699],
    ("o200k_base", "tiktoken is great!"): [83, 8251, 2488, 382, 2212, 0],
    ("o200k_base", "antidisestablishmentarianism"): [493, 129901, 376, 160388, 21203, 2367],
    ("o200k_base", "2 + 2 = 4"): [17, 659, 220, 17, 314, 220, 19],
    ("o200k_base", "お誕生日おめでとう"): [8930, 9697, 243, 128225, 8930, 17693, 4344, 48669],
}
MODELS = {"cl100k_base": "openai/gpt-4", "o200k_base": "gpt-4o-mini"}


@pytest.mark.slow
@pytest.mark.parametrize(("vocabulary", "text"), KNOWN)
def test_texts_are_counted_as_their_makers_say(vocabulary: str, text: str) -> None:
    assert _encoding(vocabulary).encode_ordinary(text) == KNOWN[vocabulary, text]
    expected = (len(KNOWN[vocabulary, text]), f"{vocabulary} vocabulary, text only")
    assert count_for(MODELS[vocabulary], text) == expected


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("gpt-4.1", "o200k_base"),
        ("openai/gpt-4.1-mini", "o200k_base"),
        ("azure/gpt-4o-2024-08-06", "o200k_base"),
        ("openrouter/openai/gpt-5-mini", "o200k_base"),
        ("hosted_vllm/openai/gpt-oss-20b", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("davinci", None),
        ("anthropic/claude-sonnet-4-5", None),
        ("gemini/gemini-2.5-flash", None),
        ("openai/my-own", None),
        ("", None),
    ],
)
def test_a_models_name_says_which_vocabulary_it_has(model: str, vocabulary: str | None) -> None:
    assert vocabulary_of(model) == vocabulary


@pytest.mark.slow
def test_without_a_vocabulary_the_rule_counts_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert count_for("anthropic/claude-sonnet-4-5", "An owl.") == (count_tokens("An owl."), COUNTING)
    monkeypatch.setattr(vocabularies, "FOLDER", tmp_path)  # a package that holds none
    vocabularies._read_encoding.cache_clear()
    assert count_for("gpt-4.1", "An owl.") == (count_tokens("An owl."), COUNTING)
    vocabularies._read_encoding.cache_clear()


@pytest.mark.slow
def test_nothing_is_fetched_and_nothing_heavy_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("something was to be fetched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    vocabularies._read_encoding.cache_clear()
    assert count_for("gpt-4.1", "tiktoken is great!")[0] == 6
    assert not list(tmp_path.iterdir())
    code = "import sys, discover_lib.engines.llm.assistants; print('tiktoken' in sys.modules, 'litellm' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["False", "False"]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["half \ud83d a pair", "<|endoftext|>", "a" * 20_000, " \n\t " * 500])
def test_any_text_can_be_counted(text: str) -> None:
    assert 0 < count_for("gpt-4.1", text)[0] <= len(text.encode(errors="replace")) + 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "said", "counting"),
    [
        ("openai/gpt-4.1", "tiktoken is great!", "o200k_base vocabulary, text only"),
        ("openai/gpt-4", "<think>Short.</think>tiktoken is great!", "cl100k_base vocabulary, text only"),
        ("openai/my-own", "tiktoken is great!", COUNTING),
    ],
)
def test_a_reply_that_its_server_did_not_count_is_counted_here(model: str, said: str, counting: str) -> None:
    with FakeServer(lambda messages, body: (said, 99)) as server:
        server.script.extend(["missing_usage", None])
        with LLMClient(ClientSettings(api_base=server.api_base, env_file=None)) as client:
            assistant = llm_assistant(client, model)
            reply = assistant.reply([Message("user", "How is it?")], 0)
            assert (reply.text, reply.counting) == ("tiktoken is great!", counting)
            assert reply.n_tokens == (count_tokens(reply.text) if counting == COUNTING else 6)
            counted = assistant.reply([Message("user", "And now?")], 0)
    assert "<think>" in said or (counted.n_tokens, counted.counting) == (99, REPORTED)
