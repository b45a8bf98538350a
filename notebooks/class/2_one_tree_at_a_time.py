# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "One tree at a time"
# description = "Can two replies discover two trees?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="One tree at a time", css_file="../../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.core.advance import focus, initial_state
    from discover_lib.core.rules import Rules
    from workbench.controls import page_has_sheet
    from workbench.lessons import cards
    from workbench.lessons.lesson_people import answered, first_trees
    from workbench.lessons.seeing import STEPPED
    from workbench.views import conversation_parts as show
    from workbench.views.html import tag

    page_has_sheet()


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # One tree at a time
    """)
    return


@app.cell(hide_code=True)
def begin():
    steps = cards.titles("Two trees", "Break it", "Write it")
    get_step, set_step = mo.state(cards.first_open(steps))
    guess_form = cards.predict("2")
    return get_step, guess_form, set_step, steps


@app.cell(hide_code=True)
def choose_step(get_step, steps):
    step = cards.chooser(steps, get_step())
    step
    return (step,)


@app.cell(hide_code=True)
def open_step(guess_form, step):
    guess = cards.guess_in("2", guess_form)
    opened = cards.in_sight(step.value["picked"], guess)
    return guess, opened


@app.cell(hide_code=True)
def predict(guess, guess_form, opened):
    _about = """
    The next step shows what the assistants never see: the hidden wishes of one person. They hang in trees, the broad
    wish above the narrow ones.
    """
    cards.predicting("2", _about, guess_form, guess) if opened == "Predict" else None
    return


@app.cell(hide_code=True)
def make_two_replies():
    two_replies = cards.asked("two-replies")
    return (two_replies,)


@app.cell(hide_code=True)
def do_two_replies(opened, two_replies):
    _tree, _rules = first_trees(STEPPED, 2), Rules.paper()
    _state = initial_state(_tree, _rules, STEPPED)
    _outline = show.outline(_tree, _state, _rules, (), focus(_tree, _state, _rules))
    _trees = tag("div", _outline, class_="le-two")
    _panel = show.panel(f"“{_tree.initial_request}”: two of their trees", show.state_legend(), _trees)
    _replies = cards.answer_of("two-replies", two_replies.value) if two_replies.value else []
    _talk = answered(STEPPED, [reply for reply in _replies if reply.strip()][:2])
    _said = show.more("What they answered", show.chat(_talk)) if _replies else show.EMPTY
    cards.posed("two-replies", two_replies, _panel, below=_said) if opened == "Two trees" else None
    return


@app.cell(hide_code=True)
def make_break_it():
    break_it = cards.asked("break")
    return (break_it,)


@app.cell(hide_code=True)
def do_break_it(break_it, opened):
    cards.posed("break", break_it) if opened == "Break it" else None
    return


@app.cell(hide_code=True)
def write_it(opened):
    _words = mo.Html(show.styled(cards.words(*cards.EXERCISES["advance"].words)))
    _task = mo.md("""
    **For your own installation: write `advance`**, which goes from one state to the next. Code runs on your own
    machine only: `discover open --edit`, a new notebook, and

    ```python
    from discover_lib import Discovery, IntentState
    from workbench.lessons.exercises import check


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
    mo.vstack([_task, _words]) if opened == "Write it" else None
    return


@app.cell(hide_code=True)
def make_sentence():
    why = cards.explain("2", "Why might it be right that only one tree counts at a time? And when is it wrong?")
    return (why,)


@app.cell(hide_code=True)
def explain(guess, opened, why):
    _ours = (
        "A person thinks about one thing at a time, and so their wishes emerge where they look. It is wrong for people "
        "who recognise a wish wherever it turns up; the authors’ released code has another focus, and page 20 shows "
        "what changes."
    )
    cards.explaining("2", guess, why, _ours) if opened == "Explain" else None
    return


@app.cell(hide_code=True)
def go_on(guess, set_step, step, steps):
    cards.onward(steps, step.value["picked"], guess, set_step)
    return


if __name__ == "__main__":
    app.run()
