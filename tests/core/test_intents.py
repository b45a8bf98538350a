"""Intent trees: what is accepted, and one clear line for everything that is not."""

import json
from pathlib import Path
from typing import Any

import networkx
import pytest
from scripted import forest

from discover_lib import Discovery, IntentState, IntentTree, TreeError, load_tree
from discover_lib.runs.artifact_files import free_tree_file

GOOD = {
    "artifact_type": "short story",
    "topic": "harbour",
    "initial_request": "write me a story",
    "initially_discovered": ["1"],
    "roots": [
        {"id": "1", "text": "a story", "children": [{"id": "1.1", "text": "at sea", "children": []}]},
        {"id": "2", "text": "a tone"},
    ],
}


def node(intent_id: Any, *children: Any, text: Any = "some text") -> dict[str, Any]:
    return {"id": intent_id, "text": text, "children": list(children)}


def tree_of(*roots: Any, **fields: Any) -> dict[str, Any]:
    return {"roots": list(roots), **fields}


def cycle_by_shared_object() -> dict[str, Any]:
    root = node("1")
    root["children"].append(root)
    return tree_of(root)


def chain(depth: int) -> dict[str, Any]:
    below: list[Any] = []
    for level in range(depth, 0, -1):
        below = [node(".".join(["1"] * level), *below)]
    return tree_of(*below)


def one(**fields: Any) -> dict[str, Any]:
    return tree_of({"id": "1", "text": "some text"} | fields)


BAD_TREES = {  # what is wrong: the data, and what the message must name
    "cycle by a shared object": (cycle_by_shared_object(), ["'1'", "cycle"]),
    "cycle by a repeated id": (tree_of(node("1", node("1.1", node("1")))), ["'1'", "is under '1.1'"]),
    "duplicate root": (tree_of(node("1"), node("1")), ["duplicate", "'1'"]),
    "same object twice": (tree_of(*[node("1")] * 2), ["duplicate", "'1'"]),
    "id with an empty part": (tree_of(node("1..2")), ["malformed", "'1..2'"]),
    "id with a leading zero": (tree_of(node("01")), ["malformed", "'01'"]),
    "id of letters": (tree_of(node("a")), ["malformed", "'a'"]),
    "id with a line break": (tree_of(node("1\n")), ["malformed", r"'1\n'"]),
    "id in other digits": (tree_of(node("١")), ["malformed", "'١'"]),
    "child without its parent": (tree_of(node("1.2")), ["'1.2'", "parent '1'"]),
    "child under another parent": (tree_of(node("1", node("2.1"))), ["'2.1'", "under '1'", "'2'"]),
    "blank text": (tree_of(node("1", node("1.1", text=" \n"))), ["'1.1'", "empty"]),
    "huge text": (tree_of(node("1", text="x" * 1_000_000)), ["'1'", "1000000 characters"]),
    "huge id": (tree_of(node("x" * 1_000_000)), ["malformed"]),
    "too deep": (chain(17), ["deeper", "1.1.1"]),
    "absurdly deep": (chain(900), ["deeper", "1.1.1"]),
    "too many": (tree_of(node("1", *(node(f"1.{n}") for n in range(1, 5_001)))), ["5000 intents", "'1.5000'"]),
    "unknown initially discovered": (one() | {"initially_discovered": ["2"]}, ["initially_discovered", "'2'"]),
    "known below unknown": (tree_of(node("1", node("1.1")), initially_discovered=["1.1"]), ["'1.1'", "parent '1'"]),
    "no roots": ({"roots": []}, ["no roots"]),
    "roots missing": ({}, ["'roots'"]),
    "roots an object": ({"roots": {"1": "text"}}, ["'roots'"]),
    "tree None": (None, ["NoneType"]),
    "root None": (tree_of(None), ["intent", "None"]),
    "child a number": (tree_of(node("1", 7)), ["intent", "7"]),
    "id a number": (tree_of(node(1)), ["intent 1", "'id'"]),
    "id missing": (tree_of({"text": "some text"}), ["'id'"]),
    "text a number": (one(text=3), ["'1'", "'text'", "3"]),
    "text missing": (tree_of({"id": "1"}), ["'1'", "'text'"]),
    "children an object": (one(children={"id": "1.1", "text": "t"}), ["'1'", "'children'"]),
    "children a text": (one(children="1.1"), ["'1'", "'children'"]),
    "children false": (one(children=False), ["'1'", "'children'"]),
    "initially discovered a text": (one() | {"initially_discovered": "1"}, ["initially_discovered"]),
    "initially discovered zero": (one() | {"initially_discovered": 0}, ["initially_discovered"]),
    "initially discovered numbers": (one() | {"initially_discovered": [1]}, ["initially_discovered"]),
    "topic a number": (one() | {"topic": 5}, ["'topic'", "int"]),
}


@pytest.mark.parametrize(("data", "named"), BAD_TREES.values(), ids=BAD_TREES)
def test_a_bad_tree_is_refused_in_one_clear_line(data: Any, named: list[str]) -> None:
    with pytest.raises(TreeError) as error:
        IntentTree.from_dict(data)
    message = str(error.value)
    assert all(each in message for each in named) and "\n" not in message and len(message) < 300, message


@pytest.mark.slow
def test_the_bounds_themselves_are_allowed() -> None:
    assert len(IntentTree.from_dict(chain(16))) == 16
    assert len(IntentTree.from_dict(tree_of(*(node(str(n)) for n in range(1, 5_001))))) == 5_000
    assert IntentTree.from_dict(tree_of(node("1", text="x" * 2_000))).text("1") == "x" * 2_000


def test_children_may_be_left_out_or_none() -> None:
    assert IntentTree.from_dict(one(children=None)) == IntentTree.from_dict(one())


def test_a_tree_survives_its_plain_form_and_json() -> None:
    tree = IntentTree.from_dict(GOOD)
    assert IntentTree.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree


def test_structure_of_a_tree() -> None:
    tree = forest("1 1.1 1.1.1 1.2 2 2.10")
    assert list(tree.intents) == ["1", "1.1", "1.1.1", "1.2", "2", "2.10"]  # parents first, in order
    assert dict(tree.parents) == {"1": None, "1.1": "1", "1.1.1": "1.1", "1.2": "1", "2": None, "2.10": "2"}
    assert dict(tree.root_of) == {"1": "1", "1.1": "1", "1.1.1": "1", "1.2": "1", "2": "2", "2.10": "2"}
    assert tree.leaves() == ("1.1.1", "1.2", "2.10")
    assert [tree.depth(each) for each in ("1", "1.1.1", "2.10")] == [1, 3, 2]
    assert tree["1.2"].text == tree.text("1.2") == "text of 1.2"


def test_an_unknown_intent_is_named() -> None:
    with pytest.raises(KeyError, match=r"9\.9"):
        forest("1")["9.9"]


def test_the_graph_is_the_same_forest_with_its_states() -> None:
    tree = forest("1 1.1 1.2 2")
    graph = tree.graph(IntentState({"1": Discovery.DISCOVERED, "1.2": Discovery.EMERGING}, frozenset({"1"})))
    assert list(graph.nodes) == ["1", "1.1", "1.2", "2"]
    assert sorted(graph.edges) == [("1", "1.1"), ("1", "1.2")]
    assert graph.nodes["1.2"]["text"] == "text of 1.2" and graph.nodes["1.2"]["depth"] == 2
    levels = ["discovered", "undiscovered", "emerging", "undiscovered"]
    assert list(dict(graph.nodes(data="discovery")).values()) == levels
    assert [key for key, met in graph.nodes(data="satisfied") if met] == ["1"]
    assert IntentTree.from_graph(graph) == tree


def test_an_edited_graph_is_a_tree_with_ids_by_place() -> None:
    graph = forest("1 1.1 1.1.1 1.2 2").graph()
    graph.remove_node("1.2")
    graph.remove_edge("1.1", "1.1.1")
    graph.add_edge("2", "1.1.1")
    tree = IntentTree.from_graph(graph)
    texts = {"1": "text of 1", "1.1": "text of 1.1", "2": "text of 2", "2.1": "text of 1.1.1"}
    assert {key: intent.text for key, intent in tree.intents.items()} == texts


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        (networkx.DiGraph([("1", "1.1"), ("1.1", "1")]), "no forest"),
        (networkx.path_graph(3_000, create_using=networkx.DiGraph), "deeper than 16 levels"),
        (networkx.DiGraph([("1", "1.1")]), "intent '1' has an empty text"),
        (networkx.Graph([("1", "1.1")]), "at most one parent"),
        (networkx.DiGraph(), "has no roots"),
    ],
)
def test_any_other_graph_is_refused_in_one_line(graph: networkx.Graph, says: str) -> None:
    with pytest.raises(TreeError, match=says):
        IntentTree.from_graph(graph)


def test_intents_under_a_key_that_is_not_read_are_no_lost_intents(tmp_path: Path) -> None:
    below = [{"id": "1.1", "text": "a boat at night"}]
    wish = {"id": "1", "text": "a boat", "kids": below, "sources": ["line 3"]}
    path = tmp_path / "tree.json"
    path.write_text(json.dumps({"roots": [wish]}))
    with pytest.raises(TreeError, match=r"tree\.json: intent '1' has 'kids'; write more specific intents under 'chil"):
        load_tree(path)
    path.write_text(json.dumps({"roots": [{**wish, "kids": [], "children": below}]}))
    assert len(load_tree(path)) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"initialy_discovered": ["1"], "initially_discovered": None}, "'initialy_discovered' is not read"),
        ({"Roots": []}, "'Roots' is not read; write 'roots'"),
    ],
)
def test_a_tree_written_by_hand_loses_nothing_by_a_slip(change: dict, said: str, tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    path.write_text(json.dumps({key: value for key, value in (GOOD | change).items() if value is not None}))
    with pytest.raises(TreeError, match=said) as error:
        load_tree(path)
    assert str(error.value).startswith(f"{path}: ")
    path.write_text(json.dumps({**GOOD, "author": "a colleague", "artifact_text": "<svg/>"}), encoding="utf-8")
    assert load_tree(path) == IntentTree.from_dict(GOOD)


def test_a_tree_file_is_read_alone_or_under_tree(tmp_path: Path) -> None:
    alone, under = tmp_path / "alone.json", tmp_path / "under.json"
    alone.write_text(json.dumps(GOOD), encoding="utf-8")
    under.write_text(json.dumps({"tree": GOOD}), encoding="utf-8")
    assert load_tree(alone) == load_tree(str(alone)) == load_tree(under) == IntentTree.from_dict(GOOD)


def test_no_tree_is_kept_in_the_place_of_another(tmp_path: Path) -> None:
    tree = IntentTree.from_dict(GOOD)
    other = IntentTree.from_dict(GOOD | {"initial_request": "another one"})
    kept = []
    for each in (tree, other, tree, other):
        kept.append(free_tree_file(tmp_path, "boat", each))
        kept[-1].write_text(json.dumps({"tree": each.to_dict()}), encoding="utf-8")
    assert [path.name for path in kept] == ["boat.json", "boat-2.json", "boat.json", "boat-2.json"]
    (tmp_path / "boat.json").write_text("somebody is at work here", encoding="utf-8")
    assert free_tree_file(tmp_path, "boat", tree).name == "boat-3.json"


BAD_FILES = {
    "binary": (b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe", "UTF-8"),
    "another encoding": ('{"roots": [{"id": "1", "text": "café"}]}'.encode("latin-1"), "UTF-8"),
    "not JSON": (b"roots: 1", "not JSON"),
    "empty": (b"", "not JSON"),
    "too deep for JSON": (b"[" * 200_000, "nested too deep"),
    "JSON, but no tree": (b'{"tree": null}', "NoneType"),
    "a tree with a defect": (json.dumps(tree_of(node("01"))).encode(), "'01'"),
}


@pytest.mark.parametrize(("content", "named"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_refused_by_name(content: bytes, named: str, tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    path.write_bytes(content)
    with pytest.raises(TreeError) as error:
        load_tree(path)
    assert named in str(error.value) and "tree.json" in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["missing.json", "."], ids=["missing", "a folder"])
def test_a_path_that_is_no_file_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="cannot be read"):
        load_tree(tmp_path / name)
