"""Runs on a Ray cluster: units of work are its tasks, the store stays at home and keeps its one writer.

Workers need this package and an address, no shared disk.  A unit's seed is its own and its result is committed when it
arrives, so it does not matter which node ran it, or how often: Ray runs what was lost with a node again.
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from discover_lib.base import VERSION
from discover_lib.base.errors import DiscoverError
from discover_lib.base.words import counted
from discover_lib.runs.work import WAIT_SECONDS

Item = TypeVar("Item")
Result = TypeVar("Result")

LOCAL, REMOTE = "ray", "ray://"
FOUND_BY_RAY = ("", "auto", "local")  # what RAY_ADDRESS may say in place of an address
PROBE_SECONDS = 2.0  # for an address to answer
LOOK_SECONDS = 2.0  # between looks at which nodes are alive
CHECK_SECONDS = 60.0  # for a node to say which version it has
AHEAD = 2  # tasks in flight per processor
TASK_SECONDS = 0.5  # of a task: to hand one out and take its results back costs some 15 ms
SOURCES = (".py", ".yaml", ".json", ".txt", ".jinja", ".safetensors")  # files that decide results, but for prompts
MOST = 64  # units of a task, whose results of 33 kB each travel together


@contextmanager
def cluster(where: str) -> Iterator[Cluster]:
    """A Ray cluster that the same version of this package is on.

    Args:
        where: "ray": the cluster that RAY_ADDRESS names or this machine belongs to, else Ray on this machine;
            "ray://HOST:PORT": another one, through its client port.

    Raises:
        DiscoverError: no Ray here, no cluster there or at RAY_ADDRESS, or another version of Ray, Python or this
            package on a node.
    """
    address = where if where.startswith(REMOTE) else None
    if where != LOCAL and (address is None or not _has_port(address)):
        raise DiscoverError(f"invalid place {where!r} to run on; write ray, or ray://HOST:PORT")
    try:
        import ray
    except ImportError as error:
        raise DiscoverError(f"running on Ray needs ray ({error}): pip install 'discover-lib[ray]'") from None
    joined = ray.is_initialized()
    if not joined:
        _probe(address or _address_here())
    try:
        if not joined:
            with warnings.catch_warnings(action="ignore"):  # the error says the same
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


def _address_here() -> str:
    """The address that RAY_ADDRESS gives; "" where there is none, or Ray is to find the cluster itself.

    Raises:
        DiscoverError: it is no address.
    """
    address = os.environ.get("RAY_ADDRESS", "")
    if address in FOUND_BY_RAY or _has_port(address):
        return "" if address in FOUND_BY_RAY else address
    raise DiscoverError(f"invalid address {address!r} in RAY_ADDRESS; write HOST:PORT, or ray://HOST:PORT, or unset it")


def _has_port(address: str) -> bool:
    host, _, port = address.removeprefix(REMOTE).rpartition(":")
    return bool(host) and port.isdigit()


def _probe(address: str) -> None:
    """Ray itself waits half a minute and more for an address where nobody answers."""
    if not address:
        return
    host, _, port = address.removeprefix(REMOTE).rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), PROBE_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise DiscoverError(f"no Ray cluster to run on at {address}: nobody answers there ({error})") from None


class Cluster:
    """A Ray cluster, to spread work over: `Workers` of `discover_lib.runs.work`.

    Attributes:
        at_once: tasks in flight.
        done: node → pieces of work that it finished.
        lost: nodes that went away with work that others did again.
    """

    def __init__(self, ray: Any) -> None:
        self.done: Counter[str] = Counter()
        self.lost = 0
        self._ray = ray
        self._work = ray.remote(max_retries=-1, scheduling_strategy="SPREAD")(_work)
        self._expected = 0.0  # seconds that a unit takes, by those that came back
        self._look(self._nodes())

    @property
    def shares(self) -> str:
        """What every node did."""
        return ", ".join(f"{node} {count:,}" for node, count in sorted(self.done.items()))

    @property
    def line(self) -> str:
        """What every node did, in words."""
        lost = f"; {counted(self.lost, 'node')} lost, whose work others did again" if self.lost else ""
        return f"conversations by node: {self.shares or 'none'}{lost}"

    def check(self) -> None:
        """Have every node say which version it has.

        Raises:
            DiscoverError: not the one that is here, or none.
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

    def pieces(self, left: int) -> int:
        return pieces_of_a_task(self._expected, left, self.at_once)

    def begin(self, do: Callable[[Any], Any], units: Sequence[Any]) -> Any:
        return self._work.remote(do, units)

    def finished(self, tasks: Sequence[Any]) -> Sequence[Any]:
        """Those of the tasks that are finished.

        Raises:
            DiscoverError: nothing is left to work on.
        """
        if time.monotonic() - self._looked > LOOK_SECONDS:
            alive = self._nodes()
            self.lost += len(self._alive.keys() - alive.keys())
            self._look(alive)
            if not alive:
                raise DiscoverError("no node of the cluster is left; what is finished is kept, resume the run")
        ready, _ = self._ray.wait(list(tasks), timeout=WAIT_SECONDS)
        return ready  # type: ignore[no-any-return]

    def results(self, task: Any) -> Sequence[Any]:
        try:
            node, seconds, results = self._ray.get(task)
        except self._ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        self.done[node] += len(results)
        lately = seconds / len(results)
        self._expected = (self._expected + lately) / 2 if self._expected else lately
        return results  # type: ignore[no-any-return]

    def close(self, tasks: Sequence[Any]) -> None:
        for task in tasks:
            self._ray.cancel(task, force=True)

    def _look(self, alive: dict[str, str]) -> None:
        """Note which nodes there are and how much they hold."""
        self._alive, self._looked = alive, time.monotonic()
        self.at_once = AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def _nodes(self) -> dict[str, str]:
        """The nodes that can work: id → address."""
        return {
            node["NodeID"]: node["NodeManagerAddress"]
            for node in self._ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU")
        }


def pieces_of_a_task(seconds: float, left: int, at_once: int) -> int:
    """How many pieces go out together: what takes `TASK_SECONDS`, and at the end little, so that all end together.

    Args:
        seconds: that a piece is expected to take; 0 where none has come back.
        left: pieces that have not gone out.
        at_once: tasks in flight.
    """
    return max(1, min(MOST, int(TASK_SECONDS / seconds), left // at_once)) if seconds else 1


@cache
def version_here() -> str:
    """This package's version and a digest of its source, which decides results more often than the number changes."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.blake2b(digest_size=4)
    for path in sorted(package.rglob("*")):
        if path.suffix in SOURCES:
            digest.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return f"{VERSION} ({digest.hexdigest()})"


# These two are looked up by name on a worker, so that it runs its own copy of the package.


def _version_there() -> str:
    return version_here()


def _work(function: Callable[[Item], Result], items: Sequence[Item]) -> tuple[str, float, list[Result]]:
    """One chunk, the node that did it, and its seconds."""
    import ray

    began = time.monotonic()
    context = ray.get_runtime_context()
    name = f"{ray.util.get_node_ip_address()}/{context.get_node_id()[:6]}"
    results = [function(item) for item in items]
    return name, time.monotonic() - began, results
