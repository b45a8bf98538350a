"""The rehearsal: bases that are built and spoken to as the real ones are, and all stages by one command."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discover_lib.base.errors import DiscoverError
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train.rehearsal import toy_base
from workbench.main import app

TALK = [{"role": "user", "content": "A fox, please."}, {"role": "assistant", "content": "Red or grey?"}]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("base", "kind", "end"),
    [("meta-llama/Llama-3.1-8B-Instruct", "LlamaForCausalLM", "<|eot_id|>"),
     ("Qwen/Qwen3-4B", "Qwen3ForCausalLM", "<|im_end|>"),
     ("HuggingFaceTB/SmolLM2-135M-Instruct", "LlamaForCausalLM", "<|im_end|>"),
     ("google/gemma-2-2b-it", "Gemma2ForCausalLM", "<end_of_turn>"),
     ("google/gemma-3-4b-it", "Gemma3ForCausalLM", "<end_of_turn>")],
)  # fmt: skip
def test_a_toy_has_the_architecture_and_the_template_of_its_base(
    base: str, kind: str, end: str, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder, own_words = toy_base(base, tmp_path, (each["content"] for each in TALK * 20))
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    assert type(model).__name__ == kind and not own_words and tokenizer.eos_token == end
    text = tokenizer.apply_chat_template(TALK, tokenize=False)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text and tokenizer.eos_token_id in ids and "Red or grey?" + end in text
    assert model.generate(input_ids=model.dummy_inputs["input_ids"][:1], max_new_tokens=2).shape[1] > 0


def test_what_nobody_knows_cannot_be_stood_in_for(tmp_path: Path) -> None:
    with pytest.raises(DiscoverError, match="not one of the known bases"):
        toy_base("nobody/knows-this", tmp_path, ())


def test_one_command_rehearses_all_stages_and_leaves_nothing_behind(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    options = RunOptions(("draft", "adaptive"), domain="svg_drawing", split="train", artifacts=4, candidates=1, turns=2)
    execute(lay_out(options), data)
    words = ["train", "sft", "--data", str(data), "--base", "Qwen/Qwen3-8B", "--run", str(tmp_path / "run")]
    done = CliRunner().invoke(app, [*words, "--rehearse", "--recipe", "24gb"])
    assert re.findall(r"rehearsed (\w+): 2 updates", done.output) == ["sft", "dpo", "grpo"]
    norms = re.findall(r"gradient norm ([\d.]+) to ([\d.]+)", done.output)
    assert len(norms) == 3 and all(float(norm) > 0 for pair in norms for norm in pair)
    lines = [line for line in done.output.splitlines() if line.strip()]
    told = "Qwen/Qwen3-8B: no config.json on this machine, so the memory is not estimated; give its folder"
    assert told in lines
    assert sum(line.startswith("in place of the paper's numbers: sft: per_device=1, optimizer=") for line in lines) == 1
    assert "Writing model shards" not in done.output
    assert done.exit_code == 0 and lines[-1].endswith("; its files were deleted")
    assert not (tmp_path / "run").exists()
