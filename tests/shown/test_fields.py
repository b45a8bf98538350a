"""Fields of a record as controls and back, and settings typed on a command line."""

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.train.recipes import assignments
from workbench.controls import field_controls, read_fields


@dataclass(frozen=True)
class Record:
    learning_rate: float = 5e-6
    epochs: int = 3
    limit: int | None = None
    reference: Literal["merged", "continue"] = "merged"
    packing: bool = False
    targets: tuple[str, ...] = ("q_proj", "v_proj")
    weights: tuple[float, ...] = (1.0, 0.2)
    name: str = "paper"


@pytest.mark.slow
def test_every_field_comes_back_as_it_was() -> None:
    controls = field_controls(Record(), "x.")
    assert list(controls) == [f"x.{name}" for name in Record.__dataclass_fields__]
    assert read_fields(Record(), {name: each.value for name, each in controls.items()}, "x.") == Record()


@pytest.mark.parametrize(
    ("name", "typed", "read"),
    [
        ("learning_rate", "1e-4", 1e-4),
        ("learning_rate", " −2 ", -2.0),
        ("epochs", "2", 2),
        ("epochs", "4e1", 40),
        ("limit", "", None),
        ("limit", "7", 7),
        ("targets", "a, b,", ("a", "b")),
        ("weights", "1, 0.5", (1.0, 0.5)),
        ("packing", True, True),
        ("reference", "continue", "continue"),
    ],
)
def test_what_is_typed_is_read_by_the_fields_type(name: str, typed: Any, read: Any) -> None:
    found = getattr(read_fields(Record(), {name: typed}), name)
    assert found == read and type(found) is type(read)


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("learning_rate", "fast", "learning rate: invalid number 'fast'"),
        ("learning_rate", "", "learning rate: invalid number ''"),
        ("learning_rate", "inf", "finite"),
        ("epochs", "1.5", "epochs: a whole number is needed"),
        ("weights", "1; 2", "weights: invalid number '1; 2'"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(name: str, typed: str, said: str) -> None:
    with pytest.raises(DiscoverError, match=said):
        read_fields(Record(), {name: typed})


def test_settings_of_a_command_line() -> None:
    given = ["learning_rate=1e-4", "loss=sigmoid", "packing=True", 'kinds=["a"]', "limit=None", "epochs=2"]
    assert assignments(given) == {
        "learning_rate": 1e-4, "loss": "sigmoid", "packing": True, "kinds": ["a"], "limit": None, "epochs": 2,
    }  # fmt: skip
    for wrong in (["rate"], ["=3"], ["rate=1", "rate=2"]):
        with pytest.raises(DiscoverError):
            assignments(wrong)
