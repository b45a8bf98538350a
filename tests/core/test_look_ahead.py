"""Candidates rewarded for what they lead to: a window of simulated turns by a reward assistant."""

import json

import pytest
from scripted import EchoVoice, ScriptedAssistant, ScriptedJudge, artifact, forest, question

from discover_lib import Conversation, Rules, replay, reward
from discover_lib.core.rollout import run_conversation
from discover_lib.dataset.rows import Origin, examples
from discover_lib.metrics.replay import LookAhead

TREE = forest("1 1.1 1.1.1 1.1.1.1 2", discovered="1")
READINGS = {
    "now": question("1.1"),
    "door": question(),
    "through the door": artifact("1.1", "1.1.1", "1.1.1.1"),
    "nothing": question(),
}


class Opener:
    """Goes on well only where a door was opened."""

    name = "opener"

    def __init__(self) -> None:
        self.said = ScriptedAssistant("opener", "through the door")
        self.dull = ScriptedAssistant("opener", "nothing")

    def reply(self, messages, seed):
        opened = any(message.content == "door" for message in messages)
        return (self.said if opened else self.dull).reply(messages[:1], seed)


def run(window: int, judge: ScriptedJudge | None = None, turns: int = 1, **options) -> Conversation:
    assistants = [ScriptedAssistant("greedy", "now"), ScriptedAssistant("patient", "door")]
    ahead = LookAhead(window, Opener()) if window else None
    judge = judge or ScriptedJudge(READINGS)
    return run_conversation(TREE, judge, EchoVoice(), assistants, turns=turns, ahead=ahead, **options)


def test_a_window_prefers_what_opens_a_door() -> None:
    assert run(0).turns[0].reply.text == "now"
    (turn,) = run(1).turns
    assert turn.reply.text == "door" and [each.reward.total for each in turn.candidates] == [1.0, 3.0]
    assert turn.after.discovered == {"1"}  # the conversation itself goes on from the reply alone
    assert [each.ahead[0].reply.text for each in turn.candidates] == ["nothing", "through the door"]


def test_the_reward_is_that_of_the_whole_window_and_of_all_its_replies() -> None:
    rules = Rules.paper().replace(lam=0.01, tau=15)
    (turn,) = run(2, rules=rules).turns
    for candidate in turn.candidates:
        assert len(candidate.ahead) == 2 and candidate.ahead[-1].user_message is None
        assert candidate.reward == reward(TREE, turn.before, candidate.ahead[-1].after, 30, rules)
        assert candidate.reward.penalty == pytest.approx(-0.15)


def test_no_window_leaves_records_as_they_were() -> None:
    assert "ahead" not in json.dumps(run(0).to_dict())


def test_records_with_windows_come_back_replay_and_label_anew() -> None:
    conversation = run(2, turns=2)
    assert Conversation.from_dict(json.loads(json.dumps(conversation.to_dict()))) == conversation
    assert replay(conversation) == conversation
    dear = replay(conversation, Rules.paper().replace(lam=1, tau=0, penalty_cap=1000))
    assert [each.reward.total for each in dear.turns[0].candidates] == [1 - 30, 3 - 30]
    rows = list(examples("preference", [conversation], Origin("r")))
    assert rows[0].provenance["look_ahead"] == 2 and rows[0].train["chosen"][0]["content"] == "door"


def test_a_window_that_cannot_be_judged_leaves_its_candidate_unscored() -> None:
    (turn,) = run(1, ScriptedJudge({**READINGS, "through the door": None})).turns
    assert turn.reply.text == "now"
    assert turn.candidates[1].reward is None and "looking ahead" in turn.candidates[1].error


def test_a_window_ends_where_everything_is_discovered() -> None:
    judge = ScriptedJudge({**READINGS, "through the door": artifact("1.1", "1.1.1", "1.1.1.1", "2")})
    (turn,) = run(3, judge).turns
    assert len(turn.candidates[1].ahead) == 1 and turn.candidates[1].reward.total == 4
