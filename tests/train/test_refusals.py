"""What cannot be trained is refused at once, before a model is loaded, in one line that says what to do."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_models import FAMILIES, make_chat_model
from training import make_data

from discover_lib.base.errors import DiscoverError
from discover_lib.train.backend import Backend, unsuitable
from discover_lib.train.recipes import DpoRecipe, GrpoRecipe, Recipe, SftRecipe, StageRecipe
from discover_lib.train.run_stage import StageSettings, run_stage

DOMAIN = "technical_writing"
LONGEST_SECONDS = 30.0

GPU = Backend("transformers", "cuda", "a GPU")
T4 = Backend("transformers", "cuda", "a T4", bf16=False)
UNSLOTH = Backend("unsloth", "cuda", "a GPU")
CPU = Backend("transformers", "cpu", "none")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows in text, in notation and with a system message, a chat model, and one of gemma's kind."""
    folder = tmp_path_factory.mktemp("refusals")
    make_data(folder / "data", turns=2, domain=DOMAIN, text="content")
    make_data(folder / "notation", turns=2, domain=DOMAIN)
    make_data(folder / "system", turns=2, domain=DOMAIN, text="content", system="Be kind.")
    for family, name in (("llama3.1", "base"), ("gemma", "gemma")):
        make_chat_model(FAMILIES[family], folder / name, ["some words to learn letters from"] * 9)
    return folder


def with_template(place: Path, name: str, template: str) -> str:
    """A copy of the base with another chat template; "" for none."""
    folder = place / name
    shutil.copytree(place / "base", folder)
    (folder / "chat_template.jinja").unlink()
    if template:
        (folder / "chat_template.jinja").write_text(template)
    return str(folder)


def run_without_adapter(place: Path) -> str:
    from discover_lib.engines.local.lineage import Lineage, Source

    folder = place / "unfinished"
    folder.mkdir(exist_ok=True)
    base = Source(str(place / "base"))
    Lineage("sft", base, (), None, Recipe.paper().to_dict(), {}, "unfinished", 0, "transformers").write(folder)
    return str(folder)


Told = dict[str, Any]  # settings; of a recipe's part, `changes`
SHOUTED = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\n' }}{% endfor %}"
FIRST_ONLY = "{{ messages[0]['content'] }}"
REFUSED: dict[str, tuple[Any, Callable[[Path], Told], str]] = {
    "no chat template": ("sft", lambda place: {"base": with_template(place, "none", "")}, "has no chat template"),
    "a template without end marks": (
        "sft",
        lambda place: {"base": with_template(place, "shouted", SHOUTED)},
        "which its settings do not name as an end",
    ),
    "a template that drops replies": (
        "sft",
        lambda place: {"base": with_template(place, "first", FIRST_ONLY)},
        "omits replies",
    ),
    "a system message for gemma": (
        "sft",
        lambda place: {"base": str(place / "gemma"), "data": str(place / "system" / "sft")},
        "the base's chat template refuses a conversation: System role not supported",
    ),
    "another system message than the rows'": (
        "sft",
        lambda _: {"system": "collaborative"},
        "exported rows with another system message",
    ),
    "no room for the rows": ("sft", lambda _: {"changes": {"max_length": 8}}, "no rows to train on"),
    "more than the base can read": ("sft", lambda _: {"changes": {"max_length": 9999}}, "more than the 4096 tokens"),
    "no earlier stage": ("dpo", lambda place: {"adapter": str(place / "gone")}, "no lineage.json here"),
    "an earlier stage without adapter": (
        "dpo",
        lambda place: {"adapter": run_without_adapter(place)},
        "the training has no adapter yet",
    ),
    "no such base": ("sft", lambda place: {"base": str(place / "nowhere")}, "no tokenizer can be loaded"),
    "rows of another stage": ("dpo", lambda place: {"data": str(place / "data" / "sft")}, "preference rows are needed"),
    "rows in notation": ("sft", lambda place: {"data": str(place / "notation" / "sft")}, "the base needs content"),
    "4 bit without a GPU": ("sft", lambda _: {"changes": {"load_in_4bit": True}}, "load_in_4bit needs a CUDA device"),
    "fp16 without a GPU": ("sft", lambda _: {"changes": {"precision": "fp16"}}, "fp16 needs a CUDA device"),
    "an optimizer for GPUs": ("sft", lambda _: {"changes": {"optimizer": "adamw_8bit"}}, "needs a CUDA device"),
    "thoughts over several turns": (
        "grpo",
        lambda _: {"thinking": True, "changes": {"multi_turn": 2}},
        "thoughts of earlier turns are not read again",
    ),
    "Unsloth without a GPU": ("sft", lambda _: {"backend": "unsloth"}, "Unsloth needs a CUDA device"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_trained_is_refused_at_once_in_one_line(case: str, place: Path) -> None:
    stage, change, complaint = REFUSED[case]
    told = {"data": str(place / "data" / stage), "base": str(place / "base"), **change(place)}
    recipe = Recipe.paper().changed(stage, {"batch": 2, "per_device": 1, "max_length": 4096, **told.pop("changes", {})})
    if stage == "grpo":
        recipe = recipe.changed("grpo", {"n_generations": 2})
    begun = time.process_time()
    with pytest.raises(DiscoverError) as error:
        run_stage(StageSettings(stage, recipe=recipe, **told), place / f"run {case}", on_progress=lambda line: None)
    assert time.process_time() - begun < LONGEST_SECONDS
    assert complaint in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("part", "backend", "complaint"),
    [
        (SftRecipe(precision="bf16"), T4, "bf16 would be emulated on this GPU"),
        (SftRecipe(precision="bf16"), GPU, ""),
        (SftRecipe(), T4, ""),
        (SftRecipe(precision="fp32"), UNSLOTH, "Unsloth does not train in precision fp32"),
        (SftRecipe(precision="fp32"), GPU, ""),
        (GrpoRecipe(loss_type="dr_grpo"), UNSLOTH, "leaves rewards unscaled; set scale_rewards to none"),
        (GrpoRecipe(loss_type="dr_grpo", scale_rewards="none"), UNSLOTH, ""),
        (GrpoRecipe(loss_type="dr_grpo"), GPU, ""),
        (GrpoRecipe(reference="continue", beta=0.1), UNSLOTH, "the reference of a continued adapter is the base"),
        (DpoRecipe(load_in_4bit=True), CPU, "load_in_4bit needs a CUDA device"),
    ],
)
def test_what_a_backend_cannot_do_as_the_recipe_says(part: StageRecipe, backend: Backend, complaint: str) -> None:
    lines = unsuitable(part, backend)
    assert len(lines) == bool(complaint) and all(complaint in line for line in lines)


def test_emulated_bf16_is_never_chosen() -> None:
    from discover_lib.train.backend import precision

    assert [precision("auto", each) for each in (T4, GPU, CPU)] == ["fp16", "bf16", "fp32"]
