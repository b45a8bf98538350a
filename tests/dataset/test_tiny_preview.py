"""The preview of what the tiny model learns from: word for word its tokenizer's own text and mask."""

from pathlib import Path
from typing import Any

import pytest

from discover_lib.core.rollout import run_conversation
from discover_lib.dataset.preview import Piece, tiny_sequences
from discover_lib.dataset.rows import Origin, RowOptions, examples
from discover_lib.engines.local.tiny_language import encode_messages, save_tokenizer, vocabulary
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import scripted_assistant

DOMAIN = "svg_drawing"


def rows(kind: Any) -> list[dict[str, Any]]:
    world = engine(DOMAIN)
    tree = world.builder.build(generate_artifact(DOMAIN, "train", 3)).tree
    assistants = [scripted_assistant(name, DOMAIN) for name in ("draft", "adaptive")]
    talk = run_conversation(tree, world.judge, world.voice, assistants, seed=3, turns=3)
    made = examples(kind, [talk], Origin("test"), RowOptions(text="notation", grpo_tau=None))
    return [dict(each.train) for each in made if each.train]


def text(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def test_only_what_the_assistant_wrote_carries_loss() -> None:
    (conversation,) = tiny_sequences(rows("sft")[0], DOMAIN).values()
    assert {piece.kind for piece in conversation if piece.loss} == {"assistant", "template"}
    assert [piece.text for piece in conversation if piece.kind == "template" and piece.loss] == [" <e>"] * 3
    assert all(not piece.loss for piece in conversation if piece.kind in ("user", "system"))


def test_a_pair_shares_its_prompt_and_a_prompt_teaches_nothing() -> None:
    pair = tiny_sequences(rows("preference")[0], DOMAIN)
    before = [[piece for piece in pieces if not piece.loss] for pieces in pair.values()]
    assert before[0] == before[1] and text(pair["chosen"]) != text(pair["rejected"])
    (prompt,) = tiny_sequences(rows("prompt")[-1], DOMAIN).values()
    assert not any(piece.loss for piece in prompt) and text(prompt).endswith("<a> ")


@pytest.mark.slow
def test_it_is_the_tokenizers_own_text_and_mask(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
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
