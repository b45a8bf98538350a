# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "40 · Synthesis"
# description = "Make conversations in which the better reply is known: Table 3, and whether length alone decided."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Synthesis", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib import Rules
    from discover_lib.base.errors import DiscoverError
    from discover_lib.base.files import outputs_folder
    from discover_lib.dataset.filters import sieve
    from discover_lib.dataset.lengths import table_3
    from discover_lib.dataset.pairs import labelled_turns
    from discover_lib.dataset.rows import RowOptions, examples
    from discover_lib.engines.miniature.assistants import SCRIPTED
    from discover_lib.runs.options import RunOptions, RunOptionsError
    from workbench import controls
    from workbench.carried import address_of, base_rules, kept, rule_sliders, rules_menu, rules_set
    from workbench.echo import run_command
    from workbench.panel import Certifier, SynthesisedRun, synthesis_panel
    from workbench.views import conversation_parts as show
    from workbench.views import pair_parts as show_pairs
    from workbench.views.navigation import footer

    controls.page_has_sheet()


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # How are conversations made in which the better reply is known?

    Several assistants answer the same user, all replies are judged against the same state of that user, and the
    conversation goes on with the one of the highest reward: it is **chosen**, the one of the lowest **rejected**, if it
    is below.
    """)
    return


@app.cell(hide_code=True)
def open_run():
    panel = synthesis_panel("Synthesise")
    get_folder, get_activity, get_progress = panel.states
    get_pressed = panel.get_pressed
    return get_activity, get_folder, get_pressed, get_progress, panel


@app.cell(hide_code=True)
def show_one_pair(conversations, pairs, rules, turns):
    def widest():
        """The pair with the widest margin, and its conversation."""
        owners = [each for each in conversations for _ in each.turns]
        fit = [(turn, owner) for turn, owner in zip(turns, owners, strict=True) if turn.label.problem is None]
        return max(fit, key=lambda pair: pair[0].best.reward.total - pair[0].worst.reward.total)

    mo.stop(not pairs, mo.md("No turn of this run is a pair."))
    _turn, _talk = widest()
    mo.Html(show_pairs.styled(show_pairs.first_look(_talk, _turn, rules)))
    return


@app.cell(hide_code=True)
def choose_making():
    domain = kept(mo.ui.dropdown, "domain", controls.domain_labels(), value="SVG drawing", label="Domain")
    scripts = kept(mo.ui.multiselect, "assistants", list(SCRIPTED), value=["draft", "adaptive"], label="Assistants")
    samples = kept(mo.ui.dropdown, "samples", [1, 2, 3, 4], value=1, label="Samples of each")
    artifacts = kept(mo.ui.dropdown, "users", [5, 10, 20, 50, 100, 200, 500], value=20, label="Users")
    most_turns = kept(mo.ui.dropdown, "turns", [1, 2, 3, 4, 5, 6, 8], value=5, label="Turns")
    run_rules = kept(mo.ui.dropdown, "rules", ["paper", "authors"], value="paper", label="Rules")
    seed = kept(mo.ui.dropdown, "seed", list(range(30)), value=0, label="Seed")
    ahead = kept(mo.ui.dropdown, "ahead", [0, 1, 2, 3], value=0, label="Look ahead, turns")
    ahead_by = kept(mo.ui.dropdown, "ahead-by", list(SCRIPTED), value="adaptive", label="played by")
    models_form = controls.chooser(("judge", "voice", "assistant"))
    mo.vstack(
        [
            mo.md("""
    ## 1 · Make conversations

    Who answers, how often, and for whom. The same choices open the same run again and finish it.
    """),
            mo.hstack(
                [domain, scripts, samples, artifacts, most_turns, run_rules, seed, ahead, ahead_by],
                justify="start",
                gap=1.5,
                wrap=True,
            ),
            mo.accordion({"Let language models take part (nothing is asked before you say so)": models_form}),
        ]
    )
    return ahead, ahead_by, artifacts, domain, models_form, most_turns, run_rules, samples, scripts, seed


@app.cell(hide_code=True)
def read_making(ahead, ahead_by, artifacts, domain, models_form, most_turns, run_rules, samples, scripts, seed):
    def _asked_for():
        """What the controls ask for (options, who plays), or a line that says why it cannot be."""
        numbers = {"artifacts": artifacts.value, "turns": most_turns.value, "seed": seed.value}
        looking = {"look_ahead": ahead.value, "reward_assistant": ahead_by.value if ahead.value else ""}
        try:
            choice = controls.read_choice(models_form.value)
            names = (*scripts.value, *([choice.assistant] if choice.assistant else []))
            if len(names) * samples.value < 2:
                raise RunOptionsError(
                    "the best of one is no choice: take a second assistant, or several samples of one"
                )
            options = RunOptions(
                names,
                domain=domain.value,
                split="train",
                candidates=samples.value,
                rules=Rules.named(run_rules.value),
                **(choice.roles | numbers | looking),
            )
        except (controls.ChoiceError, RunOptionsError) as error:
            return None, None, str(error)
        return options, choice, ""

    options, choice, refusal = _asked_for()
    with_models = options is not None and bool(options.spec.models(options.assistants))
    return choice, options, refusal, with_models


@app.cell(hide_code=True)
def choose_cap(with_models):
    cap_choice = mo.ui.number(0, 1000, 0.5, value=None, label="Spend at most, in dollars")
    cap_choice if with_models else None
    return (cap_choice,)


@app.cell(hide_code=True)
def show_plan(choice, options, refusal):
    _shown = show.error_line(refusal)
    if options is not None:
        _replies = len(options.assistants) * options.candidates
        _size = f"{options.artifacts} users × {options.turns} turns × {_replies} replies"
        _shown = controls.run_plan(f"{_size}, the best of each turn goes on.", options, (), choice)
    mo.Html(show.styled(_shown))
    return


@app.cell(hide_code=True)
def ask(cap_choice, choice, get_pressed, options, panel, refusal):
    # The button is answered here, so no control has to be made anew, and what was chosen just before is begun.
    asked = panel.ask(options, choice.client_settings if choice else None, cap_choice.value, refusal=refusal)
    panel.begin_if_pressed(get_pressed())
    return (asked,)


@app.cell(hide_code=True)
def choose_run(get_activity, get_folder, panel):
    run_choice = panel.choice(get_folder(), get_activity())
    return (run_choice,)


@app.cell(hide_code=True)
def tick(get_activity, get_folder, panel):
    clock = panel.clock(get_folder(), get_activity())
    return (clock,)


@app.cell(hide_code=True)
def show_run(clock, get_activity, get_folder, panel, run_choice):
    panel.view(clock, get_folder(), get_activity(), before=[panel.begin_button], after=[run_choice])
    return


@app.cell(hide_code=True)
def read_run(get_folder, get_progress, panel):
    get_progress()
    folder = get_folder()
    _run = SynthesisedRun.of_run(folder, panel.most_read)
    configuration, origin, conversations = _run.configuration, _run.origin, _run.conversations
    mo.stop(not conversations, mo.Html(show.styled(_run.note)))
    mo.Html(show.styled(_run.note))
    return configuration, conversations, folder, origin


@app.cell(hide_code=True)
def make_certifier():
    certifier = Certifier()
    get_certifying = certifier.get_progress
    return certifier, get_certifying


@app.cell(hide_code=True)
def show_certificate(certifier, folder, get_certifying):
    certifier.view(folder, get_certifying())
    return


@app.cell(hide_code=True)
def choose_labels(conversations):
    own_rules = conversations[0].rules
    labels_choice = rules_menu("Labels under", "labels", own=True)
    return labels_choice, own_rules


@app.cell(hide_code=True)
def set_labels(labels_choice, own_rules):
    label_base = base_rules(labels_choice.value, own_rules)
    p_slider, tau_slider, lam_slider = rule_sliders(label_base)
    mo.vstack(
        [
            mo.md("""
    ## 2 · What came out: the paper's Table 3

    The labels follow from the stored judgements, so they can be read again under other rules: nothing is asked anew.
    """),
            mo.hstack([labels_choice, p_slider], justify="start", gap=2, wrap=True),
            mo.hstack([tau_slider, lam_slider], justify="start", gap=2, wrap=True),
        ]
    )
    return label_base, lam_slider, p_slider, tau_slider


@app.cell(hide_code=True)
def show_table_3(conversations, label_base, lam_slider, own_rules, p_slider, tau_slider):
    rules = rules_set(label_base, p_slider.value, tau_slider.value, lam_slider.value)
    relabel = None if rules == own_rules else rules
    try:
        table, _refusal = table_3(conversations, relabel), ""
    except DiscoverError as _error:
        table, _refusal = None, str(_error)
    mo.stop(table is None, mo.Html(show.styled(show.error_line(_refusal))))
    _title = "Table 3: in how many turns each assistant's reply is chosen"
    mo.Html(show_pairs.styled(show.panel(_title, show_pairs.table_3(table, rules))))
    return relabel, rules, table


@app.cell(hide_code=True)
def introduce_labels():
    mo.md("""
    A turn is a **pair** if one of its replies earned more than another; the margin is the difference of the rewards:
    """)
    return


@app.cell
def label_turns(conversations, relabel, table):
    turns = [turn for each in conversations for turn in labelled_turns(each, relabel)]
    pairs = [turn for turn in turns if turn.label.problem is None]
    margins = [turn.best.reward.total - turn.worst.reward.total for turn in pairs]
    mo.show_code()
    return margins, pairs, turns


@app.cell(hide_code=True)
def show_pairs_made(margins, pairs, turns):
    _mean = f" The mean margin is {sum(margins) / len(margins):.2f}." if margins else ""
    _line = f"{len(pairs)} of {len(turns)} turns are pairs.{_mean}"
    mo.Html(show.styled(show.tag("p", _line, data_turns=len(turns))))
    return


@app.cell(hide_code=True)
def show_lengths(conversations, origin, relabel, rules):
    try:
        _made = list(examples("preference", conversations, origin, RowOptions(rules=relabel)))
        _shown = show_pairs.lengths(sieve(_made).kept, rules.lam > 0)
    except DiscoverError as _error:
        _shown = show.error_line(str(_error))
    mo.vstack(
        [
            mo.md("""
    ## 3 · Does length alone predict the label?

    Length costs, so a longer reply is rejected more easily. If length alone tells which reply was chosen, a model
    learns length from these pairs before it learns anything else.
    """),
            mo.Html(show.styled(show.tag("div", _shown))),
        ]
    )
    return


@app.cell(hide_code=True)
def lead_on(configuration, folder, labels_choice, lam_slider, p_slider, tau_slider):
    _run = str(folder.relative_to(outputs_folder()))
    _set = {"labels": labels_choice.value, "p": p_slider.value, "tau": tau_slider.value, "lam": lam_slider.value}
    _parts = [
        mo.md(f"""
    ## 4 · Go on

    [Open every pair, filter them and make the rows]({address_of("41_rows.py", _run, **_set)}) (page 41), with the
    labels as they are set here.
    """)
    ]
    if _command := run_command(folder, configuration):
        _parts.append(
            mo.md(f"The same run by command (again: it goes on where it was left)\n\n```text\n{_command}\n```")
        )
    _parts.append(mo.Html(show.styled(footer("40_synthesis.py"))))
    mo.vstack(_parts)
    return


if __name__ == "__main__":
    app.run()
