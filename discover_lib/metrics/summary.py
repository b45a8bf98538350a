"""Results of a run's conversations, assistant by assistant, with intervals."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from discover_lib.core.conversation import Conversation
from discover_lib.metrics.intervals import Estimate, bootstrap_mean, grouped
from discover_lib.metrics.results import Pool
from discover_lib.metrics.scores import ConversationScores, leaks_told


@dataclass(frozen=True)
class Summary:
    """The results of one assistant."""

    assistant: str
    discovered: Estimate  # intents discovered beyond the initial ones
    share: Estimate | None  # the headline number; None if no intent was hidden
    discovery: Estimate | None  # eq. 4 within this run's assistants; None where it is not defined
    reward: Estimate | None  # per turn; None where no turn is scored
    tokens: Estimate  # per conversation
    turns_leaking: int  # user messages that leaked a hidden intent
    score: float | None = None  # eq. 4 as summary.json has always held it: a mean over users
    why_no_score: str = ""  # in words, where eq. 4 is not defined
    users: int = 0  # whom all assistants met
    left_out: int = 0  # those of them on whom all found the same, so that eq. 4 is not defined
    turns_unchecked: int = 0  # user messages that no check could read for leaks

    COLUMNS: ClassVar = ("assistant", "discovered", "share of hidden", "discovery", "reward", "kTok", "leaks")

    def to_dict(self) -> dict[str, Any]:
        """The numbers in plain form."""
        told = ("discovery", "why_no_score", "users", "left_out")  # beside a table only
        plain = {name: value for name, value in dataclasses.asdict(self).items() if name not in told}
        if not plain["turns_unchecked"]:
            del plain["turns_unchecked"]
        elif not self.turns_leaking:
            plain["turns_leaking"] = None
        return plain

    @property
    def score_line(self) -> str:
        """Whom eq. 4 is measured on, or why it is not defined."""
        if self.discovery is None:
            return f"eq. 4: not defined: {self.why_no_score}"
        left_out = f"; {self.left_out} left out, on whom all assistants found the same" if self.left_out else ""
        users = f"{self.users - self.left_out} of {self.users} users"
        return f"discovery: eq. 4, relative to these assistants, on {users}{left_out}"

    @property
    def lacking_line(self) -> str:
        """Means that leave out conversations without such a number; "" if there are no such means."""
        whole = self.tokens.n_trials
        known = {"share of hidden": self.share, "reward": self.reward}
        counts = {name: each.n_trials if each else 0 for name, each in known.items()}
        parts = [f"{name} over {n} of {whole} conversations" for name, n in counts.items() if n < whole]
        return f"{self.assistant}: {', '.join(parts)}; the rest hides no intent or is unscored" if parts else ""

    def row(self) -> tuple[str, ...]:
        """The summary as the cells of a table under `COLUMNS`, whose names are those of an evaluation."""
        numbers = (self.share, self.discovery, self.reward)
        share, score, reward = ("not defined" if each is None else str(each) for each in numbers)
        tokens = f"{self.tokens.mean / 1000:.2f}"
        leaks = leaks_told(self.turns_leaking, self.turns_unchecked)
        return (self.assistant, str(self.discovered), share, score, reward, tokens, leaks)


def summarise(scores: Iterable[ConversationScores]) -> list[Summary]:
    """Per assistant: discovery, reward, tokens, with intervals over artifacts."""
    pool = Pool(scores)
    pooled, why = pool.discovery, pool.why_no_eq_4
    groups = {name: tuple(pool.by_user[name].values()) for name in pool.assistants}
    return [
        Summary(
            assistant=name,
            discovered=_estimate(group, lambda each: each.discovered),
            share=_estimate_of_known(group, lambda each: each.share_discovered),
            reward=_estimate_of_known(group, lambda each: each.reward),
            tokens=_estimate(group, lambda each: sum(each.tokens)),
            turns_leaking=sum(each.leaks for each in group),
            turns_unchecked=sum(each.unchecked for each in group),
            discovery=None if why else bootstrap_mean(pool.by_artifact(pooled[name])),
            score=pooled.mean(name),
            why_no_score=why,
            users=len(pool.shared()),
            left_out=len(pooled.left_out),
        )
        for name, group in groups.items()
    ]


def newly_discovered(conversation: Conversation) -> int:
    """Intents discovered in the course of the conversation."""
    return len(conversation.state.discovered) - len(conversation.start.discovered)


def _estimate(group: Sequence[ConversationScores], number: Callable[[ConversationScores], float]) -> Estimate:
    """The mean of a number over artifacts."""
    return bootstrap_mean(grouped((each.artifact, number(each)) for each in group))


def _estimate_of_known(
    group: Sequence[ConversationScores], number: Callable[[ConversationScores], float | None]
) -> Estimate | None:
    """The mean over conversations that have the number, or None if no conversation has it."""
    known = [(each.artifact, value) for each in group if (value := number(each)) is not None]
    return bootstrap_mean(grouped(known)) if known else None
