# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "Compare"
# description = "Which assistant discovers more, and is the difference real?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Compare", css_file="../workbench/views/static/workbench.css")


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # Which assistant discovers more?

    Every assistant meets the **same** users.
    """)
    return


@app.cell(hide_code=True)
def open_page(evaluation_panel, mo, page):
    panel, making = evaluation_panel("Evaluate"), page.Making()
    (get_folder, get_activity, get_progress), get_pressed = panel.states, panel.get_pressed
    models, tab_choice = making.models, page.tab_menu()
    mapping = mo.ui.run_button(label="Score under other rules")
    return get_activity, get_folder, get_pressed, get_progress, making, mapping, models, panel, tab_choice


@app.cell(hide_code=True)
def choose_run(get_activity, get_folder, making, panel):
    run_choice = panel.choice(get_folder(), get_activity(), label="Evaluation")
    clock, asked = panel.clock(get_folder(), get_activity()), making.menus(get_folder())
    return asked, clock, run_choice


@app.cell(hide_code=True)
def show_run(clock, get_activity, get_folder, panel, run_choice):
    panel.view(clock, get_folder(), get_activity(), before=[panel.begin_button], after=[run_choice])
    return


@app.cell
def read_scores(get_folder, get_progress, page):
    folder, _grown = get_folder(), get_progress()  # runs again when there is more to read
    run = page.EvaluatedRun.of_run(folder)
    menus = page.page_menus(run.scores)
    return folder, menus, run


@app.cell
def plan_evaluation(asked, get_pressed, making, menus, models, page, panel):
    page.settings(asked, making, page.plan(panel, asked.value, models.value, get_pressed()), menus)
    return


@app.cell
def show_answer(answer, compared, mo, score_dots):
    mo.vstack([answer(compared), score_dots(compared)])
    return


@app.cell
def show_tab(compared, mapping, mo, page, tab_choice):
    mo.vstack([tab_choice, page.tab_content(tab_choice.value, compared, mapping)])
    return


@app.cell
def show_scores(compared, mo, page, score_table):
    scores = score_table(compared)
    mo.vstack([mo.md("## Scores"), scores, page.about_the_table(compared)])
    return (scores,)


@app.cell
def choose_rival(compared, page, scores):
    ours = page.selected(scores, "*Select an assistant to see its conversations here.*")["assistant"]
    rival = page.against_menu(compared, ours)
    rival
    return ours, rival


@app.cell
def show_behind(behind, compared, mo, ours, rival):
    conversations = behind(compared, ours, rival.value)
    conversations
    return (conversations,)


@app.cell
def read_conversation(compared, conversations, mo, open_sides, reader, rival):
    sides = open_sides(compared, conversations, rival.value)
    mo.show_code(reader(compared, sides, conversations.value[0]["no."]))
    return


@app.cell
def compare_assistants(Compared, folder, menus, mo, page, run):
    pool = page.pool_of(run, menus.value)  # change me: a Pool of other conversations
    measure = page.measure_of(menus.value)  # change me: MEASURE["tokens"]
    compared = Compared.of(run, folder, pool, measure)
    mo.show_code()
    return (compared,)


@app.cell(hide_code=True)
def import_names():
    import marimo as mo

    from workbench.controls import page_has_sheet
    from workbench.pages import compare_page as page
    from workbench.pages.compare_page import Compared, answer, behind, open_sides, reader, score_dots, score_table
    from workbench.panel import evaluation_panel

    page_has_sheet()
    return Compared, answer, behind, evaluation_panel, mo, open_sides, page, reader, score_dots, score_table


if __name__ == "__main__":
    app.run()
