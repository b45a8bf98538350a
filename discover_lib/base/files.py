"""Files and folders, and ending long work cleanly.

Input and output lie beside the package in a checkout: `data_folder()` is read and never written, `outputs_folder()`
holds runs and sessions and can be deleted; the variables DISCOVER_DATA and DISCOVER_OUTPUTS name other places.  Where
only the package is installed, what is written lies in the current folder, not among the installed packages.
Writes are atomic.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, TextIO

from discover_lib.base.errors import DiscoverError

REPOSITORY = Path(__file__).resolve().parents[2]
MOST_VALUES, MOST_LEVELS = 100_000, 100  # of a YAML file that somebody brings


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


def read_yaml_once(path: Path) -> Any:
    """`read_yaml` of a file of the library, parsed once: the next process reads what was parsed, which takes 2 ms.

    It is kept as Python keeps compiled modules, in `__pycache__` and only where that can be written, with a digest of
    the text that it was made of: of a file that has changed, and of one that JSON cannot hold, the YAML itself counts.
    """
    if path.with_suffix(".json").is_file() or not path.is_file():
        return read_yaml(path)
    written = path.read_text(encoding="utf-8")
    digest = hashlib.blake2b(written.encode()).hexdigest()
    try:
        kept = Path(cache_from_source(str(path))).with_suffix(".parsed")
        of, _, data = kept.read_text(encoding="utf-8").partition("\n")
        if of == digest:
            return json.loads(data)
    except NotImplementedError:  # this Python keeps nothing
        return _parsed_yaml(written)
    except (OSError, ValueError):
        pass  # none yet, or not one of ours
    parsed = _parsed_yaml(written)
    with suppress(OSError, TypeError, ValueError):
        text = json.dumps(parsed)
        if not sys.dont_write_bytecode and json.loads(text) == parsed:
            own = kept.with_name(f"{kept.name}.{os.getpid()}")  # whole at once, whoever else writes it
            kept.parent.mkdir(parents=True, exist_ok=True)
            own.write_text(f"{digest}\n{text}", encoding="utf-8")
            own.replace(kept)
    return parsed


def yaml_of_people(text: str) -> Any:
    """What a YAML text that somebody brought holds.

    Values that stand for others can make a few lines as large as a machine's memory, or hold themselves.

    Raises:
        ValueError: it is too large with all its aliases written out, nests too deep, or holds itself.
        yaml.YAMLError: it is no YAML.
    """
    _check_extent(text)
    return _parsed_yaml(text)


def _check_extent(text: str) -> None:
    """Refuse what would be too large or too deep, in one pass over a text's events, before anything is built."""
    import yaml

    open_parts: list[tuple[str | None, int]] = []  # name of the part, and how much there was before it
    sizes: dict[str, int] = {}  # of what has a name and is closed
    count = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionEndEvent):
            name, before = open_parts.pop()
            if name:
                sizes[name] = count - before
        elif isinstance(event, yaml.AliasEvent):
            alias = event.anchor or ""
            if any(name == alias for name, _ in open_parts):
                raise ValueError(f"*{alias} ({_line_of(event)}) holds itself")
            count += sizes.get(alias, 1)
        elif isinstance(event, yaml.NodeEvent):
            count += 1
            if isinstance(event, yaml.CollectionStartEvent):
                open_parts.append((event.anchor, count - 1))
            elif event.anchor:
                sizes[event.anchor] = 1
        if len(open_parts) > MOST_LEVELS:
            raise ValueError(f"it nests more than {MOST_LEVELS} levels deep ({_line_of(event)})")
        if count > MOST_VALUES:
            raise ValueError(f"it holds more than {MOST_VALUES:,} values ({_line_of(event)})")


def _line_of(event: Any) -> str:
    return f"line {event.start_mark.line + 1}"


def repeated_key(text: str) -> str | None:
    """A key that a YAML text gives twice in one mapping, which the loader would silently take the last of.

    The text is one that `yaml_of_people` takes: every value is looked at as often as it stands there.
    """
    import yaml

    def within(node: yaml.Node | None) -> str | None:
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            twice = next((key for at, key in enumerate(keys) if key in keys[:at]), None)
            return twice or next(filter(None, (within(value) for _, value in node.value)), None)
        if isinstance(node, yaml.SequenceNode):
            return next(filter(None, map(within, node.value)), None)
        return None

    return within(yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


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
