# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "Train"
# description = "What does an assistant learn from conversations? Train one here, and watch what it answers."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Train", css_file="../workbench/views/static/workbench.css")


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # What does an assistant learn from conversations?

    It imitates whole conversations (**SFT**), prefers the chosen reply to the rejected reply (**DPO**), or is rewarded
    by the simulated user (**GRPO**).
    """)
    return


@app.cell(hide_code=True)
def open_page(TrainingPanel, mo, page):
    panel, judge, (tab, talk) = TrainingPanel(), page.judge_form(), page.page_controls()
    (get_folder, get_activity, get_progress), get_pressed = panel.states, panel.get_pressed
    measure = mo.ui.button(label="Measure the change with 20 users", on_click=lambda _: panel.get_folder())
    return get_activity, get_folder, get_pressed, get_progress, judge, measure, panel, tab, talk


@app.cell(hide_code=True)
def choose_run(get_activity, get_folder, page, panel):
    run_choice = panel.choice(get_folder(), get_activity(), label="Training run")
    menus, clock = page.stage_menus(get_activity()), panel.clock(get_folder(), get_activity())
    return clock, menus, run_choice


@app.cell
def ask(contradictions, get_activity, get_pressed, judging, menus, mo, page, panel, settings):
    get_activity()  # a run that begins or ends changes the row
    mo.output.replace(page.stage_row(panel, menus))
    rows, unfit = page.rows_to_train_on(settings)
    row_choice, obstacles = page.row_slider(rows), page.obstacles(settings, judging, contradictions, unfit)
    page.ask(panel, settings, judging, obstacles, get_pressed())
    ready = page.before_the_press(settings, rows, obstacles)
    page.stage_row(panel, menus, ready, page.is_trained(settings))
    return ready, row_choice, rows


@app.cell(hide_code=True)
def show_run(clock, page, panel, run_choice):
    page.run_row(panel, clock, run_choice)
    return


@app.cell
def show_settings(menus, page, settings):
    page.settings_view(menus, settings)
    return


@app.cell
def choose_update(get_activity, get_folder, get_progress, page, panel, ready):
    moments = page.moments(panel, get_folder(), get_activity(), get_progress(), ready)
    update = page.step_slider(moments)
    return moments, update


@app.cell
def measure_change(measure, moments, page, panel):
    change = page.what_changed(panel, measure, users=20) if moments else ""
    return (change,)


@app.cell
def show_learning(change, mo, moments, page, panel, update):
    curve, replies = mo.vstack([page.loss_curve(panel), change]), page.same_user(moments, update)
    mo.show_code(mo.hstack([curve, replies], widths="equal", wrap=True, gap=2))
    return


@app.cell(hide_code=True)
def show_tab(tab):
    tab
    return


@app.cell
def show_curves(mo, moments, page, panel, tab):
    mo.stop(tab.value != "Curves" or moments is None)
    mo.show_code(page.all_curves(panel))
    return


@app.cell
def show_row(mo, page, row_choice, rows, settings, tab):
    mo.stop(tab.value != "Rows")
    mo.show_code(mo.vstack([row_choice, page.row_preview(rows, row_choice.value, settings)]))
    return


@app.cell
def show_recipe(judge, judging, menus, mo, page, recipe, settings, tab):
    mo.stop(tab.value != "Recipe")
    command = page.command(settings, menus.value, judging.access)
    mo.vstack([page.recipe_view(menus, recipe, judge), page.cost(judging, settings), command])
    return


@app.cell
def show_before_and_after(change, mo, page, panel, tab, talk):
    mo.stop(tab.value != "Before and after" or change is None)
    mo.show_code(mo.vstack([talk, page.talk_before_and_after(panel, talk), page.measured_before()]))
    return


@app.cell
def ask_both(mo, moments, page, panel, tab):
    mo.stop(tab.value != "Ask both" or moments is None)
    mo.show_code(page.ask_both(panel))
    return


@app.cell
def settle(StageSettings, judge, menus, mo, page):
    judging = page.Judging.of(menus.value["stage"], judge.value["models"], judge.value["cap"])
    recipe, contradictions = page.read_recipe(menus.value)
    settings = StageSettings(menus.value["stage"], recipe=recipe, **page.read_menus(menus.value), **judging.settings)
    # run_stage(settings, folder) trains in this cell; the button starts the same training in a process.
    mo.show_code()
    return contradictions, judging, recipe, settings


@app.cell(hide_code=True)
def import_names():
    import marimo as mo

    from discover_lib.train.run_stage import StageSettings
    from workbench.controls import page_has_sheet
    from workbench.pages import train_page as page
    from workbench.panel import TrainingPanel

    page_has_sheet()
    return StageSettings, TrainingPanel, mo, page


if __name__ == "__main__":
    app.run()
