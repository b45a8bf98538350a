"""The parts that commands share: options and their help, errors as one line, and the console that they print to.

A command declares an option by its name, type and default.  `SHARED` has the sentence and the metavar of options
without their own.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from difflib import get_close_matches
from functools import cache, wraps
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NoReturn,
    ParamSpec,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import typer
from typer.core import TyperCommand
from typer.models import ArgumentInfo

from discover_lib.base.errors import DiscoverError
from discover_lib.cli.terminal import visible
from discover_lib.engines.role_options import EFFORTS, RoleOptions
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

    from discover_lib.engines.llm.calls.client import ClientSettings


P = ParamSpec("P")
T = TypeVar("T")

# Exit codes, as docs/commands.md lists them.
DONE = 0
UNFINISHED = 1  # the command ended, and a part failed or is missing
USAGE_ERROR = 2
OVER_BUDGET = 3
NO_ACCESS = 4  # a key is missing or refused, or a server cannot be reached
ALARM = 5  # of an audit
STOPPED = 130
PIPE_COLUMNS = 160  # for a pipe, which has no width; rich assumes 80 columns, which is too narrow for tables


SplitName = Literal["train", "eval"]
RulesName = Literal["paper", "authors"]
Turns = Annotated[int, typer.Option(min=1, max=50)]
PerMinute = Annotated[float | None, typer.Option(min=1)]
Count = Annotated[int | None, typer.Option(min=1)]
Dollars = Annotated[float | None, typer.Option(min=0)]


SHARED = {  # parameter → metavar, sentence
    "adapter": ("FOLDER", "Training run of the previous stage."),
    "api_base": (
        "URL",
        "OpenAI-compatible server for models named openai/NAME. Repeat the option to distribute conversations "
        "across servers.",
    ),
    "artifacts": ("N", "Number of artifacts."),
    "assistant": (
        "NAME",
        "Assistant to run; repeatable. A script such as draft, ask or adaptive; tiny; hf:DIR for a local model or a "
        "training run; or a LiteLLM model, as MODEL or MODEL+STYLE.",
    ),
    "backend": (None, "Training library: auto, unsloth or transformers."),
    "budget": (
        "USD",
        "Maximum cost in US$. The command stops before its cost exceeds this limit. Raise the limit to resume.",
    ),
    "builder": ("MODEL", "Also plan the tree building of your own artifacts with this model."),
    "candidates": ("N", "Replies of each assistant per turn. The reply with the highest reward is selected."),
    "changes": ("NAME=X", "Change a setting of the recipe, such as learning_rate=1e-4 or lora.r=16; repeatable."),
    "concurrency": ("N", "Parallel processes (miniature, default 1) or conversations (language models, default 64)."),
    "data": ("FOLDER", "Run folder, or a folder of rows from `discover export`."),
    "domain": ("NAME", "Domain of the generated artifacts; repeatable."),
    "engine": ("MODEL", "Model for judge and voice: miniature or a LiteLLM model."),
    "final_request": (None, "Wording that asks for the final artifact: ours, or the paper's."),
    "folder": ("FOLDER", "Study store (default: outputs/study-NAME)."),
    "interactivity": (None, "Scale on which a language model rates interactivity: ours, or the paper's."),
    "judge": ("MODEL", "Model for the judge, in place of --engine."),
    "key_variable": ("NAME", "Environment variable with the key for --api-base."),
    "labels": ("FILE", ""),
    "leak_check": (
        "MODEL",
        "Model that checks every user message for paraphrased leaks. 'judge' uses the judge's model.",
    ),
    "look_ahead": ("N", "Reward each candidate over N more turns, played by --reward-assistant."),
    "manner": ("STYLE", "Typing style of the users: paper, terse, rambling or people."),
    "max_tokens": ("[ROLE=]N", "Maximum tokens of one answer, reasoning included."),
    "near_miss_cap": ("N", "Count at most N near misses per intent and reply (default: no limit)."),
    "on": ("ray[://HOST:PORT]", "Run on a Ray cluster in place of this machine's processes (docs/scale.md)."),
    "out": ("FOLDER", "Output folder."),
    "port": ("N", "Port on localhost."),
    "prices": ("FILE", "YAML price table, used before LiteLLM's (format: docs/commands.md)."),
    "prompts": ("FOLDER", "Prompt templates that replace the built-in ones."),
    "reasoning_effort": ("[ROLE=]LEVEL", f"Reasoning effort of models: {', '.join(EFFORTS)}."),
    "requests_per_minute": ("X", "Maximum requests per minute to one provider."),
    "reward_assistant": ("NAME", "Assistant that plays the look-ahead turns."),
    "rules": (None, "Reward rules: the paper's, or those of the authors' released code."),
    "run": ("FOLDER", "Run folder. Repeat the command to resume."),
    "seed": ("N", "Random seed. The same seed gives the same results."),
    "split": (None, "Set of generated artifacts: for training or for evaluation."),
    "system": ("TEXT", "System message of training rows: none, collaborative, or the text itself."),
    "temperature": ("[ROLE=]X", "Temperature from 0 to 2, or 'none' for the provider's default."),
    "timeout": ("[ROLE=]SECONDS", "Timeout of one API attempt in seconds (default 120)."),
    "tokens_per_minute": ("X", "Maximum tokens per minute to one provider."),
    "trees": ("FOLDER", "Use the intent trees (JSON) in this folder, in place of --domain."),
    "trials": ("N", "Conversations per assistant and artifact."),
    "turns": ("N", "Maximum number of assistant turns."),
    "voice": ("MODEL", "Model that writes the user's messages, in place of --engine."),
}
OWN_PANEL = "Options"
LAST_PANELS = {  # in the order of the help, after the command's own options
    "Simulated user": {"rules", "near_miss_cap", "manner", "leak_check", "interactivity", "final_request"},
    "Cost and speed": {"budget", "prices", "concurrency", "requests_per_minute", "tokens_per_minute", "on", "patience"},
    "Language models": {"engine", "judge", "voice", "prompts", "api_base", "key_variable"},
    "Model tuning": {"max_tokens", "temperature", "timeout", "reasoning_effort"},
}
BY_TYPE = {bool: "", int: "N", float: "X", Path: "FOLDER", str: "NAME"}


def signed(run: Callable[..., Any], parameters: Iterable[inspect.Parameter], help: str | None) -> Callable[..., Any]:
    """The function as Typer reads one of these parameters, described, in the order of the help."""
    described = [_described(each) for each in parameters]
    places = [OWN_PANEL, *LAST_PANELS]
    described.sort(
        key=lambda each: (
            places.index(_note(each).rich_help_panel or OWN_PANEL),
            each.default is not inspect.Parameter.empty,
        )
    )
    run.__signature__ = inspect.Signature(described)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in described}
    run.__doc__ = help
    return run


@cache  # several commands share a record of options
def parameters_of(command: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """The parameters of a function, their annotations read."""
    hints = get_type_hints(command, include_extras=True)
    found = inspect.signature(command).parameters.values()
    return tuple(each.replace(annotation=hints[each.name]) for each in found)


def example_of(words: str) -> str:
    """The last line of a command's help."""
    return f"Example:\n\ndiscover {words}"


def _note(parameter: inspect.Parameter) -> Any:
    return get_args(parameter.annotation)[1]


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
        note.metavar = next((each for each in (note.metavar, metavar) if each), _metavar(hint))
        panels = (panel for panel, names in LAST_PANELS.items() if parameter.name in names)
        note.rich_help_panel = note.rich_help_panel or next(panels, OWN_PANEL)
    return parameter.replace(annotation=Annotated[hint, note], kind=inspect.Parameter.KEYWORD_ONLY)


def _metavar(hint: Any) -> str:
    """The choices of one value, or a word for its type; empty for a switch."""
    if get_origin(hint) is Literal:
        return "|".join(get_args(hint))
    kinds = [each for each in get_args(hint) if each is not type(None)]
    return _metavar(kinds[0]) if kinds else BY_TYPE.get(hint, "NAME")


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class HowFlags:
    """How work is done and language models are reached, which decides no result."""

    budget: Dollars = None
    prices: Path | None = None
    concurrency: Count = None
    requests_per_minute: PerMinute = None
    tokens_per_minute: PerMinute = None
    on: str | None = None
    api_base: list[str] | None = None
    key_variable: str | None = None

    def client_settings(self, **more: Any) -> ClientSettings:
        from discover_lib.tasks.playing import client_settings

        rates = {"requests_per_minute": self.requests_per_minute, "tokens_per_minute": self.tokens_per_minute}
        return client_settings(self.api_base, self.prices, key_variable=self.key_variable, **rates, **more)


def with_flags(
    *records: type, more: Iterable[inspect.Parameter] = (), without: Collection[str] = ()
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Make a command of a function of records: their fields and the function's further parameters become options.

    Args:
        more: further options, which the function takes by name.
        without: fields that are no options of this command.
    """

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        own = {record: [each for each in _fields(record) if each.name not in without] for record in records}

        def run(**given: Any) -> T:
            made = [kind(**{each.name: given.pop(each.name) for each in flags}) for kind, flags in own.items()]
            return command(*made, **given)

        further = [each for each in parameters_of(command)[len(records) :] if each.kind is not each.VAR_KEYWORD]
        flags = {each.name: each for each in (*more, *further, *(flag for each in own.values() for flag in each))}
        return signed(run, flags.values(), command.__doc__)

    return decorate


def _fields(record: type) -> list[inspect.Parameter]:
    """The options of a dataclass."""
    fields: Iterable[dataclasses.Field[Any]] = dataclasses.fields(record)
    empty: dict[str, list[str]] = {each.name: [] for each in fields if each.default_factory is list}
    return [each.replace(default=empty.get(each.name, each.default)) for each in parameters_of(record)]


def flag_of(field: Field) -> inspect.Parameter:
    """The option of a desk's field, or its argument if it has no default."""
    kind: Any = typer.Argument if field.default is REQUIRED else typer.Option
    bounds = {"min": field.ask.least, "max": field.ask.most} if field.kind in (int, float) else {}
    named = [f"--{field.name.replace('_', '-')}"] if field.kind is bool else []  # without its opposite
    hint: Any = Path if field.kind is Run else list[field.kind] if field.many else field.hint  # type: ignore[name-defined]
    default: Any = inspect.Parameter.empty if field.default is REQUIRED else field.default
    note = Annotated[hint, kind(*named, help=field.ask.help, **bounds)]
    default = list(default) if field.many else default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=note)


def flags_of(*records: type[Asked]) -> list[inspect.Parameter]:
    """The options and arguments of records of desks."""
    return [flag_of(field) for record in records for field in fields_of(record)]


def command_of(task: Task) -> Callable[..., None]:
    """The command of a desk: its fields as flags, and the file for its report."""

    def run(*, out: Path | None, **given: Any) -> None:
        if out is not None:
            writable_file(out)  # before any paid call
        asked = read(task.asked, {name: given[name] for name in task.asked.__struct_fields__})
        how = read(task.how, {name: given[name] for name in task.how.__struct_fields__})
        report = at_terminal(task, asked, how)
        if out is not None:
            report.write(out)
        raise typer.Exit(report.exit_code)

    parameters = flags_of(task.asked, task.how)
    note = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as CSV (FILE.csv) or JSON.")]
    parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=note))
    return signed(run, parameters, task.question)


def at_terminal(task: Task, asked: Asked, how: How | None = None) -> Report:
    """Do the work of a desk with a progress bar, and print its report."""
    with progress(task.name) as draw:

        def shown(now: Status) -> None:
            draw(now.done, now.total or None, now.line)

        try:
            report = do(task, asked, how, shown)
        except Stopped:
            raise KeyboardInterrupt from None  # same message and exit code as Ctrl-C
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


class _Quickly:
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
        if kind is int and value.isdecimal() and _is_within(int(value), param.type_descriptor.parameter_info):
            return int(value)
        if kind is Path and not Path(value).exists():  # Typer checks the access to a path that exists
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
        option._runtime_param = _Quickly()
        return option


class OneValueCommand(PlainHelp, TyperCommand):
    """A command that refuses a second value for an option of one value; Typer would keep the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for each in self.params:
            each._runtime_param = _Quickly()  # type: ignore[attr-defined]
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
    """Turn the user's errors into one line and an exit code: 4 if a model cannot be asked, else 2."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return command(*args, **kwargs)
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
                how = "install the training packages with 'make train', or " if extra[1] == "train" else ""
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
        DiscoverError: the folder cannot be written to.
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
        DiscoverError: the file cannot be written.
    """
    writable(path.resolve().parent)
    if path.is_dir():
        raise DiscoverError(f"{path}: is a folder; name a file")
    return path


def console(stderr: bool = False) -> Console:
    """A console that shows all texts without markup.  A line with markup asks for it, and escapes the texts in it."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, width=None if stream.isatty() else PIPE_COLUMNS, emoji=False, markup=False)
