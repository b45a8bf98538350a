"""Training runs as folders: any process can watch, stop and resume them.

A run is a process of its own in a session of its own: it outlives the page, the notebook server and the terminal that
began it.  All that is known of it lies in its folder:

```
settings.json   what is trained, from what, how; decides everything
access.json     how GRPO's models are reached and what they may cost; decides nothing
status.json     state, process, steps, and every time that the run was begun or gone on with
metrics.jsonl   one line per logged step          samples.jsonl   replies at intervals
log.txt         what the process wrote            STOP            asks for a clean end, a checkpoint first
checkpoints/    to go on from                     adapter/, lineage.json, result.json   what came out
```

Nothing here imports torch: a page can list and draw runs where no trainer is installed.
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

import msgspec

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import graceful_stop, read_json, write_json
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
SAME_START_SECONDS = 2.0  # clocks may be set; a process number is hardly used again within this time
LOCK_SECONDS = 10.0  # longest time that a start waits for another one in the same folder to be decided
TAIL = 1 << 16  # bytes at the end of the metrics in which the last step stands

Work = Callable[[Path, Progress], Any]  # trains in a folder; what it returns says by `stopped` whether it ended early


@dataclass(frozen=True)
class Attempt:
    """One stretch of work on a run: from a start, or a resumption, to its end.

    Attributes:
        started, ended: Unix seconds; `ended` is None while it goes on, or if the process vanished.
        from_step: the checkpoint that it went on from; 0 from the beginning.
        end: the state that it ended in; "" while it goes on, or if the process vanished.
    """

    started: float
    from_step: int = 0
    ended: float | None = None
    end: str = ""


@dataclass(frozen=True)
class JobStatus:
    """Where a run stands.

    Attributes:
        pid, process_started: the process at work and when it began (Unix seconds), so that another process that was
            given the same number later is not taken for it.
        updated: Unix seconds of the last sign of life.
        total_steps: None until it is known.
        message: the last thing it said; of a failed run, what went wrong.
        halt: what held a stopped run up: "budget", "auth", "connection"; "" for whoever stopped it.  Of a failed run
            "refused" where what was asked for cannot be trained, and nothing was.
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
        """Whether going on with it makes sense; a failed run may have failed for a reason that is mended now."""
        return self.state in ("stopped", "failed")


@dataclass(frozen=True)
class TrainingJob:
    """A run by its folder.  Holds nothing else: any process can make one at any time."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    def settings(self) -> dict[str, Any]:
        """What is trained, as the run was begun with it.

        Raises:
            DiscoverError: there is no run here, or its settings are damaged.
        """
        return read_json(self.folder / SETTINGS)

    def status(self) -> JobStatus:
        """Where the run stands now, by what its process wrote and by whether that process is alive.

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
        """Ask for a clean end: the step in hand is finished and a checkpoint saved.  Nothing happens to a run that
        is not going.
        """
        if self.status().going:
            (self.folder / STOP).touch()

    def resume(self) -> TrainingJob:
        """Go on from the last checkpoint with the settings that the run was begun with, in a process of its own.

        Raises:
            DiscoverError: it is going, or finished.
        """
        return launch(self.settings(), self.folder)

    def metrics(self, since: int = 0) -> MetricLines:
        """Logged lines from a position in bytes on: 0 for all, or the position of the last reading."""
        return read_lines(self.folder / METRICS, since)

    def samples(self, since: int = 0) -> MetricLines:
        """Replies written at intervals, read like `metrics`."""
        return read_lines(self.folder / SAMPLES, since)

    def result(self) -> dict[str, Any]:
        """What came out of a finished run.

        Raises:
            DiscoverError: it has not come to its end.
        """
        return read_json(self.folder / RESULT)

    def rows(self) -> int | None:
        """How many rows a finished run was trained on."""
        return self.result()["rows"] if (self.folder / RESULT).exists() else None

    def wait(self, seconds: float, every: float = 0.2) -> JobStatus:
        """Wait until the run is at an end, at most so long; where it stands then."""
        deadline = time.monotonic() + seconds
        while (now := self.status()).going and time.monotonic() < deadline:
            time.sleep(every)
        return now


# -- beginning ---------------------------------------------------------------------------------------------------------


def start(settings: StageSettings, folder: Path, access: Access | None = None) -> TrainingJob:
    """Begin a run in a process of its own, or go on with one that was stopped or killed.

    Args:
        access: how language models are reached from now on; None: as before.

    Raises:
        DiscoverError: another process is at work in the folder, the run there is finished, or it has other settings.
    """
    return launch(settings.to_dict(), folder, access=access)


def is_finished(settings: StageSettings, folder: Path) -> bool:
    """Whether a folder holds the finished training of these settings.

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
    """`start` with the settings as plain values, and the command that does the work by `work_on(folder, ...)`; ours if
    none is given.
    """
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
    """Do the work in this process and wait for it; Ctrl-C ends it cleanly, a second one at once.

    Of a training that is refused no new folder stays behind.

    Raises:
        DiscoverError: as `start`.
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


class StoppedEarlyError(Exception):
    """The run was asked to stop before training began."""


def train_stage(folder: Path, on_progress: Progress) -> Any:
    """Run the stage that a folder's settings describe; the tiny base model is made first if that is what is missing."""
    from discover_lib.train.run_stage import StageSettings, run_stage

    settings = StageSettings.from_dict(TrainingJob(folder).settings())
    base = Path(settings.base)
    if base.is_absolute() and not base.exists():
        from discover_lib.engines.local.tiny_model import Pretraining, base_folder, ensure_base

        def tell(now: Pretraining) -> None:
            on_progress(f"making the tiny base model; {now}")
            if (folder / STOP).exists():
                raise StoppedEarlyError("stopped while the tiny base model was being made; it goes on from there")

        if base == base_folder():
            ensure_base(on_progress=tell)
    return run_stage(settings, folder, on_progress=on_progress)


def work_on(folder: Path, on_progress: Progress, work: Work = train_stage) -> JobStatus:
    """The part that runs in the process at work: train, and write down how it stands and how it ended."""
    job = TrainingJob(folder)

    def tell(line: str) -> None:
        on_progress(line)
        _write(job, replace(_stored_status(folder), message=line))

    with _deciding(folder):  # the process that began this is written down by now
        _write(job, replace(_stored_status(folder), state="running"))
    try:
        with graceful_stop((folder / STOP).touch):
            result = work(folder, tell)
        state = "stopped" if getattr(result, "stopped", False) else "finished"
        return _end(job, state=state, halt=getattr(result, "halt", ""))
    except StoppedEarlyError as error:
        return _end(job, state="stopped", message=str(error))
    except KeyboardInterrupt:
        return _end(job, state="stopped", message="interrupted before a checkpoint could be saved")
    except Exception as error:  # whatever it is, the folder must tell
        with (folder / LOG).open("a", encoding="utf-8") as log:
            log.write(traceback.format_exc())
        lines = (" ".join(line.split()) for line in str(error).splitlines())
        message = "; ".join(filter(None, lines)) or type(error).__name__
        untouched = not (folder / METRICS).exists() and last_checkpoint(folder) is None
        refused = untouched and isinstance(error, DiscoverError)
        return _end(job, state="failed", message=message, halt=REFUSED if refused else "")


def _admit(wanted: Mapping[str, Any], folder: Path, access: Access | None = None) -> JobStatus | None:
    """Where the run stood before, or None for a new one; the folder then holds the settings and no wish to stop."""
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
    """What is known of a run whose process is gone without a word."""
    if written.state == "starting":
        return {"state": "failed", "message": f"the process ended before it began; see {folder / LOG}"}
    saved = last_checkpoint(folder)
    on = f"it can go on from step {saved}" if saved else "no checkpoint was saved yet; it can begin again"
    return {"state": "stopped", "message": f"killed: the process is gone; {on}"}


@contextlib.contextmanager
def _deciding(folder: Path) -> Iterator[None]:
    """One process at a time decides what happens to a folder; the system frees the lock however that process ends.

    Raises:
        DiscoverError: the folder cannot be written to, or a decision takes too long.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = sqlite3.connect(folder / LOCK, timeout=LOCK_SECONDS, isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
    except (OSError, sqlite3.OperationalError) as error:
        raise DiscoverError(f"{folder}: cannot be written to ({error}); try again, or choose another folder") from None
    with contextlib.closing(lock):
        yield


_children: list[subprocess.Popen[bytes]] = []  # asked for their end, so that none stays behind as a zombie


# -- looking -----------------------------------------------------------------------------------------------------------


def find_jobs(folder: Path) -> dict[str, TrainingJob]:
    """Runs below a folder, at most two levels deep, newest first: name → run."""
    files = [file for pattern in (f"*/{STATUS}", f"*/*/{STATUS}") for file in folder.glob(pattern)]
    files = [file for file in files if (file.parent / SETTINGS).is_file()]
    files.sort(key=lambda file: (file.parent / SETTINGS).stat().st_mtime_ns, reverse=True)
    return {str(file.parent.relative_to(folder)): TrainingJob(file.parent) for file in files}


def last_checkpoint(folder: Path) -> int | None:
    """The step of the newest checkpoint of a run, or None."""
    matches = (re.fullmatch(r"checkpoint-(\d+)", each.name) for each in (folder / "checkpoints").glob("checkpoint-*"))
    return max((int(match[1]) for match in matches if match), default=None)


def is_alive(pid: int, started: float) -> bool:
    """Whether the process that had this number at that time still runs."""
    for child in _children[:]:
        if child.poll() is not None:
            _children.remove(child)
    now = process_start(pid)
    return now is not None and abs(now - started) < SAME_START_SECONDS


def process_start(pid: int) -> float | None:
    """When a process began, in Unix seconds; None if it is gone, or only waiting to be forgotten."""
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
    except psutil.Error:
        return None


def standing_lines(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The lines that still count: what was logged after a checkpoint that a run went back to is superseded."""
    kept: list[Mapping[str, Any]] = []
    for line in lines:
        if (step := line.get("step")) is not None:
            if kept and kept[-1]["step"] > step:
                kept = [each for each in kept if each["step"] < step]
            kept.append(line)
    return kept


def _stored_status(folder: Path) -> JobStatus:
    """As its process wrote it last."""
    if not (folder / STATUS).exists():
        raise DiscoverError(f"{folder}: no training run here")
    try:
        return msgspec.convert(read_json(folder / STATUS), JobStatus)
    except msgspec.ValidationError as error:
        raise DiscoverError(f"{folder / STATUS}: damaged ({error})") from None
