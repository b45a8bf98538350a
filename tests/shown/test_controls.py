"""Who plays what, as chosen in a form."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discover_lib.core.rules import Rules
from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions
from discover_lib.runs.plan import building_stages
from workbench.controls import (
    MODEL,
    Choice,
    ChoiceError,
    chooser,
    evaluation_menus,
    plan_table,
    read_choice,
    read_evaluation,
)

pytestmark = pytest.mark.slow

ROLES = ("judge", "voice", "assistant")


def filled(**given: Any) -> dict[str, Any]:
    empty = {"model": "", "other": "", "style": "", "api_base": "", "key_variable": ""}
    return {**dict.fromkeys(ROLES, "miniature"), **empty, **given}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"model": "openai/m", "api_base": "http://x/v1"}, Choice()),
        ({"judge": MODEL, "model": " openai/m "}, Choice(judge="openai/m")),
        ({"assistant": MODEL, "model": "openai/m", "style": "clarifying"}, Choice(assistant="openai/m+clarifying")),
        (
            {"voice": MODEL, "assistant": MODEL, "model": "openai/m", "other": "openai/n", "api_base": "http://x/v1"},
            Choice(voice="openai/m", assistant="openai/n", api_base="http://x/v1"),
        ),
        ({"voice": MODEL, "model": "openai/m", "leak_check": True}, Choice(voice="openai/m", leak_check="openai/m")),
        ({"judge": MODEL, "model": "openai/m", "leak_check": True}, Choice(judge="openai/m")),
    ],
)
def test_a_form_is_read_and_shown_again(given: dict[str, Any], expected: Choice) -> None:
    assert read_choice(filled(**given)) == expected
    shown = chooser(ROLES, expected).element.value
    assert read_choice(shown) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"judge": MODEL}, "no model is named"),
        ({"judge": MODEL, "model": "gpt-99"}, "invalid model name 'gpt-99'"),
        ({"judge": MODEL, "model": "openai/m", "api_base": "localhost"}, "api_base is a URL"),
    ],
)
def test_what_cannot_be_used_is_one_line(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ChoiceError, match=said):
        read_choice(filled(**given))


def test_an_unknown_price_is_said_and_a_known_one_added_up() -> None:
    assert read_choice(None) == Choice()
    unknown = plan_table(list(building_stages("openai/m", ClientSettings(api_base="http://x/v1"))), "")
    assert "unknown" in unknown and "and what openai/m costs" in unknown
    assert "$" in plan_table(list(building_stages("anthropic/claude-sonnet-4-5", ClientSettings())), "")


def test_an_evaluation_asks_for_the_papers_request_where_it_is_chosen() -> None:
    menus = evaluation_menus({}).value | {"final_request": "paper"}
    asked = filled(judge=MODEL, voice=MODEL, model="openai/m", leak_check=True)
    options, _, refusal = read_evaluation(menus, asked)
    assert options is not None and not refusal
    assert (options.final_request, options.leak_check) == ("paper", "openai/m")


def test_an_evaluation_begins_with_what_the_open_one_was_asked_for(tmp_path: Path) -> None:
    asked = RunOptions(("draft", "mixed"), artifacts=3, turns=4, seed=31, rules=Rules.authors())
    now = lay_out_evaluation(asked, ("svg_drawing", "travel_plan")).configuration
    options, _, refusal = read_evaluation(evaluation_menus(now).value, None)
    assert options == replace(asked, judge="miniature", voice="miniature") and not refusal
    mine = evaluation_menus({"artifacts": ["a", "b"], "assistants": ["draft", "tiny"]}, tmp_path).value
    own, _, _ = read_evaluation(mine, None)
    assert own is not None and (own.trees, own.artifacts, own.assistants) == (tmp_path, 2, ("draft", "tiny"))
