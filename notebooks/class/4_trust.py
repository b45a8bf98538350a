# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "Can we trust it?"
# description = "Where is the leak, and does length decide the pairs?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Can we trust it?", css_file="../../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.core.advance import initial_state
    from discover_lib.core.rules import Rules
    from workbench.controls import page_has_sheet
    from workbench.lessons import cards
    from workbench.lessons.trusting import ASSISTANT_SAID, USER, pairs_shown
    from workbench.views import conversation_parts as show

    page_has_sheet()


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # Can we trust it?
    """)
    return


@app.cell(hide_code=True)
def begin():
    steps = cards.titles("Length", "Leaks", "Users")
    get_step, set_step = mo.state(cards.first_open(steps))
    guess_form = cards.predict("4")
    return get_step, guess_form, set_step, steps


@app.cell(hide_code=True)
def choose_step(get_step, steps):
    step = cards.chooser(steps, get_step())
    step
    return (step,)


@app.cell(hide_code=True)
def open_step(guess_form, step):
    guess = cards.guess_in("4", guess_form)
    opened = cards.in_sight(step.value["picked"], guess)
    return guess, opened


@app.cell(hide_code=True)
def predict(guess, guess_form, opened):
    _about = """
    A simulated user can say too much, a label can mean nothing but *shorter*, and a difference can be chance.
    """
    cards.predicting("4", _about, guess_form, guess) if opened == "Predict" else None
    return


@app.cell(hide_code=True)
def make_length():
    length = cards.asked("length")
    return (length,)


@app.cell(hide_code=True)
def do_length(length, opened):
    cards.posed("length", length, pairs_shown()) if opened == "Length" else None
    return


@app.cell(hide_code=True)
def make_leak():
    leak = cards.asked("leak")
    return (leak,)


@app.cell(hide_code=True)
def do_leak(leak, opened):
    _rules = Rules.paper()
    _outline = show.outline(USER, initial_state(USER, _rules), _rules, (), ())
    _said = show.bubble("assistant", show.tag("p", ASSISTANT_SAID))
    _panels = show.beside(show.panel("What they want", _outline), show.panel("Said to them", _said))
    cards.posed("leak", leak, _panels) if opened == "Leaks" else None
    return


@app.cell(hide_code=True)
def make_users():
    users = cards.asked("users")
    return (users,)


@app.cell(hide_code=True)
def do_users(opened, users):
    cards.posed("users", users) if opened == "Users" else None
    return


@app.cell(hide_code=True)
def make_sentence():
    why = cards.explain("4", "Which of the three would you look for first in a new simulator, and why?")
    return (why,)


@app.cell(hide_code=True)
def explain(guess, opened, why):
    _ours = (
        "Leaks first: if the user says what they cannot know, every number after that measures reading, not discovery. "
        "Then labels that length decides, then how many users there are. Page 65 runs all of it."
    )
    cards.explaining("4", guess, why, _ours) if opened == "Explain" else None
    return


@app.cell(hide_code=True)
def go_on(guess, set_step, step, steps):
    cards.onward(steps, step.value["picked"], guess, set_step)
    return


if __name__ == "__main__":
    app.run()
