"""Inspect: `inspect eval discover_lib/doors/inspect.py -T domain=creative_writing --model openai/NAME`."""

from __future__ import annotations

import asyncio
from typing import Any

from discover_lib.dataset.inspect_log import measures, unscored, viewer
from discover_lib.doors.episode import Episode, require

inspect = require("inspect_ai", "inspect")
log = require("inspect_ai.log", "inspect")
dataset = require("inspect_ai.dataset", "inspect")
model = require("inspect_ai.model", "inspect")
scorers = require("inspect_ai.scorer", "inspect")
solvers = require("inspect_ai.solver", "inspect")


@inspect.task
def discover(domain: str = "svg_drawing", artifacts: int = 20, trials: int = 1, turns: int = 5, seed: int = 0) -> Any:
    """The evaluated model talks to simulated users, one a sample."""
    episode = Episode(domain, artifacts=artifacts, turns=turns)
    whom = [{"seed": seed, "artifact": each, "trial": trial} for each in episode.artifacts for trial in range(trials)]
    samples = [
        dataset.Sample(input=episode.reset(**each), id=f"{each['artifact']}/{each['trial']}", metadata=each)
        for each in whom
    ]
    talk = conversation(domain=domain, artifacts=artifacts, turns=turns)
    return inspect.Task(dataset=samples, solver=talk, scorer=discovery(), viewer=viewer())


@solvers.solver
def conversation(**options: Any) -> Any:
    """Reply by reply, to the end of the episode; an event says what each did, the store holds the whole record."""

    async def solve(state: Any, generate: Any) -> Any:
        episode = Episode(**options)
        episode.reset(**state.metadata)
        done = False
        while not done:
            state = await generate(state)
            usage = state.output.usage
            step = await asyncio.to_thread(
                episode.step, state.output.completion, usage.output_tokens if usage else None
            )
            log.transcript().info(step.info, source="discover")
            if step.message is not None:
                state.messages.append(model.ChatMessageUser(content=step.message))
            done = step.done
        state.store.set("conversation", episode.conversation.to_dict())
        state.store.set("error", step.info.get("error"))
        return state

    return solve


@scorers.scorer(metrics={"*": [scorers.mean(), scorers.stderr()]})
def discovery() -> Any:
    """What was discovered, earned, said and leaked; a failed conversation is unscored."""

    async def score(state: Any, target: Any) -> Any:
        talk = state.store.get("conversation")
        return unscored(state.store.get("error")) if talk["stop"] == "error" else measures(talk)

    return score
