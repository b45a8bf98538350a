# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "70 · Be the user"
# description = "See a target for a moment, talk to two assistants whose names are hidden, and see what each found."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Be the user", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.engines.miniature.lexicon import DOMAINS
    from workbench.be_the_user import LOOK_SECONDS, Game, glimpse, outcome, talk_so_far
    from workbench.carried import kept
    from workbench.controls import domain_label, page_has_sheet
    from workbench.views import conversation_parts as show
    from workbench.views.navigation import footer

    page_has_sheet()


@app.cell(hide_code=True)
def introduce():
    mo.md(f"""
    # What is it like not to have the words?

    You see a target for {LOOK_SECONDS} seconds. Then you get it made, once by one assistant and once by another; who
    they are stays hidden. At the end you see the tree of intents in the target, which replies brought them to light,
    and what in them did it. Nothing to install, no key; nothing that you write is kept.
    """)
    return


@app.cell(hide_code=True)
def choose_target():
    _domains = {domain_label(each): each for each in DOMAINS}
    domain_choice = kept(mo.ui.dropdown, "domain", _domains, value=domain_label("svg_drawing"), label="Target")
    person_choice = kept(mo.ui.slider, "person", 0, 99, value=7, label="Which one", show_value=True)
    turns_choice = kept(mo.ui.slider, "turns", 2, 8, value=5, label="Messages to each", show_value=True)
    mo.hstack([domain_choice, person_choice, turns_choice], justify="start", wrap=True)
    return domain_choice, person_choice, turns_choice


@app.cell(hide_code=True)
def begin_game(domain_choice, person_choice, turns_choice):
    get_game, set_game = mo.state(Game(domain_choice.value, int(person_choice.value), int(turns_choice.value)))
    get_seen, set_seen = mo.state(False)
    look_button = mo.ui.run_button(
        label=f"Show me the target for {LOOK_SECONDS} seconds", kind="success", on_change=lambda _: set_seen(True)
    )
    return get_game, get_seen, look_button, set_game


@app.cell(hide_code=True)
def show_button(get_seen, look_button):
    _seen = mo.md("Seen: now ask for it below." if get_seen() else "")
    mo.hstack([look_button, _seen], justify="start", align="center", wrap=True)
    return


@app.cell(hide_code=True)
def show_target(domain_choice, look_button, person_choice):
    mo.stop(not look_button.value)
    mo.Html(show.styled(glimpse(Game(domain_choice.value, int(person_choice.value)).target)))
    return


@app.cell(hide_code=True)
def show_talk(get_game, get_seen):
    _first = show.quiet("Look at the target first: who has not seen it has nothing to ask for.")
    _talk = talk_so_far(get_game()) if get_seen() else _first
    mo.Html(show.styled(_talk)) if _talk else None
    return


@app.cell(hide_code=True)
def make_form(get_game, set_game):
    message_form = mo.ui.text_area(
        label="Say in your own words what you would like:", max_length=600, rows=2, full_width=True
    ).form(
        submit_button_label="Send",
        clear_on_submit=True,
        validate=lambda text: None if (text or "").strip() else "Write something first.",
        on_change=lambda text: set_game(get_game().say(text)) if text else None,
    )
    return (message_form,)


@app.cell(hide_code=True)
def ask_message(get_game, get_seen, message_form):
    message_form if get_seen() and get_game().place is not None else None
    return


@app.cell(hide_code=True)
def show_outcome(get_game):
    mo.stop(get_game().place is not None)
    mo.vstack(
        [
            mo.md("## What came to light"),
            mo.accordion({"The target": mo.Html(show.styled(show.artifact(get_game().target)))}),
            mo.Html(show.styled(outcome(get_game().conversations()))),
        ]
    )
    return


@app.cell(hide_code=True)
def explain_scoring():
    mo.accordion(
        {
            "How this is scored": mo.md("""
    The tree is built from the target by the same builder as everywhere, and every reply is judged against it by the
    same judge and rules, one tree at a time. What you named before any reply showed it was yours: no reply is credited
    with it. The same is done with conversations of a study, whose tree is built from the text that people end up with.
    """),
            "A study with many people": mo.md("""
    `discover study check data/study/paper.yaml` reads a study from one file: consent, task, blind condition, ratings,
    completion. `discover study serve` serves it, `discover study bots` rehearses it with simulated participants, and
    `discover study export` writes its conversations as a run that [15 Runs](/?file=15_runs.py) and
    [60 Evaluate](/?file=60_evaluate.py) open.
    """),
        }
    )
    return


@app.cell(hide_code=True)
def explain_the_code():
    mo.md("""
    ## The same in Python

    A conversation of your own, against a text or a drawing that came out of it:
    """)
    return


@app.cell
def score_a_conversation():
    from discover_lib.core.simulator import as_reply
    from discover_lib.engines.miniature.artifacts import generate_artifact
    from discover_lib.engines.spec import EngineSpec, RoleEngines
    from discover_lib.runs.people import Chat, scored_afterwards

    _drawing = generate_artifact("svg_drawing", "eval", 3).text
    _said, _kind = ("a drawing, please",), ("SVG drawing", "svg_drawing")
    _chat = Chat("mine", "me", _said, (as_reply(_drawing),), _drawing, *_kind)
    scored = scored_afterwards(_chat, RoleEngines(EngineSpec()))
    mo.show_code()
    return (scored,)


@app.cell
def show_scored(scored):
    mo.Html(show.styled(show.outline(scored.tree, scored.state, scored.rules)))
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("70_be_the_user.py")))
    return


if __name__ == "__main__":
    app.run()
