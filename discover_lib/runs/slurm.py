"""Runs as jobs of Slurm through submitit: the units of a job go out and come back on a disk that the nodes share.

As on Ray the store stays at home with its one writer, and it does not matter which node ran a unit, or how often.  What
a job needs (partition, account, minutes) is the cluster's own business and stands in a template.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from discover_lib.base.files import outputs_folder, yaml_of_people
from discover_lib.runs.cluster import ClusterError, Item, Result, Spread, version_here

SLURM = "slurm"
UNITS = 256  # of a job, which waits in a queue: a minute of the miniature
JOBS = 500  # at a time; many clusters allow arrays of a thousand
TRIES = 3  # of a job that is lost
LOOK_SECONDS = 1.0
DEFAULTS = {"timeout_min": 60, "cpus_per_task": 1}


@contextmanager
def slurm(where: str) -> Iterator[Queue]:
    """A queue of jobs, set up by a template.

    Args:
        where: "slurm", or "slurm:FILE.yaml": `units` of a job, `folder` for what goes out and comes back (default: in
            the outputs folder; nodes must see it), `cluster` (slurm; local: processes of this machine, for trying),
            and any parameter of submitit, such as `slurm_partition`, `timeout_min` or `slurm_array_parallelism`.

    Raises:
        ClusterError: no submitit or no Slurm here, or a template that cannot be used.
    """
    name, _, path = where.partition(":")
    if name != SLURM or where.endswith(":"):
        raise ClusterError(f"invalid place {where!r} to run on; write slurm, or slurm:FILE.yaml")
    template = _template(Path(path)) if path else {}
    try:
        import submitit
    except ImportError as error:
        raise ClusterError(f"running on Slurm needs submitit ({error}): pip install 'discover-lib[slurm]'") from None
    units, kind = template.pop("units", UNITS), template.pop("cluster", SLURM)
    folder = Path(template.pop("folder", outputs_folder() / "slurm")) / f"{time.strftime('%Y%m%d-%H%M%S')}-%j"
    if not isinstance(units, int) or units < 1:
        raise ClusterError(f"{path}: units must be a whole number from 1, got {units!r}")
    try:
        executor = submitit.AutoExecutor(folder, cluster=kind)
        executor.update_parameters(**{"name": "discover"} | DEFAULTS | template)
    except (RuntimeError, NameError, ValueError, TypeError, AssertionError, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ClusterError(f"no jobs can be sent to {kind}: {reason}") from None
    yield Queue(executor, units)


def _template(path: Path) -> dict[str, Any]:
    try:
        template = yaml_of_people(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ClusterError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    except Exception as error:  # PyYAML's own, which is not imported here
        raise ClusterError(f"{path}: not YAML ({str(error).splitlines()[0]})") from None
    if not isinstance(template, dict):
        raise ClusterError(f"{path}: not a template; write one NAME: VALUE a line, as slurm_partition: cpu")
    return template


class Queue(Spread):
    """Slurm's jobs, `units` pieces of work each."""

    lost_are = "job"

    def __init__(self, executor: Any, units: int) -> None:
        super().__init__()
        self._executor, self._units = executor, units

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Generator[Result, None, None]:
        from submitit.core.utils import FailedJobError, FailedSubmissionError, UncompletedJobError

        size, units = len(items), self._units
        rest = ([items[place] for place in range(at, min(size, at + units))] for at in range(0, size, units))
        flying: list[tuple[Any, Sequence[Item], int]] = []

        def send(parts: Sequence[Sequence[Item]], tried: int) -> None:
            try:
                jobs = self._executor.map_array(_Work(function), parts)
            except FailedSubmissionError as error:
                raise ClusterError(f"Slurm took no job: {str(error).strip().splitlines()[-1]}") from None
            flying.extend((job, part, tried) for job, part in zip(jobs, parts, strict=True))

        try:
            while True:
                if len(flying) <= JOBS // 2 and (parts := list(islice(rest, JOBS - len(flying)))):
                    send(parts, 1)
                if not flying:
                    return
                ended = [each for each in flying if each[0].done()]
                flying = [each for each in flying if each not in ended]
                for job, part, tried in ended:
                    try:
                        node, results, error = job.result()
                    except FailedJobError as failed:
                        reason = str(failed).strip().splitlines()[-1]
                        raise ClusterError(f"job {job.job_id} does not run discover_lib: {reason}") from None
                    except UncompletedJobError:
                        if tried == TRIES:
                            raise ClusterError(
                                f"job {job.job_id} was lost {TRIES} times (its log: {job.paths.stderr}); what is "
                                "finished is kept, resume the run"
                            ) from None
                        self.lost += 1
                        send([part], tried + 1)
                        continue
                    if error is not None:
                        raise error
                    self.done[node] += len(results)
                    yield from results
                if flying and not ended:
                    time.sleep(LOOK_SECONDS)
        finally:
            for job, *_ in flying:
                job.cancel(check=False)


class _Work:
    """A job: it refuses to run another version of this package, and brings an error home as it is."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function, self._version = function, version_here()

    def __call__(self, items: Sequence[Any]) -> tuple[str, list[Any], Exception | None]:
        node = socket.gethostname()
        if self._version != version_here():
            wrong = f"node {node} has discover_lib {version_here()}, there is {self._version}; install the same on both"
            return node, [], ClusterError(wrong)
        try:
            return node, [self._function(item) for item in items], None
        except Exception as error:
            return node, [], error
