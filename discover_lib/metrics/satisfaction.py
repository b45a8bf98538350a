"""Satisfaction with the finished piece (paper, section 4.2 and appendix B.3).

After the last turn the user asks for the complete artifact; a judge scores every leaf of the tree, the most specific
intents, from 1 to 5.  This module defines the request, the scale and the share that the scores give;
who judges is an engine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from discover_lib.base.records import Record

LeaveOut = Literal["none", "all"]

FINAL_REQUEST = "Thank you. Please give me the complete, final piece now, and nothing else."
FINAL_REQUESTS = {
    "ours": FINAL_REQUEST,
    "paper": (
        "Okay, now generate a complete output artifact considering the conversation so far. "
        "Return only the artifact without any other text or explanation."
    ),
}
SATISFIED = 4  # the least score of 1 to 5 that counts as satisfied
_FINAL = re.compile(r"\b(?:final|complete|finished|whole)\b(?:,? \w+){0,2},? (?:piece|version|artifact|result)\b", re.I)


def request_named(text: object, otherwise: str = "ours") -> str:
    """The name of a stored final request, or `otherwise` for another wording."""
    return next((name for name, wording in FINAL_REQUESTS.items() if wording == text), otherwise)


def asks_for_final(text: str) -> bool:
    """Whether a user's message asks for the finished piece, as `FINAL_REQUEST` does or in similar words."""
    return bool(_FINAL.search(text))


@dataclass(frozen=True)
class LeafScore(Record):
    """How well the final artifact meets one of the most specific intents, 1 to 5, and why.

    The scale has whole steps; a judge's value between two steps stays as it is.
    """

    intent_id: str
    score: float
    reason: str = ""

    @property
    def satisfied(self) -> bool:
        return self.score >= SATISFIED


@dataclass(frozen=True)
class SatisfactionScores:
    """Share of the counting leaves that are satisfied.

    Attributes:
        per_user: assistant → user (an artifact in one trial) → share in [0, 1].
        left_out: users of whom no leaf counts, so that the share is not defined.
        leave_out: which leaves do not count: those satisfied by "none" of the assistants, or by "all" of them.
        n_leaves, n_counted: leaves over all units, and those of them that count.
    """

    per_user: Mapping[str, Mapping[str, float]]
    left_out: tuple[str, ...]
    leave_out: LeaveOut
    n_leaves: int
    n_counted: int


def leaves_line(assistants: int, counted: int, leaves: int, leave_out: str) -> str:
    """Which leaves satisfaction is the share of, in words."""
    if assistants == 1:
        return f"satisfaction: one assistant alone: the plain share of all {leaves} leaves"
    who = {"none": "no assistant", "all": "every assistant"}[leave_out]
    return f"satisfaction: {counted} of {leaves} leaves count; leaves that {who} satisfied are left out"


def satisfaction_scores(
    satisfied: Mapping[str, Mapping[str, Mapping[str, bool]]], leave_out: LeaveOut = "none"
) -> SatisfactionScores:
    """The share of leaves that each assistant's final artifact satisfies, of each user.

    The paper leaves leaves out in two ways: those that no assistant satisfies (section 4.2, "none") or those that all
    of them satisfy (appendix B.3, "all").  Either way the share depends on who else is in the pool; of one assistant
    alone either would always be 1 or 0, so all its leaves count.

    Args:
        satisfied: assistant → unit → leaf → whether it scored at least `SATISFIED`.

    Raises:
        ValueError: assistants were not scored on the same units and leaves.
    """
    if leave_out not in ("none", "all"):
        raise ValueError(f"leaves are left out that 'none' or 'all' of the assistants satisfy, got {leave_out!r}")
    assistants = list(satisfied)
    units = list(satisfied[assistants[0]]) if assistants else []
    per_user: dict[str, dict[str, float]] = {assistant: {} for assistant in assistants}
    left_out, n_leaves, n_counted = [], 0, 0
    for assistant in assistants:
        if set(satisfied[assistant]) != set(units):
            raise ValueError(f"{assistant!r} and {assistants[0]!r} were not scored on the same users")
    for unit in units:
        rows = {assistant: satisfied[assistant][unit] for assistant in assistants}
        counted = counted_leaves(rows, unit, leave_out)
        n_leaves, n_counted = n_leaves + len(rows[assistants[0]]), n_counted + len(counted)
        if not counted:
            left_out.append(unit)
            continue
        for assistant, row in rows.items():
            per_user[assistant][unit] = sum(row[leaf] for leaf in counted) / len(counted)
    return SatisfactionScores(per_user, tuple(left_out), leave_out, n_leaves, n_counted)


def counted_leaves(rows: Mapping[str, Mapping[str, bool]], unit: str, leave_out: LeaveOut) -> list[str]:
    """The leaves of one user that count."""
    leaves = next(iter(rows.values()))
    for assistant, row in rows.items():
        if set(row) != set(leaves):
            raise ValueError(f"{unit!r}: {assistant!r} was scored on other leaves than the rest")
    if len(rows) == 1:
        return list(leaves)
    found = {leaf: [row[leaf] for row in rows.values()] for leaf in leaves}
    return [leaf for leaf, met in found.items() if (any(met) if leave_out == "none" else not all(met))]
