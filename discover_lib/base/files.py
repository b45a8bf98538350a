"""Files and folders, and ending long work cleanly.

Input and output lie beside the package in a checkout: `data_folder()` is read and never written, `outputs_folder()`
holds runs and sessions and can be deleted; the variables DISCOVER_DATA and DISCOVER_OUTPUTS name other places.  Where
only the package is installed, what is written lies in the current folder, not among the installed packages.
Writes are atomic.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from discover_lib.base.errors import DiscoverError

REPOSITORY = Path(__file__).resolve().parents[2]
MOST_CHARACTERS, MOST_LEVELS = 1_000_000, 100  # of a YAML file that somebody brings


def data_folder() -> Path:
    """The folder of artifacts and recorded conversations; it may not exist where only the package is installed."""
    return Path(os.environ.get("DISCOVER_DATA") or REPOSITORY / "data")


def outputs_folder() -> Path:
    """The folder that runs and sessions are written to; the first write makes it."""
    if named := os.environ.get("DISCOVER_OUTPUTS"):
        return Path(named)
    return (REPOSITORY if (REPOSITORY / "pyproject.toml").is_file() else Path.cwd()) / "outputs"


def read_json(path: Path, error: type[DiscoverError] = DiscoverError) -> Any:
    """What a JSON file holds.

    Raises:
        error: it cannot be read, or is not JSON; the message names the file.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        why = f"cannot be read ({problem.strerror or problem})"
    except json.JSONDecodeError as problem:
        why = f"not JSON (line {problem.lineno}: {problem.msg})"
    except UnicodeDecodeError:
        why = "not UTF-8 text"
    except RecursionError:
        why = "nested too deep"
    raise error(f"{path}: {why}")


def read_yaml(path: Path) -> Any:
    """What a YAML file of the library holds; where the same stands beside it as JSON, that is read, which is quicker.

    Nothing but the site puts it there: in a browser YAML takes more than a second.
    """
    parsed = path.with_suffix(".json")
    if parsed.is_file():
        return json.loads(parsed.read_text(encoding="utf-8"))
    return _parsed_yaml(path.read_text(encoding="utf-8"))


def _parsed_yaml(text: str) -> Any:
    import yaml

    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def yaml_of_people(text: str) -> Any:
    """What a YAML text that somebody brought holds.

    Raises:
        ValueError: it is too long, nests too deep, or has values that stand for others (`*name`).
        yaml.YAMLError: it is no YAML.
    """
    import yaml

    event: Any
    depth = 0
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"it has more than {MOST_CHARACTERS:,} characters")
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_LEVELS or isinstance(event, yaml.AliasEvent):
            what = "it nests too deep" if depth > MOST_LEVELS else f"*{event.anchor} is not read: write the value"
            raise ValueError(f"{what} (line {event.start_mark.line + 1})")
    return _parsed_yaml(text)


def write_json(path: Path, data: Any) -> None:
    """Write JSON atomically."""
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


def write_encoded_lines(path: Path, lines: Iterable[bytes]) -> None:
    """`write_text_lines` of what is UTF-8 already."""
    with whole_file(path) as file:
        for line in lines:
            file.buffer.write(line)
            file.buffer.write(b"\n")


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A file that takes its name only when it is complete; what is not valid Unicode is written escaped."""
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
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


@contextmanager
def graceful_stop(request_stop: Callable[[], object]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM calls `request_stop`, for a clean end; the next one raises KeyboardInterrupt.

    So too where SIGINT came ignored, as in a process that a shell started in the background.  What was there before
    is put back at the end.
    """
    requested = False

    def handle(number: int, frame: object) -> None:
        nonlocal requested
        if requested:
            raise KeyboardInterrupt
        requested = True
        request_stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: not set from Python
