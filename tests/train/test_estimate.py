"""What a stage needs on a card: the arithmetic against published figures, and what is refused."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from discover_lib.train.estimate import (
    CARD_OF_RECIPE,
    CARDS,
    FITS,
    PUBLISHED,
    EstimateError,
    architecture_of,
    caution,
    estimate,
    misfit,
    name_note,
    published_name,
    refusal,
)
from discover_lib.train.recipes import STAGES, LoraRecipe, Recipe, beside_the_paper

LLAMA, QWEN = "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-8B"
ROWS = [{"messages": [{"role": "user", "content": "word " * 1500}]}] * 500


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "billions"),
    [(LLAMA, 8.03), (QWEN, 8.19), ("Qwen/Qwen3-4B", 4.02), ("HuggingFaceTB/SmolLM2-135M-Instruct", 0.1345),
     ("google/gemma-2-2b-it", 2.61), ("unsloth/Llama-3.2-1B-Instruct", 1.24), ("google/gemma-3-270m-it", 0.268),
     ("google/gemma-3-1b-it", 1.0), ("google/gemma-3-4b-it", 3.88), ("google/gemma-3-12b-it", 11.77),
     ("google/gemma-3-27b-it", 27.0)],
)  # fmt: skip
def test_the_shapes_of_the_table_have_the_weights_that_their_makers_name(base: str, billions: float) -> None:
    shape = architecture_of(base)
    assert shape.weights / 1e9 == pytest.approx(billions, rel=0.005) and "table" in shape.source


def test_adapter_and_cache_are_those_of_the_libraries() -> None:
    assert architecture_of(LLAMA).adapter(LoraRecipe(r=16)) == 41_943_040  # what peft prints for all seven modules
    assert architecture_of(QWEN).cache_bytes == 2 * 36 * 8 * 128 * 2


def test_a_configuration_on_this_machine_comes_before_the_table(tmp_path: Path) -> None:
    shape = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    (tmp_path / "config.json").write_text(json.dumps(shape | {"vocab_size": 10, "tie_word_embeddings": False}))
    own = architecture_of(str(tmp_path))
    assert (own.kv_heads, own.head, own.weights) == (2, 4, 2 * (8 * 4 * 8 + 3 * 8 * 16) + 2 * 10 * 8)
    assert own.source == f"config.json of {tmp_path}"
    half = tmp_path / "gemma-3-4b-it"
    half.mkdir()
    (half / "config.json").write_text(json.dumps({"text_config": {"hidden_size": 2560}}))
    assert architecture_of(str(half)) == architecture_of("google/gemma-3-4b-it")
    with pytest.raises(EstimateError, match=r"no config\.json on this machine and no entry"):
        architecture_of("nobody/knows-this")


@pytest.mark.parametrize(("base", "name"), [("Qwen/Qwen3-4B-Instruct-2507", "qwen3-4b"), ("x/other", None)])
def test_variants_have_the_shape_of_their_base(base: str, name: str | None) -> None:
    assert published_name(base) == name


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_an_8b_model_in_24_gb_at_16_bits_is_refused_and_in_4_bits_is_not(stage: str) -> None:
    (line,) = misfit(stage, QWEN, Recipe.paper(), CARDS["rtx4090"], "transformers")  # type: ignore[arg-type]
    assert line.startswith(f"{stage}: 8.2 billion weights need about ") and "load_in_4bit=true" in line
    lowered = dict(re.findall(rf"{stage}\.(\w+)=(\w+)", line))
    recipe = Recipe.paper().changed(stage, {name: json.loads(value) for name, value in lowered.items()})  # type: ignore[arg-type]
    assert line.endswith("or take the recipe 24gb") and misfit(stage, QWEN, recipe, CARDS["rtx4090"], "x") == []  # type: ignore[arg-type]
    assert misfit(stage, QWEN, Recipe.named("24gb"), CARDS["rtx4090"], "transformers") == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("base", "said", "login"),
    [(LLAMA, "was not looked up (a rehearsal uses no network)", True),
     ("meta-lama/Llama-3.1-8B-Instruct", "did you mean meta-llama/Llama-3.1-8B-Instruct?", True),
     ("unsloth/Llama-3.2-1B-Instruct", "meta-llama published it, and the name says unsloth", False),
     ("google/gemma-2-2b-it", "", True), (QWEN, "", False), ("qwen/Qwen3-8B", "did you mean Qwen/Qwen3-8B?", False)],
)  # fmt: skip
def test_a_name_that_only_the_table_knows_says_so(base: str, said: str, login: bool) -> None:
    note = name_note(base)
    assert said in note and ("hf auth login" in note) == login


def test_every_model_of_the_table_has_a_maker() -> None:
    assert all(name_note(f"somebody/{name}") for name in PUBLISHED) and name_note("somebody/else") == ""


def test_a_card_without_bf16_refuses_it_and_nothing_else_of_the_recipe() -> None:
    recipe = Recipe.t4().changed("sft", {"precision": "bf16"})
    base = architecture_of("Qwen/Qwen3-4B")
    lines = [refusal(stage, base, recipe, CARDS["t4"], "transformers") for stage in STAGES]
    assert lines == ["sft: precision bf16 would be emulated on t4, many times slower; use auto or fp16", "", ""]
    assert not any(refusal(stage, base, recipe, CARDS["l4"], "transformers") for stage in STAGES)


def test_what_is_there_whatever_the_batch_is_adds_up() -> None:
    needed = estimate("sft", architecture_of(LLAMA), Recipe.named("24gb"), CARDS["rtx4090"], ())
    trained = architecture_of(LLAMA).adapter(LoraRecipe())
    assert (needed.adapter, needed.optimizer) == (trained * 8 / 2**30, trained * 2 / 2**30)
    said = [float(each) for each in re.findall(r"\d+\.\d", needed.parts)]
    assert said == [7.7, 5.4, 0.6, 0.2, 1.5] and sum(said[1:]) == pytest.approx(said[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", CARD_OF_RECIPE)
@pytest.mark.parametrize("stage", STAGES)
def test_no_preset_asks_for_more_than_its_card_may_have(name: str, stage: str) -> None:
    card, recipe = CARDS[CARD_OF_RECIPE[name]], Recipe.named(name)
    base = architecture_of("Qwen/Qwen3-4B" if name == "t4" else LLAMA)
    needed = estimate(stage, base, recipe, card, ROWS, "transformers")  # type: ignore[arg-type]
    assert needed.fits in ("yes", "perhaps") and needed.hours > 0
    assert recipe.problems(stage) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CARD_OF_RECIPE)
def test_the_table_of_the_documents_is_what_the_estimate_and_the_recipe_say(name: str) -> None:
    base = architecture_of("Qwen/Qwen3-4B" if name == "t4" else LLAMA)
    recipe, card = Recipe.named(name), CARDS[CARD_OF_RECIPE[name]]
    fits = ", ".join(f"{each} {FITS[estimate(each, base, recipe, card, ()).fits]}" for each in STAGES)
    table = (Path(__file__).parents[2] / "docs" / "training.md").read_text("utf-8").splitlines()
    (row,) = [line for line in table if line.startswith(f"| `{name}` |")]
    assert row.endswith(f"| {fits} | {beside_the_paper(recipe)} |")


def test_a_stage_that_may_fit_says_what_to_lower_to_be_sure() -> None:
    base, recipe, card = architecture_of(LLAMA), Recipe.named("24gb"), CARDS["rtx4090"]
    lines = [caution(stage, base, recipe, card, "transformers") for stage in STAGES]
    assert lines == [
        "",
        "dpo may not fit rtx4090: to be sure, set dpo.max_length=2048, or take the recipe t4",
        "grpo may not fit rtx4090: to be sure, set grpo.max_length=2048, or take the recipe t4",
    ]
    surer = recipe.changed("dpo", {"max_length": 2048})
    assert estimate("dpo", base, surer, card, ()).fits == "yes"
    nothing = caution("grpo", architecture_of(QWEN), Recipe.t4(), CARDS["t4"], "transformers")
    assert nothing == "grpo may not fit t4: to be sure, take a larger card or a smaller base"


def test_the_paper_s_sft_of_an_8b_model_takes_minutes_and_the_line_says_so() -> None:
    needed = estimate("sft", architecture_of(QWEN), Recipe.paper(), CARDS["a100-80"], ROWS)
    assert needed.steps == 96 and 0.1 < needed.hours < 1
    assert needed.line.startswith("sft on a100-80: 18.1 + 29.6 (± 14.8) GiB of 80: fits; 96 updates, ")
    spans = {
        4.0: "2.0 h to 6.0 h",
        1.0: "30 min to 1.5 h",
        0.02: "1 min to 2 min",
        0.013: "1 min",
        0.008: "under a minute",
    }
    for hours, said in spans.items():
        assert dataclasses.replace(needed, hours=hours).line.endswith(f"96 updates, {said}")
