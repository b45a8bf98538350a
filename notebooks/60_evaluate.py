# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "60 · Evaluate"
# description = "Which assistant helps people discover more, and can we tell? Intervals, pairs, pools, other rules."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Evaluate", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import json
    from dataclasses import replace
    from urllib.parse import quote

    import marimo as mo

    from discover_lib.base.files import outputs_folder
    from discover_lib.metrics.discovery import ceiling_over
    from discover_lib.metrics.near_misses import near_misses_of, suspects, worst_turns
    from discover_lib.metrics.paired import compare
    from discover_lib.metrics.rescore import RESCORED
    from discover_lib.metrics.results import (
        ALL,
        MEASURE,
        Pool,
        pools_without,
        table_of,
        values_of,
    )
    from discover_lib.runs.evaluation import SENSITIVITY_FILE, results_of_run
    from discover_lib.runs.store import RunStore, id_of_run
    from discover_lib.tasks.paper_numbers import beside, our_results
    from workbench import controls
    from workbench.carried import address_of, pool_controls, pool_row
    from workbench.echo import run_command
    from workbench.jobs import Job, SensitivityJob, last_of
    from workbench.panel import EvaluatedRun, evaluation_panel
    from workbench.views import audit_parts as show_audit
    from workbench.views import conversation_parts as show
    from workbench.views import score_parts as show_scores
    from workbench.views.figures import charts
    from workbench.views.navigation import footer
    from workbench.views.saved_pages import evaluation_page, scores_csv

    controls.page_has_sheet()
    AT_ONCE = 200  # conversations up to which the sensitivity map is made without asking


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # Which assistant helps people discover more, and can we tell?

    Every assistant meets the *same* users: the same hidden intents, first message and thresholds. Each number comes
    with its n and a 95 % interval; press one to read the conversations behind it.
    """)
    return


@app.cell(hide_code=True)
def open_evaluation():
    panel = evaluation_panel("Evaluate")
    get_folder, get_activity, get_progress = panel.states
    get_pressed = panel.get_pressed
    return get_activity, get_folder, get_pressed, get_progress, panel


@app.cell(hide_code=True)
def read_scores(get_folder, get_progress):
    get_progress()
    folder = get_folder()
    _run = EvaluatedRun.of_run(folder)
    ceilings, configuration, scores = _run.ceilings, _run.configuration, _run.scores
    mo.stop(not scores, mo.Html(show.styled(_run.missing)))
    return ceilings, configuration, folder, scores


@app.cell(hide_code=True)
def choose_pool(scores):
    scope_choice, measure_choice, pool_choice, leave_out_choice = pool_controls(scores)
    marks = show_scores.looks(list(dict.fromkeys(each.assistant for each in scores)))
    pool_row(scope_choice, measure_choice, pool_choice, leave_out_choice)
    return leave_out_choice, marks, measure_choice, pool_choice, scope_choice


@app.cell(hide_code=True)
def show_answer(compared, ids, marks, measure, table):
    answer = show_scores.answer(table, compared, measure, ids)
    interval_view = charts.intervals(table, measure, marks)
    mo.Html(show_scores.styled(interval_view, show.quiet(f"{measure.label}: {measure.meaning}", small=True), answer))
    return


@app.cell(hide_code=True)
def choose_evaluation(get_activity, get_folder, panel):
    run_choice = panel.choice(get_folder(), get_activity(), label="Evaluation")
    return (run_choice,)


@app.cell(hide_code=True)
def tick(get_activity, get_folder, panel):
    clock = panel.clock(get_folder(), get_activity())
    return (clock,)


@app.cell(hide_code=True)
def show_evaluation(clock, get_activity, get_folder, panel, run_choice):
    panel.view(clock, get_folder(), get_activity(), before=[run_choice])
    return


@app.cell(hide_code=True)
def show_provenance(configuration, folder):
    provenance = show_scores.made_under(configuration)
    _audit = f"/?file=65_audit.py&run={quote(str(folder.relative_to(outputs_folder())))}"
    mo.vstack(
        [
            mo.Html(show_audit.styled(provenance, show_audit.certificate_line(folder))),
            mo.md(f"[Audit this simulated user on page 65]({_audit})"),
        ]
    )
    return (provenance,)


@app.cell(hide_code=True)
def lead_behind(folder, leave_out, measure, pool_choice, scope_choice):
    behind = address_of(
        "61_behind_a_number.py",
        str(folder.relative_to(outputs_folder())),
        domain=scope_choice.value,
        measure=measure.label,
        pool=pool_choice.value,
        leave_out=leave_out,
    )
    ids = replace(
        id_of_run(folder),
        domain="" if scope_choice.value == ALL else scope_choice.value,
        pool=() if len(pool_choice.value) == len(pool_choice.options) else tuple(pool_choice.value),
        leave_out="" if leave_out == "none" else leave_out,
    )
    return behind, ids


@app.cell(hide_code=True)
def show_table(behind, ceilings, configuration, ids, marks, measure, pool, table):
    in_reach = ceiling_over(ceilings, set(pool.artifact_of.values()))
    _why = pool.why_no_eq_4
    _table = show_scores.results(table, pool.users_of, marks, measure.name, ceiling=in_reach, why_no_eq_4=_why, ids=ids)
    _note = show_scores.interactivity_note(configuration, table)
    mo.ui.anywidget(
        controls.pickable(show_scores.styled(show.panel("How each assistant did", _table, _note)), leads_to=behind)
    )
    return (in_reach,)


@app.cell(hide_code=True)
def show_comparisons(behind, compared, ids, marks, measure, table):
    mo.stop(len(compared) == 0)
    _pairs = show_scores.pairs(table, compared, measure, marks, ids=ids)
    mo.ui.anywidget(
        controls.pickable(show_scores.styled(show.panel("Can we tell them apart?", _pairs)), leads_to=behind)
    )
    return


@app.cell(hide_code=True)
def choose_users(leave_out_choice, pool_choice, scope_choice, scores):
    mo.stop(not pool_choice.value, mo.md("Choose at least one assistant for the pool."))
    in_pool = [
        each for each in scores if each.assistant in pool_choice.value and scope_choice.value in (ALL, each.domain)
    ]
    leave_out = leave_out_choice.value
    mo.stop(not Pool(in_pool).shared(), mo.md("No user has finished with every assistant of this pool yet."))
    mo.md("""
    A pool is measured user by user; what is compared are assistants on the same users, never two means of different
    ones. `compare` tests every pair by permutation and corrects for their number (Holm):
    """)
    return in_pool, leave_out


@app.cell
def compare_assistants(in_pool, leave_out, measure_choice):
    measure = MEASURE[measure_choice.value]
    pool = Pool(in_pool, leave_out)
    values = values_of(pool)  # measure → assistant → artifact → its trials
    table = table_of(values, pool.assistants)
    compared = compare(values.get(measure.name, {}))
    mo.show_code()
    return compared, measure, pool, table


@app.cell(hide_code=True)
def show_pools(ids, marks, pool, table):
    _pools = show_scores.pools(table, pools_without(pool), marks, ids)
    mo.vstack(
        [
            mo.md("""
    ## What the numbers rest on

    Eq. 4 counts what *any* assistant of the pool found: who else is compared moves everybody's score. The share found
    needs no pool. Take assistants out of the pool at the top, and every number on this page follows.
    """),
            mo.Html(
                show_scores.styled(
                    show.panel("Eq. 4 in every smaller pool", _pools),
                    show.panel("What is left out", show_scores.left_out(pool, marks, ids)),
                )
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def count_near_misses(folder, in_pool):
    with RunStore.read(folder) as _store:
        shares = near_misses_of(in_pool)
        farmed = worst_turns(((each, _store.conversation(each)) for each in suspects(in_pool, 10)), 5)
    return farmed, shares


@app.cell(hide_code=True)
def show_near_misses(farmed, folder, ids, leave_out, marks, scope_choice, pool_choice, shares):
    def _page_of(turn):
        return address_of(
            "61_behind_a_number.py",
            str(folder.relative_to(outputs_folder())),
            domain=scope_choice.value,
            pool=pool_choice.value,
            leave_out=leave_out,
            pick=show_scores.pick("cell", turn.assistant, "proportion"),
            conversation=turn.place,
            turn=turn.turn,
        )

    mo.vstack(
        [
            mo.md("""
    ### What came by near misses?

    Four distinct near misses in one reply always move an intent (p = 0.25, θ below 1): an assistant can collect
    discoveries by listing alternatives. `--near-miss-cap 1` counts one a reply; the map below says what that changes.
    """),
            mo.Html(
                show_scores.styled(
                    show.panel("Steps that near misses made", show_scores.near_misses(shares, marks, ids)),
                    show.panel("The turns with most of them", show_scores.farmed_turns(farmed, _page_of)),
                )
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def map_sensitivity(folder, get_activity, panel, scores):
    get_activity()

    def _recorded():
        """The sensitivity map in the run's folder, if it is one of as many conversations as are finished now."""
        try:
            recorded = json.loads((folder / SENSITIVITY_FILE).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return recorded if recorded["recheck"]["conversations"] == len(scores) else None

    def _map_it(_=None):
        work = panel.start(SensitivityJob(folder))
        if mo.app_meta().mode == "script":  # nobody looks again later
            work.wait()

    def _idle(kind):
        job = last_of(kind, folder)
        return job is None or not (job.running or job.trouble)

    if _recorded() is None and len(scores) <= AT_ONCE and _idle(Job) and _idle(SensitivityJob):
        _map_it()
    flips, mapping = _recorded(), last_of(SensitivityJob, folder)
    map_button = mo.ui.button(label="Score again under other rules", on_click=_map_it)
    return flips, map_button, mapping


@app.cell(hide_code=True)
def show_sensitivity(flips, map_button, mapping, measure, scores):
    _measure = measure if measure.name in RESCORED else MEASURE["discovery"]
    if flips is not None:
        _shown = mo.Html(
            show_scores.styled(show.panel("Conclusions that flip", show_scores.sensitivity_map(flips, _measure)))
        )
    elif mapping is not None and mapping.running:
        _shown = mo.md(f"*The {len(scores)} conversations are being scored again …*")
    else:
        _trouble = show.error_line(mapping.trouble) if mapping is not None and mapping.trouble else show.EMPTY
        _shown = mo.hstack(
            [
                map_button,
                mo.md(f"{len(scores)} conversations: from seconds to a minute"),
                mo.Html(show.styled(_trouble)),
            ],
            justify="start",
            align="center",
            wrap=True,
        )
    mo.vstack(
        [
            mo.md("""
    ### Would other rules say the same?

    The recorded judgements are scored again, without a new one, with one point changed at a time: p, τ, λ, what counts
    as found, the focus, the authors' rules, fewer turns. A *conclusion* is who is above whom, and whether one can tell.
    """),
            _shown,
        ]
    )
    return


@app.cell(hide_code=True)
def show_paper(configuration, pool, scope_choice, table):
    _plain = {
        "run": configuration,
        "rules": configuration["rules"],
        "scopes": [
            {
                "scope": scope_choice.value,
                "assistants": list(pool.assistants),
                "table": {name: {each: found.to_dict() for each, found in row.items()} for name, row in table.items()},
            }
        ],
    }
    mo.vstack(
        [
            mo.md("""
    ## Beside the paper

    Their table 1 and ours, in one shape and never mixed: shaded rows are printed in the paper, the others are computed
    here. They come from other artifacts, users, assistants and pools.
    """),
            mo.accordion(
                {"Their rows and ours": mo.Html(show_audit.styled(show_audit.beside(beside(our_results(_plain)))))}
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def take_elsewhere(compared, folder, ids, in_reach, leave_out, marks, measure, pool, provenance, shares, table):
    def _report():
        """This page's tables and figures as one file."""
        _lead = provenance + show_audit.certificate_line(folder)
        parts = show_scores.report_parts(
            _lead, pool, table, compared, shares, marks, measure, ceiling=in_reach, ids=ids
        )
        return evaluation_page(f"Evaluation {folder.name}", parts, ids).encode()

    def _scores():
        return scores_csv(pool, ids).encode()

    def _plain():
        return json.dumps(results_of_run(folder, leave_out), indent=1).encode()

    _name = folder.name
    mo.vstack(
        [
            mo.md("## Take it elsewhere"),
            mo.hstack(
                [
                    mo.download(_scores, f"{_name}.csv", "text/csv", label="Scores, CSV"),
                    mo.download(_plain, f"{_name}.json", "application/json", label="All results, JSON"),
                    mo.download(_report, f"{_name}.html", "text/html", label="This report, HTML"),
                ],
                justify="start",
                gap=1,
                wrap=True,
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def choose_others():
    menus = controls.evaluation_menus()
    models_form = controls.chooser(("judge", "voice", "assistant"), scored=True)
    _row = [menus[name] for name in menus.elements if name not in ("trained", "others")]
    mo.vstack(
        [
            mo.md("""
    ## Evaluate others

    Every assistant chosen meets the same users of every domain chosen.
    """),
            mo.hstack(_row, justify="start", gap=1.5, wrap=True),
            *([menus["trained"]] if menus["trained"].options else []),
            menus["others"],
            mo.accordion({"Let language models take part (nothing is asked before you say so)": models_form}),
        ]
    )
    return menus, models_form


@app.cell(hide_code=True)
def read_others(menus, models_form):
    options, choice, refusal = controls.read_evaluation(menus.value, models_form.value)
    with_models = options is not None and bool(options.spec.models(options.assistants))
    return choice, options, refusal, with_models


@app.cell(hide_code=True)
def choose_cap(with_models):
    cap_choice = mo.ui.number(0, 1000, 0.5, value=None, label="Spend at most, in dollars")
    cap_choice if with_models else None
    return (cap_choice,)


@app.cell(hide_code=True)
def show_plan(choice, menus, options, panel, refusal):
    _shown = show.error_line(refusal)
    if options is not None:
        _users = options.artifacts * options.trials * len(menus.value["domains"])
        _size = (
            f"{len(options.assistants)} assistants × {_users} users = {_users * len(options.assistants)} conversations"
        )
        _note = f"{_size}. The same choices open the same run again and finish it."
        _shown = controls.run_plan(_note, options, menus.value["domains"], choice)
        _shown += show_scores.too_few_line(len(options.assistants))
    mo.vstack([mo.Html(show.styled(_shown)), panel.begin_button])
    return


@app.cell(hide_code=True)
def ask(cap_choice, choice, get_pressed, menus, options, panel, refusal):
    # The button is answered here, so no control has to be made anew, and what was chosen just before is begun.
    asked = panel.ask(
        options,
        choice.client_settings if choice else None,
        cap_choice.value,
        domains=tuple(menus.value["domains"]),
        refusal=refusal,
    )
    panel.begin_if_pressed(get_pressed())
    return (asked,)


@app.cell(hide_code=True)
def show_command(configuration, folder):
    _command = run_command(folder, configuration)
    _note = "The same by command, with `--sensitivity` for the map (again: it goes on where it was left)"
    mo.md(f"{_note}\n\n```text\n{_command}\n```") if _command else None
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("60_evaluate.py")))
    return


if __name__ == "__main__":
    app.run()
