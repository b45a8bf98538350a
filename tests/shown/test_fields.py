"""Fields of a recipe as controls and back, and settings typed on a command line."""

from typing import Any

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.train.recipes import Recipe, assignments
from workbench.controls import changed_fields, field_controls

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("part", ["lora", "sft", "dpo", "grpo"])
def test_every_field_comes_back_as_it_was(part: str) -> None:
    record = getattr(Recipe.miniature(), part)
    controls = field_controls(record, "x.")
    assert list(controls) == [f"x.{name}" for name in record.__dataclass_fields__]
    assert changed_fields(record, {name: each.value for name, each in controls.items()}, "x.") == {}


@pytest.mark.parametrize(
    ("name", "typed", "read"),
    [
        ("learning_rate", "1e-4", 1e-4),
        ("max_steps", "", None),
        ("max_steps", "7", 7),
        ("schedule", "linear", "linear"),
        ("load_in_4bit", True, True),
        ("lora.targets", '["q_proj"]', ("q_proj",)),
    ],
)
def test_what_is_typed_is_read_by_the_fields_type(name: str, typed: Any, read: Any) -> None:
    recipe = Recipe.miniature()
    part, prefix = (recipe.lora, "lora.") if name.startswith("lora.") else (recipe.sft, "")
    values = {key: each.value for key, each in field_controls(part, prefix).items()} | {name: typed}
    changes = {f"{prefix}{key}": value for key, value in changed_fields(part, values, prefix).items()}
    changed = recipe.changed("sft", changes)
    found = getattr(changed.lora if prefix else changed.sft, name.removeprefix(prefix))
    assert list(changes) == [name] and found == read and type(found) is type(read)


@pytest.mark.parametrize(("name", "typed"), [("learning_rate", "fast"), ("batch", "1.5"), ("learning_rate", "")])
def test_what_cannot_be_read_is_refused_by_name(name: str, typed: str) -> None:
    sft = Recipe.miniature().sft
    values = {key: each.value for key, each in field_controls(sft).items()} | {name: typed}
    with pytest.raises(DiscoverError, match=f"sft.{name}: "):
        Recipe.miniature().changed("sft", changed_fields(sft, values))


def test_settings_of_a_command_line() -> None:
    given = ["learning_rate=1e-4", "loss=sigmoid", "packing=True", 'kinds=["a"]', "limit=None", "epochs=2"]
    assert assignments(given) == {
        "learning_rate": 1e-4, "loss": "sigmoid", "packing": True, "kinds": ["a"], "limit": None, "epochs": 2,
    }  # fmt: skip
    for wrong in (["rate"], ["=3"], ["rate=1", "rate=2"]):
        with pytest.raises(DiscoverError):
            assignments(wrong)
