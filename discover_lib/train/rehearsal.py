"""A dry run: every stage of a recipe on a CPU, with the chosen model's architecture and chat template at toy size.

Weights are random, so the model learns no skill.  The dry run shows whether rows, template, masks, trainers,
checkpoints and adapters fit together, before a GPU is paid for.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discover_lib.engines.spec import MINIATURE
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train import Progress
from discover_lib.train.backend import load_tokenizer
from discover_lib.train.data import Row, domain_of, load_rows
from discover_lib.train.recipes import STAGES, Recipe, Stage
from discover_lib.train.run_stage import StageSettings, run_stage
from discover_lib.train.training_job import METRICS, read_lines

TOY = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 16}
LOGITS = 2**27  # most logits of a sequence: 1,024 tokens of a vocabulary of 128,000 words
CONVERSATIONS = RunOptions(
    ("draft", "adaptive"), domain="technical_writing", split="train", artifacts=8, candidates=1, turns=3
)


def rehearse(settings: StageSettings, *, on_progress: Progress = print) -> float:
    """Run all three stages, each on the one before; returns the seconds.

    The named stage has the chosen rows, unless they are too long, or GRPO's and of no miniature domain.  The other
    stages have conversations of the miniature, which judges without cost.  All files are temporary.

    Raises:
        DiscoverError: an error that the stage itself would have.
    """
    begun = time.monotonic()
    rows = load_rows(Path(settings.data), settings.stage, "content", system=settings.system).train
    own = settings.stage != "grpo" or all(map(domain_of, rows))
    with tempfile.TemporaryDirectory() as place:
        folder, adapter = Path(place), ""
        run = folder / "conversations"
        run.mkdir()
        execute(lay_out(CONVERSATIONS), run)
        base = toy_base(settings.base, folder / "base")
        tokenizer = load_tokenizer(str(base))
        longest = LOGITS // len(tokenizer)
        if own and not _some_fit(rows, tokenizer, min(longest, settings.recipe.of(settings.stage).max_length)):
            on_progress(f"{settings.stage}: your rows are too long for a dry run; the miniature's rows are used")
            own = False
        for stage in STAGES:
            data = settings.data if stage == settings.stage and own else str(run)
            recipe = _small(settings.recipe, stage, longest)
            rehearsed = replace(settings, stage=stage, data=data, base=str(base), adapter=adapter, recipe=recipe,
                                backend="auto", judge=MINIATURE, voice=MINIATURE, options={})  # fmt: skip
            result = run_stage(rehearsed, folder / stage, on_progress=lambda line: None)
            took = f"{result.step} updates in {result.seconds:.0f} s"
            on_progress(f"rehearsed {stage}: {took}, {_figures(folder / stage)}")
            adapter = str(folder / stage)
    return time.monotonic() - begun


def _some_fit(rows: Sequence[Row], tokenizer: Any, longest: int) -> bool:
    """Whether at least two rows have at most half of the tokens; the rest is for the marks of the template."""
    parts = ("messages", "prompt", "chosen")
    texts = (" ".join(each["content"] for part in parts for each in row.get(part, ())) for row in rows)
    return sum(len(tokenizer(text)["input_ids"]) < longest // 2 for text in texts) >= 2


def _figures(folder: Path) -> str:
    """Loss and gradient norm from the first update to the last."""
    lines = read_lines(folder / METRICS)
    parts = []
    for column, name in (("loss", "loss"), ("grad_norm", "gradient norm")):
        if values := [line[column] for line in lines if line.get(column) is not None]:
            first, last = (round(value, 3) + 0.0 for value in (values[0], values[-1]))  # zero has no sign
            parts.append(f"{name} {first:.3f} to {last:.3f}")
    return ", ".join(parts)


def _small(recipe: Recipe, stage: Stage, longest: int) -> Recipe:
    """The recipe with two updates of few sequences, and otherwise unchanged."""
    part, grpo = recipe.of(stage), recipe.grpo
    changes: dict[str, Any] = {"max_steps": 2, "batch": 2, "per_device": 1, "save_steps": 1, "sample_steps": 2}
    changes |= {"precision": "auto", "load_in_4bit": False, "optimizer": "adamw_torch"}
    changes["max_length"] = min(part.max_length, longest)
    if stage == "grpo":
        changes |= {"batch": 4, "per_device": 4, "n_generations": 2, "max_completion": 16, "tau": 0, "probe_users": 2}
        changes |= {"multi_turn": min(2, grpo.multi_turn), "rounds": min(2, grpo.rounds), "probe_turns": 2}
    else:
        changes |= {"eval_steps": 2, "eval_rows": 2}
    return recipe.replace(**{stage: replace(part, **changes), "lora": replace(recipe.lora, r=4, alpha=8)})


def toy_base(base: str, folder: Path) -> Path:
    """A model with random weights, and the architecture, tokenizer and chat template of `base`.

    Raises:
        DiscoverError: its tokenizer cannot be loaded, or has no chat template.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    tokenizer, given = load_tokenizer(base), AutoConfig.from_pretrained(base).get_text_config()
    shared = (given.num_key_value_heads or given.num_attention_heads) < given.num_attention_heads
    config = given.__class__.from_dict(
        given.to_dict()
        | TOY
        | {
            "num_key_value_heads": 2 if shared else 4,
            "vocab_size": len(tokenizer),
            "layer_types": None,
            **{f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")},
        }
    )
    config.max_position_embeddings = max(8192, config.max_position_embeddings or 0)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    # Replies of random weights discover no intents and never end, so all rewards would be equal without a gradient.
    # These replies end at every eighth word, and `_small` rewards shorter ones.
    model.generation_config.eos_token_id = sorted({tokenizer.eos_token_id, *range(7, len(tokenizer), 8)})
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
