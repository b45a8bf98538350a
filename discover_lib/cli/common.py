"""What commands share: their options as records, errors as one line, and the console that they print to."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from importlib.metadata import requires
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand

from discover_lib.base.errors import DiscoverError
from discover_lib.cli.terminal import visible
from discover_lib.core.rules import Rules
from discover_lib.engines.options import EFFORTS, RoleOptions
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

# Exit codes, as the help of `discover` lists them.
DONE = 0
UNFINISHED = 1  # it ended by itself, and something failed or is missing
USAGE_ERROR = 2
OVER_BUDGET = 3
NO_ACCESS = 4  # a key is missing or refused, or a server cannot be reached
ALARM = 5  # of an audit
STOPPED = 130
EXIT_CODES = (
    "Exit codes: 0 all done; 1 finished, but something failed (of `audit`: not certified; of `doctor`: something "
    "chosen cannot work); 2 what was asked for cannot be done; 3 the budget does not cover the next call; 4 a key is "
    "missing or refused, or a server cannot be reached; 5 `audit` raised an alarm; 130 stopped by Ctrl-C."
)
PIPE_COLUMNS = 160  # a pipe has no width of its own; tables then need more room than the 80 columns of rich


class SplitName(StrEnum):
    """Which of the generated artifacts."""

    train = "train"
    eval = "eval"


class RulesName(StrEnum):
    """Rules that a command can be run under."""

    paper = "paper"
    authors = "authors"

    @property
    def rules(self) -> Rules:
        return Rules.named(self.value)


# -- options ----------------------------------------------------------------------------------------------------------

Seed = Annotated[int, typer.Option(help="Same seed, same result.")]
Turns = Annotated[int, typer.Option(min=1, max=50)]
Engine = Annotated[str, typer.Option(help="Who judges and speaks for the user: miniature, or a LiteLLM model.")]
NearMissCap = Annotated[
    int | None, typer.Option(min=1, help="Near misses of one intent that count in one reply, at most; default: all.")
]
RoleModel = Annotated[str | None, typer.Option(help="Model for this role, instead of --engine.")]
Prompts = Annotated[Path | None, typer.Option(help="A folder of prompts in place of ours.")]
ApiBase = Annotated[
    list[str] | None,
    typer.Option(
        help="An OpenAI-compatible server, for models named openai/NAME; repeatable: conversations are shared out "
        "among servers of the same models."
    ),
]
KeyVariable = Annotated[str | None, typer.Option(help="Environment variable that holds the key for --api-base.")]
MaxTokens = Annotated[
    list[str],
    typer.Option(metavar="[ROLE=]N", help="Limit of one answer's tokens, thinking included; ROLE=N for one role."),
]
Temperature = Annotated[
    list[str], typer.Option(metavar="[ROLE=]X", help="From 0 to 2, or none: left to the provider; ROLE=X for one role.")
]
Timeout = Annotated[
    list[str],
    typer.Option(metavar="[ROLE=]SECONDS", help="Of one attempt at a call; default 120; ROLE=S for one role."),
]
ReasoningEffort = Annotated[
    list[str],
    typer.Option(metavar="[ROLE=]EFFORT", help=f"How long models may think: {', '.join(EFFORTS)}; as --max-tokens."),
]
PRICES_HELP = "Own prices, before LiteLLM's table: a YAML file in the form that docs/commands.md shows."
Prices = Annotated[Path | None, typer.Option(help=PRICES_HELP)]
PerMinute = Annotated[float | None, typer.Option(min=1, help="A limit per provider; calls queue for it.")]
RunBudget = Annotated[float | None, typer.Option(min=0, help="Dollars for the whole run; stops cleanly.")]


def capped(rules: Rules, near_miss_cap: int | None) -> Rules:
    """The rules, with a cap on near misses where one is given."""
    return rules if near_miss_cap is None else rules.replace(near_miss_cap=near_miss_cap)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelFlags:
    """How language models are asked: VALUE for all, or ROLE=VALUE; roles are those of `RoleOptions`."""

    max_tokens: MaxTokens = dataclasses.field(default_factory=list)
    temperature: Temperature = dataclasses.field(default_factory=list)
    timeout: Timeout = dataclasses.field(default_factory=list)
    reasoning_effort: ReasoningEffort = dataclasses.field(default_factory=list)

    @property
    def role_options(self) -> RoleOptions:
        return RoleOptions.read(**{each.name: getattr(self, each.name) for each in dataclasses.fields(ModelFlags)})


def with_flags(flags: type[Flags], *records: type[Asked]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Make a command of a function of one record: every field of the dataclass becomes an option.

    Fields are annotated as Typer reads parameters; those without a default come first in the help.

    Args:
        records: of desks; the fields that the dataclass lacks become options, too, handed over by name.
    """

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        def run(**given: Any) -> T:
            return command(flags(**{name: given.pop(name) for name in own}), **given)

        hints = get_type_hints(flags, include_extras=True)
        own = {
            field.name: inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[field.name]
            )
            for field in dataclasses.fields(flags)  # type: ignore[arg-type]
        }
        theirs = {each.name: flag_of(each) for record in records for each in fields_of(record)}
        return _signed(run, [*(theirs | own).values()], command.__doc__)

    return decorate


def _signed(run: Callable[..., T], parameters: list[inspect.Parameter], help: str | None) -> Callable[..., T]:
    """The function as Typer reads one of these parameters."""
    parameters.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__doc__ = help
    return run


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default


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
    note = Annotated[Path | None, typer.Option(help="Write the report: .csv, or else JSON.")]
    parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=note))
    return _signed(run, parameters, task.question)


def at_terminal(task: Task, asked: Asked, how: How | None = None) -> Report:
    """The report of a desk, told, after a bar that says how far it is."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shown_on = console(stderr=True)
    with Progress(*columns, console=shown_on, transient=True, disable=not shown_on.is_terminal) as progress:
        bar = progress.add_task(task.name, total=None)

        def shown(now: Status) -> None:
            progress.update(bar, completed=now.done, total=now.total or None, description=now.line)

        try:
            report = do(task, asked, how, shown)
        except Stopped:
            raise KeyboardInterrupt from None  # told, and given its code, as Ctrl-C is
    report.print(console())
    return report


class OneValueCommand(TyperCommand):
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
        return super().parse_args(ctx, args)


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
