# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "Ask, draft or explore: who discovers more?"
# description = "How much does asking discover?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium",
    app_title="Ask, draft or explore: who discovers more?",
    css_file="../../workbench/views/static/workbench.css",
)


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # Ask, draft or explore: who discovers more?
    """)
    return


@app.cell
def begin(PEOPLE, cards, mo, story_widget):
    card = cards.Card("1", "Watch", "Order", "Near misses")
    get_step, set_step = mo.state(card.first_step())
    guess_form, why = card.guess_form(), card.explain_form()
    rank, near_misses = cards.asked("rank"), cards.asked("near-misses")
    story = mo.ui.anywidget(story_widget(PEOPLE, suspense=True))
    return card, get_step, guess_form, near_misses, rank, set_step, story, why


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
def show_step(card, cards, guess, guess_form, near_misses, opened, rank, story, why):
    steps = {
        "Watch": lambda: cards.watched(story),
        "Order": lambda: cards.posed("rank", rank),
        "Near misses": lambda: cards.posed("near-misses", near_misses),
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
    from workbench.story import PEOPLE, story_widget

    page_has_sheet()
    return PEOPLE, cards, mo, story_widget


if __name__ == "__main__":
    app.run()
