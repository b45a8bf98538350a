"""The stage's record: what it says of a conversation, and that nothing a model wrote can run from it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hostile import HOSTILE, HOSTILE_SVG, TREE, conversation

from discover_lib import Conversation
from workbench.session import Session
from workbench.sources import Settings
from workbench.views.moments import Moments, Strip, stage_of


def only(shown: Conversation) -> dict[str, Any]:
    return stage_of([Strip("main line", shown)])


def kinds(nodes: list[Any]) -> set[str]:
    found = set()
    for node in nodes:
        if not isinstance(node, str):
            found |= {node[0]} | kinds(node[2:])
    return found


def test_a_moment_is_the_state_the_reward_and_the_receipt_that_adds_up() -> None:
    shown = conversation()
    record = only(shown)
    assert json.loads(json.dumps(record)) == record
    start, first, second = record["moments"]
    assert record["map"]["ids"] == list(TREE.intents)
    assert start["states"] == "20000" and start["turn"] == 0
    assert first["states"] == "22100" and first["satisfied"] == []
    assert second["satisfied"] == ["1", "1.1", "1.1.1"]
    assert first["worth"] == {
        "value": 1.0, "text": "+1", "discovered": ["1.1"], "emerging": ["1.1.1"], "satisfied": [],
    }  # fmt: skip
    lines = {line["id"]: (line["change"], line["worth"]) for line in second["receipt"]["lines"]}
    assert lines["1.1.1"] == ("now discovered and satisfied", "+1") and lines["1.1"] == ("now satisfied", "+0")
    assert lines["1.1.2"] == ("no change yet", "+0")
    assert [each["worth"] for each in second["receipt"]["sums"]] == ["+1", "−0.135", "+0.865"]


@pytest.mark.parametrize("payload", [*HOSTILE, f"```svg\n{HOSTILE_SVG}\n```", HOSTILE_SVG])
def test_what_a_model_wrote_is_text_or_a_cleaned_picture(payload: str) -> None:
    record = only(conversation((payload, payload + " again"), payload))
    allowed = {"blockquote", "br", "code", "details", "div", "em", "figcaption", "figure", "h4", "img", "li", "mark"}
    allowed |= {"ol", "p", "pre", "q", "span", "strong", "summary", "ul"}
    for moment in record["moments"][1:]:
        for nodes in (moment["reply"], moment["answer"] or []):
            assert kinds(nodes) <= allowed
    assert "onload" not in json.dumps([each[1] for each in record["moments"][1]["reply"] if not isinstance(each, str)])


def test_sentences_and_drawings_name_the_intents_that_they_moved(tmp_path: Path) -> None:
    session = Session(
        Settings(domain="creative_writing", artifact="creative_writing-eval-000", seed=3), folder=tmp_path
    )
    session.next()
    moment = only(session.conversation)["moments"][1]
    named = {key for node in walk(moment["reply"]) for key in node[1].get("data-intents", "").split()}
    assert named and named >= set(moment["worth"]["discovered"])


def walk(nodes: list[Any]) -> list[Any]:
    inner = [node for node in nodes if not isinstance(node, str)]
    return inner + [below for node in inner for below in walk(node[2:])]


@pytest.mark.slow
def test_what_is_kept_of_turns_is_what_would_be_computed(tmp_path: Path) -> None:
    session = Session(Settings(domain="travel_plan", artifact="travel_plan-eval-002"), folder=tmp_path)
    kept = Moments()
    for _ in range(3):
        session.next()
        strips = [Strip("main line", session.conversation)]
        assert stage_of(strips, kept) == stage_of(strips)
