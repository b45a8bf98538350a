"""Every stage on models of toy size with the architectures and chat templates of real families."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from chat_models import FAMILIES, make_chat_model
from training import make_base, make_data, short_recipe

from discover_lib.dataset.export import read_rows
from discover_lib.train.comparison import before_and_after, conversations, replies
from discover_lib.train.recipes import Recipe
from discover_lib.train.stage import StageResult, StageSettings, run_stage

pytestmark = pytest.mark.slow
DOMAIN = "technical_writing"
CHOSEN = ("llama3.1", "qwen3", "smollm2", "gemma")
THROUGH_ALL_STAGES = ("qwen3", "gemma")  # one whose template thinks, one that knows no system message
SYSTEM = "Find out what the user wants."


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows in data/, with a system message in system/, and a base for every family."""
    folder = tmp_path_factory.mktemp("families")
    make_data(folder / "data", turns=2, domain=DOMAIN, text="content")
    make_data(folder / "system", turns=2, domain=DOMAIN, text="content", system=SYSTEM)
    texts = [each["content"] for row in read_rows(folder / "data" / "sft")["train"] for each in row["messages"]]
    for name in CHOSEN:
        make_chat_model(FAMILIES[name], folder / name, texts)
    return folder


def short(**grpo: Any) -> Recipe:
    """Two updates of every stage of the paper's recipe.

    Without samples on the way: an untrained model would write each of them up to its last token.
    """
    few: dict[str, Any] = {"max_steps": 2, "batch": 2, "per_device": 1, "sample_steps": 0, "max_length": 4096}
    recipe = Recipe.paper()
    for stage in ("sft", "dpo"):
        recipe = recipe.changed(stage, {**few, "eval_steps": 0})
    few |= {"n_generations": 2, "max_completion": 8, "probe_users": 0}
    return recipe.changed("grpo", {**few, **grpo})


def train(place: Path, family: str, stage: Any, data: str = "data", thinking: bool = False, **grpo: Any) -> StageResult:
    rows, recipe = str(place / data / stage), short(**grpo)
    settings = StageSettings(stage, rows, str(place / family), recipe=recipe, thinking=thinking)
    name = f"{family}-{stage}-{data}-{thinking}-{'-'.join(map(str, grpo.values()))}"
    return run_stage(settings, place / name, on_progress=lambda line: None)


@pytest.mark.parametrize("family", CHOSEN)
def test_it_trains_and_the_engine_reads_what_was_trained(family: str, place: Path) -> None:
    from discover_lib.core.conversation import Message
    from discover_lib.engines.local.chat import Chat
    from discover_lib.engines.local.dialect import PlainChat
    from discover_lib.engines.local.names import local_assistant
    from discover_lib.train.backend import load_tokenizer
    from discover_lib.train.data import trainer_row

    runs = [train(place, family, "sft")]
    if family in THROUGH_ALL_STAGES:
        runs += [train(place, family, "dpo"), train(place, family, "grpo", multi_turn=2, generation_tokens=1)]
    assert all(run.step == 2 and run.adapter for run in runs)
    for run in runs:
        lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
        assert all(line["num_tokens"] > 0 for line in lines if "loss" in line)

    assistant = local_assistant(f"hf:{runs[0].folder}", DOMAIN)._model
    chat, plain = Chat(load_tokenizer(str(place / family))), PlainChat(family)
    (talk, *_), (pair, *_) = (read_rows(place / "data" / stage)["train"] for stage in ("sft", "dpo"))

    def read(messages: Any) -> list[int]:
        return list(assistant.prompt([Message(each["role"], each["content"]) for each in messages], DOMAIN))

    trained = trainer_row(talk, plain, chat)["input_ids"]
    replies = [at for at, each in enumerate(talk["messages"]) if each["role"] == "assistant"]
    assert len(replies) >= 2
    for at in replies:
        prompt = read(talk["messages"][:at])
        assert trained[: len(prompt)] == prompt
    row = trainer_row(pair, plain, chat)
    assert row["prompt_ids"] == read(pair["prompt"])
    whole = [*pair["prompt"], *pair["chosen"], {"role": "user", "content": "go on"}]
    assert read(whole)[: len(row["prompt_ids"] + row["chosen_ids"])] == row["prompt_ids"] + row["chosen_ids"]


@dataclass(frozen=True)
class Scripted:
    """A sampler that writes given replies, and keeps what it was asked."""

    chat: Any
    ends: Sequence[int]
    replies: Sequence[str]
    asked: list[list[int]]
    max_tokens: int = 64

    def complete(self, prompts: Sequence[Sequence[int]], on_reply: Any = None) -> list[list[int]]:
        text = self.replies[len(self.asked)]
        self.asked.append(list(prompts[0]))
        return [[*self.chat.tokenizer(text, add_special_tokens=False)["input_ids"], self.chat.closing[0]]]


@pytest.mark.parametrize("family", [*CHOSEN, "qwen3, re-uploaded"])
def test_what_was_written_over_several_turns_is_trained_on_as_it_was_read(family: str, place: Path) -> None:
    from chat_models import make_tokenizer

    from discover_lib.engines.local.chat import Chat
    from discover_lib.engines.local.dialect import PlainChat
    from discover_lib.engines.spec import EngineSpec, RoleEngines
    from discover_lib.train.grpo.reward import Scorer, Users
    from discover_lib.train.grpo.rollouts import Player
    from discover_lib.train.recipes import GrpoRecipe

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


def test_the_system_message_of_the_rows_is_that_of_training_and_of_use(place: Path) -> None:
    from discover_lib.engines.local.lineage import Lineage
    from discover_lib.engines.local.names import local_assistant, parse_name

    run = train(place, "qwen3", "sft", data="system")
    assert Lineage.read(run.folder).system == SYSTEM
    names = before_and_after(run.folder)
    assert {name: local_assistant(names[name], DOMAIN)._model.system for name in names} == {
        "before": SYSTEM,
        "after": SYSTEM,
    }
    assert [len(parse_name(names[name]).adapters) for name in ("before", "after")] == [0, 1]
    assert parse_name(f"{names['after']}+collaborative").style == "collaborative"


@pytest.mark.parametrize("thinking", [False, True])
def test_whether_a_model_thinks_is_one_setting_for_training_and_use(thinking: bool, place: Path) -> None:
    from discover_lib.core.conversation import Message
    from discover_lib.engines.local.names import local_assistant
    from discover_lib.train.backend import load_tokenizer

    run = train(place, "qwen3", "grpo", thinking=thinking)
    assistant = local_assistant(f"hf:{run.folder}", DOMAIN)._model
    prompt = load_tokenizer(str(place / "qwen3")).decode(assistant.prompt([Message("user", "write it")], DOMAIN))
    assert prompt.endswith("<|im_start|>assistant\n" + ("" if thinking else "<think>\n\n</think>\n\n"))
    assert assistant.system == ""


@pytest.fixture(scope="module")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training run of a tiny model, whose replies are short."""
    folder = tmp_path_factory.mktemp("tiny")
    rows, base = make_data(folder / "data") / "sft", make_base(folder / "base")
    settings = StageSettings("sft", str(rows), str(base), recipe=short_recipe())
    return run_stage(settings, folder / "run", on_progress=lambda line: None).folder


def test_before_and_after_are_asked_for_the_same_prompt_and_the_same_user(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discover_lib.core.conversation import Message
    from discover_lib.engines.local import names as local_names
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import generate_artifact

    names = before_and_after(tiny_run)
    monkeypatch.setattr(local_names, "_MODELS", {})
    said = replies(names, "svg_drawing", [Message("user", "could you draw me a cat?")], 0)
    assert list(said) == ["before", "after"] and all(each.n_tokens for each in said.values())
    assert len(local_names._MODELS) == 2
    tree = engine("svg_drawing").builder.build(generate_artifact("svg_drawing", "eval", 0)).tree
    assert all(talk.turns for talk in conversations(names, "svg_drawing", tree, 0).values())


@pytest.mark.parametrize("family", CHOSEN)
def test_what_fills_up_a_batch_is_in_no_conversation(family: str, place: Path) -> None:
    from discover_lib.train.backend import load_tokenizer

    tokenizer = load_tokenizer(str(place / family))
    talk = [{"role": role, "content": "a word"} for role in ("user", "assistant", "user")]
    ids = tokenizer.apply_chat_template(talk, return_dict=True)["input_ids"]
    assert tokenizer.pad_token_id not in ids and tokenizer.pad_token_id != tokenizer.eos_token_id
