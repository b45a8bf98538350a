"""One stage of training, from settings to adapter.  Commands, jobs, notebooks and scripts all use `run_stage`.

```
settings = StageSettings("sft", data="outputs/rows", base="Qwen/Qwen3-8B")
run_stage(settings, Path("outputs/my-sft"))
```

All checks come first.  Then the libraries and the model are loaded, and training starts or resumes.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, read_json, whole_folder, write_json
from discover_lib.dataset.formats import parse
from discover_lib.dataset.rows import system_text
from discover_lib.engines.local.dialect import Chat, Dialect, LocalModelError, dialect_of, said, tiny_domains
from discover_lib.engines.local.lineage import (
    ADAPTER,
    Chain,
    Lineage,
    LineageError,
    Source,
    adapter_chain,
    content_hash,
    versions,
)
from discover_lib.engines.local.tiny_language import is_broken
from discover_lib.engines.role_options import RoleOptions
from discover_lib.engines.spec import MINIATURE, EngineSpec, RoleEngines, is_model
from discover_lib.runs.options import RunOptionsError
from discover_lib.train import Progress
from discover_lib.train import data as rows_of
from discover_lib.train.backend import (
    CHECKPOINTS,
    Backend,
    choose_backend,
    context_of,
    ends_of,
    load_policy,
    load_tokenizer,
    prepare,
    unsuitable,
)
from discover_lib.train.data import TrainingRows, load_rows
from discover_lib.train.estimate import misfit, present_card
from discover_lib.train.recipes import GrpoRecipe, Recipe, Stage, SupervisedRecipe, holding, refuse
from discover_lib.train.training_job import (
    REFUSED,
    RESULT,
    SETTINGS,
    JobStatus,
    TrainingJob,
    begin_here,
    in_the_way,
    work_on,
)

if TYPE_CHECKING:
    from discover_lib.train.access import Access
    from discover_lib.train.grpo.trainer import Rounds
    from discover_lib.train.trainers import Recorder, Samples

SAMPLED = 2  # held-out prompts for the stored samples


@dataclass(frozen=True)
class StageSettings:
    """The settings that decide the result of a stage.

    Attributes:
        data: folder of exported rows, or of a run.
        base: a model folder, or a hub's model id.
        adapter: folder of the previous stage's training run; "" for none.
        backend: "auto", "unsloth" or "transformers".
        judge, voice: GRPO's judge and voice of the user: "miniature", or a LiteLLM model.
        options: options of these models, in the form of `RoleOptions.given`.
        system: the system policy of rows made from a run.  Exported rows have a fixed system message.  The trained
            model gets the message of its rows.
        thinking: whether the model may think before it replies, in training and in use.
    """

    stage: Stage
    data: str
    base: str
    adapter: str = ""
    recipe: Recipe = field(default_factory=Recipe.paper)
    backend: str = "auto"
    seed: int = 0
    judge: str = MINIATURE
    voice: str = MINIATURE
    system: str = "none"
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    thinking: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**dataclasses.asdict(self), "recipe": self.recipe.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> StageSettings:
        """Settings from plain values.

        Raises:
            DiscoverError: a missing setting, or one of another type.
        """
        return parse(cls, data, "not the settings of a stage")

    @property
    def spec(self) -> EngineSpec:
        return EngineSpec(judge=self.judge, voice=self.voice, role_options=RoleOptions(self.options))

    def models(self) -> list[str]:
        """GRPO's language models as judge and voice; [] in other stages."""
        return self.spec.models() if self.stage == "grpo" else []

    def chain(self) -> Chain:
        """The base and the adapters of earlier stages.

        Raises:
            LineageError: an earlier stage is missing, has changed, or has another base.
        """
        if not self.adapter:
            return Chain(Source(self.base, content_hash(self.base)))
        chain = adapter_chain(Path(self.adapter))
        known = chain.base
        if self.base != known.path and not (known.hash and content_hash(self.base) == known.hash):
            raise LineageError(f"{self.adapter} was trained on {chain.base.path}, not on {self.base}; name that base")
        return chain

    def rows(self, dialect: Dialect) -> TrainingRows:
        """The rows in the form of the base's dialect; errors as of `load_rows`."""
        return load_rows(Path(self.data), self.stage, dialect.text, system=self.system, seed=self.seed)


@dataclass(frozen=True)
class StageResult:
    """The result of one attempt.

    Attributes:
        stopped: ended before its last step; the same call resumes from its checkpoint.
        adapter: None if stopped.
        kept_round: the round of the adapter, for GRPO with validation rollouts.
        seconds: over all attempts.
        halt: why it stopped without a request (`HeldUpError.kind`), or "".
    """

    folder: Path
    stopped: bool
    step: int
    total_steps: int
    adapter: Path | None
    rows: int
    seconds: float
    peak_memory_mb: float
    kept_round: int | None = None
    halt: str = ""

    def to_dict(self) -> dict[str, Any]:
        plain = {**dataclasses.asdict(self), "folder": str(self.folder), "adapter": self.adapter and ADAPTER}
        del plain["halt"]
        return plain


def problems(settings: StageSettings, access: Access | None = None) -> list[str]:
    """Obstacles to training that need no library and no loaded model, one line each.

    Args:
        access: access to GRPO's language models, which is also checked.
    """
    lines: list[str] = []
    rows: TrainingRows | None = None
    dialect = dialect_of(settings.base)
    try:
        settings.chain()
    except LineageError as error:
        lines.append(str(error))
    try:
        rows = settings.rows(dialect)
    except DiscoverError as error:
        lines.append(str(error))
    lines += settings.recipe.problems(settings.stage, n_rows=len(rows.train) if rows else None)
    if rows is not None:
        lines += _domain_problems(settings.base, rows) + _system_problems(settings, rows, dialect)
        lines += filter(None, [rows_of.overlap(rows)])
    if settings.stage == "grpo":
        lines += _role_problems(settings, rows)
        if settings.thinking and settings.recipe.grpo.multi_turn > 1:
            lines.append("thoughts of earlier turns are not read again and cannot be trained on; set multi_turn to 1")
    if not lines and access:
        try:
            access.check(settings.models())
        except RunOptionsError as error:
            lines.append(str(error))
    return lines


def checked(settings: StageSettings, folder: Path, access: Access | None = None) -> Backend:
    """The backend for these settings, after all checks of `problems`, before any file is loaded or written.

    Args:
        access: access to GRPO's language models; None for the access in the folder.

    Raises:
        DiscoverError: all obstacles in one line.
        RunOptionsError: a key, a price or a package is missing.
    """
    from discover_lib.train.access import Access

    lines = problems(settings)
    lines += filter(None, [in_the_way(folder, settings.to_dict())])
    try:
        backend = choose_backend(settings.backend, settings.base)
        part = settings.recipe.of(settings.stage)
        lines += [f"{settings.stage}: {line}" for line in unsuitable(part, backend)]
    except DiscoverError as error:
        lines.append(str(error))
    refuse(lines)
    (access or Access.read(folder)).check(settings.models())
    return backend


def run_stage(settings: StageSettings, folder: Path, *, on_progress: Progress = print) -> StageResult:
    """Train one stage in its folder, or resume it.

    Args:
        on_progress: receives lines of text.

    Raises:
        DiscoverError: all obstacles in one line; only the settings were written.
    """
    backend = checked(settings, folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / SETTINGS).exists():
        write_json(folder / SETTINGS, settings.to_dict())
    on_progress(backend.line)
    prepare(backend)
    return _Run(settings, folder, backend, on_progress).train()


def run_here(settings: StageSettings, folder: Path, on_progress: Progress, access: Access | None = None) -> JobStatus:
    """Train in this process, as a run.  Ctrl-C stops cleanly; a second Ctrl-C stops at once.

    A refused training leaves no new folder.

    Raises:
        DiscoverError: see `training_job.start`.
    """
    new = not folder.exists()
    begin_here(settings.to_dict(), folder, access)
    status = work_on(folder, on_progress, train_folder)
    if new and status.halt == REFUSED:
        shutil.rmtree(folder)
    return status


def train_folder(folder: Path, on_progress: Progress) -> StageResult:
    """Run the stage of a run's settings."""
    return run_stage(StageSettings.from_dict(TrainingJob(folder).settings()), folder, on_progress=on_progress)


class _Run:
    """One attempt."""

    def __init__(self, settings: StageSettings, folder: Path, backend: Backend, on_progress: Progress) -> None:
        self.settings, self.folder, self.backend, self.on_progress = settings, folder, backend, on_progress
        self.part = settings.recipe.of(settings.stage)
        self.chain = settings.chain()
        base = self.chain.base.path
        self.chat = Chat(load_tokenizer(base), settings.thinking)
        self.source = settings.rows(dialect_of(base))
        self.dialect = dialect_of(base, self.source.system)
        self.rows, self.held_out = self._fitting()

    def train(self) -> StageResult:
        from discover_lib.train.access import HeldUpError

        settings = self.settings
        self._check()
        model = load_policy(
            self.chain.base.path,
            [each.path for each in self.chain.adapters],
            settings.recipe.lora,
            self.part,
            self.backend,
            seed=settings.seed,
            scratch=outputs_folder() / "cache",
        )
        trained = sum(each.numel() for each in model.parameters() if each.requires_grad)
        total = self.part.steps(len(self.rows))
        self._lineage().write(self.folder)  # its checkpoints can be asked while it trains
        self.on_progress(f"{settings.stage}: {len(self.rows)} rows, {total} updates, {trained:,} trained parameters")
        with ExitStack() as stack:
            trainer, recorder, rounds = self._trainer(stack, model)
            halt = ""
            try:
                trainer.train(resume_from_checkpoint=self._checkpoint())
            except HeldUpError as error:
                recorder.stopped, halt = True, error.kind
                self.on_progress(
                    f"{error}; stopped after step {trainer.state.global_step}; repeat the command to resume"
                )
            return self._finish(trainer, recorder, rounds, halt)

    def _fitting(self) -> tuple[Sequence[dict[str, Any]], Sequence[dict[str, Any]]]:
        """The rows within the length limit, for training and for measurement.  GRPO's prompts leave room for a reply.

        Raises:
            LocalModelError: the base's chat template refuses them.
        """
        part = self.part
        limit = part.max_length - (part.max_completion if isinstance(part, GrpoRecipe) else 0)
        measured = self.source.held_out[: part.eval_rows if isinstance(part, SupervisedRecipe) else 0]
        train, line = rows_of.fit(self.source.train, self.dialect, self.chat, limit, "training rows")
        held_out, other = rows_of.fit(measured, self.dialect, self.chat, limit, "held-out rows")
        for told in filter(None, (line, other)):
            self.on_progress(told)
        return train, held_out

    def _check(self) -> None:
        """Checks that need the tokenizer and the model's configuration, before the model is loaded."""
        settings, base, tokenizer = self.settings, self.chain.base.path, self.chat.tokenizer
        lines = settings.recipe.problems(settings.stage, n_rows=len(self.rows), context=context_of(base))
        if self.backend.device == "cuda":
            lines += misfit(settings.stage, base, settings.recipe, present_card(), self.backend.name)
        ends, mark = ends_of(base, tokenizer), tokenizer.decode(self.chat.closing[:1])
        lines += holding(
            {
                f"the base's chat template ends a reply with {mark!r}, which its settings do not name as an end "
                "(eos_token_id), so replies would not stop; choose an instruction-tuned base, or correct its "
                "settings": (not set(self.chat.closing[:1]) & set(ends)),
                "the base's tokenizer can pad only with its end mark, which Unsloth's GRPO would remove from the "
                "prompts; use --backend transformers": (
                    self.backend.name == "unsloth" and settings.stage == "grpo" and tokenizer.pad_token_id in ends
                ),
            }
        )
        refuse(lines)

    def _trainer(self, stack: ExitStack, model: Any) -> tuple[Any, Recorder, Rounds | None]:
        from transformers import PrinterCallback
        from transformers.integrations import get_reporting_integration_callbacks

        from discover_lib.train.access import Access, patient_client
        from discover_lib.train.trainers import Recorder

        part, settings, access = self.part, self.settings, Access.read(self.folder)
        samples: Samples = partial(self._answers, model)
        where = (self.backend, self.folder, settings.seed)
        if isinstance(part, SupervisedRecipe):
            from discover_lib.train.trainers import supervised_trainer

            trainer = supervised_trainer(model, self.chat.tokenizer, self.rows, self.held_out, part, *where)
        elif isinstance(part, GrpoRecipe):
            from discover_lib.train.grpo.simulated_reward import Users
            from discover_lib.train.grpo.trainer import RoundsCallback, grpo_trainer

            client = None
            if settings.models():
                client = stack.enter_context(patient_client(access, self.folder, self.on_progress))
            trainer = grpo_trainer(
                model,
                self.chat,
                self.rows,
                self.source,
                part,
                *where,
                dialect=self.dialect,
                users=Users(RoleEngines(settings.spec, client), part.tau),
                threads=part.workers if client else 1,
                spending=client.spending if client else dict,
                on_progress=self.on_progress,
            )
            samples = trainer.samples
        recorder = Recorder(self.folder, samples, sample_steps=part.sample_steps, on_progress=self.on_progress)
        trainer.remove_callback(PrinterCallback)
        for callback in (*get_reporting_integration_callbacks(list(access.report_to)), recorder):
            trainer.add_callback(callback)
        rounds = getattr(trainer, "rounds", None)
        if rounds is not None:
            trainer.add_callback(RoundsCallback(trainer, recorder))
        return trainer, recorder, rounds

    def _answers(self, model: Any) -> list[dict[str, Any]]:
        """The model's replies to a few held-out prompts, for the stored samples of SFT and DPO."""
        from discover_lib.train.grpo.rollouts import Sampler, seeded
        from discover_lib.train.grpo.simulated_reward import Scored, sample_of

        every: dict[str, Mapping[str, Any]] = {}  # two users may start with the same words
        for row in self.source.held_out or self.source.train:
            every.setdefault(json.dumps(_first_prompt(row)), row)
        sampler = Sampler(model, self.chat, min(256, self.part.max_length // 2), temperature=0.7)
        answered = []
        for row in list(every.values())[:SAMPLED]:
            prompt, domain = _first_prompt(row), rows_of.domain_of(row)
            with seeded(self.settings.seed):
                ids = sampler.complete([self.chat.prompt(self.dialect.encode(prompt, domain))])[0]
            reply = self.dialect.decode(*said(ids, self.chat.tokenizer, sampler.ends), domain, ())
            kind = "broken" if is_broken(reply) else ""
            answered.append(sample_of(prompt, [Scored(reply, None, kind=kind)]))
        return answered

    def _checkpoint(self) -> str | None:
        """The last complete checkpoint.  An incomplete one is removed."""
        checkpoints = (self.folder / CHECKPOINTS).glob("checkpoint-*")
        for path in sorted(checkpoints, key=lambda path: int(path.name.split("-")[1]), reverse=True):
            try:
                step = read_json(path / "trainer_state.json")["global_step"]
            except DiscoverError:
                shutil.rmtree(path)
                continue
            self.on_progress(f"resuming from step {step}")
            return str(path)
        return None

    def _finish(self, trainer: Any, recorder: Recorder, rounds: Rounds | None, halt: str) -> StageResult:
        from discover_lib.train.trainers import peak_memory_mb

        state, stopped = trainer.state, recorder.stopped
        kept = rounds.best() if rounds and not stopped else None
        result = StageResult(
            folder=self.folder,
            stopped=stopped,
            step=state.global_step,
            total_steps=state.max_steps,
            adapter=None if stopped else self.folder / ADAPTER,
            rows=len(self.rows),
            seconds=round(recorder.seconds, 1),
            peak_memory_mb=round(peak_memory_mb(), 1),
            kept_round=kept,
            halt=halt,
        )
        if not stopped:
            with whole_folder(self.folder / ADAPTER) as target:  # the adapter alone, without a trainer's reference copy
                if rounds is not None and kept is not None:
                    shutil.copytree(rounds.adapter(kept), target, dirs_exist_ok=True)
                    self.on_progress(rounds.told(kept))
                else:
                    model = trainer.accelerator.unwrap_model(trainer.model)
                    model.save_pretrained(str(target), selected_adapters=["default"])
            write_json(self.folder / RESULT, result.to_dict())
            self.on_progress(f"the LoRA adapter (the trained weights) is in {self.folder / ADAPTER}")
        return result

    def _lineage(self) -> Lineage:
        settings = self.settings
        return Lineage(
            stage=settings.stage,
            base=self.chain.base,
            merged=self.chain.adapters,
            recipe=settings.recipe.to_dict(),
            data=self.source.describe(),
            run=self.folder.resolve().name,
            seed=settings.seed,
            backend=self.backend.name,
            versions=versions(),
            system=self.source.system,
            thinking=settings.thinking,
        )


def _first_prompt(row: Mapping[str, Any]) -> list[dict[str, str]]:
    """A row's conversation up to the first reply, or a preference row's prompt."""
    if "messages" not in row:
        return list(row["prompt"])
    first = next(place for place, each in enumerate(row["messages"]) if each["role"] == "assistant")
    return list(row["messages"][:first])


# -- checks ------------------------------------------------------------------------------------------------------------


def _domain_problems(base: str, rows: TrainingRows) -> list[str]:
    """A tiny model reads only the domains of its pretraining."""
    try:
        known = tiny_domains(base)
    except LocalModelError as error:
        return [str(error)]
    if known is None:
        return []
    domains = {rows_of.domain_of(row) for row in (*rows.train, *rows.held_out)}
    lost = sorted(domains - set(known))
    return [f"{base} knows the domains {', '.join(known)}, and the rows are of {', '.join(lost)}"] if lost else []


def _system_problems(settings: StageSettings, rows: TrainingRows, dialect: Dialect) -> list[str]:
    """Whether the rows contain the requested system message."""
    if settings.system == "none" or (rows.system == system_text(settings.system) and dialect.text == "content"):
        return []
    if dialect.text == "notation":
        return ["the tiny model reads no system message; set system to none"]
    return [f"{settings.data}: exported rows with another system message; export them again with --system"]


def _role_problems(settings: StageSettings, rows: TrainingRows | None) -> list[str]:
    """Whether the live reward's roles exist."""
    part, roles = settings.recipe.grpo, {"judge": settings.judge, "voice": settings.voice}
    domains = {rows_of.domain_of(row) for row in rows.train} if rows else set()
    found = {
        f"{role} {name!r} is neither 'miniature' nor a LiteLLM model name such as openai/NAME": (
            name != MINIATURE and not is_model(name)
        )
        for role, name in roles.items()
    } | {
        "some rows are of no miniature domain; name language models as judge and voice, and let no script look ahead "
        "(look_ahead 0)": "" in domains and (MINIATURE in roles.values() or part.look_ahead > 0)
    }
    return holding(found)


if __name__ == "__main__":  # the process of a run, which `training_job.start` starts
    ended = work_on(Path(sys.argv[1]), lambda line: None, train_folder)
    sys.exit(1 if ended.state == "failed" else 0)
