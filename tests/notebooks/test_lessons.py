"""The lessons: clean by marimo's own check, whole before and after the guess, checked by the library."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from browser import Server, workbench
from notebook_runs import FOLDER, problems, run
from playwright.sync_api import Page, expect

from discover_lib.app.answers import read_answers
from discover_lib.app.lessons.exercises import EXERCISES
from discover_lib.views.navigation import LESSONS

pytestmark = pytest.mark.slow


def test_marimo_finds_nothing_to_complain_of() -> None:
    command = [sys.executable, "-m", "marimo", "check", "--strict", *(str(FOLDER / name) for name in LESSONS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", LESSONS)
def test_runs_untouched_and_shows_no_error(name: str) -> None:
    outputs, _ = run(name)
    assert problems(outputs) == [] and any("Guess first" in output for output in outputs)
    source = (FOLDER / name).read_text(encoding="utf-8")
    assert re.search(rf'^# title = "Lesson {name[8]} · {re.escape(LESSONS[name])}"$', source, re.MULTILINE)
    assert re.search(r'^# description = ".{20,160}"$', source, re.MULTILINE)


@pytest.mark.parametrize("name", LESSONS)
def test_after_a_guess_the_rest_is_there(name: str) -> None:
    outputs, _ = run(name, guess=SimpleNamespace(value="none"))
    assert problems(outputs) == []
    text = "".join(outputs)
    assert "Your guess" in text and "Explain" in text


def test_the_lessons_ask_all_twelve_exercises_once() -> None:
    sources = "".join((FOLDER / name).read_text(encoding="utf-8") for name in LESSONS)
    asked = re.findall(r'cards\.asked\("([\w-]+)"\)', sources) + re.findall(r'check\("(advance)"', sources)
    assert sorted(asked) == sorted(EXERCISES)


@pytest.mark.parametrize(
    ("name", "field", "value", "said"),
    [
        ("lessons/3_length.py", "reward", {"number": " 1,64 "}, "✓ Right"),
        ("lessons/3_length.py", "reward", {"number": "two"}, "Not yet"),
        ("lessons/4_trust.py", "leak", {f"pick{n}": n in (2, 5) for n in range(1, 7)}, "✓ Right"),
        ("lessons/5_learning.py", "grpo", {f"reply{n}": 2.0 for n in range(1, 5)}, "✓ Right"),
        ("lessons/5_learning.py", "beat", {"text": "a fox?\n\n"}, "They say:"),
    ],
)
def test_the_fields_are_checked_by_the_library(name: str, field: str, value: dict[str, Any], said: str) -> None:
    outputs, _ = run(name, **{field: SimpleNamespace(value=value)})
    assert any(said in output for output in outputs)


# -- in a browser ------------------------------------------------------------------------------------------------------


def guess_in(page: Page, url: str, name: str) -> None:
    page.goto(f"{url}/?file={name}")
    page.get_by_role("radio").first.click(timeout=60_000)
    page.get_by_role("button", name="This is my guess").click()
    expect(page.get_by_role("heading", name="Explain")).to_be_visible(timeout=30_000)


@pytest.mark.parametrize("name", LESSONS)
def test_a_card_fits_a_phone_and_goes_on_after_the_guess(
    name: str, server: Server, page: Page, outside_requests: list[str]
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    guess_in(page, server.url, name)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert outside_requests == []


def test_a_class_hands_in_what_is_checked(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    word, file = "harbour", tmp_path / "class" / "harbour.jsonl"
    with workbench("--class", word) as running:
        page.goto(running.url)
        page.get_by_label("The word").fill(word)
        page.get_by_label("Your name").fill("Kim <b>")
        page.get_by_role("button", name="Come in").click()
        expect(page.get_by_text("Hello Kim <b>")).to_be_visible()
        guess_in(page, running.url, "lessons/3_length.py")
        page.get_by_label("Your number").first.fill("1.64")
        page.get_by_role("button", name="Check").first.click()
        expect(page.get_by_text("✓ Right.")).to_be_visible()
        page.goto(f"{running.url}/?file=20_simulator.py")
        expect(page.get_by_text("not part of the class")).to_be_visible()
    answers = read_answers(file)
    assert [(each.student, each.task, each.passed) for each in answers] == [
        ("Kim <b>", "predict-3", None),
        ("Kim <b>", "reward", True),
    ]
    assert json.loads(file.read_text("utf-8").splitlines()[1])["answer"] == 1.64
