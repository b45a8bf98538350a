"""Which of a turn's candidates is better and which is worse: labels, from stored judgements alone (paper, section 4.1).

A label is a reading of a finished turn.  It can be taken again under other rules without a new judgement, and taken
again under the run's own rules it must be the one that the run went by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.seeds import derive_seed
from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.roles import AssistantError
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import choose_candidate, comparable_rewards
from discover_lib.metrics.replay import replay

Unlabelled = Literal["one_candidate", "failed_assistant", "failed_judgement", "tie"]


@dataclass(frozen=True)
class Label:
    """The reading of one turn.

    Attributes:
        best, worst: places among the candidates; None where `problem` says why there is no label.
        leaders: all places that share the highest reward.
        problem: None if the turn makes a pair.
    """

    best: int | None = None
    worst: int | None = None
    leaders: tuple[int, ...] = ()
    problem: Unlabelled | None = None


@dataclass(frozen=True)
class LabelledTurn:
    """A turn under the rules in force, with its label, and whether the judge saw the tree that it would see now."""

    turn: Turn
    label: Label
    focus_kept: bool

    @property
    def best(self) -> Candidate:
        assert self.label.best is not None
        return self.turn.candidates[self.label.best]

    @property
    def worst(self) -> Candidate:
        assert self.label.worst is not None
        return self.turn.candidates[self.label.worst]


def total_of(candidate: Candidate) -> float:
    """The reward of a candidate that has one, as every labelled candidate does."""
    assert candidate.reward is not None
    return candidate.reward.total


def label(turn: Turn, rules: Rules, conversation_seed: int) -> Label:
    """The best and the worst candidate of a turn by reward.

    Ties at the top go as the rules say; at the bottom the longer reply is the worse, then the later one.  If all
    scored candidates are equal there is no label, though `best` and `worst` are still set.
    """
    totals = comparable_rewards(turn.candidates)
    if len(turn.candidates) < 2:
        return Label(problem="one_candidate")
    if len(totals) < 2:
        without_reply = any((each.error or "").startswith(f"{AssistantError.role}: ") for each in turn.candidates)
        return Label(problem="failed_assistant" if without_reply else "failed_judgement")
    highest, lowest = max(totals.values()), min(totals.values())
    leaders = tuple(place for place, total in totals.items() if total == highest)
    best = choose_candidate(turn.candidates, rules, derive_seed(conversation_seed, "tie", turn.index))
    bottom = [place for place, total in totals.items() if total == lowest and place != best]
    worst = max(bottom, key=lambda place: (turn.candidates[place].reply.n_tokens, place))
    return Label(best, worst, leaders, "tie" if highest == lowest else None)


def under(conversation: Conversation, rules: Rules | None) -> Conversation:
    """The conversation scored under `rules` from its stored judgements; as it is for None or its own rules.

    Raises:
        DiscoverError: its judgements were not kept, as in runs that were imported.
    """
    if rules is None or rules == conversation.rules:
        return conversation
    if any(turn.candidate.evaluation is None for turn in conversation.turns):
        raise DiscoverError(
            "this run keeps rewards without the judgements behind them, so it cannot be scored under other rules; "
            f"use its own (for prompt rows: its own τ, too: --tau {conversation.rules.tau:g})"
        )
    return replay(conversation, rules)


def labelled_turns(conversation: Conversation, rules: Rules | None = None) -> Iterator[LabelledTurn]:
    """Every turn with its label, under `rules` or as it was run.

    Under other rules the state may move differently, and the judge would then have been shown another tree than it
    was: such a turn is labeled by the stored judgement, and `focus_kept` is False.
    """
    scored = under(conversation, rules)
    for was, turn in zip(conversation.turns, scored.turns, strict=True):
        yield LabelledTurn(turn, label(turn, scored.rules, scored.seed), was.focus == turn.focus)
