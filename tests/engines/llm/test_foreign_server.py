"""The client, the judge and a whole run against an OpenAI-compatible server that others wrote: `transformers serve`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from foreign_server import LEAST_LENGTH, MODEL
from typer.testing import CliRunner

from discover_lib.engines.llm.assistants import REPORTED
from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient, Request
from discover_lib.runs.store import RunStore
from workbench.main import app

pytestmark = [
    pytest.mark.slow,
    pytest.mark.integration("transformers-serve"),
    # LiteLLM reads pydantic models in a way that pydantic is going to drop.
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning", "ignore:.*`ReadOnly`"),
]
START_SECONDS = 120.0
NAME = f"openai/{MODEL}"
DOMAIN = "creative_writing"
LIMIT = LEAST_LENGTH + 4  # tokens


@pytest.fixture(scope="module")
def api_base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("foreign")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(Path(__file__).parents[2] / "foreign_server.py"), str(folder), str(port)]
    log = folder / "log"
    with log.open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=os.environ | {"OMP_NUM_THREADS": "1"})
    try:
        _wait_until_it_answers(port, process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_it_answers(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends and process.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=30):
                return
        except (URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"`transformers serve` did not start:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="module", params=["direct", "litellm"])
def client(api_base: str, request: pytest.FixtureRequest) -> Iterator[LLMClient]:
    with pytest.MonkeyPatch.context() as environment:
        if request.param == "litellm":
            environment.setenv("OPENAI_BASE_URL", api_base)
            environment.setenv("OPENAI_API_KEY", "unused")
        own = api_base if request.param == "direct" else None
        with LLMClient(ClientSettings(own, env_file=None, max_attempts=1)) as made:
            yield made


def say(text: str, seed: int, max_tokens: int = LIMIT) -> Request:
    return Request(NAME, ({"role": "user", "content": text},), "assistant", 0.7, max_tokens, seed=seed)


def test_a_reply_comes_whole_with_the_servers_own_counts(client: LLMClient) -> None:
    for seed in (1, 2**40 + 2):
        short, longer = client.complete(say("hello", seed)), client.complete(say("hello there", seed))
        for reply in (short, longer):
            assert reply.text and reply.attempts == 1
            assert LEAST_LENGTH < (reply.completion_tokens or 0) <= LIMIT
            assert (reply.finish_reason == "length") == (reply.completion_tokens == LIMIT)
        # The template adds the same around both; the tokenizer knows bytes only.
        assert (longer.prompt_tokens or 0) - (short.prompt_tokens or 0) == len(" there")


def test_a_run_with_this_model_as_the_assistant_finishes(api_base: str, tmp_path: Path) -> None:
    asked = ["simulate", "--domain", DOMAIN, "--assistant", NAME, "--artifacts", "2", "--turns", "2"]
    result = CliRunner().invoke(app, [*asked, "--api-base", api_base, "--run", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    with RunStore.read(tmp_path / "run") as store:
        talks, spent = list(store.conversations()), store.calls.spent()
    assert [(talk.stop, len(talk.turns)) for talk in talks] == [("max_turns", 2)] * 2
    replies = [turn.reply for talk in talks for turn in talk.turns]
    assert all(reply.counting == REPORTED and reply.n_tokens > LEAST_LENGTH for reply in replies)
    assert spent.completion_tokens == sum(reply.n_tokens for reply in replies)
    assert (spent.calls, spent.attempts, spent.unpriced) == (4, 4, 4)
