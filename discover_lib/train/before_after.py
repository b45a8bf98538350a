"""The model before and after a training run, as names of assistants that can be put side by side."""

from __future__ import annotations

from pathlib import Path

from discover_lib.engines.local.lineage import Lineage
from discover_lib.engines.local.names import COLLABORATIVE, MARK, PREFIX


def sides(run: Path) -> dict[str, str]:
    """ "before" and "after" of a finished run → assistant.  Both are given the same system prompt, if any: what
    differs is the run's adapter alone.

    Raises:
        LineageError: the run has no adapter yet, or what it was trained on cannot be told.
        FileNotFoundError: a base of the hub is not on this machine any more.
    """
    lineage = Lineage.read(run)
    base = _folder(lineage.base.path)
    earlier = [each.path for each in (*lineage.merged, *([lineage.continued] if lineage.continued else []))]
    style = [] if (base / MARK).is_file() else [COLLABORATIVE]
    return {
        "before": PREFIX + "+".join([str(base), *earlier, *style]),
        "after": PREFIX + "+".join([str(run), *style]),
    }


def _folder(base: str) -> Path:
    """Where a base model lies: its own folder, or what was downloaded of a model of the hub."""
    if Path(base).is_dir():
        return Path(base)
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(base, local_files_only=True))
