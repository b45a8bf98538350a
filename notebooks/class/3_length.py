# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "What does length cost?"
# description = "When does a longer reply earn less?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium",
    app_title="What does length cost?",
    css_file="../../workbench/views/static/workbench.css",
)

with app.setup(hide_code=True):
    import marimo as mo

    from workbench.carried import kept
    from workbench.controls import page_has_sheet
    from workbench.lessons import cards
    from workbench.lessons.lesson_rules import STEP, earned
    from workbench.views import conversation_parts as show

    page_has_sheet()


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # What does length cost?
    """)
    return


@app.cell(hide_code=True)
def begin():
    steps = cards.titles("By hand", "Move τ")
    get_step, set_step = mo.state(cards.first_open(steps))
    guess_form = cards.predict("3")
    return get_step, guess_form, set_step, steps


@app.cell(hide_code=True)
def choose_step(get_step, steps):
    step = cards.chooser(steps, get_step())
    step
    return (step,)


@app.cell(hide_code=True)
def open_step(guess_form, step):
    guess = cards.guess_in("3", guess_form)
    opened = cards.in_sight(step.value["picked"], guess)
    return guess, opened


@app.cell(hide_code=True)
def predict(guess, guess_form, opened):
    _about = """
    Every wish that a reply makes discovered earns 1; every token beyond τ costs λ, and all of them together at most 1.
    """
    cards.predicting("3", _about, guess_form, guess) if opened == "Predict" else None
    return


@app.cell(hide_code=True)
def make_reward():
    reward = cards.asked("reward")
    return (reward,)


@app.cell(hide_code=True)
def do_reward(opened, reward):
    cards.posed("reward", reward) if opened == "By hand" else None
    return


@app.cell(hide_code=True)
def choose_tau():
    tau = kept(mo.ui.slider, "tau", 0, 1400, STEP, value=250, label="free tokens τ", show_value=True, full_width=True)
    return (tau,)


@app.cell(hide_code=True)
def move_tau(opened, tau):
    _earned = {name: earned(name, tau.value) for name in ("draft", "verbose", "adaptive")}
    _what = mo.md("What do five replies of each assistant to one person earn? Move τ.")
    _shown = show.styled(cards.words("adaptive"), cards.bars(_earned))
    mo.vstack([_what, tau, mo.Html(_shown)]) if opened == "Move τ" else None
    return


@app.cell(hide_code=True)
def make_tau_answer():
    tau_answer = cards.asked("tau")
    return (tau_answer,)


@app.cell(hide_code=True)
def do_tau_answer(opened, tau_answer):
    cards.posed("tau", tau_answer) if opened == "Move τ" else None
    return


@app.cell(hide_code=True)
def make_sentence():
    why = cards.explain("3", "What would assistants learn if length were free? One sentence.")
    return (why,)


@app.cell(hide_code=True)
def explain(guess, opened, why):
    _ours = (
        "To say everything every time: each further sentence may meet a wish and none costs anything. That the charge "
        "is at most 1 keeps a long reply that finds two wishes better than a short one that finds none."
    )
    cards.explaining("3", guess, why, _ours) if opened == "Explain" else None
    return


@app.cell(hide_code=True)
def go_on(guess, set_step, step, steps):
    cards.onward(steps, step.value["picked"], guess, set_step)
    return


if __name__ == "__main__":
    app.run()
