"""The parts that commands share: options and their help, errors as one line, and the console that they print to.

A command declares an option as a parameter, with its name, type and default, or as a field of a record, as desks do.
`SHARED` has the sentence and the metavar of options without their own.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand
from typer.models import ArgumentInfo

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import writable_file
from discover_lib.cli.terminal import visible
from discover_lib.tasks.waist import (
    REQUIRED,
    Asked,
    Field,
    How,
    Lines,
    Report,
    Run,
    Stopped,
    Table,
    Task,
    do,
    fields_of,
    read,
)

if TYPE_CHECKING:
    from rich.console import Console


# Exit codes, as docs/commands.md lists them.
DONE = 0
UNFINISHED = 1  # the command ended, and a part failed or is missing
USAGE_ERROR = 2
OVER_BUDGET = 3
NO_ACCESS = 4  # a key is missing or refused, or a server cannot be reached
STOPPED = 130
PIPE_COLUMNS = 160  # for a pipe, which has no width; rich assumes 80 columns, which is too narrow for tables


SplitName = Literal["train", "eval"]
RulesName = Literal["paper", "authors"]
Turns = Annotated[int, typer.Option(min=1, max=50)]
Count = Annotated[int | None, typer.Option(min=1)]
Dollars = Annotated[float | None, typer.Option(min=0)]


SHARED = {  # parameter → metavar, sentence; "" where a record has the sentence
    "adapter": ("FOLDER", "Training run of the previous stage."),
    "api_base": ("URL", ""),
    "artifacts": ("N", "Number of artifacts."),
    "assistant": (
        "NAME",
        "Assistant to run; repeatable. A script (draft, ask, adaptive ...), the tiny model (tiny), a local model or "
        "training run (hf:DIR), or a LiteLLM model (MODEL, or MODEL+STYLE for a system prompt).",
    ),
    "backend": (None, "Training library: auto, unsloth or transformers."),
    "budget": (
        "USD",
        "Maximum cost in US$. The command stops before its cost exceeds this limit. Raise the limit to resume.",
    ),
    "builder": ("MODEL", "Also estimate the building of trees from your own artifacts with this model."),
    "candidates": ("N", "Replies of each assistant per turn. The reply with the highest reward is selected."),
    "changes": ("NAME=X", "Change a setting of the recipe, such as learning_rate=1e-4 or lora.r=16; repeatable."),
    "concurrency": ("N", "Parallel processes (miniature, default 1) or conversations (language models, default 64)."),
    "data": ("FOLDER", "Run folder, or a folder of rows from `discover export`."),
    "domain": ("NAME", "Domain of the generated artifacts; repeatable."),
    "engine": ("MODEL", "Model for judge and voice: miniature or a LiteLLM model."),
    "final_request": (None, "Wording that asks for the final artifact: ours, or the paper's."),
    "folder": ("FOLDER", "Study store (default: outputs/study-NAME)."),
    "judge": ("MODEL", "Model for the judge, in place of --engine."),
    "key_variable": ("NAME", ""),
    "labels": ("FILE", ""),
    "leak_check": (
        "MODEL",
        "Model that checks the user's hints for paraphrased leaks. 'judge' uses the judge's model.",
    ),
    "look_ahead": ("N", "Reward each candidate over N more turns, played by --reward-assistant."),
    "manner": ("STYLE", "Typing style of the users: paper, terse, rambling or people."),
    "max_tokens": ("[ROLE=]N", ""),
    "near_miss_cap": ("N", "Count at most N near misses per intent and reply (default: no limit)."),
    "on": ("ray[://HOST:PORT]", "Run on a Ray cluster in place of this machine's processes (docs/scale.md)."),
    "out": ("FOLDER", "Output folder."),
    "port": ("N", "Port on localhost."),
    "prices": ("FILE", ""),
    "prompts": ("FOLDER", "Prompt templates that replace the built-in ones."),
    "reasoning_effort": ("[ROLE=]LEVEL", ""),
    "reward_assistant": ("NAME", "Assistant that plays the look-ahead turns."),
    "rules": (None, "Reward rules: the paper's, or those of the authors' released code."),
    "run": ("FOLDER", "Run folder. Repeat the command to resume."),
    "seed": ("N", "Random seed. The same seed gives the same results."),
    "split": (None, "Set of generated artifacts: for training or for evaluation."),
    "system": ("TEXT", "System message of training rows: none, collaborative, or the text itself."),
    "temperature": ("[ROLE=]X", ""),
    "timeout": ("[ROLE=]SECONDS", ""),
    "trees": ("FOLDER", "Use the intent trees (JSON) in this folder, in place of --domain."),
    "trials": ("N", "Conversations per assistant and artifact."),
    "turns": ("N", "Maximum number of assistant turns."),
    "voice": ("MODEL", "Model that writes the user's messages, in place of --engine."),
}
OWN_PANEL = "Options"
LAST_PANELS = {  # in the order of the help, after the command's own options
    "Simulated user": {"rules", "near_miss_cap", "manner", "leak_check", "final_request"},
    "Cost and speed": {"budget", "prices", "concurrency", "on", "patience"},
    "Language models": {"engine", "judge", "voice", "prompts", "api_base", "key_variable"},
    "Model tuning": {"max_tokens", "temperature", "timeout", "reasoning_effort"},
}
PANEL_OF = {name: panel for panel, names in LAST_PANELS.items() for name in names}
BY_TYPE = {bool: "", int: "N", float: "X", Path: "FOLDER", str: "NAME"}


@cache  # several commands share a record of options
def parameters_of(command: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """The parameters of a function, their annotations read."""
    hints = get_type_hints(command, include_extras=True)
    found = inspect.signature(command).parameters.values()
    return tuple(each.replace(annotation=hints[each.name]) for each in found if each.kind is not each.VAR_KEYWORD)


def example_of(words: str) -> str:
    """The last line of a command's help."""
    return f"Example:\n\ndiscover {words}"


def also(parameters: Iterable[inspect.Parameter]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command further options, which it takes by name."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        command.also = tuple(parameters)  # type: ignore[attr-defined]
        return command

    return decorate


def command_from(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as Typer reads a command: its options described, its errors one line.

    A parameter that is a record of a desk becomes one option for each field of the record.
    """
    parameters = [*getattr(function, "also", ()), *parameters_of(function)]
    records = {each.name: each.annotation for each in parameters if is_record(each.annotation)}
    options = {each.name: each for each in parameters if each.name not in records}
    options |= {each.name: each for record in records.values() for each in flags_of(record)}

    def run(**given: Any) -> None:
        with one_line_errors():
            made = {
                name: read(record, {each: given.pop(each) for each in record.__struct_fields__})
                for name, record in records.items()
            }
            function(**made, **given)

    described = [_described(each) for each in options.values()]
    described.sort(key=_place)
    run.__signature__ = inspect.Signature(described)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in described}
    run.__doc__ = function.__doc__
    return run


def is_record(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Asked)


def _place(parameter: inspect.Parameter) -> tuple[int, bool]:
    """The place of an option in the help: by its panel, required ones first."""
    panel = parameter.annotation.__metadata__[0].rich_help_panel or OWN_PANEL
    return [OWN_PANEL, *LAST_PANELS].index(panel), parameter.default is not inspect.Parameter.empty


def _described(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter with its sentence, its metavar and its panel."""
    noted = get_origin(parameter.annotation) is Annotated
    hint, note = get_args(parameter.annotation)[:2] if noted else (parameter.annotation, typer.Option())
    metavar, sentence = SHARED.get(parameter.name, (None, ""))
    note = copy(note)
    note.help = note.help or sentence
    if isinstance(note, ArgumentInfo):
        note.metavar = note.metavar or parameter.name.upper()
    else:
        note.metavar = note.metavar or metavar or _metavar(hint)
        note.rich_help_panel = note.rich_help_panel or PANEL_OF.get(parameter.name, OWN_PANEL)
    return parameter.replace(annotation=Annotated[hint, note], kind=inspect.Parameter.KEYWORD_ONLY)


def _metavar(hint: Any) -> str:
    """The choices of one value, or a word for its type; empty for a switch."""
    if get_origin(hint) is Literal:
        return "|".join(get_args(hint))
    kinds = [each for each in get_args(hint) if each is not type(None)]
    return _metavar(kinds[0]) if kinds else BY_TYPE.get(hint, "NAME")


def flags_of(*records: type[Asked]) -> list[inspect.Parameter]:
    """The options of records: one a field, or an argument for a field without a default."""
    return [_flag(field) for record in records for field in fields_of(record)]


def _flag(field: Field) -> inspect.Parameter:
    required = field.default is REQUIRED
    hint: Any = Path if field.kind is Run else list[field.kind] if field.many else field.hint  # type: ignore[name-defined]
    bounds: dict[str, Any] = {"min": field.ask.least, "max": field.ask.most} if field.kind in (int, float) else {}
    named = [f"--{field.name.replace('_', '-')}"] if field.kind is bool else []  # without its opposite
    note = (typer.Argument if required else typer.Option)(*named, help=field.ask.help, **bounds)
    default = inspect.Parameter.empty if required else list(field.default) if field.many else field.default
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, note]
    )


def command_of(task: Task) -> Callable[..., None]:
    """The command of a desk: its fields as options, and the file for its report."""

    def run(
        *,
        asked: Any,
        how: Any,
        out: Annotated[
            Path | None, typer.Option(metavar="FILE", help="Write the report as CSV (FILE.csv) or JSON.")
        ] = None,
    ) -> None:
        if out is not None:
            writable_file(out)  # before any paid call
        report = at_terminal(task, asked, how)
        if out is not None:
            report.write(out)
        raise typer.Exit(report.exit_code)

    run.__annotations__ |= {"asked": task.asked, "how": task.how}
    run.__doc__ = task.question
    return run


def at_terminal(task: Task, asked: Asked, how: How | None = None) -> Report:
    """Do the work of a desk with a progress bar, and print its report."""
    with progress(task.name) as draw:
        report = do(task, asked, how, lambda now: draw(now.done, now.total or None, now.line))
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


class _QuickReader:
    """Reads the common values of options.  Typer reads the others by pydantic, whose import takes 0.1 s."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        kind = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if kind == list[str]:
            return list(value)
        chosen = get_origin(kind) is Literal and value in get_args(kind)
        if chosen or type(value) is kind:
            return value
        is_short = kind is int and re.fullmatch("[0-9]{1,9}", value)
        if is_short and _is_within(int(value), param.type_descriptor.parameter_info):
            return int(value)
        if kind is Path and not os.path.exists(value):  # Typer checks the access to a path that exists
            return Path(value)
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _is_within(number: int, bounds: Any) -> bool:
    return (bounds.min is None or bounds.min <= number) and (bounds.max is None or number <= bounds.max)


class PlainHelp:
    """A command whose --help has no type."""

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]
        option.metavar = ""
        option._runtime_param = _QuickReader()
        return option


class OneValueCommand(PlainHelp, TyperCommand):
    """A command that refuses a second value for an option of one value; Typer would keep the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for each in self.params:
            each._runtime_param = _QuickReader()  # type: ignore[attr-defined]
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
            error.message = error.message.replace("Value error, ", "")
            raise


# -- errors -----------------------------------------------------------------------------------------------------------


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn the user's errors into one line and an exit code: 4 if a model cannot be asked, else 2."""
    try:
        yield
    except DiscoverError as error:
        fail(str(error), code_of(error))
    except BrokenPipeError:
        raise  # the reader has closed the pipe, as `| head` does
    except ModuleNotFoundError as error:
        if (error.name or "discover_lib").startswith("discover_lib"):
            raise  # a defect of this package
        fail(what_to_install(error.name))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
    except (KeyboardInterrupt, Stopped):
        typer.echo("stopped", err=True)
        raise typer.Exit(STOPPED) from None


def what_to_install(module: str | None) -> str:
    """One line: which package is missing, and the command that installs it, with the project's extra if it has one."""
    from importlib.metadata import requires

    name = (module or "?").split(".")[0].replace("_", "-")
    listed = "\n".join(requires("discover-lib") or ())
    extra = re.search(rf"^{re.escape(name)}\b[^;]*;.*extra == [\"'](\w+)", listed, re.MULTILINE)
    how = f"pip install 'discover-lib[{extra[1]}]'" if extra else f"pip install {name}"
    return f"this needs {name}, which is not installed: {how}"


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
    from discover_lib.runs.store import failed_call

    return CODE_OF.get(failed_call(error), USAGE_ERROR)


def code_of_halt(halt: str) -> int:
    """The exit code of a run that ended early: "budget", "auth", "stopped"; else something failed."""
    return CODE_OF.get(halt, UNFINISHED)


def one_line(message: str) -> str:
    return visible(" ".join(message.split()))


def console(stderr: bool = False) -> Console:
    """A console that shows all texts without markup.  A line with markup asks for it, and escapes the texts in it."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else PIPE_COLUMNS, emoji=False, markup=False)


def tell(parts: Iterable[Lines | Table]) -> None:
    """Print parts of a report on standard output."""
    Report(tuple(parts)).print(console())
