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
app = marimo.App(width="full", app_title="20 · Step a simulated user")

with app.setup(hide_code=True):
    import asyncio

    import marimo as mo

    from discover_lib import UserSimulator
    from discover_lib.app import controls as cast
    from discover_lib.app import session as sessions
    from discover_lib.app import simulator_page, sources
    from discover_lib.app.controls import placed
    from discover_lib.app.live import Errand
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.assistants import scripted_assistant
    from discover_lib.metrics.rescore import NAMED_RULES
    from discover_lib.runs.doctor import check_connection
    from discover_lib.views import conversation as show
    from discover_lib.views import simulator
    from discover_lib.views.figures import tree as viz
    from discover_lib.views.figures.charts import discovery_curves
    from discover_lib.views.html import EMPTY, joined, quiet, static_text, tag


@app.cell(hide_code=True)
def introduce():
    mo.Html("""
    <h1 style="font-size: 26px; font-weight: 650; margin: 0 0 6px">20 · Step a simulated user</h1>
    <p style="margin: 0; max-width: 112ch"><b>How do a user’s intents form while an assistant replies?</b> This user
    starts out knowing little of what they want. Press <i>Next</i>: a reply that shows or asks about something they
    want without knowing it moves that intent from ○ hidden over ◆ emerging to ● discovered. The reward is what was
    newly discovered, less a charge for length. Answer in the assistant’s place, go back, branch. It needs nothing: no
    key, no network, no GPU. Language models can play any role, if you choose them.</p>
    """)
    return


@app.cell(hide_code=True)
def open_sitting():
    session, trouble = simulator_page.opened(mo.query_params().get("session"))
    mo.stop(session is None, mo.Html(show.styled(show.error_line(trouble))))
    mo.query_params().set("session", session.id)
    return session, trouble


@app.cell(hide_code=True)
def count_changes(trouble):
    # Counters that cells follow: every change of the session, every new conversation (a new tree), every reply sent.
    changes, set_changes = mo.state(0)
    restarts, set_restarts = mo.state(0)
    sends, set_sends = mo.state(0)
    note, set_note = mo.state(trouble)
    picked, set_picked = mo.state(None)
    return changes, note, picked, restarts, sends, set_changes, set_note, set_picked, set_restarts, set_sends


@app.cell(hide_code=True)
def act_on_session(session, set_changes, set_note):
    canvas = {}  # the live tree, once there is one
    growing = cast.growing_text()  # a reply while a language model writes it
    growing_view = mo.ui.anywidget(growing)

    def changed():
        # The tree goes first: it is what people look at, and the cells that follow take longer.
        if "figure" in canvas and canvas["figure"].tree == session.tree:
            show_moment(canvas["figure"], session)
        set_changes(lambda count: count + 1)

    def attempt(action, *arguments, then=None):
        """Do something to the session and show it; what cannot be done becomes one line on the page."""
        try:
            action(*arguments)
            set_note("")
            if then:
                then()
        except sources.SessionError as error:
            set_note(str(error))
        changed()

    def ended(said):
        growing.text = ""
        set_note(said)
        changed()
        if said:
            player.stop()

    errand = Errand(changed, lambda text: setattr(growing, "text", text), ended)

    def step_and_show():
        if simulator_page.asks_a_model(session, session.next) and session.why_no_next is None:
            return errand.run(session.next, stream=True)
        session.next()
        changed()

    player = sessions.AutoPlay(step_and_show, lambda reason: changed())

    def halt():
        """End auto-play, and the call that is under way, at once."""
        player.stop()
        session.cancel()

    def by_hand(action, *arguments, then=None):
        """What a person does stops what is going on by itself."""
        halt()
        if simulator_page.asks_a_model(session, action):
            set_note("")
            errand.start(action, *arguments, stream=action == session.next, then=then)
        else:
            attempt(action, *arguments, then=then)

    return attempt, by_hand, canvas, errand, growing_view, halt, player


@app.cell(hide_code=True)
def choose_setting(session):
    _used = session.settings
    _labels, _label = simulator_page.sources(session)
    _seeds = {str(seed): seed for seed in sorted({*range(30), _used.seed})}
    source_choice = mo.ui.dropdown(_labels, value=_label, label="Source")
    rules_choice = mo.ui.dropdown(list(NAMED_RULES), value=_used.rules, label="Rules")
    seed_choice = mo.ui.dropdown(_seeds, value=str(_used.seed), label="Seed")
    layout_choice = mo.ui.radio(["outline", "layered"], value="outline", inline=True)
    return layout_choice, rules_choice, seed_choice, source_choice


@app.cell(hide_code=True)
def choose_domain(session, source_choice):
    domain_labels, domain_label = simulator_page.domains(session, source_choice.value)
    domain_choice = mo.ui.dropdown(domain_labels, value=domain_label, label="Domain")
    return (domain_choice,)


@app.cell(hide_code=True)
def choose_players(session):
    before = simulator_page.players(session)
    players_form = cast.chooser(("judge", "voice", "assistant"), before)
    tested, set_tested = mo.state(EMPTY)
    return before, players_form, set_tested, tested


@app.cell(hide_code=True)
def read_players(before, players_form):
    try:
        players, mistake = before if players_form.value is None else cast.read_choice(players_form.value), ""
    except cast.ChoiceError as error:
        players, mistake = before, str(error)
    return mistake, players


@app.cell(hide_code=True)
def test_connection(players, set_tested):
    async def test():
        roles = players.players(("judge", "voice", "assistant"))
        lines = await asyncio.to_thread(check_connection, roles, players.client_settings)
        set_tested(cast.connection_lines(lines))

    def start(_):
        set_tested(quiet("Asking every model that was chosen for one word …"))
        tests.add(task := asyncio.get_running_loop().create_task(test()))
        task.add_done_callback(tests.discard)

    tests = set()  # a task that nobody holds may be dropped
    test_button = mo.ui.button(label="Test the connection", on_click=start)
    return (test_button,)


@app.cell(hide_code=True)
def show_players(changes, mistake, players, players_form, session, test_button, tested):
    changes()

    _mistake = mo.Html(show.styled(show.error_line(mistake) if mistake else EMPTY))
    _plan = mo.Html(show.styled(tested(), simulator_page.plan(session, players)))
    mo.accordion(
        {f"Who plays: {simulator_page.who_plays(session)}": mo.vstack([players_form, _mistake, test_button, _plan])}
    )
    return


@app.cell(hide_code=True)
def choose_artifact(domain_choice, players, session, source_choice):
    live = source_choice.value != "recorded"
    artifact_labels, artifact_label = simulator_page.artifacts(session, source_choice.value, domain_choice.value)
    artifact_choice = mo.ui.dropdown(artifact_labels, value=artifact_label, label="Artifact")
    names, name = simulator_page.assistants(session, players.assistant, live)
    assistant_choice = mo.ui.dropdown(names, value=name, label="Assistant")
    return artifact_choice, assistant_choice, live


@app.cell(hide_code=True)
def apply_setting(
    artifact_choice,
    assistant_choice,
    attempt,
    domain_choice,
    halt,
    live,
    players,
    rules_choice,
    seed_choice,
    session,
    set_picked,
    set_restarts,
    source_choice,
):
    def apply_settings():
        """Follow the menus: another assistant goes on from here, anything else starts a new conversation."""
        used = session.settings
        wanted = sources.Settings(
            source=source_choice.value,
            domain=domain_choice.value,
            artifact=artifact_choice.value,
            assistant=assistant_choice.value if live else used.assistant,
            rules=rules_choice.value,
            seed=seed_choice.value,
            turns=used.turns,
            judge=players.judge,
            voice=players.voice,
            api_base=players.api_base,
            key_variable=players.key_variable,
            options=players.options.to_dict(),
        )
        if wanted == used:
            return
        halt()
        if wanted.same_start(used):
            attempt(session.let_play, wanted)
        else:
            set_picked(None)
            attempt(session.configure, wanted)
            set_restarts(lambda count: count + 1)

    apply_settings()
    return


@app.cell(hide_code=True)
def move_about(by_hand, halt, player, session, set_changes, set_note, set_restarts):
    def restart(_):
        by_hand(session.reset)
        set_restarts(lambda count: count + 1)

    def play(_):
        set_note("")
        player.start()
        set_changes(lambda count: count + 1)

    def stop(_):
        halt()
        set_changes(lambda count: count + 1)

    reset_button = mo.ui.button(label="↺ Reset", on_click=restart)
    back_button = mo.ui.button(label="◀ Back", on_click=lambda _: by_hand(session.jump, max(0, session.cursor - 1)))
    next_button = mo.ui.button(label="Next ▶", kind="success", on_click=lambda _: by_hand(session.next))
    play_button = mo.ui.button(label="Auto-play", on_click=play)
    stop_button = mo.ui.button(label="■ Stop", on_click=stop)
    fork_button = mo.ui.button(label="Branch here", on_click=lambda _: by_hand(session.fork))
    return back_button, fork_button, next_button, play_button, reset_button, stop_button


@app.cell(hide_code=True)
def choose_place(by_hand, changes, session):
    changes()
    known_turns = len(session.conversation.turns)
    turn_slider = mo.ui.slider(
        0,
        max(1, known_turns),
        1,
        value=session.cursor,
        disabled=known_turns == 0,
        on_change=lambda turn: by_hand(session.jump, turn),
    )
    branch_labels = {session.label(number): number for number in range(len(session.branches))}
    branch_choice = mo.ui.dropdown(
        branch_labels,
        value=simulator_page.label_of(branch_labels, session.current),
        on_change=lambda number: by_hand(session.switch, number),
    )
    return branch_choice, turn_slider


@app.cell(hide_code=True)
def take_reply(live, sends):
    sends()  # a reply that was sent leaves an empty box
    typed = {"text": ""}
    invitation = "Answer in the assistant’s place: plain words, an SVG, or the assistants’ notation"
    reply_box = mo.ui.text_area(
        placeholder=invitation
        if live
        else "A recording goes on as it was recorded; choose another source to reply yourself",
        rows=2,
        full_width=True,
        disabled=not live,
        on_change=lambda text: typed.update(text=text),
    )
    return reply_box, typed


@app.cell(hide_code=True)
def send_reply(by_hand, live, session, set_sends, typed):
    # The text comes from `typed`, not from the box itself: a button that followed the box would be made anew by the
    # very click that leaves the box.
    def send(_):
        by_hand(session.reply, typed["text"], then=lambda: set_sends(lambda count: count + 1))

    send_button = mo.ui.button(label="Send as the assistant", on_click=send, disabled=not live)
    consider_button = mo.ui.button(
        label="What would each reply discover?",
        on_click=lambda _: by_hand(session.candidates, simulator_page.compared(session)),
    )
    return consider_button, send_button


@app.cell(hide_code=True)
def take_candidate(by_hand, changes, session):
    changes()

    def taker(candidate):
        name = candidate.reply.assistant or "this reply"
        return mo.ui.button(label=f"Take {name}", on_click=lambda _: by_hand(session.take, candidate))

    take_buttons = mo.ui.array([taker(candidate) for candidate in session.considered])
    return (take_buttons,)


@app.function(hide_code=True)
def show_moment(figure, session):
    """Paint the turn at the cursor."""
    moves = session.turn.candidate.transitions if session.turn else ()
    figure.update(session.state, moves, reasons=session.reasons, selected=figure.selected)


@app.cell(hide_code=True)
def draw_tree(canvas, layout_choice, restarts, session, set_picked):
    restarts()
    theme = mo.app_meta().theme or "light"
    figure = viz.IntentFigure(
        session.tree, session.state, rules=session.conversation.rules, layout=layout_choice.value, theme=theme
    )
    figure.on_select(set_picked)
    show_moment(figure, session)
    canvas["figure"] = figure
    tree_view = mo.ui.anywidget(figure.widget)
    return figure, tree_view


@app.cell(hide_code=True)
def repaint(changes, figure, picked, session):
    changes()
    figure.select(picked())
    show_moment(figure, session)
    return


@app.cell(hide_code=True)
def tell_intent(changes, picked, session):
    changes()

    selection_html = simulator_page.intent_story(session, picked())
    return (selection_html,)


@app.cell(hide_code=True)
def compare_replies(changes, session, take_buttons):
    changes()

    considered_html = simulator_page.considered(session, take_buttons)
    return (considered_html,)


@app.cell(hide_code=True)
def tell_status(changes, errand, note, player, session):
    changes()

    status_html = simulator_page.status(session, playing=player.running, asking=errand.running)
    message_html = simulator_page.message(session, note())
    return message_html, status_html


@app.cell(hide_code=True)
def show_page(
    artifact_choice,
    assistant_choice,
    back_button,
    branch_choice,
    changes,
    consider_button,
    considered_html,
    domain_choice,
    fork_button,
    growing_view,
    layout_choice,
    message_html,
    next_button,
    play_button,
    reply_box,
    reset_button,
    rules_choice,
    seed_choice,
    selection_html,
    send_button,
    session,
    source_choice,
    status_html,
    stop_button,
    tree_view,
    turn_slider,
):
    changes()

    def controls():
        setting = (source_choice, domain_choice, artifact_choice, assistant_choice, rules_choice, seed_choice)
        moving = (reset_button, back_button, next_button, play_button, stop_button)
        slider = tag("span", placed(turn_slider), class_="sim-slider")
        status = tag("span", status_html, class_="sim-status", role="status")
        return (
            simulator.row(*map(placed, setting)),
            simulator.row(*map(placed, moving), slider, placed(fork_button), placed(branch_choice), status),
            tag("div", message_html, class_="sim-note"),
        )

    def main_row():
        tree_body = (
            show.state_legend("tree"),
            tag("div", placed(tree_view), class_="sim-tree"),
            tag("div", selection_html, class_="sim-picked"),
        )
        own = (placed(reply_box), simulator.row(placed(send_button), placed(consider_button)))
        chat_body = (
            tag("div", tag("div", show.chat(session.conversation, session.cursor)), class_="sim-chat"),
            placed(growing_view),
            tag("div", *own, class_="sim-own"),
        )
        trees = simulator.card("What the user wants, and knows", *tree_body, aside=tag("span", placed(layout_choice)))
        return tag("div", trees, simulator.card("Conversation", *chat_body), class_="sim-main")

    _details = simulator_page.details(session, discovery_curves(session.lines(), session.cursor))
    # Parts that come and go have a place of their own: elements that shift would be made anew, the live tree with them.
    _page = joined([*controls(), main_row(), tag("div", considered_html), _details])
    _page = tag("div", _page, class_="sim", data_turn=session.cursor)
    mo.Html(f"<style>{static_text('simulator.css')}</style>{show.styled(_page)}")
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
def choose_world(restarts, session):
    restarts()
    _recorded = session.settings.source == "recorded"
    mo.stop(_recorded, mo.md("A recorded user is read by a language model alone: choose another source to step one."))
    domain = session.conversation.setting.get("domain") or session.settings.domain
    world, tree, seed = engine(domain), session.tree, session.settings.seed
    return domain, seed, tree, world


@app.cell
def step_in_python(domain, seed, tree, world):
    user = UserSimulator(tree, world.judge, world.voice, seed=seed)
    reply = scripted_assistant("draft", domain).reply(user.messages, seed)  # or your own: reply = "a fox in two greens"
    stepped = user.step(reply)
    mo.show_code()
    return stepped, user


@app.cell(hide_code=True)
def show_step(stepped, tree, user):
    mo.Html(show.styled(show.beside(show.chat(user.conversation), show.receipt(tree, stepped, user.rules))))
    return


if __name__ == "__main__":
    app.run()
