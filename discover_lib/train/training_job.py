"""Training runs as folders: any process can watch, stop and resume them.

A run is a process in a separate session.  It outlives the page, the notebook server and the terminal that started it.
Its folder holds its whole state:

```
settings.json   model, data and recipe; they decide the result
access.json     endpoints and cost limits of GRPO's models; they do not change the result
status.json     state, process, steps, and every start and resumption
metrics.jsonl   one line per logged step          samples.jsonl   replies at intervals
log.txt         output of the process             STOP            request for a clean stop with a checkpoint
checkpoints/    the last two, to resume from      steps/          adapters of all checkpoints, if they are small
adapter/, lineage.json, result.json               the trained adapter, its origin, and the result
```

This module does not import torch, so a page can list and draw runs without a trainer.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import getpid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import graceful_stop, read_json, write_json
from discover_lib.dataset.formats import parse
from discover_lib.train import Progress
from discover_lib.train.run_files import (
    METRICS,
    RESULT,
    SAMPLES,
    SETTINGS,
    STOP,
    MetricLines,
    differences,
    in_the_way,
    read_lines,
)

if TYPE_CHECKING:
    from discover_lib.train.access import Access
    from discover_lib.train.run_stage import StageSettings

STATUS, LOG, LOCK = "status.json", "log.txt", "job.lock"
REFUSED = "refused"

State = Literal["starting", "running", "stopping", "stopped", "finished", "failed"]
GOING: tuple[State, ...] = ("starting", "running", "stopping")
SAME_START_SECONDS = 2.0  # tolerance for changed clocks; a process number is hardly reused within this time
LOCK_SECONDS = 10.0  # longest wait of a start for another start in the same folder
TAIL = 1 << 16  # bytes at the end of the metrics that contain the last step

Work = Callable[[Path, Progress], Any]  # trains in a folder; `stopped` of its result marks an early end


@dataclass(frozen=True)
class Attempt:
    """One period of work on a run, from a start or a resumption to its end.

    Attributes:
        started, ended: Unix seconds; `ended` is None while it runs, and after a kill.
        from_step: the checkpoint of its start; 0 for a new run.
        end: its final state; "" while it runs, and after a kill.
    """

    started: float
    from_step: int = 0
    ended: float | None = None
    end: str = ""


@dataclass(frozen=True)
class JobStatus:
    """The state of a run.

    Attributes:
        pid, process_started: the process and the Unix seconds of its start.  The start tells it from a later process
            with the same number.
        updated: Unix seconds of the last sign of life.
        total_steps: None until it is known.
        message: its last line; of a failed run, the error.
        halt: why a run stopped without a request: "budget", "auth" or "connection".  "refused" marks a failed run that
            never began to train.
    """

    state: State
    pid: int = 0
    process_started: float = 0.0
    started: float = 0.0
    updated: float = 0.0
    step: int = 0
    total_steps: int | None = None
    message: str = ""
    attempts: tuple[Attempt, ...] = ()
    halt: str = ""

    @property
    def going(self) -> bool:
        return self.state in GOING

    @property
    def resumable(self) -> bool:
        """Whether it can be resumed.  The reason of a failure may have been repaired."""
        return self.state in ("stopped", "failed")


@dataclass(frozen=True)
class TrainingJob:
    """A run, identified by its folder alone, so that any process can open it at any time."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    def settings(self) -> dict[str, Any]:
        """The settings of the run.

        Raises:
            DiscoverError: there is no run here, or its settings are damaged.
        """
        return read_json(self.folder / SETTINGS)

    def status(self) -> JobStatus:
        """The present state: the status file, corrected if the process is gone.

        Raises:
            DiscoverError: there is no run here, or its status is damaged.
        """
        written, path = _stored_status(self.folder), self.folder / METRICS
        seen: dict[str, Any] = {}
        if path.exists():
            about = path.stat()
            lines = read_lines(path, max(0, about.st_size - TAIL)).lines
            last: Mapping[str, Any] = next((line for line in reversed(lines) if "step" in line), {})
            seen = {name: last[name] for name in ("step", "total_steps") if name in last}
            seen["updated"] = max(written.updated, about.st_mtime)
        if written.going and not is_alive(written.pid, written.process_started):
            seen |= _vanished(written, self.folder)
        elif written.going and (self.folder / STOP).exists():
            seen["state"] = "stopping"
        return replace(written, **seen)

    def stop(self) -> None:
        """Request a clean stop after the current step, with a checkpoint.  Only a running run is affected."""
        if self.status().going:
            (self.folder / STOP).touch()

    def resume(self) -> TrainingJob:
        """Resume from the last checkpoint with the settings of the run, in a new process.

        Raises:
            DiscoverError: it is running, or finished.
        """
        return launch(self.settings(), self.folder)

    def metrics(self, since: int = 0) -> MetricLines:
        """Logged lines from a position in bytes: 0 for all, or the position of the last reading."""
        return read_lines(self.folder / METRICS, since)

    def samples(self, since: int = 0) -> MetricLines:
        """Sample replies, read like `metrics`."""
        return read_lines(self.folder / SAMPLES, since)

    def result(self) -> dict[str, Any]:
        """The result of a finished run.

        Raises:
            DiscoverError: it is not finished.
        """
        return read_json(self.folder / RESULT)

    def rows(self) -> int | None:
        """Number of training rows of a finished run; None before its end."""
        return self.result()["rows"] if (self.folder / RESULT).exists() else None

    def wait(self, seconds: float, every: float = 0.2) -> JobStatus:
        """Wait until the run ends, at most `seconds`; returns the state then."""
        deadline = time.monotonic() + seconds
        while (now := self.status()).going and time.monotonic() < deadline:
            time.sleep(every)
        return now


# -- starting ----------------------------------------------------------------------------------------------------------


def start(settings: StageSettings, folder: Path, access: Access | None = None) -> TrainingJob:
    """Start a run in a new process, or resume a stopped or killed one.

    Args:
        access: access to language models from now on; None keeps the stored access.

    Raises:
        DiscoverError: another process trains in the folder, or its run is finished or has other settings.
    """
    return launch(settings.to_dict(), folder, access=access)


def is_finished(settings: StageSettings, folder: Path) -> bool:
    """Whether a folder contains the finished training of these settings.

    Raises:
        DiscoverError: its files are damaged.
    """
    job = TrainingJob(folder)
    if not (folder / STATUS).exists() or job.status().state != "finished":
        return False
    return not differences(job.settings(), json.loads(json.dumps(settings.to_dict())))


def launch(
    settings: Mapping[str, Any], folder: Path, command: Sequence[str] = (), access: Access | None = None
) -> TrainingJob:
    """`start` with plain settings.  The command calls `work_on(folder, ...)`; the default is `discover_lib.train`."""
    command = command or (sys.executable, "-m", "discover_lib.train", str(folder))
    job = TrainingJob(folder)
    with _deciding(folder):
        before = _admit(settings, folder, access)
        with (folder / LOG).open("ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, close_fds=True
            )
        _begin(job, before, process.pid)
    _children.append(process)
    return job


def run_here(settings: StageSettings, folder: Path, on_progress: Progress, access: Access | None = None) -> JobStatus:
    """Train in this process.  Ctrl-C stops cleanly; a second Ctrl-C stops at once.

    A refused training leaves no new folder.

    Raises:
        DiscoverError: see `start`.
    """
    new = not folder.exists()
    with _deciding(folder):
        _begin(TrainingJob(folder), _admit(settings.to_dict(), folder, access), getpid())

    def both(line: str) -> None:
        with (folder / LOG).open("a", encoding="utf-8") as log:
            log.write(line + "\n")
        on_progress(line)

    status = work_on(folder, both)
    if new and status.halt == REFUSED:
        shutil.rmtree(folder)
    return status


def train_stage(folder: Path, on_progress: Progress) -> Any:
    """Run the stage of a folder's settings."""
    from discover_lib.train.run_stage import StageSettings, run_stage

    return run_stage(StageSettings.from_dict(TrainingJob(folder).settings()), folder, on_progress=on_progress)


def work_on(folder: Path, on_progress: Progress, work: Work = train_stage) -> JobStatus:
    """The part in the training process: train, and record the progress and the end."""
    job = TrainingJob(folder)

    def tell(line: str) -> None:
        on_progress(line)
        _write(job, replace(_stored_status(folder), message=line))

    with _deciding(folder):  # by now the starting process has recorded this one
        _write(job, replace(_stored_status(folder), state="running"))
    try:
        with graceful_stop((folder / STOP).touch):
            result = work(folder, tell)
        state = "stopped" if getattr(result, "stopped", False) else "finished"
        return _end(job, state=state, halt=getattr(result, "halt", ""))
    except KeyboardInterrupt:
        return _end(job, state="stopped", message="interrupted before a checkpoint could be saved")
    except Exception as error:  # every error must be in the folder
        with (folder / LOG).open("a", encoding="utf-8") as log:
            log.write(traceback.format_exc())
        lines = (" ".join(line.split()) for line in str(error).splitlines())
        message = "; ".join(filter(None, lines)) or type(error).__name__
        untouched = not (folder / METRICS).exists() and last_checkpoint(folder) is None
        refused = untouched and isinstance(error, DiscoverError)
        return _end(job, state="failed", message=message, halt=REFUSED if refused else "")


def _admit(wanted: Mapping[str, Any], folder: Path, access: Access | None = None) -> JobStatus | None:
    """The earlier state of the run, or None for a new one.  Afterwards the folder has settings and no STOP."""
    before = TrainingJob(folder).status() if (folder / STATUS).exists() else None
    if before is not None and before.going:
        raise DiscoverError(f"{folder}: a process (number {before.pid}) is training here; stop it or wait for it")
    if line := in_the_way(folder, wanted):
        raise DiscoverError(line)
    if not (folder / SETTINGS).exists():
        if any(not each.name.startswith(LOCK) for each in folder.iterdir()):
            raise DiscoverError(f"{folder} holds other files; take a new or empty folder")
        write_json(folder / SETTINGS, wanted)
    if access is not None:
        access.write(folder)
    (folder / STOP).unlink(missing_ok=True)
    return before


def _begin(job: TrainingJob, before: JobStatus | None, pid: int) -> None:
    now = time.time()
    status = before or JobStatus("starting", started=now)
    attempts = (*status.attempts, Attempt(now, last_checkpoint(job.folder) or 0))
    began = process_start(pid) or now
    _write(job, replace(status, state="starting", pid=pid, process_started=began, message="starting",
                        halt="", attempts=attempts))  # fmt: skip


def _end(job: TrainingJob, **ended: Any) -> JobStatus:
    status = job.status()
    last = replace(status.attempts[-1], ended=time.time(), end=ended["state"])
    _write(job, replace(status, attempts=(*status.attempts[:-1], last), **ended))
    (job.folder / STOP).unlink(missing_ok=True)
    return job.status()


def _write(job: TrainingJob, status: JobStatus) -> None:
    write_json(job.folder / STATUS, asdict(replace(status, updated=time.time())))


def _vanished(written: JobStatus, folder: Path) -> dict[str, Any]:
    """Corrections to the status of a run whose process has vanished."""
    if written.state == "starting":
        return {"state": "failed", "message": f"the process ended before it began; see {folder / LOG}"}
    saved = last_checkpoint(folder)
    on = f"it can resume from step {saved}" if saved else "no checkpoint was saved yet; it can begin again"
    return {"state": "stopped", "message": f"killed: the process is gone; {on}"}


@contextlib.contextmanager
def _deciding(folder: Path) -> Iterator[None]:
    """A lock on decisions about a folder; the system frees it when its process ends.

    Raises:
        DiscoverError: the folder is not writable, or another decision takes too long.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = sqlite3.connect(folder / LOCK, timeout=LOCK_SECONDS, isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
    except (OSError, sqlite3.OperationalError) as error:
        raise DiscoverError(f"{folder}: cannot be written to ({error}); try again, or choose another folder") from None
    with contextlib.closing(lock):
        yield


_children: list[subprocess.Popen[bytes]] = []  # polled, so that ended ones do not remain as zombies


# -- reading -----------------------------------------------------------------------------------------------------------


def find_jobs(folder: Path) -> dict[str, TrainingJob]:
    """Name → run, newest first, at most two levels below a folder."""
    files = [file for pattern in (f"*/{STATUS}", f"*/*/{STATUS}") for file in folder.glob(pattern)]
    files = [file for file in files if (file.parent / SETTINGS).is_file()]
    files.sort(key=lambda file: (file.parent / SETTINGS).stat().st_mtime_ns, reverse=True)
    return {str(file.parent.relative_to(folder)): TrainingJob(file.parent) for file in files}


def last_checkpoint(folder: Path) -> int | None:
    """The step of the newest checkpoint of a run, or None."""
    matches = (re.fullmatch(r"checkpoint-(\d+)", each.name) for each in (folder / "checkpoints").glob("checkpoint-*"))
    return max((int(match[1]) for match in matches if match), default=None)


def is_alive(pid: int, started: float) -> bool:
    """Whether the process with this number and start time still runs."""
    for child in _children[:]:
        if child.poll() is not None:
            _children.remove(child)
    now = process_start(pid)
    return now is not None and abs(now - started) < SAME_START_SECONDS


def process_start(pid: int) -> float | None:
    """The start of a process in Unix seconds; None if it has ended."""
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
    except psutil.Error:
        return None


def standing_lines(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The lines that count.  A run that resumed from an earlier checkpoint supersedes later lines."""
    kept: list[Mapping[str, Any]] = []
    for line in lines:
        if (step := line.get("step")) is not None:
            if kept and kept[-1]["step"] > step:
                kept = [each for each in kept if each["step"] < step]
            kept.append(line)
    return kept


def _stored_status(folder: Path) -> JobStatus:
    """The status file."""
    if not (folder / STATUS).exists():
        raise DiscoverError(f"{folder}: no training run here")
    return parse(JobStatus, read_json(folder / STATUS), f"{folder / STATUS}: damaged")
