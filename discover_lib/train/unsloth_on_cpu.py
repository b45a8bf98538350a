"""Unsloth's own trainers without a GPU: it can be imported there and writes and patches them as it does on one.

Its kernels and its way to load a model are not tried: `transformers` loads, and Unsloth's modes go on top.
"""

from __future__ import annotations

import functools
import os
import tempfile
import types
from typing import Any

QUIET = {"TORCHDYNAMO_DISABLE": "1", "UNSLOTH_COMPILE_DISABLE": "1"}


def rehearse_on_unsloth() -> None:
    """Have every stage of this process train on Unsloth's trainers, on the CPU.  Before transformers is imported."""
    os.environ.update(QUIET, UNSLOTH_ALLOW_CPU="1")
    os.environ.setdefault("UNSLOTH_COMPILE_LOCATION", tempfile.mkdtemp(prefix="unsloth-"))  # what it writes
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
