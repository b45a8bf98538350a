"""Records: to JSON and back by name, and one clear line for what is not of their form."""

import dataclasses
import enum
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import modest

from discover_lib.base.records import Record, RecordError


class Shade(enum.IntEnum):
    DARK = 0
    LIGHT = 1


@dataclasses.dataclass(frozen=True)
class Leaf(Record, omit=("note",)):
    name: str
    weight: float = 1.0
    note: str | None = None


@dataclasses.dataclass(frozen=True)
class Tree(Record, written=("leaves", "kind", "half", "shade", "shades", "tags", "pair", "below", "first", "extra")):
    kind: Literal["oak", "elm"]
    leaves: tuple[Leaf, ...]
    shade: Shade
    shades: Mapping[str, Shade]
    tags: frozenset[str]
    pair: Mapping[str, tuple[int, int]]
    first: Leaf | None = None
    below: Sequence["Tree"] = dataclasses.field(default_factory=list)
    half: tuple[Shade | None, ...] | None = None
    extra: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Sum(Record, derived=("total",)):
    one: int
    other: int

    @property
    def total(self) -> int:
        return self.one + self.other


names = st.text(max_size=5)
shades = st.sampled_from(Shade)
leaves = st.builds(Leaf, names, st.floats(allow_nan=False), st.none() | names)


def trees_above(below: st.SearchStrategy[list[Tree]]) -> st.SearchStrategy[Tree]:
    return st.builds(
        Tree,
        kind=st.sampled_from(["oak", "elm"]),
        leaves=st.lists(leaves, max_size=2).map(tuple),
        shade=shades,
        shades=st.dictionaries(names, shades, max_size=2),
        tags=st.frozensets(names, max_size=2),
        pair=st.dictionaries(names, st.tuples(st.integers(), st.integers()), max_size=1),
        first=st.none() | leaves,
        half=st.none() | st.lists(st.none() | shades, max_size=2).map(tuple),
        extra=st.dictionaries(names, st.integers() | st.lists(names, max_size=2), max_size=1),
        below=below,
    )


@pytest.mark.slow
@modest
@given(trees_above(st.lists(trees_above(st.just([])), max_size=1)))
def test_what_goes_into_json_comes_back_the_same(tree: Tree) -> None:
    text = json.dumps(tree.to_dict())
    assert Tree.from_dict(json.loads(text)) == tree
    assert json.dumps(Tree.from_dict(json.loads(text)).to_dict()) == text


def test_the_plain_form_is_what_the_hints_say() -> None:
    tree = Tree("oak", (Leaf("a"),), Shade.DARK, {"b": Shade.LIGHT}, frozenset({"z", "y"}), {"c": (1, 2)})
    assert list(tree.to_dict().items()) == [
        ("leaves", [{"name": "a", "weight": 1.0}]), ("kind", "oak"), ("half", None), ("shade", "dark"),
        ("shades", {"b": "light"}), ("tags", ["y", "z"]), ("pair", {"c": [1, 2]}), ("below", []), ("first", None),
        ("extra", {}),
    ]  # fmt: skip


def test_a_field_at_its_default_may_be_left_out_and_a_derived_one_is_written_but_not_read() -> None:
    assert Leaf("a", note="b").to_dict() == {"name": "a", "weight": 1.0, "note": "b"}
    assert Leaf.from_dict({"name": "a"}) == Leaf("a")
    assert Sum(1, 2).to_dict() == {"one": 1, "other": 2, "total": 3}
    assert Sum.from_dict({"other": 2, "one": 1, "total": 99}) == Sum(1, 2)


GOOD = Tree("oak", (), Shade.DARK, {}, frozenset(), {}).to_dict()


@pytest.mark.parametrize(
    ("record", "data", "says"),
    [
        (Sum, {"one": 1, "othr": 2}, "Sum: 'other' is missing, 'othr' is unknown"),
        (Sum, [1, 2], "Sum: must be an object, got [1, 2]"),
        (Tree, GOOD | {"shade": "grey"}, "Tree: 'shade' cannot be 'grey'"),
        (Tree, GOOD | {"leaves": 3}, "Tree: 'leaves' cannot be 3"),
        (Tree, GOOD | {"shades": ["dark"]}, "Tree: 'shades' cannot be ['dark']"),
        (Tree, GOOD | {"leaves": [{"nme": "a"}]}, "Leaf: 'name' is missing, 'nme' is unknown"),
    ],
)
def test_what_is_not_of_the_form_is_one_line_that_names_the_field(record: type[Record], data: Any, says: str) -> None:
    with pytest.raises(RecordError) as error:
        record.from_dict(data)
    assert str(error.value) == says
