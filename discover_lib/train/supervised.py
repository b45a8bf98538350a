"""Supervised fine-tuning on whole chosen conversations: loss on the assistant's tokens alone (paper, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from discover_lib.train import arguments
from discover_lib.train.backend import Backend
from discover_lib.train.recipes import SftRecipe


def sft_trainer(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    held_out: Sequence[Mapping[str, Any]],
    recipe: SftRecipe,
    backend: Backend,
    folder: Path,
    seed: int,
) -> SFTTrainer:
    """A trainer of a model that wears its adapter already.

    Args:
        rows, held_out: of `data.trainer_row`: `messages` as the chat template takes them.
        folder: of the run; checkpoints go below it.
    """
    values = arguments.common(recipe, backend, folder, seed) | arguments.sft(recipe, held_out=bool(held_out))
    return SFTTrainer(
        model=model,
        args=arguments.configuration(SFTConfig, values),
        train_dataset=Dataset.from_list([dict(each) for each in rows]),
        eval_dataset=Dataset.from_list([dict(each) for each in held_out]) if held_out else None,
        processing_class=tokenizer,
    )
