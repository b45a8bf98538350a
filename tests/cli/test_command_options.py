"""Every command's options: their names and defaults are a promise to scripts, so they are written down."""

import enum
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import assert_one_line_error, discover

from discover_lib.cli.command_list import LazyCommand
from workbench.main import COMMANDS

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


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_of_one_value_is_refused_when_it_is_given_twice(name: str) -> None:
    command = LazyCommand(name, COMMANDS[name]).load()
    parts = {name: command} if not hasattr(command, "commands") else command.commands
    for part, parameter in ((part, each) for part, of_part in parts.items() for each in of_part.params):
        if parameter.param_type_name != "option" or parameter.multiple or parameter.is_flag:
            continue
        option, words = parameter.opts[0], [name] if part == name else [name, part]
        result = discover(*words, option, "one", f"{option}=two")
        assert_one_line_error(result, f"^discover: {option} takes one value, and is given 'one' and 'two'$")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_itself(name: str) -> None:
    assert LazyCommand(name, COMMANDS[name]).load().help.splitlines()[0] == COMMANDS[name].summary
