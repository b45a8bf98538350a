"""The page Intents: what is read of a visitor's artifacts, and the run that they are played in."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from browser import Server
from playwright.sync_api import Page, expect

from discover_lib.base.files import data_folder
from discover_lib.base.leak_words import find_leaks
from discover_lib.core.advance import initial_state
from discover_lib.core.rules import Rules
from discover_lib.core.view import hidden_texts, known_texts
from discover_lib.engines.miniature.artifacts import written_artifacts
from discover_lib.engines.miniature.judge import known_values
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, load_lexicon
from discover_lib.metrics.results import MEASURES, Pool
from discover_lib.runs.store import RunStore
from workbench.map import NEW_TEXT
from workbench.pages import intents_page as own_page
from workbench.pages.compare_page import Compared, about_the_table
from workbench.panel import EvaluatedRun

HOUSE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><title>House at night</title>'
    '<rect width="100" height="100" fill="#112244"/><path d="M20 60 L50 30 L80 60 Z" fill="brown"/>'
    '<rect x="30" y="60" width="40" height="30" fill="tan"/></svg>'
)
BOAT = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200"><rect width="200" height="200" fill="#aaddff"/>'
    '<circle cx="160" cy="40" r="18" fill="#ffcc33"/><rect y="140" width="200" height="60" fill="#2266aa"/>'
    '<path d="M50 140 L150 140 L130 165 L70 165 Z" fill="#884422"/><path d="M100 60 V138 H145 Z" fill="white"/></svg>'
)
ESSAY = """# Why cities should plant more trees

Summers in our cities are getting hotter every year. Streets of asphalt store the heat of the day. A single tree can
cool the air around it. It does so without a wire or a pump.

Trees also clean the air. Their leaves catch the dust of cars and the local bus. Planting a tree is cheap.

Some people object that trees take up parking spaces. But a city is not a parking lot. Leaves can be swept; heat cannot.

The best time to plant a tree was twenty years ago. The second best time is now.
"""
LETTER = (
    "The letter lay unopened on the table for a week. My grandmother walked around it as one walks around a sleeping "
    "dog. In the end she used it to light the stove."
)


def test_a_drawing_is_read_with_its_title_as_the_request() -> None:
    reading = own_page.read("home", HOUSE.replace("House at night", "Home"))
    tree = reading.tree()
    assert reading.artifact.domain == "svg_drawing" and "for 5 of 10 aspects (subject, " in reading.told
    assert tree.initial_request == "can you draw “Home”?" and len(tree) > 4 and reading.doubt == ""


@pytest.mark.parametrize(
    ("name", "text", "named", "hidden"),
    [
        ("house", HOUSE, "night", "Happens at night"),
        ("boat", BOAT, "boat", "Shows a boat"),
        ("grandmothers-letter", LETTER, "letter", ""),
    ],
)
def test_a_title_that_names_a_hidden_intent_is_no_request(name: str, text: str, named: str, hidden: str) -> None:
    reading = own_page.read(name, text)
    for tree in (reading.tree(), reading.tree([next(iter(reading.lexicon.values))])):
        start = initial_state(tree, Rules.paper())
        assert named not in f"{tree.initial_request} {tree.topic}", "the title comes from the file's name"
        assert not hidden or hidden in hidden_texts(tree, start).values()
        assert find_leaks(tree.initial_request, hidden_texts(tree, start), known_texts(tree, start)) == ()


def test_a_comparison_is_doubted_and_can_be_left_out() -> None:
    reading = own_page.read("grandmother", LETTER)
    assert own_page.read("grandmother", LETTER, "travel_plan").artifact.domain == "travel_plan"
    assert reading.artifact.domain == "creative_writing" and reading.doubtful == ("dog",)
    assert reading.told == "3 marks in 2 of 3 sentences"
    texts = {intent.text for intent in reading.tree([], reading.doubtful).intents.values()}
    assert texts and not any("dog" in text.lower() for text in texts)


def test_too_little_is_never_a_dead_end() -> None:
    reading = own_page.read("mail", "Dear Ann, yours, Bob")
    empty = reading.tree()
    assert reading.aspects == 0 and [each.text for each in empty.intents.values()] == [NEW_TEXT]
    assert own_page.playable({"mail": empty})[0] == {} and "cannot read" in own_page.playable({"mail": empty})[1][0]
    aspects = {value.dimension: name for name, value in reading.lexicon.values.items()}
    two, three = (reading.tree(list(aspects.values())[:count]) for count in (2, 3))
    assert own_page.playable({"mail": two}) == ({}, [f"mail is not run. {own_page.too_little(two)}"])
    assert own_page.playable({"mail": three})[0] == {"mail": three}


@pytest.mark.parametrize("domain", own_page.TEXT_DOMAINS)
def test_only_a_weak_reading_is_doubted(domain: str) -> None:
    doubted = [each.id for each in written_artifacts(domain, data_folder()) if own_page.read(each.id, each.text).doubt]
    assert doubted == [], "every hand-written text of the project is read as what it is"
    marks, marked, sentences = re.findall(r"\d+", own_page.read("essay", ESSAY, domain).told)
    assert own_page.read("essay", ESSAY, domain).doubt.endswith(
        f"from {marked} of {sentences} sentences: probably wrong."
    )
    assert int(marks) >= int(marked) and own_page.read("letter", LETTER).doubt == ""


@pytest.mark.parametrize("domain", ALL_DOMAINS)
def test_a_text_that_cannot_be_read_is_answered_with_words_that_can(domain: str) -> None:
    said = own_page.doubt_about(domain)("xylophone quintet")
    offered = re.findall("“(.+?)”", said)[1:]
    assert len(offered) == 3 and all(known_values(each, domain) for each in offered)
    first = next(iter(load_lexicon(domain).values.values()))
    assert own_page.doubt_about(domain)(first.text) == ""


def test_a_broken_drawing_says_why() -> None:
    shown = own_page.OwnArtifacts([own_page.read("broken", "<svg><rect></svg>")], lambda: None).view().text
    assert "well-formed" in shown and "Too little for a tree" in shown


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (b"A text.", ""),
        (b" \n", "a.txt is empty."),
        (b"\x89PNG\r\n\x00", "a.txt is neither a text nor an SVG."),
        (b"a" * 3_000_000, "a.txt has 3.0 MB. The maximum is 1 MB."),
    ],
)
def test_files_are_read_or_refused(contents: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    file = SimpleNamespace(name="a.txt", contents=contents)
    assert own_page.refusal(file) == said and len(own_page.uploaded([file], "", {"own": ""})) == (not said)


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a", "# A walk\n\nIt rained.", "A walk"),
        ("my-poem", "Rain fell all day, and nobody minded it at all.", "my poem"),
        ("pasted", "Rain fell all day.", ""),
    ],
)
def test_the_title_comes_from_the_text_else_from_the_file(name: str, text: str, title: str) -> None:
    assert own_page.title_of(own_page.read(name, text).artifact) == title


@pytest.mark.slow
def test_files_become_cards_and_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    files = [SimpleNamespace(name="house.svg", contents=HOUSE.encode())]
    address: dict[str, str] = {}
    own = own_page.OwnArtifacts(own_page.uploaded(files, LETTER, address), lambda: None)
    assert list(own.trees) == ["house", "pasted"] == [each.artifact.id for each in own_page.uploaded([], "", address)]
    assert own_page.uploaded([], "", {"own": "../x"}) == []
    shown = own.view().text
    assert "3 marks in 2 of 3 sentences" in shown and "Too little" in shown and "probably wrong" not in shown
    assert shown.count("data-ids=") == 6, "a number in the artifact lights an intent up on the map"
    folder = own_page.run_own(own.trees, ["ask", "adaptive"])
    assert own_page.run_own(own.trees, ["ask", "adaptive"]) == folder
    with RunStore.read(folder) as store:
        assert len(store.listing()) == 4 and store.configuration["kind"] == "evaluate"
    page = own_page.results(folder).text
    assert page.count("3_conversation.py") == 4 and "6_compare.py" in page
    run = EvaluatedRun.of_run(folder)
    compared = Compared.of(run, folder, Pool(run.scores), MEASURES[0])
    assert "2 artifacts" in about_the_table(compared).text and "validat" not in about_the_table(compared).text
    assert "house. A doubt" in own_page.results(folder, {"house": "A doubt", "pasted": ""}).text
    assert own_page.earlier_run(own.trees) is None, "a tree that is too small is not run"
    assert own_page.run_own({"house": own.trees["house"]}, ["ask"]) == own_page.earlier_run(own.trees)
    own._kinds["pasted"]._on_change("travel_plan")
    assert [each.artifact.domain for each in own_page.uploaded([], "", address)] == ["svg_drawing", "travel_plan"]


def test_after_upload_page_is_about_visitors_artifacts(server: Server, page: Page, outside_requests: list[str]) -> None:
    files = {"house.svg": HOUSE, "house-2.svg": HOUSE, "photo.png": "\0"}
    page.goto(f"{server.url}/?file=2_intents.py")
    expect(page.locator(".in-beside")).to_have_count(1)
    page.locator("input[type=file]").first.set_input_files(
        [{"name": name, "mimeType": "", "buffer": text.encode()} for name, text in files.items()]
    )
    expect(page.get_by_text("photo.png is neither a text nor an SVG.")).to_be_visible()
    run = page.get_by_role("button", name="Run 2 artifacts")
    expect(run).to_be_visible()
    box = run.bounding_box()
    assert box and box["y"] + box["height"] < 600
    expect(page.locator(".in-beside")).to_have_count(2)  # the example is folded
    page.locator(".dl-part .dl-number").last.hover()
    expect(page.locator(".in-beside").first.locator("[data-lit]")).to_have_count(0)
    expect(page.locator(".in-beside").last.locator(".im-cell[data-lit]").first).to_be_visible()
    run.click()
    compare = page.get_by_role("link", name="Open in Compare, with intervals")
    expect(compare).to_be_visible()
    kind = page.get_by_label("Read as").first
    kind.select_option("Creative writing")
    expect(compare).to_have_count(0)  # the scores were of another reading
    kind.select_option("SVG drawing")
    expect(compare).to_be_visible()
    page.get_by_label("Read as").last.select_option("Travel plan")
    expect(compare).to_have_count(0)
    page.reload()
    expect(page.get_by_label("Read as").last).to_have_value("Travel plan")
    page.get_by_label("Read as").last.select_option("SVG drawing")
    expect(compare).to_be_visible()
    page.get_by_text("Show our artifacts").click()
    expect(page.locator(".in-beside")).to_have_count(3)
    assert outside_requests == []
