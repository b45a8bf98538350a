"""The simulated user, stepped: frozen states, candidates, time travel, failures, seeds."""

from collections.abc import Sequence

import pytest
from scripted import EchoVoice, ScriptedAssistant, ScriptedJudge, artifact, forest, question

from discover_lib import IntentTree, Message, Reply, Rules, UserSimulator, UserView
from discover_lib.base.seeds import derive_seed
from discover_lib.core.roles import JudgeError, VoiceError
from discover_lib.core.rollout import run_conversation

TREE = forest("1 1.1 2 2.1", "1")
READINGS = {"chat": question(), "ask": question("1.1"), "hint": question(n1_1=1), "draft": artifact("1", "1.1")}
READINGS |= {"build": artifact("1", "1.1", "2", "2.1"), "garbled": None}


def simulator(seed: int = 7, voice: EchoVoice | None = None, **options) -> UserSimulator:
    return UserSimulator(TREE, ScriptedJudge(READINGS), voice or EchoVoice(), seed=seed, **options)


class SilentVoice(EchoVoice):
    def speak(self, view: UserView, messages: Sequence[Message], seed: int) -> str:
        raise VoiceError("nothing came back")


# -- candidates ------------------------------------------------------------------------------------------------------


def test_the_best_candidate_goes_on_and_all_are_kept() -> None:
    turn = simulator().step(["chat", "draft", "hint"])
    assert (turn.chosen, turn.reply.text) == (1, "draft")
    assert [each.reply.text for each in turn.candidates] == ["chat", "draft", "hint"]
    assert [each.reward.total for each in turn.candidates] == [0, 1, 0]


def test_candidates_are_judged_against_the_same_frozen_conversation() -> None:
    user = simulator()
    user.step("hint")
    before, messages = user.state, user.messages
    user.judge.seen.clear()
    user.step(["draft", "ask", "build"])
    assert [(state, said) for _, state, said in user.judge.seen] == [(before, messages)] * 3


def test_considering_changes_nothing_and_tells_what_a_step_would_do() -> None:
    user = simulator()
    user.step("chat")
    before = user.conversation
    candidate = user.consider("draft")
    assert user.conversation == before
    assert user.consider("draft") == candidate == user.step("draft").candidate


def test_a_tie_goes_to_fewer_tokens() -> None:
    long, short = Reply("ask", 90, "given"), Reply("draft", 20, "given")  # both discover 1.1, both below τ
    assert simulator().step([long, short]).chosen == 1
    assert simulator().step([short, long]).chosen == 0


def test_a_tie_in_tokens_too_is_drawn_by_the_seed() -> None:
    chosen = [simulator(seed).step(["ask", "ask"]).chosen for seed in range(40)]
    assert set(chosen) == {0, 1}
    assert chosen == [simulator(seed).step(["ask", "ask"]).chosen for seed in range(40)]


# -- when a role fails -------------------------------------------------------------------------------------------------


def test_an_unscored_candidate_is_kept_with_its_error_and_never_wins() -> None:
    costly = Reply("chat", 5_000, "given")  # a reward of −1
    turn = simulator().step(["garbled", costly])
    garbled = turn.candidates[0]
    assert (turn.chosen, garbled.reply.text, garbled.evaluation, garbled.reward) == (1, "garbled", None, None)
    assert garbled.error == "judge: cannot read 'garbled'"
    assert garbled.after == turn.before


def test_an_unscored_candidate_never_wins_under_the_authors_rules_either() -> None:
    assert simulator(rules=Rules.authors()).step(["chat", "garbled"]).chosen == 0


@pytest.mark.parametrize(
    ("replies", "voice", "error"),
    [
        pytest.param("garbled", EchoVoice(), JudgeError, id="the only reply could not be judged"),
        pytest.param("chat", SilentVoice(), VoiceError, id="the user could not answer"),
        pytest.param([], EchoVoice(), ValueError, id="no reply"),
    ],
)
def test_a_turn_that_fails_leaves_the_conversation_as_it_was(replies, voice: EchoVoice, error: type) -> None:
    user = simulator()
    user.step("hint")
    before, user.voice = user.conversation, voice
    with pytest.raises(error):
        user.step(replies)
    assert user.conversation is before
    user.voice = EchoVoice()
    assert user.step("draft").index == 2  # and it can go on


# -- the end -----------------------------------------------------------------------------------------------------------


def test_all_discovered_ends_the_conversation_without_another_message() -> None:
    user = simulator()
    turn = user.step("build")
    assert (user.conversation.stop, turn.user_message) == ("all_discovered", None)
    with pytest.raises(ValueError, match="all_discovered"):
        user.step("chat")


@pytest.mark.parametrize(
    ("replies", "turns", "stop", "taken"),
    [
        pytest.param(["chat"], 5, "max_turns", 5, id="the last turn"),
        pytest.param(["hint", "build"], 2, "all_discovered", 2, id="all discovered in the last turn"),
    ],
)
def test_a_run_stops_for_a_reason_and_the_user_is_silent_after_it(replies, turns: int, stop: str, taken: int) -> None:
    assistant = ScriptedAssistant("one", *replies)
    record = run_conversation(TREE, ScriptedJudge(READINGS), EchoVoice(), [assistant], turns=turns)
    assert (record.stop, len(record.turns)) == (stop, taken)
    assert [turn.user_message is None for turn in record.turns] == [False] * (taken - 1) + [True]
    assert record.messages()[-1].role == "assistant"


def test_a_run_takes_the_best_of_its_assistants_in_every_turn() -> None:
    first, second = ScriptedAssistant("first", "draft", "chat"), ScriptedAssistant("second", "chat", "build")
    record = run_conversation(TREE, ScriptedJudge(READINGS), EchoVoice(), [first, second])
    assert [turn.reply.assistant for turn in record.turns] == ["first", "second"]
    assert record.stop == "all_discovered"


def test_a_run_needs_a_turn() -> None:
    with pytest.raises(ValueError, match="at least one turn"):
        run_conversation(TREE, ScriptedJudge(READINGS), EchoVoice(), [ScriptedAssistant("one", "chat")], turns=0)


# -- time travel -------------------------------------------------------------------------------------------------------


def test_a_branch_shares_the_past_and_leaves_the_original_alone() -> None:
    user = simulator()
    for reply in ("hint", "chat", "ask"):
        user.step(reply)
    original = user.conversation
    branch = user.branch(1)
    assert branch.conversation.turns[0] is original.turns[0]
    assert branch.messages == original.messages(1)
    branch.step("draft")
    assert user.conversation is original
    assert [turn.reply.text for turn in branch.conversation.turns] == ["hint", "draft"]


@pytest.mark.parametrize("rules", [Rules.paper(), Rules.authors()], ids=lambda rules: rules.name)
@pytest.mark.parametrize("turn", [0, 1, 2])
def test_jumping_back_and_saying_the_same_gives_the_same_turns(turn: int, rules: Rules) -> None:
    user = simulator(rules=rules)
    said = [["hint", "ask"], "hint", ["chat", "garbled", "chat"]]
    for reply in said:
        user.step(reply)
    branch = user.branch(turn)
    for reply in said[turn:]:
        branch.step(reply)
    assert branch.conversation.to_dict() == user.conversation.to_dict()


def test_a_conversation_that_ran_out_of_turns_can_go_on_in_a_branch() -> None:
    assistant = ScriptedAssistant("one", "hint")
    record = run_conversation(TREE, ScriptedJudge(READINGS), EchoVoice(), [assistant], turns=2, seed=7)
    undisturbed = simulator()
    for _ in range(2):
        undisturbed.step(record.turns[0].reply)
    branch = UserSimulator.resume(record, ScriptedJudge(READINGS), EchoVoice()).branch(2)
    assert branch.conversation.turns == undisturbed.conversation.turns  # the user has answered
    assert branch.conversation.stop is None
    assert record.turns[-1].user_message is None


def test_a_branch_at_the_end_of_a_finished_conversation_is_finished() -> None:
    user = simulator()
    user.step("build")
    assert user.branch(1).conversation == user.conversation
    assert user.branch(0).conversation.stop is None


@pytest.mark.parametrize("turn", [-1, 2, 99])
def test_there_is_no_branch_from_a_turn_that_never_was(turn: int) -> None:
    user = simulator()
    user.step("chat")
    with pytest.raises(ValueError, match=f"turn {turn} is not"):
        user.branch(turn)


# -- seeds -------------------------------------------------------------------------------------------------------------


def test_a_seed_is_a_conversation() -> None:
    said = [["hint", "chat"], ["hint", "hint"], "draft"]
    same, again, other = simulator(5), simulator(5), simulator(6)
    for user in (same, again, other):
        for reply in said:
            user.step(reply)
    assert same.conversation == again.conversation
    assert other.conversation.start.thresholds != same.conversation.start.thresholds
    assert other.conversation.turns[0].user_message != same.conversation.turns[0].user_message


def test_units_of_work_with_like_names_have_seeds_of_their_own() -> None:
    assert len({derive_seed(1, 23), derive_seed(12, 3), derive_seed(123), derive_seed(3, 12)}) == 4


def test_the_voice_is_seeded_anew_each_turn() -> None:
    user = simulator()
    first, second = user.step("chat").user_message, user.step("chat").user_message
    assert first != second


def test_a_voice_of_many_manners_speaks_as_the_user_of_the_conversation() -> None:
    class Many(EchoVoice):
        def of(self, user: int) -> EchoVoice:
            assert user == 7
            return EchoVoice()

        def speak(self, view: UserView, messages: Sequence[Message], seed: int) -> str:
            raise VoiceError("nobody in particular")

    assert simulator(7, Many()).step("chat").user_message == simulator(7).step("chat").user_message


def test_what_the_user_lets_slip_is_recorded() -> None:
    class Chatty(EchoVoice):
        def speak(self, view: UserView, messages: Sequence[Message], seed: int) -> str:
            return "kittens then"

    tree = IntentTree.from_dict({"roots": [{"id": "1", "text": "has kittens"}]})
    user = UserSimulator(tree, ScriptedJudge(READINGS), Chatty())
    assert user.step("chat").leaks == ("kitten",)
