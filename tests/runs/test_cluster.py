"""A run on a Ray cluster is the run of one process, whatever becomes of the nodes."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.runs import cluster as clusters
from discover_lib.runs.cluster import cluster, pieces_of_a_task
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, RunOptionsError, check_spreads, execute, lay_out
from discover_lib.runs.store import RunStore
from discover_lib.runs.work import work

OPTIONS = RunOptions(("draft", "adaptive"), domain="svg_drawing", artifacts=10, trials=2, seed=3)


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    return folder_in(tmp_path, "alone")


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    return folder_in(tmp_path, "apart")


def folder_in(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name


def held(folder: Path) -> list[Any]:
    """All that a run's store says of its conversations, in the order of the plan."""
    with RunStore.read(folder) as store:
        lines = [json.loads(line) for line in store.lines()]
        return [lines, list(store.digests()), [store.assessment(place) for place in range(len(lines))]]


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
def test_the_store_is_that_of_one_process_though_nodes_die(
    two_nodes: Any, spread: Any, alone: Path, apart: Path
) -> None:
    run = lay_out(OPTIONS)
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
    assert sum(spread.done.values()) == len(run.units)  # whose results arrived once each
    assert "conversations by node:" in spread.line
    assert killed


@pytest.mark.integration("ray")
@pytest.mark.slow
def test_a_stopped_run_goes_on_on_the_cluster_and_is_assessed_there(spread: Any, alone: Path, apart: Path) -> None:
    run = lay_out_evaluation(OPTIONS, ["svg_drawing"])
    execute(run, alone)
    execute(lay_out(OPTIONS), apart, concurrency=1, stop=(half := threading.Event()), on_progress=lambda _: half.set())
    stop = threading.Event()
    report = execute(run, apart, spread=spread, stop=stop, on_progress=lambda _: stop.set())
    assert report.halted == "stopped" or report.last.counts.open == 0
    assert execute(run, apart, spread=spread).halted is None
    assert held(apart) == held(alone)


@pytest.mark.integration("ray")
@pytest.mark.slow
def test_another_version_on_a_node_is_refused_before_work_starts(
    two_nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", two_nodes.address)
    monkeypatch.setattr(clusters, "version_here", lambda: "0.0.9 (abc)")
    told = r"node [\d.]+ has discover_lib .*, here is 0\.0\.9 \(abc\); install"
    with pytest.raises(DiscoverError, match=told), cluster("ray"):
        raise AssertionError


@pytest.mark.integration("ray")
@pytest.mark.slow
def test_a_defect_of_the_work_is_raised_here(spread: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        mapped(spread, _divide, [1, 0])


def mapped(spread: Any, do: Any, units: list[Any]) -> list[Any]:
    found: list[Any] = []
    work(units, do, found.append, spread)
    return found


def _divide(number: int) -> float:
    return 1 / number


@pytest.mark.integration("ray")
@pytest.mark.slow
def test_fifty_milliseconds_a_piece_on_two_workers_cost_little_more_than_half(spread: Any) -> None:
    mapped(spread, _sleep, [0.0] * 8)  # the workers have begun
    began = time.monotonic()
    assert sum(mapped(spread, _sleep, [0.05] * 400)) == pytest.approx(20)
    assert time.monotonic() - began < 10 * 1.5  # measured alone: see docs/scale.md; other tests run beside it here


def _sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


@pytest.mark.parametrize(
    ("seconds", "left", "at_once", "pieces"),
    [
        (0.0, 1000, 4, 1),  # nothing has come back: one each
        (0.05, 1000, 4, 10),  # half a second of work
        (0.005, 100_000, 4, 64),  # no more than this, however fast
        (5.0, 1000, 4, 1),  # slow ones one by one: little is lost with a node, and progress is seen
        (0.05, 12, 4, 3),  # at the end every worker gets its share
        (0.05, 3, 4, 1),
        (0.05, 1000, 400, 2),
    ],
)
def test_a_task_takes_half_a_second_and_less_at_the_end(seconds: float, left: int, at_once: int, pieces: int) -> None:
    assert pieces_of_a_task(seconds, left, at_once) == pieces


@pytest.mark.parametrize("where", ["slurm", "ray:", "ray://", "ray://host", "ray://:1", "10.0.0.1:6379"])
def test_a_place_that_is_none_is_named(where: str) -> None:
    with pytest.raises(DiscoverError, match=r"invalid place .* write ray, or ray://HOST:PORT"), cluster(where):
        raise AssertionError


def test_without_ray_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(DiscoverError, match=r"pip install 'discover-lib\[ray\]'"), cluster("ray"):
        raise AssertionError


@pytest.mark.parametrize(
    ("where", "variable"), [("{}", ""), ("{}", "127.0.0.1:1"), ("ray", "{}"), ("ray", "127.0.0.1:{port}")]
)
def test_a_cluster_that_nobody_answers_for_is_named_at_once(
    where: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False))  # is not asked to connect
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    address = f"ray://127.0.0.1:{port}"
    monkeypatch.setenv("RAY_ADDRESS", variable.format(address, port=port))
    told = rf"no Ray cluster to run on at \S*127\.0\.0\.1:{port}: nobody answers there"
    with pytest.raises(DiscoverError, match=told), cluster(where.format(address)):
        raise AssertionError


@pytest.mark.parametrize("variable", ["head", "head:", ":6379", "http://head", "ray://head"])
def test_an_invalid_address_in_the_environment_is_named(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False))
    monkeypatch.setenv("RAY_ADDRESS", variable)
    with pytest.raises(DiscoverError, match=f"invalid address '{variable}' in RAY_ADDRESS"), cluster("ray"):
        raise AssertionError


def test_what_waits_instead_of_computing_is_not_spread() -> None:
    run = lay_out(RunOptions(("openai/x",), domain="svg_drawing", artifacts=1))
    with pytest.raises(RunOptionsError, match=r"openai/x is waited for.*several --api-base"):
        check_spreads(run)


@pytest.mark.slow
def test_the_command_says_so_before_it_makes_a_folder(tmp_path: Path) -> None:
    command = ["simulate", "--domain", "svg_drawing", "--assistant", "draft", "--run", str(tmp_path / "run")]
    program = "import sys; sys.modules['ray'] = None; from workbench.main import main; main()"
    program_and_flags = [sys.executable, "-c", program, *command, "--on", "ray"]
    done = subprocess.run(program_and_flags, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("discover: running on Ray needs ray") and done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
