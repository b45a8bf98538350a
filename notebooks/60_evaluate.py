# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "60 · Evaluate"
# description = "Which assistant helps people discover more, and can we tell? Intervals, pairs, two side by side."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Evaluate")

with app.setup(hide_code=True):
    import html
    import json
    from pathlib import Path
    from urllib.parse import quote

    import marimo as mo
    from discover_lib.app.evaluation_job import (
        EvaluationJob,
        SensitivityJob,
        begun_evaluation,
        evaluation_name,
        find_evaluations,
    )

    from discover_lib import Rules
    from discover_lib.app import controls
    from discover_lib.app import jobs as background
    from discover_lib.audit.tables import beside, our_results
    from discover_lib.base.files import outputs_folder
    from discover_lib.metrics.intervals import bootstrap_mean
    from discover_lib.metrics.paired import compare
    from discover_lib.metrics.rescore import RESCORED
    from discover_lib.metrics.results import ALL, MEASURE, MEASURES, Pool, best_first, curve, manner, pools_without
    from discover_lib.metrics.scores import Assessment
    from discover_lib.runs.evaluation import SENSITIVITY_FILE, lay_out_evaluation, load_scores, results_of_run
    from discover_lib.runs.options import RunOptions, RunOptionsError
    from discover_lib.runs.store import RunStore, StoreError
    from discover_lib.views import audit as show_audit
    from discover_lib.views import beside as show_beside
    from discover_lib.views import conversation as show
    from discover_lib.views import scores as show_scores
    from discover_lib.views.figures import charts
    from discover_lib.views.pages import evaluation_page, scores_csv

    FIRST_RUN = RunOptions(("draft", "ask", "options", "adaptive"), artifacts=20)
    FIRST_DOMAINS = ("svg_drawing",)
    SECONDS_WAITED = 30  # for the first evaluation, which takes less than three where nothing else goes on
    AT_ONCE = 200  # conversations up to which the sensitivity map is made without asking
    NOBODY = "nobody"
    SORTS = {"lowest first": False, "highest first": True}


@app.cell(hide_code=True)
def _():
    mo.md("""
    # Which assistant helps people discover more, and can we tell?

    Every assistant meets the *same* users: the same hidden intents, the same first message, the same thresholds. What
    the user discovers is scored by eq. 4, and the finished piece, the way to it and its length are scored, too.

    **You will see** every number with its n and a 95 % interval, every pair of assistants compared on the same users,
    how far the conclusions depend on who was compared and on the rules, and the conversations behind any number, two
    assistants side by side on one user. **Needs** nothing: without an evaluation a small one is made.
    """)
    return


@app.function(hide_code=True)
def place_of(options: RunOptions, domains: tuple) -> Path:
    """The folder of an evaluation that this page makes."""
    return outputs_folder() / "evaluations" / evaluation_name(options, domains)


@app.cell(hide_code=True)
def _():
    def _first_made():
        """A small evaluation, made while a bar shows how far it is."""
        job = background.started(EvaluationJob(place_of(FIRST_RUN, FIRST_DOMAINS), FIRST_RUN, FIRST_DOMAINS))
        with mo.status.spinner(title="Making a small evaluation: 4 scripted assistants × 20 users") as spinner:
            for _ in range(SECONDS_WAITED * 10):
                job.wait(0.1)
                if not job.running:
                    break
                if job.assessed:
                    spinner.update(subtitle="{} of {} conversations assessed".format(*job.assessed))
        return job.folder, job.trouble

    def _opened():
        """The evaluation that the address names, or the newest, or a small one made on the spot; and what is wrong."""
        asked, trouble = mo.query_params().get("run"), ""
        if asked:
            named = outputs_folder() / asked
            if asked in background.find_runs(outputs_folder()) or background.last_of(EvaluationJob, named):
                return named, trouble
            trouble = f"there is no run {asked!r} here; this is another one"
        known = find_evaluations(outputs_folder())
        if known:
            return next(iter(known.values())), trouble
        folder, problem = _first_made()
        return folder, trouble or problem

    first_folder, first_trouble = _opened()
    get_folder, set_folder = mo.state(first_folder)
    get_trouble, set_trouble = mo.state(first_trouble)
    # Counters that cells follow: work begun or ended, and how many conversations were last read.
    get_jobs, set_jobs = mo.state(0)
    get_seen, set_seen = mo.state(-1)
    return (
        get_folder,
        get_jobs,
        get_seen,
        get_trouble,
        set_folder,
        set_jobs,
        set_seen,
        set_trouble,
    )


# -- which evaluation --------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _():
    # What the buttons act on.  They read it when they are pressed, so no control has to make them anew.
    wanted = {}
    return (wanted,)


@app.cell(hide_code=True)
def _(get_folder, set_folder, set_jobs, set_seen, set_trouble, wanted):
    def look_at(folder):
        mo.query_params().set("run", str(folder.relative_to(outputs_folder())))
        set_seen(-1)
        set_folder(folder)
        set_jobs(lambda count: count + 1)

    def begin(_):
        if wanted["refusal"]:
            return set_trouble(wanted["refusal"])
        if wanted["spends"] and not wanted["cap"]:
            return set_trouble("language models cost money: say how much may be spent at most, then press again")
        set_trouble("")
        options, domains = wanted["options"], wanted["domains"]
        cap = wanted["cap"] if wanted["spends"] else None
        job = EvaluationJob(place_of(options, domains), options, domains, wanted["settings"], cap)
        return look_at(background.started(job).folder)

    def halt(_):
        job = background.last_of(EvaluationJob, get_folder())
        if job is not None:
            job.stop()

    def go_on(_):
        try:
            with RunStore.read(get_folder()) as store:
                begun, domains = begun_evaluation(store.configuration)
            if begun.spec.models(begun.assistants):
                raise RunOptionsError(
                    "language models take part: choose them below as they were, with a cap, and press 'Evaluate'"
                )
            set_trouble("")
            background.started(EvaluationJob(get_folder(), begun, domains))
        except background.REFUSALS as error:
            set_trouble(str(error))
        set_jobs(lambda count: count + 1)

    begin_button = mo.ui.button(label="Evaluate", kind="success", on_click=begin)
    stop_button = mo.ui.button(label="■ Stop", on_click=halt)
    resume_button = mo.ui.button(label="Go on with this run", on_click=go_on)
    return begin_button, look_at, resume_button, stop_button


@app.cell(hide_code=True)
def _(get_folder, get_jobs, look_at):
    get_jobs()
    _folder = get_folder()
    _runs = find_evaluations(outputs_folder())
    _name = str(_folder.relative_to(outputs_folder()))
    _runs.setdefault(_name, _folder)
    run_choice = mo.ui.dropdown(_runs, value=_name, label="Evaluation", searchable=True, on_change=look_at)
    return (run_choice,)


@app.cell(hide_code=True)
def _(get_folder, get_jobs):
    # Ticks only while something is being made here.
    get_jobs()
    _jobs = [background.last_of(kind, get_folder()) for kind in (EvaluationJob, SensitivityJob)]
    watching = any(job is not None and job.running for job in _jobs)
    clock = mo.ui.refresh(options=["1s"], default_interval="1s") if watching else mo.md("")
    return clock, watching


@app.cell(hide_code=True)
def _(clock, get_folder, get_jobs, get_seen, get_trouble, set_jobs, set_seen, set_trouble, watching):
    getattr(clock, "value", None), get_jobs()

    def _standing():
        """(finished, units, failed, assessed) of the run, or None while there is nothing to read yet."""
        try:
            with RunStore.read(get_folder()) as store:
                counts = store.counts()
                return counts.finished, counts.units, counts.failed, counts.finished - len(store.unassessed())
        except StoreError:
            return None

    _job, _now = background.last_of(EvaluationJob, get_folder()), _standing()
    _map = background.last_of(SensitivityJob, get_folder())
    going = _job is not None and _job.running
    if watching and not going and not (_map is not None and _map.running):  # the last tick
        set_trouble(next((each.trouble for each in (_job, _map) if each is not None and each.trouble), ""))
        set_jobs(lambda count: count + 1)
    # A long run is read again when it has doubled, not at every tick: the page stays quick.
    _read = _now[0] + _now[3] if _now else 0
    if _read != get_seen() and (not going or _read >= 2 * max(get_seen(), 0) + 2):
        set_seen(_read)

    def _status():
        name = html.escape(get_folder().name)
        if _now is None or not _now[1]:
            return f"<b>{name}</b>: {'laying out the conversations …' if going else 'nothing here yet'}"
        finished, units, failed, assessed = _now
        words = f"<b>{name}</b>: {finished} of {units} conversations, {assessed} of them assessed"
        words += f", {failed} failed" if failed else ""
        if going:
            words += " · being made; what is finished is on disk"
        elif finished < units or assessed < finished:
            words += " · not finished; it can go on"
        share = (finished + assessed) / max(1, 2 * units)
        bar = f'<div class="ds-progress"><i style="width:{share:.1%}"></i></div>' if share < 1 or going else ""
        return words + bar

    unfinished = not going and _now is not None and (_now[0] < _now[1] or _now[3] < _now[0])
    _trouble = show.error_line(f"{get_trouble()[0].upper()}{get_trouble()[1:]}") if get_trouble() else ""
    status_html = show_scores.styled(f'<div role="status">{_status()}</div>{_trouble}')
    return going, status_html, unfinished


@app.cell(hide_code=True)
def _(clock, going, resume_button, run_choice, status_html, stop_button, unfinished, watching):
    _buttons = [
        run_choice,
        *([stop_button] if going else []),
        *([clock] if watching else []),
        *([resume_button] if unfinished else []),
    ]
    mo.vstack([mo.hstack(_buttons, justify="start", align="center", gap=1, wrap=True), mo.Html(status_html)])
    return


# -- what is read of it ------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _(get_folder, get_seen):
    get_seen()

    def _read():
        """The scores of the run so far, its configuration, and why they cannot be read."""
        try:
            with RunStore.read(get_folder()) as store:
                configuration = store.configuration
            return load_scores(get_folder()), configuration, ""
        except StoreError as error:
            return [], {}, str(error)

    folder = get_folder()
    scores, configuration, _unreadable = _read()
    mo.stop(bool(_unreadable), mo.Html(show.styled(show.error_line(_unreadable))))
    mo.stop(not scores, mo.md("No conversation of this evaluation is finished yet."))
    return configuration, folder, scores


@app.cell(hide_code=True)
def _(configuration, folder):
    provenance = show_scores.made_under(configuration)
    _audit = f"/?file=65_audit.py&run={quote(str(folder.relative_to(outputs_folder())))}"
    mo.vstack(
        [
            mo.Html(show_audit.styled(provenance, show_audit.certificate_line(folder))),
            mo.md(f"[Audit this simulated user in notebook 65]({_audit})"),
        ]
    )
    return (provenance,)


@app.cell(hide_code=True)
def _(scores):
    _query = mo.query_params()
    _domains = list(dict.fromkeys(each.domain for each in scores))
    _names = list(dict.fromkeys(each.assistant for each in scores))

    def _remembered(name, options, otherwise):
        return _query.get(name) if _query.get(name) in options else otherwise

    _scopes = [ALL, *_domains] if len(_domains) > 1 else [ALL]
    scope_choice = mo.ui.dropdown(
        _scopes,
        value=_remembered("domain", _scopes, ALL),
        label="Domain",
        on_change=lambda value: mo.query_params().set("domain", value),
    )
    measure_choice = mo.ui.dropdown(
        {each.label: each.name for each in MEASURES},
        value=_remembered("measure", [each.label for each in MEASURES], MEASURES[0].label),
        label="Measure",
        on_change=lambda value: mo.query_params().set("measure", MEASURE[value].label),
    )
    pool_choice = mo.ui.multiselect(_names, value=_names, label="Pool")
    leave_out_choice = mo.ui.dropdown(
        {"none of the assistants": "none", "all of the assistants": "all"},
        value="none of the assistants",
        label="Leave out leaves satisfied by",
    )
    mo.hstack(
        [
            *([scope_choice] if len(_scopes) > 1 else []),
            *(measure_choice, pool_choice, leave_out_choice),
        ],
        justify="start",
        align="center",
        gap=1.5,
        wrap=True,
    )
    return leave_out_choice, measure_choice, pool_choice, scope_choice


@app.cell(hide_code=True)
def _(leave_out_choice, pool_choice, scope_choice, scores):
    mo.stop(not pool_choice.value, mo.md("Choose at least one assistant for the pool."))
    pool = Pool(
        [each for each in scores if each.assistant in pool_choice.value and scope_choice.value in (ALL, each.domain)],
        leave_out_choice.value,
    )
    marks = show_scores.looks(list(dict.fromkeys(each.assistant for each in scores)))
    values = {each.name: pool.values(each.name) for each in MEASURES}
    values = {name: found for name, found in values.items() if found and all(found.values())}
    table = {
        name: {measure: bootstrap_mean(found[name]) for measure, found in values.items()} for name in pool.assistants
    }
    mo.stop(not pool.shared(), mo.md("No user has finished with every assistant of this pool yet."))
    return marks, pool, table, values


# -- the answer --------------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _(measure_choice, table, values):
    measure = MEASURE[measure_choice.value]
    compared = compare(values.get(measure.name, {}))
    mo.Html(show_scores.styled(show_scores.answer(table, compared, measure)))
    return compared, measure


@app.cell(hide_code=True)
def _():
    _query = mo.query_params()
    _asked = tuple(_query.get(name) for name in ("kind", "ours", "theirs"))
    get_pick, set_pick = mo.state(_asked if all(_asked) else ())
    return get_pick, set_pick


@app.cell(hide_code=True)
def _(set_pick):
    def followed(widget):
        """What is pressed in a widget becomes what the page drills into, and part of its address."""

        def pressed(change):
            parts = show_scores.picked(change["new"])
            if parts:
                for name, part in zip(("kind", "ours", "theirs"), parts, strict=True):
                    mo.query_params().set(name, part)
                mo.query_params().remove("conversation")
                set_pick(parts)

        widget.observe(pressed, names="picked")
        return mo.ui.anywidget(widget)

    return (followed,)


@app.cell(hide_code=True)
def _(followed, marks, measure, pool, table):
    _users_of = {each.name: len(next(iter(pool.per_user(each.name).values()), {})) for each in MEASURES}
    _table = show_scores.results(table, _users_of, marks, measure.name)
    followed(controls.pickable(show_scores.styled(show.panel("How each assistant did", _table))))
    return


@app.cell(hide_code=True)
def _(marks, measure, table):
    interval_view = mo.Html(show.styled(charts.intervals(table, measure, marks)))
    mo.vstack([mo.md(f"**{measure.label.capitalize()}**: {measure.meaning}, with 95 % intervals."), interval_view])
    return


@app.cell(hide_code=True)
def _(compared, followed, marks, measure, table):
    mo.stop(len(compared) == 0)
    _pairs = show_scores.pairs(table, compared, measure, marks)
    followed(controls.pickable(show_scores.styled(show.panel("Can we tell them apart?", _pairs))))
    return


# -- behind a number ---------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _(get_pick, measure, pool, table):
    def _standing_pick():
        """What is looked into: what was pressed last as far as it is still there, else the best assistant's cell."""
        pick = get_pick()
        if pick and pick[0] == "pair" and {pick[1], pick[2]} <= set(pool.assistants):
            return pick
        if pick and pick[0] == "cell" and pick[1] in pool.assistants and pick[2] in MEASURE:
            return pick
        return ("cell", best_first(table, measure.name)[0], measure.name)

    pick = _standing_pick()
    sort_choice = mo.ui.dropdown(
        list(SORTS), value="highest first" if pick[0] == "pair" else "lowest first", label="Sorted"
    )
    _what = (
        f"{pick[1]} against {pick[2]}, {measure.label}" if pick[0] == "pair" else f"{pick[1]}, {MEASURE[pick[2]].label}"
    )
    mo.vstack(
        [
            mo.md(f"""
    ## Behind a number: {_what}

    Press any number above: the conversations behind it are listed here. Select one to open it.
    """),
            sort_choice,
        ]
    )
    return pick, sort_choice


@app.cell(hide_code=True)
def _(measure, pick, pool, sort_choice):
    def _of_cell(name, what):
        """The conversations behind one cell; those that the measure is not taken over come last."""
        shown = pool.per_user(what).get(name, {})
        for user, each in pool.by_user[name].items():
            value = shown.get(user)
            yield (
                value,
                {
                    "no.": each.place,
                    "artifact": each.artifact,
                    "trial": each.trial,
                    MEASURE[what].label: "left out" if value is None else round(value, 3),
                    "intents found": round(sum(each.levels().values()), 1),
                    "of": len(each.moves),
                    "turns": each.turns,
                    "tokens": sum(each.tokens),
                    "ended": (each.stop or "open").replace("_", " "),
                },
            )

    def _of_pair(ours, theirs):
        """The users that two assistants both met, and by how much the first is above the second."""
        first, second = (pool.per_user(measure.name).get(name, {}) for name in (ours, theirs))
        for user in first:
            each, difference = pool.by_user[ours][user], first[user] - second[user]
            yield (
                difference,
                {
                    "no.": each.place,
                    "artifact": each.artifact,
                    "trial": each.trial,
                    ours: round(first[user], 3),
                    theirs: round(second[user], 3),
                    "difference": round(difference, 3),
                },
            )

    _found = list(_of_pair(*pick[1:]) if pick[0] == "pair" else _of_cell(*pick[1:]))
    _sign = -1 if SORTS[sort_choice.value] else 1
    _found.sort(key=lambda row: (row[0] is None, 0 if row[0] is None else _sign * row[0]))
    _rows = [row for _, row in _found]
    for _name in ("trial",):  # a column that says the same everywhere says nothing
        if not any(row[_name] for row in _rows):
            for _row in _rows:
                del _row[_name]
    _asked = mo.query_params().get("conversation")
    _places = [str(row["no."]) for row in _rows]
    conversations_table = mo.ui.table(
        _rows,
        selection="single",
        initial_selection=[_places.index(_asked) if _asked in _places else 0] if _rows else None,
        page_size=8,
        show_column_summaries=False,
        show_data_types=False,
        show_download=False,
        on_change=lambda rows: mo.query_params().set("conversation", str(rows[0]["no."])) if rows else None,
        label=f"{len(_rows)} conversations",
    )
    conversations_table if _rows else mo.md("No conversation is behind this number.")
    return (conversations_table,)


@app.cell(hide_code=True)
def _(conversations_table, pick, pool):
    mo.stop(not conversations_table.value, mo.md("Select a conversation to open it."))
    place = conversations_table.value[0]["no."]
    picked_scores = next(each for each in pool.scores if each.place == place)
    _others = [
        name for name in pool.assistants if name != picked_scores.assistant and picked_scores.unit in pool.by_user[name]
    ]
    beside_choice = mo.ui.dropdown(
        [NOBODY, *_others],
        value=pick[2] if pick[0] == "pair" and pick[2] in _others else NOBODY,
        label="Beside it, with the same user",
    )
    return beside_choice, picked_scores, place


@app.cell(hide_code=True)
def _(beside_choice, folder, marks, picked_scores, place, pool):
    def _opened_side(where, name):
        """(side, assessment) of one conversation."""
        with RunStore.read(folder) as store:
            data = store.assessment(where)
            side = show_beside.Side(name, marks[name], store.conversation(where))
        return side, Assessment.from_dict(data) if data else None

    ours, ours_assessed = _opened_side(place, picked_scores.assistant)
    theirs, theirs_assessed = None, None
    if beside_choice.value != NOBODY:
        _other = pool.by_user[beside_choice.value][picked_scores.unit]
        theirs, theirs_assessed = _opened_side(_other.place, beside_choice.value)
    _longest = max(len(side.conversation.turns) for side in (ours, theirs) if side)
    turn_slider = mo.ui.slider(0, max(1, _longest), 1, value=_longest, label="After turn", show_value=True)
    return ours, ours_assessed, theirs, theirs_assessed, turn_slider


@app.cell(hide_code=True)
def _(beside_choice, ours, picked_scores, pool, theirs):
    def _measured(names):
        """Every measure of these conversations, a row each; one that is not taken over this user is left out."""
        for name in names:
            found = [pool.per_user(each.name).get(name, {}).get(picked_scores.unit) for each in MEASURES]
            cells = zip(MEASURES, found, strict=True)
            yield (name, *("left out" if value is None else each.shown(value) for each, value in cells))

    _names = [side.name for side in (ours, theirs) if side]
    _trial = f", trial {picked_scores.trial + 1}" if picked_scores.trial else ""
    _parts = [show.table(("", *(each.label for each in MEASURES)), _measured(_names))]
    if theirs is not None:
        _parts = [show_beside.parted(ours, theirs), *_parts, show_beside.only_one_found(ours, theirs)]
    mo.vstack(
        [
            mo.hstack(
                [mo.md(f"### {' and '.join(_names)} with the user of {picked_scores.artifact}{_trial}"), beside_choice],
                justify="space-between",
                align="center",
                wrap=True,
            ),
            mo.Html(show_scores.styled(*_parts)),
        ]
    )
    return


@app.cell(hide_code=True)
def _(ours, theirs, turn_slider):
    def one():
        """A conversation and its tree after a turn."""
        talk, turn = ours.conversation, min(turn_slider.value, len(ours.conversation.turns))
        last = talk.turns[turn - 1] if turn else None
        tree = show.outline(
            talk.tree,
            talk.state_after(turn),
            talk.rules,
            last.candidate.transitions if last else (),
            last.focus if last else None,
        )
        return show.beside(
            show.panel("What the user wants", show.state_legend(), tree),
            show.panel("Conversation", show.chat(talk, turn), latest=True),
        )

    _shown = show.state_legend() + show_beside.trees(ours, theirs, turn_slider.value) if theirs else one()
    mo.vstack([turn_slider, mo.Html(show_scores.styled(_shown))])
    return


@app.cell(hide_code=True)
def _(ours, ours_assessed, theirs, theirs_assessed):
    _parts = []
    if theirs is not None:
        _parts.append(show.panel("Turn by turn", show_beside.turns_beside(ours, theirs)))
    for _side, _found in ((ours, ours_assessed), (theirs, theirs_assessed)):
        if _side is not None:
            _body = show_beside.assessed(_side.conversation, _found)
            _parts.append(
                f'<details class="dl-more ds-scored"><summary>How {html.escape(_side.name)} was scored at the end'
                f"</summary>{_body}</details>"
            )
    mo.Html(show_scores.styled(*_parts))
    return


# -- what the numbers rest on ------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _(marks, pool):
    curves = {name: curve(pool, name) for name in pool.assistants}
    mo.vstack(
        [
            mo.md("""
    ## How they go about it

    **Turn by turn**: share of the hidden intents found after each turn, 95 % intervals over artifacts. A conversation
    that ended early keeps what it had found.
    """),
            mo.Html(show.styled(charts.turn_curves(curves, marks, "Turn by turn"))),
        ]
    )
    return (curves,)


@app.cell(hide_code=True)
def _(marks, pool, table):
    manners = {name: manner(pool, name) for name in pool.assistants}
    _neither = {name: each.turns_of_neither for name, each in manners.items() if each.turns_of_neither}
    _left = ", ".join(f"{name} {count}" for name, count in _neither.items())
    mo.vstack(
        [
            mo.md(f"""
    **Three turns in a row**: does an assistant open up (D: options, samples, questions) or close in (C: mostly one
    piece), and does it change? Shares of the windows of three turns, 95 % intervals over artifacts.
    {f"Turns that do neither, left out with their windows: {_left}." if _left else ""}
    """),
            mo.Html(show.styled(charts.families({name: manners[name] for name in best_first(table)}, marks))),
        ]
    )
    return (manners,)


@app.cell(hide_code=True)
def _(marks, table):
    mo.vstack(
        [
            mo.md("**What it costs**: tokens of the replies against discovery; up and to the left is better."),
            mo.Html(show.styled(charts.tokens_against_discovery(table, marks))),
        ]
    )
    return


@app.cell(hide_code=True)
def _(marks, pool, table):
    mo.vstack(
        [
            mo.md("""
    ## What the numbers rest on

    Eq. 4 counts what *any* assistant of the pool found: who else is compared moves everybody's score. The share found
    needs no pool. Take assistants out of the pool at the top, and every number on this page follows.
    """),
            mo.Html(
                show_scores.styled(
                    show.panel("Eq. 4 in every smaller pool", show_scores.pools(table, pools_without(pool), marks)),
                    show.panel("What is left out", show_scores.left_out(pool, marks)),
                )
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def _(folder, get_jobs, scores, set_jobs):
    get_jobs()

    def _recorded():
        """The sensitivity map in the run's folder, if it is one of as many conversations as are finished now."""
        try:
            found = json.loads((folder / SENSITIVITY_FILE).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return found if found["recheck"]["conversations"] == len(scores) else None

    def _map_it(_=None):
        mapping = background.started(SensitivityJob(folder))
        if mo.app_meta().mode == "script":  # nobody looks again later
            mapping.wait()
        set_jobs(lambda count: count + 1)

    def _idle(kind):
        job = background.last_of(kind, folder)
        return job is None or not (job.running or job.trouble)

    if _recorded() is None and len(scores) <= AT_ONCE and _idle(EvaluationJob) and _idle(SensitivityJob):
        _map_it()
    flips, mapping = _recorded(), background.last_of(SensitivityJob, folder)
    map_button = mo.ui.button(label="Score again under other rules", on_click=_map_it)
    return flips, map_button, mapping


@app.cell(hide_code=True)
def _(flips, map_button, mapping, measure, scores):
    _measure = measure if measure.name in RESCORED else MEASURE["discovery"]
    if flips is not None:
        _shown = mo.Html(
            show_scores.styled(show.panel("Conclusions that flip", show_scores.sensitivity_map(flips, _measure)))
        )
    elif mapping is not None and mapping.running:
        _shown = mo.md(f"*The {len(scores)} conversations are being scored again …*")
    else:
        _trouble = show.error_line(mapping.trouble) if mapping is not None and mapping.trouble else ""
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
def _(configuration, pool, scope_choice, table):
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


# -- taking it elsewhere, and making another ---------------------------------------------------------------------------


@app.cell(hide_code=True)
def _(compared, curves, folder, leave_out_choice, manners, marks, measure, pool, provenance, table):
    def _report():
        """This page's tables and figures as one file."""
        users_of = {each.name: len(next(iter(pool.per_user(each.name).values()), {})) for each in MEASURES}
        return evaluation_page(
            f"Evaluation {folder.name}",
            [
                (
                    "The answer",
                    provenance + show_audit.certificate_line(folder) + show_scores.answer(table, compared, measure),
                ),
                (
                    "How each assistant did",
                    show_scores.results(table, users_of, marks, measure.name, pressable=False),
                ),
                (
                    f"Pairs in {measure.label}",
                    show_scores.pairs(table, compared, measure, marks, pressable=False),
                ),
                ("Eq. 4 in every smaller pool", show_scores.pools(table, pools_without(pool), marks)),
                ("What is left out", show_scores.left_out(pool, marks)),
                (measure.label, charts.intervals(table, measure, marks)),
                ("Turn by turn", charts.turn_curves(curves, marks, "Turn by turn")),
                ("Three turns in a row", charts.families({name: manners[name] for name in best_first(table)}, marks)),
                ("Tokens against discovery", charts.tokens_against_discovery(table, marks)),
            ],
        ).encode()

    def _plain():
        return json.dumps(results_of_run(folder, leave_out_choice.value), indent=1).encode()

    _name = folder.name
    mo.vstack(
        [
            mo.md("## Take it elsewhere"),
            mo.hstack(
                [
                    mo.download(lambda: scores_csv(pool).encode(), f"{_name}.csv", "text/csv", label="Scores, CSV"),
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
def _():
    from discover_lib.engines.miniature.assistants import SCRIPTED
    from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
    from discover_lib.train.jobs import JobError, find_jobs

    def _trained():
        """Finished training runs as assistants; "+" in a folder's name would be taken for an adapter."""
        for name, run in find_jobs(outputs_folder()).items():
            try:
                if run.status().state == "finished" and "+" not in str(run.folder):
                    yield name, f"hf:{run.folder}"
            except JobError:  # notebook 50 says what is wrong with it
                continue

    trained_choice = mo.ui.multiselect(dict(_trained()), label="Trained here")
    domains_choice = mo.ui.multiselect(
        {name.replace("_", " "): name for name in ALL_DOMAINS}, value=["svg drawing"], label="Domains"
    )
    assistants_choice = mo.ui.multiselect(
        list(SCRIPTED), value=["draft", "ask", "options", "adaptive"], label="Assistants"
    )
    others_text = mo.ui.text(
        placeholder="tiny, hf:FOLDER, hf:FOLDER+ADAPTER", label="Models on this machine", full_width=True
    )
    artifacts_choice = mo.ui.dropdown([5, 10, 20, 50, 100], value=50, label="Artifacts per domain")
    trials_choice = mo.ui.dropdown([1, 2, 3, 5], value=1, label="Trials")
    turns_choice = mo.ui.dropdown([1, 2, 3, 4, 5, 6, 8, 10], value=5, label="Turns")
    rules_choice = mo.ui.dropdown({"paper": "paper", "authors' code": "authors"}, value="paper", label="Rules")
    seed_choice = mo.ui.dropdown(list(range(30)), value=0, label="Seed")
    models_form = controls.chooser(("judge", "voice", "assistant"))
    return (
        artifacts_choice,
        assistants_choice,
        domains_choice,
        models_form,
        others_text,
        rules_choice,
        seed_choice,
        trained_choice,
        trials_choice,
        turns_choice,
    )


@app.cell(hide_code=True)
def _(
    artifacts_choice,
    assistants_choice,
    domains_choice,
    models_form,
    others_text,
    rules_choice,
    seed_choice,
    trained_choice,
    trials_choice,
    turns_choice,
):
    mo.vstack(
        [
            mo.md("## Evaluate others"),
            mo.hstack(
                [
                    *(domains_choice, assistants_choice, artifacts_choice, trials_choice, turns_choice),
                    *(rules_choice, seed_choice),
                ],
                justify="start",
                gap=1.5,
                wrap=True,
            ),
            *([trained_choice] if trained_choice.options else []),
            others_text,
            mo.accordion({"Let language models take part (nothing is asked before you say so)": models_form}),
        ]
    )
    return


@app.cell(hide_code=True)
def _(
    artifacts_choice,
    assistants_choice,
    domains_choice,
    models_form,
    others_text,
    rules_choice,
    seed_choice,
    trained_choice,
    trials_choice,
    turns_choice,
):
    def _asked_for():
        """What the controls ask for (options, who plays), or a line that says why it cannot be."""
        others = [each.strip() for each in others_text.value.split(",") if each.strip()]
        try:
            choice = controls.read_choice(models_form.value)
            names = (
                *assistants_choice.value,
                *trained_choice.value,
                *others,
                *([choice.assistant] if choice.assistant else []),
            )
            if not names or not domains_choice.value:
                raise RunOptionsError("choose at least one domain and one assistant")
            found = RunOptions(
                tuple(dict.fromkeys(names)),
                judge=choice.judge,
                voice=choice.voice,
                artifacts=artifacts_choice.value,
                trials=trials_choice.value,
                turns=turns_choice.value,
                rules=Rules.named(rules_choice.value),
                seed=seed_choice.value,
            )
        except (controls.ChoiceError, RunOptionsError) as error:
            return None, None, str(error)
        return found, choice, ""

    options, choice, refusal = _asked_for()
    with_models = options is not None and bool(options.spec.models(options.assistants))
    return choice, options, refusal, with_models


@app.cell(hide_code=True)
def _(with_models):
    cap_choice = mo.ui.number(0, 1000, 0.5, value=None, label="Spend at most, in dollars")
    cap_choice if with_models else None
    return (cap_choice,)


@app.cell(hide_code=True)
def _(begin_button, choice, domains_choice, options, refusal, with_models):
    def _planned():
        """What the evaluation will take, in words, and as a table where models are asked."""
        from discover_lib.runs.plan import plan_run

        users = options.artifacts * options.trials * len(domains_choice.value)
        size = f"{len(options.assistants)} assistants × {users} users = {users * len(options.assistants)} conversations"
        parts = [f'<p class="dl-quiet">{size}. The same choices come to the same run, and go on where it was left.</p>']
        if with_models:
            forecast = plan_run(
                lay_out_evaluation(options, domains_choice.value),
                settings=choice.client_settings,
                concurrency=background.IN_FLIGHT,
            )
            minutes = forecast.minutes
            caption = (
                f"Before anything is spent: about {minutes.expected:.0f} min ({minutes.low:.0f} to {minutes.high:.0f})"
            )
            parts.append(controls.plan_table(forecast.stages, caption))
        return show.styled(*parts)

    try:
        _shown = show.styled(show.error_line(refusal)) if refusal else _planned()
    except background.REFUSALS as _error:
        _shown = show.styled(show.error_line(str(_error)))
    mo.vstack([mo.Html(_shown), begin_button])
    return


@app.cell(hide_code=True)
def _(cap_choice, choice, domains_choice, options, refusal, wanted, with_models):
    wanted.update(
        options=options,
        domains=tuple(domains_choice.value),
        refusal=refusal,
        settings=choice.client_settings if with_models else None,
        cap=cap_choice.value,
        spends=with_models,
    )
    return


@app.cell(hide_code=True)
def _(folder, options):
    _names = " ".join(f"--assistant {name}" for name in (options.assistants if options else ("ASSISTANT",)))
    mo.md(f"""
    On the command line: `discover evaluate --domain DOMAIN {_names} --run {folder}` with `--sensitivity` for the map.
    """)
    return


if __name__ == "__main__":
    app.run()
