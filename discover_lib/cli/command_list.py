"""The `discover` command: the same work and results as in the notebooks.

A command's module is imported when the command is called.  So the list of all commands starts without the imports of
training or an audit.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from discover_lib.cli.common import OneValueCommand, PlainHelp, command_from, command_of, example_of
from discover_lib.cli.terminal import guard_terminal
from discover_lib.tasks.waist import Task


class Entry(NamedTuple):
    """The place of a command ("module:function"), and its line in the list of commands.

    Attributes:
        panel: the group of commands that lists it.
        summary: at most eight words.
        example: its words in the example that ends its help.
    """

    place: str
    panel: str
    summary: str
    example: str = ""


START, TALKS, TRAINING = "Start here", "Conversations", "Training"
CHECKS, SHARING = "Checks and studies", "Sharing and integrations"
MINE = "--domain svg_drawing --assistant adaptive --assistant draft --run outputs/mine"
COMMANDS = {
    "doctor": Entry(
        "discover_lib.cli.run_commands:doctor",
        START,
        "Check hardware, packages and API keys.",
        "doctor --engine gpt-4o-mini",
    ),
    "build": Entry(
        "discover_lib.cli.run_commands:build",
        TALKS,
        "Build intent trees from your artifacts.",
        "build drawing.svg --type 'svg drawing' --out outputs/trees",
    ),
    "simulate": Entry(
        "discover_lib.cli.run_commands:simulate", TALKS, "Run assistants with simulated users.", f"simulate {MINE}"
    ),
    "synthesize": Entry(
        "discover_lib.cli.run_commands:synthesize",
        TALKS,
        "Generate training conversations (best of n replies).",
        "synthesize --domain svg_drawing --assistant adaptive --candidates 2 --run outputs/pairs",
    ),
    "evaluate": Entry(
        "discover_lib.cli.run_commands:evaluate", TALKS, "Compare assistants on the same users.", f"evaluate {MINE}"
    ),
    "plan": Entry(
        "discover_lib.cli.run_commands:plan",
        TALKS,
        "Estimate calls, tokens and cost.",
        "plan --for evaluate --domain svg_drawing --assistant adaptive --engine gpt-4o-mini",
    ),
    "show": Entry(
        "discover_lib.cli.file_commands:show_id",
        TALKS,
        "Print a run's conversations, or one turn.",
        "show discover://mine/svg_drawing-eval-000/adaptive/0",
    ),
    "train": Entry(
        "discover_lib.cli.train:train",
        TRAINING,
        "Train a LoRA adapter (SFT, DPO, GRPO).",
        "train sft --data outputs/pairs --base tiny --run outputs/sft",
    ),
    "merge": Entry(
        "discover_lib.cli.train:merge",
        TRAINING,
        "Merge adapters into one model folder.",
        "merge outputs/sft --out outputs/merged",
    ),
    "push": Entry(
        "discover_lib.cli.train:push",
        TRAINING,
        "Upload a model to the Hugging Face Hub.",
        "push outputs/sft --to me/discover-sft --private",
    ),
    "audit": Entry(
        "discover_lib.cli.check_commands:audit_run",
        CHECKS,
        "Check a simulated user for leaks and validity.",
        "audit outputs/mine --certify",
    ),
    "certify": Entry(
        "discover_lib.tasks.certify:certify",
        CHECKS,
        "Check that reference assistants rank as expected.",
        "certify outputs/mine --artifacts 60",
    ),
    "reality": Entry(
        "discover_lib.tasks.reality:reality",
        CHECKS,
        "Compare simulated users with real chats.",
        "reality chats.jsonl outputs/mine",
    ),
    "safety": Entry(
        "discover_lib.cli.check_commands:safety",
        CHECKS,
        "Measure how often assistants offer restricted content.",
        "safety outputs/mine --depth 2",
    ),
    "paper": Entry(
        "discover_lib.tasks.paper_numbers:paper_numbers",
        CHECKS,
        "Recompute the paper's printed numbers.",
        "paper --all",
    ),
    "export": Entry(
        "discover_lib.cli.file_commands:export_files",
        SHARING,
        "Export conversations or training rows.",
        "export outputs/pairs --format preference --out outputs/rows",
    ),
    "import": Entry(
        "discover_lib.cli.file_commands:import_files",
        SHARING,
        "Import conversations from other tools.",
        "import theirs.json --run outputs/theirs",
    ),
    "serve": Entry(
        "discover_lib.cli.run_commands:serve",
        SHARING,
        "Serve simulated users over OpenEnv.",
        "serve --domain svg_drawing --port 8000",
    ),
}


class LazyCommand(TyperCommand):
    """A command whose module is read when it is called, or asked for its own help."""

    def __init__(self, name: str, entry: Entry) -> None:
        super().__init__(name, help=entry.summary, rich_help_panel=entry.panel)
        self.entry = entry

    def load(self) -> Any:
        """The command itself."""
        module, _, function = self.entry.place.partition(":")
        found = getattr(import_module(module), function)
        if isinstance(found, typer.Typer):
            return typer.main.get_command(found)
        command = command_from(command_of(found) if isinstance(found, Task) else found)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name, cls=OneValueCommand, epilog=example_of(self.entry.example))(command)
        return typer.main.get_command(alone)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return self.load().make_context(info_name, args, parent=parent, **extra)


def command_line(commands: Mapping[str, Entry]) -> typer.Typer:
    """The program of these commands, in their order."""

    class Commands(PlainHelp, TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = {name: LazyCommand(name, entry) for name, entry in commands.items()}

    program = typer.Typer(
        name="discover",
        cls=Commands,
        epilog="Repeat a command to resume an interrupted run. Exit codes: docs/commands.md",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )

    @program.callback()
    def discover() -> None:
        """Simulate users who discover what they want, and train assistants to help them."""

    return program


app = command_line(COMMANDS)


def main(program: typer.Typer = app) -> None:
    """Entry point.  Ctrl-C ends a command, even if a shell started it in the background and ignores Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for NumPy's small sums, waiting threads cost more
    guard_terminal()
    gc.set_threshold(100_000, 20, 20)  # records have no cycles; by default, searching for some takes 3% of a run
    atexit.register(gc.freeze)  # spares a last search for cycles
    program()


if __name__ == "__main__":
    main()
