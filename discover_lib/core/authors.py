"""Where the authors' released code differs from the paper: the functions behind `Rules.authors()`.

Each function replaces a function of the paper's method, which calls it in its first lines if the `Rules` say so.
Each difference has one switch in `Rules`, so that each can be tried alone:

    focus="unsatisfied_leaf"          focus, finished
    crossing=">="                     a comparison in `advance`: a score equal to θ crosses it
    gate="parent_passed"              visit, counting; `advance` counts near misses as listed, equal ones again
    thresholds=2                      initial_state, threshold_in_force, lowered, use_up
    achieved="open_parents"           achieved_and_pursued
    discovery_reward="level_change"   discovery_reward
    ties="authors"                    chosen_on_tie
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, Literal

from discover_lib.base.seeds import unit_uniform
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.state import Discovery, IntentState, Pursuing, Threshold, Verdict


def focus(tree: IntentTree, state: IntentState) -> tuple[str, ...]:
    """The first root with an unsatisfied leaf, and the root after it.

    The result of the second counts only if the first is completed by the same reply (see `counting`).
    """
    for index, root in enumerate(tree.roots):
        if not _complete(root, state.satisfied):
            return tuple(shown.id for shown in tree.roots[index : index + 2])
    return ()


def finished(tree: IntentTree, state: IntentState) -> Literal["all_satisfied"] | None:
    """A conversation ends when every leaf is satisfied: a parent counts as satisfied when all below it is."""
    return "all_satisfied" if all(_complete(root, state.satisfied) for root in tree.roots) else None


def _complete(root: Intent, satisfied: Set[str]) -> bool:
    return all(intent.id in satisfied for intent in root.walk() if not intent.children)


def visit(intent: Intent, state: IntentState, decide: Callable[[Intent], Verdict]) -> Iterator[Verdict]:
    """A judge's way through one tree: below an intent that passes now, or that is done."""
    opened = _is_done(intent, state)
    if not opened:
        verdict = decide(intent)
        yield verdict
        opened = verdict.engaged
    for child in intent.children if opened else ():
        yield from visit(child, state, decide)


def counting(
    tree: IntentTree, state: IntentState, shown: Sequence[str], verdicts: Mapping[str, Verdict], satisfied: Set[str]
) -> Iterator[Verdict]:
    """The verdicts that count: on intents whose parent passed in this same reply, or is done.

    The second of the trees `shown` counts only if the first is complete by then: `satisfied` holds what the reply has
    satisfied so far, and grows as the verdicts before are applied.
    """
    for position, root_id in enumerate(shown):
        if position > 0 and not _complete(tree[shown[position - 1]], satisfied):
            return
        passed: set[str] = set()
        for intent in tree[root_id].walk():
            if intent.id not in verdicts or _is_done(intent, state):
                continue
            parent = tree.parents[intent.id]
            if parent is None or parent in passed or _is_done(tree[parent], state):
                yield verdicts[intent.id]
                if verdicts[intent.id].engaged:
                    passed.add(intent.id)


def _is_done(intent: Intent, state: IntentState) -> bool:
    """Satisfied, or discovered with all its children discovered: the authors' code asks about it no more."""
    if intent.id in state.satisfied:
        return True
    everything = (intent, *intent.children)
    return bool(intent.children) and all(state[each.id] is Discovery.DISCOVERED for each in everything)


def initial_state(tree: IntentTree, start: Mapping[str, Discovery], seed: int, given: Mapping[str, Any]) -> IntentState:
    """Two draws of θ per intent, each used once.  Intents that start discovered have no draw left."""
    pairs = {key: _checked_pair(key, value) for key, value in given.items()}
    drawn: dict[str, Threshold] = {
        key: pairs.get(key, (unit_uniform(seed, "theta", key), unit_uniform(seed, "theta 2", key)))
        for key in tree.intents
    }
    left = {key: () if start[key] is Discovery.DISCOVERED else pair for key, pair in drawn.items()}
    return IntentState(start, frozenset(), left, drawn)


def _checked_pair(intent_id: str, value: Any) -> tuple[float, ...]:
    if isinstance(value, list | tuple) and len(value) <= 2:
        return tuple(map(float, value))
    raise ValueError(f"the threshold of {intent_id!r} must be a pair of numbers under these rules, got {value!r}")


def threshold_in_force(pair: tuple[float, ...]) -> float | None:
    """The first threshold not yet used, or None if all are used."""
    return pair[0] if pair else None


def lowered(pair: tuple[float, ...], crossed: bool, remainder: float) -> tuple[float, ...]:
    """The thresholds after a score: one that was crossed is used up, one that was not shrinks to the `remainder`."""
    return pair[1:] if crossed else (remainder, *pair[1:])


def use_up(thresholds: dict[str, Threshold], intent_id: str) -> None:
    """An intent that passes has no thresholds left."""
    thresholds[intent_id] = ()


def achieved_and_pursued(
    tree: IntentTree, state: IntentState, shown: Sequence[str]
) -> tuple[tuple[str, ...], Pursuing | None, tuple[str, ...]]:
    """Achieved intents, and the group of missing ones, in the roots up to the one in focus."""
    roots = tree.roots[: [root.id for root in tree.roots].index(shown[0]) + 1] if shown else tree.roots
    intents = [intent for root in roots for intent in root.walk()]
    return (_achieved(intents, state), *_pursued([each for each in intents if each.id not in state.satisfied], state))


def _achieved(intents: Sequence[Intent], state: IntentState) -> tuple[str, ...]:
    """Satisfied leaves, and satisfied parents that still have an unsatisfied child."""

    def open_below(intent: Intent) -> bool:
        return not intent.children or any(child.id not in state.satisfied for child in intent.children)

    return tuple(intent.id for intent in intents if intent.id in state.satisfied and open_below(intent))


def _pursued(missing: Sequence[Intent], state: IntentState) -> tuple[Pursuing | None, tuple[str, ...]]:
    """Clear omits intents that are done; latent are the highest undiscovered intents and the undiscovered leaves."""
    clear = [each for each in missing if state[each.id] is Discovery.DISCOVERED and not _is_done(each, state)]
    fuzzy = [each for each in missing if state[each.id] is Discovery.EMERGING]
    hidden = [each for each in missing if state[each.id] is Discovery.UNDISCOVERED]
    below_hidden = {child.id for intent in hidden for child in intent.children}
    latent = [each for each in hidden if each.id not in below_hidden or not each.children]
    groups: tuple[tuple[Pursuing, list[Intent]], ...] = (("clear", clear), ("fuzzy", fuzzy), ("latent", latent))
    for name, group in groups:
        if group:
            return name, tuple(intent.id for intent in group)
    return None, ()


def discovery_reward(tree: IntentTree, before: IntentState, after: IntentState) -> dict[str, float]:
    """Intent → its change of level: emerging counts 0.5, and a parent 1 as soon as all its children do."""
    start, end = _levels(tree, before), _levels(tree, after)
    return {key: end[key] - start[key] for key in end if end[key] != start[key]}


def _levels(tree: IntentTree, state: IntentState) -> dict[str, float]:
    levels: dict[str, float] = {}

    def level(intent: Intent) -> float:
        below = [level(child) for child in intent.children]
        levels[intent.id] = 1.0 if below and min(below) == 1.0 else state[intent.id].level
        return levels[intent.id]

    for root in tree.roots:
        level(root)
    return levels


def chosen_on_tie(tied: Sequence[int], candidates: int) -> int:
    """The last where all candidates are equal, else the first of those at the top."""
    return tied[-1] if len(tied) == candidates else tied[0]
