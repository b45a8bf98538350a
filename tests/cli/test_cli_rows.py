"""`discover synthesize`, `export`, `safety` and `reality`: rows, house rules, users who type as people."""

import json
from pathlib import Path

import pytest
from command_line import assert_one_line_error, discover
from llm_server import FakeServer

from discover_lib.dataset.export import read_rows
from discover_lib.runs.store import RunStore


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("synthesised") / "run"
    asked = ["--assistant", "draft", "--assistant", "adaptive", "--domain", "svg_drawing", "--artifacts", 6]
    result = discover("synthesize", "--run", folder, *asked, "--turns", 3)
    assert result.returncode == 0, result.stderr
    assert "adaptive wins" in result.stdout and "ties (no pair)" in result.stdout
    return folder


@pytest.mark.slow
def test_synthesis_judges_all_candidates_on_artifacts_to_train_on(run: Path) -> None:
    talks = [json.loads(line) for line in (run / "conversations.jsonl").read_text("utf-8").splitlines()]
    assert len(talks) == 6 and all("-train-" in talk["setting"]["artifact"] for talk in talks)
    assert all(len(turn["candidates"]) == 2 for talk in talks for turn in talk["turns"])


@pytest.mark.slow
def test_a_look_ahead_is_asked_for_by_turns_and_player(tmp_path: Path) -> None:
    run, asked = tmp_path / "run", ["--assistant", "draft", "--assistant", "options", "--domain", "svg_drawing"]
    asked += ["--artifacts", 2, "--turns", 2, "--run", run]
    assert_one_line_error(discover("synthesize", *asked, "--look-ahead", 2), "needs both")
    assert_one_line_error(discover("synthesize", *asked, "--look-ahead", 2, "--reward-assistant", "x"), "unknown assis")
    assert discover("synthesize", *asked, "--look-ahead", 2, "--reward-assistant", "adaptive").returncode == 0
    talks = [json.loads(line) for line in (run / "conversations.jsonl").read_text("utf-8").splitlines()]
    windows = [each["ahead"] for talk in talks for turn in talk["turns"] for each in turn["candidates"]]
    assert {len(window) for window in windows} == {2} and talks[0]["setting"]["reward_assistant"] == "adaptive"
    assert {turn["candidates"][0]["reply"]["assistant"] for window in windows for turn in window} == {"adaptive"}
    assert_one_line_error(discover("synthesize", *asked), "another configuration: look_ahead is 2 in the run")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["sft", "preference", "prompt"])
def test_export_writes_rows_and_says_what_it_left_out(run: Path, tmp_path: Path, form: str) -> None:
    options = ["--text", "notation", "--system", "collaborative", "--test-share", 0.34]
    result = discover("export", run, "--format", form, "--out", tmp_path / "rows", *options)
    assert result.returncode == 0, result.stderr
    assert "left out:" in result.stdout and ("length" in result.stdout.lower()) == (form == "preference")
    rows = read_rows(tmp_path / "rows")
    assert {split: len({row["artifact"] for row in kept}) for split, kept in rows.items()} == {"train": 4, "test": 2}
    again = discover("export", run, "--format", form, "--out", tmp_path / "rows", "--test-share", 0)
    assert again.returncode == 0 and list(read_rows(tmp_path / "rows")) == ["train"]


@pytest.mark.slow
def test_what_cannot_be_done_is_said_in_one_line(run: Path, tmp_path: Path) -> None:
    nowhere = discover("export", tmp_path, "--format", "sft", "--out", tmp_path / "rows")
    assert_one_line_error(nowhere, "no run here")
    nothing = discover("export", run, "--format", "preference", "--out", tmp_path / "rows", "--min-margin", 99)
    assert_one_line_error(nothing, r"no preference row is left of 18: .*margin")
    assert not (tmp_path / "rows").exists()


@pytest.mark.slow
def test_a_run_is_read_under_house_rules(tmp_path: Path) -> None:
    run = tmp_path / "run"
    asked = ["--domain", "svg_drawing", "--artifacts", 6, "--turns", 4, "--assistant", "ask", "--assistant", "adaptive"]
    assert discover("simulate", "--run", run, *asked).returncode == 0
    said = discover("safety", run).stdout
    assert "over-refusal" in said and "(0 of" in said and "harmless words" in said and "which err" in said
    assert discover("safety", run, "--depth", 1).returncode == 0
    assert_one_line_error(discover("safety", run, "--depth", 6), "try --depth 2")


@pytest.mark.slow
def test_a_run_is_typed_in_a_manner_and_laid_beside_chats(tmp_path: Path) -> None:
    chats, run = tmp_path / "chats.jsonl", tmp_path / "run"
    lines = [[{"role": "user", "content": f"{word} one"}] for word in ("this", "that", "no", "yes", "well")]
    chats.write_text("".join(json.dumps({"messages": line}) + "\n" for line in lines), encoding="utf-8")
    asked = ["--domain", "svg_drawing", "--artifacts", 4, "--turns", 3, "--assistant", "draft", "--manner", "terse"]
    assert discover("simulate", "--run", run, *asked).returncode == 0
    assert discover("simulate", "--run", run, *asked).returncode == 0, "it is the same run"
    with RunStore.read(run) as store:
        assert store.configuration["manner"]["name"] == "terse"
        said = [turn.user_message for talk in store.conversations() for turn in talk.turns if turn.user_message]
    assert sum(len(message.split()) for message in said) / len(said) < 8
    assert "mean words of a message" in discover("reality", chats, run).stdout
    asked[-1] = "people"
    assert_one_line_error(discover("simulate", "--run", run, *asked), "manner")
    asked[-1] = tmp_path / "curt.json"
    assert_one_line_error(discover("simulate", "--run", run, *asked), "give paper, terse, rambling, people")


def test_a_failed_import_leaves_no_empty_folder(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.json"
    theirs.write_text("{}")
    assert_one_line_error(discover("import", theirs, "--run", tmp_path / "run"), "theirs.json")
    assert not (tmp_path / "run").exists()
    (tmp_path / "kept").mkdir()
    assert_one_line_error(discover("import", theirs, "--run", tmp_path / "kept"), "theirs.json")
    assert (tmp_path / "kept").exists()  # which was there before


def test_an_inspect_log_without_its_format_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "x.eval").write_bytes(b"PK")
    result = discover("import", tmp_path / "x.eval", "--run", tmp_path / "run")
    assert_one_line_error(result, "looks like an Inspect log; use --format inspect")


BOTH = ("--assistant", "openai/base", "--assistant", "openai/dpo")
ONE = "--via inspect --task x --assistant"
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
    asked = "--via inspect --task absent.py --assistant openai/a --api-base http://localhost:1/v1".split()
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
    ("words", "said"),
    [
        ("", "no run to read"),
        ("--task x", "need --via inspect"),
        ("--via inspect", "needs --assistant"),
        ("--via inspect --assistant openai/a", "needs --task"),
        (f"{ONE} adaptive", "speaks in this program alone"),
        (f"{ONE} openai/a+collaborative", "its own system prompt; give openai/a"),
        (f"{ONE} a/b --api-base http://h/v1", "named openai/NAME"),
        (f"{ONE} openai/a --key-variable NOT_SET_1", "NOT_SET_1 is not set"),
        (f"{ONE} openai/a --tool-arguments '", "--tool-arguments"),
        ("--via inspect --log file", "write NAME=FILE"),
        ("--via inspect somewhere", "not both"),
    ],
)
def test_what_cannot_be_is_one_line(words: str, said: str) -> None:
    assert_one_line_error(discover("safety", *words.split()), said)
