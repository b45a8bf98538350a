"""Shared by all desks: a record of options, a folder with the state of the work, and a report.

A desk is a function `(asked, how, folder, tell) → Report` with a name, made by `@task`.  Raising means failed,
returning means finished, and a stop that was asked for raises `Stopped`.  Its folder, one for the same question, holds

    options.json   decides the result                       stop        requests a clean end
    status.json    how far it is, as its worker writes it   lock        held for as long as somebody works
    report.json    the result                               log.txt     output of a separate process

beside a folder in which the desk saves its work.  This module knows no desk, no engine and no page.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import sys
import threading
import time
import traceback
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import outputs_folder, write_json
from discover_lib.metrics.intervals import Estimate
from discover_lib.runs.job_folder import BEGINS_IN, LOG, STATUS, is_at_work, start_process, working
from discover_lib.runs.store import RunStore

if TYPE_CHECKING:
    from rich.console import Console

OPTIONS, STOP, REPORT = "options.json", "stop", "report.json"
BETWEEN = 0.2  # seconds between two writings of a status
REQUIRED: Any = object()  # in place of a default


class Stopped(Exception):
    """Raised in a desk when a stop was requested; its saved work stays."""


# -- options ----------------------------------------------------------------------------------------------------------


class Ask(msgspec.Struct, frozen=True):
    """The help and the range of a field: `artifacts: Annotated[int, ask("Artifacts for the panel.", least=1)] = 40`."""

    help: str
    least: float | None = None
    most: float | None = None


ask = Ask  # in annotations


class Run(type(Path())):  # type: ignore[misc]
    """A run's folder: a path on the command line, a menu of the runs on a page."""


RunFolder = Annotated[Run, ask("Run folder.")]


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of a desk's options: frozen, plain in JSON, always checked.

    Raises:
        DiscoverError: naming the field that cannot be so.
    """

    def __post_init__(self) -> None:
        for each in fields_of(type(self)):
            given = getattr(self, each.name)
            try:
                value = msgspec.convert(given, each.hint, strict=False, dec_hook=lambda kind, value: kind(value))
            except msgspec.ValidationError as error:
                raise DiscoverError(f"{each.name} is {given!r}: {error}") from None
            each.check(value)
            msgspec.structs.force_setattr(self, each.name, value)

    def plain(self) -> dict[str, Any]:
        """As plain data; a run's folder is absolute, since a process may have another current folder."""
        return dict(
            msgspec.to_builtins(self, enc_hook=lambda path: str(path.resolve() if isinstance(path, Run) else path))
        )


class How(Asked, frozen=True):
    """How the work is done: it does not affect the result, and may differ when work resumes."""


class Field(msgspec.Struct, frozen=True):
    """One field of a record, as flags and controls read it.

    Attributes:
        kind: int, float, bool, str, Path or Run; of the items where there are `many`.
        default: `REQUIRED` without a default.
    """

    name: str
    kind: type
    hint: Any
    default: Any
    ask: Ask
    choices: tuple[Any, ...] = ()
    optional: bool = False
    many: bool = False

    def check(self, value: Any) -> None:
        """Raises `DiscoverError` where a value of the right type is out of range, or no folder."""
        if isinstance(value, Run) and not value.is_dir():
            raise DiscoverError(f"{value}: no run here")
        least, most = self.ask.least, self.ask.most
        if isinstance(value, int | float) and not (
            (least is None or value >= least) and (most is None or value <= most)
        ):
            bounds = [f"at least {least}"] * (least is not None) + [f"at most {most}"] * (most is not None)
            raise DiscoverError(f"{self.name} is {value}; it must be {' and '.join(bounds)}")


@cache
def fields_of(record: type[Asked]) -> tuple[Field, ...]:
    """The fields of a record, in their order."""
    hints = typing.get_type_hints(record, include_extras=True)
    return tuple(
        _field(each.name, *typing.get_args(hints[each.name])[:2], default=each.default)
        for each in msgspec.structs.fields(record)
    )


def _field(name: str, hint: Any, note: Ask, *, default: Any) -> Field:
    optional = typing.get_origin(hint) in (types.UnionType, typing.Union)
    kind = next(part for part in typing.get_args(hint) if part is not type(None)) if optional else hint
    many = typing.get_origin(kind) is tuple
    kind = typing.get_args(kind)[0] if many else kind
    choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else ()
    default = REQUIRED if default is msgspec.NODEFAULT else default
    return Field(name, type(choices[0]) if choices else kind, hint, default, note, choices, optional, many)


R = TypeVar("R", bound=Asked)


def read(record: type[R], data: Mapping[str, Any]) -> R:
    """The record that plain data describe.  Raises `DiscoverError` as the record, and for fields missing or unknown."""
    try:
        return record(**data)
    except TypeError as error:
        raise DiscoverError(str(error)) from None


# -- reports ----------------------------------------------------------------------------------------------------------

Tone = Literal["plain", "good", "open", "bad"]
COLOURS = {"plain": "", "good": "green", "open": "yellow", "bad": "red"}
AS_IT_IS: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}  # texts of others are no markup


class Interval(msgspec.Struct, frozen=True, tag="interval"):
    """A number with its interval and its n."""

    mean: float
    low: float | None
    high: float | None
    n: int
    trials: int

    @classmethod
    def of(cls, estimate: Estimate) -> Interval:
        return cls(estimate.mean, estimate.low, estimate.high, estimate.n_artifacts, estimate.n_trials)

    @property
    def estimate(self) -> Estimate:
        return Estimate(self.mean, self.low, self.high, self.n, self.trials)

    def __str__(self) -> str:
        return str(self.estimate)


class Mark(msgspec.Struct, frozen=True, tag="mark"):
    """A word with a tone: a verdict in a cell."""

    text: str
    tone: Tone = "plain"

    def __str__(self) -> str:
        return self.text


class Quote(msgspec.Struct, frozen=True, tag="quote"):
    """Words of somebody, some of them marked: (start, end) in order."""

    text: str
    marked: tuple[tuple[int, int], ...] = ()

    def parts(self) -> Iterator[tuple[str, bool]]:
        """The text in pieces, each with whether it is marked."""
        at = 0
        for start, end in self.marked:
            if start >= at:
                yield self.text[at:start], False
                yield self.text[start:end], True
                at = end
        yield self.text[at:], False

    def __str__(self) -> str:
        return self.text


Cell = str | int | float | None | Interval | Mark | Quote


class Lines(msgspec.Struct, frozen=True, tag="lines"):
    """A verdict or notes."""

    lines: tuple[str, ...]
    tone: Tone = "plain"

    def print(self, console: Console) -> None:
        for line in self.lines:
            console.print(line, style=COLOURS[self.tone] or None, soft_wrap=True, **AS_IT_IS)

    def rows_of_csv(self) -> list[list[Any]]:
        return [[line] for line in self.lines]


class Table(msgspec.Struct, frozen=True, tag="table"):
    """Columns with a meaning each.  `shown` rows are told at first; None: all of them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    shown: int | None = None

    def print(self, console: Console) -> None:
        from rich.table import Table as RichTable
        from rich.text import Text

        def rich(cell: Cell) -> Text:
            if isinstance(cell, Quote):
                return Text.assemble(*((words, "reverse" if marked else "") for words, marked in cell.parts()))
            return Text("" if cell is None else str(cell), COLOURS[cell.tone] if isinstance(cell, Mark) else "")

        table = RichTable(title=Text(self.title), title_justify="left")
        for name in self.columns:
            table.add_column(Text(name), overflow="fold")
        for row in self.rows[: self.shown]:
            table.add_row(*map(rich, row))
        console.print(table)
        if more := len(self.rows[len(self.rows[: self.shown]) :]):
            console.print(f"and {more} more (--out writes all)", **AS_IT_IS)

    def rows_of_csv(self) -> list[list[Any]]:
        """An interval takes three columns."""
        wide = [any(isinstance(row[at], Interval) for row in self.rows) for at in range(len(self.columns))]
        head: list[Any] = []
        for name, is_wide in zip(self.columns, wide, strict=True):
            head += [name, f"{name} low", f"{name} high"] if is_wide else [name]
        return [head, *([value for cell in row for value in _values(cell)] for row in self.rows)]


class Chart(msgspec.Struct, frozen=True, tag="chart"):
    """Dots with their intervals on one scale; `to_one`: from 0 to 1."""

    rows: dict[str, Interval]
    title: str
    to_one: bool = False

    @classmethod
    def dots(cls, rows: Mapping[str, Estimate], title: str, *, to_one: bool = False) -> Chart:
        return cls({name: Interval.of(each) for name, each in rows.items()}, title, to_one)

    def print(self, console: Console) -> None:
        console.print(self.title, **AS_IT_IS)
        most = 1.0 if self.to_one else max((abs(each.mean) for each in self.rows.values()), default=0.0) or 1.0
        for name, each in self.rows.items():
            console.print(f"  {name:<10} {'█' * round(24 * abs(each.mean) / most):<24} {each}", **AS_IT_IS)

    def rows_of_csv(self) -> list[list[Any]]:
        return [[self.title, "mean", "low", "high"], *([name, *_values(each)] for name, each in self.rows.items())]


class Picture(msgspec.Struct, frozen=True, tag="picture"):
    """A finished drawing, and its description in words."""

    svg: str
    words: str

    def print(self, console: Console) -> None:
        console.print(f"[{self.words}]", **AS_IT_IS)

    def rows_of_csv(self) -> list[list[Any]]:
        return [[self.words]]


def _values(cell: Cell) -> list[Any]:
    return [cell.mean, cell.low, cell.high] if isinstance(cell, Interval) else [cell if cell is None else str(cell)]


class Report(msgspec.Struct, frozen=True):
    """What a desk has to say.

    Attributes:
        plain: the same as JSON.
        exit_code: of a command.
        made_of: run → the reading of it (`reading_of`); set by the waist.
    """

    parts: tuple[Lines | Table | Chart | Picture, ...]
    plain: Any = None
    exit_code: int = 0
    made_of: dict[str, Any] = {}

    def print(self, console: Console) -> None:
        for part in self.parts:
            part.print(console)

    def csv(self) -> str:
        """Its parts one below the other, an empty line between two."""
        text = io.StringIO()
        for part in self.parts:
            csv.writer(text, lineterminator="\n").writerows([*part.rows_of_csv(), []])
        return text.getvalue()

    def write(self, path: Path) -> None:
        """As CSV where the name says so, else as JSON."""
        if path.suffix == ".csv":
            path.write_text(self.csv(), encoding="utf-8")
        else:
            write_json(path, self.plain)


# -- a task and its folder --------------------------------------------------------------------------------------------

Work = Callable[[Any, Any, Path, "Tell"], Report]


@dataclass(frozen=True)
class Task:
    """A desk: its name, its question, its options, and the function that answers; `keeps`: in a folder."""

    name: str
    question: str
    asked: type[Asked]
    how: type[How]
    work: Work
    keeps: bool = True

    def __call__(self, asked: Asked, how: How | None = None) -> Report:
        """Do the work here; raises as `do`."""
        return do(self, asked, how)

    def folder(self, asked: Asked) -> Path:
        """Where this very question is answered, below the run that it is about.

        The run's path and default values are not part of the identity.  So a run can be moved and a field can be
        added, and work that was started is found again.
        """
        about = next((value for _, value in _runs_of(asked)), outputs_folder())
        plain = asked.plain()
        changed = {
            each.name: plain[each.name] for each in _own(self.asked) if getattr(asked, each.name) != each.default
        }
        digest = hashlib.blake2b(json.dumps(changed).encode(), digest_size=4).hexdigest()
        return Path(about) / self.name / digest


def task(name: str, question: str, *, keeps: bool = True) -> Callable[[Work], Task]:
    """Make a desk of a function; the annotations of `asked` and `how` are its records.

    Args:
        keeps: whether it keeps a folder; one that does not is never begun, only done in place.
    """

    def decorate(work: Work) -> Task:
        hints = typing.get_type_hints(work)
        return Task(name, question, hints["asked"], hints["how"], work, keeps)

    return decorate


def _own(record: type[Asked]) -> list[Field]:
    return [each for each in fields_of(record) if each.kind is not Run]


def _runs_of(asked: Asked) -> list[tuple[str, Path]]:
    return [(each.name, getattr(asked, each.name)) for each in fields_of(type(asked)) if each.kind is Run]


def reading_of(asked: Asked) -> dict[str, Any]:
    """The state of the runs that the options name: the configuration of each, and how much is finished."""
    found = {}
    for name, folder in _runs_of(asked):
        with contextlib.suppress(DiscoverError), RunStore.read(folder) as store:
            begun = json.dumps(store.configuration, sort_keys=True)
            digest = hashlib.blake2b(begun.encode(), digest_size=4).hexdigest()
            found[name] = {"configuration": digest, "finished": store.counts().finished}
    return found


class Status(msgspec.Struct, frozen=True):
    """The progress of a task; `trouble` is one line about a failure."""

    state: Literal["none", "going", "stopped", "finished", "failed"] = "none"
    done: int = 0
    total: int = 0
    line: str = ""
    trouble: str = ""
    changed: float = 0.0


def status_of(folder: Path) -> Status:
    """As the worker wrote it, if there still is one."""
    try:
        written = _status(folder)
    except FileNotFoundError:
        return Status()
    if written.state != "going" or is_at_work(folder):
        return written
    if not written.line:  # its process has not begun yet
        late = time.time() - written.changed > BEGINS_IN
        trouble = f"it never began; see {folder / LOG}"
        return msgspec.structs.replace(written, state="failed", trouble=trouble) if late else written
    written = _status(folder)  # it may have ended in between
    if written.state == "going":
        return msgspec.structs.replace(written, state="stopped", trouble="killed; it resumes from its saved work")
    return written


def _status(folder: Path) -> Status:
    return msgspec.convert(json.loads((folder / STATUS).read_bytes()), Status)


def stop(folder: Path) -> None:
    """Ask for a clean end."""
    (folder / STOP).touch()


def report_of(folder: Path) -> Report | None:
    """What came out, as any process reads it."""
    path = folder / REPORT
    return msgspec.convert(json.loads(path.read_bytes()), Report) if path.is_file() else None


class Tell:
    """Takes how far the work is and writes it down; `stop` is set once an end is asked for."""

    def __init__(self, folder: Path, shown: Callable[[Status], None]) -> None:
        self.stop = threading.Event()
        self._folder, self._shown, self._due = folder, shown, 0.0
        self.status = Status("going", line="begun", changed=time.time())
        self.note(0, 0)

    def __call__(self, done: int, total: int, line: str = "") -> None:
        """Raises `Stopped` once an end is asked for; a desk that hands `stop` on calls `note` instead."""
        self.note(done, total, line)
        if self.stop.is_set():
            raise Stopped("stopped")

    def note(self, done: int, total: int, line: str = "") -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + BETWEEN
            if (self._folder / STOP).exists():
                self.stop.set()
            self.write(done=done, total=total, line=line or self.status.line)

    def write(self, **changes: Any) -> None:
        self.status = msgspec.structs.replace(self.status, changed=time.time(), **changes)
        write_json(self._folder / STATUS, msgspec.to_builtins(self.status))
        self._shown(self.status)


def do(
    task: Task,
    asked: Asked,
    how: How | None = None,
    shown: Callable[[Status], None] = lambda _: None,
    *,
    folder: Path | None = None,
) -> Report:
    """Start or resume the work in this process; Ctrl-C and `stop` keep finished work.

    Args:
        folder: of a work that `begin` has settled already: a stop that was asked for since then counts.

    Raises:
        Stopped, KeyboardInterrupt: an end was asked for.
        DiscoverError: somebody is at work in the folder, or it holds something else; and as the desk.
    """
    how, made_of = how or task.how(), reading_of(asked)
    with contextlib.ExitStack() as stack:
        if not task.keeps:
            place = Path(stack.enter_context(TemporaryDirectory()))
        else:
            place = folder or task.folder(asked)
            stack.enter_context(working(place, BETWEEN))
            if folder is None:
                _settle(task, asked, place)
        tell = Tell(place, shown)
        try:
            report = task.work(asked, how, place, tell)
        except (Stopped, KeyboardInterrupt):
            tell.write(state="stopped")
            raise
        except BaseException as error:
            said = str(error) if isinstance(error, DiscoverError | OSError) else f"{type(error).__name__}: {error}"
            tell.write(state="failed", trouble=" ".join(said.split()))
            raise
        report = msgspec.structs.replace(report, made_of=made_of)
        write_json(place / REPORT, msgspec.to_builtins(report))
        tell.write(state="finished", done=tell.status.total)
    return report


def _settle(task: Task, asked: Asked, folder: Path) -> None:
    path, name, plain = folder / OPTIONS, f"{task.work.__module__}:{task.name}", asked.plain()
    if path.is_file():
        before = json.loads(path.read_bytes())
        there = read(task.asked, before["asked"] | {name: plain[name] for name, _ in _runs_of(asked)})
        if before["task"] != name or there != asked:  # a run may have been moved, a field have come along
            raise DiscoverError(f"{folder} holds another question; take another folder")
    write_json(path, {"task": name, "asked": plain})
    (folder / STOP).unlink(missing_ok=True)


def begin(task: Task, asked: Asked, how: How | None = None) -> Path:
    """Start or resume the work in a separate process that outlives this one; returns its folder."""
    folder = task.folder(asked)
    if status_of(folder).state == "going":
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    _settle(task, asked, folder)
    write_json(folder / STATUS, msgspec.to_builtins(Status("going", changed=time.time())))
    command = [sys.executable, "-m", "discover_lib.tasks", str(folder), json.dumps((how or task.how()).plain())]
    start_process(folder, command)
    return folder


def work_in(folder: Path, how: Mapping[str, Any]) -> None:
    """The work of a separate process; a desk is found by its name in its module."""
    settled = json.loads((folder / OPTIONS).read_bytes())
    module, _, name = settled["task"].partition(":")
    task: Task = getattr(import_module(module), name)
    try:
        do(task, read(task.asked, settled["asked"]), read(task.how, how), folder=folder)
    except Stopped:
        return
    except DiscoverError:
        traceback.print_exc()  # its line is in the status
