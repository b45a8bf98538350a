"""The reward of one reply, stated once: R = R_d + R_e (paper, section 3.3).

R_d counts the intents that the reply made the user discover; R_e charges tokens beyond τ.  Not normalised.
"""

from __future__ import annotations

from collections.abc import Mapping

from discover_lib.base.records import StructRecord
from discover_lib.core import authors
from discover_lib.core.intents import IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import IntentState


class Reward(
    StructRecord, frozen=True, derived=("total",), written=("discovered", "penalty", "total", "n_tokens", "shares")
):
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


def reward(
    tree: IntentTree, before: IntentState, after: IntentState, n_tokens: int, rules: Rules | None = None
) -> Reward:
    """The reward of a reply of `n_tokens` tokens that led from `before` to `after`.

    ``R_d = |I_after| − |I_before|`` over discovered intents (authors: the sum of level changes).

    >>> from discover_lib import Discovery
    >>> tree = IntentTree.from_dict({"roots": [{"id": "1", "text": "an animal"}, {"id": "2", "text": "a mood"}]})
    >>> before, after = IntentState({}), IntentState({"1": Discovery.DISCOVERED, "2": Discovery.EMERGING})
    >>> reward(tree, before, after, n_tokens=350)
    Reward(discovered=1.0, penalty=-0.1, n_tokens=350, shares={'1': 1.0})
    """
    rules = rules or Rules.paper()
    shares_of = authors.discovery_reward if rules.discovery_reward == "level_change" else _newly_discovered
    shares = shares_of(tree, before, after)
    return Reward(sum(shares.values(), 0.0), length_penalty(n_tokens, rules), n_tokens, shares)


def _newly_discovered(tree: IntentTree, before: IntentState, after: IntentState) -> dict[str, float]:
    """Intent → its part of R_d, for those that have one."""
    changed = before.discovered ^ after.discovered
    return {key: 1.0 if key in after.discovered else -1.0 for key in tree.intents if key in changed} if changed else {}


def length_penalty(n_tokens: int, rules: Rules) -> float:
    """R_e = −min(λ·max(0, n − τ), cap), in units of one intent."""
    return 0.0 - min(rules.lam * max(0, n_tokens - rules.tau), rules.penalty_cap)
