"""Models of toy size with the chat templates of real families: architecture and template are theirs, weights random."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SMOLLM2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}"
    "{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
CHATML = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")
HEADERS = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|pad|>")


@dataclass(frozen=True)
class Family:
    """A family of chat models.

    Attributes:
        template: a file of TRL's `chat_templates`, or the text itself.
        edit: appended to the template, as a re-upload may have it.
        ends: marks of which the model's own settings say that each ends a reply; the tokenizer names the first.
    """

    architecture: str
    template: str
    marks: tuple[str, ...]
    ends: tuple[str, ...]
    pad: str | None
    bos: str | None = None
    edit: str = ""

    @property
    def chat_template(self) -> str:
        if "{" in self.template:
            return self.template + self.edit
        import trl

        folder = Path(trl.__file__).with_name("chat_templates")
        return (folder / f"{self.template}.jinja").read_text(encoding="utf-8") + self.edit


QWEN3 = Family("Qwen3", "qwen3", CHATML, ("<|im_end|>", "<|endoftext|>"), "<|endoftext|>")
LLAMA = ("<|eot_id|>", "<|eom_id|>")
GEMMA = ("<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>")
FAMILIES = {
    "llama3": Family("Llama", "llama3", HEADERS, LLAMA, None, "<|begin_of_text|>"),
    "llama3.1": Family("Llama", "llama3_1", HEADERS, LLAMA, None, "<|begin_of_text|>"),
    "qwen2.5": Family("Qwen2", "qwen2_5", CHATML, ("<|im_end|>", "<|endoftext|>"), "<|endoftext|>"),
    "qwen3": QWEN3,
    "qwen3, re-uploaded": Family("Qwen3", "qwen3", CHATML, QWEN3.ends, QWEN3.pad, edit="{# uploaded again #}"),
    "smollm2": Family("Llama", SMOLLM2, CHATML, ("<|im_end|>",), "<|im_end|>", "<|im_start|>"),
    "gemma": Family("Gemma", "gemma", GEMMA, ("<eos>", "<end_of_turn>"), "<pad>", "<bos>"),
}


def make_tokenizer(family: Family, texts: Sequence[str], size: int = 1200) -> Any:
    """A tokenizer learnt from texts, with the family's marks and template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    learnt = Tokenizer(models.BPE())
    learnt.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    learnt.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    special = [each for each in family.marks if "think" not in each]  # thoughts are ordinary text, as in Qwen3's own
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=letters, show_progress=False
    )
    learnt.train_from_iterator(texts, trainer)
    learnt.add_tokens([each for each in family.marks if "think" in each])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=learnt, bos_token=family.bos, eos_token=family.ends[0], pad_token=family.pad
    )
    tokenizer.chat_template = family.chat_template
    return tokenizer


def make_chat_model(family: Family, folder: Path, texts: Sequence[str], *, context: int = 4096) -> Path:
    """A model of the family's architecture with random weights, and its tokenizer."""
    import torch
    import transformers

    tokenizer = make_tokenizer(family, texts)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = getattr(transformers, f"{family.architecture}Config")(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, max_position_embeddings=context, tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.convert_tokens_to_ids(family.ends[0]),
        pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    model = getattr(transformers, f"{family.architecture}ForCausalLM")(config)
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids(list(family.ends))
    model.save_pretrained(folder)
    return folder


def make_model_of_run(run: Path, folder: Path) -> Path:
    """A Qwen3 of toy size whose tokenizer is learnt from a run's conversations."""
    from discover_lib.train.data import load_rows

    rows = load_rows(run, "sft", "content").train
    return make_chat_model(FAMILIES["qwen3"], folder, [each["content"] for row in rows for each in row["messages"]])


if __name__ == "__main__":  # of `make rehearse-gpu-versions`
    make_model_of_run(Path(sys.argv[1]), Path(sys.argv[2]))
