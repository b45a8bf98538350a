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
def begin(cards):
    card = cards.Card("5", "Nothing learned")
    guess_form, why = card.guess_form(), card.explain_form()
    grpo = cards.asked("grpo")
    return card, grpo, guess_form, why


@app.cell(hide_code=True)
def choose_step(card):
    step = card.chooser()
    step
    return (step,)


@app.cell
def show_step(card, cards, grpo, guess_form, step, why):
    steps = {"Nothing learned": lambda: cards.posed("grpo", grpo, below=cards.group_shown(grpo))}
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
