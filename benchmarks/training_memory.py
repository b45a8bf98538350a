"""Peak memory and speed of a training stage on a GPU, and its estimate, with rows of exactly the longest length.

    .venv/bin/python benchmarks/training_memory.py sft --shape 8B --per-device 4 --length 4096
    .venv/bin/python benchmarks/training_memory.py grpo --length 4352 --completion 256 --batch 32 --updates 1
    .venv/bin/python benchmarks/training_memory.py dpo --shape smoke --length 256     # without a GPU: tries the script

The model has random weights and the shape of Qwen3 with all layers, as in tests/gpu_check.py.  Tokens are drawn at
random.  Speed and memory do not depend on either.
"""

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=("sft", "dpo", "grpo"))
    parser.add_argument("--shape", default="8B")
    parser.add_argument("--backend", default="transformers")
    for name, number in {"per-device": 4, "batch": 16, "length": 4096, "completion": 256, "updates": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--set", nargs="*", default=[], metavar="FIELD=JSON", help="further fields of the recipe")
    asked = parser.parse_args()
    if asked.backend == "unsloth":
        import unsloth  # noqa: F401
    with tempfile.TemporaryDirectory() as made:
        measure(asked, Path(made))


def measure(asked: argparse.Namespace, folder: Path) -> None:
    """Train a few updates, and print the estimate and what was measured."""
    import gpu_check
    import torch

    from discover_lib.train import estimate, run_stage
    from discover_lib.train.recipes import Recipe

    gpu_check.make_data(folder / "data", gpu_check.ARTIFACTS, gpu_check.TURNS, gpu_check.DOMAIN, text="content")
    gpu_check.LENGTH = asked.length
    base = str(gpu_check.make_base(folder / "base", asked.shape, folder / "data", full=True))
    few: dict[str, Any] = {"max_steps": asked.updates, "save_steps": 1000, "sample_steps": 0}
    few |= {"batch": asked.batch, "per_device": asked.per_device, "max_length": asked.length}
    few |= {"max_completion": asked.completion, "probe_users": 0} if asked.stage == "grpo" else {"eval_steps": 0}
    few |= {name: json.loads(value) for name, _, value in (each.partition("=") for each in asked.set)}
    recipe = Recipe.paper().changed(asked.stage, few)
    use_long_rows(asked)
    run_stage.misfit = lambda *_: []  # type: ignore[attr-defined,assignment]  # so that every size is tried
    rows = str(folder / "data" / asked.stage)
    run_stage.run_stage(
        run_stage.StageSettings(asked.stage, rows, base, recipe=recipe, backend=asked.backend), folder / "run"
    )
    seconds = [json.loads(line)["seconds"] for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    card = estimate.present_card() if torch.cuda.is_available() else estimate.CARDS["h100"]
    needed = estimate.estimate(asked.stage, estimate.architecture_of(base), recipe, card, asked.backend)
    each = (seconds[asked.updates - 1] - seconds[0]) / (asked.updates - 1) if asked.updates > 1 else seconds[0]
    print(f"{needed.line}\n{each:.2f} s per update, {needed.tokens / each:,.0f} tokens/s", end="")
    if torch.cuda.is_available():
        print(f", peak {torch.cuda.max_memory_allocated() / estimate.GIB:.2f} GiB on {card.name}", end="")
    print()


def use_long_rows(asked: argparse.Namespace) -> None:
    """Let every row of this process have the longest length."""
    from discover_lib.train.grpo.trainer import RoundsTrainer
    from discover_lib.train.run_stage import _Run

    def drawn(length: int) -> list[int]:
        return [random.randrange(10, 3000) for _ in range(length)]

    def row() -> dict[str, list[int]]:
        if asked.stage == "sft":
            ids = drawn(asked.length)
            return {"input_ids": ids, "labels": ids}
        half = asked.length // 2
        return {"prompt_ids": drawn(asked.length - half), "chosen_ids": drawn(half), "rejected_ids": drawn(half)}

    def prompts(_: Any, batch: list[Any]) -> tuple[list[list[int]], None, dict[str, Any]]:
        return [drawn(asked.length - asked.completion) for _ in batch], None, {}

    if asked.stage == "grpo":
        RoundsTrainer._tokenize_prompts = prompts  # type: ignore[method-assign]
    else:
        _Run._fitting = lambda _: ([row() for _ in range(asked.batch)], [])  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
