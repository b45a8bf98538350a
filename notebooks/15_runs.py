# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "15 · Runs"
# description = "Browse what was run: every conversation, every turn, what failed and what it cost."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Runs", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import shlex
    from pathlib import Path

    import marimo as mo

    from discover_lib.base.files import outputs_folder
    from discover_lib.engines.spec import MINIATURE
    from discover_lib.metrics.scores import is_unchecked
    from discover_lib.metrics.summary import ListedSummary, summarise_listing
    from discover_lib.runs.options import RunOptions, execute, lay_out, write_results
    from discover_lib.runs.outcomes import Outcomes
    from discover_lib.runs.store import RunStore, StoreError
    from workbench import controls
    from workbench.carried import kept
    from workbench.echo import shown_path
    from workbench.jobs import find_runs, labelled
    from workbench.panel import Certifier
    from workbench.views import conversation_parts as show
    from workbench.views import run_parts as show_runs
    from workbench.views.figures.charts import dots
    from workbench.views.figures.theme import looks
    from workbench.views.navigation import footer
    from workbench.views.score_parts import ENDINGS

    controls.page_has_sheet()
    ANY = "any"
    STOPS = {ANY: None} | {words: stop for stop, words in ENDINGS.items()}
    DEMO = "demo-run"


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # What happened in my runs?

    How each assistant did, and every conversation, turn and judgement behind the numbers. A run that is still going can
    be watched; where there is none yet, a small one is made with the miniature.
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
    runs = labelled(list(runs.values()))
    of_a_run = ("conversation", "turn", "assistant", "user", "ended", "failed", "discovered", "leaks", "flaws")
    run_choice = kept(
        mo.ui.dropdown,
        "run",
        runs,
        value=next(iter(runs)),
        label="Run",
        searchable=True,
        full_width=True,
        forgets=of_a_run,
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
        options=["2s", "10s", "60s"], default_interval="2s" if open_units() else None, label="refresh every"
    )
    mo.hstack([run_choice, clock], justify="start", align="end", gap=2, wrap=True)
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
    return (folder,)


@app.cell(hide_code=True)
def show_answer(by_assistant):
    _found = {each.assistant: each.discovered for each in sorted(by_assistant, key=lambda each: -each.discovered.mean)}
    _title = "intents discovered in a conversation (mean, 95 % interval over users)"
    _marks = looks([each.assistant for each in by_assistant])  # as on the other pages, not by rank
    mo.Html(show.styled(dots(_found, _title, _marks) if _found else show.quiet("No conversation is finished yet.")))
    return


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
def read_flaws(configuration, folder):
    with RunStore.read(folder) as _store:
        flawed = _store.flawed() if checks_itself(configuration) else {}
    return (flawed,)


@app.cell(hide_code=True)
def filter_conversations(run_choice):
    with RunStore.read(run_choice.value) as _store:
        _assistants, _artifacts, _most = _store.choices()
        _roles = list(_store.failures_by_role())
        _checked = checks_itself(_store.configuration)

    def _menu(name, options, label, **how):
        return kept(mo.ui.dropdown, name, [ANY, *options], value=ANY, label=label, **how)

    assistant_filter = _menu("assistant", _assistants, "Assistant")
    artifact_filter = _menu("user", _artifacts, "User", searchable=True)
    stop_filter = _menu("ended", [each for each in STOPS if each != ANY], "Ended")
    failed_filter = _menu("failed", _roles, "Failed role")
    _end = max(1, _most)
    discovered_filter = kept(mo.ui.range_slider, "discovered", 0, _end, 1, value=[0, _end], label="Discovered")
    leaks_filter = kept(mo.ui.checkbox, "leaks", value=False, label="with leaks only")
    flaws_filter = kept(mo.ui.checkbox, "flaws", value=False, label="with flawed user messages only")
    filter_row = [assistant_filter, artifact_filter, stop_filter, *([failed_filter] if _roles else [])]
    flag_row = [leaks_filter, *([flaws_filter] if _checked else [])]
    return (
        artifact_filter,
        assistant_filter,
        discovered_filter,
        failed_filter,
        filter_row,
        flag_row,
        flaws_filter,
        leaks_filter,
        stop_filter,
    )


@app.cell(hide_code=True)
def show_filters(discovered_filter, filter_row, flag_row):
    _low, _high = discovered_filter.value
    _range = mo.hstack([discovered_filter, mo.md(f"{_low} to {_high}")], justify="start", align="center")
    _controls = [*filter_row, _range, *flag_row]
    _row = mo.hstack(_controls, justify="start", align="center", gap=1.5, wrap=True)
    mo.vstack([mo.md("## The conversations"), _row])
    return


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
def list_conversations(flawed, listed):
    _list = show.styled(show_runs.listing(listed, flawed))
    conversation_list = controls.picking("conversation", _list, [str(each.place) for each in listed])
    return (conversation_list,)


@app.cell(hide_code=True)
def open_conversation(clock, conversation_list, folder, listed):
    clock.value
    mo.stop(not listed, mo.md("No conversation fits; widen the filters."))
    place = int(conversation_list.value["picked"])
    with RunStore.read(folder) as _store:
        conversation = _store.conversation(place)
        its_failures = [failure for _, failure in _store.failures(place)]
    return conversation, its_failures, place


@app.cell(hide_code=True)
def choose_turn(conversation):
    _last = len(conversation.turns)
    _end = max(1, _last)
    turn_slider = kept(mo.ui.slider, "turn", 0, _end, 1, value=min(1, _last), label="Turn", show_value=True)
    return (turn_slider,)


@app.cell(hide_code=True)
def show_conversation(conversation, conversation_list, its_failures, place, turn_slider):
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
        elif is_unchecked(_tree, _last):
            _spoken.append(show.quiet("Whether the user said what only hidden intents hold was not checked."))
        _parts.append(show.beside(show.joined(_receipt), show.joined(_spoken)))
    _parts += [show.error_line(failure.line) for failure in its_failures if failure.turn == _turn + 1]
    _note = _setting.get("note", "")
    _turns = show.tag("p", controls.placed(turn_slider), f" of {len(conversation.turns)}. {_note}", class_="dl-small")
    _detail = show.tag("div", show.tag("h3", _title, class_="dl-panel-title"), _turns, *_parts, data_opened=str(place))
    _list = show.tag("div", controls.placed(conversation_list))
    mo.Html(show.styled(show.tag("div", _list, _detail, class_="dl-list-detail")))
    return


@app.cell(hide_code=True)
def show_failures(failures):
    mo.Html(show.styled(show.panel("Failures, by role", show_runs.failures(failures))))
    return


@app.cell(hide_code=True)
def introduce_store():
    mo.md("""
    ## The numbers, and how they are read

    A run's folder is a store; it can be read while the run is going on, and each answer takes one line:
    """)
    return


@app.cell
def read_run(folder):
    with RunStore.read(folder) as store:
        configuration, counts, spent = store.configuration, store.counts(), store.calls.spent()
        outcomes = Outcomes.of_run(store)
        rows = store.listing()  # a line per conversation
        failures, lengths = store.failures(), store.calls.lengths()
    by_assistant = summarise_listing(rows)
    mo.show_code()
    return by_assistant, configuration, counts, failures, lengths, outcomes, spent


@app.cell(hide_code=True)
def show_run(by_assistant, configuration, counts, lengths, outcomes, spent):
    _head = [column.capitalize() for column in ListedSummary.COLUMNS]
    _caption = "Means with 95 % intervals, bootstrapped over artifacts"
    _parts = [
        show.more("How each assistant did", show.table(_head, [each.row() for each in by_assistant], _caption)),
        show.more("What was run", show.table(("", ""), show_runs.facts(configuration, counts, spent, outcomes))),
    ]
    if lengths:
        _calls = [
            (purpose, f"{count:,}", f"{into:,.0f}", f"{out:,.0f}", f"{seconds:.1f}")
            for purpose, (count, into, out, seconds) in lengths.items()
        ]
        _columns = ("Purpose", "Calls", "Tokens in, mean", "Tokens out, mean", "Seconds, mean")
        _parts.append(show.more("What the calls took", show.table(_columns, _calls)))
    mo.Html(show.styled(*_parts))
    return


@app.cell(hide_code=True)
def show_commands(folder):
    _path = shlex.quote(shown_path(folder))
    mo.md(f"""
    ## Take it elsewhere

    ```text
    discover export {_path} --format jsonl --out FOLDER
    discover export {_path} --format authors --out FOLDER
    ```

    In Python: `RunStore.read(folder).conversations()` gives the records, `formats.to_frame(...)` a pandas table with a
    row per candidate reply.
    """)
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("15_runs.py")))
    return


if __name__ == "__main__":
    app.run()
