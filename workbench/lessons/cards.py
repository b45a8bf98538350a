"""The furniture of a lesson's card: predict, do, explain, one step in sight.  marimo is imported where it is used.

The step and the guess stand in the address; answers to exercises do not, so that a link gives none away.  What a class
hands in is handed in when a button is pressed, not when a page shows it again; a guess that was handed in comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from discover_lib.base.glossary import TERMS
from workbench.controls import pickable
from workbench.lessons.class_answers import first_answer, hand_in
from workbench.lessons.exercise import Outcome
from workbench.lessons.exercises import EXERCISES
from workbench.lessons.lesson_rules import GROUP
from workbench.lessons.predictions import PREDICTIONS
from workbench.pages.conversation_page import ABOUT
from workbench.views import conversation_parts as show
from workbench.views.html import EMPTY, Markup, notice, rich_text, subscripts, tag

PREDICT, EXPLAIN = "Predict", "Explain"
STATES = ("undiscovered", "emerging", "discovered")
LINES = {"reply": 3, "replies": 4}
MAX_EXPLANATION = 600  # characters
SHORT = 12  # characters of a choice that stands beside others in a line


def student() -> str:
    """Who sits at this page, where a class is on; else nobody."""
    import marimo as mo

    request = mo.app_meta().request
    user = request.user if request else None
    return str(user.get("username", "")) if isinstance(user, dict) else str(getattr(user, "display_name", "") or "")


# -- steps -------------------------------------------------------------------------------------------------------------


def titles(*steps: str) -> tuple[str, ...]:
    """The steps of a card, numbered, around those in which something is done."""
    return tuple(f"{number} {title}" for number, title in enumerate((PREDICT, *steps, EXPLAIN), 1))


def first_open(steps: Sequence[str]) -> str:
    """The step that the address names, else the first."""
    asked = _asked("step")
    return steps[int(asked) - 1] if asked.isdecimal() and 0 < int(asked) <= len(steps) else steps[0]


def chooser(steps: Sequence[str], opened: str) -> Any:
    """The steps in a row; the one that is open is `value["picked"]` and stands in the address."""
    import marimo as mo

    buttons = (tag("li", tag("button", step, type="button", data_pick=step)) for step in steps)
    widget = pickable(show.styled(tag("ol", *buttons, class_="dl-plain le-steps", aria_label="Steps")), opened)
    widget.observe(lambda change: _remember(steps, change["new"]), "picked")
    return mo.ui.anywidget(widget)


def _remember(steps: Sequence[str], step: str) -> None:
    import marimo as mo

    mo.query_params().set("step", str(steps.index(step) + 1))


def in_sight(step: str, guess: str | None) -> str:
    """The title of the step that is shown: without a guess the first alone, and "" for any other."""
    title = step.partition(" ")[2]
    return title if guess or title == PREDICT else ""


def onward(steps: Sequence[str], step: str, guess: str | None, open_step: Callable[[str], None]) -> Any:
    """The way to the next step, or what is missing."""
    import marimo as mo

    if not guess:
        return mo.Html(show.styled(show.quiet(f"Guess first, in step {steps[0]}: the other steps open then.")))
    place = steps.index(step) + 1
    if place == len(steps):
        return None

    def go_on(_: Any) -> None:
        _remember(steps, steps[place])
        open_step(steps[place])

    return mo.ui.button(label=f"Next: {steps[place][2:]} →", on_click=go_on)


def _asked(name: str) -> str:
    import marimo as mo

    return str(mo.query_params().get(name) or "") if mo.running_in_notebook() else ""


def words(*names: str) -> Markup:
    """A sentence for every word: of the glossary, or about an assistant."""
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


# -- predict -----------------------------------------------------------------------------------------------------------


def predict(card: str) -> Any:
    """A guess before anything is seen, which a class hands in and the address keeps."""
    import marimo as mo

    choices = PREDICTIONS[card].choices
    if not _asked("guess") and (handed_in := first_answer(student(), f"predict-{card}")) in choices:
        mo.query_params().set("guess", handed_in)  # who sits here is not known any more when a step is opened
    asked = _asked("guess")

    def keep(value: dict[str, str | None] | None) -> None:
        if value and value["guess"]:
            mo.query_params().set("guess", value["guess"])
            hand_in(student(), f"predict-{card}", value["guess"])

    radio = mo.ui.radio(choices, value=asked if asked in choices else None, label=PREDICTIONS[card].question)
    # A form's own refusal cannot be read in the dark, so the page says what is missing: a batch sends nothing, too.
    batch = mo.md("{guess}").batch(guess=radio)
    return batch.form(submit_button_label="This is my guess", bordered=False, on_change=keep)


def guess_in(card: str, form: Any) -> str | None:
    """The guess made in the form, or the one that the address brings along."""
    asked = _asked("guess")
    return (form.value or {}).get("guess") or (asked if asked in PREDICTIONS[card].choices else None)


def predicting(card: str, about: str, form: Any, guess: str | None) -> Any:
    """The first step: what it is about, the question, its words, and the guess once it is made."""
    import marimo as mo

    made = notice("Choose one of the answers first.", tone="warn") if form.value else EMPTY
    if guess:
        made = notice("Your guess: ", tag("b", guess), ". The last step says whether it held.", tone="open")
    above = show.styled(rich_text(" ".join(about.split())), words(*PREDICTIONS[card].words))
    return mo.vstack([mo.Html(above), form, mo.Html(show.styled(made))])


def compared(card: str, guess: str) -> Markup:
    """The guess in the reader's words, whether it held, and what happened."""
    happened = PREDICTIONS[card].happened()
    if guess == happened.choice:
        return notice("You guessed “", tag("b", guess), "”, and it held. ", happened.sentence)
    line = tag("b", guess), "”. It did not hold: the answer is “", tag("b", happened.choice), "”. ", happened.sentence
    return notice("You guessed “", *line, tone="open")


# -- do ----------------------------------------------------------------------------------------------------------------


def asked(key: str) -> Any:
    """The fields of an exercise's answer; their `value` is None until *Check* is pressed."""
    import marimo as mo

    fields = _fields(key)
    short = all(len(choice) < SHORT for choice in EXERCISES[key].choices)
    layout = (" &emsp; " if short else "\n\n").join(f"{{{name}}}" for name in fields)

    def keep(value: dict[str, Any] | None) -> None:
        if value is not None:
            answer = answer_of(key, value)
            hand_in(student(), key, answer, EXERCISES[key].check(answer))

    return mo.md(layout).batch(**fields).form(submit_button_label="Check", bordered=False, on_change=keep)


def posed(key: str, fields: Any, *above: Markup, below: Markup = EMPTY) -> Any:
    """An exercise as a page shows it: its task, its words, what it is about, the fields, and what the check says."""
    import marimo as mo

    exercise = EXERCISES[key]
    head = tag("h2", exercise.title, class_="le-title"), subscripts(rich_text(exercise.task)), words(*exercise.words)
    return mo.vstack([mo.Html(show.styled(*head, *above)), fields, checked(key, fields, below)])


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


def checked(key: str, fields: Any, *below: Markup) -> Any:
    """What the check says of the answer in the fields of `asked`; nothing before *Check* is pressed."""
    import marimo as mo

    outcome = EMPTY if fields.value is None else told(EXERCISES[key].check(answer_of(key, fields.value)))
    return mo.Html(show.styled(outcome, *below))


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
        return tag("li", tag("span", subscripts(name)), tag("div", bar, class_="le-bar", aria_hidden="true"), number)

    return tag("ul", *(row(name, value) for name, value in values.items()), class_="dl-plain le-bars")


# -- explain -----------------------------------------------------------------------------------------------------------


def explain(card: str, question: str) -> Any:
    """A sentence of one's own, which a class hands in; its `value` is None until it is sent."""
    import marimo as mo

    def keep(value: dict[str, str] | None) -> None:
        if value and value["text"].strip():
            hand_in(student(), f"explain-{card}", value["text"].strip()[:MAX_EXPLANATION])

    text = mo.ui.text_area(label=question, rows=2, max_length=MAX_EXPLANATION, full_width=True)
    return mo.md("{text}").batch(text=text).form(submit_button_label="Compare", bordered=False, on_change=keep)


def explaining(card: str, guess: str, form: Any, ours: str) -> Any:
    """The last step: what became of the guess, one's own sentence, then the lesson's."""
    import marimo as mo

    said = EMPTY
    if form.value:
        written = form.value["text"].strip()
        ours_then = notice(tag("b", "One way to say it: "), ours)
        said = ours_then if written else notice("Write a sentence of your own first.", tone="warn")
    verdict = show.styled(tag("h2", "Explain", class_="le-title"), compared(card, guess))
    return mo.vstack([mo.Html(verdict), form, mo.Html(show.styled(said))])
