"""Waiting for a condition, as tests of processes and threads do."""

import time
from collections.abc import Callable
from typing import Any


def until(holds: Callable[[], Any], seconds: float = 180) -> Any:
    """The first true value of the condition; an assertion fails after so many seconds without one."""
    deadline = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.01)
    return value
