"""A lesson's card: predict, do, explain, one step in sight.  marimo is imported where it is used.

The address contains the step and the guess. It contains no answer to an exercise, so a link gives none away. A class
hands an answer in when a button is pressed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

from discover_lib.base.glossary import TERMS
from discover_lib.core.advance import initial_state
from discover_lib.core.intents import IntentTree
from discover_lib.core.rules import Rules
from discover_lib.train.grpo import group_of
from workbench.carried import kept
from workbench.controls import displayed
from workbench.lessons.checks import GROUP, STEPPED, earned
from workbench.lessons.exercise import MAX_TEXT, Outcome, answered, hand_in, tree_of
from workbench.lessons.exercises import CARDS, EXERCISES
from workbench.map import intent_map
from workbench.pages.conversation_page import ABOUT
from workbench.views import conversation_parts as show
from workbench.views.html import EMPTY, Markup, notice, rich_text, signed, subscripts, tag
from workbench.views.training import group_picture

PREDICT, EXPLAIN = "Predict", "Explain"
STATES = ("undiscovered", "emerging", "discovered")
LINES = {"reply": 3, "replies": 4}
MAX_EXPLANATION = 600  # characters
SHORT = 12  # characters of a choice that stands beside others in a line


def student() -> str:
    """The student at this page where a class is on, else ""."""
    import marimo as mo

    request = mo.app_meta().request
    user = request.user if request else None
    return str(user.get("username", "")) if isinstance(user, dict) else ""


# -- steps -------------------------------------------------------------------------------------------------------------


class Card:
    """One lesson's card: its guess, its steps and its explanation, as `exercises.CARDS` has them.

    Args:
        number: of the lesson, from "1" to "5".
        steps: titles of the steps between the guess and the explanation.
    """

    def __init__(self, number: str, *steps: str) -> None:
        self.number, self.about = number, CARDS[number]
        self.steps = tuple(f"{place} {title}" for place, title in enumerate((PREDICT, *steps, EXPLAIN), 1))

    def chooser(self) -> Any:
        """The steps in a row. The address keeps the open one."""
        import marimo as mo

        return kept(mo.ui.tabs, "step", dict.fromkeys(self.steps, ""), value=self.steps[0])

    def guess_form(self) -> Any:
        """A guess before anything is seen. A class hands it in, and the address keeps it."""
        import marimo as mo

        task, choices = f"predict-{self.number}", self.about.choices
        asked = _asked("guess")

        def keep(value: dict[str, str | None] | None) -> None:
            if value and value["guess"]:
                mo.query_params().set("guess", value["guess"])
                hand_in(student(), task, value["guess"])

        radio = mo.ui.radio(choices, value=asked if asked in choices else None, label=self.about.question)
        # A form's own refusal cannot be read in the dark, so the page says what is missing: a batch is sent empty, too.
        batch = mo.md("{guess}").batch(guess=radio)
        return batch.form(submit_button_label="This is my guess", bordered=False, on_change=keep)

    def guess_in(self, form: Any) -> str | None:
        """The guess made in the form, or the guess in the address."""
        asked = _asked("guess")
        return (form.value or {}).get("guess") or (asked if asked in self.about.choices else None)

    def explain_form(self) -> Any:
        """The student's own explanation, which a class hands in. Its `value` is None until it is sent."""
        import marimo as mo

        def keep(value: dict[str, str] | None) -> None:
            if value and value["text"].strip():
                hand_in(student(), f"explain-{self.number}", value["text"].strip()[:MAX_EXPLANATION])

        text = mo.ui.text_area(label=self.about.why, rows=2, max_length=MAX_EXPLANATION, full_width=True)
        return mo.md("{text}").batch(text=text).form(submit_button_label="Compare", bordered=False, on_change=keep)

    def show(self, step: str, guess_form: Any, why: Any, steps: Mapping[str, Callable[[], Any]]) -> Any:
        """The open step. The guess comes before all others.

        Args:
            step: as the chooser has it.
            why: the form of `explain_form`.
            steps: title of each step between the guess and the explanation → what it shows.
        """
        title, guess = step.partition(" ")[2], self.guess_in(guess_form)
        if title == PREDICT:
            return self._predicting(guess_form, guess)
        if not guess:
            return displayed(show.quiet("Guess first. Then the other steps open."))
        return self._explaining(guess, why) if title == EXPLAIN else steps[title]()

    def _predicting(self, form: Any, guess: str | None) -> Any:
        """The first step: its subject, the question, its words, and the guess once it is made."""
        import marimo as mo

        made = notice("Choose one of the answers first.", tone="warn") if form.value else EMPTY
        if guess:
            made = notice(
                "Your guess: ", tag("b", guess), ". Open the next step. The last one has the answer.", tone="open"
            )
        above = show.styled(rich_text(self.about.about), words(*self.about.words))
        return mo.vstack([mo.Html(above), form, mo.Html(show.styled(made))])

    def _explaining(self, guess: str, form: Any) -> Any:
        """The last step: what became of the guess, the student's sentence, then the lesson's."""
        import marimo as mo

        said = EMPTY
        if form.value:
            ours = notice(tag("b", "One way to say it: "), self.about.ours)
            written = form.value["text"].strip()
            said = ours if written else notice("Write a sentence of your own first.", tone="warn")
        verdict = show.styled(tag("h2", EXPLAIN, class_="le-title"), self._compared(guess))
        return mo.vstack([mo.Html(verdict), form, mo.Html(show.styled(said))])

    def _compared(self, guess: str) -> Markup:
        """The guess, the answer, and the numbers behind it."""
        choice, sentence = self.about.happened()
        right = guess == choice
        answer = "”. That is right. " if right else f"”. The answer is “{choice}”. "
        return notice("You guessed “", tag("b", guess), answer, sentence, tone=None if right else "open")


def _asked(name: str) -> str:
    import marimo as mo

    return str(mo.query_params().get(name) or "") if mo.running_in_notebook() else ""


def words(*names: str) -> Markup:
    """A sentence for every word of the glossary, and about every assistant."""
    rows = (
        tag("div", tag("dt", *_named(name)), tag("dd", TERMS[name].meaning if name in TERMS else ABOUT[name]))
        for name in names
    )
    return tag("dl", *rows, class_="le-words") if names else EMPTY


def _named(name: str) -> list[Markup]:
    if name not in TERMS:
        return [tag("code", name)]
    glyph = [show.state_glyph(name), Markup(" ")] if name in STATES else []
    return [*glyph, tag("b", name), *([tag("i", subscripts(f" {TERMS[name].symbol}"))] if TERMS[name].symbol else [])]


# -- do ----------------------------------------------------------------------------------------------------------------


def asked(key: str) -> Any:
    """The fields of an exercise's answer. Their `value` is None until *Check* is pressed."""
    import marimo as mo

    fields = _fields(key)
    short = all(len(choice) < SHORT for choice in EXERCISES[key].choices)
    layout = (" &emsp; " if short else "\n\n").join(f"{{{name}}}" for name in fields)

    def keep(value: dict[str, Any] | None) -> None:
        if value is not None:
            answer = answer_of(key, value)
            hand_in(student(), key, answer, EXERCISES[key].check(answer))

    return mo.md(layout).batch(**fields).form(submit_button_label="Check", bordered=False, on_change=keep)


def posed(key: str, fields: Any, *above: Any, below: Markup = EMPTY) -> Any:
    """An exercise as a page shows it: its task, its words, `above`, the fields, the check's hint, and `below`.

    Args:
        above: anything that marimo shows.
    """
    import marimo as mo

    exercise = EXERCISES[key]
    head = tag("h2", exercise.title, class_="le-title"), subscripts(rich_text(exercise.task)), words(*exercise.words)
    return mo.vstack([mo.Html(show.styled(*head)), *above, fields, checked(key, fields, below)])


def _fields(key: str) -> dict[str, Any]:
    import marimo as mo

    exercise = EXERCISES[key]
    match exercise.form:
        case "number":
            return {"number": mo.ui.text(label="Your number")}
        case "numbers":
            numbers = range(1, GROUP + 1)
            return {
                f"reply{n}": mo.ui.slider(-1, 5, 0.5, value=n - 1, label=f"reply {n}", show_value=True) for n in numbers
            }
        case "order":
            places = range(1, len(exercise.choices) + 1)
            return {f"place{n}": mo.ui.dropdown(exercise.choices, label=f"{n}.") for n in places}
        case "several":
            return {f"pick{n}": mo.ui.checkbox(label=text) for n, text in enumerate(exercise.choices, 1)}
        case form:
            label = "Your reply" if form == "reply" else "Your replies, one per line"
            return {"text": mo.ui.text_area(label=label, rows=LINES[form], max_length=MAX_TEXT, full_width=True)}


def answer_of(key: str, value: dict[str, Any]) -> Any:
    """The plain answer in the fields of `asked`."""
    form, values = EXERCISES[key].form, list(value.values())
    if form == "number":
        typed = str(values[0]).strip().replace(",", ".").replace("−", "-")
        return float(typed) if re.fullmatch(r"-?\d*\.?\d+", typed) else typed
    if form == "several":
        return [place for place, picked in enumerate(values, 1) if picked]
    if form == "replies":
        return [line.strip() for line in values[0][:MAX_TEXT].splitlines() if line.strip()]
    return values[0][:MAX_TEXT].strip() if form == "reply" else values


def checked(key: str, fields: Any, *below: Markup) -> Any:
    """The check's hint on the answer in the fields of `asked`. It is empty before *Check* is pressed."""
    import marimo as mo

    outcome = EMPTY if fields.value is None else told(EXERCISES[key].check(answer_of(key, fields.value)))
    return mo.Html(show.styled(outcome, *below))


def told(outcome: Outcome) -> Markup:
    """An outcome: passed or not yet, and a hint."""
    mark = tag("b", "✓ Right. " if outcome.passed else "Not yet. ")
    return notice(mark, outcome.hint, tone=None if outcome.passed else "open")


# -- the figures of steps ----------------------------------------------------------------------------------------------


def watched(story: Any) -> Any:
    """Lesson 1: the words of its story, and the story."""
    import marimo as mo

    return mo.vstack([displayed(words("undiscovered", "emerging", "discovered", "reward")), story])


def map_of(tree: IntentTree, seed: int = 0) -> Any:
    """A user's intents before the first reply."""
    import marimo as mo

    return mo.ui.anywidget(intent_map(tree, initial_state(tree, Rules.paper(), seed)).widget)


def two_trees(fields: Any) -> Any:
    """Lesson 2: the first two trees of a user, and the conversation with the replies in the fields."""
    replies = answer_of("two-replies", fields.value)[:2] if fields.value else []
    chat = show.panel("So far", show.chat(answered(STEPPED, replies)), latest=True) if replies else EMPTY
    tree = dataclasses.replace(tree_of(STEPPED), roots=tree_of(STEPPED).roots[:2])
    return posed("two-replies", fields, map_of(tree, STEPPED), below=chat)


def earned_at(tau: float) -> Any:
    """Lesson 3: what five replies of each assistant to one user earn with so many free tokens."""
    import marimo as mo

    stats = [mo.stat(signed(earned(name, tau)), label=name, bordered=True) for name in ("draft", "verbose", "adaptive")]
    about = tag("p", "Rewards of five replies of each assistant to one user. Move τ.")
    return mo.vstack([displayed(about, words("adaptive")), mo.hstack(stats, widths="equal")])


def group_shown(fields: Any) -> Markup:
    """Lesson 5: the group of the rewards in the fields, and the update that it makes. Empty without rewards."""
    if not fields.value:
        return EMPTY
    rewards = answer_of("grpo", fields.value)
    picture = group_picture(group_of(rewards), [f"reply {place}" for place in range(1, len(rewards) + 1)])
    return show.panel("The group and its update", picture)
