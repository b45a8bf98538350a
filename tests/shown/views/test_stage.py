"""The stage's record: what it says of a conversation, and that nothing a model wrote can run from it."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hostile import HOSTILE, HOSTILE_SVG, SVG, TREE, conversation

from discover_lib import Conversation
from discover_lib.runs.recorded import load_recorded
from workbench.session import Session
from workbench.sources import Settings
from workbench.views.explain import Explanation, explained, of_transition
from workbench.views.html import rich_text
from workbench.views.moments import Moments, Strip, compared, first_words, nodes_of, stage_of


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
    assert [each["id"] for each in record["intents"]] == list(TREE.intents)
    assert start["states"] == "20000" and start["turn"] == 0
    assert first["states"] == "22100" and first["satisfied"] == []
    assert second["satisfied"] == ["1", "1.1", "1.1.1"]
    assert first["worth"] == {
        "value": 1.0, "text": "+1", "discovered": ["1.1"], "emerging": ["1.1.1"], "satisfied": [],
    }  # fmt: skip
    lines = {line["id"]: (line["change"], line["worth"]) for line in second["receipt"]["lines"]}
    assert lines["1.1.1"] == ("now discovered and satisfied", "+1") and lines["1.1"] == ("now satisfied", "+0")
    assert lines["1.1.2"] == ("θ shrinks", "+0")
    assert [each["worth"] for each in second["receipt"]["sums"]] == ["+1", "−0.135", "+0.865"]


def test_the_threshold_is_explained_with_its_own_numbers_and_a_call_that_runs() -> None:
    shown = conversation()
    turn = shown.turns[0]
    near = next(each for each in turn.candidate.transitions if each.cause == "tangential")
    told = of_transition(near, shown.rules, turn.index)
    assert told.words.startswith("3 near misses count 0.75 (0.25 each) against θ = 0.40. Enough")
    assert told.picture == {"kind": "threshold", "theta": 0.4, "score": 0.75, "steps": 3, "crossed": True}
    record = only(shown)
    for line in (*record["moments"][2]["receipt"]["lines"], *record["moments"][2]["receipt"]["sums"]):
        *before, last = line["explain"]["call"].splitlines()
        names: dict[str, Any] = {"conversation": shown}
        exec("\n".join(before), names)
        assert eval(last, names) is not None
    worth = record["moments"][2]["receipt"]["sums"][2]["explain"]["call"].splitlines()
    names = {"conversation": shown}
    exec("\n".join(worth[:-1]), names)
    assert eval(worth[-1], names) == shown.turns[1].candidate.reward.total  # type: ignore[union-attr]


def test_an_explained_number_unfolds_without_a_script() -> None:
    made = explained("+1", Explanation("Reward R", "one <b>", "reward(...)", {"kind": "sum", "gained": 1, "charge": 0}))
    assert "<summary" in made and "one &lt;b&gt;" in made and "<script" not in made


@pytest.mark.parametrize("payload", [*HOSTILE, f"```svg\n{HOSTILE_SVG}\n```", HOSTILE_SVG])
def test_what_a_model_wrote_is_text_or_a_cleaned_picture(payload: str) -> None:
    record = only(conversation((payload, payload + " again"), payload))
    allowed = {"blockquote", "br", "code", "details", "div", "em", "figcaption", "figure", "h4", "img", "li", "mark"}
    allowed |= {"ol", "p", "pre", "q", "span", "strong", "summary", "ul"}
    for moment in record["moments"][1:]:
        for nodes in (moment["reply"], moment["answer"] or []):
            assert kinds(nodes) <= allowed
    assert "onload" not in json.dumps([each[1] for each in record["moments"][1]["reply"] if not isinstance(each, str)])


def test_nodes_keep_words_pictures_and_marks_and_nothing_else() -> None:
    nodes = nodes_of(rich_text(f"**Two** fish\n```svg\n{SVG}\n```"))
    assert kinds(nodes) >= {"div", "p", "strong", "figure", "img"}
    assert first_words(f"**Two** fish\n```svg\n{SVG}\n```") == "Two fish"
    assert first_words("word " * 60).endswith(" …")


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
    session.rescore("authors")
    strips = [Strip("main line", session.conversation)]
    assert stage_of(strips, kept) == stage_of(strips)


def test_a_stored_session_gives_the_same_record(tmp_path: Path) -> None:
    session = Session(Settings(domain="technical_writing", artifact="technical_writing-eval-001"), folder=tmp_path)
    session.next()
    session.next()
    session.jump(1)
    session.fork()
    session.next()

    def record(shown: Session) -> dict[str, Any]:
        return stage_of([Strip(shown.label(n), b.conversation, b.origin) for n, b in enumerate(shown.branches)])

    assert record(Session.load(session.id, tmp_path)) == record(session)
    assert record(session)["strips"][1]["moments"] == [0, 1, 3]


def test_two_lines_part_and_are_compared_in_a_sentence() -> None:
    shown = conversation()
    short = dataclasses.replace(shown, turns=shown.turns[:1])
    ours, theirs = Strip("main line", shown), Strip("branch 2, from turn 1", short, (0, 1))
    record = stage_of([ours, theirs])
    assert record["pairs"] == [
        {"strips": [0, 1], "same": 1, "parts": 2, "sentence": compared(ours, theirs)}
    ]  # fmt: skip
    assert compared(ours, theirs) == (
        "Main line has 3 of 5 after 2 turns (395 tokens, reward +1.865); branch 2 has 2 of 5 after 1 turn "
        "(10 tokens, reward +1): main line discovered all that branch 2 did, and 1 more."
    )
    assert "both discovered the same" in compared(ours, ours)


def test_a_model_judged_only_what_it_was_asked_and_the_record_says_so() -> None:
    recorded = load_recorded("svg_drawing/night_harbour")[0]
    for moment in only(recorded)["moments"][1:]:
        assert not moment["touched"]["complete"] and moment["touched"]["authors"] is None


def test_an_unscored_turn_says_why() -> None:
    shown = conversation()
    broken = dataclasses.replace(shown.turns[1].candidates[0], evaluation=None, reward=None, error="the judge is away")
    turns = (shown.turns[0], dataclasses.replace(shown.turns[1], candidates=(broken,), chosen=0))
    moment = only(dataclasses.replace(shown, turns=turns))["moments"][2]
    assert moment["worth"] is None and moment["receipt"] is None and "the judge is away" in moment["judge"]


def test_rules_are_told_with_their_numbers() -> None:
    assert only(conversation())["rules"]["line"] == "paper rules: p = 0.25, τ = 250 tokens, λ = 0.001"
