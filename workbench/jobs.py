"""Runs and evaluations made in the background of this process, for pages that must stay usable while they grow.

A page starts one and looks at its store while it is written.  Jobs are known by their folder, so a page that was
loaded again, or another one, finds the job and can stop it.  Stopped or killed, a run keeps what is finished.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, read_json
from discover_lib.base.json_text import to_json
from discover_lib.base.words import counted
from discover_lib.dataset.export import MARK
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import LaidOut, RunOptions, check_models, execute, lay_out
from discover_lib.runs.store import FILE, RunStore, StoreError
from discover_lib.train.training_job import SETTINGS
from workbench.sources import domain_label

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings

IN_FLIGHT = 8  # conversations with language models at a time, from a page
# Conversations of the miniature from which on processes of their own hold them.  To begin these takes a second or two;
# in the server's process the work would hold the interpreter, and the page would hear no press of Stop for as long.
APART_FROM = 40

_jobs: dict[Path, Job] = {}
_lock = threading.Lock()


@dataclass
class Job:
    """One run in a thread of its own, begun or resumed; with `domains` an evaluation, whose conversations are scored.

    Attributes:
        folder: what it is known by, and where its results are.
        domains: the domains of an evaluation; () for a run that is not scored.
        trouble: one line on what went wrong, or "".
    """

    folder: Path
    options: RunOptions
    domains: tuple[str, ...] = ()
    settings: ClientSettings | None = None
    budget_dollars: float | None = None
    trouble: str = field(default="", init=False)
    _stop: threading.Event = field(default_factory=threading.Event, init=False, repr=False)
    _thread: threading.Thread | None = field(default=None, init=False, repr=False)

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
            self._work()
        except (DiscoverError, OSError) as error:
            self.trouble = " ".join(str(error).split())
        except Exception as error:  # nobody else would ever hear of it
            self.trouble = f"the run broke: {type(error).__name__}: {error}"

    def _work(self) -> None:
        run = laid_out(self.options, self.domains)
        if self._stop.is_set():
            return
        if not (self.folder / FILE).exists():
            check_models(run.models, self.settings)
        self.folder.mkdir(parents=True, exist_ok=True)
        processes = 1 if len(run.units) < APART_FROM else max(2, os.cpu_count() or 1)
        report = execute(
            run,
            self.folder,
            concurrency=IN_FLIGHT if run.models else processes,
            settings=self.settings,
            budget_dollars=self.budget_dollars,
            stop=self._stop,
        )
        self.trouble = report.message
        if report.halted is None and report.unscored:
            self.trouble = f"{report.unscored} conversations could not be scored in full; resume the run to try again"


def started(job: Job) -> Job:
    """Start the job, or return the one already running in this folder."""
    with _lock:
        running = _jobs.get(job.folder)
        if running is not None and running.running:
            return running
        _jobs[job.folder] = job
        job.start()
        return job


def last_of(folder: Path) -> Job | None:
    """The last job that this process began in a folder."""
    return _jobs.get(folder)


def laid_out(options: RunOptions, domains: Sequence[str] = ()) -> LaidOut:
    """A run, or with `domains` an evaluation over them; raises as `discover_lib.runs.options.lay_out`."""
    return lay_out_evaluation(options, domains) if domains else lay_out(options)


# -- folders ----------------------------------------------------------------------------------------------------------


def folder_of(options: RunOptions, parent: Path, domains: Sequence[str] = ()) -> Path:
    """The folder below `parent` of this very run: the one that holds it already, else a readable new name for it.

    The name ends in a hash of the run's configuration, which is what a store compares before it resumes: asking for
    the same again comes to the same folder.

    Raises:
        RunOptionsError, ArtifactFileError, TreeError, LexiconError: the run cannot be laid out.
    """
    written = to_json(laid_out(options, domains).configuration)
    assistants = "+".join(name.replace("/", "-").replace(":", "-") for name in options.assistants)
    subject = "+".join(domains) or options.domain or (options.trees.name if options.trees else "run")
    start = f"{subject}-{assistants}"[:60].rstrip("+-") + f"-{options.artifacts}x{options.turns}-"
    return parent / f"{start}{hashlib.blake2b(written.encode(), digest_size=4).hexdigest()}"


def find_runs(folder: Path) -> dict[str, Path]:
    """Runs below a folder, newest first: name → folder.  Hidden folders hold calls of other work, no runs."""
    files = [*folder.glob(f"*/{FILE}"), *folder.glob(f"*/*/{FILE}")]
    files = [file for file in files if not file.parent.name.startswith(".")]
    files.sort(key=lambda file: file.stat().st_mtime, reverse=True)
    return {str(file.parent.relative_to(folder)): file.parent for file in files}


def find_evaluations(folder: Path) -> dict[str, Path]:
    """Evaluations below a folder, newest first: name → folder."""
    return {name: path for name, path in find_runs(folder).items() if configuration_of(path).get("kind") == "evaluate"}


def training_places() -> dict[str, Path]:
    """What can be trained on: syntheses, the newest first, other conversations, exported rows; name → folder."""
    runs = [folder for folder in find_runs(outputs_folder()).values() if not _scored(folder)]
    runs.sort(key=lambda folder: configuration_of(folder).get("kind") != "synthesize")
    marks = sorted(outputs_folder().glob(f"rows/**/{MARK}"), key=lambda file: file.stat().st_mtime, reverse=True)
    return labelled(runs) | {f"rows: {mark.parent.relative_to(outputs_folder())}": mark.parent for mark in marks}


def _scored(folder: Path) -> bool:
    configuration = configuration_of(folder)
    return configuration.get("kind") == "evaluate" or any(
        "-eval-" in name for name in configuration.get("artifacts", ())
    )


def run_label(folder: Path) -> str:
    """A run as people name it, such as "SVG drawing: ask, draft · 20 artifacts · 03 Nov 21:39"."""
    configuration = configuration_of(folder)
    if not configuration:
        return training_label(folder)
    assistants, artifacts = configuration.get("assistants") or (), configuration.get("artifacts") or ()
    who = f"{len(assistants)} assistants" if len(assistants) > 4 else ", ".join(assistants) or "conversations"
    what = domain_label(configuration.get("domain") or "own artifacts")
    size = [counted(len(artifacts), "artifact")] if artifacts else []
    return " · ".join([f"{what}: {who}", *size, _changed(folder / FILE)])


def training_label(folder: Path) -> str:
    """A training run as people name it, such as "SFT of tiny · svg drawing · 03 Nov 21:39"; other folders by name."""
    try:
        settings = read_json(folder / SETTINGS)
    except DiscoverError:
        return folder.name
    data, after = Path(settings.get("data", "")), Path(settings.get("adapter", "")).name.partition("-")[0]
    what = domain_label(configuration_of(data).get("domain") or data.name)
    named = f"{settings['stage'].upper()} of {base_name(settings.get('base', ''))}"
    return " · ".join(filter(None, [named, after and f"after {after.upper()}", what, _changed(folder / SETTINGS)]))


def _changed(file: Path) -> str:
    return f"{datetime.fromtimestamp(file.stat().st_mtime):%d %b %H:%M}"


def base_name(base: str) -> str:
    """A base model's folder or name as people name it."""
    return "tiny" if Path(base).parent.name == "tiny" else Path(base).name


def labelled(folders: Sequence[Path]) -> dict[str, Path]:
    """Runs by their labels, numbered where two would be named alike."""
    named: dict[str, Path] = {}
    seen = Counter[str]()
    for folder in folders:
        label = run_label(folder)
        seen[label] += 1
        named[label if seen[label] == 1 else f"{label} ({seen[label]})"] = folder
    return named


def domains_of(configuration: Mapping[str, Any]) -> tuple[str, ...]:
    """The domains of an evaluation; () for a run that is not scored, or is of trees of one's own."""
    domain = configuration.get("domain")
    return tuple(domain.split(", ")) if domain and configuration.get("kind") == "evaluate" else ()


def own_trees_of(folder: Path) -> Path | None:
    """The folder of the visitor's own trees of an evaluation, which is named for their content; None of others."""
    trees = outputs_folder() / "own-trees" / folder.name.partition("-")[0]
    return trees if trees.is_dir() else None


def configuration_of(folder: Path) -> dict[str, Any]:
    """The configuration that the run in a folder was begun with; empty where none can be read."""
    try:
        with RunStore.read(folder) as store:
            return store.configuration
    except StoreError:
        return {}
