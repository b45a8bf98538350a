"""Evaluations made in the background of this process, and their sensitivity maps, for pages that stay usable."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.app.jobs import IN_FLIGHT, Work, find_runs, folder_name
from discover_lib.core.rules import Rules
from discover_lib.runs.evaluation import evaluate, lay_out_evaluation, write_sensitivity
from discover_lib.runs.options import RunOptions, RunOptionsError, check_access
from discover_lib.runs.store import FILE, RunStore, StoreError

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings


@dataclass
class EvaluationJob(Work):
    """One evaluation, begun or gone on with.

    Attributes:
        assessed: conversations scored so far, of those that this job has to score; None before that part.
    """

    options: RunOptions
    domains: tuple[str, ...]
    settings: ClientSettings | None = None
    budget_dollars: float | None = None
    assessed: tuple[int, int] | None = field(default=None, init=False)

    def work(self) -> None:
        run = lay_out_evaluation(self.options, self.domains)
        if self._stop.is_set():
            return
        if not (self.folder / FILE).exists():
            check_access(run, self.settings)
        self.folder.mkdir(parents=True, exist_ok=True)
        report, ended = evaluate(
            run,
            self.folder,
            # One process: workers forked from a server with many threads could inherit a lock that nobody frees.
            concurrency=IN_FLIGHT if run.models else 1,
            settings=self.settings,
            budget_dollars=self.budget_dollars,
            told=self._told,
            stop=self._stop,
        )
        self.trouble = report.message or ended.message
        if ended.failed and not self.trouble:
            self.trouble = f"{ended.failed} conversations could not be scored in full; go on with the run to try again"

    def _told(self, done: int, total: int) -> None:
        self.assessed = (done, total)


@dataclass
class SensitivityJob(Work):
    """Scores a run again under other rules and writes which conclusions change."""

    def work(self) -> None:
        write_sensitivity(self.folder)


def evaluation_name(options: RunOptions, domains: Sequence[str]) -> str:
    """A readable folder name, the same for the same options, so that asking for the same again resumes it."""
    return folder_name(dataclasses.replace(options, domain="+".join(domains)))


def find_evaluations(folder: Path) -> dict[str, Path]:
    """Evaluations below a folder, newest first: name → folder."""
    return {name: path for name, path in find_runs(folder).items() if _kind(path) == "evaluate"}


def _kind(folder: Path) -> str | None:
    try:
        with RunStore.read(folder) as store:
            return store.configuration.get("kind")
    except StoreError:
        return None


def begun_evaluation(configuration: Mapping[str, Any]) -> tuple[RunOptions, tuple[str, ...]]:
    """The options and domains that an evaluation on generated artifacts was begun with, to go on with it.

    Raises:
        RunOptionsError: it cannot be told from its configuration; the command that began it resumes it.
    """
    if configuration.get("kind") != "evaluate" or not configuration.get("domain"):
        raise RunOptionsError("this run was begun by a command with files of its own; the same command resumes it")
    domains = tuple(configuration["domain"].split(", "))
    who, artifacts = configuration["engine"], configuration["artifacts"]
    return (
        RunOptions(
            tuple(configuration["assistants"]),
            split="train" if all("-train-" in artifact_id for artifact_id in artifacts) else "eval",
            judge=who["judge"],
            voice=who["voice"],
            artifacts=len(artifacts) // len(domains),
            trials=configuration["trials"],
            turns=configuration["turns"],
            rules=Rules.from_dict(configuration["rules"]),
            seed=configuration["seed"],
        ),
        domains,
    )
