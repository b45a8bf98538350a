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

    The simulated user should be **honest**, **human** and **harmless**.
    """)
    return


@app.cell(hide_code=True)
def open_page(TaskPanel, certify, mo, page):
    run_choice, tab = page.run_menu(), page.tab_menu()
    honesty, humanity, harm = page.honest_controls(), page.human_controls(), page.harmless_controls()
    certifying = TaskPanel(certify, given=["run"], begin="Validate this user")
    get_told = certifying.get_told
    mo.hstack([run_choice, tab], justify="start", align="end", gap=2, wrap=True)
    return certifying, get_told, harm, honesty, humanity, run_choice, tab


@app.cell
def validate_user(certifying, get_told, mo, page, run_choice, tab):
    mo.stop(tab.value != "honest")
    title = mo.md("## Does the user rank assistants correctly?")
    mo.vstack([title, page.validation(certifying, get_told(), run_choice.value)])
    return


@app.cell
def read_run(mo, page, run_choice, tab):
    mo.stop(tab.value != "honest")
    talks = page.read_conversations(run_choice.value)
    mo.md("## Does the user reveal undiscovered intents?")
    return (talks,)


@app.cell
def check_leaks(audit, mo, page, talks):
    audited = audit(talks)  # change me: a part of the conversations
    mo.show_code(page.leak_table(audited))
    return


@app.cell
def compare_judges(honesty, mo, page, talks):
    labels, judged, refusal = page.labels_of(talks, honesty.value)
    agreement = page.agreement_view(labels, honesty, talks, refusal)
    mo.show_code(mo.vstack([mo.md("## Do judges agree?"), agreement]))
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
def choose_style(humanity, mo, tab):
    mo.stop(tab.value != "human")
    style = humanity.value["manner"]
    humanity.elements["manner"]
    return (style,)


@app.cell
def compare_lengths(mo, page, run_choice, style):
    said = {f"miniature, {each}": page.users_typing(each) for each in ("paper", style)}
    said |= {"recorded": page.recorded_users(), "the run": page.said_in(page.of_run(run_choice.value))}
    mo.show_code(page.length_chart(said))
    return (said,)


@app.cell
def compare_features(humanity, mo, page, said, style):
    features = page.distance_table(said, humanity.value["people"])
    spoken = page.sample(said[f"miniature, {style}"], style)
    mo.vstack([mo.md("## Features of the messages"), humanity.elements["people"], features, spoken])
    return


@app.cell(hide_code=True)
def choose_depth(harm, mo, tab):
    mo.stop(tab.value != "harmless")
    depth = harm.value["depth"]
    mo.hstack(list(harm.elements.values()), justify="start", gap=2, wrap=True)
    return (depth,)


@app.cell
def count_offers(depth, harm, mo, page, run_choice, safety_of):
    scripted = harm.value["whose"] == "scripted assistants"
    talking = page.scripted_conversations() if scripted else page.of_run(run_choice.value)
    mo.show_code(page.offers_chart(safety_of(talking, depth)))
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
