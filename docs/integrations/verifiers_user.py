"""verifiers v1: users as a taskset, and the environment of an agent that talks to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discover_lib.doors.episode import Episode, absent

try:
    import verifiers.v1 as vf
except ImportError as error:
    raise absent("verifiers", error) from error

__all__ = ["DiscoverEnv", "DiscoverUsers"]


class UserData(vf.TaskData):
    """The user of a task.  The user speaks first, so there is no prompt."""

    seed: int
    artifact: str
    trial: int
    options: dict[str, Any]


class UsersConfig(vf.TasksetConfig):
    """`options` are those of `Episode`."""

    seed: int = 0
    trials: int = 1
    options: dict[str, Any] = {}  # noqa: RUF012  # pydantic's, which copies it


class DiscoverUsers(vf.Taskset[vf.Task[UserData], UsersConfig]):
    """One task for every artifact and trial."""

    def load(self) -> Iterator[Any]:
        how = self.config
        for artifact in Episode(**how.options).artifacts:
            for trial in range(how.trials):
                whom = {"seed": how.seed, "artifact": artifact, "trial": trial}
                yield vf.Task(UserData(id=f"{artifact}/{trial}", options=how.options, **whom))


class DiscoverEnv(vf.SingleAgentEnv):
    """A whole conversation, which the user opens.  With an unscored turn it fails and has no reward."""

    async def run(self, task: Any, agents: Any) -> None:
        episode = Episode(**task.data.options)
        message: str | None = episode.reset(task.data.seed, task.data.artifact, task.data.trial)
        total, discovered = 0.0, 0
        async with agents.agent.interaction(task) as talk:
            while message is not None:
                said = await talk.turn(message)
                if said.terminated:
                    break
                message, reward, _, info = await episode.take(said.last_reply)
                if reward is None:
                    raise RuntimeError(info["error"])
                total, discovered = total + reward, discovered + len(info["discovered"])
            talk.trace.info["discover"] = {"reward": total, "discovered": discovered, "state": episode.state}

    async def finalize(self, task: Any, episode: Any) -> None:
        """The conversation's reward, and how many intents it discovered, on the agent's trace."""
        (trace,) = episode.traces
        trace.record_reward("discovery", trace.info["discover"]["reward"])
        trace.record_metric("discovered", trace.info["discover"]["discovered"])
