"""Our rows by TRL's own measure: its checks, its prompt extraction, its templates, and its trainers' preparation.

A byte-level tokenizer and a model of a few thousand random weights stand in for real ones; nothing is downloaded.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from discover_lib.base.tokens import token_count
from discover_lib.core.rules import Rules
from discover_lib.dataset.export import RowSet, Source, make_rows
from discover_lib.dataset.rows import Origin, RowOptions, restore
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.runs.units import plan_units, run_units

pytestmark = pytest.mark.slow

DOMAIN = "creative_writing"
SYSTEM = "Be brief."
TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role == 'assistant' %}<|assistant|>{% generation %}{{ message.content }}<|end|>{% endgeneration %}"
    "{% else %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    import datasets
    import torch

    datasets.disable_progress_bars()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def row_sets() -> dict[str, RowSet]:
    builder = engine(DOMAIN).builder
    trees = {each.id: (DOMAIN, builder.build(each).tree) for each in generate_artifacts(DOMAIN, "train", 4)}
    units = plan_units(trees, ["draft", "adaptive"], trials=1, turns=3, rules=Rules.paper(), seed=0, candidates=1)
    sources = [Source(Origin("r", "miniature", "miniature"), list(run_units(units)))]
    options = RowOptions(text="notation", system=SYSTEM)
    return {kind: make_rows(kind, sources, options) for kind in ("sft", "preference", "prompt")}


@pytest.fixture(scope="module")
def tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<|end|>", "<|user|>", "<|assistant|>", "<|system|>", "<|pad|>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={text: place for place, text in enumerate(special + alphabet)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token="<|end|>",
        pad_token="<|pad|>",
        additional_special_tokens=special,
        padding_side="left",
    )
    made.chat_template = TEMPLATE
    return made


@pytest.fixture
def model(tokenizer):
    from transformers import Qwen3Config, Qwen3ForCausalLM

    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            head_dim=8,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def rows_of(row_set: RowSet) -> list[dict]:
    return [example.row for example in row_set.sieved.kept]


def settings(folder: Path) -> dict:
    return {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
        "max_steps": 1,
    }


def test_every_row_is_conversational(row_sets: dict[str, RowSet]) -> None:
    from trl import is_conversational

    for kind, row_set in row_sets.items():
        assert all(is_conversational(row) for row in rows_of(row_set)), kind


def test_the_prompt_that_trl_finds_is_ours(row_sets: dict[str, RowSet]) -> None:
    from trl import maybe_extract_prompt

    rows = rows_of(row_sets["preference"])
    for row in rows:
        whole = {side: row["prompt"] + row[side] for side in ("chosen", "rejected")}
        found = maybe_extract_prompt(whole)
        assert {name: found[name] for name in ("prompt", "chosen", "rejected")} == {
            name: row[name] for name in ("prompt", "chosen", "rejected")
        }
        assert maybe_extract_prompt(dict(row)) == row
    assert len(rows) > 5


def test_trl_templates_every_row_with_the_prompt_as_a_prefix(row_sets: dict[str, RowSet], tokenizer) -> None:
    from trl import apply_chat_template

    for row in rows_of(row_sets["preference"]):
        text = apply_chat_template(row, tokenizer)
        assert text["prompt"].startswith(f"<|system|>{SYSTEM}<|end|><|user|>")
        assert text["prompt"].endswith("<|assistant|>")
        assert text["chosen"] == row["chosen"][0]["content"] + "<|end|>"
        assert text["rejected"] == row["rejected"][0]["content"] + "<|end|>"
    for row in rows_of(row_sets["prompt"]):
        assert apply_chat_template(row, tokenizer)["prompt"].endswith("<|end|><|assistant|>")
    for row in rows_of(row_sets["sft"]):
        assert apply_chat_template(row, tokenizer)["text"].count("<|assistant|>") == row["turns"]


def test_lengths_counted_by_a_base_model_are_those_of_its_template(
    row_sets: dict[str, RowSet], tokenizer, tmp_path: Path
) -> None:
    tokenizer.save_pretrained(tmp_path)
    count = token_count(str(tmp_path))
    assert count.name == f"tokenizer and chat template of {tmp_path}"
    for row in rows_of(row_sets["sft"]):
        assert count.count(row["messages"]) == len(tokenizer.apply_chat_template(row["messages"])["input_ids"])
    assert "no tokenizer" in token_count("no/such-model").name
    tokenizer_without = token_count(str(tmp_path / "empty"))
    assert tokenizer_without.count([{"role": "user", "content": "two words"}]) == 2


def test_the_sft_trainer_puts_the_loss_on_assistant_turns_alone(
    row_sets: dict[str, RowSet], tokenizer, model, tmp_path: Path
) -> None:
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    rows = rows_of(row_sets["sft"])
    arguments = SFTConfig(**settings(tmp_path), assistant_only_loss=True, max_length=None)
    trainer = SFTTrainer(model, arguments, train_dataset=Dataset.from_list(rows), processing_class=tokenizer)
    assert len(trainer.train_dataset) == len(rows)
    for row, seen in zip(rows, trainer.train_dataset, strict=True):
        learned = [token for token in seen["labels"] if token != -100]
        said = [each["content"] for each in row["messages"] if each["role"] == "assistant"]
        assert tokenizer.decode(learned) == "".join(f"{text}<|end|>" for text in said)
        assert tokenizer.decode(seen["input_ids"]) == tokenizer.apply_chat_template(row["messages"], tokenize=False)


def test_the_dpo_trainer_takes_every_pair_as_it_is(
    row_sets: dict[str, RowSet], tokenizer, model, tmp_path: Path
) -> None:
    from datasets import Dataset
    from peft import LoraConfig
    from trl import DPOConfig, DPOTrainer

    rows = rows_of(row_sets["preference"])
    arguments = DPOConfig(**settings(tmp_path), max_length=None, per_device_train_batch_size=2)
    adapter = LoraConfig(r=2, target_modules="all-linear")  # the reference is then the model without it
    trainer = DPOTrainer(
        model, args=arguments, train_dataset=Dataset.from_list(rows), processing_class=tokenizer, peft_config=adapter
    )
    assert len(trainer.train_dataset) == len(rows)
    for row, seen in zip(rows, trainer.train_dataset, strict=True):
        assert tokenizer.decode(seen["prompt_ids"]) == tokenizer.apply_chat_template(
            row["prompt"], tokenize=False, add_generation_prompt=True
        )
        for side in ("chosen", "rejected"):
            assert tokenizer.decode(seen[f"{side}_ids"]) == row[side][0]["content"] + "<|end|>"
    trainer.train()


def test_the_grpo_trainer_hands_every_reward_its_own_user(
    row_sets: dict[str, RowSet], tokenizer, model, tmp_path: Path
) -> None:
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    rows = rows_of(row_sets["prompt"])
    user = engine(DOMAIN)
    met = []

    def reward_of(prompts: list, completions: list, state: list[str], turn: list[int], **_: object) -> list[float]:
        worth = []
        for prompt, completion, text, index in zip(prompts, completions, state, turn, strict=True):
            restored = restore(text, user.judge, user.voice)
            said = [message.notation or message.content for message in restored.messages]
            assert [each["content"] for each in prompt] == [SYSTEM, *said]
            assert len(restored.conversation.turns) == index - 1
            met.append(json.loads(text)["setting"]["artifact"])
            worth.append(restored.consider(completion[0]["content"]).reward.total)
        return worth

    arguments = GRPOConfig(
        **settings(tmp_path), per_device_train_batch_size=4, num_generations=2, max_completion_length=4, beta=0.0
    )
    trainer = GRPOTrainer(
        model, reward_of, args=arguments, train_dataset=Dataset.from_list(rows), processing_class=tokenizer
    )
    trainer.train()
    assert len(met) == 4 and len(trainer.train_dataset) == len(rows)
