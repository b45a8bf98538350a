# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "What is learned?"
# description = "Which rewards teach an assistant?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="What is learned?", css_file="../../workbench/views/static/workbench.css")


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # What is learned?
    """)
    return


@app.cell
def begin(cards, mo):
    card = cards.Card("5", "Nothing learned", "Beat adaptive")
    get_step, set_step = mo.state(card.first_step())
    guess_form, why = card.guess_form(), card.explain_form()
    grpo, beat = cards.asked("grpo"), cards.asked("beat")
    return beat, card, get_step, grpo, guess_form, set_step, why


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
def show_step(PLAYED, beat, card, cards, grpo, guess, guess_form, opened, why):
    steps = {
        "Nothing learned": lambda: cards.posed("grpo", grpo, below=cards.group_shown(grpo)),
        "Beat adaptive": lambda: cards.posed("beat", beat, below=cards.chat_of(PLAYED, "beat", beat)),
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
    from workbench.lessons.checks import PLAYED

    page_has_sheet()
    return PLAYED, cards, mo


if __name__ == "__main__":
    app.run()
