"""The arithmetic of one GRPO group: rewards of several replies to one prompt become advantages (paper, 4.1).

The result equals TRL's: the deviation from the group's mean, divided by its standard deviation (n − 1) plus a small
constant.  Unscored replies are excluded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

EPSILON = 1e-4  # added to the standard deviation, as TRL does
NO_SPREAD = 1e-8  # rewards that differ by less are equal


@dataclass(frozen=True)
class Group:
    """One prompt's replies.

    Attributes:
        rewards: None for a failed judgment.
        mean, std: over the scored replies; None with fewer than two.
        advantages: the factor of each reply's log-probability in the update; None for an unscored reply, which the
            update does not affect.
    """

    rewards: tuple[float | None, ...]
    mean: float | None
    std: float | None
    advantages: tuple[float | None, ...]

    @property
    def signal(self) -> bool:
        """Whether the update has an effect: some reply scored better than another."""
        return self.std is not None and self.std > NO_SPREAD


def group_of(rewards: Sequence[float | None], *, scaled: bool = True) -> Group:
    """The group of these rewards.

    Args:
        scaled: divide by the standard deviation (`scale_rewards="group"`); otherwise only the mean is subtracted.
    """
    scored = [each for each in rewards if each is not None]
    mean = math.fsum(scored) / len(scored) if scored else None
    std = None
    if mean is not None and len(scored) > 1:
        std = math.sqrt(math.fsum((each - mean) ** 2 for each in scored) / (len(scored) - 1))

    def advantage(reward: float | None) -> float | None:
        if reward is None or mean is None:
            return None
        if std is None:  # the only scored reply of its group
            return 0.0
        return (reward - mean) / (std + EPSILON) if scaled else reward - mean

    return Group(tuple(rewards), mean, std, tuple(advantage(each) for each in rewards))


def rewards_to_go(rewards: Sequence[float]) -> list[float]:
    """For every turn of a rollout, the reward from this turn to the end."""
    return list(accumulate(reversed(rewards)))[::-1]


def turn_advantages(rollouts: Sequence[Sequence[float] | None], *, scaled: bool = True) -> list[list[float]]:
    """Every turn's advantage: its reward to go, compared with the same turn in the prompt's other rollouts.

    Args:
        rollouts: the rewards of one prompt's rollouts, turn by turn; None for an unscored rollout.
    """
    to_go = [rewards_to_go(rewards or ()) for rewards in rollouts]
    groups = [
        group_of([each[turn] if turn < len(each) else None for each in to_go], scaled=scaled).advantages
        for turn in range(max(map(len, to_go), default=0))
    ]
    return [[groups[turn][place] or 0.0 for turn in range(len(each))] for place, each in enumerate(to_go)]
