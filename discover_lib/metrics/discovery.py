"""Scores of finished conversations (paper, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from discover_lib.core.advance import advance, initial_state, walk
from discover_lib.core.conversation import Conversation
from discover_lib.core.intents import IntentTree
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, Verdict
from discover_lib.metrics.intervals import Estimate, bootstrap_mean

Levels = Mapping[str, float]  # intent id → 0, 0.5 or 1


def share_discovered(conversation: Conversation, turns: int | None = None) -> float | None:
    """The headline number: the share of the hidden intents that the user discovered in a conversation.

    Hidden are all intents but those that the opening request names.  An emerging intent is not discovered yet.  Pages,
    commands and reports count it here, in `ConversationScores.share_discovered`, or as the measure "share" of a `Pool`.

    Args:
        turns: after this many turns; by default after all.

    Returns:
        A share in [0, 1]; None if the opening request names every intent.
    """
    start, now = conversation.start, conversation.state if turns is None else conversation.state_after(turns)
    hidden = len(conversation.tree) - len(start.discovered)
    return (len(now.discovered) - len(start.discovered)) / hidden if hidden else None


@dataclass(frozen=True)
class DiscoveryScores(Mapping[str, Mapping[str, float]]):
    """Eq. 4 per assistant and user: ``scores["adaptive"]["artifact-7/0"]``.

    Attributes:
        per_user: assistant → user (an artifact in one trial) → score in [0, 1].
        left_out: users on whom all assistants found the same, so that the score is not defined.
    """

    per_user: Mapping[str, Mapping[str, float]]
    left_out: tuple[str, ...]

    def mean(self, assistant: str) -> float | None:
        """Mean over the users that count, or None if no user counts."""
        scores = self.per_user[assistant]
        return sum(scores.values()) / len(scores) if scores else None

    def __getitem__(self, assistant: str) -> Mapping[str, float]:
        return self.per_user[assistant]

    def __iter__(self) -> Iterator[str]:
        return iter(self.per_user)

    def __len__(self) -> int:
        return len(self.per_user)


def discovery_scores(levels: Mapping[str, Mapping[str, Levels]]) -> DiscoveryScores:
    """The discovery score of every assistant with every user (paper, eq. 4).

    Per user ``Σ(s − min) / Σ(max − min)`` over intents, `min` and `max` over the assistants: with levels of 0 and
    1 this is ``(|I_T| − |I_all|) / (|I_any| − |I_all|)``; emerging intents count 0.5.  Leave initially discovered
    intents out of `levels`.  The score depends on who else is in the pool (see `results.pools_without`).

    Args:
        levels: assistant → user → intent id → 0, 0.5 or 1 at the end of the conversation.

    Raises:
        ValueError: assistants did not meet the same users and intents.

    >>> scores = discovery_scores({
    ...     "adaptive": {"boat": {"1.1": 1, "1.2": 0.5, "2": 1}},
    ...     "draft": {"boat": {"1.1": 0, "1.2": 0, "2": 1}},  # both discovered "2", so it does not count
    ... })
    >>> scores["adaptive"], scores["draft"]
    ({'boat': 1.0}, {'boat': 0.0})
    """
    assistants = list(levels)
    artifacts = list(levels[assistants[0]]) if assistants else []
    for assistant in assistants:
        if set(levels[assistant]) != set(artifacts):
            raise ValueError(f"{assistant!r} and {assistants[0]!r} were not run on the same artifacts")
    scores: dict[str, dict[str, float]] = {assistant: {} for assistant in assistants}
    left_out = []
    for artifact in artifacts:
        rows = {assistant: levels[assistant][artifact] for assistant in assistants}
        pooled = _pooled(rows, artifact)
        if pooled is None:
            left_out.append(artifact)
        else:
            for assistant in assistants:
                scores[assistant][artifact] = pooled[assistant]
    return DiscoveryScores(scores, tuple(left_out))


def why_undefined(assistants: int, users: int, left_out: int) -> str:
    """Why eq. 4 is undefined for every user, in words; "" if it is defined for some.

    Args:
        users: number of users whom all assistants met.
        left_out: number of them for whom all assistants discovered the same.
    """
    if assistants < 2:
        return "one assistant alone; eq. 4 compares several"
    if not users:
        return "no user has finished with every assistant"
    return f"all assistants found the same, on each of {users} users" if left_out == users else ""


def _pooled(rows: Mapping[str, Levels], artifact: str) -> dict[str, float] | None:
    first = next(iter(rows.values()))
    for assistant, row in rows.items():
        if row.keys() != first.keys():
            raise ValueError(f"{artifact!r}: {assistant!r} was scored on other intents than the rest")
    columns = [[row[intent] for row in rows.values()] for intent in first]
    floors = [min(column) for column in columns]
    # Sums of halves are exact in floating point, in any order.
    span = sum(max(column) - floor for column, floor in zip(columns, floors, strict=True))
    if not span:
        return None
    least = sum(floors)
    return {assistant: float((sum(row.values()) - least) / span) for assistant, row in rows.items()}


# -- the ceiling -------------------------------------------------------------------------------------------------------


def ceiling(tree: IntentTree, rules: Rules | None = None, turns: int = MAX_TURNS) -> float:
    """The share of the hidden intents that is discovered if every reply is an artifact with all intents in focus.

    Thresholds play no part, because such a reply has no near misses.

    Returns:
        A share in [0, 1]; 1 where no intent is hidden at the start.
    """
    rules = rules or Rules.paper()
    state = initial_state(tree, rules)
    hidden = len(tree) - len(state.discovered)
    for _ in range(turns):
        verdicts = walk(tree, state, rules, lambda intent: Verdict(intent.id, engaged=True))
        if not verdicts:
            break
        state, _ = advance(tree, state, Evaluation("artifact", verdicts), rules)
    return 1 - (len(tree) - len(state.discovered)) / hidden if hidden else 1.0


def mean_ceiling(trees: Iterable[IntentTree], rules: Rules | None = None, turns: int = MAX_TURNS) -> float:
    """The mean of several artifacts' ceilings, each counted once, as a mean share of hidden intents counts them.

    Artifacts without a hidden intent are left out; 1 if all are left out.
    """
    return fmean([ceiling(tree, rules, turns) for tree in trees if hides(tree)] or [1.0])


def hides(tree: IntentTree) -> bool:
    """Whether an intent is hidden at the start."""
    return len(tree.initially_discovered) < len(tree)


def ceiling_over(ceilings: Mapping[str, float], artifacts: Iterable[str]) -> Estimate | None:
    """The mean ceiling of these artifacts with its interval, to show beside a mean share, or None."""
    known = {artifact: [ceilings[artifact]] for artifact in artifacts if artifact in ceilings}
    return bootstrap_mean(known) if known else None
