"""The trainers of SFT and DPO, and the log that the trainer of every stage writes (paper, section 4.1).

In SFT only the assistant's tokens carry loss; in DPO both replies to a prompt do, against a reference policy.
"""

from __future__ import annotations

import json
import math
import resource
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import Trainer, TrainerCallback
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from discover_lib.base.files import whole_folder
from discover_lib.engines.local.lineage import STEPS
from discover_lib.train import Progress
from discover_lib.train.backend import Backend, common_arguments, configuration, dpo_arguments, sft_arguments
from discover_lib.train.recipes import DpoRecipe, SupervisedRecipe
from discover_lib.train.training_job import METRICS, SAMPLES, STOP, go_back, read_lines

REFERENCE_COPY = "ref"  # TRL's name for its frozen copy of a given adapter


class _Tokenised(Trainer):
    """Takes rows of tokens unchanged."""

    def _prepare_dataset(self, dataset: Dataset, *_: Any, **__: Any) -> Dataset:
        return dataset


class TokenisedSftTrainer(_Tokenised, SFTTrainer):
    """TRL's SFT trainer on ready tokens."""


class TokenisedDpoTrainer(_Tokenised, DPOTrainer):
    """TRL's DPO trainer on ready tokens."""


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
    values = common_arguments(recipe, backend, folder, seed)
    if isinstance(recipe, DpoRecipe):
        kind, options = TokenisedDpoTrainer, DPOConfig
        values |= dpo_arguments(recipe, held_out=bool(held_out))
    else:
        kind, options = TokenisedSftTrainer, SFTConfig
        values |= sft_arguments(recipe, held_out=bool(held_out))
    trainer = kind(
        model=model,
        args=configuration(options, values),
        train_dataset=Dataset.from_list([dict(row) for row in rows]),
        eval_dataset=Dataset.from_list([dict(row) for row in held_out]) if held_out else None,
        processing_class=tokenizer,
    )
    settle_reference(trainer.model)
    return trainer


def settle_reference(model: Any) -> None:
    """Remove TRL's copy of the fresh adapter, which doubles the memory.

    The reference policy is the model without its adapter, which is the earlier stage.
    """
    if REFERENCE_COPY in model.peft_config:
        model.delete_adapter(REFERENCE_COPY)


# -- the log -----------------------------------------------------------------------------------------------------------

SUMMARY = "train_runtime"  # marks the trainer's closing log, which is not a step
SMALL_ADAPTER = 20_000_000  # bytes; a run keeps the adapters of all checkpoints up to this size

Samples = Callable[[], Sequence[Mapping[str, Any]]]


class Recorder(TrainerCallback):
    """Appends a line per logged step, writes samples, keeps small adapters, and stops the run on request.

    A file `STOP` in the folder ends the run after the current step, with a checkpoint.

    Args:
        folder: of the run.
        samples: returns the model's current samples, each with prompt and replies.
        sample_steps: updates between samples; 0 for none.
        on_progress: receives lines of text.
    """

    def __init__(self, folder: Path, samples: Samples, *, sample_steps: int = 0, on_progress: Progress = print) -> None:
        self.folder = folder
        self.stopped = False
        self._samples, self._sample_steps, self._on_progress = samples, sample_steps, on_progress
        self._begun = time.monotonic()
        logged = read_lines(folder / METRICS)
        self._before = next((float(line["seconds"]) for line in reversed(logged) if "seconds" in line), 0.0)
        self._first_step = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._begun = time.monotonic()
        self._first_step = state.global_step
        go_back(self.folder, state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if logs is not None and SUMMARY not in logs and state.is_world_process_zero:
            self.write(state, logs)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Keep the adapter of a checkpoint, whose folder goes when newer ones come."""
        checkpoint, kept = Path(args.output_dir) / f"checkpoint-{state.global_step}", self.folder / STEPS
        files = [checkpoint / "adapter_config.json", checkpoint / "adapter_model.safetensors"]
        if all(file.is_file() for file in files) and files[1].stat().st_size <= SMALL_ADAPTER:
            with whole_folder(kept / f"step-{state.global_step}") as target:
                for file in files:
                    shutil.copy(file, target)

    def has_round(self, number: int) -> bool:
        """Whether the measurements after a round are logged."""
        return any(line.get("round") == number for line in read_lines(self.folder / METRICS))

    def write(self, state: Any, logs: Mapping[str, Any]) -> None:
        """Append one line."""
        line = {"step": state.global_step, "total_steps": state.max_steps, **_plain(logs), **self._running(state)}
        if line.get("simulator/seconds") is not None and line.get("step_time"):
            line["simulator/share"] = line["simulator/seconds"] / line["step_time"]
        _append(self.folder / METRICS, line)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._sample_steps and state.global_step % self._sample_steps == 0:
            for sample in self._samples():
                _append(self.folder / SAMPLES, {"step": state.global_step, **sample})
        if (self.folder / STOP).exists():
            self.stopped = state.global_step < state.max_steps
            control.should_save = control.should_training_stop = True
            self._on_progress(
                f"stopping as asked after step {state.global_step} of {state.max_steps}, checkpoint first"
            )

    @property
    def seconds(self) -> float:
        """Since the first start, without the time between attempts."""
        return self._before + time.monotonic() - self._begun

    def _running(self, state: Any) -> dict[str, Any]:
        """Seconds since the first start, memory in MB, and seconds left."""
        done = state.global_step - self._first_step
        row = {"seconds": round(self.seconds, 3), "memory_mb": round(peak_memory_mb(), 1)}
        if done > 0:
            row["eta_seconds"] = round(
                (time.monotonic() - self._begun) / done * (state.max_steps - state.global_step), 1
            )
        return row


def peak_memory_mb() -> float:
    """Peak memory of this process: of the CUDA device if there is one, else resident."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 1e6
    unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def _plain(logs: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers for JSON; a number that is not finite becomes null."""
    return {
        name: value if math.isfinite(value) else None for name, value in logs.items() if isinstance(value, int | float)
    }


def _append(path: Path, line: Mapping[str, Any]) -> None:
    with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
