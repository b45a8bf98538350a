"""Signs in what GRPO logs that it is going wrong, in words, with what to do.  Thresholds are rules of thumb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from discover_lib.metrics.intervals import percent

WINDOW = 5  # logged values that are averaged; no alarm before there are as many


@dataclass(frozen=True)
class Alarm:
    """One sign.

    Attributes:
        column: what is watched.
        limit: of the mean of the last values; with `relative`, of how many times the first ones they are.
        falling: it is low values that are a sign.
        words: what it means, with {now} for the value, {share} for it as a percentage.
    """

    column: str
    limit: float
    words: str
    relative: bool = False
    falling: bool = False

    def line(self, values: Sequence[float]) -> str:
        """What to say of these values, in the order in which they were logged; "" where nothing is amiss."""
        if len(values) < WINDOW + (1 if self.relative else 0):
            return ""
        now, first = fmean(values[-WINDOW:]), fmean(values[:WINDOW])
        if self.relative:
            if first <= 0:
                return ""
            now /= first
        beyond = now < self.limit if self.falling else now > self.limit
        return self.words.format(now=now, share=percent(now)) if beyond else ""


ALARMS = (
    Alarm("kl", 0.2, "far from the reference (KL {now:.2f} a token): lower learning_rate or raise beta"),
    Alarm(
        "entropy",
        0.3,
        "entropy is {share} of what it was: replies become all alike; lower learning_rate or raise temperature",
        relative=True,
        falling=True,
    ),
    Alarm("completions/mean_length", 1.5, "replies are {now:.1f} times as long as at first: see tau", relative=True),
    Alarm("completions/clipped_ratio", 0.3, "{share} of the replies are cut off: raise max_completion"),
    Alarm(
        "frac_reward_zero_std",
        0.5,
        "in {share} of the groups all rewards are equal and teach nothing: raise n_generations or temperature",
    ),
    Alarm("share/repeated", 0.3, "{share} of the replies say what another of their group says: raise temperature"),
    Alarm(
        "share/near_misses",
        0.6,
        "{share} of the steps that earn reward are near misses: it may be learning to list alternatives "
        "(make the prompts with --near-miss-cap)",
    ),
    Alarm("share/unscored", 0.1, "{share} of the replies could not be judged: see the log"),
)


def alarms(lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Column → what is amiss, over the logged lines that stand."""
    columns = {
        alarm: [float(line[alarm.column]) for line in lines if line.get(alarm.column) is not None] for alarm in ALARMS
    }
    return {alarm.column: text for alarm, values in columns.items() if (text := alarm.line(values))}
