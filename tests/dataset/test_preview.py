"""The preview of what a trainer gets, and our rows by TRL's own measure: exact texts and boundaries of the loss."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from chat_models import FAMILIES, make_tokenizer
from training import make_talks

from discover_lib.core.rollout import run_conversation
from discover_lib.dataset.export import RowSet, Source, make_rows
from discover_lib.dataset.preview import QWEN, Piece, tiny_sequences
from discover_lib.dataset.rows import Origin, RowOptions, examples, token_count
from discover_lib.engines.local.tiny_language import encode_messages, save_tokenizer, vocabulary
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant

DOMAIN = "svg_drawing"
TALK = [
    {"role": "user", "content": "draw a boat"}, {"role": "assistant", "content": "  <svg>…</svg>\nLike this? "},
    {"role": "user", "content": "bluer"}, {"role": "assistant", "content": "Done."},
]  # fmt: skip
SYSTEM = {"role": "system", "content": "Explore first."}


def text(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def learnt(pieces: list[Piece]) -> list[str]:
    stretches: list[str] = []
    before = False
    for piece in pieces:
        if piece.loss:
            stretches = [*stretches[:-1], stretches[-1] + piece.text] if before else [*stretches, piece.text]
        before = piece.loss
    return stretches


@pytest.mark.slow
@pytest.mark.parametrize("messages", [TALK, [SYSTEM, *TALK], TALK[:2]], ids=["plain", "system", "short"])
def test_texts_and_loss_are_those_of_the_trainer(messages: list[dict[str, str]]) -> None:
    from transformers.utils.chat_template_utils import render_jinja_template as render

    template = (files("trl") / "chat_templates" / "qwen2_5_training.jinja").read_text(encoding="utf-8")
    given = {"chat_template": template}
    (whole,), (spans,) = render([messages], return_assistant_tokens_mask=True, **given)
    ours = QWEN.pieces(messages, loss=True)
    assert text(ours) == whole
    assert learnt(ours) == [whole[begin:end] for begin, end in spans]
    (prompt,), _ = render([messages[:-1]], add_generation_prompt=True, **given)
    row = {"prompt": messages[:-1], "chosen": messages[-1:], "rejected": TALK[-1:]}
    pair = QWEN.sequences(row)
    assert text(QWEN.sequences({"prompt": messages[:-1]})["prompt"]) == prompt
    assert text(pair["chosen"]) == whole
    assert learnt(pair["chosen"]) == [whole.removeprefix(prompt)]


def rows(kind: Any) -> list[dict[str, Any]]:
    world = engine(DOMAIN)
    tree = world.builder.build(generate_artifact(DOMAIN, "train", 3)).tree
    assistants = [scripted_assistant(name, DOMAIN) for name in ("draft", "adaptive")]
    talk = run_conversation(tree, world.judge, world.voice, assistants, seed=3, turns=3)
    made = examples(kind, [talk], Origin("test"), RowOptions(text="notation", grpo_tau=None))
    return [dict(each.train) for each in made if each.train]


def test_a_pair_shares_its_prompt_and_a_prompt_teaches_nothing() -> None:
    pair = tiny_sequences(rows("preference")[0], DOMAIN)
    before = [[piece for piece in pieces if not piece.loss] for pieces in pair.values()]
    assert before[0] == before[1] and text(pair["chosen"]) != text(pair["rejected"])
    (prompt,) = tiny_sequences(rows("prompt")[-1], DOMAIN).values()
    assert not any(piece.loss for piece in prompt) and text(prompt).endswith("<a> ")


@pytest.mark.slow
def test_it_is_the_tokenizers_own_text_and_mask(tmp_path: Path) -> None:
    import transformers

    save_tokenizer(vocabulary((DOMAIN,)), tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for row in rows("sft"):
        (pieces,) = tiny_sequences(row, DOMAIN).values()
        wire = encode_messages(row["messages"], DOMAIN)
        made = tokenizer.apply_chat_template(wire, tokenize=True, return_dict=True, return_assistant_tokens_mask=True)
        assert text(pieces) == tokenizer.apply_chat_template(wire, tokenize=False)
        words = [(word, int(piece.loss)) for piece in pieces for word in piece.text.split()]
        assert [word for word, _ in words] == tokenizer.convert_ids_to_tokens(made["input_ids"])
        assert [loss for _, loss in words] == made["assistant_masks"]


BRIEF = "Be brief."
TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role == 'assistant' %}<|assistant|>{% generation %}{{ message.content }}<|end|>{% endgeneration %}"
    "{% else %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture(scope="module")
def row_sets() -> dict[str, RowSet]:
    sources = [Source(Origin("r", "miniature", "miniature"), make_talks("creative_writing", 4))]
    options = RowOptions(text="notation", system=BRIEF)
    return {kind: make_rows(kind, sources, options) for kind in ("sft", "preference", "prompt")}


@pytest.fixture(scope="module")
def tokenizer():
    made = make_tokenizer(FAMILIES["smollm2"], ["some words to learn letters from"] * 9)
    made.chat_template = TEMPLATE
    return made


def rows_of(row_set: RowSet) -> list[dict]:
    return [example.row for example in row_set.sieved.kept]


@pytest.mark.slow
def test_trl_templates_every_row_with_the_prompt_as_a_prefix(row_sets: dict[str, RowSet], tokenizer) -> None:
    from trl import apply_chat_template

    for row in rows_of(row_sets["preference"]):
        text = apply_chat_template(row, tokenizer)
        assert text["prompt"].startswith(f"<|system|>{BRIEF}<|end|><|user|>")
        assert text["prompt"].endswith("<|assistant|>")
        assert text["chosen"] == row["chosen"][0]["content"] + "<|end|>"
        assert text["rejected"] == row["rejected"][0]["content"] + "<|end|>"
    for row in rows_of(row_sets["prompt"]):
        assert apply_chat_template(row, tokenizer)["prompt"].endswith("<|end|><|assistant|>")
    for row in rows_of(row_sets["sft"]):
        assert apply_chat_template(row, tokenizer)["text"].count("<|assistant|>") == row["turns"]


@pytest.mark.slow
def test_lengths_by_a_base_model_are_of_its_template(row_sets: dict[str, RowSet], tokenizer, tmp_path: Path) -> None:
    tokenizer.save_pretrained(tmp_path)
    count = token_count(str(tmp_path))
    assert count.name == f"tokenizer and chat template of {tmp_path}"
    for row in rows_of(row_sets["sft"]):
        assert count.count(row["messages"]) == len(tokenizer.apply_chat_template(row["messages"])["input_ids"])
    assert "no tokenizer" in token_count("no/such-model").name
    tokenizer_without = token_count(str(tmp_path / "empty"))
    assert tokenizer_without.count([{"role": "user", "content": "two words"}]) == 2
