"""The intent map: what it is sent, what a reader edits, and what a page shows and sends back."""

import json
from pathlib import Path
from typing import Any

import pytest
from accessible import serious
from playwright.sync_api import Page, expect
from scripted import told_tree

from discover_lib import Discovery, Evaluation, IntentTree, Rules, Verdict, advance, initial_state
from discover_lib.base.errors import DiscoverError
from workbench.map import IntentMap, MapMoment, edited_graph, frame_of, intent_map, moment_of

RULES = Rules.paper()
RED, HOSTILE = "A red boat at night", "<img src=x onerror='window.pwned = 1'>"
TREE = told_tree(
    {"1": "A boat", "1.1": "A boat at night", "1.1.1": RED, "1.2": "A boat with a sail", "2": HOSTILE, "2.1": "A moon"},
    "1",
)


def moments() -> list[MapMoment]:
    """Before the first reply, and after one that builds 1.1 and comes near 1.2."""
    start = initial_state(TREE, RULES, thresholds={"1.2": 0.1})
    verdicts = (Verdict("1", True), Verdict("1.1", True), Verdict("1.2", False, ("a flag",)))
    after, transitions = advance(TREE, start, Evaluation("artifact", verdicts), RULES)
    return [MapMoment(start), MapMoment(after, transitions, 1, {"1.1": "The drawing is dark."})]


def test_the_frame_and_a_moment_are_places_in_one_order() -> None:
    frame = frame_of(TREE)
    assert frame["ids"] == ["1", "1.1", "1.1.1", "1.2", "2", "2.1"]
    assert frame["parents"] == [-1, 0, 1, 0, -1, 4] and frame["levels"] == [1, 2, 3, 2, 1, 2]
    assert frame["shorts"][:4] == ["A boat", "at night", "red boat at night", "with a sail"]
    before, after = (moment_of(TREE, each, RULES) for each in moments())
    assert before["states"] == "200000" and after["states"] == "220100"
    assert before["frontier"] == [1, 3] and after["frontier"] == [2, 3]
    assert after["moved"] == [0, 1, 3] and after["satisfied"] == [0, 1] and after["focus"] == [0]


def texts(graph: Any) -> dict[str, str]:
    return {key: intent.text for key, intent in IntentTree.from_graph(graph).intents.items()}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"do": "rename", "id": "1.2", "text": " A boat with oars "}, {"1.2": "A boat with oars"}),
        ({"do": "add", "id": "2"}, {"2.2": "New intent"}),
        ({"do": "remove", "id": "1.1"}, {"1.1": "A boat with a sail"}),
        ({"do": "move", "id": "1.1", "under": "2"}, {"2.2": "A boat at night", "2.2.1": "A red boat at night"}),
    ],
)
def test_an_edit_changes_the_tree(message: dict[str, str], said: dict[str, str]) -> None:
    assert said.items() <= texts(edited_graph(TREE, message)).items()


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ({"do": "move", "id": "1", "under": "1.1.1"}, "below itself"),
        ({"do": "rename", "id": "1", "text": "  "}, "empty text"),
        ({"do": "rename", "id": "7", "text": "x"}, "no longer in the tree"),
    ],
)
def test_an_edit_that_breaks_a_rule_changes_nothing_and_is_said(message: dict[str, str], line: str) -> None:
    with pytest.raises(DiscoverError, match=line):
        IntentTree.from_graph(edited_graph(TREE, message))
    edited = IntentMap(TREE, edit=True)
    heard: list[Any] = []
    edited.on_edit, edited.widget.send = heard.append, heard.append
    edited._edited(message)
    assert edited.tree == TREE and line in heard[0]["trouble"]


def test_a_renamed_intent_stays_selected_and_a_doubt_is_told() -> None:
    edited, sent = intent_map(TREE, edit=True), list[Any]()
    edited.widget.send, edited.doubt = sent.append, lambda text: f"not read: {text}"
    edited._edited({"do": "rename", "id": "1.2", "text": "A zeppelin"})
    assert edited.tree.text("1.2") == "A zeppelin" and edited.selected == ("1.2",)
    assert sent == [{"trouble": "not read: A zeppelin"}]


def test_an_edited_map_shows_and_tells_its_tree() -> None:
    edited = intent_map(TREE, edit=True)
    told: list[IntentTree] = []
    edited.on_edit = told.append
    edited._edited({"do": "move", "id": "1.1", "under": "2"})
    assert told == [edited.tree] and edited.widget.frame["ids"] == list(edited.tree.intents)
    assert len(edited.widget.moments[0]["states"]) == len(edited.tree)


@pytest.fixture
def shown(page: Page, tmp_path: Path) -> Any:
    def show(**options: Any) -> Page:
        path = tmp_path / "map.html"
        path.write_text(IntentMap(TREE, moments(), **options).to_html(), encoding="utf-8")
        page.goto(path.as_uri())
        return page

    return show


def cell(page: Page, text: str) -> Any:
    return page.get_by_role("treeitem").filter(has_text=text).first


def test_turns_are_scrubbed_and_a_press_tells_why(shown: Any, outside_requests: list[str]) -> None:
    page = shown()
    expect(page.get_by_role("status")).to_have_text("turn 1 · 1 of the other 5 intents discovered")
    cell(page, "at night").click()
    expect(page.locator(".im-told")).to_have_text("1.1 · A boat at night · discovered. Turn 1: The drawing is dark.")
    page.get_by_role("slider", name="Turn").fill("0")
    expect(page.get_by_role("status")).to_have_text("turn 0 · 0 of the other 5 intents discovered")
    expect(cell(page, "at night")).to_have_attribute("data-state", "0")
    assert page.evaluate("window.pwned") is None and not [
        url for url in outside_requests if not url.startswith("file:")
    ]


def test_the_map_is_walked_by_keys_and_searched(shown: Any) -> None:
    page = shown()
    cell(page, "A boat").focus()
    for key, reached in (
        ("ArrowDown", "at night"),
        ("ArrowDown", "red boat at night"),
        ("ArrowUp", "at night"),
        ("End", "A moon"),
    ):
        page.keyboard.press(key)
        expect(page.locator(".im-cell:focus")).to_contain_text(reached)
    page.keyboard.press("Home")
    page.keyboard.press("-")
    expect(page.get_by_role("treeitem")).to_have_count(3)
    expect(cell(page, "A boat")).to_contain_text("⊞ 1 of 3")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("treeitem")).to_have_count(6)
    page.keyboard.press("/")
    page.keyboard.type("moon")
    expect(page.get_by_role("status")).to_have_text("1 match")


def test_in_fog_no_hidden_word_is_in_an_element(shown: Any) -> None:
    page = shown(fog=True)
    said = page.locator(".im").evaluate("each => each.outerHTML")
    assert "A boat at night" in said and "moon" not in said and "onerror" not in said
    expect(page.get_by_role("treeitem", name="blurred intent, undiscovered").first).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_every_label_is_whole_and_nothing_serious_is_found(shown: Any, scheme: Any, width: int) -> None:
    page = shown(beside=initial_state(TREE, RULES))
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_timeout(300)
    clipped = """texts => texts.filter(text => {
        const [own, cell] = [text, text.parentElement].map(each => each.getBoundingClientRect());
        return own.right > cell.right + 1 || own.bottom > cell.bottom + 1;
    }).map(text => text.textContent)"""
    assert page.locator(".im-text").evaluate_all(clipped) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious(page) == []


def test_the_data_of_a_file_cannot_end_its_script() -> None:
    page = IntentMap(TREE, moments()).to_html("<b>")
    assert "<img" not in page and "<title>&lt;b></title>" in page
    assert json.loads(page.split('id="data">')[1].split("</script>")[0])["frame"]["texts"][4].startswith("<img")
    assert Discovery.DISCOVERED == 2  # the digit of the page's states
