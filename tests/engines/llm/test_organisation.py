"""What code makes of a model's forest: its defects, edges that are denied, and what is said of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib.core.intents import Intent
from discover_lib.engines.llm import organisation
from discover_lib.engines.llm.answers import Hierarchy, SupersetCheck
from discover_lib.engines.llm.organisation import Items, denials, edges, hierarchy_defect, what_to_change

ITEMS = Items({"0.1": "tabby cat", "0.2": "red boots", "1.1": "cat", "1.2": "footwear", "2.1": "animal"}, {})
GOOD = {"0.1": "1.1", "0.2": "1.2", "1.1": "2.1", "1.2": None, "2.1": None}


def places(changes: dict[str, str | None], same: dict[str, str] | None = None) -> Hierarchy:
    same = same or {}
    rows = [{"id": key, "parent": parent, "same_as": same.get(key)} for key, parent in (GOOD | changes).items()]
    return Hierarchy.model_validate({"items": rows})


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (places({}), None),
        (places({"0.1": "2.1"}), None),  # levels may be skipped
        (places({"0.1": None}, {"0.1": "1.1"}), None),
        (places({"0.2": None, "1.2": "drop"}), None),
        (places({"3.1": None}), "there is no item '3.1'"),
        (Hierarchy.model_validate({"items": [{"id": "0.1", "parent": None}]}), "no entry for item 0.2, 1.1, 1.2, 2.1"),
        (Hierarchy(items=[*places({}).items, places({}).items[0]]), "'0.1' has more than one entry"),
        (places({"1.1": "1.2"}), "not on a broader level"),
        (places({"0.1": "5.5"}), "which is no item of the forest"),
        (places({"1.1": None}, {"1.1": "2.1"}), "which is no item of the forest"),  # 0.1 stands below what is gone
        (places({"1.2": "drop"}), "which is no item of the forest"),
        (places({"0.1": "drop"}), "[0.1] is of level 0 and stays"),
        (places({"0.1": "1.1"}, {"0.1": "1.1"}), "must be an item that stays"),
    ],
)
def test_defects_of_a_hierarchy(answer: Hierarchy, complaint: str | None) -> None:
    found = hierarchy_defect(answer, ITEMS)
    assert found is None if complaint is None else complaint in str(found)


def test_a_circle_of_items_on_two_levels_is_a_defect() -> None:
    items = Items(ITEMS.texts, {"0.1": 2, "0.2": 2})
    assert hierarchy_defect(places({"0.1": "0.2", "0.2": "0.1"}), items) == "[0.1] stands below itself"


def test_a_forest_keeps_texts_and_order_and_gives_dotted_ids() -> None:
    parents = organisation.parents_of(places({"0.1": None}, {"0.1": "1.1"}))
    first, second = organisation.forest(parents, ITEMS.texts)
    assert first == Intent("1", "footwear", (Intent("1.1", "red boots"),))
    assert second == Intent("2", "animal", (Intent("2.1", "cat"),))


def test_what_is_denied_is_named_with_a_better_place_and_the_number_of_trees() -> None:
    pair = {"reason": "no", "narrow_implies_broad": False, "broad_implies_narrow": False}
    pairs = [{"number": 1, **pair, "instead": 2}, {"number": 2, **pair, "narrow_implies_broad": True}]
    asked = [("0.1", "1.1"), ("1.1", "2.1")]
    said = denials(SupersetCheck.model_validate({"pairs": pairs}), asked, ITEMS.texts)
    line = "[0.1] 'tabby cat' does not imply [1.1] 'cat' (no); it does imply [2.1] 'animal'"
    assert said == {("0.1", "1.1"): line, ("1.1", "2.1"): ""}
    assert what_to_change(GOOD, said).startswith(f"{line}; so there are 2 trees, [0.1], [1.2]: two to five are wanted")
    assert what_to_change(GOOD | {"0.1": "2.1"}, said) == "", "an edge of another forest"
    many = {f"0.{number}": None for number in range(1, 8)}
    assert what_to_change(many, {}).startswith("there are 7 trees, [0.1], ") and what_to_change(GOOD, {}) == ""


@pytest.mark.slow
@given(st.sets(st.sampled_from(edges(GOOD))))
def test_whatever_is_denied_no_such_edge_stands_and_every_wish_does(denied: set[tuple[str, str]]) -> None:
    kept, level_of = organisation.without(GOOD, dict.fromkeys(denied, "no")), organisation.level_of
    assert not denied & set(edges(kept)) and all(parent is None or parent in kept for parent in kept.values())
    assert [key for key in kept if level_of(key) == 0] == ["0.1", "0.2"], "in their order"
    assert {key for key in kept if level_of(key) > 0} <= set(kept.values()), "nothing broad without more precise"


def test_unchanged_items_of_several_levels_are_one() -> None:
    items = Items.of_levels([["A tabby cat", "Red boots"], ["A cat", "Red boots."], ["An animal", "Boots"]])
    assert items.texts == {"0.1": "A tabby cat", "0.2": "Red boots", "1.1": "A cat", "2.1": "An animal", "2.2": "Boots"}
    assert items.highest == {"0.2": 1}
