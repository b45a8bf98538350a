# /// script
# requires-python = ">=3.11"
# dependencies = ["discover-lib", "marimo>=0.25"]
#
# [tool.marimo.opengraph]
# title = "20 · Step a simulated user"
# description = "Watch intents form as an assistant replies, turn by turn; reply yourself, go back, branch."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="full", app_title="20 · Step a simulated user", css_file="../workbench/views/static/workbench.css"
)

with app.setup(hide_code=True):
    import asyncio

    import marimo as mo

    from discover_lib import UserSimulator
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.assistants import scripted_assistant
    from discover_lib.runs.doctor import check_connection
    from workbench import controls, simulator_page
    from workbench.carried import kept
    from workbench.controls import placed
    from workbench.map import IntentMap, MapMoment
    from workbench.stage import StagePlayer
    from workbench.views import conversation_parts as show
    from workbench.views.figures.charts import discovery_curves
    from workbench.views.html import EMPTY, quiet, static_text, tag
    from workbench.views.navigation import footer

    controls.page_has_sheet()


@app.cell(hide_code=True)
def introduce():
    mo.Html(f"<style>{static_text('simulator.css')}</style>{simulator_page.introduction()}")
    return


@app.cell(hide_code=True)
def open_sitting():
    session, trouble = simulator_page.opened(mo.query_params().get("session"))
    mo.stop(session is None, mo.Html(show.styled(show.error_line(trouble))))
    mo.query_params().set("session", session.id)
    return session, trouble


@app.cell(hide_code=True)
def count_changes():
    # Counters that cells follow: every change of the conversation, every new conversation (a new tree).
    changes, set_changes = mo.state(0)
    restarts, set_restarts = mo.state(0)
    return changes, restarts, set_changes, set_restarts


@app.cell(hide_code=True)
def set_the_stage(session, set_changes, set_restarts, trouble):
    canvas = {}  # the live map, once there is one

    def changed():
        # The map is repainted at once; the cells that follow take longer.
        shown = player.session
        if "map" in canvas and canvas["map"].tree == shown.tree:
            canvas["map"].show(moment_at(shown))
        set_changes(lambda count: count + 1)

    def took_place(fresh):
        mo.query_params().set("session", fresh.id)
        set_restarts(lambda count: count + 1)

    player = StagePlayer(session, trouble)
    player.on_change, player.on_session = changed, took_place
    stage_view = mo.ui.anywidget(player.widget)
    return canvas, player, stage_view


@app.cell(hide_code=True)
def show_stage(stage_view):
    # The style sheet beside it carries the page's colour scheme into the stage.
    mo.Html(show.styled(tag("div", placed(stage_view), class_="sim")))
    return


@app.function(hide_code=True)
def moment_at(session):
    """The turn at the cursor, as the map shows it."""
    moves = session.turn.candidate.transitions if session.turn else ()
    return MapMoment(session.state, moves, session.cursor, session.reasons)


@app.cell(hide_code=True)
def choose_view():
    view_choice = kept(mo.ui.radio, "view", ["map", "graph"], value="map", inline=True)
    hidden_choice = kept(mo.ui.checkbox, "all", value=False, label="show hidden intents")
    return hidden_choice, view_choice


@app.cell(hide_code=True)
def draw_map(canvas, hidden_choice, player, restarts):
    restarts()
    _shown = player.session
    drawn_map = IntentMap(
        _shown.tree, [moment_at(_shown)], rules=_shown.conversation.rules, fog=not hidden_choice.value
    )
    drawn_map.widget.observe(lambda change: change["new"] and player.pick(change["new"][-1]), "value")
    canvas["map"] = drawn_map
    map_view = mo.ui.anywidget(drawn_map.widget)
    return (map_view,)


@app.cell(hide_code=True)
def show_map(changes, hidden_choice, map_view, player, view_choice):
    changes()
    _shown = player.session
    # The plotly graph tells every text, so it waits until hidden intents may be seen.
    _asked = view_choice.value == "graph"
    _graph = _shown.tree.figure(_shown.state, live=True) if _asked and hidden_choice.value else None
    _told = quiet("Check “show hidden intents” to see the graph.") if _asked and _graph is None else EMPTY
    _side = tag("span", *map(placed, (hidden_choice, view_choice)), class_="sim-controls")
    _head = tag("div", tag("span", "Intent tree", class_="sim-heading"), _side, class_="sim-head")
    _body = show.scrolling(placed(mo.ui.anywidget(_graph))) if _graph is not None else placed(map_view)
    _tree = tag("div", _body, class_="sim-tree")
    mo.Html(show.styled(tag("div", tag("section", _head, _told, _tree), class_="sim-card")))
    return


@app.cell(hide_code=True)
def show_curve(changes, player):
    changes()
    _shown = player.session
    _curve = discovery_curves(_shown.lines(), _shown.cursor)
    mo.Html(show.styled(tag("div", show.panel("Discovery, turn by turn", _curve), class_="sim-curve")))
    return


@app.cell(hide_code=True)
def choose_players(player):
    before = simulator_page.players(player.session)
    players_form = controls.chooser(("judge", "voice", "assistant"), before)
    tested, set_tested = mo.state(EMPTY)
    return before, players_form, set_tested, tested


@app.cell(hide_code=True)
def read_players(before, players_form):
    try:
        players, mistake = before if players_form.value is None else controls.read_choice(players_form.value), ""
    except controls.ChoiceError as error:
        players, mistake = before, str(error)
    return mistake, players


@app.cell(hide_code=True)
def apply_players(player, players, players_form):
    if players_form.value is not None:
        player.cast(players)
    return


@app.cell(hide_code=True)
def test_connection(players, set_tested):
    async def test():
        roles = players.players(("judge", "voice", "assistant"))
        lines = await asyncio.to_thread(check_connection, roles, players.client_settings, players.options)
        set_tested(controls.connection_lines(lines))

    def start(_):
        set_tested(quiet("Asking every model that was chosen for one word …"))
        tests.add(task := asyncio.get_running_loop().create_task(test()))
        task.add_done_callback(tests.discard)

    tests = set()  # a task that nobody holds may be dropped
    test_button = mo.ui.button(label="Test the connection", on_click=start)
    return (test_button,)


@app.cell(hide_code=True)
def show_players(changes, mistake, player, players, players_form, test_button, tested):
    changes()

    _shown = player.session
    _mistake = mo.Html(show.styled(show.error_line(mistake) if mistake else EMPTY))
    _plan = mo.Html(show.styled(tested(), simulator_page.plan(_shown, players)))
    mo.accordion(
        {f"Who plays: {simulator_page.who_plays(_shown)}": mo.vstack([players_form, _mistake, test_button, _plan])}
    )
    return


@app.cell(hide_code=True)
def introduce_step():
    mo.md("""
    ## The same step in Python

    A `UserSimulator` holds one such user; `step` takes a reply, plain or from an assistant, and returns the turn. Here
    the user above meets *draft* instead, with the miniature as judge and voice.
    """)
    return


@app.cell(hide_code=True)
def choose_world(player, restarts):
    restarts()
    _shown = player.session
    _recorded = _shown.settings.source == "recorded"
    mo.stop(_recorded, mo.md("A recorded user is read by a language model alone: choose another source to step one."))
    domain = _shown.conversation.setting.get("domain") or _shown.settings.domain
    world, tree, seed = engine(domain), _shown.tree, _shown.settings.seed
    return domain, seed, tree, world


@app.cell
def step_in_python(domain, seed, tree, world):
    user = UserSimulator(tree, world.judge, world.voice, seed=seed)
    reply = user.ask(scripted_assistant("draft", domain))  # or: reply = "a fox"
    stepped = user.step(reply)
    mo.show_code()
    return stepped, user


@app.cell(hide_code=True)
def show_step(stepped, tree, user):
    mo.Html(show.styled(show.beside(show.chat(user.conversation), show.receipt(tree, stepped, user.rules))))
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("20_simulator.py")))
    return


if __name__ == "__main__":
    app.run()
