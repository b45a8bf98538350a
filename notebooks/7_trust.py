# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "Trust"
# description = "Is the simulated user honest, similar to people, and harmless?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Trust", css_file="../workbench/views/static/workbench.css")


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # Can this simulated user be trusted?

    It should be **honest**, **human** and **harmless**.
    """)
    return


@app.cell(hide_code=True)
def open_page(TaskPanel, certify, mo, page):
    run_choice, tab = page.run_menu(), page.tab_menu()
    honesty, humanity, harm = page.honest_controls(), page.human_controls(), page.harmless_controls()
    certifying = TaskPanel(certify, given=["run"], begin="Validate this user", again="Validate again")
    get_told, (get_check, set_check) = certifying.get_told, mo.state(page.TABS[0])
    mo.hstack([run_choice, tab], justify="start", align="end", gap=2, wrap=True)
    return certifying, get_check, get_told, harm, honesty, humanity, run_choice, set_check, tab


@app.cell
def validate_user(certifying, get_check, get_told, page, run_choice, tab):
    page.stop_unless("honest", tab.value, get_check())
    page.validation(certifying, get_told(), run_choice.value)
    return


@app.cell
def read_run(get_check, mo, page, run_choice, tab):
    page.stop_unless("honest", tab.value, get_check())
    talks = page.read_conversations(run_choice.value)
    mo.md("## Does the user reveal undiscovered intents?")
    return (talks,)


@app.cell
def check_leaks(audit, mo, page, run_choice, talks):
    audited = audit(talks)  # change me: a part of the conversations
    mo.show_code(page.leak_table(audited, run_choice.value))
    return


@app.cell
def compare_judges(honesty, mo, page, talks):
    labels, judged, refusal = page.labels_of(talks, honesty.value)
    mo.show_code(page.agreement_view(labels, honesty, talks, refusal))
    return judged, labels


@app.cell
def list_disputes(judged, labels, mo, page):
    disputes = page.dispute_table(labels, judged)
    mo.accordion({"Disagreements to select and read": disputes})
    return (disputes,)


@app.cell
def read_dispute(disputes, judged, labels, page):
    page.dispute(labels, judged, disputes)
    return


@app.cell(hide_code=True)
def choose_style(get_check, humanity, page, tab):
    page.stop_unless("human", tab.value, get_check())
    style = humanity.value["manner"]
    humanity.elements["manner"]
    return (style,)


@app.cell
def compare_lengths(mo, page, run_choice, style):
    said = {f"miniature, {each}": page.users_typing(each) for each in ("paper", style)}
    said |= {"recorded": page.recorded_users(), "the run": page.said_in(page.of_run(run_choice.value))}
    mo.show_code(page.length_chart(said, run_choice.value))
    return (said,)


@app.cell
def compare_features(humanity, mo, page, said, style):
    features = page.distance_table(said, humanity.value["people"])
    mo.vstack([mo.md("## Features of the messages"), humanity.elements["people"], features, page.sample(said, style)])
    return


@app.cell(hide_code=True)
def choose_depth(get_check, harm, mo, page, tab):
    page.stop_unless("harmless", tab.value, get_check())
    depth = harm.value["depth"]
    mo.hstack(list(harm.elements.values()), justify="start", gap=2, wrap=True)
    return (depth,)


@app.cell
def count_offers(depth, harm, mo, page, run_choice, safety_of):
    scripted = harm.value["whose"] == "scripted assistants"
    talking = page.scripted_conversations() if scripted else page.of_run(run_choice.value)
    mo.show_code(page.offers_chart(safety_of(talking, depth), None if scripted else run_choice.value))
    return (talking,)


@app.cell
def list_offers(depth, page, talking):
    offers = page.offer_table(talking, depth)
    offers
    return (offers,)


@app.cell
def read_offer(offers, page, talking):
    page.offer(talking, offers)
    return


@app.cell(hide_code=True)
def begin_check(set_check, tab):
    set_check(tab.value)  # after every other check is cleared
    return


@app.cell(hide_code=True)
def import_names():
    import marimo as mo

    from discover_lib.tasks.certify import certify
    from discover_lib.tasks.leaks import audit
    from discover_lib.tasks.safety import safety_of
    from workbench.controls import page_has_sheet
    from workbench.pages import trust_page as page
    from workbench.panel import TaskPanel

    page_has_sheet()
    return TaskPanel, audit, certify, mo, page, safety_of


if __name__ == "__main__":
    app.run()
