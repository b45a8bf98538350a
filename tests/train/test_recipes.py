"""Recipes, backends and lineage: what of training needs neither a model nor torch."""

import dataclasses
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import data_folder
from discover_lib.core.conversation import Message
from discover_lib.dataset.export import Source as Conversations
from discover_lib.dataset.export import make_rows
from discover_lib.engines.local.dialect import PlainChat
from discover_lib.engines.local.lineage import ADAPTER, Lineage, LineageError, Source, adapter_chain, content_hash
from discover_lib.engines.local.tiny_language import is_broken
from discover_lib.train import backend as trained_by
from discover_lib.train.backend import Backend, choose_backend, unsuitable
from discover_lib.train.comparison import followed
from discover_lib.train.data import default_data, load_rows
from discover_lib.train.recipes import STAGES, DpoRecipe, GrpoRecipe, LoraRecipe, Recipe, SftRecipe, Stage


def test_the_paper_s_recipe_holds_the_paper_s_numbers() -> None:
    paper = Recipe.paper()
    assert paper.lora == LoraRecipe(r=32, alpha=64, dropout=0.1)
    told = {stage: (part.learning_rate, part.batch, part.epochs) for stage in STAGES if (part := paper.of(stage))}
    assert told == {"sft": (2e-5, 16, 3.0), "dpo": (5e-6, 16, 3.0), "grpo": (5e-6, 32, 1.0)}
    assert paper.grpo.n_generations == 4


@pytest.mark.parametrize("name", ["paper", "t4", "24gb", "40gb", "80gb", "miniature"])
def test_a_named_recipe_has_no_problems_and_survives_json(name: str) -> None:
    recipe = Recipe.named(name)
    assert [recipe.problems(stage, n_rows=500, context=8192) for stage in STAGES] == [[], [], []]
    assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "changes", "known", "expected"),
    [
        ("sft", {"batch": 16, "per_device": 5}, {}, "sft: batch 16 is not a multiple of per_device 5"),
        ("sft", {"max_length": 9000}, {"context": 8192}, "max_length 9000 is more than the 8192 tokens"),
        ("sft", {}, {"n_rows": 0}, "no rows to train on"),
        ("grpo", {"batch": 30, "per_device": 5, "n_generations": 4}, {}, "batch 30 counts completions"),
        ("grpo", {"max_completion": 6000}, {}, "leaves no room for a prompt"),
        ("grpo", {"look_ahead": 2, "multi_turn": 3}, {}, "both reward later turns"),
        ("grpo", {"reward_to_go": True}, {}, "reward_to_go is for several turns"),
        ("grpo", {"max_steps": 10, "rounds": 3}, {}, "10 cannot be divided into 3 equal rounds"),
        ("grpo", {"own_prefixes": True}, {}, "set max_steps"),
        ("grpo", {"rounds": 2}, {}, "set max_steps"),
        ("grpo", {"batch": 32}, {"n_rows": 7}, "7 prompts are fewer than the 8 of one update"),
    ],
)
def test_a_contradiction_is_named(stage: Stage, changes: dict[str, Any], known: dict[str, Any], expected: str) -> None:
    found = Recipe.paper().changed(stage, changes).problems(stage, **known)
    assert len(found) == 1 and expected in found[0]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"learning_rat": 1e-4}, "'learning_rat' is not a field of sft; did you mean 'learning_rate'?"),
        ({"lora.rank": 8}, "'rank' is not a field of lora"),
        ({"ppo.beta": 1}, "'ppo' is not a part of a recipe"),
        ({"batch": 1.5}, "sft.batch: Expected `int`"),
        ({"schedule": "step"}, "; choose one of linear, cosine, constant"),
        ({"load_in_4bit": 1}, "sft.load_in_4bit: Expected `bool`"),
        ({"learning_rate": float("nan")}, "sft.learning_rate: Expected `float` > 0.0"),
        ({"learning_rate": float("inf")}, "sft.learning_rate: Expected `float` < "),
        ({"lora.targets": "q_proj"}, "lora.targets: Expected `array`"),
        ({"grpo.n_generations": 1}, "grpo.n_generations: Expected `int` >= 2"),
    ],
)
def test_an_unknown_field_or_a_wrong_value_is_refused(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(DiscoverError, match=r"^[^\n]*$") as caught:
        Recipe.paper().changed("sft", changes)
    assert expected in str(caught.value)


def test_changes_go_where_they_belong_and_the_name_tells_them() -> None:
    changed = Recipe.paper().changed("dpo", {"beta": 0.2, "lora.r": 8, "batch": 16})
    assert (changed.dpo.beta, changed.lora.r, changed.sft) == (0.2, 8, Recipe.paper().sft)
    assert changed.name == "paper with dpo.beta=0.2, lora.r=8"
    assert Recipe.paper().changed("dpo", {"learning_rate": 1}).dpo.learning_rate == 1.0


OURS = {  # fields that no trainer is told, because we act on them
    *("batch", "max_steps", "precision", "load_in_4bit", "sample_steps", "eval_steps", "eval_rows"),
    *("sft_weight", "generation", "tau", "broken_penalty", "look_ahead", "multi_turn"),
    *("own_prefixes", "rounds", "probe_users", "probe_turns", "workers", "max_length", "reward_to_go"),
}


@pytest.mark.parametrize(
    ("kind", "names"), [(SftRecipe, {}), (DpoRecipe, trained_by.DPO), (GrpoRecipe, trained_by.GRPO)]
)
def test_no_field_of_a_recipe_is_dropped(kind: type, names: dict[str, str]) -> None:
    fields = {each.name for each in dataclasses.fields(kind)}
    assert fields - OURS <= {*trained_by.COMMON, *names}
    assert set(names) | set(trained_by.COMMON) <= fields


def test_what_is_changed_in_a_recipe_reaches_the_trainer(tmp_path: Path) -> None:
    backend = Backend("transformers", "cpu", "")
    part = SftRecipe(batch=32, per_device=4, warmup=0.1, optimizer="adamw_torch", gradient_checkpointing=False)
    told = trained_by.common_arguments(part, backend, tmp_path, seed=5)
    assert told["gradient_accumulation_steps"] == 8 and told["seed"] == told["data_seed"] == 5
    assert (told["bf16"], told["fp16"], told["use_cpu"], told["warmup_steps"]) == (False, False, True, 0.1)
    assert trained_by.dpo_arguments(DpoRecipe(sft_weight=0.2), held_out=False)["loss_weights"] == [1.0, 0.2]
    told = trained_by.grpo_arguments(GrpoRecipe(epsilon=0.3))
    assert told["epsilon"] == told["epsilon_high"] == 0.3  # Unsloth would choose another one


TINY_BASE, ANY_BASE = "tiny", "Qwen/Qwen3-8B"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "gpu", "unsloth", "base", "said"),
    [
        ("auto", False, False, ANY_BASE, "trains on the processor with transformers (no usable GPU found)"),
        ("auto", True, False, ANY_BASE, "trains on the GPU with transformers (Unsloth is not installed)"),
        ("auto", True, True, ANY_BASE, "trains on the GPU with unsloth (a CUDA device and Unsloth are here)"),
        ("auto", True, True, TINY_BASE, "trains on the GPU with transformers (the tiny model is not for Unsloth)"),
        ("transformers", True, True, ANY_BASE, "trains on the GPU with transformers (asked for)"),
        ("unsloth", True, True, ANY_BASE, "trains on the GPU with unsloth (asked for)"),
        ("unsloth", True, True, TINY_BASE, "error: the tiny model is not for Unsloth"),
        ("unsloth", False, True, ANY_BASE, "error: Unsloth needs a CUDA device, and this machine has no"),
        ("unsloth", True, False, ANY_BASE, "error: Unsloth is not installed"),
        ("vllm", True, True, ANY_BASE, "error: unknown backend 'vllm'"),
    ],
)
def test_the_backend_says_who_trains_and_why_or_why_it_cannot(
    asked: str, gpu: bool, unsloth: bool, base: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util as util

    real = util.find_spec
    found = {"unsloth": object() if unsloth else None}
    monkeypatch.setattr("discover_lib.train.backend.on_gpu", lambda: gpu)
    monkeypatch.setattr(util, "find_spec", lambda name: found[name] if name in found else real(name))
    (tmp_path / "tiny.json").write_text("{}")
    try:
        line = choose_backend(asked, str(tmp_path) if base == TINY_BASE else base).line
    except DiscoverError as error:
        line = f"error: {error}"
    assert line.startswith(said) and "\n" not in line


@pytest.mark.parametrize(
    ("generation", "backend", "words"),
    [
        ("transformers", Backend("transformers", "cpu", ""), ""),
        ("vllm-colocate", Backend("unsloth", "cuda", ""), "goes with --backend transformers, not unsloth"),
        ("unsloth-fast", Backend("transformers", "cuda", ""), "goes with --backend unsloth, not transformers"),
        ("vllm-server", Backend("transformers", "cpu", ""), "needs a CUDA device"),
        ("vllm-server", Backend("transformers", "cuda", ""), ""),
        ("vllm-colocate", Backend("transformers", "cuda", ""), "needs vLLM: pip install vllm"),
    ],
)
def test_who_cannot_write_replies_here_is_refused_in_one_line(generation: Any, backend: Backend, words: str) -> None:
    lines = unsuitable(replace(Recipe.paper().grpo, generation=generation), backend)
    assert len(lines) == bool(words) and words in "".join(lines)


def make_run(folder: Path, base: Path, merged: tuple[Path, ...] = (), stage: str = "sft") -> Path:
    (folder / ADAPTER).mkdir(parents=True)
    (folder / ADAPTER / "adapter_model.safetensors").write_bytes(stage.encode() * 100)
    earlier = tuple(Source(str(each / ADAPTER), content_hash(each / ADAPTER), "sft") for each in merged)
    about = (Recipe.paper().to_dict(), {"digest": "d"}, folder.name, 0, "transformers")
    Lineage(stage, Source(str(base), content_hash(base)), earlier, *about).write(folder)
    return folder


def make_model(folder: Path, weights: bytes = b"w" * 3_000_000) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def test_a_chain_is_found_again_after_everything_was_moved(tmp_path: Path) -> None:
    here = tmp_path / "here"
    base = make_model(here / "base")
    dpo = make_run(here / "dpo", base, (make_run(here / "sft", base),), "dpo")
    chain = adapter_chain(dpo)
    assert [Path(each.path) for each in chain.adapters] == [here / "sft" / ADAPTER, dpo / ADAPTER]
    shutil.move(here, tmp_path / "there")
    moved = adapter_chain(tmp_path / "there" / "dpo" / ADAPTER)
    assert [Path(each.path).parent.name for each in moved.adapters] == ["sft", "dpo"]
    assert Path(moved.base.path) == tmp_path / "there" / "base" and moved.base.hash == chain.base.hash


def test_a_base_that_changed_or_went_away_is_noticed(tmp_path: Path) -> None:
    base = make_model(tmp_path / "base")
    run = make_run(tmp_path / "sft", base)
    (base / "README.md").write_text("notes are no content")
    assert adapter_chain(run).base.path == str(base)
    (base / "model.safetensors").write_bytes(b"w" * 2_999_999 + b"v")
    with pytest.raises(LineageError, match="the base has changed"):
        adapter_chain(run)
    shutil.rmtree(base)
    with pytest.raises(LineageError, match="the base is missing"):
        adapter_chain(run)
    with pytest.raises(LineageError, match=r"no lineage\.json here"):
        adapter_chain(tmp_path)


@pytest.mark.slow
def test_default_data_tell_how_often_longer_reply_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    with ThreadPoolExecutor(3) as pages:  # two pages opened at once wait for each other
        folder, *same = [each.result() for each in [pages.submit(default_data) for _ in range(3)]]
    assert same == [folder, folder] and len(load_rows(folder, "sft", "notation").train) == 90
    length = make_rows("preference", [Conversations.of_run(folder)]).length
    assert length is not None and length.startswith("The longer reply is chosen in a share of 0.69 [")


def test_the_example_run_shows_a_user_at_every_checkpoint() -> None:
    (user,) = followed(data_folder() / "training" / "sft")
    assert list(user) == [0, 20, 40, 60, 80, 100, 102]
    before, *_, after = (talk.turns[0].candidate.reward for talk in user.values())
    assert before is not None and after is not None and before.total < 0 < after.total


def test_a_chat_model_is_told_the_system_message_and_counted_in_its_own_tokens() -> None:
    plain = PlainChat("some/base", system="Be kind.")
    said = [Message("user", "Hi"), {"role": "assistant", "content": "Hello"}]
    wire = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    opened = [{"role": "system", "content": "Be kind."}, *wire]
    assert plain.encode(said, "") == opened == plain.encode(opened, "")  # what is there already is not said twice
    reply = plain.decode("A tale.", 4, "", ())
    assert (reply.text, reply.n_tokens, reply.counting) == ("A tale.", 4, "tokenizer of some/base")
    assert not is_broken(reply) and is_broken(plain.decode(" ", 0, "", ()))
