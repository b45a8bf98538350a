"""The whole paper in miniature, one way through: the first file to read.

DiscoverLLM trains assistants that help people to find out what they want.  From top to bottom, with the place to read
on and the paper's section:

```
artifact         somebody's finished piece                        engines/miniature/artifacts.py
→ tree           what its maker wanted, from broad to precise     core/intents.py, engines/miniature/builder.py    3.1
→ conversation   with a simulated user, who discovers intents     core/rollout.py, core/advance.py                 3.2
                 through what replies show; each has a reward     core/reward.py                                   3.3
→ rows           what a trainer is given of it                    dataset/rows.py                                  4.1
→ adapter        SFT, DPO and GRPO of a small language model      train/stage.py                                   4.1
→ scores         discovery, satisfaction, interactivity, tokens   runs/evaluation.py, metrics/                     4.2
```

Every step is what its own command does, with the same functions; this file only says in which order, and with what.
`Paper(folder, PaperOptions.small()).run()` does them all.  A finished step leaves `steps/NAME.json` and is not done
again; a killed one goes on where its own files let it.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import rounded, write_json
from discover_lib.base.ids import LabelledId
from discover_lib.base.records import Record
from discover_lib.engines.local.dialect import read_card
from discover_lib.engines.local.names import base_folder
from discover_lib.engines.miniature.assistants import USER_BLIND
from discover_lib.engines.miniature.lexicon import DOMAINS, UNSEEN_DOMAINS
from discover_lib.metrics.evidence import BROKEN, ids_at, ids_of_results
from discover_lib.metrics.results import ScopeResults, results_by_scope
from discover_lib.metrics.scores import ConversationScores
from discover_lib.runs.evaluation import ceilings_by_scope, ceilings_of, lay_out_evaluation, load_scores
from discover_lib.runs.options import LaidOut, RunOptions, execute, lay_out_together
from discover_lib.runs.resolve import broken_replies
from discover_lib.runs.store import RunStore, id_of_run
from discover_lib.tasks.certify import Certify, certify, panel_folder, read_certificate
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
    """The paper cannot be begun or gone on with; one line that says what to do."""


class PaperStopped(Exception):
    """Ended early, as asked; the same call goes on."""


@dataclass(frozen=True)
class Variant:
    """A trained assistant: the stage that makes it, and the variant that it begins with."""

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
WAVES = (("SFT", "DPO"), ("SFT+DPO",), ("SFT+DPO+GRPO",))  # what does not wait for each other, together


@dataclass(frozen=True)
class PaperOptions(Record, omit=("taste",)):
    """All that decides the numbers.

    Attributes:
        train_artifacts: per domain, that conversations to train on are made from.
        artifacts, trials: per domain, of the evaluation, on the other split.
        unseen_artifacts: per unseen kind, of the generalisation, once each; generated ones, so that there are enough.
        changes: settings of the miniature's recipe in other words than its own: stage → name → value.
        quick: sizes that show that everything works, and nothing else.
        taste: number of the taste that artifacts are drawn with; 0 for none.
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
        """The quick size."""
        few: dict[str, dict[str, Any]] = {
            "sft": {"max_steps": 6},
            "dpo": {"max_steps": 4},
            "grpo": {"max_steps": 2, "batch": 16, "per_device": 16, "rounds": 1, "probe_users": 4},
        }
        return cls(seed, tuple(domains), UNSEEN_DOMAINS[:1], 12, 6, 1, 4, changes=few, quick=True, taste=taste)

    def recipe(self) -> Recipe:
        """The training recipe.

        Raises:
            RecipeError: a change that does not fit.
        """
        recipe = Recipe.miniature()
        for stage, changes in self.changes.items():
            recipe = recipe.changed(stage, changes)  # type: ignore[arg-type]
        return recipe


@dataclass(frozen=True)
class Step:
    """One step by name, and what it does."""

    name: str
    work: Callable[[], None]


@dataclass
class Paper:
    """One run of the paper in its folder.

    Args:
        on_progress: takes lines for people.
        stop: set to end at the next safe moment.
        processes: for what the miniature simulates.
        steps: what is done, in order; by default the paper's own.
        assistants: who is evaluated, as runs name it → its label; by default the base, its trained variants and the
            scripted ones.
    """

    folder: Path
    options: PaperOptions
    on_progress: Progress = print
    stop: threading.Event = field(default_factory=threading.Event)
    processes: int = 2
    steps: Sequence[Step] = ()
    assistants: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.steps = self.steps or self.paper_steps()
        self.assistants = self.assistants or self.paper_assistants()

    def paper_steps(self) -> list[Step]:
        return [
            Step("base", self.take_base),
            Step("synthesis", self.synthesise),
            *(Step("train " + "+".join(f"[{each}]" for each in wave), partial(self.train, wave)) for wave in WAVES),
            Step("evaluation", self.evaluate),
            Step(USER_BLIND, self.evaluate_user_blind),
            Step("generalisation", self.generalise),
            Step("results", self.collect_results),
        ]

    def paper_assistants(self) -> dict[str, str]:
        trained = {f"hf:{self.folder / variant.folder}": variant.label for variant in VARIANTS}
        return {"tiny": BASE, **trained, **{name: name for name in self.options.scripted}}

    # -- artifact → tree → conversation ----------------------------------------------------------------------------

    def synthesise(self) -> None:
        """Conversations to learn from, each ended by the finished piece."""
        run = self.lay_out_synthesis()
        folder = self.folder / "synthesis"
        folder.mkdir(exist_ok=True)
        self._check(execute(run, folder, score=True, concurrency=self.processes, stop=self.stop))

    def lay_out_synthesis(self) -> LaidOut:
        """Artifacts of the training split of all domains, a tree for each, and a conversation to be had about each.

        In every turn both teachers reply, and the reply with the higher reward goes on.
        """
        options = RunOptions(
            TEACHERS,
            split="train",
            artifacts=self.options.train_artifacts,
            candidates=1,
            seed=self.options.seed,
            taste=self.options.taste,
        )
        return lay_out_together(options, self.options.domains)

    # -- rows → adapter --------------------------------------------------------------------------------------------

    def take_base(self) -> None:
        """The base: a tiny language model from the package, which follows requests and has met no user of the paper."""
        base_folder()

    def stage_settings(self, variant: Variant) -> StageSettings:
        """One stage of training: its rows are made from the conversations, its adapter stands on the one before."""
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
        """Some variants side by side, each in a process of its own."""
        going: dict[str, TrainingJob] = {}
        for variant in (each for each in VARIANTS if each.label in labels):
            job = TrainingJob(self.folder / variant.folder)
            if not (job.folder / jobs.STATUS).exists():
                job = jobs.start(self.stage_settings(variant), job.folder)
            elif job.status().state not in ("finished", *jobs.GOING):
                job = job.resume()  # by its own settings: the recipe may have changed since
            going[variant.label] = job
        self._wait(going)

    # -- scores ----------------------------------------------------------------------------------------------------

    def evaluate(self) -> None:
        """All assistants with the same users, on artifacts that no stage has seen."""
        self._evaluate("evaluation", self.options.domains, self.options.artifacts, self.options.trials)

    def generalise(self) -> None:
        """The same on kinds of artifacts that no stage has seen."""
        if self.options.unseen:
            self._evaluate("generalisation", self.options.unseen, self.options.unseen_artifacts, trials=1)

    def evaluate_user_blind(self) -> None:
        """The same users as `evaluate`, answered by a list that ignores them: a run, and so a pool, of its own."""
        of = self.options
        self._simulate_and_score(self.folder / USER_BLIND, (USER_BLIND,), of.domains, of.artifacts, of.trials)

    def _simulate_and_score(
        self, folder: Path, assistants: Sequence[str], domains: Sequence[str], artifacts: int, trials: int
    ) -> None:
        options = RunOptions(
            tuple(assistants),
            artifacts=artifacts,
            trials=trials,
            seed=self.options.seed,
            domain=domains[0],
            taste=self.options.taste,
        )
        run = lay_out_evaluation(options, domains)
        folder.mkdir(exist_ok=True)
        self._check(execute(run, folder, concurrency=self.processes, stop=self.stop))

    def _evaluate(self, name: str, domains: Sequence[str], artifacts: int, trials: int) -> None:
        """Conversations, their scores, and a certificate: does this simulated user tell good assistants from bad?"""
        folder = self.folder / name
        self._simulate_and_score(folder, tuple(self.assistants), domains, artifacts, trials)
        panel = min(artifacts, 30) * len(domains) if not self.options.quick else 10
        asked = Certify(run=Run(folder), artifacts=panel, seed=self.options.seed)
        certify(asked, Models(concurrency=self.processes))

    def collect_results(self) -> None:
        """One file with every number; `views.report` makes a page of it."""
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

    # -- one step after the other ----------------------------------------------------------------------------------

    def run(self) -> dict[str, Any]:
        """Do what is not done yet; returns the results.

        Raises:
            PaperError: the folder holds something else, or a step failed.
            PaperStopped: it was stopped; the same again goes on.
        """
        self._open()
        for place, step in enumerate(self.steps, 1):
            done, line = self._mark(step), f"[{place}/{len(self.steps)}] {step.name}"
            if done.exists():
                self.on_progress(f"{line}: done before")
                continue
            if self.stop.is_set():
                raise PaperStopped
            self.on_progress(f"{line} …")
            began = time.monotonic()
            step.work()
            seconds = time.monotonic() - began
            write_json(done, {"seconds": round(seconds, 1)})
            self.on_progress(f"{line}: {seconds:.0f} s")
        return json.loads((self.folder / RESULTS).read_text(encoding="utf-8"))

    def seconds(self) -> dict[str, float]:
        """How long each finished step took, in the attempt that finished it."""
        marks = {step.name: self._mark(step) for step in self.steps if self._mark(step).exists()}
        return {name: json.loads(mark.read_text(encoding="utf-8"))["seconds"] for name, mark in marks.items()}

    def _mark(self, step: Step) -> Path:
        return self.folder / "steps" / f"{step.name}.json"

    def _open(self) -> None:
        """A new folder, or one that this very paper was begun in."""
        path = self.folder / OPTIONS
        wanted = {"format": FORMAT, **self.options.to_dict()}
        self.options.recipe()
        if path.exists():
            begun = json.loads(path.read_text(encoding="utf-8"))
            different = [name for name in {**begun, **wanted} if begun.get(name) != wanted.get(name)]
            if different:
                raise PaperError(f"{self.folder} was begun with another {', '.join(different)}; take another folder")
            return
        if self.folder.exists() and any(self.folder.iterdir()):
            raise PaperError(f"{self.folder} holds other files; take a new or empty folder")
        write_json(path, wanted)

    def _check(self, ended: Any) -> None:
        """Raises what ended a run early."""
        if ended.halted == "stopped" or self.stop.is_set():
            raise PaperStopped
        if ended.halted is not None:
            raise PaperError(ended.message)

    def _wait(self, going: Mapping[str, TrainingJob]) -> None:
        """Until all are at an end; asked to stop, they are."""
        quarters: dict[str, int] = {}
        try:
            while True:
                states = {label: job.status() for label, job in going.items()}
                for label, status in states.items():
                    step, total = status.step, status.total_steps
                    if total and step * 4 // total > quarters.get(label, 0):
                        quarters[label] = step * 4 // total
                        self.on_progress(f"    {label}: step {step} of {total}")
                if not any(status.going for status in states.values()):
                    break
                if self.stop.is_set():
                    raise PaperStopped
                time.sleep(POLL_SECONDS)
        except (PaperStopped, KeyboardInterrupt):
            for job in going.values():
                job.stop()
            for job in going.values():
                job.wait(60)
            raise PaperStopped from None
        for label, status in states.items():
            if status.state != "finished":
                raise PaperError(f"training {label} {status.state}: {status.message} (its log: {going[label].folder})")


# -- the results -------------------------------------------------------------------------------------------------------


def evaluation_results(folder: Path, labels: Mapping[str, str]) -> dict[str, Any]:
    """The tables of an evaluation, what its simulated user is worth, and how often assistants broke the notation."""
    certificate = read_certificate(folder)
    scores = labelled_scores(folder, labels)
    scopes = results_by_scope(scores)
    with RunStore.read(folder) as store:
        ceilings = ceilings_by_scope(scopes, scores, ceilings_of(store))
    return {
        "scopes": [each.to_dict() for each in scopes.values()],
        "ceilings": {scope: each.to_dict() for scope, each in ceilings.items()},
        "certificate": certificate.to_dict() if certificate else None,
        "broken": broken_shares(folder, labels),
        "ids": evaluation_ids(folder, labels, scopes.values()),
    }


def evaluation_ids(folder: Path, labels: Mapping[str, str], scopes: Iterable[ScopeResults]) -> dict[str, str]:
    """What the numbers of `evaluation_results` stand on, as `ids_of_results`; a certificate's on its panel's run."""
    run = labelled_id(folder, labels)
    ids = ids_of_results(scopes, run)
    for label in labels.values():
        ids |= ids_at(dataclasses.replace(run, assistants=label, measure=BROKEN), "broken", label)
    panel = panel_folder(folder)
    return ids | (ids_at(id_of_run(panel), "certificate") if panel else {})


def labelled_id(folder: Path, labels: Mapping[str, str]) -> LabelledId:
    """The id of an evaluation, whose assistants are called by their labels."""
    return LabelledId(id_of_run(folder).run, named={label: name for name, label in labels.items()})


def labelled_scores(folder: Path, labels: Mapping[str, str]) -> list[ConversationScores]:
    """The scores of an evaluation, assistants by their labels."""
    return [
        dataclasses.replace(each, assistant=labels.get(each.assistant, each.assistant)) for each in load_scores(folder)
    ]


def broken_shares(folder: Path, labels: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Replies that broke the notation, and all replies, per assistant of an evaluation; the final piece counts, too."""
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
    """Steps, rows and probes of a variant's training."""
    job = TrainingJob(folder / variant.folder)
    result = job.result()
    probes = [
        {name: value for name, value in line.items() if name == "step" or name.startswith("probe/")}
        for line in job.metrics().lines
        if any(name.startswith("probe/") for name in line)
    ]
    kept = {name: result.get(name) for name in ("step", "total_steps", "rows", "kept_round")}
    return {**kept, "stage": variant.stage, "after": variant.after, "probes": probes}
