"""One executor: units of work here, in threads, in processes or on a Ray cluster (`discover_lib.runs.cluster`).

`work` begins units, as many as its workers hold at once, and has what comes of them kept by the thread that called it.
It ends when nothing is left, when `stop` is set or Ctrl-C pressed, or after the first error; what is under way by then
is waited for and kept.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

WAIT_SECONDS = 0.5  # between looks at what else happens
CHUNK = 8  # units handed to a process at once, at most
AHEAD = 2  # chunks in hand per process: it never waits for the next
Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers(Protocol):
    """Where units are worked on, some in a task.

    Attributes:
        at_once: tasks begun and not finished, at most.
    """

    @property
    def at_once(self) -> int: ...

    def pieces(self, left: int) -> int:
        """How many units the next task has, of so many that are left."""
        ...

    def begin(self, do: Callable[[Any], Any], units: Sequence[Any]) -> Any:
        """Begin a task."""
        ...

    def finished(self, tasks: Sequence[Any]) -> Sequence[Any]:
        """Those of the tasks that are finished; waits half a second for one, at most."""
        ...

    def results(self, task: Any) -> Sequence[Any]:
        """What came of the units of a finished task, or the error that ended it is raised."""
        ...

    def close(self, tasks: Sequence[Any]) -> None:
        """Give up tasks that nobody waits for any more."""
        ...


def work(
    units: Sequence[Item],
    do: Callable[[Item], Result],
    keep: Callable[[Result], None],
    on: Workers,
    *,
    stop: threading.Event | None = None,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Have `do` done to every unit, and `keep` take what comes of it, in the order in which it comes.

    Ctrl-C sets `stop`; a second one goes through.

    Args:
        units: cut into chunks as these are begun, so that a lazy sequence need not be held whole.
        do: importable by name where `on` is no threads.
        stop: begins nothing new.
        tick: called now and then by this thread.

    Raises:
        Exception: the first of `do`, `keep` or the workers.
    """
    stop, begun, error = stop or threading.Event(), 0, None
    tasks: list[Any] = []
    try:
        while True:
            try:
                while begun < len(units) and len(tasks) < on.at_once and not (stop.is_set() or error):
                    size = on.pieces(len(units) - begun)
                    tasks.append(on.begin(do, units[begun : begun + size]))
                    begun += size
                for task in on.finished(tasks) if tasks else ():
                    tasks.remove(task)  # before what came of it is kept: nothing is kept twice
                    try:
                        for result in on.results(task):
                            keep(result)
                    except Exception as first:
                        error = error or first
                tick()
                if not tasks and (begun >= len(units) or stop.is_set() or error):
                    break
            except KeyboardInterrupt:
                if stop.is_set():
                    raise
                stop.set()
    finally:
        on.close(tasks)
    if error:
        raise error


class _Here:
    """Tasks of this machine, as futures that say when they are done."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._done = threading.Event()

    def pieces(self, left: int) -> int:
        return 1

    def finished(self, tasks: Sequence[Future[Any]]) -> list[Future[Any]]:
        self._done.wait(WAIT_SECONDS)
        self._done.clear()
        return [task for task in tasks if task.done()]

    def results(self, task: Future[Any]) -> Sequence[Any]:
        return task.result()  # type: ignore[no-any-return]

    def close(self, tasks: Sequence[Future[Any]]) -> None:
        """Threads cannot be given up."""


class Alone(_Here):
    """One unit after the other, in the thread that asks for them."""

    def __init__(self) -> None:
        super().__init__(1)

    def begin(self, do: Callable[[Item], Result], units: Sequence[Item]) -> Future[list[Result]]:
        task: Future[list[Result]] = Future()
        _fulfil(task, do, units)
        self._done.set()
        return task


class Threads(_Here):
    """Units that wait, each in a new thread: the allocator keeps memory for a thread as long as it lives."""

    def begin(self, do: Callable[[Item], Result], units: Sequence[Item]) -> Future[list[Result]]:
        task: Future[list[Result]] = Future()
        task.add_done_callback(lambda _: self._done.set())
        threading.Thread(target=_fulfil, args=(task, do, units), daemon=True).start()
        return task


class Processes(_Here):
    """Units that compute, in worker processes.

    Args:
        fresh: begin workers anew instead of forking them, for work with libraries that do not survive a fork (torch).
            A process with several threads does so anyhow: a forked worker could inherit a lock that nobody frees.
        chunk: units of a task, at most.
    """

    def __init__(self, number: int, *, fresh: bool = False, chunk: int = CHUNK) -> None:
        import multiprocessing

        super().__init__(AHEAD * number)
        self._chunk = chunk
        context = multiprocessing.get_context("spawn") if fresh or threading.active_count() > 1 else None
        self._pool = ProcessPoolExecutor(number, context, _init_worker)

    def pieces(self, left: int) -> int:
        return max(1, min(self._chunk, left // self.at_once))  # little at the end, so that all end together

    def begin(self, do: Callable[[Item], Result], units: Sequence[Item]) -> Future[list[Result]]:
        task = self._pool.submit(_each, do, units)
        task.add_done_callback(lambda _: self._done.set())
        return task

    def close(self, tasks: Sequence[Future[Any]]) -> None:
        self._pool.shutdown(cancel_futures=True)


def _each(do: Callable[[Item], Result], units: Sequence[Item]) -> list[Result]:
    return [do(unit) for unit in units]


def _fulfil(task: Future[list[Result]], do: Callable[[Item], Result], units: Sequence[Item]) -> None:
    try:
        task.set_result(_each(do, units))
    except Exception as error:
        task.set_exception(error)


def _init_worker() -> None:
    """Set a worker up: Ctrl-C is the parent's to answer, and a parent that is killed leaves no workers behind."""
    import multiprocessing

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def leave() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()


# -- within a unit ----------------------------------------------------------------------------------------------------


class ParallelMap(Protocol):
    """The builtin `map`, or one that does its work in parallel and keeps the order."""

    def __call__(self, function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterable[Result]: ...


@contextmanager
def beside(helpers: int) -> Iterator[ParallelMap]:
    """`map` with this many threads to help.  At its end what was begun is waited for: its calls are paid for."""
    if not helpers:
        yield map
        return
    with ThreadPoolExecutor(helpers) as pool:

        def parallel_map(function: Callable[[Item], Result], items: Iterable[Item], /) -> Generator[Result, None, None]:
            # The first is worked on here: a thread for every item would be one more, waiting and keeping its memory.
            first, *others = items
            futures = [pool.submit(function, item) for item in others]
            try:
                yield function(first)
                for future in futures:
                    yield future.result()
            finally:
                for future in futures:
                    future.cancel()

        yield parallel_map
