# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "What does length cost?"
# description = "When does a longer reply earn less?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium", app_title="What does length cost?", css_file="../../workbench/views/static/workbench.css"
)


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # What does length cost?
    """)
    return


@app.cell
def begin(cards, kept, mo):
    card = cards.Card("3", "By hand", "Move τ")
    guess_form, why = card.guess_form(), card.explain_form()
    reward, tau_answer = cards.asked("reward"), cards.asked("tau")
    tau = kept(mo.ui.slider, "tau", 0, 1400, 10, value=250, label="free tokens τ", show_value=True, full_width=True)
    return card, guess_form, reward, tau, tau_answer, why


@app.cell(hide_code=True)
def choose_step(card):
    step = card.chooser()
    step
    return (step,)


@app.cell
def show_step(card, cards, guess_form, reward, step, tau, tau_answer, why):
    steps = {
        "By hand": lambda: cards.posed("reward", reward),
        "Move τ": lambda: cards.posed("tau", tau_answer, tau, cards.earned_at(tau.value)),
    }
    card.show(step.value, guess_form, why, steps)
    return


@app.cell(hide_code=True)
def set_up():
    import marimo as mo

    from workbench.carried import kept
    from workbench.controls import page_has_sheet
    from workbench.lessons import cards

    page_has_sheet()
    return cards, kept, mo


if __name__ == "__main__":
    app.run()
