"""Files that are written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO


def write_json(path: Path, data: Any) -> None:
    """Write JSON whole or not at all."""
    with whole_file(path) as file:
        file.write(json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def write_lines(path: Path, items: Iterable[Any]) -> None:
    """Write JSON lines, all of them or none."""
    write_text_lines(path, (json.dumps(item, ensure_ascii=False) for item in items))


def write_text_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines, all of them or none."""
    with whole_file(path) as file:
        for line in lines:
            file.write(line)
            file.write("\n")


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A file that takes its name only when it is complete; text that is no valid Unicode is written escaped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial_path = path.with_name(path.name + ".partial")
    with partial_path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        yield file
    partial_path.replace(path)


def rounded(value: Any) -> Any:
    """Plain values without the last digits of floats, which the order of a processor's sums decides."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, Mapping):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list | tuple) else value
