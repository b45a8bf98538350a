"""The `discover` command: everything that a notebook does at length, with the same result.

Each group of commands is a module of its own, read when one of its commands is called: the list of all commands and
`discover doctor` then wait for nothing that only training or an audit needs.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from discover_lib.cli.common import EXIT_CODES, OneValueCommand, command_of, one_line_errors
from discover_lib.cli.terminal import guard_terminal
from discover_lib.tasks.waist import Task


class Entry(NamedTuple):
    """Where a command is defined, and the first line of its help, which the list of commands shows."""

    package: str
    module: str
    function: str
    summary: str


PACKAGE = "discover_lib.cli"
TASKS = "discover_lib.tasks"
COMMANDS = {
    "doctor": Entry(
        PACKAGE, "doctor", "doctor", "Say what this machine has, and whether what is chosen can work on it."
    ),
    "build": Entry(
        PACKAGE,
        "build",
        "build",
        "Build intent trees from artifact files; the same command again goes on, and passes over what is there.",
    ),
    "simulate": Entry(
        PACKAGE,
        "runs",
        "simulate",
        "Run assistants × artifacts × trials from identical states into a run folder, or go on where it was left.",
    ),
    "synthesize": Entry(
        PACKAGE,
        "runs",
        "synthesize",
        "Best-of-n conversations: candidates are judged in the same state, the best goes on (options as in simulate).",
    ),
    "evaluate": Entry(
        PACKAGE,
        "runs",
        "evaluate",
        "Score assistants on artifacts × trials from identical states, with intervals and paired comparisons.",
    ),
    "plan": Entry(
        PACKAGE,
        "runs",
        "plan",
        "Calls, tokens, dollars and minutes of a run before anything is spent: simulate's, or that of --for.",
    ),
    "audit": Entry(
        PACKAGE,
        "audit",
        "audit_run",
        "Leaks in a run's user turns, its certificate, and how far judges agree. Exit 1: not certified, 5: an alarm.",
    ),
    "certify": Entry(TASKS, "certify", "certify", "Does this simulated user tell good assistants from bad ones?"),
    "paper": Entry(
        TASKS,
        "paper_numbers",
        "paper_numbers",
        "The paper's printed figures, recomputed from each other: which follow and which do not.",
    ),
    "train": Entry(
        PACKAGE,
        "train",
        "train",
        "Train an adapter on conversations: by imitation, by preference, or by the simulated user's reward.",
    ),
    "merge": Entry(
        PACKAGE, "train", "merge", "Write a model with its adapters as one folder, and say how to serve it."
    ),
    "push": Entry(
        PACKAGE,
        "train",
        "push",
        "Upload a trained model to the Hugging Face Hub, with a card that says what it is and where it comes from.",
    ),
    "safety": Entry(
        PACKAGE,
        "safety",
        "safety",
        "When assistants offer what is off-limits under vague wishes, and how often they refuse what is allowed.",
    ),
    "reality": Entry(
        TASKS,
        "reality",
        "reality",
        "Compare how a run's users talk with how people do: twelve features and the variety of words, with intervals.",
    ),
    "show": Entry(
        PACKAGE,
        "evidence",
        "show_id",
        "Show what a number stands on, by its discover:// id: the conversations of a mean, a conversation, or a turn.",
    ),
    "serve": Entry(
        PACKAGE,
        "doors",
        "serve",
        "Serve simulated users to other people's trainers, by the OpenEnv protocol, on localhost.",
    ),
    "import": Entry(
        PACKAGE,
        "files",
        "import_files",
        "Read conversations of others into a run, to browse and to export: of the authors' code, or of Inspect.",
    ),
    "export": Entry(
        PACKAGE,
        "files",
        "export_files",
        "Write a run as files: its conversations, or rows to train on with a card that says what was left out.",
    ),
}


class LazyCommand(TyperCommand):
    """A command whose module is read when it is called, or asked for its own help."""

    def __init__(self, name: str, entry: Entry) -> None:
        super().__init__(name, help=entry.summary)
        self.entry = entry

    def load(self) -> Any:
        """The command itself."""
        module = import_module(f"{self.entry.package}.{self.entry.module}")
        found = getattr(module, self.entry.function)
        if isinstance(found, typer.Typer):
            return typer.main.get_command(found)
        command = command_of(found) if isinstance(found, Task) else found
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name, cls=OneValueCommand)(one_line_errors(command))
        return typer.main.get_command(alone)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return self.load().make_context(info_name, args, parent=parent, **extra)


def command_line(commands: Mapping[str, Entry]) -> typer.Typer:
    """The program of these commands, in their order."""

    class Commands(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return list(commands)

        def get_command(self, ctx: Any, cmd_name: str) -> LazyCommand | None:
            return LazyCommand(cmd_name, commands[cmd_name]) if cmd_name in commands else None

    program = typer.Typer(
        name="discover",
        cls=Commands,
        help="See, run and train intent discovery.",
        epilog=EXIT_CODES,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )

    @program.callback()
    def discover() -> None:
        """See, run and train intent discovery."""

    return program


app = command_line(COMMANDS)


def main(program: typer.Typer = app) -> None:
    """Entry point.  Ctrl-C ends a command also where the shell that began it in the background had it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's sums here are small: threads would wait, at full speed
    guard_terminal()
    gc.set_threshold(20_000, 20, 20)  # records have no cycles: looking for some takes 1 % of a run so, 3 % by default
    program()


if __name__ == "__main__":
    main()
