"""The same conversation once more: states, transitions, rewards and views from its stored judgements alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from discover_lib.core.advance import focus, initial_state
from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import score_candidate, view_after
from discover_lib.core.state import IntentState
from discover_lib.metrics.look_ahead import looking_ahead


def replay(conversation: Conversation, rules: Rules | None = None) -> Conversation:
    """Recompute states, transitions, rewards and views from the stored judgements alone.

    Under the conversation's own rules the result equals it.  Under other rules the judgements stay what they were,
    choices and messages too: it answers "what would these replies have been worth?".
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
        chosen = candidates[turn.chosen]
        in_focus, view = focus(tree, state, rules), view_after(tree, chosen, rules)
        again.append(dataclasses.replace(turn, before=state, candidates=candidates, focus=in_focus, view=view))
        state = chosen.after
    return tuple(again)


def _candidate_again(tree: IntentTree, state: IntentState, candidate: Candidate, rules: Rules) -> Candidate:
    if candidate.evaluation is None:
        return candidate
    scored = score_candidate(tree, state, candidate.reply, candidate.evaluation, rules)
    return looking_ahead(tree, state, scored, _turns_again(tree, scored.after, candidate.ahead, rules), rules)


def start_under(rules: Rules, conversation: Conversation) -> IntentState:
    """Where the conversation began; thresholds are drawn anew only if `rules` ask for another number of them."""
    if rules.thresholds == conversation.rules.thresholds:
        return conversation.start
    drawn, start = initial_state(conversation.tree, rules, conversation.seed), conversation.start
    return dataclasses.replace(drawn, discovery=start.discovery, satisfied=start.satisfied)
