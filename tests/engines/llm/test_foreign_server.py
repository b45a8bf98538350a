"""A whole run against an OpenAI-compatible server that others wrote: `transformers serve`."""

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
from discover_lib.runs.store import RunStore
from workbench.main import app

pytestmark = [pytest.mark.slow, pytest.mark.integration("transformers-serve")]
START_SECONDS = 120.0
NAME = f"openai/{MODEL}"
DOMAIN = "creative_writing"


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
