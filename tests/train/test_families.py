"""Models of toy size with the architectures and chat templates of real families: loaded, trained, rehearsed."""

import dataclasses
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from chat_models import FAMILIES, make_chat_model, make_model_of_run, make_tokenizer
from training import make_data
from typer.testing import CliRunner

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Message
from discover_lib.dataset.export import read_rows
from discover_lib.engines.local.dialect import Chat, PlainChat
from discover_lib.engines.local.lineage import FILE, Lineage
from discover_lib.engines.local.names import local_assistant, parse_name
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train.backend import load_tokenizer
from discover_lib.train.comparison import before_and_after
from discover_lib.train.data import trainer_row
from discover_lib.train.grpo.rollouts import Player
from discover_lib.train.grpo.simulated_reward import Scorer, Users
from discover_lib.train.recipes import GrpoRecipe, Recipe
from discover_lib.train.rehearsal import toy_base
from discover_lib.train.run_stage import StageResult, StageSettings, run_stage
from workbench.main import app

pytestmark = pytest.mark.slow
DOMAIN = "technical_writing"
TEMPLATES = ("llama3.1", "qwen3", "qwen3, re-uploaded", "smollm2", "gemma")
MODELS = ("qwen3", "gemma")  # with and without a role for system messages
TRAINED = "qwen3"  # whose template thinks
SYSTEM = "Find out what the user wants."


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows in data/, with a system message in system/, and a base of each model."""
    folder = tmp_path_factory.mktemp("families")
    make_data(folder / "data", turns=2, domain=DOMAIN, text="content")
    make_data(folder / "system", turns=2, domain=DOMAIN, text="content", system=SYSTEM)
    texts = [each["content"] for row in read_rows(folder / "data" / "sft")["train"] for each in row["messages"]]
    for name in MODELS:
        make_chat_model(FAMILIES[name], folder / name, texts)
    return folder


@pytest.fixture(scope="module")
def trained(place: Path) -> StageResult:
    """One update of the paper's SFT with a system message; a rehearsal takes all stages on such a base.

    Without samples on the way: an untrained model would write each of them up to its last token.
    """
    few = {"max_steps": 1, "batch": 2, "per_device": 1, "sample_steps": 0, "max_length": 4096, "eval_steps": 0}
    recipe = Recipe.paper().changed("sft", few)
    settings = StageSettings("sft", str(place / "system" / "sft"), str(place / TRAINED), recipe=recipe)
    return run_stage(settings, place / "sft", on_progress=lambda line: None)


@pytest.mark.parametrize("family", MODELS)
def test_the_engine_reads_what_is_trained(family: str, place: Path) -> None:
    assistant = local_assistant(f"hf:{place / family}", DOMAIN)._model
    chat, plain = Chat(load_tokenizer(str(place / family))), PlainChat(family)
    (talk, *_), (pair, *_) = (read_rows(place / "data" / stage)["train"] for stage in ("sft", "dpo"))

    def read(messages: Any) -> list[int]:
        return list(assistant.prompt([Message(each["role"], each["content"]) for each in messages], DOMAIN))

    whole = trainer_row(talk, plain, chat)["input_ids"]
    replies = [at for at, each in enumerate(talk["messages"]) if each["role"] == "assistant"]
    assert len(replies) >= 2
    for at in replies:
        prompt = read(talk["messages"][:at])
        assert whole[: len(prompt)] == prompt
    row = trainer_row(pair, plain, chat)
    assert row["prompt_ids"] == read(pair["prompt"])
    further = [*pair["prompt"], *pair["chosen"], {"role": "user", "content": "go on"}]
    assert read(further)[: len(row["prompt_ids"] + row["chosen_ids"])] == row["prompt_ids"] + row["chosen_ids"]
    assert chat.tokenizer.pad_token_id not in whole and chat.tokenizer.pad_token_id != chat.tokenizer.eos_token_id


@dataclass(frozen=True)
class Scripted:
    """A sampler that writes given replies, and keeps what it was asked."""

    chat: Any
    ends: Sequence[int]
    replies: Sequence[str]
    asked: list[list[int]]
    max_tokens: int = 64

    def complete(self, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
        text = self.replies[len(self.asked)]
        self.asked.append(list(prompts[0]))
        return [[*self.chat.tokenizer(text, add_special_tokens=False)["input_ids"], self.chat.closing[0]]]


@pytest.mark.parametrize("family", TEMPLATES)
def test_what_was_written_over_several_turns_is_trained_on_as_it_was_read(family: str, place: Path) -> None:
    replies = ["Here is a draft of it.", "Shall it be shorter?", "Then I write it."]
    chat, dialect = Chat(make_tokenizer(FAMILIES[family], replies * 50)), PlainChat("base")
    users = Users(RoleEngines(EngineSpec()))
    sampler: Any = Scripted(chat, chat.closing[:1], replies, [])
    state = next(row["state"] for row in read_rows(place / "data" / "grpo")["train"] if row["turn"] == 1)
    player = Player(sampler, Scorer(users, dialect, GrpoRecipe()), dialect, 20_000)
    (talk,) = player.roll_out([users.fresh(state)], 3)
    trained = talk.prompt_ids + talk.completion_ids
    assert len(sampler.asked) == 3 == len(talk.scores)
    messages = dialect.encode(talk.simulator.messages, DOMAIN)
    for turn, asked in enumerate(sampler.asked):
        assert trained[: len(asked)] == asked == chat.prompt(messages[: 2 * turn + 1])
    own = [token for token, mine in zip(talk.completion_ids, talk.own, strict=True) if mine]
    assert own == [token for reply in replies for token in (*chat.tokenizer(reply)["input_ids"], chat.closing[0])]


def test_the_system_message_of_the_rows_is_that_of_training_and_of_use(trained: StageResult) -> None:
    assert Lineage.read(trained.folder).system == SYSTEM
    names = before_and_after(trained.folder)
    systems = {name: local_assistant(names[name], DOMAIN)._model.dialect.system for name in names}
    assert systems == {"before": SYSTEM, "after": SYSTEM}
    assert [len(parse_name(names[name]).adapters) for name in ("before", "after")] == [0, 1]
    assert parse_name(f"{names['after']}+collaborative").style == "collaborative"


@pytest.mark.parametrize("thinking", [False, True])
def test_a_model_is_used_thinking_as_it_was_trained(thinking: bool, trained: StageResult, tmp_path: Path) -> None:
    lineage = Lineage.read(trained.folder)
    assert not lineage.thinking
    run = Path(shutil.copytree(trained.folder, tmp_path / "run"))
    (run / FILE).unlink()
    dataclasses.replace(lineage, thinking=thinking, system="").write(run)
    assistant = local_assistant(f"hf:{run}", DOMAIN)._model
    prompt = load_tokenizer(lineage.base.path).decode(assistant.prompt([Message("user", "write it")], DOMAIN))
    assert prompt.endswith("<|im_start|>assistant\n" + ("" if thinking else "<think>\n\n</think>\n\n"))
    assert assistant.dialect.system == ""


WORDS = ["some words to learn letters from"] * 9


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
