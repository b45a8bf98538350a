"""50_train and 51_grpo_by_hand: what they show of data, recipes, runs and groups, and what they refuse."""

import json
import re
import shutil
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from notebook_runs import chosen, problems, run

from discover_lib.base.errors import DiscoverError
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train import training_job as jobs
from discover_lib.train.recipes import Recipe
from workbench.views import training as show_training

pytestmark = pytest.mark.slow

TRAIN, BY_HAND = "50_train.py", "51_grpo_by_hand.py"


@pytest.fixture(autouse=True)
def outputs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.getbasetemp() / "training-pages"
    if not folder.exists():  # a few conversations to train on, made once
        (folder / "pairs").mkdir(parents=True)
        options = RunOptions(("draft", "adaptive"), domain="svg_drawing", split="train", artifacts=10, candidates=1)
        execute(lay_out(options), folder / "pairs")
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(folder))
    return folder


@cache
def untouched() -> dict[str, Any]:
    """What the training page defines where nothing was chosen."""
    return run(TRAIN)[1]


def stopped_run(folder: Path) -> None:
    """A run as a killed process leaves it."""
    folder.mkdir(parents=True)
    now = time.time()
    attempts = [{"started": now - 90, "from_step": 0, "ended": None, "end": ""}]
    attempts.append({"started": now - 40, "from_step": 4, "ended": None, "end": ""})
    status = {"state": "running", "pid": 0, "process_started": 0.0, "started": now - 90, "updated": now}
    (folder / jobs.STATUS).write_text(json.dumps({**status, "attempts": attempts}))
    (folder / jobs.SETTINGS).write_text(json.dumps({"stage": "sft"}))
    (folder / "checkpoints" / "checkpoint-8").mkdir(parents=True)
    lines = [{"step": step, "total_steps": 20, "loss": 1 / step} for step in (*range(1, 7), *range(5, 10))]
    (folder / jobs.METRICS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    reply = {"text": "hello", "notation": None, "reward": None, "kind": None, "n_tokens": 3}
    sample = {"step": 8, "prompt": [{"role": "user", "content": "draw"}], "replies": [reply]}
    (folder / jobs.SAMPLES).write_text(json.dumps(sample) + "\n")


@pytest.mark.parametrize("stage", ["sft", "dpo", "grpo"])
def test_every_stage_shows_its_rows_and_what_carries_loss(stage: str) -> None:
    place = next(iter(untouched()["places"].values()))
    shown, defined = run(TRAIN, data_choice=chosen(place), stage_choice=chosen(stage))
    page = "".join(shown)
    assert problems(shown) == [] and len(defined["rows"]) >= 9
    assert ('data-loss="1"' in page) == (stage != "grpo")
    assert defined["steps_planned"] == Recipe.miniature().of(stage).max_steps


def test_a_field_that_contradicts_another_stands_in_the_way() -> None:
    plain = untouched()
    values = {**plain["recipe_choice"].value, "batch": "7", "per_device": "2"}
    _, defined = run(TRAIN, preset=plain["preset"], recipe_choice=Fields(plain["recipe_choice"].elements, values))
    assert any("batch 7 is not a multiple of per_device 2" in each for each in defined["standing_in_the_way"])
    with pytest.raises(DiscoverError, match="multiple of per_device"):
        defined["panel"].begin()


class Fields:
    """Stands for the dictionary of fields, with other values."""

    def __init__(self, elements: Any, value: Any) -> None:
        self.elements, self.value = elements, value


def test_a_killed_run_is_found_shown_and_can_go_on(outputs: Path) -> None:
    folder = outputs / "train" / "killed"
    stopped_run(folder)
    try:
        shown, defined = run(TRAIN)
        page = "".join(shown)
        assert defined["get_folder"]() == folder and defined["status"].state == "stopped"
        assert "it can resume from step 8" in page and "Go on with this run" in page and "■ Stop" not in page
        assert [line["step"] for line in defined["logged"]] == list(range(1, 10)) and "dt-mark" in page
        assert "went on from step 4" in page and "hello" in page
    finally:
        (folder / jobs.STATUS).unlink()


def test_a_group_is_taken_apart() -> None:
    _, plain = run(BY_HAND)
    group, candidates = plain["group"], plain["candidates"]
    assert group.rewards == tuple(each.reward.total for each in candidates) and len(candidates) == 4
    shown, same = run(BY_HAND, own_choice=chosen([2, 2, 2, 2]))
    assert not same["own_group"].signal and any("teaches nothing" in each for each in shown)
    assert plain["silent"]["script: ask"].hits == plain["silent"]["script: ask"].n  # it earns nothing, whatever it asks


def test_nothing_is_trained_on_the_users_of_an_evaluation(outputs: Path) -> None:
    folder = outputs / "scored"
    folder.mkdir()
    options = RunOptions(("draft", "adaptive"), domain="svg_drawing", split="eval", artifacts=2, candidates=1, turns=2)
    execute(lay_out(options), folder)
    try:
        shown, defined = run(TRAIN, data_choice=chosen(folder), stage_choice=chosen("sft"))
        line = r"of users from evaluations \(svg_drawing-eval-00[01]"
        assert any(re.search(line, each) for each in shown)
        with pytest.raises(DiscoverError, match="of users from evaluations"):
            defined["panel"].begin()
    finally:
        shutil.rmtree(folder)


def test_held_out_loss_that_turns_is_said() -> None:
    falling = [{"step": step, "eval_loss": 2 - step / 100} for step in range(10, 60, 10)]
    assert show_training.turning(falling) == ""
    rising = [*falling, *({"step": step, "eval_loss": 1.6 + step / 100} for step in range(60, 100, 10))]
    said = show_training.turning(rising, 16)
    assert "memorising since step 50" in said and "trained on 16 rows" in said
