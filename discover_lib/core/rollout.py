"""Conversations: one assistant, or the best of several, with one simulated user."""

from __future__ import annotations

import builtins
import dataclasses
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

    A reply that only opens a door can then be worth more than one that discovers something at once.  The whole window
    is one reward: what it discovers, and the length of all its replies against one τ.
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
    map: Map = builtins.map,
    ahead: LookAhead | None = None,
) -> Conversation:
    """Run one conversation to its end: everything discovered, or `turns` assistant turns.

    With several assistants all answer every turn, are judged against the same frozen state, and the best goes on.
    """
    simulator = UserSimulator(tree, judge, voice, rules=rules, seed=seed, setting=setting)
    return continue_conversation(simulator, assistants, turns=turns, on_turn=on_turn, map=map, ahead=ahead)


def continue_conversation(
    simulator: UserSimulator,
    assistants: Sequence[Assistant | SeesIntents],
    *,
    turns: int = MAX_TURNS,
    on_turn: Callable[[Turn], None] | None = None,
    map: Map = builtins.map,
    ahead: LookAhead | None = None,
) -> Conversation:
    """Run a simulator's conversation to its end from where it stands, to the same end as without the break.

    Args:
        turns: assistant turns in all, those already taken included.
        on_turn: called after every turn, when `simulator.conversation` holds it and says whether it was the last.
        map: how the candidates of a turn are asked and judged; a parallel one must keep their order.
        ahead: reward candidates by what comes after them, too.
    """
    if turns < 1:
        raise ValueError(f"a conversation has at least one turn, got {turns}")
    while simulator.conversation.stop is None:
        index = len(simulator.conversation.turns) + 1
        turn = simulator.commit(
            list(map(_candidate(simulator, assistants, ahead), range(len(assistants)))), speak=index < turns
        )
        if index >= turns and simulator.conversation.stop is None:
            simulator.conversation = dataclasses.replace(simulator.conversation, stop="max_turns")
        if on_turn:
            on_turn(turn)
    return simulator.conversation


def _candidate(
    simulator: UserSimulator, assistants: Sequence[Assistant | SeesIntents], ahead: LookAhead | None
) -> Callable[[int], Candidate]:
    """What makes the candidate at a place: a reply to the conversation as it stands, judged."""
    tree, state, messages = simulator.tree, simulator.state, simulator.messages
    index, seed = len(simulator.conversation.turns) + 1, simulator.conversation.seed

    def make(place: int) -> Candidate:
        drawn = derive_seed(seed, "turn", index, "candidate", place)
        candidate = simulator.consider(ask(assistants[place], tree, state, messages, drawn))
        return candidate if ahead is None else with_look_ahead(simulator, candidate, ahead)

    return make


def with_look_ahead(simulator: UserSimulator, candidate: Candidate, ahead: LookAhead) -> Candidate:
    """The candidate with what would come after it; unscored, with the error, if that cannot be judged."""
    if candidate.evaluation is None or ahead.turns == 0:
        return candidate
    past = len(simulator.conversation.turns)
    fork = UserSimulator.resume(simulator.conversation, simulator.judge, simulator.voice)
    try:
        fork.commit([candidate])
        while fork.conversation.stop is None and (done := len(fork.conversation.turns) - past - 1) < ahead.turns:
            drawn = derive_seed(simulator.conversation.seed, "turn", past + 1, "ahead", done)
            reply = ask(ahead.assistant, fork.tree, fork.state, fork.messages, drawn)
            fork.step(reply, speak=done + 1 < ahead.turns)
    except JudgeError as error:
        return Candidate(candidate.reply, None, simulator.state, error=f"looking ahead: {error}")
    future = fork.conversation.turns[past + 1 :]
    return looking_ahead(simulator.tree, simulator.state, candidate, future, simulator.rules)
