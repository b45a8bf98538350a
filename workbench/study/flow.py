"""The progress of a participant: a list of events, and the state that follows from it (paper, Figure 9).

Only the events are stored, so the data on disk cannot contradict itself. The next step, the conversation and the
ratings that are due are computed from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from discover_lib.core.conversation import Message
from workbench.study.design import Study

Event = Mapping[str, Any]  # "kind", "at" (seconds since 1970), and the values of the kind
Closed = Literal["no_consent", "screened_out", "timed_out", "done"]
Step = Literal[
    "consent", "eligibility", "task", "chat", "rating", "final", "no_consent", "screened_out", "timed_out", "done"
]


@dataclass(frozen=True)
class Exchange:
    """One message of a participant and its reply. The reply is None until it arrives."""

    said: Event
    reply: Event | None
    failures: int = 0


@dataclass(frozen=True)
class Round:
    """One conversation: its exchanges, its ratings, and the final answers."""

    arm: str
    exchanges: tuple[Exchange, ...]
    ratings: tuple[Event, ...]
    spent: bool  # the budget was too small for the last reply
    finished: bool
    final: Event | None

    @property
    def answered(self) -> int:
        return sum(exchange.reply is not None for exchange in self.exchanges)

    @property
    def pending(self) -> Exchange | None:
        last = self.exchanges[-1] if self.exchanges else None
        return last if last and last.reply is None and not self.spent else None

    @property
    def messages(self) -> tuple[Message, ...]:
        messages = []
        for exchange in self.exchanges:
            messages.append(Message("user", exchange.said["text"]))
            if exchange.reply:
                messages.append(Message("assistant", exchange.reply["text"], exchange.reply.get("notation")))
        return tuple(messages)


@dataclass(frozen=True)
class Progress:
    """The state of a participant, computed from the events."""

    study: Study
    events: Sequence[Event]

    def first(self, kind: str) -> Event | None:
        return next((event for event in self.events if event["kind"] == kind), None)

    def _said(self, kind: str, name: str, otherwise: Any = None) -> Any:
        """A value of the first event of a kind."""
        event = self.first(kind)
        return event[name] if event else otherwise

    @property
    def simulated(self) -> bool:
        return bool(self._said("arrived", "bot"))

    @property
    def slot(self) -> int | None:
        return self._said("assigned", "slot")

    @property
    def task(self) -> str:
        return self._said("assigned", "task", "")

    @property
    def arms(self) -> tuple[str, ...]:
        return tuple(self._said("assigned", "arms", ()))

    @property
    def topic(self) -> str:
        return self._said("topic", "topic", "")

    @cached_property
    def rounds(self) -> list[Round]:
        """The conversations so far. The last one may be unfinished or empty."""
        rounds = []
        for place, arm in enumerate(self.arms):
            events = [event for event in self.events if event.get("round") == place]
            rounds.append(_round(arm, events))
            if rounds[-1].final is None:
                break
        return rounds

    @property
    def round(self) -> Round:
        """The current conversation, or the last one."""
        return self.rounds[-1]

    @property
    def closed(self) -> Closed | None:
        return self._said("closed", "why")

    @property
    def at(self) -> float:
        """Time of the last event."""
        return float(self.events[-1]["at"])

    @property
    def minimum_reached(self) -> bool:
        return self.round.answered >= self.study.chat.minimum

    @property
    def at_limit(self) -> bool:
        """True at the maximum number of messages, and when the budget is spent."""
        return self.round.spent or self.round.answered >= self.study.chat.maximum

    @property
    def cost(self) -> float:
        """Cost of the replies so far, in dollars."""
        return sum(event.get("cost", 0.0) for event in self.events)

    @property
    def step(self) -> Step:
        """The page that the participant sees next."""
        if self.closed:
            return self.closed
        if self.first("consent") is None:
            return "consent"
        if self.study.eligibility and self.first("eligibility") is None:
            return "eligibility"
        if not self.topic:
            return "task"
        round = self.round
        if round.finished:
            return "final"
        every = self.study.chat.rate_every
        due = round.answered // every if every else 0
        if round.pending is None and len(round.ratings) < due:
            return "rating"
        return "chat"


def _round(arm: str, events: Sequence[Event]) -> Round:
    exchanges: list[Exchange] = []
    for event in events:
        if event["kind"] == "said":
            exchanges.append(Exchange(event, None))
        elif event["kind"] == "replied":
            exchanges[-1] = Exchange(exchanges[-1].said, event, exchanges[-1].failures)
        elif event["kind"] == "failed":
            exchanges[-1] = Exchange(exchanges[-1].said, None, exchanges[-1].failures + 1)
    return Round(
        arm,
        tuple(exchanges),
        tuple(event for event in events if event["kind"] == "rated"),
        any(event["kind"] == "spent" for event in events),
        any(event["kind"] == "finished" for event in events),
        next((event for event in events if event["kind"] == "final"), None),
    )
