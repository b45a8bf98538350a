"""What code makes of a model's forest: hand-worked cases of what is moved, cut, joined and left out."""

from __future__ import annotations

import pytest

from discover_lib.core.intents import Intent, IntentTree
from discover_lib.engines.llm import builder
from discover_lib.engines.llm.answers import SupersetCheck
from discover_lib.engines.llm.organisation import MOST_CUTS, Dispute, Items, Mended, disputes, forest, mend

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
    assert dict(mended.parents) == GOOD | changed and mended.cuts == cuts and not mended.lost
    assert note in " ".join(mended.notes)


def test_of_two_that_ask_for_the_same_the_more_precise_stays_where_it_is_all_there_is() -> None:
    mended = mend(GOOD, ITEMS, [Dispute("0.1", "1.1", same=True)])
    assert mended.parents == {"2.1": None, "0.1": "2.1", "2.2": None, "1.2": "2.2", "0.2": "1.2"}
    two = GOOD | {"0.2": "1.1", "1.2": None, "2.2": None}
    mended = mend(two, ITEMS, [Dispute("0.1", "1.1", same=True)], most_trees=None)
    assert "0.1" not in mended.parents and mended.parents["0.2"] == "1.1"


def test_no_more_edges_are_cut_than_may_be() -> None:
    texts = {"1.1": "broad"} | {f"0.{n}": f"narrow {n}" for n in range(1, 7)}
    parents = {"1.1": None} | {f"0.{n}": "1.1" for n in range(1, 7)}
    mended = mend(parents, Items(texts, {}), [Dispute(f"0.{n}", "1.1") for n in range(1, 7)], most_trees=None)
    assert (mended.cuts, mended.doubted) == (MOST_CUTS, 3)
    assert mended.notes[-1] == "3 more edges were denied and stand: the most that are cut is 3"


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
