"""From a recipe to a trainer's configuration: every field and every default is set explicitly.

Unsloth changes many defaults.  With explicit values a recipe trains the same on both backends.  `backend.unsuitable`
refuses the settings that Unsloth changes anyway.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discover_lib.train.backend import Backend, DiscoverError, precision
from discover_lib.train.recipes import DpoRecipe, GrpoRecipe, StageRecipe, SupervisedRecipe

CHECKPOINTS = "checkpoints"
KEPT_CHECKPOINTS = 2  # a kill can leave one incomplete


def _same(names: str) -> dict[str, str]:
    return {name: name for name in names.split()}


# A recipe's field → the configuration's; this library uses the recipe's other fields.
COMMON = {
    **_same("learning_rate weight_decay adam_beta1 adam_beta2 adam_epsilon max_grad_norm gradient_checkpointing"),
    **_same("logging_steps save_steps"),
    "per_device": "per_device_train_batch_size",
    "epochs": "num_train_epochs",
    "optimizer": "optim",
    "schedule": "lr_scheduler_type",
    "warmup": "warmup_steps",
}
DPO = _same("max_length beta label_smoothing disable_dropout")
GRPO = {
    **_same("temperature top_p top_k repetition_penalty beta epsilon loss_type scale_rewards"),
    **_same("disable_dropout"),
    "n_generations": "num_generations",
    "generation_memory": "vllm_gpu_memory_utilization",
    "max_completion": "max_completion_length",
    "iterations": "num_iterations",
    "importance_sampling": "importance_sampling_level",
    "mask_truncated": "mask_truncated_completions",
}
# Writer of the replies → TRL's options.  Unsloth's vLLM shares the model's weights in the trainer's process.
GENERATION: Mapping[str, Mapping[str, Any]] = {
    "transformers": {"use_vllm": False},
    "vllm-server": {"use_vllm": True, "vllm_mode": "server"},
    "vllm-colocate": {"use_vllm": True, "vllm_mode": "colocate"},
    "unsloth-fast": {"use_vllm": True, "vllm_mode": "colocate"},
}
# Passed only to versions that know them; older versions behave the same without them.
NEWER = {"use_bias_correction_kl", "top_entropy_quantile", "entropy_coef", "pad_to_multiple_of", "eval_packing"}


def common(recipe: StageRecipe, backend: Backend, folder: Path, seed: int) -> dict[str, Any]:
    """Values of all three trainers."""
    kind = precision(recipe.precision, backend)
    return _picked(recipe, COMMON) | {
        "output_dir": str(folder / CHECKPOINTS),
        "max_steps": recipe.max_steps or -1,
        "gradient_accumulation_steps": recipe.accumulation,
        "gradient_checkpointing_kwargs": {"use_reentrant": False} if recipe.gradient_checkpointing else None,
        "bf16": kind == "bf16",
        "fp16": kind == "fp16",
        "use_cpu": backend.device == "cpu",
        "seed": seed,
        "data_seed": seed,
        "logging_strategy": "steps",
        "logging_first_step": True,
        "logging_nan_inf_filter": False,
        "save_strategy": "steps",
        "save_total_limit": KEPT_CHECKPOINTS,
        "eval_strategy": "no",
        "report_to": "none",
        "push_to_hub": False,
        "disable_tqdm": True,
        "dataloader_num_workers": 0,
        "dataloader_pin_memory": backend.device == "cuda",
        "neftune_noise_alpha": None,
    }


def sft(recipe: SupervisedRecipe, *, held_out: bool) -> dict[str, Any]:
    """Further values of the SFT trainer.  Longer rows are already omitted, so no row is cut."""
    return _held_out(recipe, held_out) | {
        "max_length": recipe.max_length,
        "packing": False,
        "eval_packing": False,
        "padding_free": False,
        "pad_to_multiple_of": None,
        "assistant_only_loss": False,  # the rows' labels mark the tokens with loss
        "completion_only_loss": False,
        "loss_type": "nll",
        "dataset_num_proc": None,
    }


def dpo(recipe: DpoRecipe, *, held_out: bool) -> dict[str, Any]:
    """Further values of the DPO trainer."""
    added = recipe.sft_weight > 0
    return (
        _held_out(recipe, held_out)
        | _picked(recipe, DPO)
        | {
            "loss_type": [recipe.loss_type, "sft"] if added else [recipe.loss_type],
            "loss_weights": [1.0, recipe.sft_weight] if added else None,
            "precompute_ref_log_probs": False,
            "sync_ref_model": False,
            "use_weighting": False,
            "padding_free": False,
            "pad_to_multiple_of": None,
            "dataset_num_proc": None,
        }
    )


def grpo(recipe: GrpoRecipe) -> dict[str, Any]:
    """Further values of the GRPO trainer."""
    return _picked(recipe, GRPO) | {
        "epsilon_high": recipe.epsilon if recipe.epsilon_high is None else recipe.epsilon_high,
        "steps_per_generation": recipe.accumulation,
        "shuffle_dataset": False,  # `grpo.trainer.Table` orders the rows
        "remove_unused_columns": False,
        "min_p": None,
        "reward_weights": None,
        **GENERATION[recipe.generation],
        # vLLM's probabilities differ slightly from the trained model's; the correction removes the effect.
        "vllm_importance_sampling_correction": recipe.generation != "transformers",
        "sync_ref_model": False,
        "log_completions": False,
        "top_entropy_quantile": 1.0,
        "entropy_coef": 0.0,
        "pad_to_multiple_of": None,
    }


def configuration(kind: type, values: Mapping[str, Any]) -> Any:
    """A trainer's configuration from values, all of which it must know.

    Raises:
        DiscoverError: the installed version has no such setting.
    """
    known = {each.name for each in dataclasses.fields(kind)}
    lost = sorted(set(values) - known - NEWER)
    if lost:
        raise DiscoverError(
            f"the installed TRL has no {', '.join(lost)}; install a version that the extra [train] allows"
        )
    return kind(**{name: value for name, value in values.items() if name in known})


def _picked(recipe: StageRecipe, names: Mapping[str, str]) -> dict[str, Any]:
    return {theirs: getattr(recipe, ours) for ours, theirs in names.items()}


def _held_out(recipe: SupervisedRecipe, held_out: bool) -> dict[str, Any]:
    if not held_out or not recipe.eval_steps:
        return {"eval_strategy": "no"}
    return {
        "eval_strategy": "steps",
        "eval_steps": recipe.eval_steps,
        "eval_on_start": False,
        "per_device_eval_batch_size": recipe.per_device,
    }
