"""Notebooks: clean by marimo's check, at ease with other inputs, right in their method; `test_address.py` runs each."""

import ast
import re
import subprocess
import sys

import pytest
from browser import Server
from notebook_runs import FOLDER, NOTEBOOKS, chosen, plain, problems, run
from playwright.sync_api import Page, expect

from discover_lib.engines.miniature.lexicon import DOMAINS, SHIPPED_DOMAINS
from workbench.bar import CLASS, CODE

pytestmark = pytest.mark.slow


def test_marimo_finds_nothing_to_complain_of() -> None:
    pages = [str(FOLDER / name) for name in (*NOTEBOOKS, *(page.file for page in (*CLASS, *CODE)))]
    command = [sys.executable, "-m", "marimo", "check", "--strict", *pages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "domain, source", [(SHIPPED_DOMAINS[-1], "hand-written"), (DOMAINS[0], "generated"), (DOMAINS[1], "recorded")]
)
def test_trees_from_every_source(domain: str, source: str) -> None:
    asked = {"domain_choice": chosen(domain), "source_choice": chosen(source), "example": chosen(True)}
    outputs, defined = run("2_intents.py", **asked, file_drop=chosen([]), pasted=chosen(""))
    assert problems(outputs) == []
    assert len(defined["built"].tree) >= 10
    assert defined["get_tree"]() == defined["built"].tree == defined["drawn"].tree


def test_rewards_recompute_under_other_rules() -> None:
    _, untouched = plain("3_conversation.py")
    original = untouched["player"].session.conversation
    assert untouched["now"] == original
    outputs, changed = run("3_conversation.py", base=original.rules, p=chosen(1.0), tau=chosen(0), lam=chosen(1.0))
    assert problems(outputs) == []
    assert changed["rules"] == original.rules.replace(p=1.0, tau=0)
    assert "<del" in changed["rescored"].text, "the breakdown is rewritten"


def test_start_plays_hides_its_end_and_answers_visitor(server: Server, page: Page, outside_requests: list[str]) -> None:
    page.goto(f"{server.url}/?file=1_start.py")
    page.locator(".st-where", has_text="before the first reply").wait_for()
    page.get_by_role("radio", name="Guess: adaptive").check()
    expect(page.locator(".st-captions")).to_be_hidden()
    before = page.locator(".st-request .dl-text").inner_text()
    page.get_by_text("Be the assistant yourself").click()
    page.get_by_label("Your reply").fill("What do you have in mind?")
    page.get_by_role("button", name="Send").click()
    page.locator(".st-col[data-key=you] .st-heard").get_by_text(re.compile(r"\w")).first.wait_for()
    expect(page.locator(".st-captions")).to_be_hidden()
    page.get_by_role("slider", name="Turn").first.fill("5")
    expect(page.locator(".st-verdict")).to_have_text("You were right: adaptive discovered most.")
    expect(page.locator(".st-captions")).to_be_visible()
    page.get_by_role("button", name="Next user").click()
    expect(page.locator(".st-request .dl-text")).not_to_have_text(before)
    expect(page).to_have_url(re.compile("person=1"))
    expect(page.locator(".st-col")).to_have_count(3)
    assert outside_requests == []


@pytest.mark.parametrize("name", [page.file for page in CODE])
def test_every_cell_is_open_short_and_runs(name: str) -> None:
    text = (FOLDER / name).read_text("utf-8")
    assert text[text.index("import marimo") :].count("\n") <= 120 and "hide_code" not in text  # below its header
    assert any(isinstance(each, ast.FunctionDef) for each in ast.parse(text).body)
    assert re.search(r"\b[34]\.\d\b", text), "no section of the paper"
    shown, _ = run(name)
    assert set(problems(shown)) <= {"TreeError"}  # the notebook about trees shows how one is refused


def test_a_reward_by_hand_is_that_of_the_library() -> None:
    _, defined = run("code/3_reward.py")
    assert defined["earned"].total == pytest.approx(defined["r_d"] + defined["r_e"])


def test_a_state_by_hand_is_that_of_the_simulator() -> None:
    _, defined = run("code/2_user.py")
    assert defined["state"] == defined["candidate"].after and defined["talk"].turns
