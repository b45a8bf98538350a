# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "75 · Safety"
# description = "Does exploring vague wishes widen what is offered? House rules, refusals, and the paper's Table 6."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Safety", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.base.files import outputs_folder
    from discover_lib.core.rollout import run_conversation
    from discover_lib.core.rules import Rules
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import generate_artifact
    from discover_lib.engines.miniature.assistants import scripted_assistant
    from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
    from discover_lib.runs.store import RunStore, StoreError
    from discover_lib.runs.units import plan_units, run_units
    from discover_lib.tasks.house_rules import REFUSERS, Refuser, exposure, offered, rule_for, safety_of
    from discover_lib.tasks.paper_numbers import table_six
    from workbench.carried import kept
    from workbench.controls import page_has_sheet
    from workbench.jobs import find_runs
    from workbench.views import conversation_parts as show
    from workbench.views.navigation import footer
    from workbench.views.safety_parts import both_sides, safety_answer, safety_table, table_six_view

    page_has_sheet()

    HERE = "scripted assistants, run on this page"
    DOMAIN, USERS, FIRST, DEPTH = "svg_drawing", 30, 6, 3


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # Does exploring vague wishes widen what is offered?

    The paper checks harm with single prompts that ask plainly (appendix D). Its own worry is another: an assistant
    that explores what somebody *might* want may put things on the table that nobody asked for. Here that is measured,
    over several turns and from vague beginnings, with nothing harmful written: one hidden intent of each user is
    declared off-limits, like a house's rule against a motif, and every offer is read off the reply. It needs nothing.
    """)
    return


@app.cell(hide_code=True)
def choose_run():
    _runs = {HERE: None, **find_runs(outputs_folder())}
    _talk = {"forgets": ("talk",)}
    run_choice = kept(mo.ui.dropdown, "run", _runs, value=HERE, label="Conversations", full_width=True, **_talk)
    depth_choice = kept(
        mo.ui.slider, "depth", 1, 4, value=DEPTH, label="Depth of the off-limits intent", show_value=True, **_talk
    )
    mo.hstack([run_choice, depth_choice], justify="start", align="end", gap=2, wrap=True)
    return depth_choice, run_choice


@app.cell
def run_scripted():
    _world = engine(DOMAIN)
    _artifacts = [generate_artifact(DOMAIN, "eval", number) for number in range(USERS)]
    trees = {each.id: (DOMAIN, _world.builder.build(each).tree) for each in _artifacts}
    names = ("draft", "adaptive", "options", "ask")
    scripted = []
    for _talk in run_units(plan_units(trees, names, trials=1, turns=5, rules=Rules.paper(), seed=0)):
        scripted.append(_talk)
        if len(scripted) == FIRST * len(names):  # a picture at once; it goes when all have talked
            _note = show.quiet(f"The first {FIRST} of {USERS} users; the others are talking …")
            mo.output.replace(mo.Html(show.styled(safety_answer(safety_of(scripted, DEPTH)), _note)))
    mo.output.clear()
    return scripted, trees


@app.cell(hide_code=True)
def read_conversations(run_choice, scripted):
    conversations, problem = scripted, ""
    if run_choice.value is not None:
        try:
            with RunStore.read(run_choice.value) as _store:
                conversations = [each for each in _store.conversations() if each.setting.get("domain") in ALL_DOMAINS]
        except StoreError as _error:
            conversations, problem = [], str(_error)
    return conversations, problem


@app.cell(hide_code=True)
def show_safety(conversations, depth_choice, problem):
    _results = safety_of(conversations, depth_choice.value)
    _missing = problem or "No finished conversation of the miniature has a hidden wish at this depth."
    _shown = (safety_answer(_results), safety_table(_results)) if _results else (show.quiet(_missing),)
    mo.Html(show.styled(*_shown))
    return


@app.cell(hide_code=True)
def explain_refusers():
    mo.md("""
    ## What a rule that is known changes

    The same assistant behind a rule, refusing at five points: at once (*depth 0*), when the talk has come two steps
    close (*depth 2*), *never*, *always*, and whenever the user is *vague*. A refuser is judged by both sides: what it
    lets through, and what it refuses although it was allowed. *Vague* shows the trap: people who do not know yet what
    they want are refused.
    """)
    return


@app.cell
def run_refusers(depth_choice, trees):
    _world, refused = engine(DOMAIN), []
    for _kind, _when in REFUSERS.items():
        for _artifact, (_, _tree) in trees.items():
            if _rule := rule_for(_tree, DOMAIN, depth_choice.value):
                _refuser = Refuser(scripted_assistant("adaptive", DOMAIN), _rule, _when)
                _setting = {"domain": DOMAIN, "artifact": _artifact, "assistants": [f"adaptive, refuses: {_kind}"]}
                refused.append(
                    run_conversation(_tree, _world.judge, _world.voice, [_refuser], seed=3, setting=_setting)
                )
    _results = safety_of(refused, depth_choice.value)
    mo.Html(show.styled(both_sides(_results), safety_table(_results)))
    return


@app.cell(hide_code=True)
def choose_conversation(conversations, depth_choice):
    _offers = {}
    for _place, _talk in enumerate(conversations):
        _rule = rule_for(_talk.tree, _talk.setting["domain"], depth_choice.value)
        if _rule and exposure(_talk, _rule).first_turn:
            _offers[f"{_place}: {'+'.join(_talk.setting['assistants'])} for {_talk.setting['artifact']}"] = _talk
    mo.stop(not _offers)
    talk_choice = kept(
        mo.ui.dropdown,
        "talk",
        _offers,
        value=next(iter(_offers)),
        label="A conversation in which something was offered",
        full_width=True,
    )
    mo.vstack([mo.md("## One of them"), talk_choice], align="start")
    return (talk_choice,)


@app.cell(hide_code=True)
def show_conversation(depth_choice, talk_choice):
    _talk = talk_choice.value
    _rule = rule_for(_talk.tree, _talk.setting["domain"], depth_choice.value)
    _read = exposure(_talk, _rule)
    _turn = _talk.turns[_read.first_turn - 1]
    _told = (
        f"Off-limits: {_rule.value.replace('-', ' ')}. First offered in turn {_read.first_turn} "
        f"({', '.join(offered(_rule, _turn.reply.text))}), when {_read.known} of the vaguer wishes above it were known."
    )
    mo.Html(show.styled(show.quiet(_told), show.panel("Conversation", show.chat(_talk, _read.first_turn))))
    return


@app.cell(hide_code=True)
def show_table_six():
    _why = mo.md("""
    ## What the paper's Table 6 could have seen

    Three benchmarks before and after training, as printed. Beside each change stands the smallest that a number of
    prompts would have shown; a change that lies below it is no evidence of safety, nor of harm.
    """)
    mo.vstack([_why, mo.Html(show.styled(table_six_view(table_six())))])
    return


@app.cell(hide_code=True)
def explain_limits():
    mo.md("""
    ## What this does not show

    Values of a benign lexicon are not harm, refusals are read by their phrases, and the miniature's assistants do not
    read instructions: a trained model here is measured by what it offers, not by whether it obeys. Phrases err
    (`docs/safety.md` says how often). The same table for a run of yours: `discover safety RUN`.
    """)
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("75_safety.py")))
    return


if __name__ == "__main__":
    app.run()
