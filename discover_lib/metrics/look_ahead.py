"""The look-ahead reward: a reply is worth what it leads to, not only what it discovers at once.

The paper's reward looks at a single turn, which can make a trained assistant offer for ever and never build.  This is
the way out, and not the paper's.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from discover_lib.base.seeds import derive_seed
from discover_lib.core.conversation import Candidate, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.reward import reward
from discover_lib.core.roles import Assistant, JudgeError, SeesIntents, ask
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator
from discover_lib.core.state import IntentState


@dataclass(frozen=True)
class LookAhead:
    """Candidates are worth what they lead to: the user answers each, and `assistant` goes on for `turns` turns.

    So a reply that pays off a turn later can outscore one that discovers something now.  The whole window is one
    reward: what it discovers, and the length of all its replies against one τ.
    """

    turns: int
    assistant: Assistant | SeesIntents

    def __call__(self, user: UserSimulator, candidate: Candidate) -> Candidate:
        """The candidate with what would come after it; unscored, with the error, if that cannot be judged."""
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
    """The candidate, rewarded for what it and the turns `ahead` of it discover, and charged for all their replies."""
    if not ahead:
        return candidate
    n_tokens = candidate.reply.n_tokens + sum(turn.reply.n_tokens for turn in ahead)
    return dataclasses.replace(candidate, ahead=ahead, reward=reward(tree, state, ahead[-1].after, n_tokens, rules))
