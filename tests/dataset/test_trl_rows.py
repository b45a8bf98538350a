"""Our rows by TRL's own measure: its checks, its prompt extraction and its templates, with a byte-level tokenizer."""

from pathlib import Path

import pytest
from chat_models import FAMILIES, make_tokenizer
from training import make_talks

from discover_lib.base.tokens import token_count
from discover_lib.dataset.export import RowSet, Source, make_rows
from discover_lib.dataset.rows import Origin, RowOptions

pytestmark = pytest.mark.slow

SYSTEM = "Be brief."
TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role == 'assistant' %}<|assistant|>{% generation %}{{ message.content }}<|end|>{% endgeneration %}"
    "{% else %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture(scope="module")
def row_sets() -> dict[str, RowSet]:
    sources = [Source(Origin("r", "miniature", "miniature"), make_talks("creative_writing", 4))]
    options = RowOptions(text="notation", system=SYSTEM)
    return {kind: make_rows(kind, sources, options) for kind in ("sft", "preference", "prompt")}


@pytest.fixture(scope="module")
def tokenizer():
    made = make_tokenizer(FAMILIES["smollm2"], ["some words to learn letters from"] * 9)
    made.chat_template = TEMPLATE
    return made


def rows_of(row_set: RowSet) -> list[dict]:
    return [example.row for example in row_set.sieved.kept]


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


def test_lengths_by_a_base_model_are_of_its_template(row_sets: dict[str, RowSet], tokenizer, tmp_path: Path) -> None:
    tokenizer.save_pretrained(tmp_path)
    count = token_count(str(tmp_path))
    assert count.name == f"tokenizer and chat template of {tmp_path}"
    for row in rows_of(row_sets["sft"]):
        assert count.count(row["messages"]) == len(tokenizer.apply_chat_template(row["messages"])["input_ids"])
    assert "no tokenizer" in token_count("no/such-model").name
    tokenizer_without = token_count(str(tmp_path / "empty"))
    assert tokenizer_without.count([{"role": "user", "content": "two words"}]) == 2
