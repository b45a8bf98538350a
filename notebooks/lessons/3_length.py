# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "Lesson 3 · What does length cost?"
# description = "One reward by hand; then move τ until the assistant that says everything twice wins. Eight minutes."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Lesson 3 · What does length cost?")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.app.carried import kept
    from discover_lib.app.lessons import cards
    from discover_lib.app.lessons.rules import STEP, earned
    from discover_lib.views import conversation as show
    from discover_lib.views.navigation import footer


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # What does length cost?

    Eight minutes. Every wish that becomes known earns 1; every token beyond τ costs λ, and all of them together cost
    at most 1.
    """)
    return


@app.cell(hide_code=True)
def ask_guess():
    guess = cards.predict(
        "verbose drafts, and then says it all twice. With τ = 250, as in the paper, its five replies earn …",
        ["more than those of draft", "about as much", "less, but above 0", "less than 0"],
    )
    guess
    return (guess,)


@app.cell(hide_code=True)
def note_guess(guess):
    cards.predicted("3", guess.value)
    return


@app.cell(hide_code=True)
def choose_tau(guess):
    tau = kept(mo.ui.slider, "tau", 0, 1400, STEP, value=250, label="free tokens τ", show_value=True, full_width=True)
    _what = mo.md("## Do\n\nMove τ: what do five replies of each assistant to one person earn?")
    mo.vstack([_what, tau]) if guess.value else None
    return (tau,)


@app.cell(hide_code=True)
def show_earned(guess, tau):
    _earned = {name: earned(name, tau.value) for name in ("draft", "verbose", "adaptive")}
    mo.Html(show.styled(cards.bars(_earned))) if guess.value else None
    return


@app.cell(hide_code=True)
def ask_reward(guess):
    reward = cards.asked("reward")
    cards.posed("reward", reward) if guess.value else None
    return (reward,)


@app.cell(hide_code=True)
def check_reward(reward):
    cards.checked("reward", reward.value)
    return


@app.cell(hide_code=True)
def ask_tau_answer(guess):
    tau_answer = cards.asked("tau")
    cards.posed("tau", tau_answer) if guess.value else None
    return (tau_answer,)


@app.cell(hide_code=True)
def check_tau_answer(tau_answer):
    cards.checked("tau", tau_answer.value)
    return


@app.cell(hide_code=True)
def ask_why(guess):
    why = cards.explain("What would assistants learn if length were free? One sentence.")
    mo.vstack([mo.md("## Explain"), why]) if guess.value else None
    return (why,)


@app.cell(hide_code=True)
def compare_why(guess, why):
    _ours = cards.explained(
        "3",
        why.value,
        "To say everything every time: each further sentence may meet a wish and none costs anything. That "
        "the charge is at most 1 keeps a long reply that finds two wishes better than a short one that finds "
        "none.",
    )
    _ours if guess.value else None
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("lessons/3_length.py")))
    return


if __name__ == "__main__":
    app.run()
