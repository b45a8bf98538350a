"""The same conversation once more: states, transitions, rewards and views from its judgements, stored or new."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from discover_lib.core.advance import focus, initial_state
from discover_lib.core.conversation import Candidate, Conversation, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import Judge
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import score_candidate, view_after
from discover_lib.core.state import IntentState
from discover_lib.metrics.look_ahead import looking_ahead


def replay(conversation: Conversation, rules: Rules | None = None, judge: Judge | None = None) -> Conversation:
    """Recompute states, transitions, rewards and views, from the stored judgements alone or judged anew.

    Under the conversation's own rules the result equals it.  Under other rules replies, choices and messages stay
    what they were: it answers "what would these replies have been worth?".

    Args:
        judge: reads the replies again.  Other rules may ask for intents that nobody judged then; without a judge
            such intents count as not met.

    Raises:
        JudgeError: of `judge`.
    """
    rules = rules or conversation.rules
    start = start_under(rules, conversation)
    if judge is None:
        turns = _turns_again(conversation.tree, start, conversation.turns, rules)
    else:
        turns = _judged_again(conversation, start, rules, judge)
    return dataclasses.replace(conversation, rules=rules, start=start, turns=turns)


def _judged_again(conversation: Conversation, state: IntentState, rules: Rules, judge: Judge) -> tuple[Turn, ...]:
    """Turns whose replies `judge` reads once more, from `state` on; what a reply's look-ahead held is left out."""
    tree, again = conversation.tree, []
    for turn in conversation.turns:
        messages = conversation.messages(turn.index - 1)
        candidates = tuple(
            score_candidate(tree, state, each.reply, judge.evaluate(tree, state, messages, each.reply, rules), rules)
            for each in turn.candidates
        )
        again.append(_turn_with(tree, state, turn, candidates, rules))
        state = again[-1].after
    return tuple(again)


def _turns_again(tree: IntentTree, state: IntentState, turns: Sequence[Turn], rules: Rules) -> tuple[Turn, ...]:
    """Turns recomputed from their judgements, the first of them from `state`."""
    again = []
    for turn in turns:
        candidates = tuple(_candidate_again(tree, state, candidate, rules) for candidate in turn.candidates)
        again.append(_turn_with(tree, state, turn, candidates, rules))
        state = again[-1].after
    return tuple(again)


def _turn_with(
    tree: IntentTree, state: IntentState, turn: Turn, candidates: tuple[Candidate, ...], rules: Rules
) -> Turn:
    in_focus, view = focus(tree, state, rules), view_after(tree, candidates[turn.chosen], rules)
    return dataclasses.replace(turn, before=state, candidates=candidates, focus=in_focus, view=view)


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
