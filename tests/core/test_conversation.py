"""Records: what goes into JSON comes back the same, and can be computed again from its judgements."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import RULES, EchoVoice, ScriptedJudge, artifact, evaluations, forest, modest, question, state_of, trees

from discover_lib import Conversation, Message, Reply, Rules, UserSimulator, replay
from discover_lib.core.conversation import FORMAT

PAPER, AUTHORS = Rules.paper(), Rules.authors()
TREE = forest("1 1.1 2 2.1", "1")
READINGS = {
    "ask": question("1.1", n2=2),
    "draft": artifact("1", "1.1", n2=1),
    "build": artifact("1", "1.1", "2", "2.1"),
    "chat": question(),
}


def conversation(*replies: str | tuple[str, ...], rules: Rules = PAPER) -> Conversation:
    """A conversation of these turns; of a turn's candidates ``garbled`` is one that the judge cannot read."""
    simulator = UserSimulator(TREE, ScriptedJudge(READINGS), EchoVoice(), rules=rules, seed=7)
    for reply in replies:
        simulator.step(reply)
    return simulator.conversation


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """Any conversation of up to 4 turns of up to 3 candidates, one of which may be unscored."""
    tree = draw(trees())
    readings = {f"reply {n}": draw(evaluations(tree)) for n in range(4)}
    setting = {"domain": "test", "trial": draw(st.integers(0, 9))}
    simulator = UserSimulator(
        tree, ScriptedJudge(readings), EchoVoice(), rules=draw(RULES), seed=draw(st.integers(0, 2**63)), setting=setting
    )
    for _ in range(draw(st.integers(0, 4))):
        if simulator.conversation.stop is None:
            said = draw(st.lists(st.sampled_from(list(readings)), min_size=1, max_size=2))
            tokens = draw(st.integers(0, 2_000))
            candidates = [Reply(text, tokens, "drawn", f"assistant {n}") for n, text in enumerate(said)]
            simulator.step([*candidates, Reply("garbled", 3, "drawn")] if draw(st.booleans()) else candidates)
    return simulator.conversation


@pytest.mark.slow
@modest
@given(conversations())
def test_a_conversation_survives_json(record: Conversation) -> None:
    back = Conversation.from_dict(json.loads(json.dumps(record.to_dict())))
    assert back == record
    assert back.to_dict() == record.to_dict()


@pytest.mark.slow
@modest
@given(conversations())
def test_a_replay_under_its_own_rules_is_the_conversation(record: Conversation) -> None:
    again = replay(record)
    assert again == record
    assert again.to_dict() == record.to_dict()


@pytest.mark.slow
@modest
@given(conversations(), RULES)
def test_a_replay_under_other_rules_keeps_what_was_said_and_judged(record: Conversation, rules: Rules) -> None:
    other = replay(record, rules)
    assert (other.rules, other.tree, other.seed, other.setting) == (rules, record.tree, record.seed, record.setting)
    assert other.messages() == record.messages()
    for ours, theirs in zip(other.turns, record.turns, strict=True):
        assert (ours.index, ours.chosen, ours.user_message) == (theirs.index, theirs.chosen, theirs.user_message)
        for mine, yours in zip(ours.candidates, theirs.candidates, strict=True):
            assert (mine.reply, mine.evaluation, mine.error) == (yours.reply, yours.evaluation, yours.error)


def test_a_replay_with_another_tau_changes_the_penalty_alone() -> None:
    tree_state = conversation(("ask", "draft"), "build")
    strict = replay(tree_state, PAPER.replace(tau=0))
    for ours, theirs in zip(strict.turns, tree_state.turns, strict=True):
        assert (ours.after, ours.view, ours.focus) == (theirs.after, theirs.view, theirs.focus)
        for mine, yours in zip(ours.candidates, theirs.candidates, strict=True):
            assert mine.transitions == yours.transitions
            assert mine.reward.discovered == yours.reward.discovered
            assert mine.reward.penalty == pytest.approx(-0.001 * mine.reply.n_tokens)


def test_a_replay_under_the_authors_rules_counts_by_theirs() -> None:
    other = replay(conversation("build"), AUTHORS)
    assert other.turns[0].focus == ("1", "2")
    assert other.state.satisfied == {"1", "1.1", "2", "2.1"}
    assert other.turns[0].candidate.reward.discovered == 3  # 1.1, 2 and 2.1


@pytest.mark.parametrize("rules", [PAPER, AUTHORS], ids=lambda rules: rules.name)
def test_a_conversation_that_began_in_the_middle_replays_from_there(rules: Rules) -> None:
    theta = 0.9 if rules is PAPER else (0.9, 0.8)
    start = state_of(TREE, "1 1.1", satisfied="1 1.1", theta=theta)
    simulator = UserSimulator.resume(Conversation(TREE, rules, 3, start), ScriptedJudge(READINGS), EchoVoice())
    simulator.step("build")
    assert replay(simulator.conversation) == simulator.conversation
    other = replay(simulator.conversation, AUTHORS if rules is PAPER else PAPER)
    assert (other.start.discovery, other.start.satisfied) == (start.discovery, start.satisfied)


def test_messages_open_with_the_request_and_alternate() -> None:
    record = conversation("ask", "draft")
    assert [message.role for message in record.messages()] == ["user", "assistant", "user", "assistant", "user"]
    assert record.messages()[0] == Message("user", TREE.initial_request)
    assert [message.content for message in record.messages(1)][1] == "ask"
    assert record.messages(0) == record.messages()[:1]
    assert record.messages(1) == record.messages()[:3]


def test_another_format_is_refused_by_name() -> None:
    data = conversation("ask").to_dict()
    for wrong in ("discover-conversation/999", None):
        with pytest.raises(ValueError, match=f"{wrong!r}, not '{FORMAT}'"):
            Conversation.from_dict(data | {"format": wrong})
