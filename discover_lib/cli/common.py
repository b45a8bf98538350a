"""What commands share: their options as records, errors as one line, and the console that they print to."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, ParamSpec, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand

from discover_lib.base.errors import DiscoverError
from discover_lib.cli.flags import parameters_of, signed
from discover_lib.cli.terminal import visible
from discover_lib.engines.role_options import RoleOptions
from discover_lib.tasks.waist import (
    REQUIRED,
    Asked,
    Field,
    How,
    Report,
    Run,
    Status,
    Stopped,
    Task,
    do,
    fields_of,
    read,
)

if TYPE_CHECKING:
    from rich.console import Console


P = ParamSpec("P")
T = TypeVar("T")
Flags = TypeVar("Flags")

# Exit codes, as docs/commands.md lists them.
DONE = 0
UNFINISHED = 1  # it ended by itself, and something failed or is missing
USAGE_ERROR = 2
OVER_BUDGET = 3
NO_ACCESS = 4  # a key is missing or refused, or a server cannot be reached
ALARM = 5  # of an audit
STOPPED = 130
PIPE_COLUMNS = 160  # a pipe has no width of its own; tables then need more room than the 80 columns of rich


SplitName = Literal["train", "eval"]
RulesName = Literal["paper", "authors"]
Turns = Annotated[int, typer.Option(min=1, max=50)]
PerMinute = Annotated[float | None, typer.Option(min=1)]
Dollars = Annotated[float | None, typer.Option(min=0)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelFlags:
    """How language models are asked: VALUE for all, or ROLE=VALUE; roles are those of `RoleOptions`."""

    max_tokens: list[str] = dataclasses.field(default_factory=list)
    temperature: list[str] = dataclasses.field(default_factory=list)
    timeout: list[str] = dataclasses.field(default_factory=list)
    reasoning_effort: list[str] = dataclasses.field(default_factory=list)

    @property
    def role_options(self) -> RoleOptions:
        return RoleOptions.read(**{each.name: getattr(self, each.name) for each in dataclasses.fields(ModelFlags)})


def with_flags(
    flags: type[Flags], *records: type[Asked], without: Collection[str] = (), **defaults: Any
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Make a command of a function of one record: its fields, and the function's further parameters, become options.

    Args:
        records: of desks; the fields that are no option yet become options, too, handed over by name.
        without: fields that are no options of this command.
        defaults: of this command alone.
    """

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        def run(**given: Any) -> T:
            return command(flags(**{name: given.pop(name) for name in own}), **given)

        hints = get_type_hints(flags, include_extras=True)
        fields = inspect.signature(flags).parameters.values()
        own = {each.name: each.replace(annotation=hints[each.name]) for each in fields if each.name not in without}
        for field in dataclasses.fields(flags):  # type: ignore[arg-type]
            if field.default_factory is not dataclasses.MISSING and field.name in own:
                own[field.name] = own[field.name].replace(default=field.default_factory())
        own |= {name: own[name].replace(default=default) for name, default in defaults.items()}
        further = {each.name: each for each in parameters_of(command)[1:] if each.kind is not each.VAR_KEYWORD}
        theirs = {each.name: flag_of(each) for record in records for each in fields_of(record)}
        return signed(run, (theirs | further | own).values(), command.__doc__)

    return decorate


def flag_of(field: Field) -> inspect.Parameter:
    """The option, or without a default the argument, of one field of what can be asked."""
    kind: Any = typer.Argument if field.default is REQUIRED else typer.Option
    bounds = {"min": field.ask.least, "max": field.ask.most} if field.kind in (int, float) else {}
    named = [f"--{field.name.replace('_', '-')}"] if field.kind is bool else []  # without its opposite
    hint: Any = Path if field.kind is Run else list[field.kind] if field.many else field.hint  # type: ignore[name-defined]
    default: Any = inspect.Parameter.empty if field.default is REQUIRED else field.default
    note = Annotated[hint, kind(*named, help=field.ask.help, **bounds)]
    default = list(default) if field.many else default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=note)


def command_of(task: Task) -> Callable[..., None]:
    """The command of a desk: what is asked and how as flags, then what to write."""

    def run(*, out: Path | None, **given: Any) -> None:
        if out is not None:
            writable_file(out)  # before anything is paid
        asked = read(task.asked, {name: given[name] for name in task.asked.__struct_fields__})
        how = read(task.how, {name: given[name] for name in task.how.__struct_fields__})
        report = at_terminal(task, asked, how)
        if out is not None:
            report.write(out)
        raise typer.Exit(report.exit_code)

    parameters = [flag_of(each) for record in (task.asked, task.how) for each in fields_of(record)]
    note = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as CSV (FILE.csv) or JSON.")]
    parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=note))
    return signed(run, parameters, task.question)


def at_terminal(task: Task, asked: Asked, how: How | None = None) -> Report:
    """The report of a desk, told, after a bar that says how far it is."""
    with progress(task.name) as draw:

        def shown(now: Status) -> None:
            draw(now.done, now.total or None, now.line)

        try:
            report = do(task, asked, how, shown)
        except Stopped:
            raise KeyboardInterrupt from None  # told, and given its code, as Ctrl-C is
    report.print(console())
    return report


@contextmanager
def progress(unit: str) -> Iterator[Callable[..., None]]:
    """Draws a progress bar on standard error if that is a terminal: done, total, and a line."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = BarColumn(), MofNCompleteColumn(), TextColumn(f"{unit}  {{task.description}}", markup=False)
    bar = Progress(*columns, console=console(stderr=True), redirect_stdout=sys.stdout.isatty())
    task = bar.add_task("", total=None)

    def draw(done: int, total: int | None, more: str = "") -> None:
        bar.update(task, completed=done, total=total, description=more)
        bar.start()

    try:
        yield draw
    finally:
        bar.stop()


class PlainHelp:
    """A command whose --help has no type."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        option.metavar = ""
        return option


class OneValueCommand(PlainHelp, TyperCommand):
    """A command that refuses a second value for an option that takes one, where Typer would keep the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        parser = self.make_parser(ctx)
        options = [option for option in parser._long_opt.values() if option.action == "store"]
        for option in options:
            option.action = "append"
        given, _, _ = parser.parse_args(args=list(args))
        for option in options:
            if len(values := given.get(str(option.dest), ())) > 1:
                fail(f"{option.obj.opts[0]} takes one value, and is given {' and '.join(map(repr, values))}")
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = _with_nearest(error.message)
            raise


def _with_nearest(message: str) -> str:
    """The message about a value that is no choice, with the choice nearest to it."""
    message = message.replace("Value error, ", "")
    given, *choices = re.findall(r"'([^']+)'", message) or [""]
    near = get_close_matches(given, choices, 1)
    return f"{message.rstrip('.')}; did you mean {near[0]!r}?" if near else message


def command_from(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as Typer reads a command: its options described, its errors one line."""
    return signed(one_line_errors(function), parameters_of(function), function.__doc__)


# -- errors -----------------------------------------------------------------------------------------------------------


def one_line_errors(command: Callable[P, T]) -> Callable[P, T]:
    """Turn the errors that a person can mend into one line and an exit code: 4 if a model cannot be asked, else 2."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return command(*args, **kwargs)
        except DiscoverError as error:
            fail(str(error), code_of(error))
        except BrokenPipeError:
            raise  # the reader has gone, as `| head` does: nobody is left to tell
        except ModuleNotFoundError as error:
            if (error.name or "discover_lib").startswith("discover_lib"):
                raise  # a defect of this package
            fail(what_to_install(error.name))
        except OSError as error:
            fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)
            raise typer.Exit(STOPPED) from None

    return run


def what_to_install(module: str | None) -> str:
    """One line: which package is missing, and the command that installs it with the project's extra, if it has one."""
    from importlib.metadata import requires

    package = (module or "?").split(".")[0]
    for line in requires("discover-lib") or ():
        requirement, _, marker = line.partition(";")
        name = re.split(r"[^\w.-]", requirement.strip())[0]
        if extra := re.search(r"extra == [\"'](\w+)", marker):
            if name.replace("-", "_") == package:
                how = "install what training needs with 'make train', or " if extra[1] == "train" else ""
                return f"this needs {name}, which is not installed: {how}pip install 'discover-lib[{extra[1]}]'"
    return f"this needs {package}, which is not installed: pip install {package}"


def fail(message: str, code: int = USAGE_ERROR) -> NoReturn:
    typer.echo(f"discover: {one_line(message)}", err=True)
    raise typer.Exit(code)


CODE_OF = {
    "budget": OVER_BUDGET,
    "stopped": STOPPED,
    "auth": NO_ACCESS,
    "connection": NO_ACCESS,
    "refused": USAGE_ERROR,
}


def code_of(error: BaseException | None) -> int:
    """The exit code for an error: by the model call behind it, if there is one."""
    while error is not None:
        if (kind := getattr(error, "kind", None)) in CODE_OF:
            return CODE_OF[kind]
        error = error.__cause__
    return USAGE_ERROR


def code_of_halt(halt: str) -> int:
    """The exit code of a run that ended early: "budget", "auth", "stopped"; else something failed."""
    return CODE_OF.get(halt, UNFINISHED)


def one_line(message: str) -> str:
    return visible(" ".join(message.split()))


def writable(folder: Path) -> Path:
    """The folder, made if it is missing.

    Raises:
        DiscoverError: nothing can be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".write-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        message = f"{folder}: cannot be written to ({error.strerror or error}); choose another folder"
        raise DiscoverError(message) from None
    return folder


def writable_file(path: Path) -> Path:
    """The path, whose folder is made if it is missing.

    Raises:
        DiscoverError: no file can be written there.
    """
    writable(path.resolve().parent)
    if path.is_dir():
        raise DiscoverError(f"{path}: a folder stands there; name a file")
    return path


def console(stderr: bool = False) -> Console:
    """Where texts, also those of models and of runs of others, are shown as they are; a line of ours that has markup
    says so, and escapes what is not ours in it."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else PIPE_COLUMNS, emoji=False, markup=False)
