"""Tinker: the user as a message environment of its cookbook."""

from __future__ import annotations

from typing import Any

from discover_lib.doors.episode import Episode, absent

try:
    from tinker_cookbook.rl import message_env
except ImportError as error:
    raise absent("tinker", error) from error


class DiscoverUser(message_env.MessageEnv):
    """A simulated user.  Tinker's rewards are floats, so an unscored turn's is NaN.

    Args:
        seed, artifact, trial: arguments of `Episode.reset`.
        options: of `Episode`.
    """

    def __init__(self, seed: int = 0, artifact: str | int | None = None, trial: int = 0, **options: Any) -> None:
        self.episode = Episode(**options)
        self._whom = (seed, artifact, trial)

    async def initial_observation(self) -> list[Any]:
        self.episode.reset(*self._whom)
        return list(self.episode.messages)

    async def step(self, message: Any) -> Any:
        content = message["content"]
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        step = await self.episode.take(text)
        numbers = {name: step.info[name] for name in ("reward_discovered", "reward_length") if name in step.info}
        return message_env.MessageStepResult(
            reward=float("nan") if step.reward is None else step.reward,
            episode_done=step.done,
            next_messages=list(self.episode.messages),
            metrics=numbers,
            logs={"stop": step.info["stop"] or "", "error": step.info.get("error", "")},
        )
