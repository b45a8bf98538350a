"""The lessons: clean by marimo's own check, whole before and after the guess, checked by the library."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from browser import workbench
from notebook_runs import FOLDER, chosen, problems, run
from playwright.sync_api import Page, expect

from workbench.bar import CLASS
from workbench.lessons import cards
from workbench.lessons.exercise import read_answers
from workbench.lessons.exercises import CARDS, EXERCISES

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", [page.file for page in CLASS])
def test_a_lesson_begins_with_its_question(name: str) -> None:
    untouched, _ = run(name)
    assert problems(untouched) == [] and any(CARDS[name[6]].question in output for output in untouched)


def test_the_answer_appears_after_the_guess_and_says_whether_it_held() -> None:
    card, why, no_guess = cards.Card("5", "Nothing learned"), chosen(None), chosen(None)
    assert "Guess first" in card.show("2 Nothing learned", no_guess, why, {}).text
    wrong, _, right = CARDS["5"].choices
    for guess, said in ((wrong, f"The answer is “{right}”"), (right, "That is right")):
        text = card.show("3 Explain", chosen({"guess": guess}), why, {}).text
        assert f"You guessed “<b>{guess}</b>”" in text and said in text


def test_the_lessons_ask_all_exercises_once() -> None:
    sources = "".join((FOLDER / page.file).read_text(encoding="utf-8") for page in CLASS)
    assert sorted(re.findall(r'cards\.asked\("([\w-]+)"\)', sources)) == sorted(EXERCISES)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("reward", {"number": " 1,64 "}, "✓ Right"),
        ("reward", {"number": "two"}, "Not yet"),
        ("leak", {f"pick{n}": n in (2, 5) for n in range(1, 7)}, "✓ Right"),
        ("grpo", {f"reply{n}": 2.0 for n in range(1, 5)}, "✓ Right"),
        ("two-replies", {"text": "a fox?\n\n"}, "exactly two"),
    ],
)
def test_the_fields_are_checked_by_the_library(key: str, value: dict[str, Any], said: str) -> None:
    assert said in cards.checked(key, SimpleNamespace(value=value)).text
    assert said not in cards.checked(key, SimpleNamespace(value=None)).text


def test_a_class_hands_in_what_is_checked(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    word, file = "harbour", tmp_path / "class" / "harbour.jsonl"
    with workbench("--class", word) as running:
        page.goto(running.url)
        page.get_by_label("Word of the class").fill(word)
        page.get_by_label("Your name").fill("Kim <b>")
        page.get_by_role("button", name="Join").click()
        expect(page.get_by_text("Hello Kim <b>")).to_be_visible()
        page.goto(f"{running.url}/?file=class/3_length.py")
        page.get_by_role("radio").first.click()
        page.get_by_role("button", name="This is my guess").click()
        page.get_by_role("tab", name="By hand").click()
        page.get_by_label("Your number").fill("1.64")
        page.get_by_role("button", name="Check").click()
        expect(page.get_by_text("✓ Right.")).to_be_visible()
        page.goto(f"{running.url}/?file=3_conversation.py")
        expect(page.get_by_text("not part of the class")).to_be_visible()
    answers = read_answers(file)
    assert [(each.student, each.task, each.passed) for each in answers] == [
        ("Kim <b>", "predict-3", None),
        ("Kim <b>", "reward", True),
    ]
    assert json.loads(file.read_text("utf-8").splitlines()[1])["answer"] == 1.64
