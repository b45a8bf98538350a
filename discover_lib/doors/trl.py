"""TRL: whole conversations as a `rollout_func`.

The loss masks the user's messages between replies, and each prompt continues the generated tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from discover_lib.doors.episode import Episode
from discover_lib.engines.local.dialect import Chat, end_tokens, said
from discover_lib.train.grpo.rollouts import Sampler

USER = "user"  # key in a prompt's last message, for the user's seed, artifact and trial
Complete = Callable[[Any, list[list[int]]], list[list[int]]]  # (trainer, prompts as ids) → replies as ids


def prompt_rows(seeds: Sequence[int], **options: Any) -> list[dict[str, Any]]:
    """Rows for `train_dataset`: the user's opening for every seed and artifact, as a conversational prompt."""
    episode = Episode(**options)
    whom: list[Any] = [{"seed": seed, "artifact": each, "trial": 0} for seed in seeds for each in episode.artifacts]
    return [{"prompt": [{"role": "user", "content": episode.reset(**each), USER: each}]} for each in whom]


@dataclass
class Talk:
    """One episode as tokens; `own` marks the tokens of the policy."""

    episode: Episode
    prompt_ids: list[int]
    completion_ids: list[int] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    reward: float | None = 0.0
    done: bool = False


def rollout_func(
    *, max_tokens: int = 512, max_length: int = 4096, complete: Complete | None = None, **options: Any
) -> Callable[[list[Any], Any], dict[str, Any]]:
    """A `rollout_func` for `GRPOTrainer`; pass `reward` as the reward function.

    Args:
        max_tokens: limit of one reply.
        max_length: limit of a conversation in tokens; it ends when the next reply might not fit.
        complete: draws the replies; by default the trainer's model does, without vLLM.
        options: of `Episode`.
    """

    def roll_out(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        chat = Chat(trainer.processing_class)
        ends = end_tokens(trainer.model.generation_config, chat.tokenizer)
        talks = []
        for prompt in prompts:
            episode = Episode(**options)
            episode.reset(**prompt[-1][USER])
            wire = [{"role": each["role"], "content": each["content"]} for each in prompt]
            talks.append(Talk(episode, chat.prompt(wire)))
        while going := [each for each in talks if not each.done]:
            replies = (complete or _sample)(trainer, [each.prompt_ids + each.completion_ids for each in going])
            for talk, ids in zip(going, replies, strict=True):
                step = talk.episode.step(*said(ids, chat.tokenizer, ends))
                talk.completion_ids += ids
                talk.own += [1] * len(ids)
                talk.reward = None if step.reward is None or talk.reward is None else talk.reward + step.reward
                ended = ids[-1:] != [] and ids[-1] in ends
                between = [] if step.done else chat.between(talk.episode.messages, ended=ended)
                room = max_length - len(talk.prompt_ids) - len(talk.completion_ids) - len(between)
                talk.done = step.done or room < max_tokens
                if not talk.done:
                    talk.completion_ids += between
                    talk.own += [0] * len(between)
        return {
            "prompt_ids": [each.prompt_ids for each in talks],
            "completion_ids": [each.completion_ids for each in talks],
            "logprobs": None,
            "env_mask": [each.own for each in talks],
            "episode_reward": [each.reward for each in talks],
        }

    def _sample(trainer: Any, prompts: list[list[int]]) -> list[list[int]]:
        how = trainer.args
        top_k = how.top_k or 0
        chat = Chat(trainer.processing_class)
        return Sampler(trainer.model, chat, max_tokens, how.temperature, how.top_p, top_k).complete(prompts)

    return roll_out


def reward(episode_reward: list[float | None], **_: Any) -> list[float | None]:
    """The rewards of whole conversations; None, which TRL leaves out, if a turn is unscored."""
    return episode_reward
