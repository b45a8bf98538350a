# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "What is learnt?"
# description = "Which rewards teach an assistant?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="What is learnt?", css_file="../../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.train.grpo.group import group_of
    from workbench.controls import page_has_sheet
    from workbench.lessons import cards
    from workbench.lessons.lesson_people import answered
    from workbench.lessons.seeing import PLAYED
    from workbench.views import conversation_parts as show
    from workbench.views import training as show_training

    page_has_sheet()


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # What is learnt?
    """)
    return


@app.cell(hide_code=True)
def begin():
    steps = cards.titles("Nothing learnt", "Beat adaptive")
    get_step, set_step = mo.state(cards.first_open(steps))
    guess_form = cards.predict("5")
    return get_step, guess_form, set_step, steps


@app.cell(hide_code=True)
def choose_step(get_step, steps):
    step = cards.chooser(steps, get_step())
    step
    return (step,)


@app.cell(hide_code=True)
def open_step(guess_form, step):
    guess = cards.guess_in("5", guess_form)
    opened = cards.in_sight(step.value["picked"], guess)
    return guess, opened


@app.cell(hide_code=True)
def predict(guess, guess_form, opened):
    _about = """
    GRPO samples several replies to one prompt, and makes some of them likelier.
    """
    cards.predicting("5", _about, guess_form, guess) if opened == "Predict" else None
    return


@app.cell(hide_code=True)
def make_grpo():
    grpo = cards.asked("grpo")
    return (grpo,)


@app.cell(hide_code=True)
def do_grpo(grpo, opened):
    _rewards = cards.answer_of("grpo", grpo.value) if grpo.value else []
    _picture = show_training.group_picture(group_of(_rewards), [f"reply {place + 1}" for place in range(len(_rewards))])
    _below = show.panel("The group, and what the update does", _picture) if _rewards else show.EMPTY
    cards.posed("grpo", grpo, below=_below) if opened == "Nothing learnt" else None
    return


@app.cell(hide_code=True)
def make_beat():
    beat = cards.asked("beat")
    return (beat,)


@app.cell(hide_code=True)
def do_beat(beat, opened):
    _replies = cards.answer_of("beat", beat.value) if beat.value else []
    _talk = answered(PLAYED, [reply for reply in _replies if reply.strip()])
    _below = show.panel("So far", show.chat(_talk), latest=True)
    cards.posed("beat", beat, below=_below) if opened == "Beat adaptive" else None
    return


@app.cell(hide_code=True)
def make_sentence():
    why = cards.explain("5", "What did you do that adaptive does not, and could a model learn it?")
    return (why,)


@app.cell(hide_code=True)
def explain(guess, opened, why):
    _ours = (
        "People keep to one kind of thing at a time, offer few choices and go on from the answer. A model learns it "
        "only if, in one group, some replies do it and others do not: otherwise all advantages are 0."
    )
    cards.explaining("5", guess, why, _ours) if opened == "Explain" else None
    return


@app.cell(hide_code=True)
def go_on(guess, set_step, step, steps):
    cards.onward(steps, step.value["picked"], guess, set_step)
    return


if __name__ == "__main__":
    app.run()
