"""The page Train: its data, recipes, runs and judges, and what it refuses."""

import json
import re
import shutil
import time
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from notebook_runs import chosen, run

from discover_lib.base.errors import DiscoverError
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train import training_job as jobs
from discover_lib.train.recipes import Recipe, assignments
from discover_lib.train.run_stage import StageSettings
from workbench.controls import MODEL
from workbench.echo import train_command
from workbench.pages import train_page
from workbench.pages.train_page import Judging

pytestmark = pytest.mark.slow

TRAIN = "5_train.py"


@pytest.fixture(autouse=True)
def outputs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.getbasetemp() / "training-pages"
    if not folder.exists():  # a few conversations to train on, made once
        (folder / "pairs").mkdir(parents=True)
        options = RunOptions(("draft", "adaptive"), domain="svg_drawing", split="train", artifacts=10, candidates=1)
        execute(lay_out(options), folder / "pairs")
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(folder))
    return folder


def stopped_run(folder: Path) -> None:
    folder.mkdir(parents=True)
    now = time.time()
    status = {"state": "running", "pid": 0, "process_started": 0.0, "started": now - 90, "updated": now}
    (folder / jobs.STATUS).write_text(json.dumps({**status, "resumed": [4]}))
    (folder / jobs.SETTINGS).write_text(json.dumps({"stage": "sft"}))
    (folder / "checkpoints" / "checkpoint-8").mkdir(parents=True)
    lines = [{"step": step, "total_steps": 20, "loss": 1 / step} for step in range(1, 10)]
    (folder / jobs.METRICS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    reply = {"text": "hello", "notation": None, "reward": None, "kind": None, "n_tokens": 3}
    sample = {"step": 8, "prompt": [{"role": "user", "content": "draw"}], "replies": [reply]}
    (folder / jobs.SAMPLES).write_text(json.dumps(sample) + "\n")


@cache
def untouched() -> dict[str, Any]:
    """The page as it opens on the conversations alone, run once."""
    return run(TRAIN)[1]


def asked(**changed: Any) -> SimpleNamespace:
    """Stands for the page's menus with some other choices."""
    defined = untouched()
    return SimpleNamespace(value=defined["menus"].value | changed, elements=defined["menus"].elements)


@pytest.mark.parametrize("stage", ["sft", "dpo", "grpo"])
def test_every_stage_shows_its_rows_and_what_carries_loss(stage: str) -> None:
    _, defined = run(TRAIN, **choices(asked(stage=stage), "Rows"))
    page = train_page.row_preview(defined["rows"], 1, defined["settings"]).text
    assert len(defined["rows"]) >= 9 and (' data-loss="1"' in page) == (stage != "grpo")
    assert f"{Recipe.miniature().of(stage).max_steps} updates" in defined["ready"].text


def test_the_menus_are_there_before_anything_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    assert train_page.stage_menus(0).value["data"].name == "default"


def choices(menus: Any, tab: str) -> dict[str, Any]:
    """The page's controls with these menus; all names of the cells that make them."""
    defined = untouched()
    names = ("get_activity", "get_folder", "get_pressed", "get_progress", "judge", "measure", "panel")
    same = {name: defined[name] for name in (*names, "talk", "clock", "run_choice")}
    return same | {"tab": chosen(tab), "menus": menus}


def test_a_field_that_contradicts_another_stands_in_the_way() -> None:
    _, defined = run(TRAIN, **choices(asked(set="batch=7 per_device=2"), "Recipe"))
    assert "batch 7 is not a multiple of per_device 2" in defined["ready"].text
    with pytest.raises(DiscoverError, match="multiple of per_device"):
        defined["panel"].begin()


def test_a_killed_run_is_found_shown_and_can_go_on(outputs: Path) -> None:
    folder = outputs / "train" / "killed"
    stopped_run(folder)
    try:
        shown, defined = run(TRAIN)
        page = "".join(shown)
        assert defined["get_folder"]() == folder and defined["panel"].status.state == "stopped"
        assert "resume from step 8" in page and "Go on with this run" in page and "■ Stop" not in page
        assert next(iter(defined["panel"].known())).startswith("SFT of ")
        assert [line["step"] for line in defined["panel"].logged] == list(range(1, 10)) and "dt-mark" in page
        assert "resumed from update 4" in page and "hello" in page
    finally:
        (folder / jobs.STATUS).unlink()


def test_nothing_is_trained_on_the_users_of_an_evaluation(outputs: Path) -> None:
    folder = outputs / "scored"
    folder.mkdir()
    options = RunOptions(("draft", "adaptive"), domain="svg_drawing", split="eval", artifacts=2, candidates=1, turns=2)
    execute(lay_out(options), folder)
    try:
        _, defined = run(TRAIN, **choices(asked(data=folder), "Curves"))
        assert re.search(r"users from evaluations \(svg_drawing-eval-00[01]", defined["ready"].text)
        with pytest.raises(DiscoverError, match="users from evaluations"):
            defined["panel"].begin()
    finally:
        shutil.rmtree(folder)


def test_a_gpu_has_a_price_with_and_without_unsloth() -> None:
    defined = untouched()
    title, shown = train_page.gpu_price(defined["settings"])
    assert title == "On a GPU: fits on t4" and "tokens per update" in shown.text


def form(**values: Any) -> dict[str, Any]:
    empty = {"judge": "miniature", "voice": "miniature", "model": "", "api_base": "", "key_variable": ""}
    return {**empty, **values}


def test_the_miniature_judges_until_the_form_is_sent_and_in_every_other_stage() -> None:
    sent = form(judge=MODEL, model="openai/m", api_base="http://localhost:1/v1")
    for judging in (Judging.of("grpo", None, None), Judging.of("sft", sent, 5.0)):
        assert judging.access is None
        assert judging.settings == {"judge": "miniature", "voice": "miniature"}


@pytest.mark.parametrize(
    ("values", "cap", "words"),
    [
        ({"judge": MODEL, "model": "openai/m"}, None, "enter the maximum cost"),
        ({"judge": MODEL, "model": ""}, 5.0, "no model is named"),
        ({"voice": MODEL, "model": "openai/m", "leak_check": True}, 5.0, "turn off this check"),
        ({"judge": MODEL, "model": "openai/m", "api_base": "nowhere"}, 5.0, "api_base is a URL"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(values: dict[str, Any], cap: float | None, words: str) -> None:
    judging = Judging.of("grpo", form(**values), cap)
    assert words in judging.refusal and "\n" not in judging.refusal


def test_a_judge_a_cap_and_an_address_are_in_the_settings_the_access_and_the_command() -> None:
    judging = Judging.of("grpo", form(judge=MODEL, model="openai/m", api_base="http://localhost:1/v1"), 5.0)
    assert judging.refusal == "" and judging.access is not None and judging.access.budget_dollars == 5.0
    settings = StageSettings("grpo", "/data", "some/base", **judging.settings)
    command = train_command(settings, Recipe.paper(), Path("/run"), judging.access)
    assert "--judge openai/m --budget 5 --api-base http://localhost:1/v1" in command and "--voice" not in command


def test_a_server_of_one_s_own_needs_no_cap() -> None:
    judging = Judging.of("grpo", form(voice=MODEL, model="openai/m", api_base="http://localhost:1/v1"), None)
    assert judging.refusal == "" and judging.access is not None and judging.access.budget_dollars is None


def test_settings_of_a_command_line() -> None:
    given = ["learning_rate=1e-4", "loss=sigmoid", "packing=True", 'kinds=["a"]', "limit=None", "epochs=2"]
    assert assignments(given) == {
        "learning_rate": 1e-4, "loss": "sigmoid", "packing": True, "kinds": ["a"], "limit": None, "epochs": 2,
    }  # fmt: skip
    for wrong in (["rate"], ["=3"], ["rate=1", "rate=2"]):
        with pytest.raises(DiscoverError):
            assignments(wrong)
