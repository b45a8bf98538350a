# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "Lesson 2 · One tree at a time"
# description = "Find two trees of hidden wishes in two replies, break the simulator, write advance. Eight minutes."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Lesson 2 · One tree at a time")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.app.lessons import cards
    from discover_lib.app.lessons.people import answered, tree_of
    from discover_lib.app.lessons.seeing import STEPPED
    from discover_lib.core.advance import focus, initial_state
    from discover_lib.core.rules import Rules
    from discover_lib.views import conversation as show
    from discover_lib.views.navigation import footer


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # One tree at a time

    Eight minutes. Now you see what the assistants never see: the hidden wishes of one person, hung in trees.
    """)
    return


@app.cell(hide_code=True)
def ask_guess():
    guess = cards.predict(
        "A reply meets wishes of two trees at once. What counts?",
        ["both trees", "only the first tree that still has something unknown", "only the tree with more wishes"],
    )
    guess
    return (guess,)


@app.cell(hide_code=True)
def note_guess(guess):
    cards.predicted("2", guess.value)
    return


@app.cell(hide_code=True)
def show_wishes(guess):
    _tree, _rules = tree_of(STEPPED), Rules.paper()
    _state = initial_state(_tree, _rules, STEPPED)
    _outline = show.outline(_tree, _state, _rules, (), focus(_tree, _state, _rules))
    _panel = show.panel(f"“{_tree.initial_request}”: what they will want", show.state_legend(), _outline)
    mo.vstack([mo.md("## Do"), mo.Html(show.styled(_panel))]) if guess.value else None
    return


@app.cell(hide_code=True)
def ask_two_replies(guess):
    two_replies = cards.asked("two-replies")
    cards.posed("two-replies", two_replies) if guess.value else None
    return (two_replies,)


@app.cell(hide_code=True)
def check_two_replies(two_replies):
    _replies = cards.answer_of("two-replies", two_replies.value) if two_replies.value else []
    _talk = answered(STEPPED, [reply for reply in _replies if reply.strip()][:2])
    cards.checked("two-replies", two_replies.value, show.more("What they answered", show.chat(_talk)))
    return


@app.cell(hide_code=True)
def ask_break_it(guess):
    break_it = cards.asked("break")
    cards.posed("break", break_it) if guess.value else None
    return (break_it,)


@app.cell(hide_code=True)
def check_break_it(break_it):
    cards.checked("break", break_it.value)
    return


@app.cell(hide_code=True)
def show_code_task(guess):
    _frame = mo.accordion(
        {
            "For your own installation: write advance": mo.md("""
    Code runs on your own machine only: `discover open --edit`, a new notebook, and

    ```python
    from discover_lib import Discovery, IntentState
    from discover_lib.app.lessons.exercises import check


    def advance(tree, state, evaluation, rules):
        levels, thetas = dict(state.discovery), dict(state.thresholds)
        for verdict in evaluation.verdicts:
            if verdict.engaged:
                levels[verdict.intent_id] = Discovery.DISCOVERED
            # what about near misses, θ, parents, and what is satisfied?
        return IntentState(levels, state.satisfied, thetas, state.initial_thresholds)


    check("advance", advance)
    ```

    The check runs your function on 210 cases, ten of them with a name, and says which rule the first wrong one breaks.
    """)
        }
    )
    _frame if guess.value else None
    return


@app.cell(hide_code=True)
def ask_why(guess):
    why = cards.explain("Why might it be right that only one tree counts at a time? And when is it wrong?")
    mo.vstack([mo.md("## Explain"), why]) if guess.value else None
    return (why,)


@app.cell(hide_code=True)
def compare_why(guess, why):
    _ours = cards.explained(
        "2",
        why.value,
        "A person thinks about one thing at a time, and so their hunches form where they look. It is wrong "
        "for people who recognise a wish wherever it turns up; the authors’ released code has another focus, "
        "and page 20 shows what changes.",
    )
    _ours if guess.value else None
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("lessons/2_one_tree_at_a_time.py")))
    return


if __name__ == "__main__":
    app.run()
