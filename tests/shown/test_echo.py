"""The command of a page makes the same run, and choices travel from page to page."""

import shlex
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import marimo as mo
import pytest
from notebook_runs import Address

from discover_lib import Rules
from discover_lib.cli.command_list import LazyCommand
from discover_lib.cli.run_commands import laid_out as laid_out_by_command
from discover_lib.runs.options import RunOptions
from discover_lib.tasks.playing import Access, Tuning
from discover_lib.train.recipes import Recipe
from discover_lib.train.run_stage import StageSettings
from workbench.carried import OWN, address_of, base_rules, kept, rules_set
from workbench.echo import run_command, train_command
from workbench.jobs import laid_out
from workbench.main import COMMANDS


def read(command: str) -> tuple[str, dict[str, Any]]:
    """A command's name, and what its parser makes of the rest; an unknown option fails the test."""
    program, name, *words = shlex.split(command)
    assert program == "discover"
    return name, dict(LazyCommand(name, COMMANDS[name]).make_context(name, words).params)


DOMAIN = "svg_drawing"
AHEAD: dict[str, Any] = {"look_ahead": 2, "reward_assistant": "adaptive"}
OWN_CHOICES = {"engine": "openai/some-model", "leak_check": "judge", "final_request": "paper"}
RUNS = {
    "simulate": (RunOptions(("draft", "ask"), domain=DOMAIN, artifacts=2, trials=3, seed=4), ()),
    "synthesize": (RunOptions(("draft",), domain=DOMAIN, artifacts=2, candidates=2, split="train", turns=3), ()),
    "look-ahead": (RunOptions(("draft", "ask"), DOMAIN, artifacts=1, candidates=1, **AHEAD), ()),
    "evaluate": (RunOptions(("draft",), artifacts=2, trials=2, rules=Rules.authors()), (DOMAIN, "travel_plan")),
    "the paper's own": (RunOptions(("openai/x+collabllm",), artifacts=1, **OWN_CHOICES), (DOMAIN,)),
    "several domains": (RunOptions(("draft",), f"{DOMAIN}, travel_plan", artifacts=1, candidates=2), ()),
    "a cap": (RunOptions(("draft",), DOMAIN, artifacts=1, rules=Rules.paper().replace(near_miss_cap=2)), ()),
    "a model": (RunOptions(("draft",), DOMAIN, artifacts=1, judge="openai/some-model", turns=2), ()),
}


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


PAPER = Rules.paper()


@pytest.mark.slow
def test_an_address_holds_what_the_next_page_reads() -> None:
    address = address_of("4_data.py", "synthesis/a+b", labels="paper, GRPO", pool=["one", "two"])
    asked = parse_qs(urlsplit(address).query)
    assert asked == {
        "file": ["4_data.py"], "run": ["synthesis/a+b"], "labels": ["paper, GRPO"], "pool": ['["one","two"]'],
    }  # fmt: skip


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Address:
    made = Address()
    monkeypatch.setattr(mo, "query_params", lambda: made)
    monkeypatch.setattr(mo, "running_in_notebook", lambda: True)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "arguments", "default", "asked", "holds"),
    [
        (mo.ui.slider, (0, 10, 1), 3, "7", 7),
        (mo.ui.slider, (0, 10, 1), 3, "70", 10),
        (mo.ui.slider, (0, 10, 1), 3, "many", 3),
        (mo.ui.range_slider, (0, 10, 1), [0, 10], "[2,5]", [2, 5]),
        (mo.ui.checkbox, (), False, "true", True),
        (mo.ui.checkbox, (), False, "7", False),
        (mo.ui.dropdown, (["a", "b"],), "a", "b", "b"),
        (mo.ui.dropdown, (["a", "b"],), "a", "c", "a"),
        (mo.ui.dropdown, ([1, 2, 4],), 1, "4", 4),
        (mo.ui.radio, ({"one": 1, "two": 2},), "one", "two", 2),
        (mo.ui.multiselect, (["a", "b"],), ["a"], '["a","b"]', ["a", "b"]),
        (mo.ui.multiselect, (["a", "b"],), ["a"], "a", ["a"]),
        (mo.ui.text, (), "", "[1]", "[1]"),
    ],
)
def test_a_control_begins_as_the_address_says(
    address: Address, kind: Any, arguments: tuple[Any, ...], default: Any, asked: str, holds: Any
) -> None:
    address["x"] = asked
    assert kept(kind, "x", *arguments, value=default).value == holds


@pytest.mark.slow
def test_what_is_chosen_stands_in_the_address_and_a_default_does_not(address: Address) -> None:
    address["p"] = "0.5"
    menu = kept(mo.ui.dropdown, "rules", {"Paper": 1, "Authors": 2}, value="Paper", forgets=("p",))
    menu._on_change(2)
    assert address == {"rules": "Authors"}, "and what the other choice made void is gone"
    menu._on_change(1)
    assert address == {}
    box = kept(mo.ui.checkbox, "all", value=False)
    box._on_change(True)
    assert address == {"all": "true"}


@pytest.mark.slow
def test_a_folder_stands_in_the_address_as_its_path(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVER_OUTPUTS", "/outputs")
    places = {"today 21:39": Path("/outputs/synthesis/a"), "today 21:40": Path("/outputs/b")}
    menu = kept(mo.ui.dropdown, "run", places, value="today 21:39")
    menu._on_change(places["today 21:40"])
    assert address == {"run": "b"}
    later = {"yesterday 21:39": places["today 21:39"], "yesterday 21:40": places["today 21:40"]}
    assert kept(mo.ui.dropdown, "run", later, value="yesterday 21:39").value == Path("/outputs/b")


@pytest.mark.slow
def test_rules_keep_the_runs_unit_and_their_name_until_something_is_moved() -> None:
    own = PAPER.replace(token_unit="words")
    assert base_rules(OWN, own) is own
    base = base_rules("paper, GRPO", own)
    assert (base.tau, base.token_unit) == (500, "words")
    assert rules_set(base, base.p, base.tau, 1000 * base.lam) == base
    assert rules_set(base, 0.5, base.tau, 2).lam == 0.002
