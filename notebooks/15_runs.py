# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "15 · Runs"
# description = "Browse what was run: every conversation, every turn, what failed and what it cost."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Runs")

with app.setup(hide_code=True):
    import shlex
    from pathlib import Path

    import marimo as mo

    from discover_lib.app.commands import shown_path
    from discover_lib.app.jobs import find_runs
    from discover_lib.base.files import outputs_folder
    from discover_lib.engines.spec import MINIATURE
    from discover_lib.metrics.summary import ListedSummary, summarise_listing
    from discover_lib.runs.options import RunOptions, execute, lay_out, write_results
    from discover_lib.runs.outcomes import Outcomes
    from discover_lib.runs.store import RunStore, StoreError
    from discover_lib.views import audit as show_audit
    from discover_lib.views import conversation as show
    from discover_lib.views import runs as show_runs

    ANY = "any"
    STOPS = {
        ANY: None,
        "all discovered": "all_discovered",
        "all satisfied": "all_satisfied",
        "after the last turn": "max_turns",
        "error": "error",
        "not finished": "open",
    }
    DEMO = "demo-run"


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # What happened in my runs?

    A run is one folder under `outputs/` with every conversation, turn, judgement and model call in it.
    **You will see** how each assistant did, the conversations behind the numbers, any single turn the way the
    simulator shows it, and what failed with what came back. A run that is still going can be watched.
    **Needs** nothing: if there is no run yet, a small one is made with the miniature.
    """)
    return


@app.function(hide_code=True)
def make_demo_run(folder: Path) -> None:
    """Three scripted assistants with eight users of the miniature each."""
    run = lay_out(RunOptions(("adaptive", "draft", "ask"), domain="svg_drawing", artifacts=8))
    folder.mkdir(parents=True, exist_ok=True)
    execute(run, folder)
    write_results(folder)


@app.cell(hide_code=True)
def choose_run():
    def found_or_made():
        """The runs there are, and why there is none."""
        if runs := find_runs(outputs_folder()):
            return runs, ""
        try:
            make_demo_run(outputs_folder() / DEMO)
        except (OSError, StoreError) as error:
            return {}, f"no run here, and none could be made: {error}"
        return find_runs(outputs_folder()), ""

    runs, trouble = found_or_made()
    mo.stop(not runs, mo.Html(show.styled(show.error_line(trouble))))
    asked = mo.query_params().get("run")
    run_choice = mo.ui.dropdown(
        runs,
        value=asked if asked in runs else next(iter(runs)),
        label="Run",
        searchable=True,
        on_change=lambda folder: mo.query_params().set("run", str(folder.relative_to(outputs_folder()))),
    )
    return (run_choice,)


@app.cell(hide_code=True)
def watch(run_choice):
    # Only a run with something left to do is looked at again and again.
    def open_units():
        try:
            with RunStore.read(run_choice.value) as store:
                return store.counts().open
        except StoreError:
            return 0

    clock = mo.ui.refresh(
        options=["2s", "10s", "60s"], default_interval="2s" if open_units() else None, label="look again"
    )
    mo.hstack([run_choice, clock], justify="start", align="center", gap=2, wrap=True)
    return (clock,)


@app.function(hide_code=True)
def checks_itself(configuration: dict) -> bool:
    """Whether the user's voice in a run checks what it says: a language model's does, the miniature's need not."""
    return configuration.get("engine", {}).get("voice") not in (None, MINIATURE)


@app.cell(hide_code=True)
def check_readable(clock, run_choice):
    clock.value
    folder = run_choice.value
    try:
        RunStore.read(folder).close()
    except StoreError as error:
        unreadable = str(error)
    else:
        unreadable = ""
    mo.stop(bool(unreadable), mo.Html(show.styled(show.error_line(unreadable))))
    mo.md("A run's folder is a store; it can be read while the run is going on, and each answer takes one line:")
    return (folder,)


@app.cell
def read_run(folder):
    with RunStore.read(folder) as store:
        configuration, counts, spent = store.configuration, store.counts(), store.spent()
        outcomes = Outcomes.of_run(store)
        rows = store.listing()  # a line per conversation
        failures, lengths = store.failures(), store.call_lengths()
    by_assistant = summarise_listing(rows)
    mo.show_code()
    return by_assistant, configuration, counts, failures, lengths, outcomes, spent


@app.cell(hide_code=True)
def read_flaws(configuration, folder):
    with RunStore.read(folder) as _store:
        flawed = _store.flawed() if checks_itself(configuration) else {}
    return (flawed,)


@app.cell(hide_code=True)
def show_run(by_assistant, configuration, counts, folder, lengths, outcomes, spent):
    _head = [column.capitalize() for column in ListedSummary.COLUMNS]
    _rows = [summary.row() for summary in by_assistant]
    _caption = "Means with 95 % intervals, bootstrapped over artifacts"
    _parts = [
        show.panel("The run", show.table(("", ""), show_runs.facts(configuration, counts, spent, outcomes))),
        show_audit.certificate_line(folder),
        show.panel("How each assistant did", show.table(_head, _rows, _caption)),
    ]
    if lengths:
        _calls = [
            (purpose, f"{count:,}", f"{into:,.0f}", f"{out:,.0f}", f"{seconds:.1f}")
            for purpose, (count, into, out, seconds) in lengths.items()
        ]
        _columns = ("Purpose", "Calls", "Tokens in, mean", "Tokens out, mean", "Seconds, mean")
        _parts.append(show.panel("What the calls took", show.table(_columns, _calls)))
    mo.Html(show.styled(*_parts))
    return


@app.cell(hide_code=True)
def filter_conversations(run_choice):
    run_choice.value  # another run, other choices
    picked, set_picked = mo.state(None)
    with RunStore.read(run_choice.value) as _store:
        _assistants, _artifacts, _most = _store.choices()
        _roles = list(_store.failures_by_role())
        _checked = checks_itself(_store.configuration)
    assistant_filter = mo.ui.dropdown([ANY, *_assistants], value=ANY, label="Assistant")
    artifact_filter = mo.ui.dropdown([ANY, *_artifacts], value=ANY, label="Artifact", searchable=True)
    stop_filter = mo.ui.dropdown(list(STOPS), value=ANY, label="Ended")
    failed_filter = mo.ui.dropdown([ANY, *_roles], value=ANY, label="Failed role", disabled=not _roles)
    discovered_filter = mo.ui.range_slider(0, max(1, _most), 1, label="Discovered", show_value=True)
    leaks_filter = mo.ui.checkbox(label="with leaks only")
    flaws_filter = mo.ui.checkbox(label="with flawed user messages only")
    mo.vstack(
        [
            mo.md("## The conversations"),
            mo.hstack(
                [
                    *(assistant_filter, artifact_filter, stop_filter, failed_filter, discovered_filter, leaks_filter),
                    *([flaws_filter] if _checked else []),
                ],
                justify="start",
                align="center",
                gap=1.5,
                wrap=True,
            ),
        ]
    )
    return (
        artifact_filter,
        assistant_filter,
        discovered_filter,
        failed_filter,
        flaws_filter,
        leaks_filter,
        picked,
        set_picked,
        stop_filter,
    )


@app.cell(hide_code=True)
def list_filtered(
    artifact_filter,
    assistant_filter,
    clock,
    discovered_filter,
    failed_filter,
    flawed,
    flaws_filter,
    folder,
    leaks_filter,
    stop_filter,
):
    clock.value

    def chosen(control):
        return None if control.value == ANY else control.value

    with RunStore.read(folder) as _store:
        _found = _store.listing(
            assistant=chosen(assistant_filter),
            artifact=chosen(artifact_filter),
            stop=STOPS[stop_filter.value],
            failed_role=chosen(failed_filter),
            leaking=leaks_filter.value,
        )
    _low, _high = discovered_filter.value
    listed = [
        each
        for each in _found
        if _low <= each.discovered <= max(_high, _low) and (each.place in flawed or not flaws_filter.value)
    ]
    return (listed,)


@app.cell(hide_code=True)
def pick_conversation(flawed, listed, picked, set_picked):
    _rows = [
        {
            "no.": each.place,
            "artifact": each.artifact,
            "assistant": " + ".join(dict.fromkeys(each.assistants)),
            "trial": each.trial,
            "ended": (each.stop or "open").replace("_", " "),
            "turns": each.turns,
            "discovered": each.discovered,
            "reward": round(each.reward, 3),
            "tokens": each.tokens,
            "unscored": each.unscored,
            "leaks": each.leaks,
            "flawed": flawed.get(each.place, 0),
        }
        for each in listed
    ]
    # A column that says the same everywhere says nothing.
    for _name in ("trial", "unscored", "leaks", "flawed"):
        if not any(row[_name] for row in _rows):
            for _row in _rows:
                del _row[_name]
    _places = [each.place for each in listed]
    conversations_table = mo.ui.table(
        _rows,
        selection="single",
        initial_selection=[_places.index(picked())] if picked() in _places else None,
        page_size=10,
        show_column_summaries=False,
        show_data_types=False,
        show_download=False,
        on_change=lambda rows: set_picked(rows[0]["no."] if rows else None),
        label=f"{len(_rows)} conversations; select one to open it",
    )
    conversations_table if _rows else mo.md("No conversation fits; widen the filters.")
    return


@app.cell(hide_code=True)
def open_conversation(clock, folder, listed, picked):
    clock.value
    _known = {each.place for each in listed}
    _place = picked() if picked() in _known else (listed[0].place if listed else None)
    mo.stop(_place is None)
    with RunStore.read(folder) as _store:
        conversation = _store.conversation(_place)
        its_failures = [failure for _, failure in _store.failures(_place)]
    place = _place
    return conversation, its_failures, place


@app.cell(hide_code=True)
def choose_turn(conversation):
    _last = len(conversation.turns)
    turn_slider = mo.ui.slider(0, max(1, _last), 1, value=min(1, _last), label="Turn", show_value=True)
    return (turn_slider,)


@app.cell(hide_code=True)
def show_conversation(conversation, its_failures, place, turn_slider):
    _turn = min(turn_slider.value, len(conversation.turns))
    _state, _tree, _rules = conversation.state_after(_turn), conversation.tree, conversation.rules
    _last = conversation.turns[_turn - 1] if _turn else None
    _setting = conversation.setting
    _title = f"Conversation {place}: {_setting.get('artifact', '')}, {' + '.join(_setting.get('assistants', ()))}"
    _outline = show.outline(
        _tree, _state, _rules, _last.candidate.transitions if _last else (), _last.focus if _last else None
    )
    _parts = [
        show.beside(
            show.panel("What the user wants", show.state_legend(), _outline),
            show.panel("Conversation", show.chat(conversation, _turn), latest=True),
        )
    ]
    if _last is not None:
        # Without verdicts (an import) there is no bill to write, but the reward and what moved are known.
        _known = _last.candidate.evaluation is None and _last.candidate.reward is not None
        _receipt = [] if _known else [show.panel("Reward receipt", show.receipt(_tree, _last, _rules))]
        if len(_last.candidates) > 1 or _known:
            _receipt.append(show.panel("All candidates", show.candidates(_tree, _last, _rules)))
        _spoken = [
            show.panel("The judge’s reasons", show.judge_reasons(_tree, _last.candidate)),
            show.panel("What the user may say now", show.user_view(_tree, _last.view, _last.user_message)),
        ]
        if _last.leaks:
            _words = ", ".join(f"“{word}”" for word in _last.leaks)
            _spoken.append(show.error_line(f"The user said what only hidden intents hold: {_words}"))
        _parts.append(show.beside(show.joined(_receipt), show.joined(_spoken)))
    _parts += [show.error_line(failure.line) for failure in its_failures if failure.turn == _turn + 1]
    _note = _setting.get("note", "")
    mo.vstack(
        [
            mo.md(f"## {_title}"),
            mo.hstack([turn_slider, mo.md(f"of {len(conversation.turns)}. {_note}")], justify="start", align="center"),
            mo.Html(show.styled(*_parts)),
        ]
    )
    return


@app.cell(hide_code=True)
def show_failures(failures):
    mo.Html(show.styled(show.panel("Failures, by role", show_runs.failures(failures))))
    return


@app.cell(hide_code=True)
def show_commands(folder):
    _path = shlex.quote(shown_path(folder))
    mo.md(f"""
    ## Take it elsewhere

    ```
    discover export {_path} --format jsonl --out FOLDER
    discover export {_path} --format authors --out FOLDER
    ```

    In Python: `RunStore.read(folder).conversations()` gives the records, `formats.to_frame(...)` a pandas table with a
    row per candidate reply.
    """)
    return


if __name__ == "__main__":
    app.run()
