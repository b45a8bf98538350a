# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "Data"
# description = "Which reply is better, and what becomes training data? Make conversations, check pairs, export rows."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Data", css_file="../workbench/views/static/workbench.css")


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # Which reply is better, and what becomes training data?

    Several assistants answer the same user. The reply with the highest reward is **chosen**, that with the lowest is
    **rejected**.
    """)
    return


@app.cell(hide_code=True)
def open_page(data, synthesis_panel):
    panel = synthesis_panel("Synthesize")
    (get_folder, get_activity, get_progress), get_pressed = panel.states, panel.get_pressed
    making, (labels, menus, tab, write) = data.making_form(), data.page_menus()
    return get_activity, get_folder, get_pressed, get_progress, labels, making, menus, panel, tab, write


@app.cell(hide_code=True)
def choose_run(get_activity, get_folder, panel):
    run_choice = panel.choice(get_folder(), get_activity(), label="Run")
    clock = panel.clock(get_folder(), get_activity())
    return clock, run_choice


@app.cell(hide_code=True)
def show_run(clock, data, get_activity, get_folder, panel, run_choice):
    begin, then = [panel.begin_button, run_choice], [data.next_step(get_folder())]
    panel.view(clock, get_folder(), get_activity(), before=begin, after=then)
    return


@app.cell
def read_run(data, get_folder, get_progress, labels, panel):
    run = data.read_run(panel, get_folder(), get_progress())
    label_choice = data.label_controls(labels.value, run.rules)
    return label_choice, run


@app.cell(hide_code=True)
def show_settings(data, get_pressed, label_choice, labels, making, panel, run):
    data.settings(data.make(panel, making, get_pressed()), run, labels, label_choice)
    return


@app.cell
def show_one_pair(data, mo, rules, turns):
    mo.show_code(data.one_pair(*data.widest(turns), rules))
    return


@app.cell(hide_code=True)
def show_tab(tab):
    tab
    return


@app.cell
def label_turns(data, examples, label_choice, labelled_turns, labels, run, sieve):
    rules, filters, options = data.read_labels(labels.value, label_choice.value, run.rules)
    with data.in_one_line():
        turns = [(each, turn) for each in run.conversations for turn in labelled_turns(each, options.rules)]
        pairs = list(examples("preference", run.conversations, run.origin, options))
    sieved = sieve(pairs, filters)
    return filters, options, pairs, rules, sieved, turns


@app.cell
def list_pairs(data, mo, pairs, sieved, tab):
    mo.stop(tab.value != "Pairs")
    pair_table = data.pairs_table(pairs, sieved)
    mo.vstack([data.length_check(sieved), pair_table])
    return (pair_table,)


@app.cell
def open_pair(data, mo, pair_table, rules, turns):
    selected = data.selected(pair_table, "Select a pair to see its two replies here.")
    mo.show_code(data.whole_pair(turns, selected["#"], rules))
    return


@app.cell
def count_wins(data, mo, options, rules, run, tab, table_3):
    mo.stop(tab.value != "Pairs")
    mo.show_code(data.table_3_view(table_3(run.conversations, options.rules), rules))
    return


@app.cell
def list_rows(data, examples, filters, menus, mo, options, run, sieve, tab):
    mo.stop(tab.value != "Rows")
    rows = list(examples(menus.value["kind"], run.conversations, run.origin, options))
    row_table = data.rows_table(rows, sieve(rows, filters))
    mo.show_code(mo.vstack([menus["kind"], data.kept_and_left_out(sieve(rows, filters), options), row_table]))
    return row_table, rows


@app.cell
def open_row(data, filters, mo, row_table, rows):
    row = rows[data.selected(row_table, "Select a row to see its training text here.")["#"]]
    mo.show_code(data.trainer_reads(row, filters))
    return


@app.cell
def write_rows(data, filters, get_folder, label_choice, menus, mo, options, tab, write):
    mo.stop(tab.value != "Files")
    written = data.write_all(get_folder(), menus.value, options, filters) if write.value else None
    commands = data.commands(get_folder(), menus.value, options, filters, label_choice.value["tokenizer"])
    mo.show_code(data.files_view(menus, write, written, commands))
    return


@app.cell(hide_code=True)
def import_names():
    import marimo as mo

    from discover_lib.dataset.export import sieve
    from discover_lib.dataset.lengths import table_3
    from discover_lib.dataset.rows import examples, labelled_turns
    from workbench.controls import page_has_sheet
    from workbench.pages import data_page as data
    from workbench.panel import synthesis_panel

    page_has_sheet()
    return data, examples, labelled_turns, mo, sieve, synthesis_panel, table_3


if __name__ == "__main__":
    app.run()
