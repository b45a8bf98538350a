# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "Lesson 1 · Ask, draft or explore: who finds more?"
# description = "Guess what asking finds with one person, see it, and put four assistants in order. Eight minutes."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Lesson 1 · Ask, draft or explore: who finds more?")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.app.lessons import cards
    from discover_lib.app.story import PEOPLE, StoryTeller, story_widget
    from discover_lib.views import conversation as show
    from discover_lib.views.navigation import footer


@app.cell(hide_code=True)
def introduce():
    _told = StoryTeller(PEOPLE).tell(0)
    mo.md(f"""
    # Ask, draft or explore: who finds more?

    Eight minutes. One person, three assistants: one **asks**, one **drafts**, one shows things and then builds.

    The person writes

    > {_told["request"]}

    and has {_told["columns"][0]["moments"][0]["of"]} more wishes about it that they have no words for yet.
    """)
    return


@app.cell(hide_code=True)
def ask_guess():
    guess = cards.predict(
        "How many of this person’s hidden wishes will the assistant that only asks find in five turns?",
        ["none", "1 or 2", "3 to 5", "more than 5"],
    )
    guess
    return (guess,)


@app.cell(hide_code=True)
def note_guess(guess):
    cards.predicted("1", guess.value)
    return


@app.cell(hide_code=True)
def show_story(guess):
    _what = mo.md("## Do\n\nPress *Play* and watch the three rows of dots: ○ fog, ◆ a hunch, ● known.")
    mo.vstack([_what, mo.ui.anywidget(story_widget(PEOPLE, suspense=True))]) if guess.value else None
    return


@app.cell(hide_code=True)
def ask_rank(guess):
    rank = cards.asked("rank")
    cards.posed("rank", rank) if guess.value else None
    return (rank,)


@app.cell(hide_code=True)
def check_rank(rank):
    cards.checked("rank", rank.value)
    return


@app.cell(hide_code=True)
def ask_near_misses(guess):
    near_misses = cards.asked("near-misses")
    cards.posed("near-misses", near_misses) if guess.value else None
    return (near_misses,)


@app.cell(hide_code=True)
def check_near_misses(near_misses):
    cards.checked("near-misses", near_misses.value)
    return


@app.cell(hide_code=True)
def ask_why(guess):
    why = cards.explain("Why does asking find nothing here? One sentence.")
    mo.vstack([mo.md("## Explain"), why]) if guess.value else None
    return (why,)


@app.cell(hide_code=True)
def compare_why(guess, why):
    _ours = cards.explained(
        "1",
        why.value,
        "A question can only be answered from what the person knows already; a thing that is shown can be "
        "recognised, and even what is merely close to a wish turns it from fog into a hunch.",
    )
    _ours if guess.value else None
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("lessons/1_asking.py")))
    return


if __name__ == "__main__":
    app.run()
