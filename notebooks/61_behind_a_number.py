# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "61 · Behind a number"
# description = "The conversations that make a score, one by one, and two assistants side by side on the same user."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Behind a number", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import json

    import marimo as mo

    from discover_lib.metrics.results import (
        ALL,
        MEASURE,
        MEASURES,
        Pool,
        best_first,
        curve,
        manner,
        table_of,
        values_of,
    )
    from discover_lib.metrics.scores import Assessment
    from discover_lib.runs.store import RunStore
    from workbench import controls
    from workbench.carried import address, kept, pool_controls, pool_row
    from workbench.panel import EvaluatedRun, evaluation_panel
    from workbench.views import beside as show_beside
    from workbench.views import conversation_parts as show
    from workbench.views import explain
    from workbench.views import score_parts as show_scores
    from workbench.views.figures import charts
    from workbench.views.located import finding
    from workbench.views.navigation import footer

    controls.page_has_sheet()

    NOBODY = "nobody"
    SORTS = {"lowest first": False, "highest first": True}


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # Which conversations are behind a number?

    A mean hides who it is a mean of. Choose an assistant, or two of them
    ([page 60](/?file=60_evaluate.py) leads here when a number is pressed), and read.
    Thresholds and words are drawn from the run's seed: a user whom you met on page 00 may fare otherwise here.
    """)
    return


@app.cell(hide_code=True)
def choose_pool(scores):
    scope_choice, measure_choice, pool_choice, leave_out_choice = pool_controls(scores)
    pool_row(scope_choice, measure_choice, pool_choice, leave_out_choice)
    return leave_out_choice, measure_choice, pool_choice, scope_choice


@app.cell(hide_code=True)
def measure_pool(leave_out_choice, measure_choice, pool_choice, scope_choice, scores):
    mo.stop(not pool_choice.value, mo.md("Choose at least one assistant for the pool."))
    pool = Pool(
        [each for each in scores if each.assistant in pool_choice.value and scope_choice.value in (ALL, each.domain)],
        leave_out_choice.value,
    )
    measure = MEASURE[measure_choice.value]
    marks = show_scores.looks(list(dict.fromkeys(each.assistant for each in scores)))
    mo.stop(not pool.shared(), mo.md("No user has finished with every assistant of this pool yet."))
    table = table_of(values_of(pool), pool.assistants)
    return marks, measure, pool, table


@app.cell(hide_code=True)
def read_pick(measure, pool, table):
    def _asked_for():
        """What the address asks for: ("cell", assistant, measure) or ("pair", ours, theirs); else the best in it."""
        try:
            kind, ours, other = show_scores.picked(address().get("pick") or "")
        except ValueError:
            kind, ours, other = "", "", ""
        if kind == "pair" and {ours, other} <= set(pool.assistants) and ours != other:
            return kind, ours, other
        if kind == "cell" and ours in pool.assistants and other in MEASURE:
            return kind, ours, other
        return "cell", best_first(table, measure.name)[0], measure.name

    asked = _asked_for()
    return (asked,)


@app.cell(hide_code=True)
def choose_pick(asked, pool):
    assistant_choice = mo.ui.dropdown(list(pool.assistants), value=asked[1], label="Assistant")
    against_choice = mo.ui.dropdown(
        [NOBODY, *pool.assistants], value=asked[2] if asked[0] == "pair" else NOBODY, label="against"
    )
    _first = "highest first" if asked[0] == "pair" else "lowest first"
    sort_choice = kept(mo.ui.dropdown, "sort", list(SORTS), value=_first, label="Sorted")
    return against_choice, assistant_choice, sort_choice


@app.cell(hide_code=True)
def settle_pick(against_choice, asked, assistant_choice, measure, sort_choice):
    def _chosen():
        """The cell or pair that the choices stand for; an assistant against itself is the assistant alone."""
        ours, theirs = assistant_choice.value, against_choice.value
        if theirs not in (NOBODY, ours):
            return "pair", ours, theirs
        return "cell", ours, asked[2] if asked[:2] == ("cell", ours) else measure.name

    pick = _chosen()
    if pick != asked:  # the address follows, so that a copied link opens the same
        mo.query_params().set("pick", json.dumps(pick, separators=(",", ":")))
        mo.query_params().remove("conversation")
    _what = (
        f"{pick[1]} against {pick[2]}, {measure.label}" if pick[0] == "pair" else f"{pick[1]}, {MEASURE[pick[2]].label}"
    )
    mo.vstack(
        [
            mo.md(f"## Behind a number: {_what}"),
            mo.hstack([assistant_choice, against_choice, sort_choice], justify="start", gap=1.5, wrap=True),
        ]
    )
    return (pick,)


@app.cell(hide_code=True)
def list_conversations(measure, pick, pool, sort_choice):
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
                    "found (emerging: ½)": round(sum(each.levels().values()), 1),
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

    _behind = list(_of_pair(*pick[1:]) if pick[0] == "pair" else _of_cell(*pick[1:]))
    _sign = -1 if SORTS[sort_choice.value] else 1
    _behind.sort(key=lambda row: (row[0] is None, 0 if row[0] is None else _sign * row[0]))
    behind = [row for _, row in _behind]
    if not any(row["trial"] for row in behind):  # a column that says the same everywhere says nothing
        behind = [{name: value for name, value in row.items() if name != "trial"} for row in behind]
    _what = "difference" if pick[0] == "pair" else MEASURE[pick[2]].label
    _bars = show_scores.behind(behind, _what, measure if pick[0] == "pair" else MEASURE[pick[2]])
    _places = [str(row["no."]) for row in behind]
    conversation_list = controls.picking("conversation", show_scores.styled(_bars), _places, forgets=("turn",))
    conversation_list
    return behind, conversation_list


@app.cell(hide_code=True)
def open_one(behind, conversation_list, pick, pool):
    mo.stop(not behind)
    place = int(conversation_list.value["picked"])
    picked_scores = next(each for each in pool.scores if each.place == place)
    _others = [
        name for name in pool.assistants if name != picked_scores.assistant and picked_scores.unit in pool.by_user[name]
    ]
    beside_choice = kept(
        mo.ui.dropdown,
        "beside",
        [NOBODY, *_others],
        value=pick[2] if pick[0] == "pair" and pick[2] in _others else NOBODY,
        label="Beside it, with the same user",
    )
    return beside_choice, picked_scores, place


@app.cell(hide_code=True)
def open_sides(beside_choice, folder, marks, picked_scores, place, pool):
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
    turn_slider = kept(
        mo.ui.slider, "turn", 0, max(1, _longest), 1, value=_longest, label="After turn", show_value=True
    )
    return ours, ours_assessed, theirs, theirs_assessed, turn_slider


@app.cell(hide_code=True)
def show_measures(beside_choice, ours, picked_scores, place, pool, theirs):
    def _measured(names):
        """Every measure of these conversations, a row each; one that is not taken over this user is left out."""
        for name in names:
            found = [pool.per_user(each.name).get(name, {}).get(picked_scores.unit) for each in MEASURES]
            yield (name, *map(_explained, [name] * len(found), MEASURES, found))

    def _explained(name, what, value):
        """A number that unfolds into what it says of this user."""
        if value is None:
            return "left out"
        return explain.explained(what.shown(value), explain.of_user(name, picked_scores.unit, what, pool))

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
            mo.Html(show_scores.styled(show.tag("div", *_parts, data_opened=str(place)))),
        ]
    )
    return


@app.cell(hide_code=True)
def show_trees(ours, theirs, turn_slider):
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
def show_turns(ours, ours_assessed, theirs, theirs_assessed):
    _parts = []
    if theirs is not None:
        _parts.append(show.panel("Turn by turn", show_beside.turns_beside(ours, theirs)))
    for _side, _found in ((ours, ours_assessed), (theirs, theirs_assessed)):
        if _side is not None:
            _body = show_beside.assessed(_side.conversation, _found)
            _summary = show.tag("summary", f"How {_side.name} was scored at the end")
            _parts.append(show.tag("details", _summary, _body, class_="dl-more ds-scored"))
    mo.Html(show_scores.styled(*_parts))
    return


@app.cell(hide_code=True)
def introduce_evidence(ours):
    mo.md(f"""
    ### What discovered each intent

    A discovery has evidence: the turn, the verdict's reason, and the sentence or drawing of the reply that it is
    about. For {ours.name} with this user:
    """)
    return


@app.cell
def find_evidence(ours):
    talk = ours.conversation
    evidence = {intent: finding(talk, intent) for intent in talk.tree.intents}  # None: never discovered here
    by_turn = sorted((each for each in evidence.values() if each), key=lambda each: each.turn)
    mo.show_code()
    return by_turn, talk


@app.cell(hide_code=True)
def show_evidence(by_turn, talk):
    def quoted(found):
        if found.span is None:
            return f"drawing {found.drawing + 1}" if found.drawing is not None else ""
        return talk.turns[found.turn - 1].reply.text[slice(*found.span)]

    _rows = [
        (f"turn {each.turn}", talk.tree.text(each.transition.intent_id), each.reason, quoted(each)) for each in by_turn
    ]
    mo.Html(
        show.styled(
            show.table(("", "Intent", "The judge’s reason", "What in the reply"), _rows)
            if _rows
            else show.quiet("Nothing was discovered beyond what the request named.")
        )
    )
    return


@app.cell(hide_code=True)
def open_evaluation():
    panel = evaluation_panel()
    get_folder, get_activity, get_progress = panel.states
    return get_activity, get_folder, get_progress, panel


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
def read_scores(get_folder, get_progress):
    get_progress()
    folder = get_folder()
    _run = EvaluatedRun.of_run(folder)
    scores = _run.scores
    mo.stop(not scores, mo.Html(show.styled(_run.missing)))
    return folder, scores


@app.cell(hide_code=True)
def show_curves(marks, pool):
    _curves = {name: curve(pool, name) for name in pool.assistants}
    mo.vstack(
        [
            mo.md("""
    ## How they go about it, all of them

    **Turn by turn**: share of the hidden intents found after each turn (one still emerging counts half), 95 % intervals
    over artifacts. A conversation that ended early keeps what it had found.
    """),
            mo.Html(show.styled(charts.turn_curves(_curves, marks, "Turn by turn"))),
        ]
    )
    return


@app.cell(hide_code=True)
def show_manners(marks, pool, table):
    _manners = {name: manner(pool, name) for name in pool.assistants}
    _neither = {name: each.turns_of_neither for name, each in _manners.items() if each.turns_of_neither}
    _left = ", ".join(f"{name} {count}" for name, count in _neither.items())
    mo.vstack(
        [
            mo.md(f"""
    **Three turns in a row**: does an assistant open up (D: options, samples, questions) or close in (C: mostly one
    piece), and does it change? Shares of the windows of three turns, 95 % intervals over artifacts.
    {f"Turns that do neither, left out with their windows: {_left}." if _left else ""}
    """),
            mo.Html(show.styled(charts.families({name: _manners[name] for name in best_first(table)}, marks))),
        ]
    )
    return


@app.cell(hide_code=True)
def show_cost(marks, table):
    mo.vstack(
        [
            mo.md("**What it costs**: tokens of the replies against discovery; up and to the left is better."),
            mo.Html(show.styled(charts.tokens_against_discovery(table, marks))),
        ]
    )
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("61_behind_a_number.py")))
    return


if __name__ == "__main__":
    app.run()
