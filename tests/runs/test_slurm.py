"""A run as Slurm's jobs is the run of one process; tried with submitit's local jobs, which are processes here."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from discover_lib.runs import slurm as queues
from discover_lib.runs.cluster import ClusterError
from discover_lib.runs.evaluation import assess, lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute
from discover_lib.runs.slurm import slurm
from discover_lib.runs.store import RunStore

OPTIONS = RunOptions(("ask",), artifacts=6, trials=2, turns=2, seed=3)


def template(folder: Path, *lines: str) -> str:
    path = folder / "template.yaml"
    path.write_text("\n".join((f"folder: {folder / 'jobs'}", *lines)))
    return f"slurm:{path}"


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    pytest.importorskip("submitit", reason="pip install 'discover-lib[slurm]'")
    monkeypatch.setattr(queues, "LOOK_SECONDS", 0.05)
    return template(tmp_path, "cluster: local", "units: 5", "timeout_min: 3")


def made(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


@pytest.mark.slow
def test_the_store_is_that_of_one_process_though_a_job_is_lost(local: str, tmp_path: Path) -> None:
    run = lay_out_evaluation(OPTIONS, ["svg_drawing"])
    alone, apart = made(tmp_path, "alone"), made(tmp_path, "apart")
    execute(run, alone)
    assess(run, alone)
    with slurm(local) as queue:
        send, killed = queue._executor.map_array, []

        def send_and_kill(*given: Any) -> Any:
            jobs = send(*given)
            if not killed:
                killed.append(jobs[0])
                os.kill(jobs[0]._process.pid, signal.SIGKILL)
            return jobs

        queue._executor.map_array = send_and_kill
        report = execute(run, apart, spread=queue)
        assess(run, apart, spread=queue)
    assert report.halted is None and report.last.counts.finished == len(run.units) == 12
    with RunStore.read(alone) as ours, RunStore.read(apart) as theirs:
        assert list(ours.lines()) == list(theirs.lines()) and ours.digests() == theirs.digests()
        assert [ours.assessment(place) for place in range(12)] == [theirs.assessment(place) for place in range(12)]
    assert sum(queue.done.values()) == 24 and queue.lost == 1
    assert "1 job lost, whose work others did again" in queue.line


@pytest.mark.slow
def test_a_defect_of_the_work_is_raised_here(local: str) -> None:
    with slurm(local) as queue, pytest.raises(ZeroDivisionError):
        list(queue.map(_divide, [1, 0]))


def _divide(number: int) -> float:
    return 1 / number


def test_another_version_on_a_node_does_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    work = queues._Work(_divide)
    monkeypatch.setattr(queues, "version_here", lambda: "0.0.9 (abc)")
    _, results, error = work([1])
    assert results == [] and "has discover_lib 0.0.9 (abc), there is" in str(error)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("- a",), "cannot be read|not YAML|not a template"),
        (("cluster: local", "units: 0"), "units must be a whole number from 1, got 0"),
        (("cluster: local", "partitoin: cpu"), "no jobs can be sent to local: .*partitoin"),
        (("cluster: moon",), "no jobs can be sent to moon"),
        ((), "no jobs can be sent to slurm: .*srun"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path, lines: Any, told: str) -> None:
    pytest.importorskip("submitit", reason="pip install 'discover-lib[slurm]'")
    with pytest.raises(ClusterError, match=told) as refused, slurm(template(tmp_path, *lines)):
        raise AssertionError
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("where", ["slurm:", "slurm://host", "slurmx"])
def test_a_place_that_is_none_is_named(where: str) -> None:
    with pytest.raises(ClusterError, match=r"write slurm, or slurm:FILE.yaml|cannot be read"), slurm(where):
        raise AssertionError


@pytest.mark.slow
def test_the_command_says_how_to_get_submitit_before_it_makes_a_folder(tmp_path: Path) -> None:
    command = ["simulate", "--domain", "svg_drawing", "--assistant", "draft", "--run", str(tmp_path / "run")]
    program = "import sys; sys.modules['submitit'] = None; from discover_lib.app.cli.main import main; main()"
    program_and_flags = [sys.executable, "-c", program, *command, "--on", "slurm"]
    done = subprocess.run(program_and_flags, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("discover: running on Slurm needs submitit") and done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
