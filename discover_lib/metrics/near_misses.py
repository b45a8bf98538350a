"""Discoveries from near misses, which an assistant can collect with several alternatives in a reply.

With p = 0.25 and θ below 1, four distinct near misses in one reply always move an intent (paper, section 3.2), wanted
or not.  A score from near misses says less than a score from replies that match the user's intents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discover_lib.base.records import Record
from discover_lib.core.conversation import Conversation
from discover_lib.core.state import Discovery
from discover_lib.metrics.intervals import Estimate, bootstrap_mean, grouped

if TYPE_CHECKING:
    from discover_lib.metrics.scores import ConversationScores

Steps = tuple[int, int, int, int]  # steps up, those by near misses, intents discovered, those by near misses alone


def steps_of(conversation: Conversation) -> Steps:
    """How the intents of a conversation were moved up, in the replies that it went on with."""
    causes: dict[str, set[str]] = {}
    discovered: set[str] = set()
    steps = by_near_misses = 0
    for turn in conversation.turns:
        for each in turn.candidate.transitions:
            if each.moved:
                steps, by_near_misses = steps + 1, by_near_misses + (each.cause == "tangential")
                causes.setdefault(each.intent_id, set()).add(each.cause)
                if each.after is Discovery.DISCOVERED:
                    discovered.add(each.intent_id)
    alone = sum(causes[intent_id] == {"tangential"} for intent_id in discovered)
    return steps, by_near_misses, len(discovered), alone


@dataclass(frozen=True)
class NearMisses(Record):
    """What one assistant's conversations owe to near misses.

    Attributes:
        steps, by_near_misses: how often an intent was moved up one state or two, and how often a near miss did it.
        discovered, alone: intents discovered, and those of them that near misses alone moved.
        share: of the steps, over conversations that have one; None where no intent was moved.
        share_alone: of the discovered intents, over conversations with one; None where no intent was discovered.
    """

    assistant: str
    steps: int
    by_near_misses: int
    discovered: int
    alone: int
    share: Estimate | None
    share_alone: Estimate | None

    def row(self) -> tuple[str, ...]:
        """The cells of a table, under `NEAR_MISS_COLUMNS`."""
        return (
            self.assistant,
            f"{self.by_near_misses} of {self.steps}",
            "no moves" if self.share is None else with_n(self.share),
            f"{self.alone} of {self.discovered}",
            "no discoveries" if self.share_alone is None else with_n(self.share_alone),
        )


NEAR_MISS_COLUMNS = ("assistant", "steps by near misses", "share", "discovered by them alone", "share of discovered")


def near_misses_of(scores: Iterable[ConversationScores]) -> list[NearMisses]:
    """By assistant, in the order in which they come."""
    return [_of_group(name, group) for name, group in grouped((each.assistant, each) for each in scores).items()]


def _of_group(name: str, group: Sequence[ConversationScores]) -> NearMisses:
    known = [(each.artifact, each.steps) for each in group]
    steps, by_near_misses, discovered, alone = (sum(steps[at] for _, steps in known) for at in range(4))
    return NearMisses(
        name,
        steps,
        by_near_misses,
        discovered,
        alone,
        _share(known, lambda steps: (steps[1], steps[0])),
        _share(known, lambda steps: (steps[3], steps[2])),
    )


def _share(known: Iterable[tuple[str, Steps]], part: Callable[[Steps], tuple[int, int]]) -> Estimate | None:
    parts = ((artifact, *part(steps)) for artifact, steps in known)
    by_artifact = grouped((artifact, some / whole) for artifact, some, whole in parts if whole)
    return bootstrap_mean(by_artifact) if by_artifact else None


def with_n(estimate: Estimate) -> str:
    """An estimate with the number of its artifacts; of one artifact the estimate says so itself."""
    n = "" if estimate.low is None else f" (n = {estimate.n_artifacts})"
    return f"{estimate}{n}"
