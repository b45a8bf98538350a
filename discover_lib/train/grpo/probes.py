"""Probes in words: what a policy in training discovers in whole conversations, and against what it did before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discover_lib.metrics.intervals import bootstrap_mean


def told(found: Mapping[str, Any]) -> str:
    """A probe in words."""
    if "probe/discovered" not in found:
        return "no held-out conversation could be judged"
    low, high = found.get("probe/discovered_low"), found.get("probe/discovered_high")
    spread = f" [{low:.2f}, {high:.2f}]" if low is not None and high is not None else ""
    return f"{found['probe/discovered']:.2f}{spread} intents discovered per conversation (n = {found['probe/users']})"


def compared(found: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """One probe against an earlier one on the same users, in words; "" where they cannot be paired."""
    ours, theirs = found.get("by_artifact"), before.get("by_artifact")
    if not ours or not theirs:
        return ""
    differences = {
        name: [one - other for one, other in zip(ours[name], theirs[name], strict=True)]
        for name in ours
        if len(ours[name]) == len(theirs.get(name, ()))
    }
    if not differences:
        return ""
    estimate = bootstrap_mean(differences)
    more = "more" if estimate.mean >= 0 else "less"
    if estimate.low is None or estimate.high is None or estimate.low <= 0 <= estimate.high:
        more += ", not distinguishable"
    low, high = estimate.low, estimate.high
    spread = f" [{low:+.2f}, {high:+.2f}]" if low is not None and high is not None else ""
    return f"{estimate.mean:+.2f}{spread} intents discovered per conversation ({more}; n = {estimate.n_artifacts})"
