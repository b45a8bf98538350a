"""The furniture of a lesson's card: predict, do, explain.  marimo is imported where it is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discover_lib.app.answers import hand_in
from discover_lib.app.lessons.exercise import Outcome
from discover_lib.app.lessons.exercises import EXERCISES
from discover_lib.app.lessons.rules import GROUP
from discover_lib.views import conversation as show
from discover_lib.views.html import EMPTY, Markup, joined, notice, tag

LINES = {"reply": 3, "replies": 6}
MAX_EXPLANATION = 600  # characters
SHORT = 12  # characters of a choice that stands beside others in a line


def student() -> str:
    """Who sits at this page, where a class is on; else nobody."""
    import marimo as mo

    request = mo.app_meta().request
    user = request.user if request else None
    return str(user.get("username", "")) if isinstance(user, dict) else str(getattr(user, "display_name", "") or "")


# -- predict -----------------------------------------------------------------------------------------------------------


def predict(question: str, choices: Sequence[str]) -> Any:
    """A guess before anything is seen: its `value` is None until one is made."""
    import marimo as mo

    radio = mo.ui.radio(list(choices), label=question)
    return radio.form(submit_button_label="This is my guess", bordered=False)


def predicted(card: str, guess: str | None) -> Any:
    """A line about the guess, which a class hands in."""
    import marimo as mo

    if guess is None:
        return mo.Html(show.styled(show.quiet("Guess first; the page goes on below.")))
    hand_in(student(), f"predict-{card}", guess)
    return mo.Html(show.styled(notice("Your guess: ", tag("b", guess), ". Now look.", tone="open")))


# -- do ----------------------------------------------------------------------------------------------------------------


def asked(key: str) -> Any:
    """The fields of an exercise's answer; their `value` is None until *Check* is pressed."""
    import marimo as mo

    fields = _fields(key)
    short = all(len(choice) < SHORT for choice in EXERCISES[key].choices)
    layout = (" &emsp; " if short else "\n\n").join(f"{{{name}}}" for name in fields)
    return mo.md(layout).batch(**fields).form(submit_button_label="Check", bordered=False)


def posed(key: str, fields: Any) -> Any:
    """An exercise as a page shows it: its task above the fields."""
    import marimo as mo

    exercise = EXERCISES[key]
    return mo.vstack([mo.md(f"### {exercise.title}\n\n{exercise.task}"), fields])


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
            label = "Your reply" if form == "reply" else "Your replies, one a line"
            return {"text": mo.ui.text_area(label=label, rows=LINES[form], max_length=2_000, full_width=True)}


def answer_of(key: str, value: dict[str, Any]) -> Any:
    """The plain answer in the fields of `asked`."""
    form, values = EXERCISES[key].form, list(value.values())
    if form == "number":
        try:
            return float(str(values[0]).strip().replace(",", ".").replace("−", "-"))
        except ValueError:
            return values[0]
    if form == "several":
        return [place for place, picked in enumerate(values, 1) if picked]
    if form == "replies":
        return str(values[0]).splitlines()
    return values[0] if form == "reply" else values


def checked(key: str, value: dict[str, Any] | None, *below: Markup) -> Any:
    """What the check says of the answer in the fields of `asked`, which a class hands in."""
    import marimo as mo

    if value is None:
        return mo.md("")
    answer = answer_of(key, value)
    outcome = EXERCISES[key].check(answer)
    hand_in(student(), key, answer, outcome)
    return mo.Html(show.styled(told(outcome), *below))


def told(outcome: Outcome) -> Markup:
    """An outcome: passed or not yet, what to look at, and the numbers behind it as bars."""
    mark = tag("b", "✓ Right. " if outcome.passed else "Not yet. ")
    return notice(mark, outcome.hint, tone=None if outcome.passed else "open") + bars(outcome.shown)


def bars(values: dict[str, float] | Any) -> Markup:
    """Named values as bars from a zero line; negative ones go to the left."""
    if not values:
        return EMPTY
    low, high = min(0.0, *values.values()), max(0.0, *values.values())
    span = (high - low) or 1.0

    def row(name: str, value: float) -> Markup:
        start, width = (min(value, 0.0) - low) / span, abs(value) / span
        sign = "less" if value < 0 else "more"
        bar = tag("i", data_sign=sign, style=f"left:{start:.1%};width:{width:.1%}")
        number = tag("span", f"{value:.3g}".replace("-", "−"), class_="dl-num")
        return tag("li", tag("span", name), tag("div", bar, class_="le-bar", aria_hidden="true"), number)

    return tag("ul", *(row(name, value) for name, value in values.items()), class_="dl-plain le-bars")


# -- explain -----------------------------------------------------------------------------------------------------------


def explain(question: str) -> Any:
    """A sentence of one's own; its `value` is None until it is sent."""
    import marimo as mo

    text = mo.ui.text_area(label=question, rows=2, max_length=MAX_EXPLANATION, full_width=True)
    return text.form(submit_button_label="Compare", bordered=False)


def explained(card: str, text: str | None, ours: str) -> Any:
    """The explanation of the lesson, once one's own is written; a class hands that in."""
    import marimo as mo

    if not text or not text.strip():
        return mo.Html(show.styled(show.quiet("Write a sentence of your own first, then compare.")))
    hand_in(student(), f"explain-{card}", text.strip()[:MAX_EXPLANATION])
    return mo.Html(show.styled(joined([notice(tag("b", "One way to say it: "), ours)])))
