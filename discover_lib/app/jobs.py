"""Runs made in the background of this process, for pages that must stay usable while they grow.

A page starts one and looks at its store while it is written.  Jobs are known by their folder, so a page that was
loaded again, or another one, finds the job and can stop it.  Stopped or killed, a run keeps what is finished.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discover_lib.core.intents import TreeError
from discover_lib.core.roles import RoleError
from discover_lib.core.rules import Rules
from discover_lib.engines.miniature.lexicon import LexiconError
from discover_lib.runs.files import ArtifactFileError
from discover_lib.runs.options import RunOptions, RunOptionsError, check_access, execute, lay_out
from discover_lib.runs.runner import Report, RunError
from discover_lib.runs.store import FILE, StoreError

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings

REFUSALS = (RunOptionsError, ArtifactFileError, TreeError, LexiconError, StoreError, RunError, RoleError, OSError)
IN_FLIGHT = 8  # conversations with language models at a time, from a page

_jobs: dict[tuple[type[Work], Path], Work] = {}
_lock = threading.Lock()


@dataclass
class Work:
    """Something long, done in a thread of its own; subclasses say what in `work`.

    Attributes:
        folder: what it is known by, and where its results are.
        trouble: one line on what went wrong, or "".
    """

    folder: Path
    trouble: str = field(default="", init=False)
    _stop: threading.Event = field(default_factory=threading.Event, init=False, repr=False)
    _thread: threading.Thread | None = field(default=None, init=False, repr=False)

    def work(self) -> None:
        raise NotImplementedError

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name=f"run {self.folder.name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Begin nothing new; the conversation in hand is finished or given up, and what is finished stays."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        try:
            self.work()
        except REFUSALS as error:
            self.trouble = " ".join(str(error).split())
        except Exception as error:  # nobody else would ever hear of it
            self.trouble = f"the run broke: {type(error).__name__}: {error}"


@dataclass
class Job(Work):
    """One run.

    Attributes:
        report: how it ended; None while it goes on, or if it could not be run.
    """

    options: RunOptions
    settings: ClientSettings | None = None
    budget_dollars: float | None = None
    report: Report | None = field(default=None, init=False)

    def work(self) -> None:
        run = lay_out(self.options)
        if self._stop.is_set():
            return
        if not (self.folder / FILE).exists():
            check_access(run, self.settings)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.report = execute(
            run,
            self.folder,
            # One process: workers forked from a server with many threads could inherit a lock that nobody frees.
            concurrency=IN_FLIGHT if run.models else 1,
            settings=self.settings,
            budget_dollars=self.budget_dollars,
            stop=self._stop,
        )
        self.trouble = self.report.message


W = TypeVar("W", bound=Work)


def started(work: W) -> W:
    """Start some work, or return what is at the same already."""
    with _lock:
        going = _jobs.get((type(work), work.folder))
        if isinstance(going, type(work)) and going.running:
            return going
        _jobs[type(work), work.folder] = work
        work.start()
        return work


def last_of(kind: type[W], folder: Path) -> W | None:
    """The last work of a kind that this process began in a folder."""
    found = _jobs.get((kind, folder))
    return found if isinstance(found, kind) else None


def start_job(
    options: RunOptions,
    folder: Path,
    settings: ClientSettings | None = None,
    budget_dollars: float | None = None,
) -> Job:
    """Run `options` into a folder, or go on where that run was left; the job that is at it already, if there is one."""
    return started(Job(folder, options, settings, budget_dollars))


def job_of(folder: Path) -> Job | None:
    """The last job of this process in a folder."""
    return last_of(Job, folder)


def folder_name(options: RunOptions) -> str:
    """A readable folder name, the same for the same options, so that asking for the same run again resumes it.

    Another version of the miniature makes other users, which is another run: then the name is another one, too.
    """
    decided = hashlib.blake2b(f"{_version()} {options!r}".encode(), digest_size=4).hexdigest()
    who = "+".join(name.replace("/", "-").replace(":", "-") for name in options.assistants)
    where = options.domain or (options.trees.name if options.trees else "run")
    return f"{where}-{who}"[:60].rstrip("+-") + f"-{options.artifacts}x{options.turns}-{decided}"


@cache
def _version() -> str:
    """A hash of all that decides which users the miniature makes and how a run is described."""
    package = Path(__file__).parents[1]
    read = hashlib.blake2b(digest_size=8)
    for path in [
        package / "__init__.py",
        package / "runs" / "options.py",
        *sorted((package / "engines" / "miniature").rglob("*")),
    ]:
        if path.suffix in (".py", ".yaml"):
            read.update(path.read_bytes())
    return read.hexdigest()


def find_runs(folder: Path) -> dict[str, Path]:
    """Runs below a folder, newest first: name → folder.  Hidden folders hold calls of other work, no runs."""
    files = [*folder.glob(f"*/{FILE}"), *folder.glob(f"*/*/{FILE}")]
    files = [file for file in files if not file.parent.name.startswith(".")]
    files.sort(key=lambda file: file.stat().st_mtime, reverse=True)
    return {str(file.parent.relative_to(folder)): file.parent for file in files}


def options_of(configuration: Mapping[str, Any]) -> RunOptions:
    """The options that a run of the miniature's own artifacts was begun with, to go on with it.

    Raises:
        RunOptionsError: it cannot be told from its configuration; the command that began it resumes it.
    """
    names = ("domain", "trials", "turns", "candidates", "seed", "look_ahead", "reward_assistant")
    told = {name: configuration.get(name) for name in names}
    who = configuration.get("engine", {})
    if told["domain"] is None or configuration.get("kind") != "synthesize":
        raise RunOptionsError("this run was begun by a command with files of its own; the same command resumes it")
    of_train = all("-train-" in artifact_id for artifact_id in configuration["artifacts"])
    return RunOptions(
        tuple(configuration["assistants"]),
        split="train" if of_train else "eval",
        judge=who["judge"],
        voice=who["voice"],
        artifacts=len(configuration["artifacts"]),
        rules=Rules.from_dict(configuration["rules"]),
        **{name: value for name, value in told.items() if value is not None},
    )
