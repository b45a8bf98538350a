"""Waiting for a condition, as tests of processes and threads do, and what a killed run has kept."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from discover_lib.runs.store import FILE, RunStore


def until(holds: Callable[[], Any], seconds: float = 180) -> Any:
    """The first true value of the condition; an assertion fails after so many seconds without one."""
    deadline = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.01)
    return value


def kept_requests(run: Path) -> list[dict[str, Any]]:
    """The requests whose answers a run has kept."""
    if not (run / FILE).exists():
        return []
    with RunStore.read(run) as store:
        return [json.loads(request) for (request,) in store._database.all("SELECT request FROM calls")]
