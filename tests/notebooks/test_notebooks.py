"""Every notebook: clean by marimo's own check, runs from top to bottom untouched, and takes other inputs in stride."""

import re
import subprocess
import sys

import pytest
from browser import Server
from notebook_runs import FOLDER, NOTEBOOKS, chosen, plain, problems, run
from playwright.sync_api import Page, expect

from discover_lib import replay
from discover_lib.engines.miniature.lexicon import DOMAINS, SHIPPED_DOMAINS
from workbench.views.navigation import LESSONS

pytestmark = pytest.mark.slow


def test_marimo_finds_nothing_to_complain_of() -> None:
    pages = [str(FOLDER / name) for name in (*NOTEBOOKS, *LESSONS)]
    command = [sys.executable, "-m", "marimo", "check", "--strict", *pages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_runs_untouched_and_shows_no_error(name: str) -> None:
    outputs, _ = plain(name)
    assert outputs and problems(outputs) == []


# -- 00: the door ------------------------------------------------------------------------------------------------------


# -- 10: intent trees --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "domain, source",
    [(SHIPPED_DOMAINS[-1], "hand-written"), (DOMAINS[0], "generated"), (DOMAINS[1], "recorded")],
)
def test_trees_from_every_source(domain: str, source: str) -> None:
    outputs, defined = run("10_intent_trees.py", domain_choice=chosen(domain), source_choice=chosen(source))
    assert problems(outputs) == []
    assert len(defined["built"].tree) >= 10
    assert defined["edited"]() == defined["built"].tree == defined["editor"].tree


@pytest.mark.parametrize(
    "domain, text, said",
    [
        ("svg_drawing", "<svg><rect></svg>", "not well-formed"),
        ("creative_writing", "hello", "too little to build from"),
    ],
)
def test_trees_refuse_in_one_line(domain: str, text: str, said: str) -> None:
    outputs, defined = run(
        "10_intent_trees.py", domain=domain, source="your own", piece_choice=chosen(text), written={}
    )
    refusals = [output for output in outputs if "dl-error" in output]
    assert len(refusals) == 1 and said in refusals[0]
    assert defined["built"] is None


# -- 30: the reward ----------------------------------------------------------------------------------------------------


def test_reward_recomputes_under_other_rules() -> None:
    _, untouched = plain("30_reward.py")
    original = untouched["original"]
    assert untouched["now"] == original
    outputs, changed = run(
        "30_reward.py",
        original=original,
        base=original.rules,
        p_slider=chosen(1.0),
        tau_slider=chosen(0),
        lam_slider=chosen(1.0),
    )
    assert problems(outputs) == []
    assert changed["now"] == replay(original, original.rules.replace(p=1.0, tau=0))
    assert changed["now"] != original
    assert any("yours: near miss 1, 0 free tokens" in output for output in outputs)
    assert any("<del>" in output and "rf-was" not in output for output in outputs), "the receipt is rewritten"


# -- in a browser, as they are served ----------------------------------------------------------------------------------


def test_the_door_steps_and_leads_on(server: Server, page: Page, outside_requests: list[str]) -> None:
    page.goto(f"{server.url}/?file=00_start_here.py")
    page.locator(".st-where", has_text="turn 1 of 5").wait_for(timeout=60_000)
    page.get_by_role("button", name="One turn on").click()
    page.locator(".st-where", has_text="turn 2 of 5").wait_for()
    assert page.locator(".st-col").count() == 3
    before = page.locator(".st-request .dl-text").inner_text()
    page.get_by_label("Be the assistant yourself").fill("What do you have in mind?")
    page.get_by_role("button", name="Send").click()
    page.locator(".st-col[data-key=you] .st-heard").get_by_text(re.compile(r"\w")).first.wait_for()
    page.get_by_role("button", name="another person").click()
    expect(page.locator(".st-request .dl-text")).not_to_have_text(before)
    expect(page).to_have_url(re.compile("person=1"))
    expect(page.locator(".st-col")).to_have_count(3)
    page.get_by_role("link", name="Reward").click()
    page.get_by_role("heading", name="What is one reply worth?").wait_for(timeout=60_000)
    assert outside_requests == []
