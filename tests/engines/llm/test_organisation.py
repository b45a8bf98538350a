"""What code makes of a model's forest: hand-worked cases of what is moved, cut, joined and left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discover_lib.core.intents import Intent, IntentTree
from discover_lib.engines.llm import builder
from discover_lib.engines.llm.answers import Hierarchy, SupersetCheck
from discover_lib.engines.llm.organisation import (
    MOST_TREES,
    Dispute,
    Items,
    Mended,
    disputes,
    edges,
    forest,
    hierarchy_defect,
    level_of,
    mend,
    parents_of,
    what_to_change,
)

TEXTS = {"0.1": "tabby cat", "0.2": "red boots", "1.1": "cat", "1.2": "footwear", "2.1": "animal", "2.2": "clothes"}
ITEMS = Items(TEXTS, {})
GOOD = {"2.1": None, "1.1": "2.1", "0.1": "1.1", "2.2": None, "1.2": "2.2", "0.2": "1.2"}


def test_a_forest_without_defects_stays_as_it_is() -> None:
    assert mend(GOOD, ITEMS) == Mended(GOOD)


@pytest.mark.parametrize(
    ("dispute", "changed", "note", "cuts"),
    [
        pytest.param(Dispute("0.1", "1.1", better="2.1"), {"0.1": "2.1"}, "moved below 'animal'", 0, id="better place"),
        pytest.param(Dispute("1.1", "2.1"), {"1.1": None}, "a tree of its own", 1, id="none named"),
        pytest.param(Dispute("1.1", "2.1", better="1.2"), {"1.1": None}, "a tree of its own", 1, id="no broader level"),
        pytest.param(Dispute("1.1", "2.1", better="2.1"), {"1.1": None}, "a tree of its own", 1, id="the denied one"),
        pytest.param(Dispute("0.1", "2.1"), {}, "", 0, id="no edge of the forest"),
    ],
)
def test_a_denied_edge_goes(dispute: Dispute, changed: dict[str, str | None], note: str, cuts: int) -> None:
    mended = mend(GOOD, ITEMS, [dispute], most_trees=None)
    assert dict(mended.parents) == GOOD | changed and len(mended.cut) == cuts and not mended.lost
    assert list(mended.parents) == list(GOOD), "everything keeps its place"
    assert note in " ".join(mended.notes)


def test_of_two_that_ask_for_the_same_the_more_precise_stays_where_it_is_all_there_is() -> None:
    mended = mend(GOOD, ITEMS, [Dispute("0.1", "1.1", same=True)])
    assert mended.parents == {"2.1": None, "0.1": "2.1", "2.2": None, "1.2": "2.2", "0.2": "1.2"}
    two = GOOD | {"0.2": "1.1", "1.2": None, "2.2": None}
    mended = mend(two, ITEMS, [Dispute("0.1", "1.1", same=True)], most_trees=None)
    assert "0.1" not in mended.parents and mended.parents["0.2"] == "1.1"


# A sailing boat, organised and checked by a capable model that was played by hand.
BOAT = {
    "0.1": "two sails, one on each side of a single mast",
    "0.2": "sails bulge outwards",
    "0.3": "lower edges of the sails are scooped",
    "0.4": "the left sail is amber",
    "0.5": "the right sail is a deeper orange than the left one",
    "0.6": "hull and mast are pale grey",
    "0.7": "a lighter rail along the hull",
    "0.8": "water is a straight-edged flat blue band",
    "0.9": "water covers the lowest part of the hull",
    "0.10": "every shape is a flat fill",
    "1.1": "two sails on a single mast",
    "1.2": "sails have curved edges",
    "1.3": "two different warm colours",
    "1.4": "hull and mast are grey",
    "1.5": "a line of another tone runs along the hull",
    "1.6": "water is a flat blue band",
    "1.7": "water covers part of the hull",
    "2.1": "more than one sail",
    "2.3": "sails are in warm colours",
    "2.4": "hull and mast are in a neutral colour",
    "2.5": "the hull shows a detail of its own",
    "2.6": "blue water below the boat",
    "2.7": "kept in a flat style",
    "3.1": "sails of a particular shape and number",
    "3.2": "sails differ in colour from the rest of the boat",
    "3.3": "water is shown",
}
BOAT_PARENTS = {
    **{"3.1": None, "2.1": "3.1", "1.1": "2.1", "0.1": "1.1", "1.2": "3.1", "0.2": "1.2", "0.3": "1.2"},
    **{"3.2": None, "2.3": "3.2", "1.3": "2.3", "0.4": "1.3", "0.5": "1.3", "2.4": "3.2", "1.4": "2.4", "0.6": "1.4"},
    **{"3.3": None, "2.6": "3.3", "1.6": "2.6", "0.8": "1.6", "1.7": "3.3", "0.9": "1.7"},
    **{"2.7": None, "0.10": "2.7", "2.5": None, "1.5": "2.5", "0.7": "1.5"},
}
BOAT_DENIED = [
    Dispute("2.1", "3.1"),
    Dispute("1.2", "3.1"),
    Dispute("2.3", "3.2"),
    Dispute("0.4", "1.3", "amber left, blue right", better="2.3"),
    Dispute("2.4", "3.2"),
]


def test_no_denied_edge_stands_and_the_trees_of_least_worth_go_in_the_order_of_what_matters() -> None:
    mended = mend(BOAT_PARENTS, Items(BOAT, {}), BOAT_DENIED)
    trees = forest(mended.parents, BOAT)
    assert [tree.text for tree in trees] == [
        *("more than one sail", "sails have curved edges", "sails are in warm colours", "water is shown"),
        *("kept in a flat style", "the hull shows a detail of its own"),
    ], "clean trees stay, those that were cut off stand where they stood, and what had false children only is gone"
    assert mended.lost == ("hull and mast are pale grey",), "of trees with one wish each one that was cut off"
    assert mended.notes == (
        "made a tree of its own, since it does not imply 'sails of a particular shape and number': "
        "'more than one sail'",
        "made a tree of its own, since it does not imply 'sails of a particular shape and number': "
        "'sails have curved edges'",
        "made a tree of its own, since it does not imply 'sails differ in colour from the rest of the boat': "
        "'sails are in warm colours'",
        "moved below 'sails are in warm colours', since it does not imply 'two different warm colours': "
        "'the left sail is amber'",
        "made a tree of its own, since it does not imply 'sails differ in colour from the rest of the boat': "
        "'hull and mast are in a neutral colour'",
        "left out, since nothing more precise stands below: 'sails of a particular shape and number', "
        "'sails differ in colour from the rest of the boat'",
        "left out, since more than 6 trees cannot be reached: 'hull and mast are pale grey'",
    )


@pytest.mark.slow
@given(st.data())
def test_whatever_is_denied_no_denied_edge_stands_and_nothing_goes_unsaid(data: st.DataObject) -> None:
    denied = [
        Dispute(
            child,
            parent,
            same=data.draw(st.integers(0, 4)) == 0,
            better=data.draw(st.none() | st.sampled_from(list(BOAT))),
        )
        for child, parent in data.draw(st.lists(st.sampled_from(edges(BOAT_PARENTS)), unique=True))
    ]
    mended = mend(BOAT_PARENTS, Items(BOAT, {}), denied)
    assert not {(each.child, each.parent) for each in denied} & set(edges(mended.parents))
    assert all(parent is None or parent in mended.parents for parent in mended.parents.values())
    assert len(forest(mended.parents, BOAT)) <= MOST_TREES
    said = " ".join(mended.notes)
    wishes = [text for key, text in BOAT.items() if level_of(key) == 0 and key not in mended.parents]
    assert set(mended.lost) <= set(wishes) and all(repr(text) in said for text in wishes)
    broad = [key for key in mended.parents if level_of(key) > 0]
    assert set(broad) <= set(mended.parents.values()), "nothing broad without something more precise below it"


def test_what_is_to_be_changed_can_be_done() -> None:
    items = Items(BOAT, {})
    change = what_to_change(BOAT_PARENTS, items, [*BOAT_DENIED, Dispute("0.1", "3.3")], MOST_TREES)
    assert (
        "[0.4] 'the left sail is amber' does not imply [1.3] 'two different warm colours' (amber left, blue right); "
        "it does imply [2.3] 'sails are in warm colours'; [2.4]" in change
    )
    assert "so there are 7 trees, [2.1], [1.2], [2.3], [2.4], [3.3], [2.7], [2.5]: two to five are wanted" in change
    assert "[3.3] 'water is shown'" not in change, "an edge of another forest"
    rows = {key: {"id": key, "parent": parent} for key, parent in BOAT_PARENTS.items()}
    rows |= {key: {"id": key, "parent": "drop"} for key in ("3.1", "3.2", "2.4", "1.4", "0.6")}
    rows |= {key: {"id": key, "parent": None} for key in ("2.1", "1.2", "2.3")}
    obeyed = Hierarchy.model_validate({"items": [*rows.values()]})
    assert hierarchy_defect(obeyed, items, may_lose=True) is None
    assert hierarchy_defect(obeyed, items) == (
        "'hull and mast are pale grey' is of level 0 and stays: put it below an item that it implies, or at the top"
    )
    parents = parents_of(obeyed)
    assert set(BOAT) - set(parents) == {"3.1", "3.2", "2.4", "1.4", "0.6"} and len(forest(parents, BOAT)) == 6
    rows["0.6"]["parent"] = "1.4"
    below_nothing = Hierarchy.model_validate({"items": [*rows.values()]})
    assert hierarchy_defect(below_nothing, items) == "[0.6] stands below '1.4', which is no item of the forest"


def test_broad_items_with_nothing_below_go_and_what_is_above_only_them_too() -> None:
    mended = mend(GOOD | {"0.2": "1.1"}, ITEMS)
    assert "1.2" not in mended.parents and "2.2" not in mended.parents and not mended.lost
    assert mended.notes == ("left out, since nothing more precise stands below: 'footwear', 'clothes'",)


def test_of_too_many_trees_the_smallest_go_and_the_smallest_left_comes_last() -> None:
    texts = {f"0.{n}": f"wish {n}" for n in range(1, 9)} | {f"1.{n}": f"broad {n}" for n in range(2, 9)}
    parents: dict[str, str | None] = {"0.1": None} | {f"1.{n}": None for n in range(2, 9)}
    parents |= {f"0.{n}": f"1.{n}" for n in range(2, 9)}
    mended = mend(parents, Items(texts, {}))
    assert len(forest(mended.parents, texts)) == 6 and mended.lost == ("wish 1", "wish 8")
    wide = {"1.2": None, "0.2": "1.2", "0.1": None, "0.3": None, "0.4": None, "0.5": None}
    wide |= {"1.6": None, "0.6": "1.6", "0.7": "1.6", "0.8": "1.6"}
    trees = forest(mend(wide, Items(texts, {})).parents, texts)
    assert [tree.text for tree in trees] == ["broad 2", "wish 1", "wish 3", "wish 4", "broad 6", "wish 5"]


def test_unchanged_items_of_several_levels_are_one() -> None:
    items = Items.of_levels([["A tabby cat", "Red boots"], ["A cat", "Red boots."], ["An animal", "Boots"]])
    assert items.texts == {"0.1": "A tabby cat", "0.2": "Red boots", "1.1": "A cat", "2.1": "An animal", "2.2": "Boots"}
    assert items.highest == {"0.2": 1}
    assert items.may_stand_below("0.1", "0.2") and not items.may_stand_below("1.1", "0.2")


def test_stray_pairs_are_passed_over_and_a_better_place_is_a_pairs_broad_one() -> None:
    pair = {"reason": "no", "narrow_implies_broad": False, "broad_implies_narrow": False}
    pairs = [{"number": 1, **pair, "instead": 2}, {"number": 2, **pair, "narrow_implies_broad": True}]
    compared = SupersetCheck.model_validate({"pairs": [*pairs, {"number": 9, **pair}]})
    assert disputes(compared, [("0.1", "1.1"), ("1.1", "2.1")]) == (Dispute("0.1", "1.1", "no", better="2.1"),)


# -- a first message by code -----------------------------------------------------------------------------------------

ROOTS = (
    Intent("1", "Has a narrator", (Intent("1.1", "The narrator is a pilot"),)),
    Intent("2", "Ends quietly.", (Intent("2.1", "The last line is a sound"),)),
)


@pytest.mark.parametrize("chosen", [[], ["2"], ["9"], ["1", "2"]])
def test_a_message_by_code_names_type_topic_and_chosen_roots_and_leaks_nothing(chosen: list[str]) -> None:
    bare = IntentTree("SVG drawing", "harbour", "", (), ROOTS)
    messages = {builder.written_request(bare, chosen, seed=seed).initial_request for seed in range(20)}
    assert len(messages) == len(builder.REQUESTS)
    for seed in range(20):
        tree = builder.written_request(bare, chosen, seed=seed)
        assert tree.initially_discovered == {"2": ("2",), "1": ("1",)}.get("".join(chosen)[:1], ())
        assert "an SVG drawing" in tree.initial_request and "harbour" in tree.initial_request
        assert ("ends quietly" in tree.initial_request) == (chosen == ["2"])
        assert builder.leak_defect(tree) is None


def test_a_message_by_code_does_not_leak_by_its_own_words() -> None:
    hidden = Intent("1", "Is kind", (Intent("1.1", "Somebody needs help: could they please make it"),))
    bare = IntentTree("poem", "rain", "", (), (hidden, *ROOTS[1:]))
    for seed in range(10):
        tree = builder.written_request(bare, [], seed=seed)
        assert builder.leak_defect(tree) is None and "rain" in tree.initial_request


@pytest.mark.parametrize(
    ("topic", "short"),
    [
        ("harbour", "harbour"),
        ("a harbour at night", "harbour night"),
        ("a sea of old north men", "sea old north"),
    ],
)
def test_a_topic_is_cut_to_its_words(topic: str, short: str) -> None:
    assert builder.short_topic(topic) == short
