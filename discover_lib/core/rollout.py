"""Conversations: one assistant, or the best of several, with one simulated user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from discover_lib.base.seeds import derive_seed
from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import Assistant, Judge, JudgeError, SeesIntents, UserVoice, ask
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator, looking_ahead

MAX_TURNS = 5  # the paper's


@dataclass(frozen=True)
class LookAhead:
    """Candidates are worth what they lead to: the user answers each, and `assistant` goes on for `turns` turns.

    So a reply that pays off a turn later can outscore one that discovers something now.  The whole window is one
    reward: what it discovers, and the length of all its replies against one τ.
    """

    turns: int
    assistant: Assistant | SeesIntents


class Map(Protocol):
    """The builtin `map`, or one that does its work in parallel; results come in order."""

    def __call__(self, function: Callable[[int], Candidate], places: Iterable[int], /) -> Iterable[Candidate]: ...


def run_conversation(
    tree: IntentTree,
    judge: Judge,
    voice: UserVoice,
    assistants: Sequence[Assistant | SeesIntents],
    *,
    rules: Rules | None = None,
    seed: int = 0,
    turns: int = MAX_TURNS,
    setting: Mapping[str, Any] | None = None,
    on_turn: Callable[[Turn], None] | None = None,
    parallel_map: Map = map,
    ahead: LookAhead | None = None,
) -> Conversation:
    """Run one conversation to its end: everything discovered, or `turns` assistant turns.

    With several assistants all answer every turn, are judged against the same frozen state, and the best goes on.
    """
    user = UserSimulator(tree, judge, voice, rules=rules, seed=seed, setting=setting)
    return continue_conversation(user, assistants, turns=turns, on_turn=on_turn, parallel_map=parallel_map, ahead=ahead)


def continue_conversation(
    user: UserSimulator,
    assistants: Sequence[Assistant | SeesIntents],
    *,
    turns: int = MAX_TURNS,
    on_turn: Callable[[Turn], None] | None = None,
    parallel_map: Map = map,
    ahead: LookAhead | None = None,
) -> Conversation:
    """Run a simulated user's conversation to its end from where it stands, to the same end as without the break.

    Args:
        turns: assistant turns in all, those already taken included.
        on_turn: called after every turn, when `user.conversation` holds it and says whether it was the last.
        parallel_map: how the candidates of a turn are asked and judged; it must keep their order.
        ahead: reward candidates by what comes after them, too.
    """
    if turns < 1:
        raise ValueError(f"a conversation has at least one turn, got {turns}")
    user.turns = turns

    def candidate(place: int) -> Candidate:
        reply = user.ask(assistants[place], place)
        return with_look_ahead(user, user.consider(reply), ahead)

    while user.conversation.stop is None:
        turn = user.commit(list(parallel_map(candidate, range(len(assistants)))))
        if on_turn:
            on_turn(turn)
    return user.conversation


def with_look_ahead(user: UserSimulator, candidate: Candidate, ahead: LookAhead | None) -> Candidate:
    """The candidate with what would come after it; unscored, with the error, if that cannot be judged."""
    if candidate.evaluation is None or ahead is None or ahead.turns == 0:
        return candidate
    taken = len(user.conversation.turns) + 1  # this candidate's turn included
    fork = UserSimulator.resume(user.conversation, user.judge, user.voice, turns=taken + ahead.turns)
    try:
        fork.commit([candidate])
        while fork.conversation.stop is None:
            seed = derive_seed(user.conversation.seed, "turn", taken, "ahead", len(fork.conversation.turns) - taken)
            fork.step(ask(ahead.assistant, fork.tree, fork.state, fork.messages, seed))
    except JudgeError as error:
        return Candidate(candidate.reply, None, user.state, error=f"looking ahead: {error}")
    future = fork.conversation.turns[taken:]
    return looking_ahead(user.tree, user.state, candidate, future, user.rules)
