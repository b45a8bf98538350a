"""A user's message that was refused leaves a trace: what was tried, why not, and by which check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import discover

from discover_lib.core.conversation import Conversation
from discover_lib.engines.llm.asking import again
from discover_lib.engines.llm.calls.exchange import Completion, Request
from discover_lib.engines.llm.prompting import transcript
from discover_lib.engines.llm.voice import LEAKED, PARAPHRASED
from discover_lib.runs.outcomes import refusals, refused_in
from discover_lib.runs.store import RunStore

pytestmark = pytest.mark.slow

DOMAIN = "technical_writing"
RULE = f"{LEAKED}: avoid 'phone'"


def asked_again(talk: Conversation, turn: int, message: str, why: str) -> Request:
    heard = transcript((*talk.messages(turn - 1), talk.turns[turn - 1].reply.message))
    prompt = ({"role": "system", "content": "You are the user."}, {"role": "user", "content": f"{heard}\n\n# In mind"})
    return again(Request("openai/m", prompt, "voice"), json.dumps({"thought": "", "message": message}), why)


def test_refused_messages_are_shown_with_the_check_that_refused_them(tmp_path: Path) -> None:
    options = ["--assistant", "draft", "--domain", DOMAIN, "--artifacts", 1, "--trials", 1, "--turns", 2]
    discover("simulate", *options, "--run", tmp_path / "run")
    with RunStore.read(tmp_path / "run") as store:
        talk, configuration = store.conversation(0), store.configuration
    tried = [(1, "a phone call?", RULE), (2, "ring them up?", PARAPHRASED), (1, "a\nb", "the message must be plain")]
    with RunStore.write(tmp_path / "run", configuration) as store:
        for number, what in enumerate(tried):
            request = asked_again(talk, *what)
            store.calls.put(f"call {number}", request, Completion('{"thought": "", "message": "hm"}'))
        refused = refused_in(talk, refusals(store))
    assert [(each.turn, each.message, each.check) for each in refused] == [
        (1, "a phone call?", "word rule"),
        (2, "ring them up?", "model's check"),
        (1, "a\nb", "form"),
    ]
    assert refused[0].why == RULE
    audited = discover("audit", tmp_path / "run").stdout
    assert "  these are leaks by the rule about words; no model read for paraphrases" in audited
    assert "3 messages refused and asked for again (word rule 1, model's check 1, form 1)" in audited
    assert f"turn 1, refused by the word rule: 'a phone call?': {RULE}" in audited
    shown = discover("show", tmp_path / "run").stdout
    assert "the user's message was asked for again: turn 2, refused by the model's check: 'ring them up?'" in shown
