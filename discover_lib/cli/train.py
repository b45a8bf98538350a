"""`discover train` and `discover merge`: one stage of training, and its result as one folder.

A run's folder is the same that the notebook shows: begun here, watched there, or the other way round.
"""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from discover_lib.base.errors import DiscoverError
from discover_lib.base.words import duration
from discover_lib.cli.common import DONE, STOPPED, Dollars, code_of_halt, progress
from discover_lib.engines.local.dialect import PREFIX, is_local
from discover_lib.engines.local.names import base_folder
from discover_lib.engines.local.names import merge as merge_local
from discover_lib.engines.spec import MINIATURE
from discover_lib.metrics.intervals import percent
from discover_lib.tasks import playing
from discover_lib.tasks.playing import Tuning
from discover_lib.tasks.told import number
from discover_lib.train import training_job as jobs
from discover_lib.train.access import Access
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
from discover_lib.train.recipes import STAGES, Recipe, assignments, beside_the_paper, refuse
from discover_lib.train.run_stage import StageSettings, checked, problems, run_here
from discover_lib.train.training_job import JobStatus, TrainingJob, alarms, latest

TINY = "tiny"  # the name of the miniature's base model
POLL_SECONDS = 0.5


StageName = Literal["sft", "dpo", "grpo"]
Tracker = StrEnum("Tracker", ["trackio", "tensorboard", "wandb"])
CardName = StrEnum("CardName", {name: name for name in CARDS})  # type: ignore[misc]


def train(
    how: playing.Access,
    tuning: Tuning,
    stage: Annotated[StageName, typer.Argument(help="Training stage.")],
    data: Path,
    base: Annotated[str, typer.Option(metavar="MODEL", help="Base model: a Hugging Face name, a folder, or tiny.")],
    run: Annotated[Path, typer.Option(help="Training run folder. Repeat the command to resume.")],
    adapter: Path | None = None,
    recipe: Annotated[
        Literal["paper", "t4", "24gb", "40gb", "80gb", "miniature"] | None,
        typer.Option(
            metavar="NAME",
            help="Preset of all settings: paper, t4, 24gb, 40gb, 80gb or miniature (default: miniature for tiny, else "
            "paper).",
        ),
    ] = None,
    backend: Annotated[
        Literal["auto", "unsloth", "transformers"],
        typer.Option(help="Training library. auto selects Unsloth where it can work."),
    ] = "auto",
    system: str = "none",
    thinking: Annotated[bool, typer.Option("--thinking", help="Let the model reason before it replies.")] = False,
    changes: Annotated[list[str], typer.Option("--set")] = [],  # noqa: B006
    max_steps: Annotated[int | None, typer.Option(min=1, help="Number of updates, in place of the recipe's.")] = None,
    seed: int = 0,
    report_to: Annotated[
        list[Tracker],
        typer.Option(metavar="NAME", help="Also log metrics to trackio, tensorboard or wandb; repeatable."),
    ] = [],  # noqa: B006
    rehearse: Annotated[
        bool, typer.Option("--rehearse", help="Dry run: every stage at toy size, with an estimate of the GPU memory.")
    ] = False,
    card: Annotated[
        CardName | None,
        typer.Option(
            metavar="NAME", help=f"GPU for the dry run's estimate: {', '.join(CARDS)} (default: the recipe's)."
        ),
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Train in the background and return at once.")] = False,
    budget: Dollars = None,
    patience: Annotated[
        float, typer.Option(min=0, help="Minutes to wait for a silent judge or voice before the training stops.")
    ] = 30.0,
    judge: Annotated[str, typer.Option(help="Model for GRPO's judge: miniature or a LiteLLM model.")] = MINIATURE,
    voice: Annotated[
        str, typer.Option(help="Model that writes the user's messages in GRPO: miniature or a LiteLLM model.")
    ] = MINIATURE,
) -> None:
    """Train a LoRA adapter on conversations: by imitation (sft), preference (dpo) or the user's reward (grpo)."""
    _check_used(how, tuning, budget, stage == "grpo" and {judge, voice} != {MINIATURE})
    changed = assignments(changes) | ({} if max_steps is None else {"max_steps": max_steps})
    settings = StageSettings(
        stage=stage,
        data=str(data.resolve()),
        base=_resolved(base),
        adapter=str(adapter.resolve()) if adapter else "",
        recipe=Recipe.named(recipe or ("miniature" if base == TINY else "paper")).changed(stage, changed),
        backend=backend,
        seed=seed,
        judge=judge,
        voice=voice,
        system=system,
        options=dict(tuning.role_options.given),
        thinking=thinking,
    )
    access = Access(how.settings, budget, patience, tuple(each.value for each in report_to))
    if rehearse:
        if base == TINY:
            raise DiscoverError("the tiny model needs no dry run; remove --rehearse")
        _rehearse(settings, access, run, card.value if card else None)
        return
    job = TrainingJob(run)
    if jobs.is_finished(settings, run):
        typer.echo(f"{run}: training already finished; use another --run folder to train again")
        raise typer.Exit(closing(job, job.status()))
    backend_line = _check(settings, run, access)
    if detach:
        typer.echo(backend_line)
        jobs.start(settings, run, access)
        typer.echo(f"training in {run}, process {job.status().pid}; discover open shows it on the page Train")
        return
    with _watched(job):
        status = run_here(settings, run, partial(typer.echo, err=True), access)
    raise typer.Exit(closing(job, status))


def _check_used(how: playing.Access, tuning: Tuning, budget: float | None, asks_a_model: bool) -> None:
    """Refuse an option for GRPO's judge and voice if no model plays them."""
    tuning.role_options.check_names(())
    given = {"budget": budget, **how.plain(), **tuning.plain()}
    first = next((name for name, value in given.items() if value not in (None, ())), "")
    if first and not asks_a_model:
        raise DiscoverError(f"--{first.replace('_', '-')} is for GRPO's judge and voice, and no model plays them here")


def _resolved(base: str) -> str:
    """A base, local paths in full, so that training can resume from any folder."""
    if base == TINY:
        return str(base_folder().resolve())
    return str(Path(base).resolve()) if Path(base).exists() else base


def _rehearse(settings: StageSettings, access: Access, run: Path, card_name: str | None) -> None:
    """Refuse settings that cannot work, print the GPU memory of each stage, and run every stage at toy size."""
    from discover_lib.train.rehearsal import rehearse

    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a GPU of this machine may be in use
    here = importlib.util.find_spec("unsloth") is not None
    meant = "unsloth" if settings.backend == "unsloth" or (settings.backend == "auto" and here) else "transformers"
    card = CARDS[card_name or CARD_OF_RECIPE.get(settings.recipe.name.partition(" ")[0], "a100-80")]
    lines = [line for each in STAGES for line in settings.recipe.problems(each)]
    lines += [line for each in STAGES if (line := without_bf16(each, settings.recipe, card))]
    refuse(lines or problems(settings))
    access.check(settings.models())
    typer.echo(f"in place of the paper's numbers: {beside_the_paper(settings.recipe)}")
    if not card.bf16:
        typer.echo(f"{card.name} has no bf16; it trains in fp16")
    _say_what_fits(settings, card, meant)
    seconds = rehearse(settings, on_progress=typer.echo)
    typer.echo(f"rehearsed in {duration(seconds)}; its files were deleted")


def _say_what_fits(settings: StageSettings, card: Card, meant: str) -> None:
    """Print the memory of every stage on a card, by the base's `config.json`; refuse a stage that does not fit."""
    try:
        base = architecture_of(settings.base)
    except DiscoverError as error:
        typer.echo(error)
        return
    typer.echo(f"{base.weights / 1e9:.2f} billion weights: config.json of {settings.base}")
    for each in STAGES:
        typer.echo(f"{each} {estimate(each, base, settings.recipe, card, meant).line}")
    typer.echo(f"{FORMULA}\nfitted to runs on one H100; memory that grows with the batch: ± {percent(ERROR)}")
    refuse([line for each in STAGES if (line := refusal(each, base, settings.recipe, card, meant))])


def merge(
    model: Annotated[str, typer.Argument(help="Training run, or a local model as hf:DIR+ADAPTER.")],
    out: Annotated[Path, typer.Option(help="New folder for the merged model.")],
) -> None:
    """Merge a model and its adapters into one folder, which servers can offer (docs/serving.md)."""
    folder = merge_local(model if is_local(model) else f"{PREFIX}{model}", out)
    typer.echo(f"merged → {folder}")


def push(
    run: Annotated[Path, typer.Argument(help="Finished training run.")],
    to: Annotated[
        str | None, typer.Option(metavar="USER/NAME", help="Name on the Hub. Needs a token with write access.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the upload to this new folder instead.")] = None,
    merged: Annotated[bool, typer.Option("--merged", help="Upload merged weights in place of the adapter.")] = False,
    base_id: Annotated[str, typer.Option(help="Hub name of the base, if you trained from a local base folder.")] = "",
    private: Annotated[bool, typer.Option("--private", help="Make the upload private.")] = False,
) -> None:
    """Upload a trained model to the Hugging Face Hub, with a model card."""
    from discover_lib.train.publish import Publication

    if (to is None) == (out is None):
        raise DiscoverError("choose one: --to USER/NAME to upload the model, or --out FOLDER to inspect it first")
    publication = Publication(run, base_id, merged)
    if to is not None:
        typer.echo(f"pushed → {publication.push(to, private=private)}")
    elif out is not None:
        typer.echo(f"written → {publication.write(out)}; README.md is its card")


def _check(settings: StageSettings, run: Path, access: Access) -> str:
    """Refuse settings that cannot work before a folder is made; the line that names the backend.

    Raises:
        DiscoverError: the reasons.
    """
    base = Path(settings.base)
    if base.is_absolute() and not base.exists():
        refuse([f"{base}: no such folder; name a model's folder, a Hugging Face model, or tiny"])
    backend = checked(settings, run, access)
    typer.echo(f"checks passed: {settings.stage} with the recipe {settings.recipe.name!r} in {run}")
    return backend.line


@contextmanager
def _watched(job: TrainingJob) -> Iterator[None]:
    """Draw the progress of a run in this process from its metrics."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(POLL_SECONDS):
            if last := latest(job.metrics()):
                draw(last["step"], last.get("total_steps"), progress_line(last))

    with progress("steps") as draw:
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


def figures(last: Mapping[str, Any]) -> list[str]:
    """The main figures of a logged line."""
    names = {"loss": "loss", "eval_loss": "loss on held-out rows", "reward": "reward", "kl": "KL to the reference"}
    found = [f"{name} {number(last[column])}" for column, name in names.items() if last.get(column) is not None]
    broken = last.get("share/broken")
    return found + ([] if broken is None else [f"broken replies {percent(broken)}"])


def progress_line(last: Mapping[str, Any]) -> str:
    """The figures of a logged line, its cost and the time left."""
    parts = figures(last)
    parts += [f"${last['spent/total']:.2f} spent"] if last.get("spent/total") else []
    parts += [f"{duration(last['eta_seconds'])} left"] if last.get("eta_seconds") else []
    return ", ".join(parts)


def closing(job: TrainingJob, status: JobStatus) -> int:
    """Print the end of a run; returns the exit code."""
    if status.state == "failed" or status.halt:
        log = job.folder / jobs.LOG
        more = f" (full log: {log})" if status.state == "failed" and log.exists() else ""
        typer.echo(f"discover: {status.message}{more}", err=True)
        return code_of_halt(status.halt)
    if status.state == "stopped":
        typer.echo(f"stopped at step {status.step}; repeat the command to resume", err=True)
        return STOPPED
    result, lines = job.result(), job.metrics()
    rounds, kept = Recipe.from_dict(job.settings()["recipe"]).grpo.rounds, result.get("kept_round")
    took = f"{result['step']} updates in {duration(result['seconds'])}"
    typer.echo(f"{result['rows']} rows, {took}, peak memory {result['peak_memory_mb']:,.0f} MB")
    if kept is not None and kept < rounds:
        typer.echo(f"round {kept} of {rounds} was kept; the last logged figures are of another model")
    else:
        typer.echo(f"at the last step: {', '.join(figures(latest(lines)))}")
    for text in alarms(lines).values():
        typer.echo(f"look at this: {text}")
    typer.echo(f"use it as an assistant: hf:{job.folder}")
    return DONE
