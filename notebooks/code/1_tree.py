# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "A tree by hand"
# description = "How is a tree of intents made and checked?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="A tree by hand", css_file="../../workbench/views/static/workbench.css")


@app.cell
def introduce(mo):
    mo.md("""
    # A tree of intents by hand

    An artifact satisfies requirements. Each requirement, made broader step by step, gives intents of its user
    (paper, 3.1).
    """)
    return


@app.cell
def write_tree(Intent, IntentTree, intent_map, mo):
    # A child is more specific than its parent; each root is an independent dimension. Change me: a text, a child.
    fox = Intent("1.1.1", "a fox with a party hat")
    subject = Intent("1", "an animal", (Intent("1.1", "a wild animal", (fox,)),))
    colors = Intent("2", "bright colors", (Intent("2.1", "warm colors", (Intent("2.1.1", "orange and yellow"),)),))
    tree = IntentTree("SVG drawing", "birthday card", "can you draw an animal for me?", ("1",), (subject, colors))
    mo.show_code(mo.ui.anywidget(intent_map(tree).widget))
    return (tree,)


@app.cell
def read_tree(mo, tree):
    # The request names the intents that start discovered, and no other. The forest is a networkx graph.
    graph = tree.graph()
    lines = [f"{key:7} {node['text']:24} {node['discovery']}" for key, node in graph.nodes.items()]
    mo.show_code(mo.plain_text("\n".join(lines)))
    return (graph,)


@app.cell
def edit_tree(IntentTree, graph, mo):
    # An edit is made on the graph and checked when it becomes a tree again. IDs follow the positions in the tree.
    edited = graph.copy()
    edited.add_node("new", text="one balloon", aspect="", given=False)
    edited.add_edge("1", "new")
    again = IntentTree.from_graph(edited)
    place = next(key for key in again.intents if again.text(key) == "one balloon")
    mo.show_code(mo.md(f"{len(again)} intents; the new one is **{place}**."))
    return


@app.cell
def break_rule(Intent, IntentTree, TreeError, mo):
    # A tree that breaks a rule is refused with the name of the intent.
    try:
        IntentTree("SVG drawing", "card", "hello", ("1.1",), (Intent("1", "an animal", (Intent("1.1", "a fox"),)),))
    except TreeError as error:
        refusal = str(error)
    mo.show_code(mo.callout(refusal))
    return


@app.cell
def read_artifact(generate_artifact, mo, svg_data_uri):
    # The miniature's builder recognizes values of its lexicon in an artifact (3.1, synthesis). Change me: the number.
    artifact = generate_artifact("svg_drawing", "eval", 5)
    mo.show_code(mo.image(svg_data_uri(artifact.text), alt="The drawing", width=260))
    return (artifact,)


@app.cell
def build_tree(artifact, engine, intent_map, mo):
    # It climbs the taxonomy of each value (3.1, abstraction), merges the chains (organization) and writes the request.
    built = engine("svg_drawing").builder.build(artifact)
    mo.show_code(mo.ui.anywidget(intent_map(built.tree).widget))
    return (built,)


@app.cell
def state_of_user(built, initial_state, mo):
    # A user starts with the request's intents discovered. Each intent has a threshold, uniform on [0, 1) (3.2).
    state = initial_state(built.tree, seed=0)
    text, theta = built.tree.text, state.thresholds
    shown = [
        {"intent": text(key), "state": state[key].name.lower(), "θ": round(theta[key], 2)} for key in built.tree.intents
    ]
    mo.show_code(mo.ui.table(shown, selection=None, show_column_summaries=False, page_size=5))
    return


@app.cell
def import_names():
    import marimo as mo

    from discover_lib import Intent, IntentTree, TreeError, initial_state
    from discover_lib.base.svg import svg_data_uri
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import generate_artifact
    from workbench.map import intent_map

    return Intent, IntentTree, TreeError, engine, generate_artifact, initial_state, intent_map, mo, svg_data_uri


if __name__ == "__main__":
    app.run()
