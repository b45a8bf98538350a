"""What a user knows of their own intents, and how one reply changes it (paper, sections 3.1-3.2, appendix A.2).

`IntentState` is a frozen value: undiscovered → emerging → discovered per intent, which intents are satisfied, and
the thresholds θ still to be overcome.  `advance` is the only way from one state to the next and calls no model: it
applies a judge's `Evaluation` under `Rules`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Threshold = float | tuple[float, ...]
Kind = Literal["artifact", "dialogue_act"]


class Discovery(enum.IntEnum):
    """How far one intent has formed."""

    UNDISCOVERED = 0
    EMERGING = 1
    DISCOVERED = 2

    @property
    def level(self) -> float:
        """0, 0.5 or 1, as the discovery score counts it (paper, eq. 4)."""
        return self.value / 2


@dataclass(frozen=True)
class Verdict:
    """What the judge found for one intent in one reply."""

    intent_id: str
    engaged: bool
    near_misses: tuple[str, ...] = ()  # tangential alternatives really present in the reply
    reason: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.near_misses, str):
            raise TypeError(f"near misses are a list of texts, got the text {self.near_misses!r:.60}")
        object.__setattr__(self, "near_misses", tuple(self.near_misses))

    def to_dict(self) -> dict[str, Any]:
        return {
            "intent_id": self.intent_id,
            "engaged": self.engaged,
            "near_misses": list(self.near_misses),
            "reason": self.reason,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        return cls(data["intent_id"], data["engaged"], tuple(data.get("near_misses") or ()), data.get("reason", ""))


@dataclass(frozen=True)
class Evaluation:
    """A judge's reading of one reply: an artifact satisfies intents, a dialogue act only probes them."""

    kind: Kind
    verdicts: tuple[Verdict, ...] = ()
    kind_reason: str = ""

    def __post_init__(self) -> None:
        if self.kind not in ("artifact", "dialogue_act"):
            raise ValueError(f"an evaluation's kind is 'artifact' or 'dialogue_act', got {self.kind!r}")
        object.__setattr__(self, "verdicts", tuple(self.verdicts))

    def verdict(self, intent_id: str) -> Verdict | None:
        return next((verdict for verdict in self.verdicts if verdict.intent_id == intent_id), None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "kind_reason": self.kind_reason,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Evaluation:
        return cls(data["kind"], tuple(map(Verdict.from_dict, data["verdicts"])), data.get("kind_reason", ""))


@dataclass(frozen=True)
class Transition:
    """What one reply did to one intent: a move, a satisfaction, or a threshold worn down.

    `before == after` where only θ shrank or the intent became satisfied.  `score`, `theta` (before) and `theta_left`
    belong to tangential transitions.
    """

    intent_id: str
    before: Discovery
    after: Discovery
    cause: Literal["direct", "tangential"]
    satisfied: bool = False  # became satisfied in this reply
    score: float | None = None
    theta: float | None = None
    theta_left: float | None = None

    @property
    def moved(self) -> bool:
        return self.after > self.before

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "intent_id": self.intent_id,
            "before": self.before.name.lower(),
            "after": self.after.name.lower(),
            "cause": self.cause,
            "satisfied": self.satisfied,
        }
        if self.cause == "tangential":
            data |= {"score": self.score, "theta": self.theta, "theta_left": self.theta_left}
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Transition:
        return cls(
            data["intent_id"],
            Discovery[data["before"].upper()],
            Discovery[data["after"].upper()],
            data["cause"],
            data["satisfied"],
            data.get("score"),
            data.get("theta"),
            data.get("theta_left"),
        )


@dataclass(frozen=True)
class IntentState:
    """One moment of a user's mind.

    Attributes:
        discovery: intent id → `Discovery`; intents left out are undiscovered.
        satisfied: ids met by an artifact; once satisfied, always satisfied.
        thresholds: what is left of θ per intent (under `Rules.authors()` the tuple of thresholds not yet used).
        initial_thresholds: θ as drawn; what `thresholds` resets to.  Defaults to `thresholds`.
        counted: near misses already counted, used only with ``near_misses="per_conversation"``.
    """

    discovery: Mapping[str, Discovery]
    satisfied: frozenset[str] = frozenset()
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    initial_thresholds: Mapping[str, Threshold] | None = None
    counted: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "satisfied", frozenset(self.satisfied))
        pairs = {key: tuple(value) for key, value in self.thresholds.items() if isinstance(value, list | tuple)}
        object.__setattr__(self, "thresholds", {**self.thresholds, **pairs})
        if self.initial_thresholds is None:
            object.__setattr__(self, "initial_thresholds", dict(self.thresholds))

    def __getitem__(self, intent_id: str) -> Discovery:
        return self.discovery.get(intent_id, Discovery.UNDISCOVERED)

    @property
    def discovered(self) -> frozenset[str]:
        return frozenset(key for key, value in self.discovery.items() if value is Discovery.DISCOVERED)

    def to_dict(self) -> dict[str, Any]:
        assert self.initial_thresholds is not None
        return {
            "discovery": {key: value.name.lower() for key, value in self.discovery.items()},
            "satisfied": sorted(self.satisfied),
            "thresholds": _plain(self.thresholds),
            "initial_thresholds": _plain(self.initial_thresholds),
            "counted": {key: sorted(value) for key, value in self.counted.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> IntentState:
        return cls(
            {key: Discovery[value.upper()] for key, value in data["discovery"].items()},
            frozenset(data["satisfied"]),
            {key: _threshold(value) for key, value in data["thresholds"].items()},
            {key: _threshold(value) for key, value in data["initial_thresholds"].items()},
            {key: frozenset(value) for key, value in data.get("counted", {}).items()},
        )


def _plain(thresholds: Mapping[str, Threshold]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in thresholds.items()}


def _threshold(value: Any) -> Threshold:
    return tuple(value) if isinstance(value, Iterable) else value
