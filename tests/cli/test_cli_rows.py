"""`discover synthesize` and `discover export`: from conversations to training rows on the command line."""

import json
from pathlib import Path

import pytest
from command_line import assert_one_line_error, discover

from discover_lib.dataset.export import read_rows


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
    alone = discover("synthesize", "--run", tmp_path / "x", "--assistant", "draft", "--domain", "svg_drawing")
    assert_one_line_error(alone, "best-of-n needs at least 2 candidates")
    nowhere = discover("export", tmp_path, "--format", "sft", "--out", tmp_path / "rows")
    assert_one_line_error(nowhere, "no run here")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    assert_one_line_error(discover("export", run, "--format", "sft", "--out", tmp_path / "mine"), "other files")
    nothing = discover("export", run, "--format", "preference", "--out", tmp_path / "rows", "--min-margin", 99)
    assert_one_line_error(nothing, r"no preference row is left of 18: .*margin")
    assert not (tmp_path / "rows").exists()
