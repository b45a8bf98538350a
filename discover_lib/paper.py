"""The whole paper in miniature, from top to bottom.  Start reading here.

DiscoverLLM trains assistants that help people find out what they want.  Each step names the place to read on and the
paper's section:

```
artifact         something that a person made                     engines/miniature/artifacts.py
→ tree           the intents behind it, from broad to precise     core/intents.py, engines/miniature/builder.py    3.1
→ conversation   a simulated user discovers intents               core/rollout.py, core/advance.py                 3.2
                 that the replies show; each reply has a reward   core/reward.py                                   3.3
→ rows           training data                                    dataset/rows.py                                  4.1
→ adapter        SFT, DPO and GRPO of a small language model      train/run_stage.py                               4.1
→ scores         discovery, satisfaction, interactivity, tokens   runs/evaluation.py, metrics/                     4.2
```

`Paper(folder, PaperOptions.small()).run()` does every step in this order.  Each step has a command of its own that
calls the same functions.  A finished step writes `steps/NAME.json` and is not repeated.  A step that was killed resumes
from its own files.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json, write_json
from discover_lib.base.records import Record
from discover_lib.engines.local.dialect import read_card
from discover_lib.engines.local.names import base_folder
from discover_lib.engines.miniature.assistants import USER_BLIND
from discover_lib.engines.miniature.lexicon import DOMAINS, UNSEEN_DOMAINS
from discover_lib.metrics.results import rounded
from discover_lib.runs.evaluation import broken_replies, evaluated, lay_out_evaluation
from discover_lib.runs.options import LaidOut, RunOptions, execute, lay_out
from discover_lib.runs.store import RunStore
from discover_lib.tasks.certify import Certify, certify, read_certificate
from discover_lib.tasks.playing import Models
from discover_lib.tasks.waist import Run
from discover_lib.train import Progress
from discover_lib.train import training_job as jobs
from discover_lib.train.recipes import Recipe, Stage
from discover_lib.train.run_stage import StageSettings
from discover_lib.train.training_job import TrainingJob

FORMAT = "discover-paper/1"
OPTIONS, RESULTS, TIMES = "options.json", "results.json", "times.json"
TEACHERS = ("draft", "adaptive")  # the paper: a plain small model, and a larger one asked to explore
SCRIPTED = ("draft", "ask", "options", "adaptive")  # `draft` is the base's model; `ask` names no value: no CollabLLM
BASE = "base"
POLL_SECONDS = 0.5


class PaperError(DiscoverError):
    """The paper cannot start or resume; the message is one line that says what to do."""


class PaperStopped(Exception):
    """The run stopped on request; the same call resumes it."""


@dataclass(frozen=True)
class Variant:
    """A trained assistant: its training stage, and the variant from which training starts."""

    label: str
    stage: Stage
    after: str | None = None

    @property
    def folder(self) -> str:
        return self.label.lower()


VARIANTS = (
    Variant("SFT", "sft"),
    Variant("DPO", "dpo"),
    Variant("SFT+DPO", "dpo", after="SFT"),
    Variant("SFT+DPO+GRPO", "grpo", after="SFT+DPO"),
)
WAVES = (("SFT", "DPO"), ("SFT+DPO",), ("SFT+DPO+GRPO",))  # the variants of one wave are trained at the same time


@dataclass(frozen=True)
class PaperOptions(Record, omit=("taste",)):
    """Every option that decides the numbers.

    Attributes:
        train_artifacts: artifacts per domain for the training conversations.
        artifacts, trials: per domain of the evaluation, from the other split.
        unseen_artifacts: generated artifacts per domain that was not trained on; one trial each.
        changes: changed settings of the miniature's training recipe: stage → name → value.
        quick: small sizes, which only show that every step works.
        taste: seed of the value skew for generated artifacts; 0 draws all values evenly.
    """

    seed: int = 0
    domains: tuple[str, ...] = DOMAINS
    unseen: tuple[str, ...] = UNSEEN_DOMAINS
    train_artifacts: int = 200
    artifacts: int = 100
    trials: int = 3
    unseen_artifacts: int = 30
    scripted: tuple[str, ...] = SCRIPTED
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    quick: bool = False
    taste: int = 0

    @classmethod
    def small(cls, seed: int = 0, domains: Sequence[str] = DOMAINS[:1], taste: int = 0) -> PaperOptions:
        """The quick sizes."""
        few: dict[str, dict[str, Any]] = {
            "sft": {"max_steps": 6},
            "dpo": {"max_steps": 4},
            "grpo": {"max_steps": 2, "batch": 16, "per_device": 16, "rounds": 1, "probe_users": 4},
        }
        return cls(seed, tuple(domains), UNSEEN_DOMAINS[:1], 12, 6, 1, 4, changes=few, quick=True, taste=taste)

    def recipe(self) -> Recipe:
        """The training recipe.

        Raises:
            RecipeError: a change names an unknown setting or has an invalid value.
        """
        recipe = Recipe.miniature()
        for stage, changes in self.changes.items():
            recipe = recipe.changed(stage, changes)  # type: ignore[arg-type]
        return recipe


@dataclass
class Paper:
    """One run of the paper in its folder.

    Args:
        on_progress: takes lines for people.
        stop: set it to end the run at the next safe moment.
        processes: number of processes that hold conversations.
        steps: name → work, in order; by default the steps of the paper.
        assistants: name in the runs → label in the tables; by default the base, the trained variants and the scripted
            assistants.
    """

    folder: Path
    options: PaperOptions
    on_progress: Progress = print
    stop: threading.Event = field(default_factory=threading.Event)
    processes: int = 2
    steps: Mapping[str, Callable[[], None]] = field(default_factory=dict)
    assistants: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        trained = {f"hf:{self.folder / variant.folder}": variant.label for variant in VARIANTS}
        scripted = {name: name for name in self.options.scripted}
        self.assistants = self.assistants or {"tiny": BASE, **trained, **scripted}
        self.steps = self.steps or {
            "base": self.take_base,
            "synthesis": self.synthesise,
            **{"train " + "+".join(f"[{each}]" for each in wave): partial(self.train, wave) for wave in WAVES},
            "evaluation": self.evaluate,
            USER_BLIND: self.evaluate_user_blind,
            "generalisation": self.generalise,
            "results": self.collect_results,
        }

    def run(self) -> dict[str, Any]:
        """Do the steps that are not finished yet, and return the results.

        Raises:
            PaperError: the folder holds other files, or a step failed.
            PaperStopped: the run was stopped; the same call resumes it.
        """
        self._open()
        for place, (name, work) in enumerate(self.steps.items(), 1):
            mark, line = self._mark(name), f"[{place}/{len(self.steps)}] {name}"
            if mark.exists():
                self.on_progress(f"{line}: finished before")
                continue
            if self.stop.is_set():
                raise PaperStopped
            self.on_progress(f"{line} …")
            began = time.monotonic()
            work()
            seconds = time.monotonic() - began
            write_json(mark, {"seconds": round(seconds, 1)})
            self.on_progress(f"{line}: {seconds:.0f} s")
        return read_json(self.folder / RESULTS)

    # -- artifact → tree → conversation ----------------------------------------------------------------------------

    def synthesise(self) -> None:
        """Training conversations about artifacts of the training split, each with its final artifact.

        Both teachers reply in every turn, and the conversation continues with the reply that has the higher reward.
        """
        options = RunOptions(
            TEACHERS,
            ", ".join(self.options.domains),
            split="train",
            artifacts=self.options.train_artifacts,
            candidates=1,
            seed=self.options.seed,
            taste=self.options.taste,
        )
        self._execute("synthesis", lay_out(options), score=True)

    def _execute(self, name: str, run: LaidOut, score: bool | None = None) -> None:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        ended = execute(run, folder, score=score, concurrency=self.processes, stop=self.stop)
        if ended.halted == "stopped" or self.stop.is_set():
            raise PaperStopped
        if ended.halted is not None:
            raise PaperError(ended.message)

    # -- rows → adapter --------------------------------------------------------------------------------------------

    def take_base(self) -> None:
        """The base: a tiny language model from the package, which follows requests and has met no user of the paper."""
        base_folder()

    def stage_settings(self, variant: Variant) -> StageSettings:
        """One training stage: rows from the conversations, and an adapter on top of the earlier variant's."""
        earlier = next((each for each in VARIANTS if each.label == variant.after), None)
        return StageSettings(
            variant.stage,
            data=str((self.folder / "synthesis").resolve()),
            base=str(base_folder().resolve()),
            adapter=str((self.folder / earlier.folder).resolve()) if earlier else "",
            recipe=self.options.recipe(),
            seed=self.options.seed,
        )

    def train(self, labels: Sequence[str]) -> None:
        """Some variants at the same time, each in its own process."""
        going: dict[str, TrainingJob] = {}
        for variant in (each for each in VARIANTS if each.label in labels):
            job = TrainingJob(self.folder / variant.folder)
            if not (job.folder / jobs.STATUS).exists():
                job = jobs.start(self.stage_settings(variant), job.folder)
            elif job.status().state not in ("finished", *jobs.GOING):
                job = job.resume()  # with its stored settings, because the recipe may have changed since
            going[variant.label] = job
        try:
            self._wait(going)
        except (PaperStopped, KeyboardInterrupt):
            for job in going.values():
                job.stop()
            for job in going.values():
                job.wait(60)
            raise PaperStopped from None
        for label, job in going.items():
            status = job.status()
            if status.state != "finished":
                raise PaperError(f"training {label} {status.state}: {status.message} (its log: {job.folder})")

    def _wait(self, going: Mapping[str, TrainingJob]) -> None:
        """Wait until no job is going, and report every quarter of each job's steps."""
        quarters: dict[str, int] = {}
        while True:
            states = {label: job.status() for label, job in going.items()}
            for label, status in states.items():
                quarter = status.step * 4 // status.total_steps if status.total_steps else 0
                if quarter > quarters.get(label, 0):
                    quarters[label] = quarter
                    self.on_progress(f"    {label}: step {status.step} of {status.total_steps}")
            if not any(status.going for status in states.values()):
                return
            if self.stop.is_set():
                raise PaperStopped
            time.sleep(POLL_SECONDS)

    # -- scores ----------------------------------------------------------------------------------------------------

    def evaluate(self) -> None:
        """All assistants with the same users, about artifacts that no stage has seen."""
        of = self.options
        self._simulate("evaluation", tuple(self.assistants), of.domains, of.artifacts, of.trials)
        self._certify("evaluation", of.domains, of.artifacts)

    def generalise(self) -> None:
        """All assistants in domains that no stage has seen."""
        of = self.options
        if of.unseen:
            self._simulate("generalisation", tuple(self.assistants), of.unseen, of.unseen_artifacts, trials=1)
            self._certify("generalisation", of.unseen, of.unseen_artifacts)

    def evaluate_user_blind(self) -> None:
        """The users of `evaluate` with an assistant that ignores them.  It is a separate run, so eq. 4 omits it."""
        of = self.options
        self._simulate(USER_BLIND, (USER_BLIND,), of.domains, of.artifacts, of.trials)

    def _simulate(
        self, name: str, assistants: Sequence[str], domains: Sequence[str], artifacts: int, trials: int
    ) -> None:
        """Conversations and their scores."""
        options = RunOptions(
            tuple(assistants),
            artifacts=artifacts,
            trials=trials,
            seed=self.options.seed,
            domain=domains[0],
            taste=self.options.taste,
        )
        self._execute(name, lay_out_evaluation(options, domains))

    def _certify(self, name: str, domains: Sequence[str], artifacts: int) -> None:
        """Validate the users: do they rank the reference assistants in the expected order?"""
        panel = min(artifacts, 30) * len(domains) if not self.options.quick else 10
        asked = Certify(run=Run(self.folder / name), artifacts=panel, seed=self.options.seed)
        certify(asked, Models(concurrency=self.processes))

    def collect_results(self) -> None:
        """Write every number into one file, from which the report is made."""
        results: dict[str, Any] = {
            "format": FORMAT,
            "options": self.options.to_dict(),
            "labels": list(self.assistants.values()),
        }
        for name in ("evaluation", "generalisation"):
            if (self.folder / name).exists():
                results[name] = evaluation_results(self.folder / name, self.assistants)
        if (self.folder / USER_BLIND).exists():
            results[USER_BLIND] = evaluation_results(self.folder / USER_BLIND, {USER_BLIND: USER_BLIND})
        results["base"] = base_results()
        results["training"] = {each.label: training_results(self.folder, each) for each in VARIANTS}
        write_json(self.folder / RESULTS, rounded(results))
        write_json(self.folder / TIMES, self.seconds())

    # -- the folder ------------------------------------------------------------------------------------------------

    def seconds(self) -> dict[str, float]:
        """Seconds that each finished step took, in the attempt that finished it."""
        return {name: read_json(self._mark(name))["seconds"] for name in self.steps if self._mark(name).exists()}

    def _mark(self, name: str) -> Path:
        return self.folder / "steps" / f"{name}.json"

    def _open(self) -> None:
        """Open a new folder, or one in which a paper with these options was started."""
        path = self.folder / OPTIONS
        wanted = {"format": FORMAT, **self.options.to_dict()}
        self.options.recipe()
        if path.exists():
            begun = read_json(path)
            different = [name for name in {**begun, **wanted} if begun.get(name) != wanted.get(name)]
            if different:
                raise PaperError(f"{self.folder} was started with another {', '.join(different)}; take another folder")
            return
        if self.folder.exists() and any(self.folder.iterdir()):
            raise PaperError(f"{self.folder} holds other files; choose a new or empty folder")
        write_json(path, wanted)


# -- the results -------------------------------------------------------------------------------------------------------


def evaluation_results(folder: Path, labels: Mapping[str, str]) -> dict[str, Any]:
    """The tables of an evaluation, the validation of its users, and the replies that broke the notation."""
    certificate = read_certificate(folder)
    with RunStore.read(folder) as store:
        found = evaluated(store, labels=labels)
    return {
        "scopes": [each.to_dict() for each in found.scopes.values()],
        "ceilings": {scope: each.to_dict() for scope, each in found.ceilings.items()},
        "certificate": certificate.to_dict() if certificate else None,
        "broken": broken_shares(folder, labels),
    }


def broken_shares(folder: Path, labels: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Replies that broke the notation, and all replies, per assistant; the final artifact counts as a reply."""
    shares: dict[str, dict[str, int]] = {}
    with RunStore.read(folder) as store:
        for conversation in store.conversations():
            [name] = dict.fromkeys(conversation.setting["assistants"])
            counts = shares.setdefault(labels.get(name, name), {"broken": 0, "replies": 0})
            broken, replies = broken_replies(conversation)
            counts["broken"] += broken
            counts["replies"] += replies
    return shares


def base_results() -> dict[str, Any]:
    """What was measured of the base."""
    card = read_card(base_folder())
    return {name: card[name] for name in ("format", "domains", "recipe", "measured")}


def training_results(folder: Path, variant: Variant) -> dict[str, Any]:
    """Steps, rows and validation rollouts of a variant's training."""
    job = TrainingJob(folder / variant.folder)
    result = job.result()
    probes = [
        {name: value for name, value in line.items() if name == "step" or name.startswith("probe/")}
        for line in job.metrics()
        if any(name.startswith("probe/") for name in line)
    ]
    kept = {name: result.get(name) for name in ("step", "total_steps", "rows", "kept_round")}
    return {**kept, "stage": variant.stage, "after": variant.after, "probes": probes}
