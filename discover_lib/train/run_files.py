"""The files of a training run that its process writes and whoever watches it reads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discover_lib.base.files import read_json

SETTINGS, METRICS, SAMPLES, STOP, RESULT = "settings.json", "metrics.jsonl", "samples.jsonl", "STOP", "result.json"
ACCESS = "access.json"


@dataclass(frozen=True)
class MetricLines:
    """Lines of `metrics.jsonl` and the position (in bytes) to read on from."""

    lines: tuple[dict[str, Any], ...]
    position: int


def read_lines(path: Path, since: int = 0) -> MetricLines:
    """JSON lines from a position on.  A last line that is only half written waits for the next reading.

    A file that has become shorter is read from its beginning.  A line that is no JSON object, as a killed process can
    leave in the middle, is skipped; so is the rest of a line that the position lies in.
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
    """The last value of every column, over all lines: not every line holds them all."""
    return {name: value for line in lines for name, value in line.items() if value is not None}


def in_the_way(folder: Path, requested: Mapping[str, Any]) -> str:
    """Why these settings cannot be trained in a folder: it holds a finished training or other settings; else "".

    Raises:
        DiscoverError: its settings are damaged.
    """
    if (folder / SETTINGS).exists():
        stored = read_json(folder / SETTINGS)
        if different := differences(stored, json.loads(json.dumps(requested))):
            return f"{folder} holds a run with other settings ({'; '.join(different)}); take another folder"
    if (folder / RESULT).exists():
        return f"{folder}: this training is finished; take another folder to train again"
    return ""


def differences(stored: Mapping[str, Any], requested: Mapping[str, Any], above: str = "") -> list[str]:
    """What differs between two settings, field by field: "sft.epochs: 3 there, 1 asked"."""
    lines = []
    for name in dict.fromkeys([*stored, *requested]):
        one, other, path = stored.get(name), requested.get(name), f"{above}{name}"
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            lines += differences(one, other, f"{path}.")
        elif one != other:
            lines.append(f"{path}: {one!r} there, {other!r} asked")
    return lines
