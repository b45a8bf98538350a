"""All stages on the trainers that Unsloth writes, without a GPU; only the loading of the model is stood in for.

    python tests/unsloth_on_cpu.py FOLDER unsloth       # FOLDER: data/ and base/, as tests/train/test_unsloth.py makes
    python tests/unsloth_on_cpu.py FOLDER transformers  # the same on TRL's own

Unsloth can be imported on a CPU and then writes and patches its trainers as on a GPU; its kernels and its way to load a
model are not tried.  Prints one line of JSON: per stage what was logged, and of every sampling the model's mode before
and after.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

os.environ |= {"TORCHDYNAMO_DISABLE": "1", "UNSLOTH_COMPILE_DISABLE": "1", "CUDA_VISIBLE_DEVICES": ""}
LOGGED = ("loss", "grad_norm", "reward", "num_tokens")


def mode(model: Any) -> list[Any]:
    """Whether it trains, recomputes activations, and keeps keys and values."""
    checkpointing = [getattr(each, "gradient_checkpointing", False) for each in model.modules()]
    return [model.training, any(checkpointing), bool(model.config.use_cache)]


def use_unsloth() -> None:
    """Make every stage of this process use Unsloth's trainers on the CPU.  Call it before transformers is imported.

    Unsloth can be imported without a GPU.  It writes and patches its trainers as on a GPU.  Its kernels and its loading
    of models are not tried: `transformers` loads the model, and Unsloth's modes are added.
    """
    os.environ["UNSLOTH_ALLOW_CPU"] = "1"
    os.environ.setdefault("UNSLOTH_COMPILE_LOCATION", tempfile.mkdtemp(prefix="unsloth-"))  # for its generated code
    import unsloth  # noqa: F401
    from unsloth.models import rl
    from unsloth.models.llama import FastLlamaModel, unsloth_fast_generate

    os.environ["UNSLOTH_ALLOW_CPU"] = "0"
    rl.patch_trl_disable_gradient_checkpointing()
    for trainer in ("sft_trainer", "dpo_trainer", "grpo_trainer"):
        rl._patch_trl_rl_trainers(trainer)
    from discover_lib.train import backend
    from discover_lib.train import run_stage as stage

    def load(base: str, lora: Any, recipe: Any, chosen: Any, seed: int) -> Any:
        model = backend._transformers(base, [], lora, recipe, backend.Backend("transformers", "cpu", ""))
        model._unsloth_gradient_checkpointing = "unsloth" if recipe.gradient_checkpointing else False
        model._old_generate, model.generate = model.generate, types.MethodType(unsloth_fast_generate, model)
        model.for_training = functools.partial(FastLlamaModel.for_training, model)
        model.for_inference = functools.partial(FastLlamaModel.for_inference, model)
        return model

    backend._unsloth = load  # type: ignore[assignment]
    stage.choose_backend = lambda *_: backend.Backend("unsloth", "cpu", "as on a GPU")


def main(folder: Path, name: str) -> None:
    if name == "unsloth":
        use_unsloth()
    import torch
    import trl

    torch.set_num_threads(1)

    from discover_lib.train.grpo.rollouts import Sampler
    from discover_lib.train.recipes import Recipe
    from discover_lib.train.run_stage import StageSettings, run_stage

    modes: list[Any] = []
    complete = Sampler.complete

    def watched(self: Sampler, prompts: Any) -> Any:
        before = mode(self.model)
        replies = complete(self, prompts)
        modes.append([before, mode(self.model)])
        return replies

    Sampler.complete = watched
    few: dict[str, Any] = {
        "max_steps": 3, "batch": 4, "per_device": 2, "sample_steps": 1, "save_steps": 3, "max_length": 512,
    }  # fmt: skip
    recipe = Recipe.paper().changed("sft", {**few, "eval_steps": 2, "lora.dropout": 0.0, "learning_rate": 1e-3})
    recipe = recipe.changed("dpo", {**few, "eval_steps": 0, "learning_rate": 1e-3})
    few |= {"batch": 16, "per_device": 8, "n_generations": 8, "max_completion": 40, "temperature": 1.0}
    recipe = recipe.changed("grpo", {**few, "probe_users": 2, "probe_turns": 1})
    runs = {
        "sft": ("sft", "", recipe), "dpo": ("dpo", "sft", recipe), "grpo": ("grpo", "sft", recipe),
        "grpo-turns": ("grpo", "sft", recipe.changed("grpo", {"multi_turn": 2})),
    }  # fmt: skip
    told: dict[str, Any] = {"trainers": [trl.SFTTrainer.__name__, trl.DPOTrainer.__name__, trl.GRPOTrainer.__name__]}
    for run, (stage, adapter, how) in runs.items():
        modes.clear()
        earlier = str(folder / f"{name}-{adapter}") if adapter else ""
        settings = StageSettings(stage, str(folder / "data" / stage), str(folder / "base"), earlier, how)  # type: ignore[arg-type]
        run_stage(settings, folder / f"{name}-{run}", on_progress=lambda line: print(line, file=sys.stderr))
        lines = [json.loads(each) for each in (folder / f"{name}-{run}" / "metrics.jsonl").read_text().splitlines()]
        logged = [{key: line.get(key) for key in LOGGED} for line in lines if "loss" in line]
        told[run] = {"logged": logged, "modes": list(modes)}
    print(json.dumps(told))


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
    main(Path(sys.argv[1]).resolve(), sys.argv[2])
