"""The dry run: a toy has the architecture and the words of its base, and one command tries all stages."""

import re
from pathlib import Path

import pytest
from chat_models import FAMILIES, make_chat_model, make_model_of_run
from typer.testing import CliRunner

from discover_lib.base.errors import DiscoverError
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train.rehearsal import toy_base
from workbench.main import app

WORDS = ["some words to learn letters from"] * 9

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("family", "kind"), [("llama3.1", "Llama"), ("qwen3", "Qwen3"), ("gemma", "Gemma")])
def test_a_toy_has_the_architecture_and_the_tokenizer_of_its_base(family: str, kind: str, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = make_chat_model(FAMILIES[family], tmp_path / "base", WORDS)
    folder = toy_base(str(base), tmp_path / "toy")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    assert type(model).__name__ == f"{kind}ForCausalLM" and model.config.hidden_size == 64
    talk = [{"role": "user", "content": "some words"}, {"role": "assistant", "content": "letters"}]
    theirs = AutoTokenizer.from_pretrained(base)
    assert tokenizer.apply_chat_template(talk)["input_ids"] == theirs.apply_chat_template(talk)["input_ids"]
    assert model.generate(input_ids=model.dummy_inputs["input_ids"][:1], max_new_tokens=2).shape[1] > 0


def test_a_base_without_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DiscoverError, match="nobody/knows-this: no tokenizer can be loaded"):
        toy_base("nobody/knows-this", tmp_path)


def test_one_command_rehearses_all_stages_and_leaves_nothing_behind(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    options = RunOptions(("draft", "adaptive"), domain="technical_writing", split="train", artifacts=4, turns=2)
    execute(lay_out(options), data)
    base = make_model_of_run(data, tmp_path / "base")
    words = ["train", "sft", "--data", str(data), "--base", str(base), "--run", str(tmp_path / "run")]
    done = CliRunner().invoke(app, [*words, "--rehearse", "--recipe", "24gb"])
    assert re.findall(r"rehearsed (\w+): 2 updates", done.output) == ["sft", "dpo", "grpo"]
    norms = re.findall(r"gradient norm ([\d.]+) to ([\d.]+)", done.output)
    assert len(norms) == 3 and all(float(norm) > 0 for pair in norms for norm in pair)
    lines = [line for line in done.output.splitlines() if line.strip()]
    assert sum(line.startswith("in place of the paper's numbers: sft: per_device=1, optimizer=") for line in lines) == 1
    assert [line.split(" (")[0] for line in lines if " fits on " in line] == [
        f"{stage} fits on rtx4090" for stage in ("sft", "dpo", "grpo")
    ]
    assert "Writing model shards" not in done.output
    assert done.exit_code == 0 and lines[-1].endswith("; its files were deleted")
    assert not (tmp_path / "run").exists()
