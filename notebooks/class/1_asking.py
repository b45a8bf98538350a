# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "Ask, draft or explore: who finds more?"
# description = "How much does asking discover?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium",
    app_title="Ask, draft or explore: who finds more?",
    css_file="../../workbench/views/static/workbench.css",
)

with app.setup(hide_code=True):
    import marimo as mo

    from workbench.controls import page_has_sheet
    from workbench.lessons import cards
    from workbench.lessons.lesson_people import tree_of
    from workbench.story import PEOPLE, story_widget
    from workbench.views import conversation_parts as show

    page_has_sheet()


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # Ask, draft or explore: who finds more?
    """)
    return


@app.cell(hide_code=True)
def begin():
    steps = cards.titles("Watch", "Order", "Near misses")
    get_step, set_step = mo.state(cards.first_open(steps))
    guess_form = cards.predict("1")
    return get_step, guess_form, set_step, steps


@app.cell(hide_code=True)
def choose_step(get_step, steps):
    step = cards.chooser(steps, get_step())
    step
    return (step,)


@app.cell(hide_code=True)
def open_step(guess_form, step):
    guess = cards.guess_in("1", guess_form)
    opened = cards.in_sight(step.value["picked"], guess)
    return guess, opened


@app.cell(hide_code=True)
def predict(guess, guess_form, opened):
    _tree = tree_of(PEOPLE[0][1])
    _hidden = len(_tree) - len(_tree.initially_discovered)
    _about = f"""
    One person, three assistants: one asks (`ask`), one drafts (`draft`), one shows things and then builds
    (`adaptive`). The person writes *“{_tree.initial_request}”* and has {_hidden} more wishes (*intents*) about
    it that they have no words for yet.
    """
    cards.predicting("1", _about, guess_form, guess) if opened == "Predict" else None
    return


@app.cell(hide_code=True)
def make_story():
    story = mo.ui.anywidget(story_widget(PEOPLE, suspense=True))
    return (story,)


@app.cell(hide_code=True)
def watch(opened, story):
    _words = mo.Html(show.styled(cards.words("undiscovered", "emerging", "discovered", "reward")))
    mo.vstack([_words, story]) if opened == "Watch" else None
    return


@app.cell(hide_code=True)
def make_rank():
    rank = cards.asked("rank")
    return (rank,)


@app.cell(hide_code=True)
def do_rank(opened, rank):
    cards.posed("rank", rank) if opened == "Order" else None
    return


@app.cell(hide_code=True)
def make_near_misses():
    near_misses = cards.asked("near-misses")
    return (near_misses,)


@app.cell(hide_code=True)
def do_near_misses(near_misses, opened):
    cards.posed("near-misses", near_misses) if opened == "Near misses" else None
    return


@app.cell(hide_code=True)
def make_sentence():
    why = cards.explain("1", "Why does asking find nothing here? One sentence.")
    return (why,)


@app.cell(hide_code=True)
def explain(guess, opened, why):
    _ours = (
        "A question can only be answered from what the person knows already; a thing that is shown can be recognised, "
        "and even what is merely close to an undiscovered wish can make it emerging."
    )
    cards.explaining("1", guess, why, _ours) if opened == "Explain" else None
    return


@app.cell(hide_code=True)
def go_on(guess, set_step, step, steps):
    cards.onward(steps, step.value["picked"], guess, set_step)
    return


if __name__ == "__main__":
    app.run()
