"""Inspect: `inspect eval discover_lib/doors/inspect.py -T domain=creative_writing --model openai/NAME`."""

from __future__ import annotations

from typing import Any

from discover_lib.dataset.inspect_log import measures, unscored, viewer
from discover_lib.doors.episode import Episode, absent

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import Sample
    from inspect_ai.log import transcript
    from inspect_ai.model import ChatMessageUser
    from inspect_ai.scorer import mean, scorer, stderr
    from inspect_ai.solver import solver
except ImportError as error:
    raise absent("inspect", error) from error


@task
def discover(domain: str = "svg_drawing", artifacts: int = 20, trials: int = 1, turns: int = 5, seed: int = 0) -> Any:
    """The evaluated model talks to simulated users, one per sample."""
    episode = Episode(domain, artifacts=artifacts, turns=turns)
    whom: list[Any] = [
        {"seed": seed, "artifact": each, "trial": trial} for each in episode.artifacts for trial in range(trials)
    ]
    samples = [
        Sample(input=episode.reset(**each), id=f"{each['artifact']}/{each['trial']}", metadata=each) for each in whom
    ]
    return Task(
        dataset=samples,
        solver=conversation(domain=domain, artifacts=artifacts, turns=turns),
        scorer=discovery(),
        viewer=viewer(),
    )


@solver
def conversation(**options: Any) -> Any:
    """Reply by reply, to the end of the episode.  An event records each step, the store the whole conversation."""

    async def solve(state: Any, generate: Any) -> Any:
        episode = Episode(**options)
        episode.reset(**state.metadata)
        done = False
        while not done:
            state = await generate(state)
            n_tokens = state.output.usage.output_tokens if state.output.usage else None
            step = await episode.take(state.output.completion, n_tokens)
            transcript().info(step.info, source="discover")
            if step.message is not None:
                state.messages.append(ChatMessageUser(content=step.message))
            done = step.done
        state.store.set("conversation", episode.conversation.to_dict())
        state.store.set("error", step.info.get("error"))
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})
def discovery() -> Any:
    """This project's measures of a conversation; a failed conversation is unscored."""

    async def score(state: Any, target: Any) -> Any:
        talk = state.store.get("conversation")
        return unscored(state.store.get("error")) if talk["stop"] == "error" else measures(talk)

    return score
