"""A run on a Ray cluster is the run of one process, whatever becomes of the nodes."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.runs.options import RunOptions, RunOptionsError, execute, lay_out
from discover_lib.runs.store import RunStore
from discover_lib.runs.work import cluster

OPTIONS = RunOptions(("draft", "adaptive"), domain="svg_drawing", artifacts=10, trials=2, seed=3)


def held(folder: Path) -> list[Any]:
    with RunStore.read(folder) as store:
        return [list(store.lines()), list(store.digests())]


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Any]:
    """A cluster of a head that does not work and two nodes that do, one processor each."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": 100_000_000})
    made.joined = [made.add_node(num_cpus=1, object_store_memory=100_000_000) for _ in range(2)]
    yield made
    made.shutdown()


@pytest.fixture
def spread(two_nodes: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("RAY_ADDRESS", two_nodes.address)
    with cluster("ray") as nodes:
        yield nodes


@pytest.mark.integration("ray")
@pytest.mark.slow
def test_dying_nodes_change_no_store(two_nodes: Any, spread: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    run, alone, apart = lay_out(OPTIONS), tmp_path_factory.mktemp("alone"), tmp_path_factory.mktemp("apart")
    execute(run, alone)
    killed = 0
    with ThreadPoolExecutor(1) as beside:
        spreading = beside.submit(execute, run, apart, spread=spread)
        while not wait([spreading], timeout=0.2).done:  # nodes are made by the main thread alone
            if killed == 2:  # a cluster that loses more is busy with its dead
                continue
            two_nodes.remove_node(two_nodes.joined.pop(0), allow_graceful=False)
            two_nodes.joined.append(two_nodes.add_node(num_cpus=1, object_store_memory=100_000_000))
            killed += 1
        report = spreading.result()
    assert report.halted is None and report.last.counts.finished == len(run.units)
    assert held(apart) == held(alone)
    assert killed


@pytest.mark.parametrize(
    ("where", "variable", "told"),
    [("slurm", "", "invalid place"), ("10.0.0.1:6379", "", "invalid place")]
    + [(each, "", "nobody answers there") for each in ("ray://", "ray://host", "ray://:1", "ray://127.0.0.1:{port}")]
    + [("ray", each, "nobody answers there") for each in ("head", "head:", "http://head", "127.0.0.1:{port}")],
)
def test_absent_cluster_is_named_at_once(where: str, variable: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False))  # is not asked to connect
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setenv("RAY_ADDRESS", variable.format(port=port))
    with pytest.raises(DiscoverError, match=told), cluster(where.format(port=port)):
        raise AssertionError


def test_without_ray_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(DiscoverError, match=r"pip install 'discover-lib\[ray\]'"), cluster("ray"):
        raise AssertionError


def test_a_model_that_is_waited_for_is_not_spread(tmp_path: Path) -> None:
    run = lay_out(RunOptions(("openai/x",), domain="svg_drawing", artifacts=1))
    with pytest.raises(RunOptionsError, match=r"openai/x does not run there; .*several --api-base"):
        execute(run, tmp_path, spread=object())
