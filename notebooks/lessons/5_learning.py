# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "Lesson 5 · What is learnt?"
# description = "Four rewards from which GRPO learns nothing; then be the assistant and beat adaptive. Eight minutes."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Lesson 5 · What is learnt?")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.app.lessons import cards
    from discover_lib.app.lessons.people import answered
    from discover_lib.app.lessons.seeing import PLAYED
    from discover_lib.train.grpo.group import group_of
    from discover_lib.views import conversation as show
    from discover_lib.views import training as show_training
    from discover_lib.views.navigation import footer


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # What is learnt?

    Eight minutes. GRPO samples several replies to one prompt, and makes some of them likelier.
    """)
    return


@app.cell(hide_code=True)
def ask_guess():
    guess = cards.predict(
        "Four replies to one prompt earn 3, 3, 3 and 3. What does the update do?",
        ["makes all four likelier", "makes the first likelier", "nothing at all"],
    )
    guess
    return (guess,)


@app.cell(hide_code=True)
def note_guess(guess):
    cards.predicted("5", guess.value)
    return


@app.cell(hide_code=True)
def ask_grpo(guess):
    grpo = cards.asked("grpo")
    mo.vstack([mo.md("## Do"), cards.posed("grpo", grpo)]) if guess.value else None
    return (grpo,)


@app.cell(hide_code=True)
def check_grpo(grpo):
    _rewards = cards.answer_of("grpo", grpo.value) if grpo.value else [0.0]
    _picture = show_training.group_picture(group_of(_rewards), [f"reply {place + 1}" for place in range(len(_rewards))])
    cards.checked("grpo", grpo.value, show.panel("The group, and what the update does", _picture))
    return


@app.cell(hide_code=True)
def ask_beat(guess):
    beat = cards.asked("beat")
    cards.posed("beat", beat) if guess.value else None
    return (beat,)


@app.cell(hide_code=True)
def check_beat(beat):
    _replies = cards.answer_of("beat", beat.value) if beat.value else []
    _talk = answered(PLAYED, [reply for reply in _replies if reply.strip()])
    cards.checked("beat", beat.value, show.panel("So far", show.chat(_talk), latest=True))
    return


@app.cell(hide_code=True)
def ask_why(guess):
    why = cards.explain("You found more than adaptive. What did you do that it does not, and could a model learn it?")
    mo.vstack([mo.md("## Explain"), why]) if guess.value else None
    return (why,)


@app.cell(hide_code=True)
def compare_why(guess, why):
    _ours = cards.explained(
        "5",
        why.value,
        "People keep to one kind of thing at a time, offer few choices and go on from the answer. A model "
        "learns it only if, in one group, some replies do it and others do not: otherwise all advantages are "
        "0.",
    )
    _ours if guess.value else None
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("lessons/5_learning.py")))
    return


if __name__ == "__main__":
    app.run()
