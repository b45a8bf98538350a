"""A page's panels: of any task (`TaskPanel`), and of the runs that a page makes: open one, begin, stop, resume.

marimo runs a cell anew when a state or a control that it *names* has changed, and forgets the controls of a cell that
it runs anew.  So the page takes the panel in four cells, one for each thing that changes at another time:

    panel = RunPanel("synthesis", FIRST_RUN)                      # opens a run, or makes a small one
    get_folder, get_activity, get_progress = panel.states

    run_choice = panel.choice(get_folder(), get_activity())       # when another is opened, begins or ends

    clock = panel.clock(get_folder(), get_activity())             # ticks only while something is made

    panel.view(clock, get_folder(), get_activity(), after=[run_choice])

Cells that read the run name `get_folder` and `get_progress`.  What the button begins is set by `panel.ask(...)`, which
makes no control anew.  marimo is imported where it is used: the library itself does without it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import data_folder, outputs_folder
from discover_lib.core.conversation import Conversation
from discover_lib.core.rules import Rules
from discover_lib.dataset.rows import Origin
from discover_lib.metrics.scores import ConversationScores
from discover_lib.runs.evaluation import ceilings_of, load_scores
from discover_lib.runs.options import RunOptions, RunOptionsError
from discover_lib.runs.outcomes import closing_lines
from discover_lib.runs.store import RunStore, StoreError
from discover_lib.tasks.waist import (
    REQUIRED,
    Asked,
    Field,
    R,
    Report,
    Status,
    Task,
    begin,
    fields_of,
    read,
    reading_of,
    report_of,
    status_of,
    stop,
)
from discover_lib.train import training_job as training
from discover_lib.train.training_job import TrainingJob
from workbench.carried import address
from workbench.jobs import (
    Job,
    configuration_of,
    domains_of,
    find_evaluations,
    find_runs,
    folder_of,
    labelled,
    last_of,
    started,
)
from workbench.parts import report_html
from workbench.views import conversation_parts as show
from workbench.views.html import progress as bar
from workbench.views.html import tag

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import ClientSettings
    from discover_lib.train.access import Access
    from discover_lib.train.run_stage import StageSettings
    from discover_lib.train.training_job import JobStatus

FIRST_SYNTHESIS = RunOptions(
    ("ask", "options", "adaptive"), domain="svg_drawing", split="train", artifacts=20, candidates=1
)
FIRST_EVALUATION = RunOptions(("draft", "ask", "options", "adaptive"), artifacts=20)
NO_PAIRS = (
    "In this run, every turn has only one reply, so the run has no pairs. You can export it as SFT and prompt rows."
)
SECONDS_WAITED = 30.0  # for the first run of a page, which takes one or two where nothing else goes on


class Panel(ABC):
    """What the panels of all pages share.

    Attributes:
        states: three marimo states to be named by the page: `get_folder`, what is open (None: nothing);
            `get_activity`, a count of what was begun, ended or refused; `get_progress`, how much was last read of it.
        get_pressed: a fourth, for pages that begin something: how often `begin_button` was pressed.
        trouble: one line on what was refused or went wrong last, or "".
        ticking: whether the page still takes what is open for being made; it ends one tick after `going`.
        begin_button: for the page to place; stop and go-on stand in `view`, where they can do something.
    """

    parameter: str  # of the page's address, which names what is open
    # Else at the end: a page that reads hundreds of conversations while they are made hears no press of Stop.
    read_at_every_tick = False

    def __init__(self, begin: str) -> None:
        import marimo as mo

        folder, self.trouble = self._opened(address().get(self.parameter))
        self.get_folder, self._set_folder = mo.state(folder)
        self.get_activity, self._set_activity = mo.state(0)
        self.get_progress, self._set_progress = mo.state(self._read_at_first())
        self.states = (self.get_folder, self.get_activity, self.get_progress)
        self.get_pressed, self._set_pressed = mo.state(0)
        self._heard = 0  # presses that were answered
        self.ticking = False

        def button(label: str, action: Callable[[], Path | None], **options: Any) -> Any:
            return mo.ui.button(label=label, on_click=lambda _: self.attempt(action), **options)

        self.begin_button = mo.ui.button(label=begin, on_click=lambda _: self._set_pressed(_next), kind="success")
        self._stop_button = button("■ Stop", self.stop)
        self._resume_button = button("Go on with this run", self.resume)

    # -- what a kind of panel knows ------------------------------------------------------------------------------------

    @abstractmethod
    def known(self) -> dict[str, Path]:
        """What can be opened, newest first: name in the menu → folder."""

    def name_of(self, folder: Path) -> str:
        """How the address names it."""
        return str(folder.relative_to(outputs_folder()))

    @abstractmethod
    def _opened(self, asked: str | None) -> tuple[Path | None, str]:
        """What the page opens with, given what its address names, and a line to tell if that is not there."""

    @abstractmethod
    def begin(self) -> Path:
        """Begin what was asked for; its folder.  Raises `DiscoverError`."""

    @abstractmethod
    def stop(self) -> Path | None:
        """Ask what is open for its end."""

    @abstractmethod
    def resume(self) -> Path | None:
        """Go on with what is open.  Raises `DiscoverError`."""

    @property
    @abstractmethod
    def going(self) -> bool:
        """Whether what is open is being made now."""

    @abstractmethod
    def _look(self) -> tuple[Markup, int, bool]:
        """What is open in words, how much of it there is to read, and whether it can be gone on with."""

    def _ended(self) -> str:
        """What went wrong with what has just ended, or ""."""
        return ""

    # -- what the page calls -------------------------------------------------------------------------------------------

    def attempt(self, action: Callable[[], Path | None]) -> None:
        """Do something and open its folder; what is refused becomes one line on the page."""
        self.trouble = ""
        try:
            folder = action()
        except (DiscoverError, OSError) as error:
            self.trouble, folder = " ".join(str(error).split()), None
        if folder is None:
            self._set_activity(_next)
        else:
            self.open(folder)

    def begin_if_pressed(self, pressed: int) -> None:
        """Begin what was asked for if `begin_button` was pressed since the last time.

        The page calls this where it asks, and not the button itself: a busy page hears a choice and the press after it
        at once, and the button would then begin what was chosen before.
        """
        if pressed > self._heard:
            self._heard = pressed
            self.attempt(self.begin)

    def open(self, folder: Path) -> None:
        """Look at another folder, and let the page's address name it."""
        import marimo as mo

        mo.query_params().set(self.parameter, self.name_of(folder))
        if folder != self.get_folder():
            self._set_folder(folder)
            self._set_progress(self._read_at_first())
        self._set_activity(_next)

    def _read_at_first(self) -> int:
        """All there is of what is open, so that a page reads it once; -1 while it is being made: `view` says then."""
        return -1 if self.get_folder() is None or self.going else self._look()[1]

    def choice(self, folder: Path | None, activity: int, label: str = "or open a run") -> Any:
        """A menu of what can be opened."""
        import marimo as mo

        known = self.known()
        if folder is not None and folder not in known.values():
            known["new run"] = folder  # it is named by its configuration, which is not written yet
        name = next((name for name, each in known.items() if each == folder), None)
        return mo.ui.dropdown(known, value=name, label=label, searchable=True, full_width=True, on_change=self.open)

    def clock(self, folder: Path | None, activity: int) -> Any:
        """Ticks once a second while what is open is being made; nothing to see otherwise."""
        import marimo as mo

        self.ticking = self.going
        return mo.ui.refresh(options=["1s"], default_interval="1s") if self.ticking else mo.md("")

    def view(
        self, clock: Any, folder: Path | None, activity: int, *, before: Sequence[Any] = (), after: Sequence[Any] = ()
    ) -> Any:
        """The buttons that can do something now, between others of the page, and how far it is."""
        import marimo as mo

        getattr(clock, "value", None)  # read, so that a tick is one of this cell
        going = self.going
        words, progress, resumable = self._look()
        if self.ticking and not going:  # the last tick
            self.trouble = self._ended()
            self._set_activity(_next)
        if progress != self.get_progress() and (self.read_at_every_tick or not going):
            self._set_progress(progress)
        buttons = ((self._stop_button, going), (clock, self.ticking), (self._resume_button, resumable and not going))
        row = [*before, *(each for each, here in buttons if here), *after]
        trouble = show.error_line(f"{self.trouble[0].upper()}{self.trouble[1:]}") if self.trouble else Markup("")
        status = show.styled(Markup('<div role="status">{}</div>').format(words), trouble)
        return mo.vstack([mo.hstack(row, justify="start", align="end", gap=1, wrap=True), mo.Html(status)])


def _next(count: int) -> int:
    return count + 1


# -- runs and evaluations ----------------------------------------------------------------------------------------------


def standing(folder: Path, going: bool) -> tuple[Markup, int, bool] | None:
    """How far a run is in words, how much there is to read, and whether it can resume; None before its plan is there.

    What is to be read grows with every conversation and every score.  The words say what language models were asked.
    """
    try:
        with RunStore.read(folder) as store:
            counts, kind = store.counts(), store.configuration.get("kind")
            several, asked = len(store.configuration.get("assistants") or ()), closing_lines(store)
    except StoreError:
        return None
    if not counts.units:
        return None
    scored = kind == "evaluate"
    read = counts.finished + (counts.assessed if scored else 0)
    share = read / (counts.units * (2 if scored else 1))
    done = f", {counts.assessed} scored" if scored and counts.assessed < counts.units else ""
    failed = f", {counts.failed} failed" if counts.failed else ""
    state = " · in progress; finished conversations are saved" if going else " · not finished; it can resume"
    beside = f", {several} replies each turn" if several > 1 and kind == "synthesize" else ""
    words = (
        f"{counts.finished} of {counts.units} conversations{done}{failed}{state if going or share < 1 else ''}{beside}"
    )
    bar = Markup('<progress value="{:.3f}" style="display:block;width:100%"></progress>').format(share)
    lines = (show.quiet(words, small=True), bar if going or share < 1 else show.EMPTY, *map(show.quiet, asked))
    return show.joined(lines), read, share < 1


class RunPanel(Panel):
    """Runs that are made in the background of this process: of conversations, or with domains, evaluations.

    Args:
        place: folder below the outputs folder for what the page makes.
        first: what opens where the address names no run. It is made once, without asking.
        domains: of the first evaluation.
    """

    parameter = "run"

    def __init__(
        self, place: str, first: RunOptions, domains: Sequence[str] = (), *, begin: str = "Begin", first_is: str = ""
    ) -> None:
        self._place, self._first, self._domains = place, first, tuple(domains)
        self._first_is = first_is or "a small run"
        self._asked: Job | None = None
        self._refusal = ""
        super().__init__(begin)

    def ask(
        self,
        options: RunOptions | None,
        settings: ClientSettings | None = None,
        cap_dollars: float | None = None,
        *,
        domains: Sequence[str] = (),
        refusal: str = "",
    ) -> None:
        """Say what the button is to begin, or why it cannot.

        Args:
            cap_dollars: the most that may be spent where language models take part, which costs money.
            domains: of an evaluation; () for a run that is not scored.
        """
        self._asked, self._refusal = None, refusal or "choose what to run"
        if options is None or refusal:
            return
        if not options.models(options.everyone):
            settings = cap_dollars = None
        elif not cap_dollars:
            self._refusal = "language models cost money: enter the maximum cost, then press again"
            return
        self._asked = Job(outputs_folder(), options, tuple(domains), settings, cap_dollars)

    # -- of runs -------------------------------------------------------------------------------------------------------

    def known(self) -> dict[str, Path]:
        found = find_evaluations(outputs_folder()) if self._domains else find_runs(outputs_folder())
        return labelled(list(found.values()))

    def _opened(self, asked: str | None) -> tuple[Path, str]:
        trouble = ""
        if asked:
            named = outputs_folder() / asked
            if asked in find_runs(outputs_folder()) or last_of(named):
                return named, trouble
            trouble = f"there is no run {asked!r} here; this is another one"
        folder, problem = self._made_first()
        return folder, trouble or problem

    def _made_first(self) -> tuple[Path, str]:
        """A small run, made while the page waits."""
        import marimo as mo

        folder = folder_of(self._first, outputs_folder() / self._place, self._domains)
        job = started(Job(folder, self._first, self._domains))
        with mo.status.spinner(title=f"Making {self._first_is}"):
            job.wait(SECONDS_WAITED)
        return job.folder, job.trouble

    def begin(self) -> Path:
        if self._asked is None:
            raise RunOptionsError(self._refusal)
        folder = folder_of(self._asked.options, outputs_folder() / self._place, self._asked.domains)
        return started(replace(self._asked, folder=folder)).folder

    def stop(self) -> Path | None:
        if job := last_of(self.get_folder()):
            job.stop()
        return None

    def resume(self) -> Path | None:
        configuration = configuration_of(self.get_folder())
        options = RunOptions.from_configuration(configuration)
        if options.models(options.everyone):
            raise RunOptionsError(
                "this run uses language models: choose the same models and a maximum cost, and start again"
            )
        return started(Job(self.get_folder(), options, domains_of(configuration))).folder

    @property
    def going(self) -> bool:
        job = last_of(self.get_folder())
        return job is not None and job.running

    def _look(self) -> tuple[Markup, int, bool]:
        folder, going = self.get_folder(), self.going
        words = "Planning the conversations …" if going else "There is no conversation yet."
        return standing(folder, going) or (show.quiet(words), -1, False)

    def _ended(self) -> str:
        job = last_of(self.get_folder())
        return job.trouble if job else ""


# -- what pages read of a run ------------------------------------------------------------------------------------------


def synthesis_panel(begin: str = "Begin") -> RunPanel:
    """The panel of the pages about conversations to train on."""
    return RunPanel("synthesis", FIRST_SYNTHESIS, begin=begin, first_is="20 small conversations")


def evaluation_panel(begin: str = "Begin") -> RunPanel:
    """The panel of the pages about an evaluation."""
    return RunPanel(
        "evaluations",
        FIRST_EVALUATION,
        ("svg_drawing",),
        begin=begin,
        first_is="a small evaluation: 80 conversations, about 10 seconds",
    )


@dataclass(frozen=True)
class SynthesisedRun:
    """Conversations to train on as a page reads them; `note` says what is to be known of them, or what is missing."""

    configuration: Mapping[str, Any]
    origin: Origin | None
    conversations: tuple[Conversation, ...]
    note: Markup

    @property
    def rules(self) -> Rules:
        """Those that its conversations were held under."""
        return self.conversations[0].rules

    @classmethod
    def of_run(cls, folder: Path) -> SynthesisedRun:
        """All conversations with a turn, finished or not; none where the run cannot be read."""
        try:
            with RunStore.read(folder) as store:
                configuration = store.configuration
                origin = Origin.of_run(folder.name, configuration)
                conversations = tuple(each for each in store.conversations(finished=False) if each.turns)
        except (StoreError, KeyError) as error:
            return cls({}, None, (), show.quiet(f"Nothing to read yet ({error})."))
        if not conversations:
            return cls(configuration, origin, (), show.quiet("No conversation is finished yet."))
        several = any(len(turn.candidates) > 1 for each in conversations for turn in each.turns)
        return cls(configuration, origin, conversations, show.EMPTY if several else show.quiet(NO_PAIRS))


@dataclass(frozen=True)
class EvaluatedRun:
    """The scores of an evaluation as a page reads them; `missing` says why there are none, and is empty else."""

    configuration: Mapping[str, Any]
    scores: list[ConversationScores]
    missing: Markup
    ceilings: Mapping[str, float] = field(default_factory=dict)  # artifact → what could be found of its user at all

    @classmethod
    def of_run(cls, folder: Path) -> EvaluatedRun:
        try:
            with RunStore.read(folder) as store:
                configuration, ceilings = store.configuration, ceilings_of(store)
            scores = load_scores(folder)
        except StoreError as error:
            return cls({}, [], show.error_line(str(error)))
        missing = show.EMPTY if scores else show.quiet("No conversation of this evaluation is finished yet.")
        return cls(configuration, scores, missing, ceilings)


# -- any task ----------------------------------------------------------------------------------------------------------

TOLD_EVERY = 0.3  # seconds
SEEN_EVERY = 1.0  # seconds, until work that was begun elsewhere is seen


def control(field: Field) -> Any:
    """What a person chooses the value of a field with."""
    import marimo as mo

    value = None if field.default is REQUIRED else field.default
    label = field.ask.help.rstrip(".")
    if field.choices:
        return mo.ui.dropdown(list(field.choices), value=value, label=label)
    if field.kind is bool:
        return mo.ui.checkbox(value=bool(value), label=label)
    text = ", ".join(map(str, value or ())) if field.many else "" if value is None else str(value)
    return mo.ui.text(text, "folder; empty: the built-in ones" if field.default is None else "", label=label)


def chosen(record: type[R], values: Mapping[str, Any]) -> R:
    """What controls hold: an empty text is the default, the items of several stand between commas.

    Raises:
        DiscoverError: as the record.
    """
    plain = {}
    for each in fields_of(record):
        value = values[each.name]
        if each.many and isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        if value not in ("", None):
            plain[each.name] = value
    return read(record, plain)


class TaskPanel:
    """A desk on a page: its controls, Begin, Stop and Resume, how far it is, and what came out.  Two cells:

        certifying = TaskPanel(certify)
        get_told = certifying.get_told                      # the page names it, and is told of every step

        certifying.view(get_told())

    The work is done in a process of its own: the page hears every press, a page that was closed finds it again, and it
    goes on when the server has ended.  What was begun by a command is found and stopped here, too.

    Args:
        given: names of fields that the page gives `view` itself.
        begin, again: labels of the button, without a result and with one; "" for the same.
    """

    def __init__(self, task: Task, given: Sequence[str] = (), begin: str = "Begin", again: str = "") -> None:
        import marimo as mo

        self.task, self._given, self._trouble = task, dict.fromkeys(given), ""
        self.get_told, self._set_told = mo.state(0, allow_self_loops=True)
        asked = {each.name: control(each) for each in fields_of(task.asked) if each.name not in given}
        self.asked = mo.ui.dictionary(asked, on_change=self._again)
        self.how = mo.ui.dictionary({each.name: control(each) for each in fields_of(task.how)})
        self._begin_button, self._repeat_button = (
            self._button(label, self.begin, kind="success") for label in (begin, again or begin)
        )
        self._resume_button = self._button("Resume", self.begin, kind="success")
        self._stop_button = self._button("■ Stop", lambda: stop(self.folder))

    def _button(self, label: str, action: Callable[[], Any], **options: Any) -> Any:
        import marimo as mo

        def pressed(_: Any) -> None:
            self._trouble = ""
            try:
                action()
            except (DiscoverError, OSError) as error:
                self._trouble = " ".join(str(error).split())
            self._again()

        return mo.ui.button(label=label, on_click=pressed, **options)

    @property
    def question(self) -> Asked:
        """What the controls ask now; raises `DiscoverError`."""
        return chosen(self.task.asked, self._given | self.asked.value)

    @property
    def folder(self) -> Path:
        return self.task.folder(self.question)

    def begin(self) -> None:
        begin(self.task, self.question, chosen(self.task.how, self.how.value))

    def _again(self, _: Any = None) -> None:
        self._set_told(_next)

    def _watch(self, folder: Path, seen: Status) -> None:
        """Have the page told once there is more to see than was, also of work begun elsewhere; it watches on then."""
        import marimo as mo

        def watch() -> None:
            while not mo.current_thread().should_exit and status_of(folder) == seen:
                time.sleep(TOLD_EVERY if seen.state == "going" else SEEN_EVERY)
            if not mo.current_thread().should_exit:
                self._again()

        if mo.running_in_notebook():
            mo.Thread(target=watch, daemon=True).start()

    def bar(self, again: bool = False, **given: Any) -> Any:
        """The buttons that can do something now, and how far it is, one beside the other.

        Args:
            again: whether a result is shown, so that the button repeats.
        """
        import marimo as mo

        self._given |= given
        trouble, now = self._trouble, Status()
        try:
            now = status_of(self.folder)
            self._watch(self.folder, now)
        except DiscoverError as error:
            trouble = trouble or str(error)
        going, resumable = now.state == "going", now.state in ("stopped", "failed")
        idle = self._resume_button if resumable else self._repeat_button if again else self._begin_button
        button = self._stop_button if going else idle
        words: list[Markup] = []
        if going or resumable:
            words = [
                tag("span", f" {now.state}: {now.done} of {now.total} {now.line}"),
                bar(now.done / max(1, now.total)),
            ]
        if trouble or now.trouble:
            words.append(show.error_line(trouble or now.trouble))
        said = mo.Html(show.styled(tag("div", *words, role="status")))
        return mo.hstack([button, said], justify="start", align="center", gap=1, wrap=True)

    def view(self, told: int, report: Report | None = None, **given: Any) -> Any:
        """Everything of it.

        Args:
            told: read off `get_told` by the page's cell, which is run anew when it changes.
            report: what is shown in place of what came out of the task itself.
            given: fields that the page gives.
        """
        import marimo as mo

        bar = self.bar(again=report is not None and report.plain is not None, **given)

        def row(controls: Any) -> Any:
            return mo.hstack(list(controls.elements.values()), justify="start", align="end", gap=1, wrap=True)

        settings = mo.accordion({"Settings": mo.vstack([row(self.asked), row(self.how)])})
        return mo.vstack([bar, mo.Html(show.styled(self._told(report))), settings])

    def _told(self, report: Report | None) -> Markup:
        own = None
        with suppress(DiscoverError):
            own = report_of(self.folder) if status_of(self.folder).state == "finished" else None
        grown = own is not None and own.made_of != reading_of(self.question)
        note = (
            show.quiet("The run has grown since this was made; begin again to have all of it.") if grown else show.EMPTY
        )
        told = report or own
        return (report_html(told) if told else show.EMPTY) + note


# -- training ----------------------------------------------------------------------------------------------------------


MADE_EARLIER = "made earlier"


def trained_earlier() -> Path:
    """What `tools/train_earlier.py` has made once, to be looked at without the libraries that training needs."""
    return data_folder() / "training"


class TrainingPanel(Panel):
    """Training runs, each a process of its own, which goes on when the page is closed."""

    parameter = "job"
    read_at_every_tick = True

    def __init__(self, begin: str = "Train") -> None:
        self._settings: tuple[StageSettings, Path, Access | None] | None = None
        self._refusal = ""
        super().__init__(begin)

    def ask(self, settings: StageSettings, folder: Path, refusal: str = "", access: Access | None = None) -> None:
        """Say what the button is to train, where, and how language models are reached; or why it cannot."""
        self._settings, self._refusal = (settings, folder, access), refusal

    @property
    def job(self) -> TrainingJob | None:
        """The run that is open."""
        return TrainingJob(self.get_folder()) if self.get_folder() else None

    @property
    def status(self) -> JobStatus | None:
        return self.job.status() if self.job else None

    @property
    def logged(self) -> list[dict[str, Any]]:
        """All that the open run has logged."""
        return self.job.metrics() if self.job else []

    def known(self) -> dict[str, Path]:
        own = labelled([job.folder for job in training.find_jobs(outputs_folder()).values()])
        earlier = trained_earlier() / "sft"
        return own | ({f"SFT of tiny · svg drawing · {MADE_EARLIER}": earlier} if earlier.is_dir() else {})

    def name_of(self, folder: Path) -> str:
        return super().name_of(folder) if folder.is_relative_to(outputs_folder()) else MADE_EARLIER

    def _opened(self, asked: str | None) -> tuple[Path | None, str]:
        known = {self.name_of(folder): folder for folder in self.known().values()}
        if asked and asked not in known:
            return None, f"there is no training run {asked!r} here"
        return known[asked] if asked else next(iter(known.values()), None), ""

    def begin(self) -> Path:
        if self._refusal or self._settings is None:
            raise DiscoverError(self._refusal or "choose what to train")
        return training.start(*self._settings).folder

    def stop(self) -> Path | None:
        if self.job:
            self.job.stop()
        return None

    def resume(self) -> Path | None:
        return self.job.resume().folder if self.job else None

    @property
    def going(self) -> bool:
        status = self.status
        return status is not None and status.going

    def _look(self) -> tuple[Markup, int, bool]:
        status = self.status
        if status is None:
            return Markup("No training run yet."), -1, False
        return Markup(""), len(self.logged), status.resumable
