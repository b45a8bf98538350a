"""The files of a training run that its process writes and whoever watches it reads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SETTINGS, METRICS, SAMPLES, STOP, RESULT = "settings.json", "metrics.jsonl", "samples.jsonl", "STOP", "result.json"
ACCESS = "access.json"


@dataclass(frozen=True)
class MetricLines:
    """Lines of `metrics.jsonl` and the position (in bytes) to read on from."""

    lines: tuple[dict[str, Any], ...]
    position: int


def read_lines(path: Path, since: int = 0, *, cut: bool = False) -> MetricLines:
    """JSON lines from a position on.  A last line that is only half written waits for the next reading.

    A file that has become shorter is read from its beginning.  A line that is no JSON, as a killed process can leave
    in the middle, is skipped.

    Args:
        cut: the position may lie within a line, whose rest is skipped.
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
    lines = whole.split(b"\n")[:-1]
    if cut and begin:
        lines = lines[1:]
    parsed = (_parsed(line) for line in lines)
    return MetricLines(tuple(each for each in parsed if each is not None), begin + len(whole))


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def latest(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The last value of every column, over all lines: not every line holds them all."""
    return {name: value for line in lines for name, value in line.items() if value is not None}
