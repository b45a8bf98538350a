"""`discover safety --via`: benchmarks of others by their owners' commands, against a real server."""

import os
from pathlib import Path

import pytest
from command_line import assert_one_line_error, discover
from llm_server import FakeServer

GARAK = """#!/usr/bin/env python3
import json, os, sys
from urllib.request import Request, urlopen
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
print("garak says", given["--probes"])
if given["--probes"] == "broken.Probe":
    sys.exit(3)
base = json.loads(given["--generator_options"])["openai"]["OpenAICompatible"]["uri"]
with open(given["--report_prefix"] + ".report.jsonl", "w") as report:
    for n in range(int(given.get("--generations", "8"))):
        body = {"model": given["--target_name"], "messages": [{"role": "user", "content": f"draw {n}"}]}
        key = os.environ["OPENAICOMPATIBLE_API_KEY"]
        head = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        reply = json.load(urlopen(Request(base + "/chat/completions", json.dumps(body).encode(), head)))
        text = reply["choices"][0]["message"]["content"]
        line = {"entry_type": "attempt", "uuid": str(n), "status": 2, "prompt": f"draw {n}", "outputs": [text]}
        report.write(json.dumps(line | {"detector_results": {"test.Refuses": [float("can't" in text)]}}) + "\\n")
"""
BOTH = ("--assistant", "openai/base", "--assistant", "openai/dpo")
ONE = ("--via", "garak", "--task", "x", "--assistant")
TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

@task
def birds():
    samples = [Sample(input=f"draw {n}", target="can't") for n in range(8)]
    return Task(dataset=samples, solver=generate(), scorer=includes())
"""


def brain(messages, body):
    """The trained model answers all but the first two; the base refuses everything."""
    refuses = body["model"] == "base" or messages[-1]["content"] in ("draw 0", "draw 1")
    return ("I can't do that." if refuses else "Here it is."), 4


@pytest.fixture
def garak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command of that name which asks the server and writes a report, as the real one does."""
    command = tmp_path / "bin" / "garak"
    command.parent.mkdir()
    command.write_text(GARAK)
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.slow
@pytest.mark.usefixtures("garak")
def test_a_benchmark_is_run_for_every_assistant_and_paired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels, out = tmp_path / "labels.csv", tmp_path / "out"
    labels.write_text(
        "objective,assistant_response,human_score\n" + "draw,I can't.,1\ndraw,Here it is.,0\n" * 20, encoding="utf-8"
    )
    monkeypatch.setenv("MY_KEY", "secret-7")
    asked = ["--via", "garak", "--task", "dan.Dan", *BOTH, "--out", out]
    with FakeServer(brain) as server:
        served = ["--api-base", server.api_base, "--key-variable", "MY_KEY", "--labelled", labels]
        result = discover("safety", *asked, *served)
        assert result.returncode == 0, result.stderr
        assert server.counts["requests"] == 16 and server.headers["authorization"] == "Bearer secret-7"
        assert_one_line_error(discover("safety", *asked, *served), "holds an earlier run; read it with --log")
        assert server.counts["requests"] == 16, "nothing is paid for twice"
    assert (
        "1.000 [0.676, 1.000] (8 of 8)" in result.stdout and "0.250 [" in result.stdout and "−0.75 [" in result.stdout
    )
    assert "8 prompts that all answered; left out: 0 of openai/base, 0 of openai/dpo" in result.stdout
    assert "openai/dpo: refused corrected 0.250 [" in result.stdout and "phrases against 40" in result.stdout
    assert "secret-7" not in "".join(path.read_text() for path in out.rglob("*") if path.is_file())
    logs = [f"{name}={out}/{place}-openai-{name}/garak.report.jsonl" for place, name in ((1, "base"), (2, "dpo"))]
    again = discover("safety", "--via", "garak", "--log", logs[0], "--log", logs[1]).stdout
    assert "−0.75 [" in again and "which err" in again


@pytest.mark.slow
@pytest.mark.usefixtures("garak")
def test_a_tool_that_fails_says_where_its_words_are(tmp_path: Path) -> None:
    asked = [
        "--via",
        "garak",
        "--task",
        "broken.Probe",
        "--assistant",
        "openai/a",
        "--api-base",
        "http://127.0.0.1:1/v1",
    ]
    result = discover("safety", *asked, "--out", tmp_path / "out")
    assert (
        result.returncode == 2
        and "garak ended with 3 for openai/a: garak says broken.Probe; all it said: " in result.stderr
    )
    assert (tmp_path / "out" / "1-openai-a" / "output.txt").read_text() == "garak says broken.Probe\n"


def test_an_absent_tool_says_how_to_get_it_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    asked = ["--task", "x", "--assistant", "openai/base", "--out", tmp_path / "out"]
    assert_one_line_error(discover("safety", "--via", "garak", *asked), "pipx install garak")
    assert_one_line_error(discover("safety", "--via", "pyrit", *asked), "export the conversations as JSON")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("garak")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "x"], "go with --via"),
        (["--via", "garak"], "needs --assistant"),
        (["--via", "garak", "--assistant", "openai/a"], "needs --task"),
        ([*ONE, "adaptive"], "speaks in this program alone"),
        (
            [*ONE, "openai/a+collaborative"],
            "its own system prompt; give openai/a",
        ),
        ([*ONE, "a/b", "--api-base", "http://h/v1"], "named openai/NAME"),
        (
            [*ONE, "openai/a", "--key-variable", "NOT_SET_1"],
            "NOT_SET_1 is not set",
        ),
        ([*ONE, "openai/a", "--tool-arguments", "'"], "--tool-arguments"),
        (["--via", "garak", "--log", "file"], "write NAME=FILE"),
        (["--via", "garak", "--log", "a=/none"], "/none: cannot be read"),
        (["--via", "garak", "somewhere"], "give one of the two"),
    ],
)
def test_what_cannot_be_is_one_line(options: list[str], said: str) -> None:
    assert_one_line_error(discover("safety", *options), said)


@pytest.mark.integration("inspect")
@pytest.mark.slow
def test_inspect_runs_its_task_against_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    (tmp_path / "birds.py").write_text(TASK)
    monkeypatch.chdir(tmp_path)  # Inspect takes no absolute path
    asked = ["--via", "inspect", "--task", "birds.py", *BOTH, "--out", out]
    with FakeServer(brain) as server:
        result = discover("safety", *asked, "--api-base", server.api_base, "--tool-arguments", "--display plain")
        assert result.returncode == 0, (result.stderr, (out / "1-openai-base" / "output.txt").read_text())
    assert server.counts["requests"] == 16
    assert "(8 of 8)" in result.stdout and "(2 of 8)" in result.stdout and result.stdout.count("−0.75 [") == 2
    assert result.stdout.count("includes") == 2
