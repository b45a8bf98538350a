"""The folder of long work: one process works in it, and any process can watch it and request its end.

    status.json   how far it is, as its worker writes it        lock      held for as long as a process works
    log.txt       output of a separate process

A training run and a task each keep such a folder; their other files differ.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from discover_lib.base.errors import DiscoverError
from discover_lib.runs.database import locked

STATUS, LOCK, LOG = "status.json", "lock", "log.txt"
BEGINS_IN = 30.0  # seconds that a separate process has to start


@contextlib.contextmanager
def working(folder: Path, wait_seconds: float) -> Iterator[None]:
    """Hold the folder while this process works; the system frees it when the process ends.

    Raises:
        DiscoverError: another process holds it for longer than `wait_seconds`, or the folder is not writable.
    """
    with contextlib.closing(locked(folder, LOCK, wait_seconds)):
        yield


def is_at_work(folder: Path) -> bool:
    """Whether a process works in the folder."""
    try:
        with working(folder, 0):
            return False
    except DiscoverError:
        return True


_children: list[subprocess.Popen[bytes]] = []


def start_process(folder: Path, command: Sequence[str]) -> int:
    """Start a process that outlives this one and writes to the folder's log; returns its number."""
    _children[:] = [each for each in _children if each.poll() is None]  # polled, so that none remains as a zombie
    with (folder / LOG).open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, close_fds=True
        )
    _children.append(process)
    return process.pid
