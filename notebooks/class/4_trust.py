# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "Can we trust it?"
# description = "Where is the leak, and does length decide the pairs?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Can we trust it?", css_file="../../workbench/views/static/workbench.css")


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # Can we trust it?
    """)
    return


@app.cell
def begin(cards):
    card = cards.Card("4", "Length", "Leaks")
    guess_form, why = card.guess_form(), card.explain_form()
    length, leak = cards.asked("length"), cards.asked("leak")
    return card, guess_form, leak, length, why


@app.cell(hide_code=True)
def choose_step(card):
    step = card.chooser()
    step
    return (step,)


@app.cell
def show_step(USER, card, cards, guess_form, leak, length, pairs_table, step, told_so_far, why):
    steps = {
        "Length": lambda: cards.posed("length", length, cards.displayed(pairs_table())),
        "Leaks": lambda: cards.posed("leak", leak, cards.map_of(USER), cards.displayed(told_so_far())),
    }
    card.show(step.value, guess_form, why, steps)
    return


@app.cell(hide_code=True)
def set_up():
    import marimo as mo

    from workbench.controls import page_has_sheet
    from workbench.lessons import cards
    from workbench.lessons.checks import USER, pairs_table, told_so_far

    page_has_sheet()
    return USER, cards, mo, pairs_table, told_so_far


if __name__ == "__main__":
    app.run()
