"""Unsloth's own trainers, as it writes them for the installed TRL, without a GPU (see `unsloth_on_cpu`).

They need an environment of their own, which `make gpu-versions` makes; UNSLOTH_PYTHON may name another.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from training import make_base, make_data, teach

pytestmark = [pytest.mark.slow, pytest.mark.integration("unsloth")]
SCRIPT = Path(__file__).resolve().parents[1] / "unsloth_on_cpu.py"
MADE = Path(__file__).resolve().parents[2] / ".venv-gpu" / "bin" / "python"
PYTHON = os.environ.get("UNSLOTH_PYTHON", str(MADE) if MADE.exists() else sys.executable)
STAGES = ("sft", "dpo", "grpo", "grpo-turns")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script says on each backend."""
    folder = tmp_path_factory.mktemp("unsloth")
    make_data(folder / "data")
    teach(make_base(folder / "base"), folder / "data")  # some of what it writes can be read, so rewards differ
    environment = {**os.environ, "DISCOVER_OUTPUTS": str(folder / "outputs")}
    answers = {}
    for backend in ("unsloth", "transformers"):
        command = [PYTHON, str(SCRIPT), str(folder), backend]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        answers[backend] = json.loads(done.stdout.splitlines()[-1])
    return answers


def test_the_trainers_are_unsloth_s(told: dict[str, Any]) -> None:
    assert told["unsloth"]["trainers"] == ["UnslothSFTTrainer", "UnslothDPOTrainer", "UnslothGRPOTrainer"]
    assert told["transformers"]["trainers"] == ["SFTTrainer", "DPOTrainer", "GRPOTrainer"]


@pytest.mark.parametrize(
    ("stage", "column"), [("sft", "loss"), ("sft", "grad_norm"), ("dpo", "loss"), ("dpo", "grad_norm")]
)
def test_losses_are_those_of_trl(stage: str, column: str, told: dict[str, Any]) -> None:
    ours, theirs = ([line[column] for line in told[name][stage]["logged"]] for name in ("unsloth", "transformers"))
    assert ours == pytest.approx(theirs, rel=1e-4) and len(set(theirs)) == len(theirs) == 3


@pytest.mark.parametrize("stage", ["grpo", "grpo-turns"])
def test_the_first_update_of_grpo_is_that_of_trl(stage: str, told: dict[str, Any]) -> None:
    ours, theirs = (told[name][stage]["logged"][0] for name in ("unsloth", "transformers"))
    columns = ("loss", "reward", "num_tokens")
    assert [ours[name] for name in columns] == pytest.approx([theirs[name] for name in columns], rel=1e-4, abs=1e-6)
    assert theirs["grad_norm"] > 0  # some reply was better than another
    assert ours["grad_norm"] == pytest.approx(theirs["grad_norm"], rel=0.02)  # its loss of GRPO is its own


@pytest.mark.parametrize("stage", STAGES)
def test_sampling_leaves_gradient_checkpointing_as_it_was(stage: str, told: dict[str, Any]) -> None:
    modes = told["unsloth"][stage]["modes"]
    assert len(modes) >= 2
    trained = [before for before, _ in modes if before[0]]
    assert trained and all(checkpointing for _, checkpointing, _ in trained)
    assert all(before == after for before, after in modes)
