"""Texts in letters that the leak rule does not know: not checked, wherever leaks are told, and never 0."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import discover
from llm_server import FakeServer

from discover_lib.core.view import leaked_words
from discover_lib.metrics.scores import scores_of
from discover_lib.metrics.summary import summarise
from discover_lib.runs.outcomes import Outcomes
from discover_lib.runs.store import RunStore
from discover_lib.tasks.leaks import audit
from workbench.views import audit_parts as show_audit
from workbench.views import audit_parts as show_runs

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
