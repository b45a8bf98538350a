"""The command lines that pages offer, read by the commands' own parsers."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from discover_lib.cli.command_list import LazyCommand
from discover_lib.cli.run_commands import laid_out as laid_out_by_command
from discover_lib.core.rules import Rules
from discover_lib.runs.options import RunOptions
from discover_lib.tasks.playing import Access, Tuning
from discover_lib.train.recipes import Recipe
from discover_lib.train.run_stage import StageSettings
from workbench.echo import run_command, train_command
from workbench.jobs import laid_out
from workbench.main import COMMANDS


def read(command: str) -> tuple[str, dict[str, Any]]:
    """A command's name, and what its parser makes of the rest; an unknown option fails the test."""
    program, name, *words = shlex.split(command)
    assert program == "discover"
    return name, dict(LazyCommand(name, COMMANDS[name]).make_context(name, words).params)


DOMAIN = "svg_drawing"
RUNS = {
    "simulate": (RunOptions(("draft", "ask"), domain=DOMAIN, artifacts=2, trials=3, seed=4), ()),
    "synthesize": (RunOptions(("draft",), domain=DOMAIN, artifacts=2, candidates=2, split="train", turns=3), ()),
    "look-ahead": (
        RunOptions(("draft", "ask"), DOMAIN, artifacts=1, candidates=1, look_ahead=2, reward_assistant="adaptive"),
        (),
    ),
    "evaluate": (RunOptions(("draft",), artifacts=2, trials=2, rules=Rules.authors()), (DOMAIN, "travel_plan")),
    "the paper's own": (
        RunOptions(
            ("openai/x+collabllm",), artifacts=1, engine="openai/some-model", leak_check="judge", final_request="paper",
        ),
        (DOMAIN,),
    ),
    "several domains": (RunOptions(("draft",), f"{DOMAIN}, travel_plan", artifacts=1, candidates=2), ()),
    "a cap": (RunOptions(("draft",), DOMAIN, artifacts=1, rules=Rules.paper().replace(near_miss_cap=2)), ()),
    "a model": (RunOptions(("draft",), DOMAIN, artifacts=1, judge="openai/some-model", turns=2), ()),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", RUNS)
def test_the_command_of_a_run_makes_the_same_run(kind: str) -> None:
    options, domains = RUNS[kind]
    configuration = laid_out(options, domains).configuration
    name, given = read(run_command(Path("/runs/mine"), configuration))
    assert name == configuration["kind"] and given["run"] == Path("/runs/mine")
    tuning = Tuning(**{field: given.pop(field) for field in Tuning.__struct_fields__})
    other = {"run", "leave_out", "sensitivity", "budget", "concurrency", "on", *Access.__struct_fields__}
    asked = {field: value for field, value in given.items() if field not in other}
    assert laid_out_by_command(name, tuning, **asked).configuration == configuration


@pytest.mark.slow
def test_the_command_of_a_training_run_says_what_differs_from_the_preset() -> None:
    preset = Recipe.named("miniature")
    recipe = preset.changed("dpo", {"beta": 0.2})
    settings = StageSettings("dpo", "/data", "/models/tiny/abc", "/runs/sft", recipe, "transformers", 3)
    name, given = read(train_command(settings, preset, Path("/runs/dpo")))
    assert name == "train" and given["changes"] == ["beta=0.2"] and given["recipe"] == "miniature"
    assert (given["stage"], given["base"], given["adapter"]) == ("dpo", "tiny", Path("/runs/sft"))
    assert (given["backend"], given["seed"], given["run"]) == ("transformers", 3, Path("/runs/dpo"))
    options = {"judge": {"max_tokens": 4096, "temperature": None}}
    live = StageSettings("grpo", "/data", "/models/tiny/abc", recipe=preset, judge="openai/m", options=options)
    _, given = read(train_command(live, preset, Path("/runs/grpo")))
    assert (given["judge"], given["max_tokens"], given["temperature"]) == ("openai/m", ["judge=4096"], ["judge=none"])
