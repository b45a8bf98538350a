"""The leak audit: its rule by hand, silence on clean turns, and the commands."""

import csv
import io
import json
import re
from itertools import islice
from pathlib import Path

import pytest
from command_line import assert_one_line_error, discover
from hypothesis import given
from hypothesis import strategies as st
from scripted import state_of, told_tree

from discover_lib import Message, Rules
from discover_lib.base.leak_words import find_leaks, spoken_words
from discover_lib.core.view import leaked_words
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.reading import read_reply
from discover_lib.runs.artifact_files import load_recorded, recorded_index
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.units import run_unit
from discover_lib.tasks.leaks import Finding, audit, audit_message
from workbench.parts import quoted

HIDDEN = {"1": "Shows a shadowy harbour", "2": "Leaves out the border, without any frame"}


@pytest.mark.parametrize(
    ("message", "known", "leaks"),
    [
        pytest.param("a harbour maybe", [], [("harbour", "harbour", "verbatim")], id="the very word"),
        pytest.param("more shadows", [], [("shadows", "shadowy", "inflected")], id="another form"),
        pytest.param("more shadows", ["no shadow there"], [], id="said before, in yet another form"),
        pytest.param("not a harbour", [], [], id="denied, while the intent wants it"),
        pytest.param("without a frame", [], [("frame", "frame", "verbatim")], id="denied, as the intent does"),
        pytest.param("with a frame", [], [], id="wanted, while the intent denies it"),
        pytest.param("why not a harbour?", [], [("harbour", "harbour", "verbatim")], id="no denial at all"),
        pytest.param("something is missing", [], [], id="words that carry nothing"),
    ],
)
def test_what_leaks(message: str, known: list[str], leaks: list[tuple[str, str, str]]) -> None:
    found = find_leaks(message, HIDDEN, known)
    assert [(each.word, each.meant, each.how) for each in found] == leaks
    assert all(message[each.start : each.end] == each.word for each in found)


@pytest.mark.slow
@given(st.text(max_size=60))
def test_every_word_is_found_where_it_stands(text: str) -> None:
    for each in spoken_words(text):
        if len(text.lower()) == len(text):
            assert text.lower().replace("’", "'")[each.start : each.end] == each.word


@pytest.mark.slow
@given(st.text(max_size=40), st.lists(st.text(max_size=40), max_size=3))
def test_what_was_said_word_for_word_never_leaks(message: str, before: list[str]) -> None:
    assert find_leaks(message, {"1": message}, [*before, message]) == ()


TREE = told_tree(
    {
        "1": "Shows an animal", "1.1": "Shows an animal with fur", "1.1.1": "Shows a cat with fur",
        "2": "Colours the sky one plain deep violet over a dotted meadow",
    },
    "1", "svg drawing", "can you draw me an svg with an animal?",
)  # fmt: skip
START = state_of(TREE, discovered="1", emerging="1.1")
ASKED = [Message("user", TREE.initial_request), Message("assistant", "Which colours do you like?")]


def found(message: str, *said: str, domain: str = "svg_drawing") -> Finding | None:
    return audit_message(message, TREE, START, [*ASKED, *(Message("assistant", each) for each in said)], domain)


@pytest.mark.parametrize(
    ("message", "intent", "severity", "how"),
    [
        pytest.param("a cat", "1.1.1", "alarm", "verbatim", id="an intent of the lexicon's own words"),
        pytest.param("a kitten maybe", "1.1.1", "alarm", "synonym", id="another name, from the cues"),
        pytest.param("something like a puppy", "1.1", "alarm", "synonym", id="an example of what is emerging"),
        pytest.param("plain, i think", "2", "slight", "verbatim", id="one word of many"),
        pytest.param("a violet meadow", "2", "alarm", "verbatim", id="two words of one intent"),
    ],
)
def test_how_findings_are_graded(message: str, intent: str, severity: str, how: str) -> None:
    one = found(message)
    assert one is not None
    assert (one.intent_id, one.severity, one.leaks[0].how) == (intent, severity, how)
    assert one.emerging == (intent == "1.1") and all(message[each.start : each.end] for each in one.leaks)


def test_what_may_be_said() -> None:
    assert found("i like the animal, but something about the colours feels off") is None  # a category's everyday name
    assert found("the cat is nice", "Here is a cat.") is None  # said
    assert found("a kitten maybe", "Here is a cat.") is None  # said by another name
    assert found("a kitten maybe", domain="") is None  # without a lexicon nobody knows
    assert found("no cat, please") is None


def test_what_a_drawing_showed_may_be_named() -> None:
    lexicon = load_lexicon("svg_drawing")
    for talk in map(run_unit, lay_out(RunOptions(("draft",), domain="svg_drawing", artifacts=3)).units):
        [shown] = read_reply(talk.turns[0].reply.text, "svg_drawing").options
        before = talk.messages(1)[:2]

        def told(value: str, talk=talk, before=before) -> Finding | None:
            return audit_message(f"i like {lexicon.values[value].say}", talk.tree, talk.start, before, "svg_drawing")

        assert not any(told(value) for value in shown)
        wanted = [lexicon.value_of_text(talk.tree.text(leaf)) for leaf in talk.tree.leaves()]
        assert any(told(value) for value in wanted if value is not None and value not in shown)


@pytest.mark.slow
def test_no_alarm_in_a_thousand_clean_turns() -> None:
    turns = 0
    for domain in ("svg_drawing", "creative_writing", "technical_writing"):
        everyone = ("random", "options", "ask", "draft", "adaptive", "mixed", "verbose")
        units = lay_out(RunOptions(everyone, domain=domain, artifacts=14)).units
        result = audit({f"no. {at}": talk for at, talk in enumerate(map(run_unit, units))})
        turns += result.turns
        assert result.findings == ()
    talks = (talk for entry in recorded_index() for talk in load_recorded(entry.path))
    recorded = audit({f"no. {at}": talk for at, talk in enumerate(talks)})
    assert recorded.alarms == () and turns + recorded.turns > 1_000


def test_leaked_words_of_the_turn_are_the_verbatim_ones() -> None:
    assert leaked_words("a dotty violet", TREE, START, [each.content for each in ASKED]) == ("violet",)


def test_words_are_marked_and_everything_is_escaped() -> None:
    one = found('<b>a cat</b> & "violet"')
    assert one is not None
    told = quoted(one.quote)
    assert "<b>" not in told and "<mark>cat</mark>" in told
    text = re.sub(r"</?mark>", "", told)
    assert "&lt;b&gt;a cat&lt;/b&gt; &amp; &#34;violet&#34;" in text


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audited") / "run"
    folder.mkdir()
    uncertified = Rules.paper().replace(p=0.3)  # no certificate of these comes with the library
    execute(lay_out(RunOptions(("draft",), domain="creative_writing", artifacts=3, rules=uncertified)), folder)
    return folder


@pytest.mark.slow
def test_the_command_audits_certifies_and_compares(run: Path, tmp_path: Path) -> None:
    uncertified = discover("audit", run)
    assert uncertified.returncode == 1 and "Not validated" in uncertified.stdout
    assert "0 of 12 user turns reveal an undiscovered intent" in uncertified.stdout
    told = discover("audit", run, "--certify", "--judge", "miniature", "--repeats", 2, "--out", tmp_path / "audit.json")
    assert told.returncode == 0, told.stderr + told.stdout
    assert "validated: all " in told.stdout and "0 disagreements" in told.stdout
    written = json.loads((tmp_path / "audit.json").read_text())
    assert written["certificate"]["result"] == "passed" and written["leaks"]["turns"] == 12


@pytest.mark.slow
def test_the_command_refuses_in_one_line(run: Path, tmp_path: Path) -> None:
    assert_one_line_error(discover("audit", tmp_path), "no run here")
    (tmp_path / "file").touch()
    refused = discover("audit", run, "--out", tmp_path / "file" / "all.json")  # before anything is audited
    assert_one_line_error(refused, "cannot be written to")
    assert not refused.stdout
    asked = ["audit", run, "--judge", "openai/x"]
    assert_one_line_error(discover(*asked), "give --budget DOLLARS and --prices FILE with the price of openai/x ")
    assert_one_line_error(discover(*asked, "--budget", 1), "give it with --prices ")


@pytest.mark.slow
def test_people_label_a_sheet(run: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    assert (
        "rows to label in 2 conversations"
        in discover("audit", run, "--label-sheet", sheet, "--conversations", 2).stdout
    )
    rows = list(csv.DictReader(io.StringIO(sheet.read_text())))
    for row in islice((row for row in rows if row["intent"]), 3):
        row["label"] = "no"
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    told = discover("audit", run, "--labels", sheet)
    assert "as recorded / a person" in told.stdout and re.search(r"all intents[^\n]*│ [1-3] ", told.stdout)
