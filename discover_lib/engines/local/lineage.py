"""The origin of an adapter: its base, the earlier stages merged into it and its data, all by content.

`lineage.json` is in the folder of a training run.  An adapter's own configuration stores the path of its base on the
machine of the training.  Here paths are relative to the run's folder, and a hash checks their content.  A folder of
runs can be moved as a whole, and a changed base is noticed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discover_lib.base.files import read_json, write_json
from discover_lib.base.records import Record, RecordError
from discover_lib.engines.local.dialect import LocalModelError

FILE, ADAPTER = "lineage.json", "adapter"
STEPS = "steps"  # folder of the adapters at checkpoints: step-20, step-40, …
BEFORE = "before"  # in place of an adapter's name: the model before the training
FORMAT = "discover-lineage/1"
LIBRARIES = ("torch", "transformers", "trl", "peft", "datasets", "accelerate", "unsloth", "bitsandbytes")
EDGE_BYTES = 1 << 20  # of a large file's beginning and end that enter its hash
NOT_CONTENT = (".md", ".bin.tmp", ".lock")  # notes and leftovers beside a model


class LineageError(LocalModelError):
    """The origin of an adapter is unknown or missing, in one line with a remedy."""


@dataclass(frozen=True)
class Source(Record):
    """A model or adapter: `path` is a folder (absolute, or relative to the run's) or a hub's model id."""

    path: str
    hash: str = ""
    stage: str = "base"


@dataclass(frozen=True)
class Lineage(Record):
    """The origin of one adapter.

    Attributes:
        merged: adapters merged into the base before training, in order.
        data: folder, digest and numbers of the rows.
        system: the system message of the rows, also used with the trained model; None if unknown.
        thinking: whether the model may think before it replies.
    """

    stage: str
    base: Source
    merged: tuple[Source, ...]
    recipe: Mapping[str, Any]
    data: Mapping[str, Any]
    run: str
    seed: int
    backend: str
    versions: Mapping[str, str] = field(default_factory=dict)
    system: str | None = None
    thinking: bool = False

    def write(self, folder: Path) -> None:
        """Into a run's folder, local paths relative to it."""
        write_json(folder / FILE, {"format": FORMAT, **self._mapped(relative_to, folder).to_dict()})

    @classmethod
    def read(cls, folder: Path) -> Lineage:
        """From a run's folder, local paths made absolute.

        Raises:
            LineageError: it is missing or damaged.
        """
        if not (folder / FILE).is_file():
            raise LineageError(f"{folder}: no {FILE} here; name the folder of a finished training run")
        data = read_json(folder / FILE, LineageError)
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise LineageError(f"{folder / FILE}: another format than {FORMAT!r}")
        try:
            return cls.from_dict(data)._mapped(absolute_from, folder)
        except (RecordError, TypeError, AttributeError) as error:
            raise LineageError(f"{folder / FILE}: damaged ({error})") from None

    def _mapped(self, change: Any, folder: Path) -> Lineage:
        def moved(source: Source) -> Source:
            return dataclasses.replace(source, path=change(source.path, folder))

        return dataclasses.replace(
            self,
            base=moved(self.base),
            merged=tuple(map(moved, self.merged)),
        )


@dataclass(frozen=True)
class Chain:
    """A base and its adapters in order; together they are one model."""

    base: Source
    adapters: tuple[Source, ...] = ()


def adapter_chain(folder: Path, moment: str = "") -> Chain:
    """The base and all adapters of a trained model, by the folder of its run or its adapter.

    Args:
        moment: "" for the finished model, `BEFORE`, or the name of a checkpoint such as "step-20".

    Raises:
        LineageError: there is no lineage, or the base or an adapter is missing or has changed.
    """
    run = run_of(folder)
    lineage = Lineage.read(run)
    for each in (lineage.base, *lineage.merged):
        verify(each)
    if moment == BEFORE:
        return Chain(lineage.base, lineage.merged)
    own = (run / STEPS / moment if moment else run / ADAPTER).resolve()
    if not own.is_dir():
        line = f"no adapter of {moment} here; see {run / STEPS}" if moment else "the training has no adapter yet"
        raise LineageError(f"{run}: {line}{'' if moment else '; let it finish'}")
    return Chain(lineage.base, (*lineage.merged, Source(str(own), content_hash(own), lineage.stage)))


def run_of(folder: Path) -> Path:
    """The folder of a run, from itself or its adapter's folder."""
    return folder.parent if folder.name == ADAPTER and not (folder / FILE).exists() else folder


def verify(source: Source) -> None:
    """Check that a source is unchanged.

    Raises:
        LineageError: it is missing, or its content has changed.
    """
    if Path(source.path).is_absolute() and not Path(source.path).is_dir():
        raise LineageError(f"{source.path}: the {source.stage} is missing; put it back or train again")
    if source.hash and content_hash(source.path) not in ("", source.hash):
        raise LineageError(f"{source.path}: the {source.stage} has changed; its adapters no longer fit it")


def content_hash(path: str | Path) -> str:
    """A hash of a model folder: names, sizes and both ends of every file; "" for a hub's model id.

    Reading whole files would take minutes for large models.  The ends of weights differ, too.
    """
    folder, hasher = Path(path), hashlib.blake2b(digest_size=16)
    if not folder.is_dir():
        return ""
    for file in sorted(each for each in folder.iterdir() if each.is_file()):
        if not file.name.endswith(NOT_CONTENT) and not file.name.startswith("."):
            size = file.stat().st_size
            hasher.update(f"{file.name}\0{size}\0".encode())
            with file.open("rb") as data:
                hasher.update(data.read(EDGE_BYTES))
                data.seek(-EDGE_BYTES if size > 2 * EDGE_BYTES else 0, os.SEEK_END)
                hasher.update(data.read(EDGE_BYTES))
    return hasher.hexdigest()


def relative_to(path: str, folder: Path) -> str:
    """A local folder's path relative to the run's folder; a hub's model id unchanged."""
    return os.path.relpath(Path(path).resolve(), folder.resolve()) if Path(path).is_dir() else path


def absolute_from(path: str, folder: Path) -> str:
    """The reverse of `relative_to`.  Relative paths begin with a dot there, unlike model ids."""
    return str((folder / path).resolve()) if path.startswith(".") else path


def versions() -> dict[str, str]:
    """Versions of the installed libraries that take part in training."""
    return {name: metadata.version(name) for name in LIBRARIES if find_spec(name)}
