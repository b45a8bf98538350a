"""`discover train` and `discover merge`: what they refuse before anything is made, and what they call things."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discover_lib.app.cli.main import app
from discover_lib.app.cli.train import progress_line
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train import jobs

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
    return folder


def refusal(place: Path, *words: str, **changed: str) -> str:
    """The line that a command ends with, which makes no folder."""
    given = {"data": str(place / "pairs"), "base": str(place / "base"), "run": str(place / "new")} | changed
    options = [word for name, value in given.items() for word in (f"--{name}", value)]
    done = runner.invoke(app, ["train", *words, *options])
    assert done.exit_code == 2 and not (place / "new").exists()
    lines = [line for line in done.output.splitlines() if line]
    assert len(lines) == 1 and lines[0].startswith("discover: ")
    return lines[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "changed", "said"),
    [
        (("sft",), {"data": "nowhere"}, "neither exported rows nor a run"),
        (("sft",), {"base": "/nowhere/at/all"}, "no such folder"),
        (("sft",), {"adapter": "nowhere"}, "no lineage.json here"),
        (("sft", "--set", "learning_rat=1"), {}, "did you mean 'learning_rate'"),
        (("sft", "--set", "learning_rate"), {}, "write name=value"),
        (("dpo", "--set", "batch=7", "--set", "per_device=2"), {}, "batch 7 is not a multiple of per_device 2"),
        (("grpo", "--set", "n_generations=1"), {"recipe": "miniature"}, "n_generations must be at least 2"),
        (("grpo", "--judge", "nobody"), {"recipe": "miniature"}, "judge 'nobody' is neither"),
        (("grpo", "--timeout", "9"), {}, "--timeout is for GRPO's judge and voice, and no model plays them"),
        (("grpo", "--judge", "openai/m", "--max-tokens", "judg=9"), {}, "--max-tokens: no role 'judg'"),
        (("sft", "--backend", "unsloth"), {}, "nsloth"),
    ],
)
def test_what_cannot_work_is_one_line_before_anything_is_made(
    place: Path, words: tuple[str, ...], changed: dict[str, str], said: str
) -> None:
    pytest.importorskip("torch")
    assert said in refusal(place, *words, **changed)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--recipe t4 --set precision=bf16 --card t4", "sft: precision bf16 would be emulated on t4"),
        ("--recipe 24gb --card t4", "grpo: 8.0 billion weights need about 24 GiB, and t4 has 15; set grpo.max_length="),
        ("--set dpo.learning_rate=0", "dpo: learning_rate must be positive"),
    ],
)
def test_a_rehearsal_of_what_no_card_can_train_ends_before_any_work(place: Path, words: str, said: str) -> None:
    given = ["--data", str(place / "pairs"), "--base", "meta-llama/Llama-3.1-8B-Instruct", "--run", str(place / "new")]
    done = runner.invoke(app, ["train", "sft", *given, "--rehearse", *words.split()])
    assert done.exit_code == 2 and "rehearsed" not in done.output and not (place / "new").exists()
    assert done.output.splitlines()[-1].startswith(f"discover: {said}")


@pytest.mark.slow
def test_a_folder_with_other_settings_is_refused_by_name(place: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    given = ["train", "sft", "--data", str(place / "pairs"), "--base", str(place / "base"), "--recipe", "miniature"]
    run = tmp_path / "run"
    run.mkdir()
    (run / jobs.STATUS).write_text(json.dumps({"state": "stopped", "sittings": []}))
    settings = _settings_of([*given, "--seed", "3"])
    (run / jobs.SETTINGS).write_text(json.dumps(settings))
    done = runner.invoke(app, [*given, "--run", str(run)])
    assert done.exit_code == 2 and "seed: 3 there, 0 asked" in done.output


def _settings_of(words: list[str]) -> dict[str, Any]:
    from discover_lib.train.recipes import Recipe
    from discover_lib.train.stage import StageSettings

    options = dict(zip(words[2::2], words[3::2], strict=True))
    return StageSettings(
        "sft",
        str(Path(options["--data"]).resolve()),
        str(Path(options["--base"]).resolve()),
        recipe=Recipe.miniature(),
        seed=int(options["--seed"]),
    ).to_dict()


def test_the_progress_line_says_what_was_logged_and_nothing_else() -> None:
    line = {"step": 3, "loss": 0.1234, "reward": None, "share/broken": 0.015, "tokens_per_second": 15_000.0}
    assert progress_line(line) == "loss 0.123, broken 2%, 15k tokens/s"
    assert progress_line({"step": 1, "eta_seconds": 61.0}) == "1 min 1 s left"


def test_merging_what_is_no_model_is_one_line(tmp_path: Path) -> None:
    done = runner.invoke(app, ["merge", str(tmp_path / "nowhere"), "--out", str(tmp_path / "merged")])
    assert done.exit_code == 2 and "no such folder" in done.output and not (tmp_path / "merged").exists()
