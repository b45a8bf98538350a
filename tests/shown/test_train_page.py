"""What the page Train works out: who judges in GRPO, under which cap, and what it refuses."""

from pathlib import Path
from typing import Any

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.train.recipes import Recipe, assignments
from discover_lib.train.run_stage import StageSettings
from workbench.controls import MODEL
from workbench.echo import train_command
from workbench.pages.train_page import Judging


def form(**values: Any) -> dict[str, Any]:
    empty = {"judge": "miniature", "voice": "miniature", "model": "", "api_base": "", "key_variable": ""}
    return {**empty, **values}


def test_the_miniature_judges_until_the_form_is_sent_and_in_every_other_stage() -> None:
    sent = form(judge=MODEL, model="openai/m", api_base="http://localhost:1/v1")
    for judging in (Judging.of("grpo", None, None), Judging.of("sft", sent, 5.0)):
        assert judging.access is None and judging.settings == {"judge": "miniature", "voice": "miniature"}


@pytest.mark.parametrize(
    ("values", "cap", "words"),
    [
        ({"judge": MODEL, "model": "openai/m"}, None, "enter the maximum cost"),
        ({"judge": MODEL, "model": ""}, 5.0, "no model is named"),
        ({"voice": MODEL, "model": "openai/m", "leak_check": True}, 5.0, "turn off this check"),
        ({"judge": MODEL, "model": "openai/m", "api_base": "nowhere"}, 5.0, "api_base is a URL"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(values: dict[str, Any], cap: float | None, words: str) -> None:
    judging = Judging.of("grpo", form(**values), cap)
    assert words in judging.refusal and "\n" not in judging.refusal


def test_a_judge_a_cap_and_an_address_are_in_the_settings_the_access_and_the_command() -> None:
    judging = Judging.of("grpo", form(judge=MODEL, model="openai/m", api_base="http://localhost:1/v1"), 5.0)
    assert judging.refusal == "" and judging.access is not None and judging.access.budget_dollars == 5.0
    settings = StageSettings("grpo", "/data", "some/base", **judging.settings)
    command = train_command(settings, Recipe.paper(), Path("/run"), judging.access)
    assert "--judge openai/m --budget 5 --api-base http://localhost:1/v1" in command and "--voice" not in command


def test_a_server_of_one_s_own_needs_no_cap() -> None:
    judging = Judging.of("grpo", form(voice=MODEL, model="openai/m", api_base="http://localhost:1/v1"), None)
    assert judging.refusal == "" and judging.access is not None and judging.access.budget_dollars is None


def test_settings_of_a_command_line() -> None:
    given = ["learning_rate=1e-4", "loss=sigmoid", "packing=True", 'kinds=["a"]', "limit=None", "epochs=2"]
    assert assignments(given) == {
        "learning_rate": 1e-4, "loss": "sigmoid", "packing": True, "kinds": ["a"], "limit": None, "epochs": 2,
    }  # fmt: skip
    for wrong in (["rate"], ["=3"], ["rate=1", "rate=2"]):
        with pytest.raises(DiscoverError):
            assignments(wrong)
