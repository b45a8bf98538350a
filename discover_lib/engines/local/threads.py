"""How many threads a step of training takes: more than one only where that changes no bit, and while it is faster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MOST = 4  # threads; the tiny model's matrices are too small for more
TRIED_STEPS = 3  # with each number of threads, one after the other
KEPT_STEPS = 97  # with the faster one, before both are tried again: other programs come and go


class StepThreads:
    """One thread or several for the next step, by what the last ones took.

    Args:
        same: whether the results of several threads are, bit by bit, those of one; asked once.
        several: how many those are.
    """

    def __init__(self, same: Callable[[int], bool], several: int | None = None) -> None:
        self.several = min(MOST, _cores()) if several is None else several
        self._choice = self.several > 1 and same(self.several)
        self._step = 0
        self._seconds: dict[int, list[float]] = {}
        self._kept = 1

    @contextmanager
    def step(self) -> Iterator[int]:
        """Run a step within it; gives the number of its threads."""
        import torch

        threads = self._next()
        torch.set_num_threads(threads)
        began = time.perf_counter()
        try:
            yield threads
        finally:
            self._seconds.setdefault(threads, []).append(time.perf_counter() - began)
            self._step += 1
            torch.set_num_threads(1)

    def _next(self) -> int:
        if not self._choice:
            return 1
        place = self._step % (2 * TRIED_STEPS + KEPT_STEPS)
        if place == 0:
            self._seconds = {}
        if place < 2 * TRIED_STEPS:
            return self.several if place % 2 else 1
        if place == 2 * TRIED_STEPS:
            self._kept = min(self._seconds, key=lambda threads: sorted(self._seconds[threads])[TRIED_STEPS // 2])
        return self._kept


def _cores() -> int:
    """Of this machine that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
