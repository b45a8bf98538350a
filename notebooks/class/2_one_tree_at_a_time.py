# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "One tree at a time"
# description = "Can two replies discover two trees?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="One tree at a time", css_file="../../workbench/views/static/workbench.css")


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # One tree at a time
    """)
    return


@app.cell
def begin(cards, mo):
    card = cards.Card("2", "Two trees", "Break it", "Write it")
    get_step, set_step = mo.state(card.first_step())
    guess_form, why = card.guess_form(), card.explain_form()
    two_replies, break_it = cards.asked("two-replies"), cards.asked("break")
    return break_it, card, get_step, guess_form, set_step, two_replies, why


@app.cell(hide_code=True)
def choose_step(card, get_step):
    step = card.chooser(get_step())
    step
    return (step,)


@app.cell(hide_code=True)
def open_step(card, cards, guess_form, step):
    guess = card.guess_in(guess_form)
    opened = cards.in_sight(step.value["picked"], guess)
    return guess, opened


@app.cell
def show_step(
    STEPPED, WRITE_ADVANCE, break_it, card, cards, first_trees, guess, guess_form, mo, opened, two_replies, why
):
    answers = cards.chat_of(STEPPED, "two-replies", two_replies, 2)
    steps = {
        "Two trees": lambda: cards.posed(
            "two-replies", two_replies, cards.map_of(first_trees(STEPPED, 2), STEPPED), below=answers
        ),
        "Break it": lambda: cards.posed("break", break_it),
        "Write it": lambda: mo.md(WRITE_ADVANCE),
    }
    card.show(opened, guess, guess_form, why, steps)
    return


@app.cell(hide_code=True)
def go_on(card, guess, set_step, step):
    card.onward(step.value["picked"], guess, set_step)
    return


@app.cell(hide_code=True)
def set_up():
    import marimo as mo

    from workbench.controls import page_has_sheet
    from workbench.lessons import cards
    from workbench.lessons.checks import STEPPED, WRITE_ADVANCE
    from workbench.lessons.exercise import first_trees

    page_has_sheet()
    return STEPPED, WRITE_ADVANCE, cards, first_trees, mo


if __name__ == "__main__":
    app.run()
