"""Texts in letters that the leak rule does not know: not checked, wherever leaks are told, and never 0."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import discover
from llm_server import FakeServer

from discover_lib.base.leaks import is_checkable, leaks_told
from discover_lib.base.words import reads
from discover_lib.core.view import leaked_words
from discover_lib.metrics.results import CSV_COLUMNS
from discover_lib.metrics.scores import ConversationScores, scores_of
from discover_lib.metrics.summary import summarise
from discover_lib.runs.outcomes import Outcomes
from discover_lib.runs.store import RunStore
from discover_lib.tasks.leaks import audit
from workbench.views import audit as show_audit
from workbench.views import runs as show_runs

HIDDEN = "Собеседник рассказчика — моряк"
SAID = "пусть собеседник рассказчика будет моряк"  # the hidden intent, word for word
TREE = {
    "artifact_type": "рассказ",
    "topic": "ночной паром",
    "initial_request": "напиши рассказ про ночной паром",
    "initially_discovered": ["1"],
    "roots": [{"id": "1", "text": "О ночном пароме", "children": [{"id": "1.1", "text": HIDDEN}]}],
}
MISSED = [{"id": key, "reason": "no", "engaged": False, "near_misses": []} for key in ("1", "1.1")]
JUDGED = {"kind_reason": "asks", "kind": "dialogue_act", "intents": MISSED}


def answer(messages: Sequence[dict[str, Any]], body: dict[str, Any]) -> tuple[str, int]:
    """A judge who sees nothing, and a user who says the hidden intent."""
    text = str(messages[0]["content"])
    if "You are the user" in text:
        return json.dumps({"thought": "", "message": SAID}), 20
    if "intents" in text and "near_misses" in text:
        return json.dumps(JUDGED), 20
    return "Какой тон?", 5


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("unread")
    trees = folder / "trees"
    trees.mkdir()
    (trees / "parom.json").write_text(json.dumps(TREE), encoding="utf-8")
    with FakeServer(answer) as server:
        done = discover(
            *("simulate", "--trees", trees, "--assistant", "openai/them", "--engine", "openai/user", "--turns", 2),
            *("--api-base", server.api_base, "--run", folder / "run"),
        )
    assert done.returncode == 0, done.stderr
    return folder / "run", done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a retired harbour pilot", True),
        ("Erzähler in Köln", True),
        (HIDDEN, False),
        ("Ένας ναυτικός", False),
        ("退役的引航员", False),
        ("メモ: Python", True),
        ("12 + 3 !?", True),
        ("", True),
    ],
)
def test_which_texts_the_rule_can_read(text: str, read: bool) -> None:
    assert reads(text) is read
    assert is_checkable("a boat", [text]) is read


@pytest.mark.parametrize(
    ("leaks", "unchecked", "told"),
    [(0, 0, "0"), (2, 0, "2"), (0, 3, "3 not checked"), (1, 3, "1, 3 not checked")],
)
def test_a_bare_zero_stands_for_messages_that_were_checked(leaks: int, unchecked: int, told: str) -> None:
    assert leaks_told(leaks, unchecked) == told


def test_a_hidden_intent_said_word_for_word_in_russian_is_not_checked(run: tuple[Path, str]) -> None:
    folder, told = run
    with RunStore.read(folder) as store:
        [talk], [row] = list(store.conversations()), store.listing()
        outcomes = Outcomes.of_run(store)
    assert talk.turns[0].user_message == SAID
    assert leaked_words(SAID, talk.tree, talk.turns[0].after, []) == (), "the rule sees no word of it"
    scores = scores_of(talk, 0)
    assert (scores.leaks, scores.unchecked, scores.known_leaks) == (0, 1, None)
    [summary] = summarise([scores])
    assert summary.row()[-1] == "1 not checked" and summary.to_dict()["turns_leaking"] is None
    assert "1 not checked" in told and "leaks not checked in 1 artifact" in outcomes.line
    assert not row.leaks_checked and "leaks not checked" in show_runs.listing([row], {})
    kept = json.loads((folder / "summary.json").read_text("utf-8"))
    assert '"turns_unchecked": 1' in json.dumps(kept) and '"turns_leaking": 0' not in json.dumps(kept)


def test_the_audit_leaves_them_out_of_its_denominator(run: tuple[Path, str]) -> None:
    folder, _ = run
    with RunStore.read(folder) as store:
        found = audit(store.conversations())
    assert (found.turns, found.unchecked, found.findings) == (0, 1, ())
    assert "not checked" in show_audit.audit_line(found) and "0 of" not in show_audit.audit_line(found)
    done = discover("audit", folder)
    assert "leaks: 1 user turn not checked" in done.stdout and "user turns raise an alarm" not in done.stdout


def test_an_evaluation_says_not_checked_too(run: tuple[Path, str]) -> None:
    from discover_lib.metrics.results import Pool, results_of, tidy_rows

    with RunStore.read(run[0]) as store:
        [scores] = [scores_of(talk, 0) for talk in store.conversations()]
    found = results_of(Pool([scores]))
    assert found.leaks == {} and found.unchecked == {scores.assistant: 1}
    assert found.leaks_of(scores.assistant) == "1 not checked"
    assert tidy_rows(Pool([scores]))[0]["leaks"] is None and "leaks" in CSV_COLUMNS


def test_a_digest_of_before_is_read_anew_where_the_tree_is_somebodys_own(run: tuple[Path, str]) -> None:
    with RunStore.read(run[0]) as store:
        [scores] = [scores_of(talk, 0) for talk in store.conversations()]
    now = scores.digest()
    assert ConversationScores.from_json(json.dumps(now), 0) == scores
    before = {name: value for name, value in now.items() if name != "unchecked"}
    assert ConversationScores.from_json(json.dumps(before), 0) is None
    ours = ConversationScores.from_json(json.dumps(before | {"domain": "svg_drawing"}), 0)
    assert ours is not None and ours.unchecked == 0, "the miniature's texts are all read"


def test_an_artifact_in_such_letters_is_refused_before_any_call(tmp_path: Path) -> None:
    (tmp_path / "parom.txt").write_text("Ночью паром шёл через залив. " * 20, encoding="utf-8")
    asked: list[object] = []

    def noted(messages: Sequence[dict[str, Any]], body: dict[str, Any]) -> tuple[str, int]:
        asked.append(messages)
        return "{}", 1

    with FakeServer(noted) as server:
        done = discover(
            *("build", tmp_path / "parom.txt", "--type", "story", "--engine", "openai/builder"),
            *("--api-base", server.api_base, "--out", tmp_path / "trees"),
        )
    assert done.returncode != 0 and not asked
    assert "letters a to z" in done.stdout + done.stderr
