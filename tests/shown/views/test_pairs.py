"""Pairs opened up: the words fit the label, plots hold every number, and nothing unsafe gets through."""

import dataclasses

import pytest
from hostile import HOSTILE, HOSTILE_SVG, Tags, conversation

from discover_lib import Rules, replay
from discover_lib.core.conversation import Conversation
from discover_lib.dataset.preview import QWEN
from discover_lib.dataset.rows import Origin, examples, labelled_turns
from workbench.views import pair_parts as show_pairs

ORIGIN = Origin("a run", "judge", "voice")


def first_turn(talk: Conversation, rules: Rules | None = None) -> str:
    return show_pairs.why(next(labelled_turns(talk, rules)), rules or talk.rules)


def unequal() -> Conversation:
    """The first turn's second reply is long enough to cost something."""
    talk = conversation()
    short, long = talk.turns[0].candidates
    long = dataclasses.replace(long, reply=dataclasses.replace(long.reply, n_tokens=400))
    first = dataclasses.replace(talk.turns[0], candidates=(short, long))
    return replay(dataclasses.replace(talk, turns=(first, *talk.turns[1:])))


def test_why_says_what_decided() -> None:
    assert first_turn(conversation()).startswith("A tie: every reply is worth +")
    assert "went on with adaptive" in first_turn(conversation())
    said = first_turn(unequal())
    assert "adaptive is chosen" in said and "margin of 0.15" in said
    assert "the length penalty alone decides this label" in said
    free = Rules.paper().replace(lam=0.0)
    assert first_turn(unequal(), free).startswith("A tie")
    alone = list(labelled_turns(conversation()))[1]
    assert show_pairs.why(alone, Rules.paper()) == "No label: only one candidate, so there is no preference."


@pytest.mark.parametrize("text", [*HOSTILE, f"```svg\n{HOSTILE_SVG}\n```"])
def test_nothing_unsafe_gets_through(text: str) -> None:
    talk = dataclasses.replace(conversation((text, "second"), said=text), stop="max_turns")
    labelled = next(labelled_turns(talk))
    (row,) = examples("sft", [talk], ORIGIN)
    parts = [show_pairs.pair(talk, labelled, talk.rules), show_pairs.loss(QWEN.sequences(row.train))]
    for name, attributes in Tags("".join(parts)).tags:
        assert name != "script" and not any(key.startswith("on") for key in attributes)
