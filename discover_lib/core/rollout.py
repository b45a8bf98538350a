"""Conversations: one assistant, or the best of several, with one simulated user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import Assistant, Judge, SeesIntents, UserVoice
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator

MAX_TURNS = 5  # the paper's

Ahead = Callable[[UserSimulator, Candidate], Candidate]  # rewards a candidate for the turns after it
# The builtin `map`, or one that does its work in parallel and keeps the order.
Map = Callable[[Callable[[int], Candidate], Iterable[int]], Iterable[Candidate]]


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
    ahead: Ahead | None = None,
) -> Conversation:
    """Run one conversation to its end: everything discovered, or `turns` assistant turns.

    Several assistants all answer every turn; the judge sees the same frozen state, and the best reply is selected.
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
    ahead: Ahead | None = None,
) -> Conversation:
    """Continue a simulated user's conversation to the end that it would have had without the break.

    Args:
        turns: assistant turns in all, those already taken included.
        on_turn: called after every turn, when `user.conversation` holds it and says whether it was the last.
        parallel_map: how the candidates of a turn are asked and judged; it must keep their order.
        ahead: reward candidates for the turns after them, too (`discover_lib.metrics.replay`).
    """
    if turns < 1:
        raise ValueError(f"a conversation has at least one turn, got {turns}")
    user.turns = turns

    def candidate(place: int) -> Candidate:
        considered = user.consider(user.ask(assistants[place], place))
        return ahead(user, considered) if ahead else considered

    while user.conversation.stop is None:
        turn = user.commit(list(parallel_map(candidate, range(len(assistants)))))
        if on_turn:
            on_turn(turn)
    return user.conversation
