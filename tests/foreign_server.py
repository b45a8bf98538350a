"""A server that others wrote: `transformers serve` with a tiny model of random weights, made on the spot.

    python tests/foreign_server.py FOLDER PORT

makes the model in FOLDER, which becomes the working directory, and serves it under the name MODEL.  Nothing is fetched:
the weights are drawn, and the tokenizer knows bytes only.  What the model says is nonsense of about `MEAN_LENGTH`
tokens, drawn by the seed that it is sent.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

MODEL = "tiny-random"
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "
MEAN_LENGTH, LEAST_LENGTH = 32, 8  # tokens of a reply


def make_model(folder: Path) -> None:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator([], trainers.BpeTrainer(special_tokens=["<|end|>"], initial_alphabet=alphabet))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|end|>")
    fast.chat_template = TEMPLATE
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "max_position_embeddings": 65536}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(fast), bos_token_id=None, **sizes, **heads))
    # Random weights give every token about the same chance, so this share of them ends a reply after MEAN_LENGTH.
    ends = list(range(len(fast) // MEAN_LENGTH))
    model.generation_config = GenerationConfig(
        do_sample=True, eos_token_id=ends, pad_token_id=0, min_new_tokens=LEAST_LENGTH
    )
    model.save_pretrained(folder)
    fast.save_pretrained(folder)


def main() -> None:
    folder, port = Path(sys.argv[1]), sys.argv[2]
    os.environ["HF_HUB_OFFLINE"] = "1"  # before anything of Hugging Face is imported
    os.chdir(folder)
    import torch

    torch.set_num_threads(1)
    make_model(Path(MODEL))
    from transformers.cli.transformers import main as transformers

    sys.argv = ["transformers", "serve", MODEL, "--host", "127.0.0.1", "--port", port, "--device", "cpu"]
    transformers()


if __name__ == "__main__":
    main()
