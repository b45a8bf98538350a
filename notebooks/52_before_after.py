# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "52 · Before and after"
# description = "The same simulated user meets a model before and after its training, side by side."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Before and after", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.core.conversation import Message
    from discover_lib.engines.local.lineage import LineageError
    from discover_lib.engines.local.tiny_language import is_broken
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
    from discover_lib.engines.miniature.lexicon import DOMAINS
    from discover_lib.train.backend import missing_libraries
    from discover_lib.train.comparison import before_and_after, conversations, replies
    from workbench import controls
    from workbench.carried import kept
    from workbench.panel import TrainingPanel, talks_earlier
    from workbench.views import conversation_parts as show
    from workbench.views import training as show_training
    from workbench.views.navigation import footer

    controls.page_has_sheet()


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # What has training changed?

    The same simulated user meets the same model twice: **before** its training, and **after** it. All else is equal.
    """)
    return


@app.cell(hide_code=True)
def choose_talk():
    talks = talks_earlier()
    talk_choice = kept(mo.ui.slider, "talk", 1, max(1, len(talks)), 1, value=1, label="User", show_value=True)
    return talk_choice, talks


@app.cell(hide_code=True)
def show_talk(talk_choice, talks):
    _note = show.quiet("Nothing that was made earlier comes with this installation; a run of yours can be shown below.")
    if talks:
        _title, _sides = talks[talk_choice.value - 1]
        _note = show.quiet(f"Made earlier: {_title}. {show_training.ONE_EACH}", small=True)
        _shown = [talk_choice, mo.Html(show_training.styled(show_training.before_after(_sides), _note))]
    mo.vstack(_shown) if talks else mo.Html(show.styled(_note))
    return


@app.cell(hide_code=True)
def find_libraries():
    missing = missing_libraries()
    _line = mo.md(f"**To ask models yourself, {' and '.join(missing[:2])} … are missing.** This installs the rest:")
    mo.callout(mo.vstack([_line, controls.copied("make train")]), kind="warn") if missing else None
    return (missing,)


@app.cell(hide_code=True)
def introduce_own():
    mo.md("""
    ## A training run of yours

    A run of [page 50](/?file=50_train.py) leaves an **adapter**: with it the model is *after*, without it *before*.
    """)
    return


@app.cell(hide_code=True)
def open_training():
    panel = TrainingPanel()
    get_folder, get_activity, _ = panel.states
    return get_activity, get_folder, panel


@app.cell(hide_code=True)
def choose_training(get_activity, get_folder, panel):
    run_choice = panel.choice(get_folder(), get_activity(), label="Training run")
    return (run_choice,)


@app.cell(hide_code=True)
def show_choice(clock, get_activity, get_folder, panel, run_choice):
    panel.view(clock, get_folder(), get_activity(), before=[run_choice] if run_choice.options else [])
    return


@app.cell(hide_code=True)
def tick(get_activity, get_folder, panel):
    clock = panel.clock(get_folder(), get_activity())
    return (clock,)


@app.cell(hide_code=True)
def find_sides(get_activity, get_folder, missing, panel):
    get_activity(), get_folder()

    def both():
        """The model before and after the run, as names of assistants; None until the run is finished."""
        if missing or panel.status is None or panel.status.state != "finished":
            return None
        try:
            stage = panel.job.settings().get("stage", "").upper()
            sides = before_and_after(panel.job.folder)
        except (LineageError, OSError):
            return None
        return {"before (base)": sides["before"], f"after ({stage} {panel.job.name})": sides["after"]}

    talkers = both()
    _waiting = "Both models are asked here when a run of your own is finished."
    mo.stop(not talkers, mo.md("" if missing else _waiting))
    return (talkers,)


@app.cell(hide_code=True)
def remember_answers():
    get_heard, set_heard = mo.state(None)
    get_asking, set_asking = mo.state("")
    return get_asking, get_heard, set_asking, set_heard


@app.cell(hide_code=True)
def choose_user():
    _domains = {controls.domain_label(each): each for each in DOMAINS}
    domain_choice = kept(mo.ui.dropdown, "domain", _domains, value="SVG drawing", label="Domain")
    _most = SPLIT_SIZES["eval"] - 1
    number_choice = kept(mo.ui.slider, "user", 0, _most, 1, value=0, label="User", show_value=True)
    draw_choice = kept(mo.ui.slider, "draw", 0, 20, 1, value=0, label="Draw", show_value=True)
    return domain_choice, draw_choice, number_choice


@app.cell(hide_code=True)
def meet_user(domain_choice, number_choice):
    domain = domain_choice.value
    met = engine(domain).builder.build(generate_artifact(domain, "eval", number_choice.value)).tree
    text_choice = kept(mo.ui.text_area, "say", value=met.initial_request, label="You say", rows=2, full_width=True)
    return domain, met, text_choice


@app.cell(hide_code=True)
def introduce_both(talkers):
    mo.stop(not talkers)
    mo.md("""
    Both are ordinary assistants. They are asked one after the other; on a GPU in a process that gives its memory back.
    """)
    return


@app.cell
def put_side_by_side(domain, draw_choice, met, talkers, text_choice):
    seed, message = draw_choice.value, text_choice.value.strip() or met.initial_request

    def both_answer():
        return replies(talkers, domain, [Message("user", message)], seed)

    def both_meet():
        return conversations(talkers, domain, met, seed)

    mo.show_code()
    return both_answer, both_meet, message


@app.cell(hide_code=True)
def make_buttons(both_answer, both_meet, message, met, set_asking, set_heard):
    def in_the_background(kind, words, work):
        """Loading a model takes seconds, and the page stays usable meanwhile."""

        def at_work():
            try:
                set_heard((kind, words, work()))
            except Exception as error:
                set_heard(("error", "", f"{type(error).__name__}: {error}"))
            set_asking("")

        def pressed(_):
            set_asking("The models are being asked …")
            mo.Thread(target=at_work).start()

        return pressed

    ask_button = mo.ui.button(
        label="Ask both", kind="success", on_click=in_the_background("replies", message, both_answer)
    )
    meet_button = mo.ui.button(
        label="Let both talk with the same simulated user",
        on_click=in_the_background("conversations", met.initial_request, both_meet),
    )
    return ask_button, meet_button


@app.cell(hide_code=True)
def show_both(ask_button, domain_choice, draw_choice, get_asking, get_heard, meet_button, number_choice, text_choice):
    def heard():
        if get_heard() is None:
            return show.EMPTY
        kind, message, answers = get_heard()
        if kind == "error":
            return show.error_line(answers)
        if kind == "conversations":
            return show_training.before_after(answers) + show.quiet(show_training.ONE_EACH)
        broken = [label for label, reply in answers.items() if is_broken(reply)]
        texts = {label: reply.notation if label in broken else reply.text for label, reply in answers.items()}
        return show_training.exchange([{"role": "user", "content": message}], texts, broken)

    _title = mo.md("### Before and after, side by side")
    _waiting = show.tag("p", get_asking(), class_="dl-quiet", role="status") if get_asking() else show.EMPTY
    _heard = show.tag("div", _waiting, heard(), data_heard=int(bool(get_heard())))
    (
        mo.vstack(
            [
                _title,
                mo.hstack([domain_choice, number_choice, draw_choice], justify="start", gap=1.5, wrap=True),
                text_choice,
                mo.hstack([ask_button, meet_button], justify="start", gap=1, wrap=True),
                mo.Html(show_training.styled(_heard)),
            ]
        )
    )
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("52_before_after.py")))
    return


if __name__ == "__main__":
    app.run()
