"""The policy in conversation with simulated users: rollouts of several turns, own prefixes, and the probe.

All users are talked to in lock-step: one batch of replies, then every user judges and answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.token_counts import WireMessage
from discover_lib.core.roles import RoleError
from discover_lib.core.simulator import UserSimulator
from discover_lib.dataset.rows import state_json
from discover_lib.engines.local.dialect import Dialect
from discover_lib.metrics.intervals import bootstrap_mean
from discover_lib.train.data import token_ids
from discover_lib.train.grpo.generation import Sampler, seeded
from discover_lib.train.grpo.reward import Scored, Scorer, domain_of, said

Row = Mapping[str, Any]


class RolloutError(DiscoverError):
    """Conversations cannot be put together under this chat template; one line that says why."""


@dataclass
class Talk:
    """One user and what the policy has said to it.

    Attributes:
        before: per turn, the user as it was before the reply: state as JSON and prompt as the template takes it.
        prompt_ids: tokens up to the first reply.
        completion_ids: tokens from the first reply on, what the user said between them.
        own: of `completion_ids`, which the policy wrote.
        failed: why the conversation broke off, if a role failed.
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
        """The rewards of all its turns together; None if one of them is unscored."""
        totals = [each.total for each in self.scores]
        if self.failed is not None or not totals:
            return None
        return sum(each for each in totals if each is not None)

    @property
    def discovered(self) -> float:
        return sum(each.discovered for each in self.scores)


@dataclass
class Player:
    """Has the policy talk to users.

    Attributes:
        limit: tokens of a whole conversation with the next reply in it; one that would be longer goes no further.
        remember: keep prompts and states before every turn.
    """

    sampler: Sampler
    scorer: Scorer
    dialect: Dialect
    limit: int
    remember: bool = False

    def play(self, users: Sequence[UserSimulator], turns: int) -> list[Talk]:
        """At most `turns` replies to each user, every prompt rendered anew from what was said."""
        talks = [Talk(each) for each in users]
        for turn in range(turns):
            going, prompts = self._prompts([each for each in talks if each.going])
            if not going:
                break
            self._reply(going, self.sampler.complete(prompts), speak=turn + 1 < turns)
        return talks

    def roll_out(self, users: Sequence[UserSimulator], turns: int) -> list[Talk]:
        """Like `play`, but each prompt goes on from the very tokens that were written, so that they can be trained on.

        Raises:
            RolloutError: the template changes earlier messages when later ones come.
        """
        talks = [Talk(each) for each in users]
        for turn in range(turns):
            going = [each for each in talks if each.going]
            if not going:
                break
            for each in going:
                self._extend(each)
            going = [each for each in going if not each.full]
            replies = self.sampler.complete([each.prompt_ids + each.completion_ids for each in going]) if going else []
            for each, ids in zip(going, replies, strict=True):
                each.completion_ids += ids
                each.own += [1] * len(ids)
            self._reply(going, replies, speak=turn + 1 < turns)
        return talks

    def _prompts(self, going: Sequence[Talk]) -> tuple[list[Talk], list[list[int]]]:
        fitting, prompts = [], []
        for talk in going:
            wire = self.dialect.encode(talk.simulator.messages, domain_of(talk.simulator))
            ids = token_ids(self.sampler.tokenizer, wire, reply_next=True)
            if len(ids) + self.sampler.max_tokens > self.limit:
                talk.full = True
                continue
            if self.remember:
                conversation = talk.simulator.conversation
                talk.before.append((state_json(conversation, len(conversation.turns)), wire))
            fitting.append(talk)
            prompts.append(ids)
        return fitting, prompts

    def _extend(self, talk: Talk) -> None:
        """Put down what the user said last, as tokens behind what is there."""
        wire = self.dialect.encode(talk.simulator.messages, domain_of(talk.simulator))
        if not talk.prompt_ids:
            talk.prompt_ids = token_ids(self.sampler.tokenizer, wire, reply_next=True)
            between: list[int] = []
        else:
            between = between_replies(self.sampler.tokenizer, wire, talk.completion_ids)
        if len(talk.prompt_ids) + len(talk.completion_ids) + len(between) + self.sampler.max_tokens > self.limit:
            talk.full = True
            return
        talk.completion_ids += between
        talk.own += [0] * len(between)

    def _reply(self, talks: Sequence[Talk], replies: Sequence[Sequence[int]], *, speak: bool) -> None:
        def take(place: int) -> None:
            talk, (text, n_tokens) = talks[place], said(replies[place], self.sampler.tokenizer)
            candidate, judged = self.scorer.score(talk.simulator, text, n_tokens)
            talk.scores.append(judged)
            if judged.total is None:
                talk.failed = judged.error
                return
            try:
                talk.simulator.commit([candidate], speak=speak)
            except RoleError as error:
                talk.failed = f"{error.role}: {error}"

        self.scorer.each(take, range(len(talks)))


def between_replies(tokenizer: Any, wire: Sequence[WireMessage], written: Sequence[int]) -> list[int]:
    """Tokens from behind a reply's end mark to where the next reply begins, the user's message in them.

    Args:
        wire: the conversation, ending with the user's message.
        written: what was written so far; if its end mark is missing, it is among the tokens returned.

    Raises:
        RolloutError: the template renders the earlier part otherwise once a message follows.
    """
    through = token_ids(tokenizer, wire[:-1])
    whole = token_ids(tokenizer, wire, reply_next=True)
    end = tokenizer.eos_token_id
    if whole[: len(through)] != through or end not in through:
        raise RolloutError(
            "the chat template changes earlier messages when later ones come, so several turns cannot be trained on "
            "as one sequence; set multi_turn to 1"
        )
    last = len(through) - 1 - through[::-1].index(end)
    closing = [] if written and written[-1] == end else [end]
    return closing + whole[last + 1 :]


def own_prefixes(talks: Sequence[Talk]) -> list[dict[str, Any]]:
    """Prompt rows of the policy's own conversations, as the GRPO trainer takes them: one before every reply."""
    return [
        {"prompt": prompt, "state": state, "domain": domain_of(talk.simulator)}
        for talk in talks
        for state, prompt in talk.before
    ]


def probe(
    player: Player, users: Sequence[UserSimulator], names: Sequence[str], turns: int, seed: int
) -> dict[str, Any]:
    """What the policy discovers in whole conversations: means over users, with a 95 % interval and their number.

    Conversations that a role broke off are left out and counted.  `by_artifact` holds what was discovered, one number
    per user, for paired comparisons.

    Args:
        names: the users' artifacts; users of one artifact count as trials of it.
    """
    with seeded(seed):
        talks = player.play(users, turns)
    whole = [(name, talk) for name, talk in zip(names, talks, strict=True) if talk.failed is None and talk.scores]
    found: dict[str, Any] = {"probe/users": len(whole), "probe/failed": len(talks) - len(whole)}
    if not whole:
        return found
    by_artifact: dict[str, list[float]] = {}
    for name, talk in whole:
        by_artifact.setdefault(name, []).append(talk.discovered)
    estimate = bootstrap_mean(by_artifact)
    scores = [score for _, talk in whole for score in talk.scores]
    return found | {
        "by_artifact": by_artifact,
        "probe/discovered": estimate.mean,
        "probe/discovered_low": estimate.low,
        "probe/discovered_high": estimate.high,
        "probe/tokens": fmean(sum(score.reply.n_tokens for score in talk.scores) for _, talk in whole),
        **{f"probe/{kind}": fmean(s.kind == kind for s in scores) for kind in ("diverging", "building", "broken")},
    }
