"""`discover safety --via`: benchmarks of others by Inspect's own command, against a real server."""

from pathlib import Path

import pytest
from command_line import assert_one_line_error, discover
from llm_server import FakeServer

BOTH = ("--assistant", "openai/base", "--assistant", "openai/dpo")
ONE = ("--via", "inspect", "--task", "x", "--assistant")
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
def inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task of Inspect's."""
    (tmp_path / "birds.py").write_text(TASK)
    monkeypatch.chdir(tmp_path)  # Inspect takes no absolute path


@pytest.mark.slow
@pytest.mark.integration("inspect")
@pytest.mark.usefixtures("inspect")
def test_a_benchmark_is_run_for_every_assistant_and_paired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    monkeypatch.setenv("MY_KEY", "secret-7")
    asked = ["--via", "inspect", "--task", "birds.py", *BOTH, "--out", out, "--tool-arguments", "--display plain"]
    with FakeServer(brain) as server:
        served = ["--api-base", server.api_base, "--key-variable", "MY_KEY"]
        result = discover("safety", *asked, *served)
        assert result.returncode == 0, (result.stderr, (out / "1-openai-base" / "output.txt").read_text())
        assert server.counts["requests"] == 16 and server.headers["authorization"] == "Bearer secret-7"
        assert_one_line_error(discover("safety", *asked, *served), "holds an earlier run; read it with --log")
        assert server.counts["requests"] == 16, "nothing is paid for twice"
    assert "(8 of 8)" in result.stdout and "(2 of 8)" in result.stdout and result.stdout.count("−0.75 [") == 2
    assert result.stdout.count("includes") == 2
    assert "8 prompts that all answered; left out: 0 of openai/base, 0 of openai/dpo" in result.stdout
    assert "secret-7" not in "".join(path.read_text() for path in out.rglob("*.txt"))
    logs = {name: next((out / f"{place}-openai-{name}").glob("*.eval")) for place, name in ((1, "base"), (2, "dpo"))}
    given = [word for name, path in logs.items() for word in ("--log", f"{name}={path}")]
    again = discover("safety", "--via", "inspect", *given).stdout
    assert "−0.75 [" in again and "which err" in again


@pytest.mark.slow
@pytest.mark.integration("inspect")
@pytest.mark.usefixtures("inspect")
def test_a_task_that_fails_says_where_its_words_are(tmp_path: Path) -> None:
    asked = [
        "--via",
        "inspect",
        "--task",
        "absent.py",
        "--assistant",
        "openai/a",
        "--api-base",
        "http://localhost:1/v1",
    ]
    result = discover("safety", *asked, "--out", tmp_path / "out")
    said = (tmp_path / "out" / "1-openai-a" / "output.txt").read_text().strip()
    assert result.returncode == 2 and said, "its own words"
    assert f"for openai/a: {said.splitlines()[-1]}; all it said: " in result.stderr


def test_without_inspect_it_says_how_to_get_it_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    asked = ["--task", "x", "--assistant", "openai/base", "--out", tmp_path / "out"]
    assert_one_line_error(discover("safety", "--via", "inspect", *asked), r"pip install 'discover-lib\[inspect\]'")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "x"], "need --via inspect"),
        (["--via", "inspect"], "needs --assistant"),
        (["--via", "inspect", "--assistant", "openai/a"], "needs --task"),
        ([*ONE, "adaptive"], "speaks in this program alone"),
        ([*ONE, "openai/a+collaborative"], "its own system prompt; give openai/a"),
        ([*ONE, "a/b", "--api-base", "http://h/v1"], "named openai/NAME"),
        ([*ONE, "openai/a", "--key-variable", "NOT_SET_1"], "NOT_SET_1 is not set"),
        ([*ONE, "openai/a", "--tool-arguments", "'"], "--tool-arguments"),
        (["--via", "inspect", "--log", "file"], "write NAME=FILE"),
        (["--via", "inspect", "somewhere"], "not both"),
    ],
)
def test_what_cannot_be_is_one_line(options: list[str], said: str) -> None:
    assert_one_line_error(discover("safety", *options), said)
