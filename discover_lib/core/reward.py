"""The reward of one reply, stated once: R = R_d + R_e (paper, section 3.3).

R_d counts the intents that the reply made the user discover; R_e charges tokens beyond τ.  Not normalised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, IntentState


@dataclass(frozen=True)
class Reward:
    """A reward and its parts; `total == discovered + penalty`.

    Attributes:
        discovered: R_d, newly discovered intents (authors: the change of level).
        penalty: R_e, at most 0.
        shares: intent id → its part of `discovered`; the parts add up.
    """

    discovered: float
    penalty: float
    n_tokens: int
    shares: Mapping[str, float]

    @property
    def total(self) -> float:
        return self.discovered + self.penalty

    def to_dict(self) -> dict[str, Any]:
        return {
            "discovered": self.discovered,
            "penalty": self.penalty,
            "total": self.total,
            "n_tokens": self.n_tokens,
            "shares": dict(self.shares),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reward:
        return cls(data["discovered"], data["penalty"], data["n_tokens"], data["shares"])


def reward(
    tree: IntentTree, before: IntentState, after: IntentState, n_tokens: int, rules: Rules | None = None
) -> Reward:
    """The reward of a reply of `n_tokens` tokens that led from `before` to `after`.

    Paper: ``R_d = |I_after| − |I_before|`` over discovered intents.  Authors: the sum of level changes, emerging
    counting 0.5 and a parent 1 as soon as all its children do.
    """
    rules = rules or Rules.paper()
    levels = _levels_with_roll_up if rules.discovery_reward == "level_change" else _newly_discovered_levels
    start, end = levels(tree, before), levels(tree, after)
    shares = {intent_id: end[intent_id] - start[intent_id] for intent_id in end if end[intent_id] != start[intent_id]}
    return Reward(sum(shares.values(), 0.0), length_penalty(n_tokens, rules), n_tokens, shares)


def length_penalty(n_tokens: int, rules: Rules) -> float:
    """R_e = −min(λ·max(0, n − τ), cap), in units of one intent."""
    return 0.0 - min(rules.lam * max(0, n_tokens - rules.tau), rules.penalty_cap)


def _newly_discovered_levels(tree: IntentTree, state: IntentState) -> dict[str, float]:
    return {intent_id: float(state[intent_id] is Discovery.DISCOVERED) for intent_id in tree.intents}


def _levels_with_roll_up(tree: IntentTree, state: IntentState) -> dict[str, float]:
    levels: dict[str, float] = {}

    def level(intent: Intent) -> float:
        below = [level(child) for child in intent.children]
        levels[intent.id] = 1.0 if below and min(below) == 1.0 else state[intent.id].level
        return levels[intent.id]

    for root in tree.roots:
        level(root)
    return levels
