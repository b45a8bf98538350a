"""SkyRL-gym: an environment with a reward for every turn, registered as "discover"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discover_lib.doors.episode import Episode, Step, absent

try:
    import skyrl_gym
    from skyrl_gym.envs import base_text_env
except ImportError as error:
    raise absent("skyrl", error) from error

ID = "discover"


class DiscoverUser(base_text_env.BaseTextEnv):
    """A simulated user.  An unscored turn's reward is None; leave such episodes out of a batch.

    Args:
        env_config: options of `Episode`.
        extras: of the data row: `seed`, `artifact`, `trial`.
    """

    def __init__(self, env_config: Mapping[str, Any] | None = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.episode = Episode(**dict(env_config or {}))
        self.max_turns = self.episode.options.turns
        self._whom = {name: value for name, value in (extras or {}).items() if name in ("seed", "artifact", "trial")}
        self._steps: list[Step] = []

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """The prompt's system messages, and the user's opening."""
        system = [each for each in prompt if each["role"] == "system"]
        return [*system, {"role": "user", "content": self.episode.reset(**self._whom)}], {}

    def step(self, action: str) -> Any:
        self._steps.append(step := self.episode.step(action))
        said = [] if step.message is None else [{"role": "user", "content": step.message}]
        return base_text_env.BaseTextEnvStepOutput(
            observations=said, reward=step.reward, done=step.done, metadata=step.info
        )

    def get_metrics(self) -> dict[str, Any]:
        scored = [step for step in self._steps if step.reward is not None]
        return {"discovered": sum(len(step.info["discovered"]) for step in scored), "turns": len(scored)}


if ID not in skyrl_gym.registry:
    skyrl_gym.register(ID, entry_point=f"{__name__}:{DiscoverUser.__name__}")
