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
def begin(cards):
    card = cards.Card("2", "Two trees", "Break it")
    guess_form, why = card.guess_form(), card.explain_form()
    two_replies, break_it = cards.asked("two-replies"), cards.asked("break")
    return break_it, card, guess_form, two_replies, why


@app.cell(hide_code=True)
def choose_step(card):
    step = card.chooser()
    step
    return (step,)


@app.cell
def show_step(break_it, card, cards, guess_form, step, two_replies, why):
    steps = {
        "Two trees": lambda: cards.two_trees(two_replies),
        "Break it": lambda: cards.posed("break", break_it),
    }
    card.show(step.value, guess_form, why, steps)
    return


@app.cell(hide_code=True)
def set_up():
    import marimo as mo

    from workbench.controls import page_has_sheet
    from workbench.lessons import cards

    page_has_sheet()
    return cards, mo


if __name__ == "__main__":
    app.run()
