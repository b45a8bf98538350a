"""`discover train` and `discover merge`: one stage of training, and its result as one folder.

A run's folder is the same that the notebook shows: begun here, watched there, or the other way round.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from discover_lib.base.errors import DiscoverError
from discover_lib.base.words import duration, number
from discover_lib.cli.common import (
    STOPPED,
    ApiBase,
    KeyVariable,
    ModelFlags,
    PerMinute,
    Prices,
    RunBudget,
    code_of_halt,
    console,
    with_flags,
)
from discover_lib.engines.local.dialect import PREFIX, LocalModelError, is_local
from discover_lib.engines.local.names import merge as merge_local
from discover_lib.engines.local.names import serving
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.intervals import percent
from discover_lib.tasks.playing import client_settings
from discover_lib.train import jobs
from discover_lib.train.access import Access
from discover_lib.train.alarms import alarms
from discover_lib.train.estimate import (
    CARD_OF_RECIPE,
    CARDS,
    ERROR,
    FORMULA,
    Card,
    architecture_of,
    estimate,
    refusal,
    without_bf16,
)
from discover_lib.train.files import latest
from discover_lib.train.jobs import JobStatus, TrainingJob
from discover_lib.train.recipes import STAGES, Recipe, assignments, beside_the_paper
from discover_lib.train.stage import StageError, StageSettings, checked, problems

TINY = "tiny"  # the name of the miniature's base model
POLL_SECONDS = 0.5


class StageName(StrEnum):
    """What is trained."""

    sft = "sft"
    dpo = "dpo"
    grpo = "grpo"


class RecipeName(StrEnum):
    """Settings to begin with."""

    paper = "paper"
    t4 = "t4"
    gb24 = "24gb"
    gb40 = "40gb"
    gb80 = "80gb"
    miniature = "miniature"


class BackendName(StrEnum):
    """What trains."""

    auto = "auto"
    unsloth = "unsloth"
    transformers = "transformers"


class Tracker(StrEnum):
    """Where metrics can be shown, too."""

    trackio = "trackio"
    tensorboard = "tensorboard"
    wandb = "wandb"


CardName = StrEnum("CardName", {name: name for name in CARDS})  # type: ignore[misc]


@dataclass(frozen=True, kw_only=True)
class TrainFlags(ModelFlags):
    stage: Annotated[StageName, typer.Argument(help="sft, dpo or grpo.")]
    data: Annotated[Path, typer.Option(help="A run, or a folder of rows that `discover export` wrote.")]
    base: Annotated[str, typer.Option(help="A Hugging Face model, a folder, or tiny (made first if it is missing).")]
    run: Annotated[Path, typer.Option(help="Folder of the training run; the same command again resumes it.")]
    adapter: Annotated[Path | None, typer.Option(help="The training run of the stage before.")] = None
    recipe: Annotated[RecipeName | None, typer.Option(help="Default: miniature for tiny, else paper.")] = None
    backend: Annotated[BackendName, typer.Option(help="auto takes Unsloth where it can work.")] = BackendName.auto
    system: Annotated[
        str, typer.Option(help="System message of rows made from a run: none, collaborative, or its text.")
    ] = "none"
    thinking: Annotated[bool, typer.Option("--thinking", help="Let the model think before it replies.")] = False
    changes: Annotated[
        list[str], typer.Option("--set", help="Change the recipe: learning_rate=1e-4, lora.r=16 ...; repeatable.")
    ] = field(default_factory=list)
    judge: Annotated[str, typer.Option(help="Of GRPO: who judges, miniature or a LiteLLM model.")] = "miniature"
    voice: Annotated[str, typer.Option(help="Of GRPO: who speaks for the user.")] = "miniature"
    budget: RunBudget = None
    patience: Annotated[
        float, typer.Option(min=0, help="Minutes that a silent judge or voice is waited for; then it stops cleanly.")
    ] = 30.0
    api_base: ApiBase = None
    key_variable: KeyVariable = None
    requests_per_minute: PerMinute = None
    tokens_per_minute: PerMinute = None
    prices: Prices = None
    report_to: Annotated[
        list[Tracker], typer.Option(help="Show metrics there, too: trackio, tensorboard or wandb; repeatable.")
    ] = field(default_factory=list)
    seed: Annotated[int, typer.Option(help="Same seed, same result on a processor.")] = 0
    max_steps: Annotated[int | None, typer.Option(min=1, help="Updates in all, in place of the recipe's.")] = None
    rehearse: Annotated[
        bool,
        typer.Option("--rehearse", help="Only run every stage at toy size on this machine, and say what a GPU needs."),
    ] = False
    card: Annotated[CardName | None, typer.Option(help="Of --rehearse: the GPU; default: the recipe's.")] = None
    detach: Annotated[bool, typer.Option("--detach", help="Leave it running and come back at once.")] = False

    @property
    def access(self) -> Access:
        """How GRPO's judge and voice are reached."""
        client = client_settings(
            api_base=self.api_base,
            key_variable=self.key_variable,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            prices=self.prices,
        )
        return Access(client, self.budget, self.patience, tuple(each.value for each in self.report_to))


@with_flags(TrainFlags)
def train(flags: TrainFlags) -> None:
    """Train an adapter on conversations: by imitation, by preference, or by the simulated user's reward."""
    settings, access = _settings(flags), flags.access
    if flags.rehearse:
        _rehearse(settings, flags, access)
        return
    job = TrainingJob(flags.run)
    if jobs.is_finished(settings, flags.run):
        typer.echo(f"{flags.run}: this training is finished; another folder trains again")
        raise typer.Exit(_closing(job, job.status()))
    backend_line = _check(settings, flags.run, access)
    if flags.detach:
        typer.echo(backend_line)
        jobs.start(settings, flags.run, access)
        typer.echo(f"training in {flags.run}, process {job.status().pid}; discover open shows it, page 50_train")
        return
    with _progress(job) as on_progress:
        status = jobs.run_here(settings, flags.run, on_progress, access)
    raise typer.Exit(_closing(job, status))


def _rehearse(settings: StageSettings, flags: TrainFlags, access: Access) -> None:
    """Refuse what cannot work, say what it needs on a GPU, and run every stage at toy size."""
    from discover_lib.train.rehearsal import rehearse

    if flags.base == TINY:
        raise DiscoverError("the tiny model trains on this processor as it is; --rehearse is for larger ones")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a GPU that is here may be at work
    meant, preset = _meant(settings.backend), settings.recipe.name.partition(" ")[0]
    card = CARDS[flags.card.value if flags.card else CARD_OF_RECIPE.get(preset, "a100-80")]
    _refuse([line for each in STAGES for line in settings.recipe.problems(each)])
    _refuse([line for each in STAGES if (line := without_bf16(each, settings.recipe, card))])
    _refuse(problems(settings, flags.run, access))
    typer.echo(f"in place of the paper's numbers: {beside_the_paper(settings.recipe)}")
    if not card.bf16:
        typer.echo(f"{card.name} has no bf16; it trains in fp16")
    _say_what_fits(settings, card, meant)
    here = importlib.util.find_spec("unsloth") is not None
    if meant == "unsloth":
        typer.echo("on Unsloth's own trainers" if here else "Unsloth is not installed here: on TRL's own trainers")
    seconds = rehearse(settings, unsloth=here and meant == "unsloth", on_progress=typer.echo)
    typer.echo(f"rehearsed in {duration(seconds)}; nothing was kept")


def _say_what_fits(settings: StageSettings, card: Card, meant: str) -> None:
    """What every stage needs on a card, by the base's own `config.json`; refuses what does not fit."""
    try:
        base = architecture_of(settings.base)
    except DiscoverError as error:
        typer.echo(error)
        return
    typer.echo(f"{base.weights / 1e9:.2f} billion weights: {base.source}")
    for each in STAGES:
        typer.echo(estimate(each, base, settings.recipe, card, meant).line)
    typer.echo(f"{FORMULA}\nnothing of this was measured on a GPU: what grows with the batch ± {percent(ERROR)}")
    _refuse([line for each in STAGES if (line := refusal(each, base, settings.recipe, card, meant))])


def _refuse(lines: Sequence[str]) -> None:
    if lines:
        raise DiscoverError("; ".join(lines))


def _meant(backend: str) -> str:
    """What would train on a GPU: Unsloth where it is asked for, or installed and not refused."""
    installed = importlib.util.find_spec("unsloth") is not None
    return "unsloth" if backend == "unsloth" or (backend == "auto" and installed) else "transformers"


def merge(
    model: Annotated[str, typer.Argument(help="A training run, or a local model as hf:DIR+ADAPTER.")],
    out: Annotated[Path, typer.Option(help="A new folder for the merged model.")],
) -> None:
    """Write a model with its adapters as one folder, and say how to serve it."""
    try:
        folder = merge_local(model if is_local(model) else f"{PREFIX}{model}", out)
        typer.echo(f"merged → {folder}")
        for what, line in serving(folder).items():
            typer.echo(f"  {what}: {line}")
    except LocalModelError as error:
        # The tiny model is merged, and can be used from here, though no server can speak for it.
        if (out / "config.json").is_file():
            typer.echo(str(error))
        else:
            raise


def push(
    run: Annotated[Path, typer.Argument(help="A finished training run.")],
    to: Annotated[str | None, typer.Option(help="USER/NAME on the Hub; needs a token that may write.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write what would be uploaded into a new folder instead.")] = None,
    merged: Annotated[bool, typer.Option("--merged", help="Whole weights, in place of the adapter alone.")] = False,
    base_id: Annotated[str, typer.Option(help="The base's name on the Hub, where it was trained from a folder.")] = "",
    results: Annotated[Path | None, typer.Option(help="An evaluation's run; its table goes into the card.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Only you can see it.")] = False,
) -> None:
    """Upload a trained model to the Hugging Face Hub, with a card that says what it is and where it comes from."""
    from discover_lib.train.publish import Publication

    if (to is None) == (out is None):
        raise DiscoverError("name one: --to USER/NAME to upload it, or --out FOLDER to look at it first")
    publication = Publication(run, base_id, merged, results)
    if to is not None:
        typer.echo(f"pushed → {publication.push(to, private=private)}")
    elif out is not None:
        typer.echo(f"written → {publication.write(out)}; README.md is its card")


def _settings(flags: TrainFlags) -> StageSettings:
    """The stage to train, every local path made absolute, so that it can be gone on with from anywhere."""
    options = flags.role_options
    options.check_names(())
    paid = [name for name in ("budget", "api_base", "key_variable", "prices") if getattr(flags, name) is not None]
    given = [*options.words()[:1], *(f"--{name.replace('_', '-')}" for name in paid)]
    if given and (flags.stage is not StageName.grpo or {flags.judge, flags.voice} == {MINIATURE}):
        raise DiscoverError(f"{given[0]} is for GRPO's judge and voice, and no model plays them here")
    base = flags.base
    name = flags.recipe or (RecipeName.miniature if base == TINY else RecipeName.paper)
    changes = assignments(flags.changes)
    if flags.max_steps is not None:
        changes["max_steps"] = flags.max_steps
    recipe = Recipe.named(name.value).changed(flags.stage.value, changes)
    if base == TINY:
        from discover_lib.engines.local.tiny_model import base_folder  # imports torch

        base = str(base_folder().resolve())
    elif Path(base).exists():
        base = str(Path(base).resolve())
    return StageSettings(
        stage=flags.stage.value,
        data=str(flags.data.resolve()),
        base=base,
        adapter=str(flags.adapter.resolve()) if flags.adapter else "",
        recipe=recipe,
        backend=flags.backend.value,
        seed=flags.seed,
        judge=flags.judge,
        voice=flags.voice,
        system=flags.system,
        options=options.to_dict(),
        thinking=flags.thinking,
    )


def _check(settings: StageSettings, run: Path, access: Access) -> str:
    """Refuse what cannot work before a folder is made; of a tiny base that has yet to be made, all but the base itself.

    Returns what trains, and why.

    Raises:
        DiscoverError: the reasons.
    """
    base = Path(settings.base)
    missing = base.is_absolute() and not base.exists()
    if missing and base.parent.name != TINY:
        _refuse([f"{base}: no such folder; name a model's folder, a Hugging Face model, or tiny"])
    try:
        backend = checked(settings, run, access, to_be_made=missing)
    except StageError as refused:
        try:
            access.check(settings.models())
        except DiscoverError as error:
            if str(error) in refused.problems:
                raise  # a key that is missing has an exit code of its own
        raise DiscoverError("; ".join(refused.problems)) from None
    typer.echo(f"checks passed: {settings.stage} with the recipe {settings.recipe.name!r} in {run}")
    return backend.line


@contextmanager
def _progress(job: TrainingJob) -> Iterator[Callable[[str], None]]:
    """Draws a run's progress on standard error while it is made in this process; gives the printer of its lines."""
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("steps  {task.fields[more]}", markup=False))
    bar, done = Progress(*columns, console=console(stderr=True)), threading.Event()

    def watch() -> None:
        read = _Reading(job)
        while not done.wait(POLL_SECONDS):
            read.draw(bar)
        read.draw(bar)

    def on_progress(line: str) -> None:
        bar.console.print(line, highlight=False, markup=False, soft_wrap=True)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield on_progress
    finally:
        done.set()
        watcher.join()
        bar.stop()


class _Reading:
    """What has been read of a run's metrics, for its progress line."""

    def __init__(self, job: TrainingJob) -> None:
        self.job = job
        self.position = job.metrics().position  # what an earlier attempt logged is no progress of this one

    def draw(self, bar: Progress) -> None:
        metrics = self.job.metrics(self.position)
        self.position = metrics.position
        if not metrics.lines:
            return
        last = latest(metrics.lines)
        if not bar.tasks:
            bar.add_task("", total=last.get("total_steps"), more="")
            bar.start()
        bar.update(bar.tasks[0].id, completed=last["step"], more=progress_line(last))


def progress_line(last: Mapping[str, Any]) -> str:
    """The figures of a logged line that tell how a run goes, in a few words."""
    parts = [f"{name} {number(last[name])}" for name in ("loss", "reward", "kl") if last.get(name) is not None]
    if last.get("spent/total"):
        parts.append(f"${last['spent/total']:.2f} spent")
    if last.get("share/broken") is not None:
        parts.append(f"broken {percent(last['share/broken'])}")
    if last.get("tokens_per_second"):
        parts.append(f"{number(last['tokens_per_second'])} tokens/s")
    if last.get("eta_seconds"):
        parts.append(f"{duration(last['eta_seconds'])} left")
    return ", ".join(parts)


def _closing(job: TrainingJob, status: JobStatus) -> int:
    """Say how a run ended; returns the exit code."""
    if status.state == "failed":
        log = job.folder / jobs.LOG
        typer.echo(f"discover: {status.message}" + (f" (full log: {log})" if log.exists() else ""), err=True)
        return code_of_halt(status.halt)
    if status.halt:
        typer.echo(f"discover: {status.message}", err=True)
        return code_of_halt(status.halt)
    if status.state == "stopped":
        typer.echo(f"stopped at step {status.step}; the same command resumes there", err=True)
        return STOPPED
    result = job.result()
    kept = f", round {result['kept_round']} kept" if result.get("kept_round") is not None else ""
    typer.echo(
        f"{result['rows']} rows, {result['step']} updates in {duration(result['seconds'])}, "
        f"peak memory {result['peak_memory_mb']:,.0f} MB{kept}"
    )
    typer.echo(_figures(job, result.get("kept_round")))
    for text in alarms(jobs.standing_lines(job.metrics().lines)).values():
        typer.echo(f"look at this: {text}")
    typer.echo(f"use it as an assistant: hf:{job.folder}")
    return 0


def _figures(job: TrainingJob, kept: int | None) -> str:
    """What was last logged of the model that came out."""
    recipe, lines = Recipe.from_dict(job.settings()["recipe"]), jobs.standing_lines(job.metrics().lines)
    if kept == 0:
        return "what the steps logged is not said here: it is of models that were not kept"
    when = "at the last step"
    if kept is not None and kept < recipe.grpo.rounds:
        when, end = f"after round {kept}", kept * (job.result()["total_steps"] // recipe.grpo.rounds)
        lines = [line for line in lines if line["step"] <= end]
    last = latest(lines)
    names = {"loss": "loss", "eval_loss": "loss on held-out rows", "reward": "reward", "kl": "KL to the reference"}
    figures = [f"{name} {number(last[column])}" for column, name in names.items() if last.get(column) is not None]
    if last.get("share/broken") is not None:
        figures.append(f"broken replies {percent(last['share/broken'])}")
    added = job.settings()["stage"] == "dpo" and recipe.dpo.sft_weight
    return f"{when}: {', '.join(figures)}" + (f"; a loss is DPO's + {added:g} × SFT's" if added else "")
