# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "Ask, draft or adaptive: who discovers more?"
# description = "How much does asking discover?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium",
    app_title="Ask, draft or adaptive: who discovers more?",
    css_file="../../workbench/views/static/workbench.css",
)


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # Ask, draft or adaptive: who discovers more?
    """)
    return


@app.cell
def begin(PEOPLE, cards, mo, story_widget):
    card = cards.Card("1", "Watch", "Order", "Near misses")
    guess_form, why = card.guess_form(), card.explain_form()
    rank, near_misses = cards.asked("rank"), cards.asked("near-misses")
    story = mo.ui.anywidget(story_widget(PEOPLE, suspense=True))
    return card, guess_form, near_misses, rank, story, why


@app.cell(hide_code=True)
def choose_step(card):
    step = card.chooser()
    step
    return (step,)


@app.cell
def show_step(card, cards, guess_form, near_misses, rank, step, story, why):
    steps = {
        "Watch": lambda: cards.watched(story),
        "Order": lambda: cards.posed("rank", rank),
        "Near misses": lambda: cards.posed("near-misses", near_misses),
    }
    card.show(step.value, guess_form, why, steps)
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
