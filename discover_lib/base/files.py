"""Files and folders.

Input and output lie beside the package in a checkout: `data_folder()` is read and never written, `outputs_folder()`
holds runs and sessions and can be deleted; the variables DISCOVER_DATA and DISCOVER_OUTPUTS name other places.  Where
only the package is installed, output goes to the current folder, and not among the installed packages.
Writes are atomic.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TextIO

from discover_lib.base.errors import DiscoverError

REPOSITORY = Path(__file__).resolve().parents[2]
MOST_BYTES = 1_000_000_000  # of a file that is read whole
MOST_CHARACTERS, MOST_LEVELS = 1_000_000, 100  # of a YAML file that somebody brings


def data_folder() -> Path:
    """The folder of artifacts and recorded conversations; it may not exist where only the package is installed."""
    return Path(os.environ.get("DISCOVER_DATA") or REPOSITORY / "data")


def outputs_folder() -> Path:
    """The folder that runs and sessions are written to; the first write makes it."""
    if named := os.environ.get("DISCOVER_OUTPUTS"):
        return Path(named)
    return (REPOSITORY if (REPOSITORY / "pyproject.toml").is_file() else Path.cwd()) / "outputs"


def read_text(path: Path, error: type[DiscoverError] = DiscoverError) -> str:
    """The text of a file that somebody brings.

    Raises:
        error: the file cannot be read, is larger than `MOST_BYTES`, or is not UTF-8; the message names it.
    """
    try:
        if path.is_file() and (size := path.stat().st_size) > MOST_BYTES:
            raise error(f"{path}: {size / 1e9:.1f} GB is too large to read whole; at most 1 GB")
        return path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror or problem})") from None
    except UnicodeDecodeError:
        raise error(f"{path}: not UTF-8 text") from None


def read_json(path: Path, error: type[DiscoverError] = DiscoverError) -> Any:
    """The data of a JSON file.

    Raises:
        error: as `read_text`, or the file is not JSON; the message names the file and the line.
    """
    return _json_of(read_text(path, error), f"{path}:", error)


def read_json_lines(path: Path) -> Iterator[Any]:
    """The data of each line; empty lines are left out.

    Raises:
        DiscoverError: as `read_text`, or a line is not JSON; the message names the line.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield _json_of(line, f"{path}: line {number} is", DiscoverError)


def _json_of(text: str, where: str, error: type[DiscoverError]) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:  # also numbers of too many digits and lists in too many lists
        reason = "nested too deep" if isinstance(problem, RecursionError) else problem
        raise error(f"{where} not JSON ({reason})") from None


def parsed_yaml(text: str) -> Any:
    """The data of a YAML text, by the fast parser where it is installed."""
    import yaml

    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def load_yaml(path: Path) -> Any:
    """The data of a YAML file that somebody brings.

    Raises:
        DiscoverError: as `read_text`, or the file is not YAML, is too long, nests too deep, or has an alias (`*name`).
    """
    import yaml

    text = read_text(path)
    try:
        why = _why_refused(text)
        data = None if why else parsed_yaml(text)
    except (yaml.YAMLError, ValueError) as error:  # a date that does not exist is a ValueError
        why = f"not valid YAML: {' '.join(str(error).split())}"
    if why:
        raise DiscoverError(f"{path}: {why}")
    return data


def _why_refused(text: str) -> str:
    """Why a YAML text could fill the memory or the stack, or ""; read event by event, before anything is built."""
    import yaml

    depth = 0
    if len(text) > MOST_CHARACTERS:
        return f"longer than {MOST_CHARACTERS:,} characters"
    events: Iterator[Any] = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for event in events:
        place = f"(line {event.start_mark.line + 1})"
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_LEVELS:
            return f"nested too deep {place}"
        if isinstance(event, yaml.AliasEvent):
            return f"*{event.anchor} is not read; write the value {place}"
    return ""


def write_json(path: Path, data: Any) -> None:
    """Write JSON atomically."""
    with whole_file(path) as file:
        file.write(json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def write_lines(path: Path, items: Iterable[Any]) -> None:
    """Write JSON lines: all of them, or no file."""
    write_text_lines(path, (json.dumps(item, ensure_ascii=False) for item in items))


def write_text_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines: all of them, or no file."""
    with whole_file(path) as file:
        file.writelines(f"{line}\n" for line in lines)


def writable(folder: Path) -> Path:
    """The folder, made if it is missing.

    Raises:
        DiscoverError: the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        why = f"cannot be written to ({error.strerror or error}); choose another folder"
        raise DiscoverError(f"{folder}: {why}") from None


def writable_file(path: Path) -> Path:
    """The path, whose folder is made if it is missing.

    Raises:
        DiscoverError: the file cannot be written.
    """
    writable(path.resolve().parent)
    if path.is_dir():
        raise DiscoverError(f"{path}: is a folder; name a file")
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A file that takes its name only when it is complete; invalid Unicode is written escaped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial_path = path.with_name(path.name + ".partial")
    with partial_path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        yield file
    partial_path.replace(path)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder that takes its name only when it is complete; an earlier folder of that name stays until then."""
    partial, earlier = (path.with_name(f".{path.name}.{end}") for end in ("partial", "earlier"))
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        if path.exists():
            path.rename(earlier)
        partial.rename(path)
    finally:
        for each in (partial, earlier):
            shutil.rmtree(each, ignore_errors=True)
