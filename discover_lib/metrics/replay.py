"""The same conversation once more: states, transitions, rewards and views from its stored judgements."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from discover_lib.base.seeds import derive_seed
from discover_lib.core.advance import focus, initial_state
from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.reward import reward
from discover_lib.core.roles import Assistant, JudgeError, SeesIntents, ask
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator, score_candidate, view_after
from discover_lib.core.state import IntentState


def replay(conversation: Conversation, rules: Rules | None = None) -> Conversation:
    """Recompute states, transitions, rewards and views from the stored judgements.

    Under the conversation's own rules the result equals it.  Under other rules replies, choices and messages stay
    what they were: it answers "what would these replies have been worth?".  Other rules may ask for intents that were
    not judged then; such intents count as not met.
    """
    rules = rules or conversation.rules
    start = start_under(rules, conversation)
    turns = _turns_again(conversation.tree, start, conversation.turns, rules)
    return dataclasses.replace(conversation, rules=rules, start=start, turns=turns)


def _turns_again(tree: IntentTree, state: IntentState, turns: Sequence[Turn], rules: Rules) -> tuple[Turn, ...]:
    """Turns recomputed from their judgements, the first of them from `state`."""
    again = []
    for turn in turns:
        candidates = tuple(_candidate_again(tree, state, candidate, rules) for candidate in turn.candidates)
        in_focus, view = focus(tree, state, rules), view_after(tree, candidates[turn.chosen], rules)
        again.append(dataclasses.replace(turn, before=state, candidates=candidates, focus=in_focus, view=view))
        state = again[-1].after
    return tuple(again)


def _candidate_again(tree: IntentTree, state: IntentState, candidate: Candidate, rules: Rules) -> Candidate:
    if candidate.evaluation is None:
        return candidate
    scored = score_candidate(tree, state, candidate.reply, candidate.evaluation, rules)
    return looking_ahead(tree, state, scored, _turns_again(tree, scored.after, candidate.ahead, rules), rules)


def start_under(rules: Rules, conversation: Conversation) -> IntentState:
    """The first state; thresholds are drawn again only if `rules` need another number of them."""
    if rules.thresholds == conversation.rules.thresholds:
        return conversation.start
    drawn, start = initial_state(conversation.tree, rules, conversation.seed), conversation.start
    return dataclasses.replace(drawn, discovery=start.discovery, satisfied=start.satisfied)


# -- looking ahead -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LookAhead:
    """A reward for the turns after a candidate: the user answers it, and `assistant` plays `turns` more turns.

    So a reply that pays off a turn later can outscore one that discovers something now.  The whole window is one
    reward: of all its discoveries, and of the length of all its replies against one τ.
    """

    turns: int
    assistant: Assistant | SeesIntents

    def __call__(self, user: UserSimulator, candidate: Candidate) -> Candidate:
        """The candidate with the turns after it; unscored, with the error, if they cannot be judged."""
        if candidate.evaluation is None or self.turns == 0:
            return candidate
        taken = len(user.conversation.turns) + 1  # this candidate's turn included
        try:
            fork = forked(user, candidate, self.turns)
            while fork.conversation.stop is None:
                seed = derive_seed(user.conversation.seed, "turn", taken, "ahead", len(fork.conversation.turns) - taken)
                fork.step(ask(self.assistant, fork.tree, fork.state, fork.messages, seed))
        except JudgeError as error:
            return Candidate(candidate.reply, None, user.state, error=f"looking ahead: {error}")
        return looking_ahead(user.tree, user.state, candidate, fork.conversation.turns[taken:], user.rules)


def forked(user: UserSimulator, candidate: Candidate, turns: int) -> UserSimulator:
    """A copy of the user that has taken the candidate and answered it, and takes so many turns more.

    Raises:
        RoleError: the voice failed.
    """
    taken = len(user.conversation.turns) + 1
    fork = UserSimulator.resume(user.conversation, user.judge, user.voice, turns=taken + turns)
    fork.commit([candidate])
    return fork


def looking_ahead(
    tree: IntentTree, state: IntentState, candidate: Candidate, ahead: tuple[Turn, ...], rules: Rules
) -> Candidate:
    """The candidate, rewarded for its discoveries and those of the turns `ahead`, and charged for all their replies."""
    if not ahead:
        return candidate
    n_tokens = candidate.reply.n_tokens + sum(turn.reply.n_tokens for turn in ahead)
    return dataclasses.replace(candidate, ahead=ahead, reward=reward(tree, state, ahead[-1].after, n_tokens, rules))
