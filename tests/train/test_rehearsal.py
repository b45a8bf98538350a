"""The rehearsal: bases that are built and spoken to as the real ones are, and all stages by one command."""

import re
from pathlib import Path

import pytest
from chat_models import FAMILIES, make_chat_model
from typer.testing import CliRunner

from discover_lib.base.errors import DiscoverError
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train.data import load_rows
from discover_lib.train.rehearsal import toy_base
from workbench.main import app

TALK = [{"role": "user", "content": "A fox, please."}, {"role": "assistant", "content": "Red or grey?"}]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("family", ["llama3.1", "qwen3", "gemma"])
def test_a_toy_has_the_architecture_and_the_tokenizer_of_its_base(family: str, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = make_chat_model(FAMILIES[family], tmp_path / "base", [each["content"] for each in TALK * 20])
    folder = toy_base(str(base), tmp_path / "toy")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    assert type(model) is type(AutoModelForCausalLM.from_pretrained(base)) and model.config.hidden_size == 64
    text = tokenizer.apply_chat_template(TALK, tokenize=False)
    assert text == AutoTokenizer.from_pretrained(base).apply_chat_template(TALK, tokenize=False)
    assert model.generate(input_ids=model.dummy_inputs["input_ids"][:1], max_new_tokens=2).shape[1] > 0


def test_what_is_not_here_cannot_be_stood_in_for(tmp_path: Path) -> None:
    with pytest.raises(DiscoverError, match="no tokenizer can be loaded"):
        toy_base(str(tmp_path / "nowhere"), tmp_path / "toy")


def test_one_command_rehearses_all_stages_and_leaves_nothing_behind(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    options = RunOptions(
        ("draft", "adaptive"), domain="technical_writing", split="train", artifacts=4, candidates=1, turns=2
    )
    execute(lay_out(options), data)
    texts = [each["content"] for row in load_rows(data, "sft", "content").train for each in row["messages"]]
    base = make_chat_model(FAMILIES["qwen3"], tmp_path / "base", texts)
    words = ["train", "sft", "--data", str(data), "--base", str(base), "--run", str(tmp_path / "run")]
    done = CliRunner().invoke(app, [*words, "--rehearse", "--recipe", "24gb"])
    assert re.findall(r"rehearsed (\w+): 2 updates", done.output) == ["sft", "dpo", "grpo"]
    norms = re.findall(r"gradient norm ([\d.]+) to ([\d.]+)", done.output)
    assert len(norms) == 3 and all(float(norm) > 0 for pair in norms for norm in pair)
    lines = [line for line in done.output.splitlines() if line.strip()]
    assert f"config.json of {base}" in done.output and sum(line.endswith(": fits") for line in lines) == 3
    assert sum(line.startswith("in place of the paper's numbers: per_device=1, optimizer=") for line in lines) == 1
    assert "Writing model shards" not in done.output
    assert done.exit_code == 0 and lines[-1].endswith("; nothing was kept")
    assert not (tmp_path / "run").exists()
