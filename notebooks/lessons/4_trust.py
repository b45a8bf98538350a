# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "Lesson 4 · Can we trust it?"
# description = "Find the user’s leaks, the pairs that length decides, how many users a verdict needs. Eight minutes."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Lesson 4 · Can we trust it?")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.app.lessons import cards
    from discover_lib.app.lessons.trusting import ASSISTANT_SAID, PAIRS, USER, candidates_of
    from discover_lib.core.advance import initial_state
    from discover_lib.core.rules import Rules
    from discover_lib.views import conversation as show
    from discover_lib.views.navigation import footer


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # Can we trust it?

    Eight minutes. A simulated user can say too much, a label can mean nothing but *shorter*, and a difference can be
    chance.
    """)
    return


@app.cell(hide_code=True)
def ask_guess():
    guess = cards.predict(
        "Of six pairs of replies, in how many is the better reply better by its length alone?",
        ["none", "1", "2", "3 or more"],
    )
    guess
    return (guess,)


@app.cell(hide_code=True)
def note_guess(guess):
    cards.predicted("4", guess.value)
    return


@app.cell(hide_code=True)
def show_user(guess):
    _rules = Rules.paper()
    _outline = show.outline(USER, initial_state(USER, _rules), _rules, (), ())
    _said = show.bubble("assistant", show.tag("p", ASSISTANT_SAID))
    _panels = show.beside(show.panel("What they want", _outline), show.panel("Said to them", _said))
    mo.vstack([mo.md("## Do"), mo.Html(show.styled(_panels))]) if guess.value else None
    return


@app.cell(hide_code=True)
def ask_leak(guess):
    leak = cards.asked("leak")
    cards.posed("leak", leak) if guess.value else None
    return (leak,)


@app.cell(hide_code=True)
def check_leak(leak):
    cards.checked("leak", leak.value)
    return


@app.cell(hide_code=True)
def show_pairs(guess):
    _rows = []
    for _place, _pair in enumerate(PAIRS, 1):
        _rewards = [each.reward for each in candidates_of(_pair)]
        _told = [f"{each.discovered:g} found, {each.n_tokens:g} tokens: {show.signed(each.total)}" for each in _rewards]
        _rows.append((f"pair {_place}", *_told))
    mo.Html(show.styled(show.table(("", "draft", "adaptive"), _rows))) if guess.value else None
    return


@app.cell(hide_code=True)
def ask_length(guess):
    length = cards.asked("length")
    cards.posed("length", length) if guess.value else None
    return (length,)


@app.cell(hide_code=True)
def check_length(length):
    cards.checked("length", length.value)
    return


@app.cell(hide_code=True)
def ask_users(guess):
    users = cards.asked("users")
    cards.posed("users", users) if guess.value else None
    return (users,)


@app.cell(hide_code=True)
def check_users(users):
    cards.checked("users", users.value)
    return


@app.cell(hide_code=True)
def ask_why(guess):
    why = cards.explain("Which of the three would you look for first in a new simulator, and why?")
    mo.vstack([mo.md("## Explain"), why]) if guess.value else None
    return (why,)


@app.cell(hide_code=True)
def compare_why(guess, why):
    _ours = cards.explained(
        "4",
        why.value,
        "Leaks first: if the user says what they cannot know, every number after that measures reading, not "
        "discovery. Then labels that length decides, then how many users there are. Page 65 runs all of it.",
    )
    _ours if guess.value else None
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("lessons/4_trust.py")))
    return


if __name__ == "__main__":
    app.run()
