"""What a stage needs on a card: the arithmetic against published figures, and what is refused."""

import json
import re
from pathlib import Path

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.train.estimate import (
    CARD_OF_RECIPE,
    CARDS,
    Architecture,
    architecture_of,
    estimate,
    forecast,
    misfit,
    refusal,
)
from discover_lib.train.recipes import STAGES, LoraRecipe, Recipe
from discover_lib.train.run_stage import StageSettings

LLAMA = Architecture(4096, 32, 32, 8, 128, 14336, 128256, tied=False)  # 3.1 of 8B
QWEN = Architecture(4096, 36, 32, 8, 128, 12288, 151936, tied=False)  # Qwen3-8B
QWEN_4B = Architecture(2560, 36, 32, 8, 128, 9728, 151936, tied=True)


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


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_an_8b_model_in_24_gb_at_16_bits_is_refused_and_in_4_bits_is_not(stage: str) -> None:
    line = refusal(stage, QWEN, Recipe.paper(), CARDS["rtx4090"], "transformers")  # type: ignore[arg-type]
    assert line.startswith(f"{stage}: 8.2 billion weights need about ") and "load_in_4bit=true" in line
    lowered = dict(re.findall(rf"{stage}\.(\w+)=(\w+)", line))
    recipe = Recipe.paper().changed(stage, {name: json.loads(value) for name, value in lowered.items()})  # type: ignore[arg-type]
    assert not refusal(stage, QWEN, recipe, CARDS["rtx4090"], "x")  # type: ignore[arg-type]
    assert not refusal(stage, QWEN, Recipe.named("24gb"), CARDS["rtx4090"], "transformers")  # type: ignore[arg-type]


def test_of_a_base_without_a_configuration_nothing_is_said_to_be_too_large() -> None:
    assert misfit("sft", "nobody/knows-this", Recipe.paper(), CARDS["t4"], "transformers") == []


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
    memory = f"{needed.fixed:.1f} + {needed.batch:.1f} (± {needed.batch / 2:.1f}) of 80 GiB"
    assert needed.line == f"fits on a100-80 ({memory}), at most 32,000 tokens per update"
    assert estimate("sft", QWEN, Recipe.paper(), CARDS["t4"]).line.startswith("does not fit on t4 (")


def test_a_forecast_knows_the_time_of_the_tiny_model(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    settings = StageSettings("sft", "rows", str(base), recipe=Recipe.miniature())
    assert forecast(settings, 90) == "102 updates; the time on this machine is unknown"
    (base / "tiny.json").write_text('{"domains": []}')
    assert forecast(settings, 90) == "102 updates, about 41 s on one processor core"
