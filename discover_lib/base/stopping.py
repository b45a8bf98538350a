"""Ending long work from outside: Ctrl-C and termination ask, a second time they end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def asked_by_signals(ask: Callable[[], object]) -> Iterator[None]:
    """The first Ctrl-C or termination calls `ask`, for a clean end; the next one raises KeyboardInterrupt."""
    asked = False

    def handle(number: int, frame: object) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        ask()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
