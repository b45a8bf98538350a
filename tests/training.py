"""What tests of training share: a tiny model with random weights that speaks the notation, rows, and short recipes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discover_lib.core.conversation import Conversation
from discover_lib.core.rules import Rules
from discover_lib.dataset.export import Source, make_rows, write_rows
from discover_lib.dataset.rows import Origin, RowOptions
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.runs.units import plan_units, run_unit
from discover_lib.train.recipes import Recipe

DOMAIN = "svg_drawing"
FORMATS = {"sft": "sft", "dpo": "preference", "grpo": "prompt"}


def make_base(folder: Path, seed: int = 0) -> Path:
    """A base of random weights with the tiny model's tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from discover_lib.engines.local.tiny_language import save_tokenizer, vocabulary

    words = vocabulary((DOMAIN,))
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(words.words), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=512, tie_word_embeddings=True,
            initializer_range=0.1, bos_token_id=None, eos_token_id=words.ids["<e>"], pad_token_id=words.ids["<pad>"],
        )
    )  # fmt: skip
    model.save_pretrained(folder)
    save_tokenizer(words, folder)
    (folder / "tiny.json").write_text(json.dumps({"domains": [DOMAIN]}))
    return folder


def lines(folder: Path, name: str = "metrics.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def make_talks(domain: str, artifacts: int, turns: int = 3, **options: Any) -> list[Conversation]:
    """Conversations of two scripted assistants, both of them candidates of every turn."""
    builder = engine(domain).builder
    trees = {each.id: (domain, builder.build(each).tree) for each in generate_artifacts(domain, "train", artifacts)}
    asked: dict[str, Any] = {"trials": 1, "rules": Rules.paper(), "seed": 0, "candidates": 1, **options}
    return list(map(run_unit, plan_units(trees, ("draft", "adaptive"), turns=turns, **asked)))


def make_data(folder: Path, artifacts: int = 6, turns: int = 3, domain: str = DOMAIN, **options: Any) -> Path:
    """Rows of all three kinds, from conversations of two scripted assistants; a folder for each stage."""
    sources = [Source(Origin("test"), make_talks(domain, artifacts, turns))]
    for stage, kind in FORMATS.items():
        made = RowOptions(**{"text": "notation", **options})
        write_rows(make_rows(kind, sources, made, test_share=0.5), folder / stage)
    return folder


def short_recipe(**grpo: Any) -> Recipe:
    recipe = Recipe.miniature()
    few: dict[str, Any] = {"max_steps": 2, "batch": 4, "per_device": 2, "eval_steps": 2, "save_steps": 1}
    for stage in ("sft", "dpo"):
        recipe = recipe.changed(stage, {**few, "sample_steps": 2, "lora.r": 4, "lora.alpha": 8})
    few = {"max_steps": 2, "rounds": 2, "batch": 8, "per_device": 4, "n_generations": 4, "max_completion": 16}
    few |= {"probe_users": 3, "probe_turns": 2, "save_steps": 1, "sample_steps": 1}
    return recipe.changed("grpo", {**few, **grpo})


def teach(base: Path, rows: Path, steps: int = 40) -> Path:
    """Train a base on the conversations of SFT rows for a moment, so that some of what it writes can be read."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from discover_lib.engines.local.tiny_language import encode_messages

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, tokenizer = AutoModelForCausalLM.from_pretrained(base), AutoTokenizer.from_pretrained(base)
    lines = (rows / "sft" / "data" / "train.jsonl").read_text().splitlines()
    talks = [encode_messages(json.loads(line)["messages"], DOMAIN) for line in lines]
    batch = tokenizer.apply_chat_template(talks, padding=True, return_tensors="pt", return_dict=True)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        model(**batch, labels=labels).loss.backward()
        optimizer.step()
    model.save_pretrained(base)
    return base
