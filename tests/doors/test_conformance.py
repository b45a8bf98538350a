"""The same seed and the same five replies are the same conversation through every door, over 200 episodes.

A door whose package is absent is skipped by name; docs/doors.md says how to get it.
"""

from __future__ import annotations

import asyncio
import json
import math
import warnings
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from discover_lib.base.tokens import count_tokens
from discover_lib.doors.episode import Episode
from discover_lib.engines.miniature.assistants import scripted_assistant
from workbench.serve import serving

OPTIONS: dict[str, Any] = {"domain": "svg_drawing", "artifacts": 20}


@cache
def replies() -> list[str]:
    """Five replies that earn something: what an assistant who draws and offers said to one of the users."""
    episode, assistant = Episode(**OPTIONS), scripted_assistant("adaptive", OPTIONS["domain"])
    episode.reset(0, 3)
    said = [episode.user.ask(assistant).text]
    while not episode.step(said[-1]).done:
        said.append(episode.user.ask(assistant).text)
    return said


WHOM = [(seed, artifact) for seed in range(10) for artifact in range(20)]


@dataclass(frozen=True)
class Told:
    """One episode: what the user said, from the opening on, the rewards, and the state at the end."""

    messages: tuple[str | None, ...]
    rewards: tuple[float | None, ...]
    state: Any


Step = tuple[str | None, float | None, bool]  # the user's message, the reward, whether the episode is over


async def played(opening: str | None, step: Callable[[str], Awaitable[Step]], state: Callable[[], str]) -> Told:
    """An episode with the five replies."""
    messages, rewards = [opening], []
    for reply in replies():
        message, reward, done = await step(reply)
        messages.append(message)
        rewards.append(reward)
        if done:
            break
    return Told(tuple(messages), tuple(rewards), json.loads(state()))


@cache
def native(counted: bool = False) -> tuple[Told, ...]:
    """Episodes of the neutral object; `counted` gives it each reply's length, as doors with a tokenizer do."""
    return tuple(natively(*each, count_tokens if counted else lambda reply: None) for each in WHOM)


@cache
def _episode() -> Episode:
    return Episode(**OPTIONS)


def natively(seed: int, artifact: int, length: Callable[[str], int | None]) -> Told:
    episode = _episode()

    async def step(reply: str) -> Step:
        return episode.step(reply, length(reply))[:3]

    return asyncio.run(played(episode.reset(seed, artifact), step, lambda: episode.state))


@pytest.mark.slow
def test_the_episodes_differ_and_earn() -> None:
    assert len({each.messages for each in native()}) > 100
    assert len({each.rewards for each in native()}) > 10
    assert len(WHOM) == 200


@pytest.mark.integration("gymnasium")
def test_gymnasium() -> None:
    import gymnasium

    env = gymnasium.make("discover_lib.doors.gymnasium:DiscoverUser-v0", **OPTIONS)

    async def step(reply: str) -> Step:
        observation, reward, terminated, truncated, info = env.step(reply)
        assert observation == (info["message"] or "")
        return info["message"], reward, terminated or truncated

    async def play(seed: int, artifact: int) -> Told:
        observation, info = env.reset(seed=seed, options={"artifact": artifact})
        assert observation == info["message"]
        return await played(observation, step, lambda: env.unwrapped.episode.state)

    assert tuple(asyncio.run(play(*each)) for each in WHOM) == native()


@pytest.mark.integration("gymnasium")
def test_gymnasium_s_own_checker_finds_nothing() -> None:
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make("discover_lib.doors.gymnasium:DiscoverUser-v0", artifacts=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.integration("skyrl")
def test_skyrl() -> None:
    import skyrl_gym
    import skyrl_user  # noqa: F401  # registers it

    async def play(seed: int, artifact: int) -> Told:
        env = skyrl_gym.make("discover", env_config=OPTIONS, extras={"seed": seed, "artifact": artifact})

        async def step(reply: str) -> Step:
            out = env.step(reply)
            said = out["observations"][0]["content"] if out["observations"] else None
            return said, out["reward"], out["done"]

        prompt, _ = env.init([{"role": "system", "content": "be kind"}, {"role": "user", "content": "placeholder"}])
        assert [each["role"] for each in prompt] == ["system", "user"]
        found = await played(prompt[-1]["content"], step, lambda: env.episode.state)
        assert env.get_metrics()["turns"] == len(found.rewards)
        return found

    assert tuple(asyncio.run(play(*each)) for each in WHOM) == native()


@pytest.mark.integration("tinker")
def test_tinker() -> None:
    from tinker_user import DiscoverUser

    async def play(seed: int, artifact: int) -> Told:
        env = DiscoverUser(seed, artifact, **OPTIONS)

        async def step(reply: str) -> Step:
            out = await env.step({"role": "assistant", "content": [{"type": "text", "text": reply}]})
            return None if out.episode_done else out.next_messages[-1]["content"], out.reward, out.episode_done

        opening = (await env.initial_observation())[-1]["content"]
        return await played(opening, step, lambda: env.episode.state)

    assert tuple(asyncio.run(play(*each)) for each in WHOM) == native()


@pytest.mark.integration("inspect")
@pytest.mark.slow
def test_inspect(tmp_path: Any) -> None:
    import inspect_ai
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from discover_lib.doors.inspect import discover

    def reply(asked: list[Any], *_: Any) -> Any:
        output = ModelOutput.from_content("mockllm/model", replies()[sum(each.role == "assistant" for each in asked)])
        n_tokens = count_tokens(output.completion)
        output.usage = ModelUsage(input_tokens=1, output_tokens=n_tokens, total_tokens=n_tokens + 1)
        return output

    episodes: dict[tuple[int, int], Told] = {}
    means = []
    tasks = [discover(domain=OPTIONS["domain"], artifacts=20, seed=seed) for seed in range(10)]
    model = get_model("mockllm/model", custom_outputs=reply)
    logs = inspect_ai.eval(tasks, model=model, log_dir=str(tmp_path), display="none", max_tasks=10)
    for seed, log in enumerate(logs):
        assert log.status == "success", log.error
        means.append(log.results.scores)
        for sample in log.samples:
            artifact = int(sample.metadata["artifact"].rpartition("-")[2])
            infos = [event.data for event in sample.events if event.event == "info" and event.source == "discover"]
            messages = [each.text for each in sample.messages if each.role == "user"]
            rewards = [each["reward_discovered"] + each["reward_length"] for each in infos]
            state = {"format": "discover-episode/1", "turns": 5, "conversation": sample.store["conversation"]}
            episodes[seed, artifact] = Told((*messages, None), tuple(rewards), state)
    assert tuple(episodes[each] for each in WHOM) == native(counted=True)
    for seed, scores in enumerate(means):
        ours = [sum(told.rewards) / len(told.rewards) for told in native(counted=True)[seed * 20 : seed * 20 + 20]]
        (reward,) = [score.metrics["mean"].value for score in scores if score.name == "reward"]
        assert math.isclose(reward, math.fsum(ours) / 20, rel_tol=0, abs_tol=1e-12)


def openenv_server(**options: Any) -> AbstractContextManager[str]:
    """`discover serve`'s application on a free port of localhost."""
    from discover_lib.doors.openenv import app

    return serving(app(16, **options))


@pytest.mark.integration("openenv")
def test_openenv_with_eight_sessions_at_once() -> None:
    from openenv.core.generic_client import GenericEnvClient

    async def session(url: str, whom: list[tuple[int, int]]) -> list[Told]:
        client = GenericEnvClient(base_url=url)
        states: list[str] = []

        async def step(reply: str) -> Step:
            out = await client.step({"text": reply})
            if out.done:
                states.append((await client.state())["episode"])
            return out.observation["message"], out.reward, out.done

        async def play(seed: int, artifact: int) -> Told:
            opening = (await client.reset(seed=seed, artifact=artifact)).observation["message"]
            return await played(opening, step, lambda: states[-1])

        await client.connect()
        try:
            return [await play(*each) for each in whom]
        finally:
            await client.close()

    async def everybody(url: str) -> list[list[Told]]:
        return await asyncio.gather(*[session(url, WHOM[place::8]) for place in range(8)])

    with openenv_server(**OPTIONS) as url:
        sessions = asyncio.run(everybody(url))
    assert tuple(sessions[place % 8][place // 8] for place in range(200)) == native()


@pytest.mark.integration("openenv")
def test_openenv_s_own_validation_passes_against_the_server() -> None:
    from openenv.cli._validation import validate_running_environment

    with openenv_server(artifacts=2) as url:
        report = validate_running_environment(url, timeout_s=60)  # `openenv validate --url`
    assert report["passed"], report["criteria"]
