"""What cannot be trained is refused at once, before a model is loaded, in one line that says what to do."""

import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from chat_models import FAMILIES, make_chat_model
from training import make_data

from discover_lib.base.errors import DiscoverError
from discover_lib.engines.local.lineage import Lineage, Source
from discover_lib.train.backend import Backend, precision, unsuitable
from discover_lib.train.recipes import DpoRecipe, GrpoRecipe, Recipe, SftRecipe, StageRecipe
from discover_lib.train.run_stage import StageSettings, run_stage

DOMAIN = "technical_writing"
LONGEST_SECONDS = 30.0

GPU = Backend("transformers", "cuda", "a GPU")
T4 = Backend("transformers", "cuda", "a T4", bf16=False)
UNSLOTH = Backend("unsloth", "cuda", "a GPU")
CPU = Backend("transformers", "cpu", "none")


SHOUTED = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\n' }}{% endfor %}"
TEMPLATES = {"untemplated": "", "shouted": SHOUTED, "first": "{{ messages[0]['content'] }}"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows in text, in notation and with a system message; bases of several templates; a stage without an adapter."""
    folder = tmp_path_factory.mktemp("refusals")
    make_data(folder / "data", turns=2, domain=DOMAIN, text="content")
    make_data(folder / "notation", turns=2, domain=DOMAIN)
    make_data(folder / "system", turns=2, domain=DOMAIN, text="content", system="Be kind.")
    for family, name in (("llama3.1", "base"), ("gemma", "gemma")):
        make_chat_model(FAMILIES[family], folder / name, ["some words to learn letters from"] * 9)
    for name, template in TEMPLATES.items():
        shutil.copytree(folder / "base", folder / name)
        (folder / name / "chat_template.jinja").unlink()
        if template:
            (folder / name / "chat_template.jinja").write_text(template)
    (folder / "unfinished").mkdir()
    about = ({}, "unfinished", 0, "transformers")
    Lineage("sft", Source(str(folder / "base")), (), Recipe.paper().to_dict(), *about).write(folder / "unfinished")
    return folder


# Stage, settings (folders below the place; `changes` of the recipe's part) and what is said of them.
REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    ("sft", {"base": "untemplated"}, "has no chat template"),
    ("sft", {"base": "shouted"}, "which its settings do not name as an end"),
    ("sft", {"base": "first"}, "omits replies"),
    ("sft", {"base": "gemma", "data": "system/sft"}, "refuses a conversation: System role not supported"),
    ("sft", {"system": "collaborative"}, "exported rows with another system message"),
    ("sft", {"changes": {"max_length": 9999}}, "more than the 4096 tokens"),
    ("dpo", {"adapter": "unfinished"}, "the training has no adapter yet"),
    ("dpo", {"data": "data/sft"}, "preference rows are needed"),
    ("sft", {"data": "notation/sft"}, "the base needs content"),
    ("grpo", {"thinking": True, "changes": {"multi_turn": 2}}, "thoughts of earlier turns are not read again"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("stage", "told", "complaint"), REFUSED)
def test_what_cannot_be_trained_is_refused_at_once_in_one_line(
    stage: Any, told: dict[str, Any], complaint: str, place: Path, tmp_path: Path
) -> None:
    settings = {"data": f"data/{stage}", "base": "base", **told}
    few = {"batch": 2, "per_device": 1, "max_length": 4096, **settings.pop("changes", {})}
    recipe = Recipe.paper().changed(stage, {**few, **({"n_generations": 2} if stage == "grpo" else {})})
    settings |= {name: str(place / settings[name]) for name in ("data", "base", "adapter") if name in settings}
    begun = time.process_time()
    with pytest.raises(DiscoverError) as error:
        run_stage(StageSettings(stage, recipe=recipe, **settings), tmp_path / "run", on_progress=print)
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
        (DpoRecipe(load_in_4bit=True), CPU, "load_in_4bit needs a CUDA device"),
        (SftRecipe(precision="fp16"), CPU, "fp16 needs a CUDA device"),
        (SftRecipe(optimizer="adamw_8bit"), CPU, "adamw_8bit needs a CUDA device"),
    ],
)
def test_what_a_backend_cannot_do_as_the_recipe_says(part: StageRecipe, backend: Backend, complaint: str) -> None:
    lines = unsuitable(part, backend)
    assert len(lines) == bool(complaint) and all(complaint in line for line in lines)


def test_emulated_bf16_is_never_chosen() -> None:
    assert [precision("auto", each) for each in (T4, GPU, CPU)] == ["fp16", "bf16", "fp32"]
