"""The files of a training run, written by its process and read by its watchers, and alarms in its log.

The thresholds of alarms are rules of thumb.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from discover_lib.base.files import read_json
from discover_lib.metrics.intervals import percent

SETTINGS, METRICS, SAMPLES, STOP, RESULT = "settings.json", "metrics.jsonl", "samples.jsonl", "STOP", "result.json"
ACCESS = "access.json"
WINDOW = 5  # logged values that are averaged; no alarm before there are as many


@dataclass(frozen=True)
class MetricLines:
    """Lines of `metrics.jsonl`, and the position in bytes for the next reading."""

    lines: tuple[dict[str, Any], ...]
    position: int


def read_lines(path: Path, since: int = 0) -> MetricLines:
    """JSON lines from a position on.  An incomplete last line waits for the next reading.

    A file that has become shorter is read from its beginning.  Lines that are not JSON objects are skipped, as a killed
    process can leave them.  The rest of a line at the position is skipped, too.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            begin = since if since <= size else 0
            file.seek(begin)
            read = file.read()
    except FileNotFoundError:
        return MetricLines((), 0)
    whole = read[: read.rfind(b"\n") + 1]
    parsed = map(_parsed, whole.split(b"\n")[:-1])
    return MetricLines(tuple(each for each in parsed if each is not None), begin + len(whole))


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def latest(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The last value of every column over all lines."""
    return {name: value for line in lines for name, value in line.items() if value is not None}


def in_the_way(folder: Path, requested: Mapping[str, Any]) -> str:
    """Why a folder cannot train these settings: it has a finished training or other settings; else "".

    Raises:
        DiscoverError: its settings are damaged.
    """
    if (folder / SETTINGS).exists():
        stored = read_json(folder / SETTINGS)
        if different := differences(stored, json.loads(json.dumps(requested))):
            return f"{folder} contains a run with other settings ({'; '.join(different)}); choose another folder"
    if (folder / RESULT).exists():
        return f"{folder}: this training is finished; take another folder to train again"
    return ""


def differences(stored: Mapping[str, Any], requested: Mapping[str, Any], above: str = "") -> list[str]:
    """Differences between two settings, field by field: "sft.epochs: 3 there, 1 asked"."""
    lines = []
    for name in dict.fromkeys([*stored, *requested]):
        one, other, path = stored.get(name), requested.get(name), f"{above}{name}"
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            lines += differences(one, other, f"{path}.")
        elif one != other:
            lines.append(f"{path}: {one!r} there, {other!r} asked")
    return lines


@dataclass(frozen=True)
class Alarm:
    """A sign in the log of GRPO that training goes wrong, with a remedy.

    Attributes:
        column: the logged figure.
        limit: of the mean of the last values; with `relative`, of its ratio to the mean of the first values.
        falling: low values are the sign.
        words: the meaning, with {now} for the value and {share} for its percentage.
    """

    column: str
    limit: float
    words: str
    relative: bool = False
    falling: bool = False

    def line(self, values: Sequence[float]) -> str:
        """The alarm for these values, oldest first; "" within the limit."""
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
    Alarm("kl", 0.2, "far from the reference (KL {now:.2f} per token): lower learning_rate or raise beta"),
    Alarm(
        "entropy",
        0.3,
        "entropy is {share} of its first value: all replies become alike; lower learning_rate or raise temperature",
        relative=True,
        falling=True,
    ),
    Alarm("completions/mean_length", 1.5, "replies are {now:.1f} times as long as at first: see tau", relative=True),
    Alarm("completions/clipped_ratio", 0.3, "{share} of the replies are cut off: raise max_completion"),
    Alarm(
        "frac_reward_zero_std",
        0.5,
        "in {share} of the groups all rewards are equal and give no signal: raise n_generations or temperature",
    ),
    Alarm("share/repeated", 0.3, "{share} of the replies repeat another reply of their group: raise temperature"),
    Alarm(
        "share/near_misses",
        0.6,
        "{share} of the rewarded state changes come from near misses: the model may be learning to list alternatives "
        "(make the prompts with --near-miss-cap)",
    ),
    Alarm("share/unscored", 0.1, "{share} of the replies could not be judged: see the log"),
)


def alarms(lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Column → alarm, over the logged lines that count."""
    columns = {
        alarm: [float(line[alarm.column]) for line in lines if line.get(alarm.column) is not None] for alarm in ALARMS
    }
    return {alarm.column: text for alarm, values in columns.items() if (text := alarm.line(values))}
