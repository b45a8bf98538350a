"""Training runs as folders: any process can watch, stop and resume them.

A run is a process in a separate session.  It outlives the page, the notebook server and the terminal that started it.
Its folder holds its whole state:

```
settings.json   model, data and recipe; they decide the result
access.json     endpoints and cost limits of GRPO's models; they do not change the result
status.json     state, process, steps, and the checkpoints from which it resumed
metrics.jsonl   one line per logged step          samples.jsonl   replies at intervals
log.txt         output of the process             STOP            request for a clean stop with a checkpoint
lock            held by the working process
checkpoints/    the last two, to resume from      steps/          adapters of all checkpoints, if they are small
adapter/, lineage.json, result.json               the trained adapter, its origin, and the result
```

This module does not import torch, so a page can list and draw runs without a trainer.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json, write_json, write_text_lines
from discover_lib.dataset.formats import parse
from discover_lib.metrics.intervals import percent
from discover_lib.runs.job_folder import BEGINS_IN, LOCK, LOG, STATUS, is_at_work, start_process, working
from discover_lib.runs.store import first_difference
from discover_lib.runs.work import graceful_stop
from discover_lib.train import Progress

if TYPE_CHECKING:
    from discover_lib.train.access import Access
    from discover_lib.train.run_stage import StageSettings

SETTINGS, METRICS, SAMPLES, STOP, RESULT = "settings.json", "metrics.jsonl", "samples.jsonl", "STOP", "result.json"
ACCESS = "access.json"
REFUSED = "refused"

State = Literal["starting", "running", "stopping", "stopped", "finished", "failed"]
GOING: tuple[State, ...] = ("starting", "running", "stopping")
LOCK_SECONDS = 2.0  # longest wait of a start for another start in the same folder
WINDOW = 5  # logged values that are averaged; no alarm before there are as many

Work = Callable[[Path, Progress], Any]  # trains in a folder; `stopped` of its result marks an early end


@dataclass(frozen=True)
class JobStatus:
    """The state of a run.

    Attributes:
        pid: number of the process.
        updated: Unix seconds of the last sign of life.
        total_steps: None until it is known.
        message: its last line; of a failed run, the error.
        resumed: the steps of the checkpoints from which it resumed.
        halt: why a run stopped without a request: "budget", "auth" or "connection".  "refused" marks a failed run that
            never began to train.
    """

    state: State
    pid: int = 0
    started: float = 0.0
    updated: float = 0.0
    step: int = 0
    total_steps: int | None = None
    message: str = ""
    resumed: tuple[int, ...] = ()
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

    def settings(self) -> dict[str, Any]:
        """The settings of the run.

        Raises:
            DiscoverError: there is no run here, or its settings are damaged.
        """
        return read_json(self.folder / SETTINGS)

    def status(self) -> JobStatus:
        """The present state: the status file, corrected if no process works here.

        Raises:
            DiscoverError: there is no run here, or its status is damaged.
        """
        now, path = _stored_status(self.folder), self.folder / METRICS
        if now.going and not is_at_work(self.folder):
            now = _without_worker(self.folder)
        elif now.going and (self.folder / STOP).exists():
            now = replace(now, state="stopping")
        if path.exists():
            last = latest(self.metrics())
            seen = {name: last[name] for name in ("step", "total_steps") if name in last}
            now = replace(now, updated=max(now.updated, path.stat().st_mtime), **seen)
        return now

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

    def metrics(self) -> list[dict[str, Any]]:
        """The logged lines."""
        return read_lines(self.folder / METRICS)

    def samples(self) -> list[dict[str, Any]]:
        """The sample replies."""
        return read_lines(self.folder / SAMPLES)

    def result(self) -> dict[str, Any]:
        """The result of a finished run.

        Raises:
            DiscoverError: it is not finished.
        """
        return read_json(self.folder / RESULT)

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
    return first_difference(job.settings(), json.loads(json.dumps(settings.to_dict()))) is None


def launch(
    settings: Mapping[str, Any], folder: Path, command: Sequence[str] = (), access: Access | None = None
) -> TrainingJob:
    """`start` with plain settings.  The command calls `work_on(folder, ...)`; the default trains a stage."""
    with working(folder, LOCK_SECONDS):
        before = _admit(settings, folder, access)
        pid = start_process(folder, command or (sys.executable, "-m", "discover_lib.train.run_stage", str(folder)))
        _begin(folder, before, pid)
    return TrainingJob(folder)


def work_on(folder: Path, on_progress: Progress, work: Work) -> JobStatus:
    """The part in the training process: train, and record the progress and the end."""

    def tell(line: str) -> None:
        with (folder / LOG).open("a", encoding="utf-8") as log:
            log.write(line + "\n")
        on_progress(line)
        _write(folder, replace(_stored_status(folder), message=line))

    with working(folder, LOCK_SECONDS):  # by now the starting process has recorded this one
        _write(folder, replace(_stored_status(folder), state="running"))
        try:
            with graceful_stop((folder / STOP).touch):
                result = work(folder, tell)
            return _end(folder, state="stopped" if result.stopped else "finished", halt=result.halt)
        except KeyboardInterrupt:
            return _end(folder, state="stopped", message="interrupted before a checkpoint could be saved")
        except Exception as error:  # every error must be in the folder
            with (folder / LOG).open("a", encoding="utf-8") as log:
                log.write(traceback.format_exc())
            lines = (" ".join(line.split()) for line in str(error).splitlines())
            message = "; ".join(filter(None, lines)) or type(error).__name__
            untouched = not (folder / METRICS).exists() and last_checkpoint(folder) is None
            refused = untouched and isinstance(error, DiscoverError)
            return _end(folder, state="failed", message=message, halt=REFUSED if refused else "")


def begin_here(settings: Mapping[str, Any], folder: Path, access: Access | None) -> None:
    """Make this process the one that trains in a folder; `work_on` follows.  Raises as `start`."""
    with working(folder, LOCK_SECONDS):
        _begin(folder, _admit(settings, folder, access), os.getpid())


def _admit(wanted: Mapping[str, Any], folder: Path, access: Access | None) -> JobStatus | None:
    """The earlier state of the run, or None for a new one.  Afterwards the folder has settings and no STOP.

    The folder is held, so only a process that has not begun yet can be in the way.
    """
    before = _without_worker(folder) if (folder / STATUS).exists() else None
    if before is not None and before.going:
        raise DiscoverError(f"{folder}: a process (number {before.pid}) is starting at work here; wait for it")
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


def _begin(folder: Path, before: JobStatus | None, pid: int) -> None:
    status = before or JobStatus("starting", started=time.time())
    resumed = (*status.resumed, *filter(None, [last_checkpoint(folder)]))
    _write(folder, replace(status, state="starting", pid=pid, message="starting", halt="", resumed=resumed))


def _end(folder: Path, **ended: Any) -> JobStatus:
    _write(folder, replace(TrainingJob(folder).status(), **ended))
    (folder / STOP).unlink(missing_ok=True)
    return TrainingJob(folder).status()


def _write(folder: Path, status: JobStatus) -> None:
    write_json(folder / STATUS, asdict(replace(status, updated=time.time())))


def _stored_status(folder: Path) -> JobStatus:
    """The status file."""
    if not (folder / STATUS).exists():
        raise DiscoverError(f"{folder}: no training run here")
    return parse(JobStatus, read_json(folder / STATUS), f"{folder / STATUS}: damaged")


def _without_worker(folder: Path) -> JobStatus:
    """The status of a run in whose folder no process works: it has ended, has not begun yet, or was killed."""
    written = _stored_status(folder)  # read again: the process may have ended since
    if not written.going or (written.state == "starting" and time.time() - written.updated < BEGINS_IN):
        return written
    if written.state == "starting":
        return replace(written, state="failed", message=f"the process never began; see {folder / LOG}")
    saved = last_checkpoint(folder)
    on = f"it can resume from step {saved}" if saved else "no checkpoint was saved yet; it can begin again"
    return replace(written, state="stopped", message=f"killed: the process is gone; {on}")


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


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file, one a line; [] without a file.

    Other lines are skipped: the last line may be incomplete, and a killed process can leave half a line.
    """
    lines = []
    for line in path.read_bytes().splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            lines.append(json.loads(line))
    return [each for each in lines if isinstance(each, dict)]


def go_back(folder: Path, step: int) -> None:
    """Drop the lines after a checkpoint from a run's logs, and a line that a killed process left unfinished."""
    for path in (folder / METRICS, folder / SAMPLES):
        if path.exists():
            kept = [line for line in read_lines(path) if line.get("step", 0) <= step]
            write_text_lines(path, (json.dumps(line, ensure_ascii=False) for line in kept))


def latest(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The last value of every column over all lines."""
    return {name: value for line in lines for name, value in line.items() if value is not None}


def in_the_way(folder: Path, requested: Mapping[str, Any]) -> str:
    """Why a folder cannot train these settings: it has a finished training or other settings; else "".

    Raises:
        DiscoverError: its settings are damaged.
    """
    if (folder / SETTINGS).exists():
        if different := first_difference(read_json(folder / SETTINGS), json.loads(json.dumps(requested))):
            return f"{folder} contains a run with other settings ({different}); choose another folder"
    if (folder / RESULT).exists():
        return f"{folder}: this training is finished; take another folder to train again"
    return ""


# -- alarms ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Alarm:
    """A sign in the log of GRPO that training goes wrong, with a remedy.

    Attributes:
        column: the logged figure.
        limit: of the mean of the last values; with `relative`, of its ratio to the mean of the first values.
        falling: low values are the sign.
        words: the meaning, with {now} for the value and {share} for its percentage.
    """

    column: str
    limit: float
    words: str
    relative: bool = False
    falling: bool = False

    def line(self, values: Sequence[float]) -> str:
        """The alarm for these values, oldest first; "" within the limit."""
        first = fmean(values[:WINDOW]) if self.relative and values else 1.0
        if len(values) < WINDOW + self.relative or first <= 0:
            return ""
        now = fmean(values[-WINDOW:]) / first
        beyond = now < self.limit if self.falling else now > self.limit
        return self.words.format(now=now, share=percent(now)) if beyond else ""


ALARMS = (
    Alarm("kl", 0.2, "far from the reference (KL {now:.2f} per token): lower learning_rate or raise beta"),
    Alarm(
        "entropy",
        0.3,
        "entropy is {share} of its first value: all replies become alike; lower learning_rate or raise temperature",
        relative=True,
        falling=True,
    ),
    Alarm("completions/mean_length", 1.5, "replies are {now:.1f} times as long as at first: see tau", relative=True),
    Alarm("completions/clipped_ratio", 0.3, "{share} of the replies are cut off: raise max_completion"),
    Alarm(
        "frac_reward_zero_std",
        0.5,
        "in {share} of the groups all rewards are equal and give no signal: raise n_generations or temperature",
    ),
    Alarm("share/repeated", 0.3, "{share} of the replies repeat another reply of their group: raise temperature"),
    Alarm(
        "share/near_misses",
        0.6,
        "{share} of the rewarded state changes come from near misses: the model may be learning to list alternatives "
        "(make the prompts with --near-miss-cap)",
    ),
    Alarm("share/unscored", 0.1, "{share} of the replies could not be judged: see the log"),
)


def alarms(lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Column → alarm, over the logged lines."""
    found = {
        each.column: each.line([line[each.column] for line in lines if line.get(each.column) is not None])
        for each in ALARMS
    }
    return {column: text for column, text in found.items() if text}
