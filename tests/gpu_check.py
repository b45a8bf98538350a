"""Do all three trainers work on this machine's GPU, how fast, and is Unsloth faster?  Run by hand, not by pytest.

    .venv/bin/python tests/gpu_check.py                       # 0.6B and 8B widths, every installed backend
    .venv/bin/python tests/gpu_check.py --widths 8B --full    # all 36 layers of an 8B model
    .venv/bin/python tests/gpu_check.py --cpu                 # tries the script itself, on a shape that means nothing

Nothing is downloaded: models have the shape of Qwen3 and random weights, the tokenizer is learnt from the rows, and the
rows are conversations of scripted assistants.  Every run is a process of its own, because a backend must be imported
first and memory is counted per process.  Where there is no CUDA device, it says so and exits with 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chat_models import FAMILIES, make_tokenizer
from training import make_data

from discover_lib.dataset.export import read_rows
from discover_lib.train.recipes import Recipe
from discover_lib.train.run_stage import StageSettings, run_stage

DOMAIN = "technical_writing"
ARTIFACTS, TURNS = 24, 3
STEPS = 8
WARM = 2  # updates left out of the speed: kernels are compiled and caches filled in them
LENGTH, COMPLETION = 2048, 256
STAGES = ("sft", "dpo", "grpo")
VOCABULARY = 151_936  # Qwen3's: the last layer's share of the work depends on it
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}"
    "{% else %}{{ message['content'] + '<|im_end|>' }}{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@dataclass(frozen=True)
class Shape:
    """A Qwen3 model's; `layers` are as many as are needed to measure, `all_layers` the real model's."""

    hidden: int
    feed_forward: int
    heads: int
    kv_heads: int
    layers: int
    all_layers: int
    vocabulary: int = VOCABULARY
    head_size: int = 128


SHAPES = {
    "0.6B": Shape(1024, 3072, 16, 8, 28, 28),
    "8B": Shape(4096, 12288, 32, 8, 8, 36),
    "smoke": Shape(32, 64, 2, 2, 2, 2, 4096, 16),
}


def main() -> int:
    arguments = read_arguments()
    if arguments.settings:
        settings = StageSettings.from_dict(json.loads(Path(arguments.settings).read_text()))
        run_stage(settings, Path(arguments.run))
        return 0
    import torch

    if not torch.cuda.is_available() and not arguments.cpu:
        print("no CUDA device on this machine: nothing was checked")
        return 1
    widths = ["smoke"] if arguments.cpu else arguments.widths
    backends = ["transformers"] + (["unsloth"] if importlib.util.find_spec("unsloth") and not arguments.cpu else [])
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"{device}; backends: {', '.join(backends)}; {STEPS} updates each, speed over the last {STEPS - WARM}")
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as made:
        found = check(Path(made), widths, backends, full=arguments.full)
    if arguments.out:
        Path(arguments.out).write_text(json.dumps({"device": device, "runs": found}, indent=1) + "\n")
    return 1 if any("error" in each for each in found) else 0


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", nargs="+", choices=[*SHAPES], default=["0.6B", "8B"])
    parser.add_argument("--full", action="store_true", help="all layers, not only enough to measure")
    parser.add_argument("--cpu", action="store_true", help="try the script itself without a CUDA device")
    parser.add_argument("--out", help="write the figures as JSON")
    parser.add_argument("--settings", help=argparse.SUPPRESS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    return parser.parse_args()


def check(folder: Path, widths: list[str], backends: list[str], *, full: bool) -> list[dict[str, Any]]:
    """Every stage at every width on every backend, printed as it comes."""
    make_data(folder / "data", ARTIFACTS, TURNS, DOMAIN, text="content")
    found: list[dict[str, Any]] = []
    for width in widths:
        base = make_base(folder / f"base-{width}", SHAPES[width], folder / "data", full=full)
        for stage in STAGES:
            speeds: dict[str, float] = {}
            for backend in backends:
                run = measure(folder, width, base, stage, backend)
                found.append(run)
                if "error" in run:
                    print(f"{width:6} {stage:5} {backend:13} FAILED: {run['error']}")
                    continue
                speeds[backend] = run["tokens_per_second"]
                ratio = speeds[backend] / speeds["transformers"] if "transformers" in speeds else 1.0
                print(
                    f"{width:6} {stage:5} {backend:13} {run['tokens_per_second']:>10,.0f} tokens/s"
                    f" {run['peak_memory_mb']:>10,.0f} MB   × {ratio:.2f} of transformers",
                    flush=True,
                )
    return found


def measure(folder: Path, width: str, base: Path, stage: str, backend: str) -> dict[str, Any]:
    """One run in a process of its own: its median speed after the first updates and its peak memory."""
    name = f"{width}-{stage}-{backend}"
    run, told = folder / name, {"width": width, "stage": stage, "backend": backend}
    settings = StageSettings(
        stage,  # type: ignore[arg-type]
        str(folder / "data" / stage),
        str(base),
        recipe=short_recipe(small=width == "smoke"),
        backend=backend,
    )
    (folder / f"{name}.json").write_text(json.dumps(settings.to_dict()))
    command = [sys.executable, __file__, "--settings", str(folder / f"{name}.json"), "--run", str(run)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    if done.returncode:
        return {**told, "error": (done.stderr.strip() or "no message").splitlines()[-1]}
    result = json.loads((run / "result.json").read_text())
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    speeds = [line["tokens_per_second"] for line in lines if "tokens_per_second" in line and line["step"] > WARM]
    if not speeds:
        return {**told, "error": "no speed was logged"}
    return {
        **told,
        "tokens_per_second": statistics.median(speeds),
        "n": len(speeds),
        "peak_memory_mb": result["peak_memory_mb"],
        "losses": [line["loss"] for line in lines if "loss" in line],
    }


def short_recipe(*, small: bool) -> Recipe:
    """The paper's recipe for a few updates on short sequences; on a CPU in tiny batches."""
    recipe = Recipe.paper()
    few: dict[str, Any] = {"max_steps": STEPS, "save_steps": 1000, "sample_steps": 0, "max_length": LENGTH}
    few |= {"batch": 4, "per_device": 2} if small else {}
    for stage in ("sft", "dpo"):
        recipe = recipe.changed(stage, {**few, "eval_steps": 0})
    grpo = {"max_completion": 8 if small else COMPLETION, "probe_users": 0, "per_device": 4}
    return recipe.changed("grpo", {**few, **grpo})


def make_base(folder: Path, shape: Shape, data: Path, *, full: bool) -> Path:
    """A model of that shape with random weights, and a tokenizer learnt from the rows."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    talks = [row["messages"] for rows in read_rows(data / "sft").values() for row in rows]
    tokenizer = make_tokenizer(FAMILIES["qwen2.5"], [each["content"] for talk in talks for each in talk], size=4000)
    tokenizer.chat_template, tokenizer.padding_side = TEMPLATE, "left"
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=shape.vocabulary,
        hidden_size=shape.hidden,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.all_layers if full else shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_size,
        max_position_embeddings=4 * LENGTH,
        tie_word_embeddings=shape.hidden < 4096,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="bfloat16",
    )
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = Qwen3ForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    model.save_pretrained(folder)
    del model
    if torch.cuda.is_available():
        torch.cuda.empty_cache()  # for the processes that train
    return folder


if __name__ == "__main__":
    sys.exit(main())
