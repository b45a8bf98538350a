"""Every command's options: their names and defaults are a promise to scripts, so they are written down."""

import enum
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from command_line import assert_one_line_error, discover

from discover_lib.cli.command_list import LazyCommand
from discover_lib.cli.common import _QuickReader
from workbench.main import COMMANDS

GROUPS = {"study"}
PROMISED = json.loads((Path(__file__).parent / "command_options.json").read_text(encoding="utf-8"))


def options_of(name: str) -> dict[str, Any]:
    """Of a command; of a group of commands, each one's by its name."""
    command = LazyCommand(name, COMMANDS[name]).load()
    if hasattr(command, "commands"):
        return {each: options_in(part) for each, part in command.commands.items()}
    return options_in(command)


def options_in(command: Any) -> dict[str, Any]:
    """Option names ("--leaks / --no-leaks"), or an argument's name in capitals → default, or "required"."""
    options = {}
    for parameter in command.params:
        names = [*parameter.opts, *parameter.secondary_opts]
        key = " / ".join(names) if names[0].startswith("-") else parameter.name.upper()
        default = parameter.default.value if isinstance(parameter.default, enum.Enum) else parameter.default
        options[key] = "required" if parameter.required else default
    return options


def test_no_command_is_lost() -> None:
    assert set(COMMANDS) == set(PROMISED)


@pytest.mark.parametrize("name", PROMISED)
def test_options_and_their_defaults_stay(name: str) -> None:
    assert options_of(name) == PROMISED[name]


def parts_of(name: str) -> dict[str, Any]:
    command = LazyCommand(name, COMMANDS[name]).load()
    return {f"{name} {part}": each for part, each in command.commands.items()} if name in GROUPS else {name: command}


PARTS = {words: part for name in COMMANDS for words, part in parts_of(name).items()}


@pytest.mark.slow
@pytest.mark.parametrize("words", PARTS)
def test_an_option_of_one_value_is_refused_when_it_is_given_twice(words: str) -> None:
    for parameter in PARTS[words].params:
        if parameter.param_type_name != "option" or parameter.multiple or parameter.is_flag:
            continue
        option = parameter.opts[0]
        result = discover(*words.split(), option, "one", f"{option}=two")
        assert_one_line_error(result, f"^discover: {option} takes one value, and is given 'one' and 'two'$")


@pytest.mark.parametrize("words", PARTS)
def test_common_values_are_read_as_typer_reads_them(words: str) -> None:
    for parameter in PARTS[words].params:
        kind = parameter.type_descriptor.annotation
        given = {int: ["3", "0", 3, "-1", "9" * 5000, "x"], list[str]: [("a", "b"), []]}.get(
            kind, [*get_args(kind), "nowhere/a", "a" * 5000, "/dev/null"]
        )
        for value in [*given, None]:
            found = []
            for reader in (_QuickReader(), None):
                parameter._runtime_param = reader
                try:
                    found.append(parameter.get_runtime_param().coerce(value, param=parameter, ctx=None))
                except typer.BadParameter as refused:
                    found.append(refused.message)
            assert found[0] == found[1] and type(found[0]) is type(found[1]), (parameter.name, value)


def test_a_command_with_common_values_does_not_load_pydantic(tmp_path: Path) -> None:
    simulate = "LazyCommand('simulate', COMMANDS['simulate']).load().make_context('simulate', sys.argv[1:])"
    code = f"import sys; from discover_lib.cli.command_list import *; {simulate}; print('pydantic' in sys.modules)"
    words = ["--domain", "svg_drawing", "--assistant", "draft", "--artifacts", "3", "--run", tmp_path / "new"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("words", PARTS)
def test_help_ends_with_a_valid_example(words: str) -> None:
    program, *example = shlex.split(PARTS[words].epilog.removeprefix("Example:"))
    length = len(words.split())
    assert program == "discover" and example[:length] == words.split()
    PARTS[words].make_context(words, example[length:])  # raises where an option or a value is none


@pytest.mark.parametrize("words", PARTS)
def test_every_option_is_explained(words: str) -> None:
    for each in PARTS[words].params:
        assert (each.help and each.help[0].isupper()) or each.help[0] == "'", each.name
        assert each.help.endswith((".", ").")), (each.name, each.help)
        assert each.metavar is not None and (each.metavar or each.is_flag) and "<" not in each.metavar, each.name
    panels = [each.rich_help_panel for each in PARTS[words].params if each.param_type_name == "option"]
    tuned = "Model tuning"
    assert tuned not in panels or panels.count(tuned) == len(panels) - panels.index(tuned)


@pytest.mark.slow
def test_the_list_of_commands_has_groups_and_short_summaries() -> None:
    listed = discover("--help").stdout
    for name, entry in COMMANDS.items():
        assert f"│ {name} " in listed and entry.summary in listed and entry.panel in listed
        assert len(entry.summary.split()) <= 8, name


@pytest.mark.parametrize(("words", "near"), [(["simulat"], "simulate"), (["demo", "--asistant", "ask"], "--assistant")])
def test_the_nearest_word_is_suggested(words: list[str], near: str) -> None:
    result = discover(*words)
    assert result.returncode == 2 and near in " ".join(re.sub("[│╭╮╰╯─]", " ", result.stderr).split())
