# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "Intents"
# description = "From a finished artifact to its tree of intents. Use our artifacts or 1 to 20 files of your own."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Intents", css_file="../workbench/views/static/workbench.css")


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # How does an artifact become a tree of intents?

    A builder reads an artifact and makes each requirement broader. A number links an intent to its place. Point at it.
    """)
    return


@app.cell
def choose_files(mo):
    _how = {"on_change": lambda files: files or mo.query_params().set("own", "")}  # cleared files do not come back
    file_drop = mo.ui.file(kind="area", multiple=True, label="Your own artifacts: 1 to 20 texts or SVG files", **_how)
    pasted = mo.ui.text_area(placeholder="Or paste a text or an SVG", rows=4, full_width=True, debounce=500)
    mo.hstack([file_drop, pasted], widths="equal", align="center", wrap=True)
    return file_drop, pasted


@app.cell
def read_files(file_drop, mo, page, pasted):
    readings = page.uploaded(file_drop.value, pasted.value, mo.query_params())  # the last ones come back
    changed, set_changed = mo.state(0)
    own = page.OwnArtifacts(readings, lambda: set_changed(lambda count: count + 1))
    refusals = [each for each in map(page.refusal, file_drop.value) if each]
    mo.callout(" ".join(refusals), kind="warn") if refusals else None
    return changed, own


@app.cell
def choose_assistants(mo, own, page):
    mo.stop(not own.trees)
    names = mo.ui.multiselect(page.ASSISTANTS, value=page.ASSISTANTS, label="Assistants")
    run_button = mo.ui.run_button(label=f"▶ Run {page.counted(len(own.trees), 'artifact')}", kind="success")
    bar = [run_button, names, page.told_of(page.ASSISTANTS), mo.md("[Remove these artifacts](/?file=2_intents.py)")]
    mo.hstack(bar, justify="start", align="center", gap=1.5, wrap=True)
    return names, run_button


@app.cell
def run_own(changed, mo, names, own, page, run_button):
    (changed(), mo.stop(not (run_button.value or page.earlier_run(own.trees))))  # another reading has another run
    trees, refused = page.playable(own.trees)
    warnings = [mo.callout(each, kind="warn") for each in (refused if names.value else ["Choose an assistant."])]
    mo.stop(not trees or not names.value, page.controls.brought_into_view(mo.vstack(warnings)))
    folder = page.run_own(trees, names.value) if run_button.value else page.earlier_run(trees)  # in outputs/
    mo.vstack([*warnings, page.results(folder, own.doubts)])
    return


@app.cell
def show_own(changed, own):
    changed()
    own.view() if own.trees else None
    return


@app.cell(hide_code=True)
def choose_kind(mo, own, page):
    domain_choice, source_choice = page.kind_menus()
    example = mo.ui.switch(not own.trees, label="Show our artifacts")
    example if own.trees else None
    return domain_choice, example, source_choice


@app.cell
def choose_artifact(domain_choice, example, mo, page, source_choice):
    mo.stop(not example.value)
    domain, source = domain_choice.value, source_choice.value
    piece_choice = page.artifact_menu(domain, source)
    mo.hstack([domain_choice, source_choice, piece_choice], justify="start", gap=1.5, wrap=True)
    return domain, piece_choice, source


@app.cell
def build(domain, engine, mo, page, piece_choice, source):
    artifact = page.artifact_of(domain, source, piece_choice.value)
    mo.stop(artifact is None, mo.md("There is no such artifact here. Choose another kind or source."))
    reader = engine(domain).builder  # reads shapes and words, without a language model
    built = page.recorded_stages(piece_choice.value) if source == "recorded" else reader.build(artifact)
    get_tree, set_tree = mo.state(built.tree)  # the tree with your edits
    return artifact, built, get_tree, set_tree


@app.cell
def draw_map(artifact, built, domain, intent_map, mo, page, set_tree):
    drawn = intent_map(built.tree, edit=True, numbers=page.numbers_of(built.tree, built.recognised))
    drawn.on_edit, drawn.doubt = set_tree, page.doubt_about(domain)
    map_view = mo.ui.anywidget(drawn.widget)  # map_view.value["value"] lists the selected intents
    page.beside(artifact, built, map_view)
    return (drawn,)


@app.cell(hide_code=True)
def make_files(artifact, drawn, page):
    said, tree_files = page.files_of(drawn, artifact.id)
    return said, tree_files


@app.cell(hide_code=True)
def choose_builder(artifact, mo, page):
    stage_count, set_stage_count = mo.state(0)
    builder_form = page.controls.chooser(("builder",), submit="Use this builder")
    model = page.ModelBuild(artifact, builder_form, lambda: set_stage_count(lambda count: count + 1))
    return builder_form, model, stage_count


@app.cell(hide_code=True)
def show_builder(builder_form, built, mo, model, page, said, stage_count):
    (builder_form.value, stage_count())
    mo.vstack([mo.md(said()), mo.accordion(page.stages(built) | model.view())])
    return


@app.cell
def draw_graph(get_tree, mo, tree_files):
    tree = get_tree()
    graph = tree.graph()  # a networkx.DiGraph: states are attributes; IntentTree.from_graph(graph) reads it back
    figure = mo.lazy(lambda: mo.ui.anywidget(tree.figure(live=True)))
    mo.show_code(mo.accordion({f"{len(graph)} intents as files and as a figure": mo.vstack([tree_files, figure])}))
    return


@app.cell(hide_code=True)
def imports():
    import marimo as mo

    from discover_lib.engines.miniature import engine
    from workbench.map import intent_map
    from workbench.pages import intents_page as page

    page.controls.page_has_sheet()
    return engine, intent_map, mo, page


if __name__ == "__main__":
    app.run()
