"""Every notebook: clean by marimo's own check, runs from top to bottom untouched, and takes other inputs in stride."""

import json
import re
import subprocess
import sys

import pytest
from browser import Server
from notebook_runs import FOLDER, NOTEBOOKS, chosen, plain, problems, run
from playwright.sync_api import Page, expect

from discover_lib import Rules, replay
from discover_lib.base.files import data_folder
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


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_says_what_it_is_and_has_a_card(name: str) -> None:
    source = (FOLDER / name).read_text(encoding="utf-8")
    assert re.search(rf'^# title = "{name[:2]} · .+"$', source, re.MULTILINE)
    assert re.search(r'^# description = ".{20,160}"$', source, re.MULTILINE)


# -- 00: the door ------------------------------------------------------------------------------------------------------


def test_start_here_explains_near_misses_with_numbers_of_the_rules() -> None:
    outputs, _ = plain("00_start_here.py")
    text = "".join(outputs)
    assert "0.25 each: 0.5 in all" in re.sub(r"\s+", " ", text) and "wears θ down to 0.15" in re.sub(r"\s+", " ", text)
    assert "hidden from 30 others" in text


def test_start_here_links_to_every_notebook() -> None:
    outputs, _ = plain("00_start_here.py")
    links = set(re.findall(r'href="/\?file=([^"]+)"', "".join(outputs)))
    assert links == set(NOTEBOOKS) - {"00_start_here.py"}


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


def test_trees_say_where_no_piece_was_recorded() -> None:
    outputs, defined = run("10_intent_trees.py", domain_choice=chosen("travel_plan"), source_choice=chosen("recorded"))
    assert defined["piece"] is None and any("No piece of this kind was recorded" in output for output in outputs)


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


def test_trees_wait_for_a_pasted_piece() -> None:
    outputs, defined = run(
        "10_intent_trees.py", domain="svg_drawing", source="your own", piece_choice=chosen(None), written={}
    )
    assert defined["piece"] is None and any("Build the tree" in output for output in outputs)


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


@pytest.mark.parametrize("rules", ["paper, GRPO", "authors"])
def test_reward_takes_named_rules_as_they_are(rules: str) -> None:
    conversation = "miniature: Creative writing"
    outputs, defined = run("30_reward.py", conversation_choice=chosen(conversation), rules_choice=chosen(rules))
    named = {"paper, GRPO": Rules.paper_grpo(), "authors": Rules.authors()}[rules]
    assert defined["rules"] == named.replace(token_unit=defined["original"].rules.token_unit)
    assert problems(outputs) == []


def test_reward_counts_what_it_says() -> None:
    _, defined = plain("30_reward.py")
    counts = defined["counts"]
    files = [json.loads(path.read_text("utf-8")) for path in (data_folder() / "recorded").glob("*/*.json")]
    turns = [turn for data in files for session in data["sessions"] for turn in session["turns"]]
    assert counts.compared == len(turns) == 60
    assert counts.emerging_paid == 0 and counts.emerging > 0  # the paper pays nothing for half-formed intents
    assert counts.asked_for_nothing <= counts.asked and counts.shorter <= counts.tied <= counts.compared


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
