"""The policy in conversation with simulated users: replies, rollouts of several turns, own prefixes, validation.

All conversations advance together: one batch of replies, then every user judges and answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from discover_lib.base.tokens import WireMessage
from discover_lib.core.roles import RoleError
from discover_lib.core.simulator import UserSimulator
from discover_lib.dataset.rows import state_json
from discover_lib.engines.local.dialect import Chat, Dialect, end_tokens, said
from discover_lib.engines.local.model import GPU_BATCH_TOKENS, within
from discover_lib.metrics.intervals import Estimate, bootstrap_mean, grouped
from discover_lib.train.grpo.simulated_reward import Scored, Scorer, domain_of, kinds_of

CHECKPOINTING = "gradient_checkpointing"  # its name in modules that can recompute their activations


@dataclass(frozen=True)
class Sampler:
    """Draws replies from the current model.

    Attributes:
        max_tokens: longest reply, in the model's tokens.
        batch, budget: maximum prompts, and maximum tokens of prompts and replies, at a time.
    """

    model: Any
    chat: Chat
    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    batch: int = 128
    budget: int = GPU_BATCH_TOKENS

    @property
    def ends(self) -> tuple[int, ...]:
        """Ids of tokens that end a reply."""
        return end_tokens(self.model.generation_config, self.chat.tokenizer)

    def complete(self, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
        """A reply to each prompt (token ids), up to and including its end mark.

        Draws from torch's generator; see `seeded`.
        """
        import torch

        replies: list[list[int]] = []
        with evaluating(self.model), torch.no_grad():
            for some in within(prompts, self.max_tokens, self.budget, self.batch):
                replies += self._complete(some)
        return replies

    def _complete(self, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
        import torch

        device, pad, ends = self.model.device, self.chat.tokenizer.pad_token_id, self.ends
        width = max(map(len, prompts))
        ids = torch.tensor([[pad] * (width - len(each)) + list(each) for each in prompts], device=device)
        mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in prompts], device=device)
        written = self.model.generate(
            input_ids=ids,
            attention_mask=mask,
            do_sample=True,
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            max_new_tokens=self.max_tokens,
            pad_token_id=pad,
            eos_token_id=list(ends),
            use_cache=True,
        )
        return [_up_to_end(row, ends) for row in written[:, width:].tolist()]


def _up_to_end(ids: list[int], ends: Sequence[int]) -> list[int]:
    return ids[: next((place + 1 for place, each in enumerate(ids) if each in ends), len(ids))]


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Switch dropout off, and restore the model's mode afterwards.

    Unsloth's `generate` switches gradient checkpointing off in evaluation mode, and `train()` does not restore it.
    """
    training = model.training
    checkpointing = next((kept for each in model.modules() if (kept := getattr(each, CHECKPOINTING, False))), False)
    model.eval()
    try:
        yield
    finally:
        if training and hasattr(model, "for_training"):
            model.for_training(use_gradient_checkpointing=checkpointing)
        model.train(training)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draws in this block depend on the seed alone, and later draws do not depend on the block."""
    import torch

    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed % 2**63)
        yield


@dataclass
class Talk:
    """One user in conversation with the policy.

    Attributes:
        before: per turn, the user before the reply: its state as JSON, and the prompt for the template.
        prompt_ids: tokens up to the first reply.
        completion_ids: tokens from the first reply on, with the user's words between replies.
        own: marks the policy's tokens in `completion_ids`.
        failed: the error of a role that ended the conversation.
    """

    simulator: UserSimulator
    before: list[tuple[str, list[WireMessage]]] = field(default_factory=list)
    scores: list[Scored] = field(default_factory=list)
    prompt_ids: list[int] = field(default_factory=list)
    completion_ids: list[int] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    failed: str | None = None
    full: bool = False  # no room for another reply

    @property
    def going(self) -> bool:
        return self.failed is None and not self.full and self.simulator.conversation.stop is None

    @property
    def total(self) -> float | None:
        """The sum of the rewards of all turns; None if one of them is unscored."""
        totals = [each.total for each in self.scores]
        if self.failed is not None or not totals:
            return None
        return sum(each for each in totals if each is not None)

    @property
    def discovered(self) -> float:
        return sum(each.discovered for each in self.scores)


@dataclass
class Player:
    """Lets the policy talk to users.

    Attributes:
        limit: maximum tokens of a conversation with its next reply; a longer one ends.
        remember: store the prompts and states before every turn.
    """

    sampler: Sampler
    scorer: Scorer
    dialect: Dialect
    limit: int
    remember: bool = False

    def play(self, users: Sequence[UserSimulator], turns: int) -> list[Talk]:
        """At most `turns` replies to each user, each prompt rendered from the messages."""
        return self._converse(users, turns, self._rendered)

    def roll_out(self, users: Sequence[UserSimulator], turns: int) -> list[Talk]:
        """Like `play`, but each prompt continues the written tokens, so that they can be trained on."""
        return self._converse(users, turns, self._extended)

    def _converse(
        self, users: Sequence[UserSimulator], turns: int, prompt_of: Callable[[Talk], list[int] | None]
    ) -> list[Talk]:
        talks = [Talk(each) for each in users]
        for turn in range(turns):
            asked = [(talk, prompt_of(talk)) for talk in talks if talk.going]
            fitting = [(talk, prompt) for talk, prompt in asked if prompt is not None]
            if not fitting:
                break
            going, prompts = zip(*fitting, strict=True)
            replies = self._reply(going, prompts, speak=turn + 1 < turns)
            for (talk, _), ids in zip(fitting, replies, strict=True):
                talk.completion_ids += ids
                talk.own += [1] * len(ids)
        return talks

    def _rendered(self, talk: Talk) -> list[int] | None:
        """The prompt of the next reply from the messages; None if the conversation is full."""
        wire = self.dialect.encode(talk.simulator.messages, domain_of(talk.simulator))
        ids = self.sampler.chat.prompt(wire)
        talk.full = len(ids) + self.sampler.max_tokens > self.limit
        if talk.full:
            return None
        if self.remember:
            conversation = talk.simulator.conversation
            talk.before.append((state_json(conversation, len(conversation.turns)), wire))
        return ids

    def _extended(self, talk: Talk) -> list[int] | None:
        """The written tokens with those of the user's last message; None if the conversation is full."""
        wire = self.dialect.encode(talk.simulator.messages, domain_of(talk.simulator))
        between: list[int] = []
        if talk.prompt_ids:
            between = self.sampler.chat.between(wire, ended=talk.completion_ids[-1] in self.sampler.ends)
        else:
            talk.prompt_ids = self.sampler.chat.prompt(wire)
        written = talk.prompt_ids + talk.completion_ids + between
        talk.full = len(written) + self.sampler.max_tokens > self.limit
        if talk.full:
            return None
        talk.completion_ids += between
        talk.own += [0] * len(between)
        return written

    def _reply(self, talks: Sequence[Talk], prompts: Sequence[Sequence[int]], *, speak: bool) -> list[list[int]]:
        """The tokens of a reply to each prompt, after the users have judged and answered them."""

        def take(place: int, text: str, n_tokens: int) -> None:
            talk = talks[place]
            candidate, judged = self.scorer.score(talk.simulator, text, n_tokens)
            talk.scores.append(judged)
            if judged.total is None:
                talk.failed = judged.error
                return
            try:
                talk.simulator.commit([candidate], speak=speak)
            except RoleError as error:
                talk.failed = f"{error.role}: {error}"

        replies, tokenizer = self.sampler.complete(prompts), self.sampler.chat.tokenizer
        self.scorer.judge(take, [(at, *said(ids, tokenizer, self.sampler.ends)) for at, ids in enumerate(replies)])
        return replies


def own_prefixes(talks: Sequence[Talk]) -> list[dict[str, Any]]:
    """Prompt rows for the GRPO trainer from the policy's own conversations, one before every reply."""
    return [
        {"prompt": prompt, "state": state, "domain": domain_of(talk.simulator)}
        for talk in talks
        for state, prompt in talk.before
    ]


def probe(
    player: Player, users: Sequence[UserSimulator], names: Sequence[str], turns: int, seed: int
) -> dict[str, Any]:
    """Discovered intents in whole conversations: means over users with a 95% interval, and the number of users.

    Conversations that a role ended are omitted and counted.

    Args:
        names: the users' artifacts.  Users of one artifact are its trials.
    """
    with seeded(seed):
        talks = player.play(users, turns)
    whole = [(name, talk) for name, talk in zip(names, talks, strict=True) if talk.failed is None and talk.scores]
    metrics: dict[str, Any] = {"probe/users": len(whole), "probe/failed": len(talks) - len(whole)}
    if not whole:
        return metrics
    estimate = bootstrap_mean(grouped((name, talk.discovered) for name, talk in whole))
    scores = [score for _, talk in whole for score in talk.scores]
    return metrics | {
        "probe/discovered": estimate.mean,
        "probe/discovered_low": estimate.low,
        "probe/discovered_high": estimate.high,
        "probe/tokens": fmean(sum(score.reply.n_tokens for score in talk.scores) for _, talk in whole),
        **kinds_of(scores, "probe"),
    }


def probed(measured: Mapping[str, Any]) -> Estimate:
    """The discovered intents of stored validation rollouts."""
    users = int(measured["probe/users"])
    mean, low, high = (measured.get(f"probe/discovered{bound}") for bound in ("", "_low", "_high"))
    return Estimate(mean or 0.0, low, high, users, users)


def probe_text(measured: Mapping[str, Any]) -> str:
    """Validation rollouts in words."""
    if "probe/discovered" not in measured:
        return "no held-out conversation could be judged"
    return f"{probed(measured)} intents discovered per conversation (n = {measured['probe/users']})"
