"""A conversation as plain text: everything said, found and earned stands there once, in 100 columns."""

from dataclasses import replace

import pytest

from discover_lib.core.conversation import Conversation, Reply
from discover_lib.metrics.transcript import COLUMNS, transcript
from discover_lib.runs.options import RunOptions, lay_out
from discover_lib.runs.units import run_unit

DRAWN = "Here you are.\n\n```svg\n<svg viewBox='0 0 9 9'><title>A fox</title><path d='M0 0'/></svg>\n```"


@pytest.fixture(scope="module", params=["svg_drawing", "creative_writing"])
def talk(request: pytest.FixtureRequest) -> Conversation:
    return run_unit(lay_out(RunOptions(("adaptive",), domain=request.param, artifacts=1, seed=1)).units[0])


def test_what_was_said_found_and_earned_stands_there_in_order(talk: Conversation) -> None:
    lines = list(transcript(talk))
    assert max(map(len, lines)) <= COLUMNS
    text = " ".join(" ".join(lines).split())
    at = 0
    for turn in talk.turns:
        moved = [each for each in turn.candidate.transitions if each.moved]
        assert turn.candidate.reward
        for part in (
            f"turn {turn.index} assistant ",
            *(f"* {each.intent_id} ({talk.tree.text(each.intent_id)}): " for each in moved),
            f"reward {turn.candidate.reward.total:+.3f} ",
            *([f"user {' '.join(turn.user_message.split())}"] if turn.user_message else []),
        ):
            assert (at := text.find(part, at) + 1), part
    assert "<svg" not in text and "```" not in text


def test_a_drawing_is_its_title_and_prose_keeps_its_words(talk: Conversation) -> None:
    first = talk.turns[0]
    candidate = replace(first.candidate, reply=Reply(DRAWN, 9, "words"), transitions=(), reward=None, error="judge: no")
    (_, *lines) = transcript(
        replace(talk, turns=(replace(first, candidates=(candidate,), chosen=0, user_message=None),))
    )
    assert lines == [
        "", "turn 1", "assistant  Here you are.", "           [a drawing: A fox, 65 characters of SVG]",
        "           = no change; unscored: judge: no",
    ]  # fmt: skip
