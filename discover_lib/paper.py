"""The whole paper in miniature: one folder, one way through, from artifacts to a table of trained assistants.

```
base → synthesis → sft, dpo → sft+dpo → sft+dpo+grpo → evaluation → generalisation → results
```

Every step is what its own command does, with the same functions; this file only says in which order, and with what.
A finished step leaves `steps/NAME.json` and is not done again; a killed one goes on where its own files let it.
"""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import rounded, write_json
from discover_lib.engines.miniature.lexicon import DOMAINS, UNSEEN_DOMAINS
from discover_lib.metrics.scores import ConversationScores
from discover_lib.runs.options import RunOptions, execute, lay_out_together

if TYPE_CHECKING:
    from discover_lib.train.jobs import TrainingJob
    from discover_lib.train.recipes import Recipe, Stage
    from discover_lib.train.stage import StageSettings

FORMAT = "discover-paper/1"
OPTIONS, RESULTS, TIMES = "options.json", "results.json", "times.json"
TEACHERS = ("draft", "adaptive")  # the paper: a plain small model, and a larger one asked to explore
SCRIPTED = ("draft", "ask", "options", "adaptive")  # `draft` is the base's model, `ask` stands for CollabLLM's manner
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
class PaperOptions:
    """All that decides the numbers.

    Attributes:
        train_artifacts: per domain, that conversations to train on are made from.
        artifacts, trials: per domain, of the evaluation, on the other split.
        unseen_artifacts: per unseen kind, of the generalisation, once each; generated ones, so that there are enough.
        changes: settings of the miniature's recipe in other words than its own: stage → name → value.
        quick: sizes that show that everything works, and nothing else.
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

    @classmethod
    def small(cls, seed: int = 0, domains: Sequence[str] = DOMAINS[:1]) -> PaperOptions:
        """The quick size."""
        few: dict[str, dict[str, Any]] = {
            "sft": {"max_steps": 6},
            "dpo": {"max_steps": 4},
            "grpo": {"max_steps": 2, "batch": 16, "per_device": 16, "rounds": 1, "probe_users": 4},
        }
        return cls(seed, tuple(domains), UNSEEN_DOMAINS[:1], 12, 6, 1, 4, changes=few, quick=True)

    def recipe(self) -> Recipe:
        """The training recipe.

        Raises:
            RecipeError: a change that does not fit.
        """
        from discover_lib.train.recipes import Recipe

        recipe = Recipe.miniature()
        for stage, changes in self.changes.items():
            recipe = recipe.changed(stage, changes)  # type: ignore[arg-type]
        return recipe

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


Report = Callable[[str], None]


@dataclass
class Paper:
    """One run of the paper in its folder.

    Args:
        report: takes lines for people.
        stop: set to end at the next safe moment.
        processes: for what the miniature simulates.
    """

    folder: Path
    options: PaperOptions
    report: Report = print
    stop: threading.Event = field(default_factory=threading.Event)
    processes: int = 2

    def run(self) -> dict[str, Any]:
        """Do what is not done yet; returns the results.

        Raises:
            PaperError: the folder holds something else, or a step failed.
            PaperStopped: it was stopped; the same again goes on.
        """
        self._admit()
        steps = self.steps()
        for place, (name, work) in enumerate(steps, 1):
            done = self.folder / "steps" / f"{name}.json"
            if done.exists():
                self.report(f"[{place}/{len(steps)}] {name}: done before")
                continue
            if self.stop.is_set():
                raise PaperStopped
            self.report(f"[{place}/{len(steps)}] {name} …")
            began = time.monotonic()
            work()
            seconds = time.monotonic() - began
            write_json(done, {"seconds": round(seconds, 1)})
            self.report(f"[{place}/{len(steps)}] {name}: {seconds:.0f} s")
        return json.loads((self.folder / RESULTS).read_text(encoding="utf-8"))

    def steps(self) -> list[tuple[str, Callable[[], None]]]:
        """Every step by name, in order."""
        waves = [("+".join(f"[{each}]" for each in wave), wave) for wave in WAVES]
        return [
            ("base", self._base),
            ("synthesis", self._synthesis),
            *((f"train {name}", lambda wave=wave: self._train(wave)) for name, wave in waves),
            ("evaluation", self._evaluation),
            ("generalisation", self._generalisation),
            ("results", self._results),
        ]

    def seconds(self) -> dict[str, float]:
        """How long each finished step took, in the sitting that finished it."""
        found = {}
        for name, _ in self.steps():
            path = self.folder / "steps" / f"{name}.json"
            if path.exists():
                found[name] = json.loads(path.read_text(encoding="utf-8"))["seconds"]
        return found

    def _admit(self) -> None:
        """A new folder, or one that this very paper was begun in."""
        path = self.folder / OPTIONS
        wanted = json.loads(json.dumps({"format": FORMAT, **self.options.to_dict()}))
        self.options.recipe()
        if path.exists():
            there = json.loads(path.read_text(encoding="utf-8"))
            different = [name for name in {**there, **wanted} if there.get(name) != wanted.get(name)]
            if different:
                raise PaperError(f"{self.folder} was begun with another {', '.join(different)}; take another folder")
            return
        if self.folder.exists() and any(self.folder.iterdir()):
            raise PaperError(f"{self.folder} holds other files; take a new or empty folder")
        write_json(path, wanted)

    # -- the steps ----------------------------------------------------------------------------------------------------

    def _base(self) -> None:
        from discover_lib.engines.local.tiny_model import Pretraining, ensure_base

        last = 0.0

        def told(now: Pretraining) -> None:
            nonlocal last
            if self.stop.is_set():
                raise PaperStopped
            if time.monotonic() - last > 10:
                last = time.monotonic()
                self.report(f"    {now}")

        ensure_base(report=told)

    def _synthesis(self) -> None:
        """Best of two, on training artifacts of all domains; each conversation ends with the finished piece."""
        from discover_lib.runs.evaluation import assess

        run = lay_out_together(
            RunOptions(
                TEACHERS,
                split="train",
                artifacts=self.options.train_artifacts,
                candidates=1,
                seed=self.options.seed,
            ),
            self.options.domains,
        )
        folder = self.folder / "synthesis"
        folder.mkdir(exist_ok=True)
        self._checked(execute(run, folder, concurrency=self.processes, stop=self.stop))
        self._checked(assess(run, folder, concurrency=self.processes, stop=self.stop))

    def _train(self, wave: Sequence[str]) -> None:
        """Train some variants side by side, each in a process of its own."""
        from discover_lib.train import jobs

        going: dict[str, TrainingJob] = {}
        for variant in (each for each in VARIANTS if each.label in wave):
            folder = self.folder / variant.folder
            job = jobs.TrainingJob(folder)
            state = job.status().state if (folder / jobs.STATUS).exists() else "new"
            if state not in ("finished", *jobs.GOING):
                job = jobs.start(self._settings(variant), folder)
            going[variant.label] = job
        self._wait(going)

    def _settings(self, variant: Variant) -> StageSettings:
        from discover_lib.engines.local.tiny_model import base_folder
        from discover_lib.train.stage import StageSettings

        earlier = next((each for each in VARIANTS if each.label == variant.after), None)
        return StageSettings(
            variant.stage,
            data=str((self.folder / "synthesis").resolve()),
            base=str(base_folder().resolve()),
            adapter=str((self.folder / earlier.folder).resolve()) if earlier else "",
            recipe=self.options.recipe(),
            seed=self.options.seed,
        )

    def _wait(self, going: Mapping[str, TrainingJob]) -> None:
        told: dict[str, int] = {}
        try:
            while True:
                states = {label: job.status() for label, job in going.items()}
                for label, status in states.items():
                    step, total = status.step, status.total_steps
                    if total and step * 4 // total > told.get(label, 0):
                        told[label] = step * 4 // total
                        self.report(f"    {label}: step {step} of {total}")
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

    def _assistants(self) -> dict[str, str]:
        """Assistant, as runs name it → its label."""
        trained = {f"hf:{self.folder / each.folder}": each.label for each in VARIANTS}
        return {"tiny": BASE, **trained, **{name: name for name in self.options.scripted}}

    def _evaluate(self, name: str, domains: Sequence[str], artifacts: int, trials: int) -> None:
        from discover_lib.audit.certificate import certify_run, lay_out_panel
        from discover_lib.runs.evaluation import evaluate, lay_out_evaluation

        folder = self.folder / name
        options = RunOptions(
            tuple(self._assistants()), artifacts=artifacts, trials=trials, seed=self.options.seed, domain=domains[0]
        )
        run = lay_out_evaluation(options, domains)
        folder.mkdir(exist_ok=True)
        for ended in evaluate(run, folder, concurrency=self.processes, stop=self.stop):
            self._checked(ended)
        panel = min(artifacts, 30) * len(domains) if not self.options.quick else 10
        certify_run(folder, lay_out_panel(folder, artifacts=panel, seed=self.options.seed), concurrency=self.processes)

    def _evaluation(self) -> None:
        self._evaluate("evaluation", self.options.domains, self.options.artifacts, self.options.trials)

    def _generalisation(self) -> None:
        """Artifact types that no stage of training has seen."""
        if self.options.unseen:
            self._evaluate("generalisation", self.options.unseen, self.options.unseen_artifacts, trials=1)

    def _checked(self, ended: Any) -> None:
        """Raises what ended a run early."""
        if ended.halted == "stopped" or self.stop.is_set():
            raise PaperStopped
        if ended.halted is not None:
            raise PaperError(ended.message)

    # -- the results --------------------------------------------------------------------------------------------------

    def _results(self) -> None:
        from discover_lib.audit.certificate import read_certificate

        parts = [name for name in ("evaluation", "generalisation") if (self.folder / name).exists()]
        found: dict[str, Any] = {"format": FORMAT, "options": self.options.to_dict(), "labels": self._labels()}
        for name in parts:
            certificate = read_certificate(self.folder / name)
            found[name] = {
                "scopes": self._scopes(self.folder / name),
                "certificate": certificate.to_dict() if certificate else None,
                "broken": broken_shares(self.folder / name, self._assistants()),
            }
        found["base"] = self._card()
        found["training"] = {each.label: self._stage(each) for each in VARIANTS}
        write_json(self.folder / RESULTS, rounded(found))
        write_json(self.folder / TIMES, self.seconds())

    def _labels(self) -> list[str]:
        return list(self._assistants().values())

    def _scopes(self, folder: Path) -> list[dict[str, Any]]:
        from discover_lib.metrics.results import results_by_scope

        return [each.to_dict() for each in results_by_scope(self.scores(folder)).values()]

    def scores(self, folder: Path) -> list[ConversationScores]:
        """The scores of an evaluation, assistants by their labels."""
        from discover_lib.runs.evaluation import load_scores

        labels = self._assistants()
        return [
            dataclasses.replace(each, assistant=labels.get(each.assistant, each.assistant))
            for each in load_scores(folder)
        ]

    def _card(self) -> dict[str, Any]:
        from discover_lib.engines.local.tiny_model import base_folder, read_card

        card = read_card(base_folder())
        return {name: value for name, value in card.items() if name != "seconds"}

    def _stage(self, variant: Variant) -> dict[str, Any]:
        from discover_lib.train.jobs import TrainingJob

        job = TrainingJob(self.folder / variant.folder)
        result = job.result()
        kept = {name: result.get(name) for name in ("step", "total_steps", "rows", "kept_round")}
        probes = [
            {name: value for name, value in line.items() if name == "step" or name.startswith("probe/")}
            for line in job.metrics().lines
            if any(name.startswith("probe/") for name in line)
        ]
        return {**kept, "stage": variant.stage, "after": variant.after, "probes": probes}


def broken_shares(folder: Path, labels: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Replies that broke the notation, and all replies, per assistant of an evaluation; the final piece counts, too."""
    from discover_lib.engines.local.tiny_language import is_broken
    from discover_lib.runs.store import RunStore

    found: dict[str, dict[str, int]] = {}
    with RunStore.read(folder) as store:
        for conversation in store.conversations():
            [name] = dict.fromkeys(conversation.setting["assistants"])
            counts = found.setdefault(labels.get(name, name), {"broken": 0, "replies": 0})
            replies = [turn.reply for turn in conversation.turns]
            replies += [conversation.final.reply] if conversation.final else []
            counts["broken"] += sum(map(is_broken, replies))
            counts["replies"] += len(replies)
    return found
