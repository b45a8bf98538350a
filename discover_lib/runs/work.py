"""One executor: units of work in this thread, in threads, in processes or on a Ray cluster.

`work` begins as many units as its workers hold at once.  The calling thread keeps the results.  It ends when all units
are done, when `stop` is set or Ctrl-C is pressed, or after the first error.  Begun units are always awaited and kept.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from discover_lib.base import VERSION
from discover_lib.base.errors import DiscoverError

WAIT_SECONDS = 0.5  # between looks at what else happens
CHUNK = 8  # units handed to a process at once, at most
AHEAD = 2  # tasks in hand per process or processor, which so never waits for the next
Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """A place of work, where a task has several units: here the calling thread, one unit after the other.

    Attributes:
        at_once: maximum number of begun and unfinished tasks.
        chunk: maximum number of units in a task.
    """

    def __init__(self, at_once: int = 1, chunk: int = 1) -> None:
        self.at_once, self.chunk = at_once, chunk
        self._done = threading.Event()

    def pieces(self, left: int) -> int:
        """The size of the next task, if so many units are left: small at the end, so that all workers end together."""
        return max(1, min(self.chunk, left // self.at_once))

    def begin(self, do: Callable[[Any], Any], units: Sequence[Any]) -> Any:
        """Begin a task."""
        task: Future[list[Any]] = Future()
        _fulfil(task, do, units)
        self._done.set()
        return task

    def finished(self, tasks: Sequence[Any]) -> Sequence[Any]:
        """The finished tasks; waits at most half a second for one."""
        self._done.wait(WAIT_SECONDS)
        self._done.clear()
        return [task for task in tasks if task.done()]

    def results(self, task: Any) -> Sequence[Any]:
        """The results of a finished task; raises the error that ended it."""
        return task.result()  # type: ignore[no-any-return]

    def close(self, tasks: Sequence[Any]) -> None:
        """Cancel these tasks; threads cannot be given up."""


def work(
    units: Sequence[Item],
    do: Callable[[Item], Result],
    keep: Callable[[Result], None],
    on: Workers,
    *,
    load: Callable[[Any], Any] = lambda unit: unit,
    stop: threading.Event | None = None,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Call `do` with every unit, and `keep` with every result, in the order of completion.

    Ctrl-C sets `stop`; a second Ctrl-C is raised.

    Args:
        load: makes what `do` takes of a unit, when its task begins.
        do: importable by name, unless `on` is threads.
        stop: prevents new tasks.
        tick: called repeatedly by this thread.

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
                    tasks.append(on.begin(do, [load(unit) for unit in units[begun : begun + size]]))
                    begun += size
                for task in on.finished(tasks) if tasks else ():
                    tasks.remove(task)  # before its results are kept, so no result is kept twice
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


class Threads(Workers):
    """Units that wait, each in a new thread, because the allocator keeps memory for the life of a thread."""

    def begin(self, do: Callable[[Item], Result], units: Sequence[Item]) -> Future[list[Result]]:
        task: Future[list[Result]] = Future()
        task.add_done_callback(lambda _: self._done.set())
        threading.Thread(target=_fulfil, args=(task, do, units), daemon=True).start()
        return task


class Processes(Workers):
    """Units that compute, in worker processes.

    Args:
        fresh: start new workers instead of forks, for libraries that do not survive a fork (torch).  A process with
            several threads always does so, because a fork could inherit a locked lock.
    """

    def __init__(self, number: int, *, fresh: bool = False, chunk: int = CHUNK) -> None:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        super().__init__(AHEAD * number, chunk)
        context = multiprocessing.get_context("spawn") if fresh or threading.active_count() > 1 else None
        self._pool = ProcessPoolExecutor(number, context, _init_worker)

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
    """Set a worker up: it ignores Ctrl-C, which the parent handles, and exits when the parent is killed."""
    import multiprocessing

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def leave() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()


# -- within a unit ----------------------------------------------------------------------------------------------------


ParallelMap = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # `map`, or a parallel one in its order


@contextmanager
def beside(helpers: int) -> Iterator[ParallelMap]:
    """`map` with this many more threads.  Its end waits for begun calls, because they are paid for."""
    if not helpers:
        yield map
        return
    with ThreadPoolExecutor(helpers) as pool:

        def parallel_map(function: Callable[[Item], Result], items: Iterable[Item], /) -> Generator[Result, None, None]:
            # This thread does the first item; another thread for it would only wait and use memory.
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


# -- a Ray cluster ----------------------------------------------------------------------------------------------------

LOCAL, REMOTE = "ray", "ray://"
FOUND_BY_RAY = ("", "auto", "local")  # values of RAY_ADDRESS that are no address
PROBE_SECONDS = 2.0  # for an address to answer
LOOK_SECONDS = 2.0  # between looks at which nodes are alive
CHECK_SECONDS = 60.0  # for a node to report its version
SOURCES = (".py", ".yaml", ".json", ".txt", ".jinja", ".safetensors")  # files that decide results, but for prompts


@contextmanager
def cluster(where: str) -> Iterator[Cluster]:
    """A Ray cluster whose nodes have the same version of this package.

    Workers need this package and an address, and no shared disk.  Ray repeats the work of a lost node.  A unit has its
    own seed and is saved when its result arrives, so the node changes no result.

    Args:
        where: "ray": the cluster that RAY_ADDRESS names or this machine belongs to, else Ray on this machine;
            "ray://HOST:PORT": another one, through its client port.

    Raises:
        DiscoverError: no Ray here, no cluster there or at RAY_ADDRESS, or another version of Ray, Python or this
            package on a node.
    """
    address = where if where.startswith(REMOTE) else None
    if where != LOCAL and address is None:
        raise DiscoverError(f"invalid place {where!r} to run on; write ray, or ray://HOST:PORT")
    try:
        import ray
    except ImportError as error:
        raise DiscoverError(f"running on Ray needs ray ({error}): pip install 'discover-lib[ray]'") from None
    joined = ray.is_initialized()
    if not joined:
        _check_answers(address or os.environ.get("RAY_ADDRESS", ""))
    try:
        if not joined:
            with warnings.catch_warnings(action="ignore"):  # the error has the same text
                ray.init(address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise DiscoverError(f"no Ray cluster to run on at {where}: {lines[0]}") from None
    try:
        nodes = Cluster(ray)
        nodes.check()
        yield nodes
    finally:
        if not joined:
            ray.shutdown()


def _check_answers(address: str) -> None:
    """Check an address before Ray does, which waits half a minute and more for one that does not answer.

    Raises:
        DiscoverError: there is no answer, or it is no address.
    """
    if address in FOUND_BY_RAY:
        return
    host, _, port = address.removeprefix(REMOTE).rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), PROBE_SECONDS).close()
    except (OSError, OverflowError, ValueError) as error:
        told = f"nobody answers there ({error}); write HOST:PORT in RAY_ADDRESS, or --on ray://HOST:PORT"
        raise DiscoverError(f"no Ray cluster to run on at {address}: {told}") from None


class Cluster(Workers):
    """A Ray cluster."""

    def __init__(self, ray: Any) -> None:
        super().__init__(chunk=CHUNK)
        self._ray = ray
        self._each = ray.remote(max_retries=-1, scheduling_strategy="SPREAD")(_each)
        self._alive = self._look()

    def check(self) -> None:
        """Compare every node's version with the version here.

        Raises:
            DiscoverError: a node has another version, or none.
        """
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        for node, address in self._alive.items():
            there = NodeAffinitySchedulingStrategy(node, soft=False)
            asked = self._ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=there)(_version_there).remote()
            try:
                version = self._ray.get(asked, timeout=CHECK_SECONDS)
            except self._ray.exceptions.RayError as error:
                reason = str(error).strip().splitlines()[-1]
                raise DiscoverError(f"node {address} does not run discover_lib: {reason}") from None
            if version != version_here():
                raise DiscoverError(
                    f"node {address} has discover_lib {version}, here is {version_here()}; install the same on both"
                )

    def begin(self, do: Callable[[Any], Any], units: Sequence[Any]) -> Any:
        return self._each.remote(do, units)

    def finished(self, tasks: Sequence[Any]) -> Sequence[Any]:
        """The finished tasks.

        Raises:
            DiscoverError: no node is left.
        """
        if time.monotonic() - self._looked > LOOK_SECONDS and not self._look():
            raise DiscoverError("no node of the cluster is left; finished work is saved, so resume the run")
        ready, _ = self._ray.wait(list(tasks), timeout=WAIT_SECONDS)
        return ready  # type: ignore[no-any-return]

    def results(self, task: Any) -> Sequence[Any]:
        try:
            return self._ray.get(task)  # type: ignore[no-any-return]
        except self._ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None

    def close(self, tasks: Sequence[Any]) -> None:
        for task in tasks:
            self._ray.cancel(task, force=True)

    def _look(self) -> dict[str, str]:
        """The nodes that can work, id → address; notes how many tasks they hold."""
        self._looked = time.monotonic()
        self.at_once = AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        return {
            node["NodeID"]: node["NodeManagerAddress"]
            for node in self._ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU")
        }


@cache
def version_here() -> str:
    """This package's version and a digest of its source, which decides results more often than the number changes."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.blake2b(digest_size=4)
    for path in sorted(package.rglob("*")):
        if path.suffix in SOURCES:
            digest.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return f"{VERSION} ({digest.hexdigest()})"


def _version_there() -> str:
    return version_here()  # which a worker looks up by name, so that its own copy of the package answers


@contextmanager
def graceful_stop(request_stop: Callable[[], object]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM calls `request_stop`, for a clean end.  The second one raises KeyboardInterrupt.

    A process that a shell starts in the background ignores SIGINT; this block handles it there, too.  The block puts
    the earlier handlers back at its end.
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
