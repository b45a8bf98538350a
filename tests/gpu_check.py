"""Do all three trainers work on this machine's GPU, how fast, and is Unsloth faster?  Run by hand, not by pytest.

    .venv/bin/python tests/gpu_check.py                       # 0.6B and 8B widths, every installed backend
    .venv/bin/python tests/gpu_check.py --widths 8B --full    # all 36 layers of an 8B model
    .venv/bin/python tests/gpu_check.py --cpu                 # tries the script itself, on a shape that means nothing

Nothing is downloaded: models have the shape of Qwen3 and random weights, the tokenizer is learnt from the rows, and the
rows are conversations of scripted assistants.  Every run is a process of its own, because a backend must be imported
first and memory is counted per process.  Where there is no CUDA device, it says so and exits with 1.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from chat_models import FAMILIES, make_tokenizer
from training import make_data

from discover_lib.dataset.export import read_rows

DOMAIN = "technical_writing"
ARTIFACTS, TURNS = 24, 3
STEPS = 6
WARM = 2  # updates left out of the speed: kernels are compiled and caches filled in them
LENGTH, COMPLETION = 2048, 256
STAGES = ("sft", "dpo", "grpo")
VOCABULARY = 151_936  # Qwen3's: the last layer's share of the work depends on it
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}"
    "{% else %}{{ message['content'] + '<|im_end|>' }}{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SIZES = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "num_hidden_layers",
         "head_dim", "vocab_size")  # fmt: skip
ALL_LAYERS = {"8B": 36}  # of the real model, where fewer are enough to measure
SHAPES = {
    "0.6B": (1024, 3072, 16, 8, 28, 128, VOCABULARY),
    "8B": (4096, 12288, 32, 8, 8, 128, VOCABULARY),
    "smoke": (32, 64, 2, 2, 2, 16, 4096),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", nargs="+", choices=[*SHAPES], default=["0.6B", "8B"])
    parser.add_argument("--full", action="store_true", help="all layers, not only enough to measure")
    parser.add_argument("--cpu", action="store_true", help="try the script itself without a CUDA device")
    asked = parser.parse_args()
    import torch

    if not torch.cuda.is_available() and not asked.cpu:
        print("no CUDA device on this machine: nothing was checked")
        return 1
    widths = ["smoke"] if asked.cpu else asked.widths
    backends = ["transformers"] + (["unsloth"] if importlib.util.find_spec("unsloth") and not asked.cpu else [])
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"{device}; backends: {', '.join(backends)}; {STEPS} updates each, speed over the last {STEPS - WARM}")
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as made:
        return check(Path(made), widths, backends, full=asked.full)


def check(folder: Path, widths: list[str], backends: list[str], *, full: bool) -> int:
    """Every stage at every width on every backend, printed as it comes; 1 if any failed."""
    make_data(folder / "data", ARTIFACTS, TURNS, DOMAIN, text="content")
    failed = 0
    for width in widths:
        base = make_base(folder / f"base-{width}", width, folder / "data", full=full)
        for stage in STAGES:
            plain = each = 0.0  # of the first backend: updates a second, and tokens of an update, which not all log
            for backend in backends:
                try:
                    speed, tokens, memory = measure(folder, width, base, stage, backend)
                except RuntimeError as error:
                    failed = 1
                    print(f"{width:6} {stage:5} {backend:13} FAILED: {error}")
                    continue
                plain, each = plain or speed, each or tokens
                line = f"{width:6} {stage:5} {backend:13} {speed:>10.3f} updates/s {speed * each:>10,.0f} tokens/s"
                line += f" {memory:>10,.0f} MB"
                print(f"{line}   × {speed / plain:.2f}", flush=True)
    return failed


def measure(folder: Path, width: str, base: Path, stage: str, backend: str) -> tuple[float, float, float]:
    """One run in its own process: updates a second after the first ones, tokens of an update, peak memory in MB."""
    few: dict[str, Any] = {"max_steps": STEPS, "save_steps": 1000, "sample_steps": 0, "max_length": LENGTH}
    few |= {"batch": 4, "per_device": 2} if width == "smoke" else {}
    if stage == "grpo":
        few |= {"max_completion": 8 if width == "smoke" else COMPLETION, "probe_users": 0, "per_device": 4}
    else:
        few["eval_steps"] = 0
    run = folder / f"{width}-{stage}-{backend}"
    program = "from workbench.main import main; main()"
    command = [sys.executable, "-c", program, "train", stage, "--recipe", "paper", "--backend", backend]
    command += ["--data", str(folder / "data" / stage), "--base", str(base), "--run", str(run)]
    command += [word for name, value in few.items() for word in ("--set", f"{stage}.{name}={value}")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "no message").splitlines()[-1])
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    begun, ended = ([line for line in lines if line["step"] == step][-1] for step in (WARM, STEPS))
    seconds, tokens = (ended.get(name, 0) - begun.get(name, 0) for name in ("seconds", "num_tokens"))
    memory = json.loads((run / "result.json").read_text())["peak_memory_mb"] or 0
    return (STEPS - WARM) / seconds, tokens / (STEPS - WARM), memory


def make_base(folder: Path, width: str, data: Path, *, full: bool) -> Path:
    """A model of that shape with random weights, and a tokenizer learnt from the rows."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    talks = [row["messages"] for rows in read_rows(data / "sft").values() for row in rows]
    tokenizer = make_tokenizer(FAMILIES["qwen2.5"], [each["content"] for talk in talks for each in talk], size=4000)
    tokenizer.chat_template, tokenizer.padding_side = TEMPLATE, "left"
    tokenizer.save_pretrained(folder)
    sizes = dict(zip(SIZES, SHAPES[width], strict=True))
    if full:
        sizes["num_hidden_layers"] = ALL_LAYERS.get(width, sizes["num_hidden_layers"])
    config = Qwen3Config(
        **sizes, max_position_embeddings=4 * LENGTH, tie_word_embeddings=sizes["hidden_size"] < 4096,
        bos_token_id=None, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, dtype="bfloat16",
    )  # fmt: skip
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = Qwen3ForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    model.save_pretrained(folder)
    del model
    if torch.cuda.is_available():
        torch.cuda.empty_cache()  # for the processes that train
    return folder


if __name__ == "__main__":
    sys.exit(main())
