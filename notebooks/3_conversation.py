# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "Conversation"
# description = "Step a simulated user turn by turn, and see which intents each reply discovers."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Conversation", css_file="../workbench/views/static/workbench.css")


@app.cell(hide_code=True)
def introduce(mo):
    mo.md("""
    # What does each reply discover?
    Each box under *What the user wants* is one *intent*. *Next* plays a turn: a good reply helps the user discover one.
    """)
    return


@app.cell
def open_session(mo, page):
    session, trouble = page.opened(mo.query_params().to_dict())
    mo.stop(session is None, mo.callout(trouble, kind="danger"))
    changes, set_changes = mo.state(0)  # every step
    restarts, set_restarts = mo.state(0)  # every new conversation
    return changes, restarts, session, set_changes, set_restarts, trouble


@app.cell
def draw_stage(mo, page, session, stage):
    # Change me: stage(Session(Settings(domain="creative_writing", artifact="creative_writing-eval-003")))
    player = stage(session)
    stage_view = mo.ui.anywidget(player.widget)
    mo.show_code(page.framed(stage_view))
    return (player,)


@app.cell
def follow_stage(mo, page, player, set_changes, set_restarts, trouble):
    page.follow(player, trouble, mo.query_params(), set_changes, set_restarts)
    return


@app.cell(hide_code=True)
def make_controls(carried, mo, page):
    view = carried.kept(mo.ui.radio, "view", ["boxes", "graph"], value="boxes", label="Draw intents as", inline=True)
    rules_choice, run_choice = carried.rules_menu("Rules"), page.run_menu()
    view
    return rules_choice, run_choice, view


@app.cell
def draw_graph(changes, mo, page, player, view):
    changes()
    mo.stop(view.value == "boxes")  # the boxes are on the stage; the graph loads plotly
    figure = page.tree_figure(player)  # tree.figure(state), drawn from the networkx graph tree.graph(state)
    mo.show_code(mo.ui.anywidget(figure))
    return


@app.cell
def set_rules(carried, player, restarts, rules_choice):
    restarts()
    base = carried.base_rules(rules_choice.value, player.session.conversation.rules)
    p, tau, lam = carried.rule_sliders(base)
    return base, lam, p, tau


@app.cell
def score_again(base, carried, changes, lam, mo, p, page, player, replay, tau):
    changes()
    rules = carried.rules_set(base, p.value, tau.value, lam.value)  # or Rules.paper()
    now = replay(player.session.conversation, rules)  # the stored judgments: no model is called again
    rescored = mo.show_code(page.rewards(player.session, now))
    return rescored, rules


@app.cell(hide_code=True)
def show_rewards(lam, mo, p, rescored, rules_choice, tau):
    _sliders = mo.hstack([rules_choice, p, tau, lam], justify="start", wrap=True)
    mo.accordion({"Try other rules on this turn": mo.vstack([_sliders, rescored])})
    return


@app.cell(hide_code=True)
def choose_players(controls, page, player):
    players_form = controls.chooser(page.ROLES, page.players(player.session))
    return (players_form,)


@app.cell
def list_conversations(mo, page, player, run_choice):
    run_table = page.run_table(player, run_choice)
    listed = {"Open a saved conversation": mo.vstack([run_choice, run_table])}
    return (listed,)


@app.cell(hide_code=True)
def show_players(changes, listed, mo, page, player, players_form):
    changes()
    mo.accordion(listed | page.roles(player, players_form))
    return


@app.cell
def choose_world(engine, mo, page, player, restarts):
    restarts()
    domain = page.domain_of(player.session)
    mo.stop(domain is None, mo.md("Choose a user of the miniature to see the same step in Python."))
    world, tree, seed = engine(domain), player.session.tree, player.session.settings.seed
    return domain, seed, tree, world


@app.cell
def step_in_python(IntentMap, UserSimulator, domain, mo, moments_of, page, scripted_assistant, seed, tree, world):
    user = UserSimulator(tree, world.judge, world.voice, seed=seed)
    reply = user.ask(scripted_assistant("draft", domain))  # or: reply = "a fox"
    user.step(reply)
    drawn = IntentMap(tree, moments_of(user.conversation), rules=user.rules)
    stepped = mo.show_code(mo.vstack([page.stepped(user), mo.ui.anywidget(drawn.widget)]))
    return (stepped,)


@app.cell(hide_code=True)
def show_step(mo, stepped):
    mo.accordion({"One step in Python, with every intent shown": stepped})
    return


@app.cell(hide_code=True)
def imports():
    import marimo as mo

    from discover_lib import UserSimulator, replay
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.assistants import scripted_assistant
    from workbench import carried, controls
    from workbench.map import IntentMap, moments_of
    from workbench.pages import conversation_page as page
    from workbench.stage import stage

    controls.page_has_sheet()
    return IntentMap, UserSimulator, carried, controls, engine, mo, moments_of, page, replay, scripted_assistant, stage


if __name__ == "__main__":
    app.run()
