"""States of a user's intents, and a judge's reading of one reply (paper, sections 3.1-3.2).

`IntentState` is a frozen value: undiscovered → emerging → discovered per intent, which intents are satisfied, and
the thresholds θ still to be overcome.  `discover_lib.core.advance` goes from one state to the next.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from msgspec import field
from msgspec.structs import force_setattr

from discover_lib.base.records import StructRecord

Threshold = float | tuple[float, ...]
Kind = Literal["artifact", "dialogue_act"]
Pursuing = Literal["clear", "fuzzy", "latent"]  # how the user may speak of missing intents


class Discovery(enum.IntEnum):
    """How far one intent has formed."""

    UNDISCOVERED = 0
    EMERGING = 1
    DISCOVERED = 2

    @property
    def level(self) -> float:
        """0, 0.5 or 1, as the discovery score counts it (paper, eq. 4)."""
        return self.value / 2


class Verdict(StructRecord, frozen=True):
    """The judge's finding for one intent in one reply."""

    intent_id: str
    engaged: bool
    near_misses: tuple[str, ...] = ()  # tangential alternatives really present in the reply
    reason: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.near_misses, str):
            raise TypeError(f"near misses are a list of texts, got the text {self.near_misses!r:.60}")
        force_setattr(self, "near_misses", tuple(self.near_misses))


class Evaluation(StructRecord, frozen=True, written=("kind", "kind_reason", "verdicts")):
    """A judge's reading of one reply: an artifact satisfies intents, a dialogue act only probes them."""

    kind: Kind
    verdicts: tuple[Verdict, ...] = ()
    kind_reason: str = ""

    def __post_init__(self) -> None:
        if self.kind not in ("artifact", "dialogue_act"):
            raise ValueError(f"an evaluation's kind is 'artifact' or 'dialogue_act', got {self.kind!r}")
        force_setattr(self, "verdicts", tuple(self.verdicts))

    def verdict(self, intent_id: str) -> Verdict | None:
        return next((verdict for verdict in self.verdicts if verdict.intent_id == intent_id), None)


class Transition(StructRecord, frozen=True):
    """The effect of one reply on one intent: a change of state, a satisfaction, or a lower threshold.

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
        data = super().to_dict()
        if self.cause == "direct":  # no threshold had a part in it
            for name in ("score", "theta", "theta_left"):
                del data[name]
        return data


class IntentState(StructRecord, frozen=True):
    """One moment of a user's mind.

    Attributes:
        discovery: intent id → `Discovery`; intents left out are undiscovered.
        satisfied: ids met by an artifact; once satisfied, always satisfied.
        thresholds: the remaining θ per intent (under `Rules.authors()` the tuple of unused thresholds).
        initial_thresholds: θ as drawn, to which `thresholds` resets.  Defaults to `thresholds`.
        counted: near misses already counted, used only with ``near_misses="per_conversation"``.
    """

    discovery: Mapping[str, Discovery]
    satisfied: frozenset[str] = frozenset()
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    initial_thresholds: Mapping[str, Threshold] | None = None
    counted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    __iter__ = None  # a loop would ask `__getitem__` for 0, 1, 2 ... without end

    def __post_init__(self) -> None:
        force_setattr(self, "satisfied", frozenset(self.satisfied))
        force_setattr(self, "thresholds", _with_tuples(self.thresholds))
        initial = self.thresholds if self.initial_thresholds is None else _with_tuples(self.initial_thresholds)
        force_setattr(self, "initial_thresholds", initial)

    def __getitem__(self, intent_id: str) -> Discovery:
        return self.discovery.get(intent_id, Discovery.UNDISCOVERED)

    @cached_property
    def discovered(self) -> frozenset[str]:
        return frozenset([key for key, value in self.discovery.items() if value is Discovery.DISCOVERED])


def _with_tuples(thresholds: Mapping[str, Threshold]) -> Mapping[str, Threshold]:
    """Thresholds as JSON gives them, with tuples in place of lists."""
    if list not in map(type, thresholds.values()):
        return thresholds
    return {key: tuple(value) if isinstance(value, list) else value for key, value in thresholds.items()}
