"""Supervised fine-tuning on whole chosen conversations, and direct preference optimisation on pairs (paper, 4.1).

In SFT only the assistant's tokens carry loss; in DPO both replies to a prompt do, against a reference policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import Trainer
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from discover_lib.train import arguments
from discover_lib.train.backend import Backend
from discover_lib.train.recipes import DpoRecipe, StageRecipe, SupervisedRecipe

REFERENCE_COPY = "ref"  # TRL's name for its frozen copy of a given adapter


class _Tokenised(Trainer):
    """Takes rows of tokens unchanged, and counts the trained tokens.

    Unsloth's version of the SFT trainer omits TRL's count.
    """

    _n_tokens = 0

    def _prepare_dataset(self, dataset: Dataset, *_: Any, **__: Any) -> Dataset:
        return dataset

    def training_step(self, model: Any, inputs: Any, *arguments: Any, **named: Any) -> Any:
        self._n_tokens += int(inputs["attention_mask"].sum())
        return super().training_step(model, inputs, *arguments, **named)

    def log(self, logs: dict[str, float], *arguments: Any, **named: Any) -> None:
        if "loss" in logs:
            logs["num_tokens"] = self._n_tokens
        super().log(logs, *arguments, **named)


class TokenisedSftTrainer(_Tokenised, SFTTrainer):
    """TRL's SFT trainer on ready tokens."""


class PartedDpoTrainer(_Tokenised, DPOTrainer):
    """Logs the preference loss and the added likelihood term separately: `loss/dpo` and `loss/sft`.

    With a fresh adapter on a merged stage, the first `loss/dpo` of the sigmoid loss is ln 2.
    """

    def __init__(self, *arguments: Any, sft_weight: float = 0.0, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._sft_weight = sft_weight

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        result = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        loss = float((result[0] if return_outputs else result).detach())
        metrics = self._metrics["train" if self.model.training else "eval"]
        likelihood = 0.0
        if self._sft_weight:
            # The likelihood term is the mean over the batch's chosen tokens; the trainer logs the mean per reply.
            chosen, _ = inputs["completion_mask"][..., 1:].chunk(2, dim=0)
            likelihood = -metrics["logps/chosen"][-1] * len(chosen) / float(chosen.sum())
            metrics["loss/sft"].append(likelihood)
        metrics["loss/dpo"].append(loss - self._sft_weight * likelihood)
        return result


def supervised_trainer(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    held_out: Sequence[Mapping[str, Any]],
    recipe: SupervisedRecipe,
    backend: Backend,
    folder: Path,
    seed: int,
) -> SFTTrainer | DPOTrainer:
    """The trainer of a recipe's stage, for a model that has its adapter.

    Args:
        rows, held_out: tokens from `data.trainer_row`.
        folder: of the run.
    """
    kind, options, more = TokenisedSftTrainer, SFTConfig, {}
    values = arguments.common(recipe, backend, folder, seed)
    if isinstance(recipe, DpoRecipe):
        kind, options, more = PartedDpoTrainer, DPOConfig, {"sft_weight": recipe.sft_weight}
        values |= arguments.dpo(recipe, held_out=bool(held_out))
    else:
        values |= arguments.sft(recipe, held_out=bool(held_out))
    trainer = kind(
        model=model,
        args=arguments.configuration(options, values),
        train_dataset=_dataset(rows),
        eval_dataset=_dataset(held_out) if held_out else None,
        processing_class=tokenizer,
        **more,
    )
    settle_reference(trainer.model, recipe)
    return trainer


def settle_reference(model: Any, recipe: StageRecipe) -> None:
    """Keep the recipe's reference policy only.

    "merged": the model without its adapter is the earlier stage.  TRL's copy of the fresh adapter equals it and doubles
    the memory, so it is removed.  "continue": the copy is the reference and stays.
    """
    if recipe.reference == "merged" and REFERENCE_COPY in model.peft_config:
        model.delete_adapter(REFERENCE_COPY)


def _dataset(rows: Sequence[Mapping[str, Any]]) -> Dataset:
    return Dataset.from_list([dict(row) for row in rows])
