"""The simulator as GRPO's live reward: the user's state is restored, and the reply is judged (paper, section 4.1).

The reward is that of `core.reward`, under the rules of the row.  The recipe can add the reward of the following turns,
and a penalty for replies that break a small model's language.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import fmean
from typing import Any, TypeVar

from discover_lib.base.errors import DiscoverError
from discover_lib.core.conversation import Candidate, Reply
from discover_lib.core.roles import RoleError
from discover_lib.core.simulator import UserSimulator
from discover_lib.dataset.rows import grpo_rules, stored_conversation, under
from discover_lib.engines.local.dialect import Dialect, behaviour, said
from discover_lib.engines.local.tiny_language import is_broken
from discover_lib.engines.spec import RoleEngines
from discover_lib.metrics.replay import LookAhead
from discover_lib.train.recipes import LOOK_AHEAD, GrpoRecipe

Result = TypeVar("Result")

RESTORED_USERS = 4096  # in memory at a time
KINDS = {"divergent": "diverging", "convergent": "building", None: "neither"}  # of a reply that can be read
MOST_UNSCORED = 0.5  # share of a batch; above it the run stops


@dataclass(frozen=True)
class Scored:
    """One reply with its reward.

    Attributes:
        total: None if the judgment failed.
        kind: "diverging", "building", "broken" or "neither".
        steps, near_steps: number of intents that changed state, and of those changed by near misses.
    """

    reply: Reply
    total: float | None
    discovered: float = 0.0
    length: float = 0.0
    kind: str = "neither"
    error: str | None = None
    steps: int = 0
    near_steps: int = 0


@dataclass
class Users:
    """Simulated users, restored from the states of prompt rows and cached."""

    engines: RoleEngines
    tau: float | None = None

    def __post_init__(self) -> None:
        self._kept = lru_cache(RESTORED_USERS)(self.fresh)

    def user(self, state: str) -> UserSimulator:
        """The user of a state.  Shared: `consider` may be called on it, `step` only on a `fresh` one."""
        return self._kept(state)

    def fresh(self, state: str) -> UserSimulator:
        """The user of a state, as a new simulator.

        Raises:
            DiscoverError: not a state of this version.
        """
        talk = stored_conversation(state)
        if self.tau is not None:
            talk = under(talk, grpo_rules(talk.rules, self.tau))
        domain = str(talk.setting.get("domain", ""))
        return UserSimulator.resume(talk, self.engines.judge(domain), self.engines.voice(domain))


def domain_of(simulator: UserSimulator) -> str:
    return str(simulator.conversation.setting.get("domain", ""))


@dataclass
class Scorer:
    """Judges the policy's replies, many at a time.

    Attributes:
        threads: parallel judgments; 1 for judges that compute rather than wait.
        spending: returns the spending on judgments so far, for the log.
        seconds: time spent waiting for judgments since the last log.
    """

    users: Users
    dialect: Dialect
    recipe: GrpoRecipe
    threads: int = 1
    spending: Callable[[], Mapping[str, float]] = dict
    seconds: float = 0.0

    def score(self, simulator: UserSimulator, text: str, n_tokens: int) -> tuple[Candidate, Scored]:
        """One reply to a user, judged, with the recipe's look-ahead in its reward."""
        domain = domain_of(simulator)
        reply = self.dialect.decode(text, n_tokens, domain, simulator.messages)
        candidate = simulator.consider(reply)
        if self.recipe.look_ahead:
            try:
                assistant = self.users.engines.assistant(LOOK_AHEAD, domain)
                candidate = LookAhead(self.recipe.look_ahead, assistant)(simulator, candidate)
            except RoleError as error:  # the voice or the assistant ahead
                candidate = Candidate(reply, None, simulator.state, error=f"looking ahead: {error}")
        return candidate, scored(candidate, domain, self.recipe.broken_penalty)

    def judge(
        self, function: Callable[[Any, str, int], Result], replies: Sequence[tuple[Any, str, int]]
    ) -> list[Result]:
        """`function` of every reply in their order, called once for equal replies."""
        begun = time.perf_counter()
        try:
            if self.threads == 1:
                return [function(*each) for each in replies]
            with ThreadPoolExecutor(self.threads) as pool:
                made = {each: pool.submit(function, *each) for each in dict.fromkeys(replies)}
                try:
                    return [made[each].result() for each in replies]
                finally:
                    pool.shutdown(cancel_futures=True)  # after a failure, pending judgments are dropped
        finally:
            self.seconds += time.perf_counter() - begun


def scored(candidate: Candidate, domain: str, broken_penalty: float = 0.0) -> Scored:
    """The reward of a judged reply, less the penalty; unscored if the judgment failed."""
    reply, earned = candidate.reply, candidate.reward
    if earned is None:
        return Scored(reply, None, error=candidate.error)
    moved = [each.cause for each in candidate.transitions if each.moved]
    broken = is_broken(reply)
    kind = "broken" if broken else KINDS[behaviour(candidate, domain)]
    total = earned.total - (broken_penalty if broken else 0.0)
    return Scored(reply, total, earned.discovered, earned.penalty, kind, None, len(moved), moved.count("tangential"))


def parts(scores: Iterable[Scored]) -> dict[str, float]:
    """Means over the scored replies and the share of unscored ones, for the log."""
    every = list(scores)
    known = [each for each in every if each.total is not None]
    metrics = {"share/unscored": 1 - len(known) / len(every)} if every else {}
    if known:
        metrics |= {
            "reward/discovered": fmean(each.discovered for each in known),
            "reward/length": fmean(each.length for each in known),
            "reply_tokens": fmean(each.reply.n_tokens for each in known),
            **kinds_of(known),
        }
    if steps := sum(each.steps for each in known):
        metrics["share/near_misses"] = sum(each.near_steps for each in known) / steps
    return metrics


def kinds_of(scores: Sequence[Scored], name: str = "share") -> dict[str, float]:
    """The shares of the replies by kind, for the log."""
    return {
        f"{name}/{kind}": fmean(each.kind == kind for each in scores) for kind in ("diverging", "building", "broken")
    }


@dataclass
class SimulatorReward:
    """A reward function for TRL: completions in, rewards out, None for a failed judgment.

    Attributes:
        ends: ids of tokens that end a reply.
        last: the prompts, replies and rewards of the last batch, for the stored samples.
    """

    scorer: Scorer
    tokenizer: Any
    ends: Sequence[int] = ()
    last: list[tuple[str, Scored]] = field(default_factory=list)

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]],
        state: Sequence[str],
        log_metric: Callable[[str, float], None] | None = None,
        **_: Any,
    ) -> list[float | None]:
        """Rewards of a batch.

        Args:
            completion_ids: the replies' tokens.
            state: the user's state for each reply, from the row.

        Raises:
            DiscoverError: more than half of the judgments of the batch failed.
        """
        replies = [said(ids, self.tokenizer, self.ends) for ids in completion_ids]
        scores = self.scorer.judge(self._judge, [(user, *reply) for user, reply in zip(state, replies, strict=True)])
        self.last = list(zip(state, scores, strict=True))
        log_rewards(scores, self.scorer, log_metric)
        if log_metric is not None:
            log_metric("share/repeated", 1 - len({(user, one.reply.text) for user, one in self.last}) / len(scores))
        return [each.total for each in scores]

    def _judge(self, state: str, text: str, n_tokens: int) -> Scored:
        return self.scorer.score(self.scorer.users.user(state), text, n_tokens)[1]


def log_rewards(scores: Sequence[Scored], scorer: Scorer, log_metric: Callable[[str, float], None] | None) -> None:
    """Log the parts of a batch's rewards.

    Raises:
        DiscoverError: more than half of the judgments failed.
    """
    failed = [each for each in scores if each.total is None]
    if len(failed) > MOST_UNSCORED * len(scores):
        raise DiscoverError(f"{len(failed)} of {len(scores)} replies could not be judged; the last: {failed[-1].error}")
    if log_metric is not None:
        took, scorer.seconds = {"simulator/seconds": scorer.seconds, **scorer.spending()}, 0.0
        for name, value in {**parts(scores), **took}.items():
            log_metric(name, value)


def sample_of(prompt: Sequence[Mapping[str, str]], scores: Iterable[Scored]) -> dict[str, Any]:
    """A line of `samples.jsonl` without its step: the prompt, and each reply with its reward."""
    return {
        "prompt": list(prompt),
        "replies": [
            {
                "text": each.reply.text,
                "notation": each.reply.notation,
                "reward": each.total,
                "kind": each.kind,
                "n_tokens": each.reply.n_tokens,
            }
            for each in scores
        ],
    }
