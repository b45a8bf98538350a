"""`discover train` and `discover merge`: what they refuse before anything is made, and what they call things."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discover_lib.cli.train import closing
from discover_lib.dataset.export import FORMAT
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train import training_job as jobs
from discover_lib.train.recipes import Recipe
from discover_lib.train.run_stage import StageSettings
from discover_lib.train.training_job import TrainingJob
from workbench.main import app

runner = CliRunner()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run to train on, and a folder that counts as a tiny model's where nothing is loaded."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "pairs").mkdir()
    options = RunOptions(("draft", "adaptive"), domain="svg_drawing", split="train", artifacts=4, candidates=1, turns=2)
    execute(lay_out(options), folder / "pairs")
    (folder / "base").mkdir()
    (folder / "base" / "tiny.json").write_text(json.dumps({"domains": ["svg_drawing"]}))
    (folder / "empty").mkdir()
    (folder / "empty" / "config.json").write_text("{}")
    return folder


@pytest.fixture(autouse=True)
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)  # without .env
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


def refusal(words: str, code: int = 2, **changed: str) -> str:
    given = {"data": "pairs", "base": "base", "run": "new"} | changed
    options = [word for name, value in given.items() for word in (f"--{name}", value)]
    done = runner.invoke(app, ["train", *words.split(), *options])
    assert done.exit_code == code and not Path("new").exists()
    assert "Traceback" not in done.output
    last = done.output.splitlines()[-1]
    assert last.startswith("discover: ")
    return last


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "changed", "said"),
    [
        ("sft", {"data": "nowhere"}, "neither exported rows nor a run"),
        ("sft", {"base": "/nowhere/at/all"}, "no such folder"),
        ("sft", {"adapter": "nowhere"}, "no lineage.json here"),
        ("sft", {"base": "empty"}, "no tokenizer can be loaded"),
        ("sft --set learning_rat=1", {}, "did you mean 'learning_rate'"),
        ("sft --set learning_rate", {}, "write name=value"),
        ("sft --recipe 24gb", {"base": "empty"}, "load_in_4bit needs a CUDA device; set it to false; sft: the opt"),
        ("sft --backend unsloth", {}, "nsloth"),
        ("dpo --set batch=7 --set per_device=2", {}, "batch 7 is not a multiple of per_device 2"),
        ("grpo --set generations=4", {}, "did you mean 'n_generations'"),
        ("grpo --recipe miniature --set n_generations=1", {}, "grpo.n_generations: Expected `int` >= 2"),
        ("grpo --recipe miniature --judge nobody", {}, "judge 'nobody' is neither"),
        ("grpo --timeout 9", {}, "--timeout is for GRPO's judge and voice, and no model plays them"),
        ("grpo --judge openai/m --max-tokens judg=9", {}, "--max-tokens: no role 'judg'"),
    ],
)
def test_what_cannot_work_is_one_line_before_anything_is_made(words: str, changed: dict[str, str], said: str) -> None:
    assert said in refusal(words, **changed)


@pytest.mark.slow
def test_a_key_that_is_missing_has_an_exit_code_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    asked = "grpo --set batch=4 --judge anthropic/claude-haiku-4-5"
    assert "ANTHROPIC_API_KEY is not set" in refusal(asked, code=4, base="empty")


@pytest.mark.slow
def test_rows_that_the_tiny_base_does_not_speak_are_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(place / "outputs"))
    row = {"messages": [{"role": "user", "content": "tea"}], "domain": "tea", "text_form": "notation"}
    (place / "tea" / "data").mkdir(parents=True)
    (place / "tea" / "dataset.json").write_text(json.dumps({"format": FORMAT, "files": "jsonl", "splits": ["train"]}))
    (place / "tea" / "data" / "train.jsonl").write_text(json.dumps(row))
    said = refusal("sft", data="tea", base="tiny")
    assert "knows the domains svg_drawing, creative_writing" in said


@pytest.mark.slow
def test_a_folder_with_other_settings_is_refused_by_name(place: Path, tmp_path: Path) -> None:
    given = ["train", "sft", "--data", str(place / "pairs"), "--base", str(place / "base"), "--recipe", "miniature"]
    run = tmp_path / "run"
    run.mkdir()
    (run / jobs.STATUS).write_text(json.dumps({"state": "stopped"}))
    settings = _settings_of([*given, "--seed", "3"])
    (run / jobs.SETTINGS).write_text(json.dumps(settings))
    done = runner.invoke(app, [*given, "--run", str(run)])
    assert done.exit_code == 2 and "seed is 3 in the run and 0 now" in done.output


def _settings_of(words: list[str]) -> dict[str, Any]:
    options = dict(zip(words[2::2], words[3::2], strict=True))
    return StageSettings(
        "sft", str(Path(options["--data"]).resolve()), str(Path(options["--base"]).resolve()),
        recipe=Recipe.miniature(), seed=int(options["--seed"]),
    ).to_dict()  # fmt: skip


@pytest.mark.slow
def test_a_finished_training_says_so_and_is_no_failure(place: Path, tmp_path: Path) -> None:
    given = ["train", "sft", "--data", str(place / "pairs"), "--base", str(place / "base"), "--recipe", "miniature"]
    (tmp_path / jobs.SETTINGS).write_text(json.dumps(_settings_of([*given, "--seed", "0"])))
    (tmp_path / jobs.STATUS).write_text(json.dumps({"state": "finished"}))
    result = {"rows": 3, "step": 2, "seconds": 1.0, "peak_memory_mb": 9.0}
    (tmp_path / jobs.RESULT).write_text(json.dumps(result))
    done = runner.invoke(app, [*given, "--run", str(tmp_path)])
    assert done.exit_code == 0 and "training already finished; use another --run folder" in done.output
    assert "3 rows, 2 updates in 1 s" in done.output
    assert runner.invoke(app, [*given, "--run", str(tmp_path), "--seed", "1"]).exit_code == 2


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (1, "round 1 of 2 was kept; the last logged figures are of another model"),
        (2, "at the last step: loss 0.2, reward 2, KL to the reference 0.001, broken replies 6%"),
    ],
)
def test_closing_figures_are_of_kept_model(
    kept: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = Recipe.miniature().changed("grpo", {"max_steps": 4, "rounds": 2})
    (tmp_path / jobs.SETTINGS).write_text(json.dumps({"stage": "grpo", "recipe": recipe.to_dict()}))
    (tmp_path / jobs.STATUS).write_text(json.dumps({"state": "finished"}))
    result = {"rows": 3, "step": 4, "total_steps": 4, "seconds": 1.0, "peak_memory_mb": 9.0, "kept_round": kept}
    (tmp_path / jobs.RESULT).write_text(json.dumps(result))
    lines: list[dict[str, float]] = [{"step": 2, "loss": 0.1, "reward": 1.0, "kl": 0.001, "share/broken": 0.06}]
    lines.append({"step": 4, "loss": 0.2, "reward": 2.0})
    (tmp_path / jobs.METRICS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    job = TrainingJob(tmp_path)
    assert closing(job, job.status()) == 0 and said in capsys.readouterr().out.splitlines()


def test_merging_what_is_no_model_is_one_line(tmp_path: Path) -> None:
    done = runner.invoke(app, ["merge", str(tmp_path / "nowhere"), "--out", str(tmp_path / "merged")])
    assert done.exit_code == 2 and "no such folder" in done.output and not (tmp_path / "merged").exists()
