"""What a stage needs on a card, against published figures, and what is refused at once in one line."""

import json
import re
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
from discover_lib.train.estimate import (
    CARD_OF_RECIPE,
    CARDS,
    CONTEXT_GIB,
    ERROR,
    Architecture,
    architecture_of,
    estimate,
    forecast,
    refusal,
)
from discover_lib.train.recipes import STAGES, DpoRecipe, GrpoRecipe, LoraRecipe, Recipe, SftRecipe, StageRecipe
from discover_lib.train.run_stage import StageSettings, run_stage

LLAMA = Architecture(4096, 32, 32, 8, 128, 14336, 128256, tied=False)  # 3.1 of 8B
QWEN = Architecture(4096, 36, 32, 8, 128, 12288, 151936, tied=False)  # Qwen3-8B
QWEN_4B = Architecture(2560, 36, 32, 8, 128, 9728, 151936, tied=True)
QWEN_06B = Architecture(1024, 28, 16, 8, 128, 3072, 151936, tied=True)


@pytest.mark.parametrize(("base", "billions"), [(LLAMA, 8.03), (QWEN, 8.19), (QWEN_4B, 4.02)])
def test_a_shape_has_the_weights_that_its_maker_names(base: Architecture, billions: float) -> None:
    assert base.weights / 1e9 == pytest.approx(billions, rel=0.005)


def test_adapter_and_cache_are_those_of_the_libraries() -> None:
    assert LLAMA.adapter(LoraRecipe(r=16)) == 41_943_040  # what peft prints for all seven modules
    assert QWEN.cache_bytes == 2 * 36 * 8 * 128 * 2


def test_the_shape_is_that_of_the_configuration_on_this_machine(tmp_path: Path) -> None:
    shape = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    file = tmp_path / "config.json"
    file.write_text(json.dumps(shape | {"vocab_size": 10, "tie_word_embeddings": False}))
    for base in (tmp_path, file):
        own = architecture_of(str(base))
        assert (own.kv_heads, own.head, own.weights) == (2, 4, 2 * (8 * 4 * 8 + 3 * 8 * 16) + 2 * 10 * 8)
    file.write_text(json.dumps({"text_config": {"hidden_size": 2560}}))
    with pytest.raises(DiscoverError, match="has no 'num_attention_heads'; only plain decoders have an estimate"):
        architecture_of(str(tmp_path))
    with pytest.raises(DiscoverError, match=r"^nobody/knows-this: no config\.json on this machine, so the memory"):
        architecture_of("nobody/knows-this")


WHOLE = {"gradient_checkpointing": False}
# Peak of torch's allocator in GiB on an H100, with rows of exactly this length: docs/measured.md.
MEASURED: list[tuple[Architecture, Any, str, int, int, dict[str, Any], float]] = [
    (QWEN_06B, "sft", "transformers", 4, 2048, {}, 15.78),
    (QWEN_06B, "dpo", "transformers", 2, 2048, {}, 13.46),
    (QWEN_06B, "grpo", "transformers", 4, 2112, {"max_completion": 64}, 11.28),
    (QWEN_06B, "sft", "transformers", 2, 1024, WHOLE, 9.32),
    (QWEN, "sft", "transformers", 4, 4096, {}, 49.25),
    (QWEN, "dpo", "transformers", 2, 4096, {}, 44.62),
    (QWEN, "sft", "transformers", 1, 4096, {}, 24.82),
    (QWEN, "dpo", "transformers", 1, 4096, {}, 30.64),
    (QWEN, "grpo", "transformers", 4, 4352, {"max_completion": 256}, 57.72),
    (QWEN, "sft", "unsloth", 4, 4096, {}, 20.67),
    (QWEN, "dpo", "unsloth", 2, 4096, {}, 40.31),
]


@pytest.mark.parametrize(("base", "stage", "backend", "per_device", "length", "others", "peak"), MEASURED)
def test_the_estimate_agrees_with_the_peak_that_a_gpu_had(
    base: Architecture, stage: Any, backend: str, per_device: int, length: int, others: dict[str, Any], peak: float
) -> None:
    recipe = Recipe.paper().changed(stage, {"per_device": per_device, "max_length": length, **others})
    needed = estimate(stage, base, recipe, CARDS["h100"], backend)
    assert needed.fixed + needed.batch - CONTEXT_GIB == pytest.approx(peak, rel=0.1)
    assert needed.batch == pytest.approx(peak - (needed.fixed - CONTEXT_GIB), rel=0.2)


def test_replies_of_a_server_on_another_card_need_no_room_for_the_prompts_of_a_batch() -> None:
    elsewhere = Recipe.paper().changed("grpo", {"generation": "vllm-server"})
    here, there = (estimate("grpo", QWEN, each, CARDS["h100"]).batch for each in (Recipe.paper(), elsewhere))
    assert there < here / 3


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_an_8b_model_in_24_gb_at_16_bits_is_refused_and_in_4_bits_is_not(stage: str) -> None:
    line = refusal(stage, QWEN, Recipe.paper(), CARDS["rtx4090"], "transformers")  # type: ignore[arg-type]
    assert line.startswith(f"{stage}: 8.2 billion weights need about ") and "load_in_4bit=true" in line
    lowered = dict(re.findall(rf"{stage}\.(\w+)=(\w+)", line))
    recipe = Recipe.paper().changed(stage, {name: json.loads(value) for name, value in lowered.items()})  # type: ignore[arg-type]
    assert not refusal(stage, QWEN, recipe, CARDS["rtx4090"], "x")  # type: ignore[arg-type]
    assert not refusal(stage, QWEN, Recipe.named("24gb"), CARDS["rtx4090"], "transformers")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("name", CARD_OF_RECIPE)
@pytest.mark.parametrize("stage", STAGES)
def test_no_preset_asks_for_more_than_its_card_may_have(name: str, stage: str) -> None:
    card, recipe = CARDS[CARD_OF_RECIPE[name]], Recipe.named(name)
    base = QWEN_4B if name == "t4" else LLAMA
    needed = estimate(stage, base, recipe, card, "transformers")  # type: ignore[arg-type]
    assert needed.fits in ("yes", "perhaps")


def test_one_line_says_the_verdict_the_memory_and_the_tokens() -> None:
    recipe = Recipe.paper().changed("dpo", {"batch": 16, "per_device": 2, "max_length": 1000})
    needed = estimate("dpo", QWEN_4B, recipe, CARDS["a100-80"])
    assert needed.tokens == 2 * 16 * 1000  # both replies of every pair
    memory = f"{needed.fixed:.1f} + {needed.batch:.1f} (± {needed.batch * ERROR:.1f}) of 80 GiB"
    assert needed.line == f"fits on a100-80 ({memory}), at most 32,000 tokens per update"
    assert estimate("sft", QWEN, Recipe.paper(), CARDS["t4"]).line.startswith("does not fit on t4 (")


def test_a_forecast_knows_the_time_of_the_tiny_model(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    settings = StageSettings("sft", "rows", str(base), recipe=Recipe.miniature())
    assert forecast(settings, 90) == "102 updates; the time on this machine is unknown"
    (base / "tiny.json").write_text('{"domains": []}')
    assert forecast(settings, 90) == "102 updates of the model, about 56 s with loading, on one processor core"


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
