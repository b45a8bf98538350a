"""Gymnasium: `gymnasium.make("discover_lib.doors.gymnasium:DiscoverUser-v0", domain="creative_writing")`."""

from __future__ import annotations

import string
from typing import Any

from discover_lib.doors.episode import Episode, absent

try:
    import gymnasium as gym
except ImportError as error:
    raise absent("gymnasium", error) from error

ID = "DiscoverUser-v0"
# A text space lists its characters; `info["message"]` has the whole message with all others.
CHARSET = string.printable + "".join(map(chr, [*range(0xA0, 0x250), *range(0x2010, 0x2028)]))
MAX_CHARACTERS = 100_000


class DiscoverUser(gym.Env[str, str]):
    """A simulated user: an action is the assistant's reply, an observation the user's message ("" at the end).

    The episode terminates when all intents are discovered.  The last turn, or a failed one, truncates it.  An unscored
    turn's reward is NaN.

    Args:
        options: of `Episode`.
    """

    def __init__(self, **options: Any) -> None:
        self.episode = Episode(**options)
        self.action_space = gym.spaces.Text(MAX_CHARACTERS, min_length=0, charset=CHARSET)
        self.observation_space = gym.spaces.Text(MAX_CHARACTERS, min_length=0, charset=CHARSET)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """`options` may name the `artifact` and the `trial`."""
        super().reset(seed=seed)
        opening = self.episode.reset(int(self.np_random.integers(2**31)) if seed is None else seed, **(options or {}))
        return self._seen(opening), {"message": opening}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        message, reward, done, info = self.episode.step(action)
        cut = info["stop"] in ("max_turns", "error")
        reward = float("nan") if reward is None else reward
        return self._seen(message or ""), reward, done and not cut, cut, {**info, "message": message}

    def _seen(self, message: str) -> str:
        return "".join(each if each in self.observation_space.character_set else "?" for each in message)


gym.register(ID, f"{__name__}:{DiscoverUser.__name__}")
