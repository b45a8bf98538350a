"""What page 50 works out from its controls: rows, base model, folder, who judges, and what stands in the way."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder
from discover_lib.dataset.preview import TEMPLATES, tiny_sequences
from discover_lib.engines.spec import MINIATURE
from discover_lib.train.access import Access
from discover_lib.train.data import Row, load_rows, overlap
from discover_lib.train.recipes import Recipe
from discover_lib.train.run_stage import StageSettings
from workbench.controls import Choice, ChoiceError, plan_table, read_choice
from workbench.echo import train_command
from workbench.jobs import Work, last_of, started
from workbench.views import conversation_parts as show
from workbench.views import pair_parts as show_pairs
from workbench.views.html import EMPTY, Markup, tag

CARRIES = {
    "sft": "A whole conversation. What the assistant said carries loss, and nothing else.",
    "dpo": "One prompt, two replies. The chosen one is made likelier than the rejected one, relative to the model "
    "that training starts from.",
    "grpo": "Nothing here carries loss. The model answers this prompt itself, several times; the simulated user "
    "that the row’s state restores rewards each answer.",
}


def rows_to_train_on(folder: Path, stage: Any, tiny: bool, system: str = "none") -> tuple[Sequence[Row], str]:
    """The rows of a stage, and why there are none or why they must not be trained on."""
    try:
        rows = load_rows(folder, stage, "notation" if tiny else "content", system=system)
    except DiscoverError as error:
        return (), str(error)
    return rows.train, overlap(rows)


def row_preview(rows: Sequence[Row], number: int, stage: str, tiny: bool) -> Markup:
    """One row as the model sees it, with what carries loss; `number` counts from 1."""
    if not rows:
        return show.quiet("There is no such row in these data: choose others.")
    row = rows[number - 1]
    made = tiny_sequences(row, row["domain"]) if tiny else TEMPLATES["Qwen2.5"].sequences(row)
    heard = (
        " The user’s words reach the tiny model through what the miniature’s lexicon hears in them."
        if tiny
        else " Other bases have other templates; page 41 shows them."
    )
    note = show.quiet(f"{CARRIES[stage]} As {'the tiny model' if tiny else 'Qwen2.5'} sees it.{heard}")
    return show.panel(f"Row {number} of {len(rows):,}, and what carries loss", note, show_pairs.loss(made))


def run_folder(settings: StageSettings) -> Path:
    """A readable folder, the same for the same settings, so that training them again goes on with the run."""
    decided = hashlib.blake2b(json.dumps(settings.to_dict(), sort_keys=True).encode(), digest_size=4).hexdigest()
    base = Path(settings.base)
    name = "tiny" if base.parent.name == "tiny" else base.name
    after = f"-after-{Path(settings.adapter).name.split('-')[0]}" if settings.adapter else ""
    return outputs_folder() / "train" / f"{settings.stage}{after}-{name}-{decided}"


@dataclass(frozen=True)
class Judging:
    """Who judges and speaks in GRPO, and how they are reached; `refusal` says what is wrong with the choice."""

    choice: Choice = field(default_factory=Choice)
    access: Access | None = None
    refusal: str = ""

    @classmethod
    def of(cls, stage: str, form: Any, cap_dollars: float | None) -> Judging:
        """What the form of models asks for; in other stages than GRPO nobody judges."""
        if stage != "grpo":
            return cls()
        try:
            choice = read_choice(form)
            if choice.leak_check:
                raise ChoiceError("in training the voice's messages are not checked for paraphrases; leave that out")
            models = {choice.judge, choice.voice} != {MINIATURE}
            access = Access(choice.client_settings, cap_dollars or None) if models else None
        except ChoiceError as error:
            return cls(refusal=str(error))
        free = access is None or cap_dollars or choice.api_base  # a server of one's own has no price to hold a cap to
        return cls(choice, access, "" if free else "language models cost money: say how much may be spent")

    @property
    def settings(self) -> dict[str, Any]:
        """What of it a stage's settings hold."""
        return {"judge": self.choice.judge, "voice": self.choice.voice, "options": dict(self.choice.options.given)}

    def plan(self, settings: StageSettings) -> Markup:
        """What they will take, before anything is spent."""
        if self.access is None:
            return EMPTY
        from discover_lib.train.forecast import plan_stage

        try:
            plan = plan_stage(settings, self.access)
        except (DiscoverError, OSError) as error:
            return show.error_line(str(error))
        return plan_table(plan.stages, f"Before anything is spent: {'; '.join(plan.assumptions[:1])}")


@dataclass
class RehearsalJob(Work):
    """`discover train --rehearse` in a process of its own, so that what it loads does not stay in the page's."""

    command: str = ""
    lines: list[str] = field(default_factory=list, init=False)

    def work(self) -> None:
        program = "from workbench.main import main; main()"
        words = [sys.executable, "-c", program, *shlex.split(self.command)[1:], "--rehearse"]
        with subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if self._stop.is_set():
                    process.terminate()
                if line.strip() and not line.startswith("\r"):
                    self.lines.append(line.strip())
        self.trouble = self.lines.pop() if process.returncode and self.lines else ""


class Rehearser:
    """The button that rehearses what the page would train, and what came out of it.

    rehearser = Rehearser()
    get_rehearsed = rehearser.get_progress              # the page names it, and is told of every line

    rehearser.view(settings, preset, folder, get_rehearsed())
    """

    def __init__(self) -> None:
        import marimo as mo

        self.get_progress, self._set_progress = mo.state(0, allow_self_loops=True)

    def view(self, settings: StageSettings, preset: Recipe, folder: Path, count: int) -> Any:
        """The button, or how far it is; then each line that it said."""
        import marimo as mo

        job = last_of(RehearsalJob, folder)
        lines = [tag("li", line) for line in (job.lines if job else [])]
        trouble = show.error_line(job.trouble) if job is not None and job.trouble else EMPTY
        said = mo.Html(show.styled(tag("ul", *lines, role="status") if lines else EMPTY, trouble))
        if job is not None and job.running:
            return mo.vstack([mo.ui.button(label="■ Stop rehearsing", on_click=lambda _: job.stop()), said])
        command = train_command(settings, preset, folder)

        def begin(_: Any) -> None:
            running = started(RehearsalJob(folder, command))

            def watch() -> None:
                while running.running:
                    self._set_progress(lambda number: number + 1)
                    running.wait(1.0)
                self._set_progress(lambda number: number + 1)

            mo.Thread(target=watch).start()

        label = "Rehearse all stages here, at toy size"
        return mo.vstack([mo.ui.button(label=label, on_click=begin), said])
