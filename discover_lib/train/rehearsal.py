"""A rehearsal: every stage of a recipe on a CPU, with the chosen model's architecture and tokenizer at toy size.

Weights are random and nothing is learnt: what is found out is whether rows, template, masks, trainers, checkpoints and
adapters fit together, before a GPU is paid for.  Of the model only `config.json` and the tokenizer are needed.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train import Progress
from discover_lib.train.backend import context_of, load_tokenizer
from discover_lib.train.data import Row, domain_of, load_rows
from discover_lib.train.files import METRICS, read_lines
from discover_lib.train.recipes import STAGES, Recipe, Stage
from discover_lib.train.stage import StageSettings, run_stage

TOY = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 16}
LONGEST = 2048  # tokens of a sequence: logits over a whole vocabulary are large
BY_CONSTRUCTION = {
    "sft": "",
    "dpo": " (0.693 is ln 2: the policy is still the reference)",
    "grpo": " (about 0 by construction), rewards by length alone",
}
DOMAIN = "technical_writing"


def rehearse(settings: StageSettings, *, unsloth: bool = False, on_progress: Progress = print) -> float:
    """Run all three stages one after the other, each on the one before; seconds in all.

    Nothing of it is kept, and nobody is paid: the miniature judges.

    Args:
        unsloth: on the trainers that Unsloth writes; then nothing else may be trained in this process.

    Raises:
        DiscoverError: the model's files cannot be had, or what the stage itself would meet, too.
    """
    begun = time.monotonic()
    if unsloth:
        from discover_lib.train.unsloth_on_cpu import rehearse_on_unsloth

        rehearse_on_unsloth()
    with tempfile.TemporaryDirectory() as place:
        folder, adapter = Path(place), ""
        base, run = toy_base(settings.base, folder / "base"), folder / "conversations"
        run.mkdir()
        options = RunOptions(("draft", "adaptive"), domain=DOMAIN, split="train", artifacts=4, candidates=1, turns=2)
        execute(lay_out(options), run)
        for stage in STAGES:
            data = settings.data if stage == settings.stage and _own_rows(settings) else str(run)
            rehearsed = StageSettings(
                stage, data, str(base), adapter, _small(settings.recipe, stage), "auto",
                settings.seed, system=settings.system, thinking=settings.thinking,
            )  # fmt: skip
            result = run_stage(rehearsed, folder / stage, on_progress=lambda line: None)
            took = f"{result.step} updates in {result.seconds:.0f} s"
            on_progress(f"rehearsed {stage}: {took}, {_figures(folder / stage)}")
            adapter = str(folder / stage)
    return time.monotonic() - begun


def _own_rows(settings: StageSettings) -> Sequence[Row]:
    """The rows that were named, if they can be rehearsed on: the miniature must be able to judge them."""
    try:
        rows = load_rows(Path(settings.data), settings.stage, "content", system=settings.system).train
    except DiscoverError:
        return []
    return rows if settings.stage != "grpo" or all(map(domain_of, rows)) else []


def _figures(folder: Path) -> str:
    """Loss and gradient norm from the first update to the last."""
    lines, parts = read_lines(folder / METRICS).lines, []
    for column, name, meant in (("loss", "loss", BY_CONSTRUCTION[folder.name]), ("grad_norm", "gradient norm", "")):
        values = [line[column] for line in lines if line.get(column) is not None]
        first, last = (round(value, 3) + 0.0 for value in (values[0], values[-1]))  # nought has no sign
        parts.append(f"{name} {first:.3f} to {last:.3f}{meant}")
    return ", ".join(parts)


def _small(recipe: Recipe, stage: Stage) -> Recipe:
    """The recipe with two updates of few sequences; what decides how a stage works stays."""
    part = recipe.of(stage)
    changes: dict[str, Any] = {"max_steps": 2, "batch": 2, "per_device": 1, "save_steps": 1, "sample_steps": 2}
    changes |= {"precision": "auto", "load_in_4bit": False, "optimizer": "adamw_torch", "reference": "merged"}
    changes["max_length"] = min(part.max_length, LONGEST)
    if stage == "grpo":
        turns = min(2, recipe.grpo.multi_turn)
        changes |= {"batch": 4, "per_device": 4, "n_generations": 2, "max_completion": 16, "multi_turn": turns}
        changes |= {"tau": 0, "rounds": min(2, recipe.grpo.rounds), "probe_users": 2, "probe_turns": 2}
    else:
        changes |= {"eval_steps": 2, "eval_rows": 2}
    return recipe.replace(**{stage: replace(part, **changes), "lora": replace(recipe.lora, r=4, alpha=8)})


def toy_base(base: str, folder: Path) -> Path:
    """A model with random weights that is built and spoken to as `base` is.

    Raises:
        DiscoverError: its tokenizer or its configuration is neither on this machine nor to be had from the Hub.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    base = str(Path(base).parent) if Path(base).is_file() else base  # its config.json was named
    tokenizer, context = load_tokenizer(base), context_of(base)
    given = AutoConfig.from_pretrained(base).get_text_config()
    shared = (given.num_key_value_heads or given.num_attention_heads) < given.num_attention_heads
    marks = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    sizes = {**TOY, "num_key_value_heads": 2 if shared else 4, "vocab_size": len(tokenizer), "layer_types": None}
    config = given.__class__.from_dict({**given.to_dict(), **sizes, **marks})
    config.max_position_embeddings = max(8192, context or 0)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    # Replies of random weights discover nothing and never end: all rewards would be equal, and no gradient would flow.
    # These end at every eighth word, and `_small` has their length count.
    model.generation_config.eos_token_id = sorted({tokenizer.eos_token_id, *range(7, len(tokenizer), 8)})
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
