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
    import html

    import marimo as mo

    from discover_lib.app import controls as cast
    from discover_lib.app import session as sitting
    from discover_lib.app.live import Errand
    from discover_lib.runs.doctor import check_connection
    from discover_lib.views import conversation as show
    from discover_lib.views.figures import tree as viz
    from discover_lib.views.figures.charts import discovery_curves
    from discover_lib.views.transitions import in_words


@app.cell(hide_code=True)
def _():
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
def _():
    def opened():
        """The session that the address names, or a new one, and a line to tell if something went wrong."""
        asked, trouble = mo.query_params().get("session"), ""
        try:
            if asked:
                return sitting.Session.load(asked), trouble
        except sitting.SessionError as error:
            trouble = str(error)
        artifact = next(iter(sitting.miniature_artifacts("svg_drawing").values()))
        try:
            return sitting.Session(sitting.Settings(artifact=artifact)), trouble
        except sitting.SessionError as error:
            return None, str(error)

    session, trouble = opened()
    mo.stop(session is None, mo.Html(show.styled(show.error_line(trouble))))
    mo.query_params().set("session", session.id)
    return session, trouble


@app.cell(hide_code=True)
def _(trouble):
    # Counters that cells follow: every change of the session, every new conversation (a new tree), every reply sent.
    changes, set_changes = mo.state(0)
    restarts, set_restarts = mo.state(0)
    sends, set_sends = mo.state(0)
    note, set_note = mo.state(trouble)
    picked, set_picked = mo.state(None)
    return (
        changes,
        note,
        picked,
        restarts,
        sends,
        set_changes,
        set_note,
        set_picked,
        set_restarts,
        set_sends,
    )


@app.cell(hide_code=True)
def _(session, set_changes, set_note):
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
        except sitting.SessionError as error:
            set_note(str(error))
        changed()

    def ended(said):
        growing.text = ""
        set_note(said)
        changed()
        if said:
            player.stop()

    errand = Errand(changed, lambda text: setattr(growing, "text", text), ended)

    def waits(action):
        """Whether a language model will be waited for."""
        steps = (session.next, session.reply, session.candidates, session.take, session.fork)
        known = action == session.next and not session.at_end
        return bool(session.settings.models) and action in steps and not known

    def step_and_show():
        if waits(session.next) and session.why_no_next is None:
            return errand.run(session.next, stream=True)
        session.next()
        changed()

    player = sitting.AutoPlay(step_and_show, lambda reason: changed())

    def halt():
        """End auto-play, and the call that is under way, at once."""
        player.stop()
        session.cancel()

    def by_hand(action, *arguments, then=None):
        """What a person does stops what is going on by itself."""
        halt()
        if waits(action):
            set_note("")
            errand.start(action, *arguments, stream=action == session.next, then=then)
        else:
            attempt(action, *arguments, then=then)

    return attempt, by_hand, canvas, errand, growing_view, halt, player


@app.cell(hide_code=True)
def _(session):
    was = session.settings
    sources = {"Miniature, simulated live": "miniature", "Recorded with a large model": "recorded"}
    if sitting.built_trees() or was.source == "trees":
        sources["Trees built here"] = "trees"
    source_choice = mo.ui.dropdown(sources, value=label_of(sources, was.source), label="Source")
    rules_choice = mo.ui.dropdown(list(sitting.RULES), value=was.rules, label="Rules")
    seeds = {str(seed): seed for seed in sorted({*range(30), was.seed})}
    seed_choice = mo.ui.dropdown(seeds, value=str(was.seed), label="Seed")
    layout_choice = mo.ui.radio(["outline", "layered"], value="outline", inline=True)
    return layout_choice, rules_choice, seed_choice, source_choice


@app.cell(hide_code=True)
def _(session, source_choice):
    def offered_domains():
        """Domains by label, those with a recording for the recorded source, and the label to begin with."""
        known = {each.domain for each in sitting.recorded_choices()} if source_choice.value == "recorded" else None
        labels = {label: name for label, name in cast.domain_labels().items() if known is None or name in known}
        used = session.settings.domain
        return labels, label_of(labels, used) if used in labels.values() else next(iter(labels))

    domain_labels, domain_label = offered_domains()
    domain_choice = mo.ui.dropdown(domain_labels, value=domain_label, label="Domain")
    return (domain_choice,)


@app.cell(hide_code=True)
def _(session):
    def playing():
        """Who plays in this sitting, as a choice."""
        used = session.settings
        scripted = used.assistant in sitting.assistant_names()
        return cast.Choice(
            judge=used.judge,
            voice=used.voice,
            assistant=None if scripted else used.assistant,
            api_base=used.api_base,
            key_variable=used.key_variable,
        )

    before = playing()
    players_form = cast.chooser(("judge", "voice", "assistant"), before)
    tested, set_tested = mo.state("")
    return before, players_form, set_tested, tested


@app.cell(hide_code=True)
def _(before, players_form):
    try:
        players, mistake = before if players_form.value is None else cast.read_choice(players_form.value), ""
    except cast.ChoiceError as error:
        players, mistake = before, str(error)
    return mistake, players


@app.cell(hide_code=True)
def _(players, set_tested):
    async def test():
        roles = players.players(("judge", "voice", "assistant"))
        lines = await asyncio.to_thread(check_connection, roles, players.client_settings)
        set_tested(cast.connection_lines(lines))

    def start(_):
        set_tested('<p class="dl-quiet">Asking every model that was chosen for one word …</p>')
        tests.add(task := asyncio.get_running_loop().create_task(test()))
        task.add_done_callback(tests.discard)

    tests = set()  # a task that nobody holds may be dropped
    test_button = mo.ui.button(label="Test the connection", on_click=start)
    return (test_button,)


@app.cell(hide_code=True)
def _(changes, mistake, players, players_form, session, test_button, tested):
    changes()

    def plan():
        """What a whole conversation will take, where a language model takes part."""
        if not session.settings.models:
            return '<p class="dl-quiet">No language model takes part: nothing is asked, nothing is spent.</p>'
        setting, used = session.conversation.setting, session.settings
        forecast = cast.conversation_plan(
            session.tree, setting.get("domain", ""), session.conversation.rules, used.turns, players, used.assistant
        )
        caption = f"A conversation of {used.turns} turns, before it begins; expected (low to high)"
        return cast.plan_table(forecast.stages, caption)

    def who():
        used = session.settings
        if used.source == "recorded":
            return "as recorded"
        user = f"judge and voice {used.judge}"
        if used.judge != used.voice:
            user = f"judge {used.judge}, voice {used.voice}"
        return f"{user}, assistant {used.assistant}"

    _told = show.error_line(mistake) if mistake else ""
    mo.accordion(
        {
            f"Who plays: {who()}": mo.vstack(
                [players_form, mo.Html(show.styled(_told)), test_button, mo.Html(show.styled(tested(), plan()))]
            )
        }
    )
    return


@app.function(hide_code=True)
def label_of(labels, name):
    """The label in a menu that stands for `name`."""
    return next(label for label, value in labels.items() if value == name)


@app.cell(hide_code=True)
def _(domain_choice, players, session, source_choice):
    def offered():
        """Artifacts of the source, by label, and the label to begin with."""
        if source_choice.value == "recorded":
            found = [each for each in sitting.recorded_choices() if each.domain == domain_choice.value]
            labels = {entry.title: entry.artifact_id for entry in found}
        elif source_choice.value == "trees":
            labels = {name.replace("_", " ").replace("-", " "): name for name in sitting.built_trees()}
        else:
            labels = sitting.miniature_artifacts(domain_choice.value)
        used = session.settings
        if (used.source, used.domain) != (source_choice.value, domain_choice.value):
            return labels, next(iter(labels))
        if used.artifact not in labels.values():
            labels[used.artifact] = used.artifact
        return labels, label_of(labels, used.artifact)

    artifact_labels, artifact_label = offered()
    artifact_choice = mo.ui.dropdown(artifact_labels, value=artifact_label, label="Artifact")
    live = source_choice.value != "recorded"

    def answering():
        """Who can answer, and who does: a model that was just chosen, else whoever did before."""
        names = [*sitting.assistant_names(), *([players.assistant] if players.assistant else [])]
        used = session.settings.assistant
        return names, players.assistant or (used if used in names else names[0])

    names, name = answering() if live else (["as recorded"], "as recorded")
    assistant_choice = mo.ui.dropdown(names, value=name, label="Assistant")
    return artifact_choice, assistant_choice, live


@app.cell(hide_code=True)
def _(
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
        wanted = sitting.Settings(
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
def _(by_hand, halt, player, session, set_changes, set_note, set_restarts):
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
    return (
        back_button,
        fork_button,
        next_button,
        play_button,
        reset_button,
        stop_button,
    )


@app.cell(hide_code=True)
def _(by_hand, changes, session):
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
        value=label_of(branch_labels, session.current),
        on_change=lambda number: by_hand(session.switch, number),
    )
    return branch_choice, turn_slider


@app.cell(hide_code=True)
def _(live, sends):
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
def _(by_hand, live, session, set_sends, typed):
    # The text comes from `typed`, not from the box itself: a button that followed the box would be made anew by the
    # very click that leaves the box.
    def send(_):
        by_hand(session.reply, typed["text"], then=lambda: set_sends(lambda count: count + 1))

    def others():
        """Whose replies to compare: with a judge that costs, only a few."""
        used = session.settings
        if used.judge == "miniature":
            return [
                *sitting.assistant_names(),
                *(() if used.assistant in sitting.assistant_names() else [used.assistant]),
            ]
        return list(dict.fromkeys([used.assistant, "draft", "ask", "options"]))

    send_button = mo.ui.button(label="Send as the assistant", on_click=send, disabled=not live)
    consider_button = mo.ui.button(
        label="What would each reply discover?",
        on_click=lambda _: by_hand(session.candidates, others()),
    )
    return consider_button, send_button


@app.cell(hide_code=True)
def _(by_hand, changes, session):
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
def _(canvas, layout_choice, restarts, session, set_picked):
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
def _(changes, figure, picked, session):
    changes()
    figure.select(picked())
    show_moment(figure, session)
    return


@app.cell(hide_code=True)
def _(changes, picked, session):
    changes()

    def told_so_far(intent_id):
        """What happened to one intent, turn by turn up to the one being looked at."""
        rows = []
        for turn in session.conversation.turns[: session.cursor]:
            evaluation = turn.candidate.evaluation
            verdict = evaluation.verdict(intent_id) if evaluation else None
            moves = [in_words(move) for move in turn.candidate.transitions if move.intent_id == intent_id]
            if verdict is None and not moves:
                continue
            reason = f' <span class="dl-quiet">{html.escape(verdict.reason)}</span>' if verdict else ""
            rows.append(f"<li><b>Turn {turn.index}</b> {'; '.join(moves) or 'judged, nothing changed'}.{reason}</li>")
        return "".join(rows) or '<li class="dl-quiet">The judge has not been asked about it yet.</li>'

    def selection(intent_id):
        if intent_id is None or intent_id not in session.tree.intents:
            return '<p class="dl-quiet dl-small">Click an intent to see what happened to it, turn by turn.</p>'
        text, state = html.escape(session.tree.text(intent_id)), session.state
        known = state[intent_id].name.lower() + (", satisfied" if intent_id in state.satisfied else "")
        about = f'<span class="dl-quiet">{known}; θ left {show.theta_text(state.thresholds.get(intent_id))}</span>'
        return f'<span class="dl-id">{intent_id}</span> <b>{text}</b> {about}<ul>{told_so_far(intent_id)}</ul>'

    selection_html = selection(picked())
    return (selection_html,)


@app.cell(hide_code=True)
def _(changes, session, take_buttons):
    changes()

    def considered():
        """The replies judged at this moment, side by side, each with the button that goes on with it."""
        if not session.considered:
            return ""
        rules = session.conversation.rules
        cards = "".join(
            f"<div>{show.candidates(session.tree, [candidate], rules)}{button}</div>"
            for candidate, button in zip(session.considered, take_buttons, strict=True)
        )
        lead = '<p class="dl-quiet">All are judged against the same state; nothing has changed yet.</p>'
        title = f"What each reply would discover as turn {session.cursor + 1}"
        return panel(title, f'{lead}<div class="sim-cards">{cards}</div>')

    considered_html = considered()
    return (considered_html,)


@app.cell(hide_code=True)
def _(changes, errand, note, player, session):
    changes()

    def status():
        turn, state, tree = session.turn, session.state, session.tree
        emerging = sum(level == 1 for level in state.discovery.values())
        parts = [f"<b>Turn {session.cursor}</b> of {max(session.settings.turns, len(session.conversation.turns))}"]
        if player.running:
            parts.append("playing")
        if errand.running:
            parts.append("asking a language model …")
        if turn and turn.candidate.reward:
            parts.append(f"reward <b>{show.signed(turn.candidate.reward.total)}</b>")
        parts.append(f"<b>{len(state.discovered)}</b> of {len(tree)} discovered")
        parts += [f"{emerging} emerging", f"{len(state.satisfied)} satisfied"]
        return " · ".join(parts)

    def rules_line():
        rules = session.conversation.rules
        about = f"{rules.name} rules: p = {rules.p:g}, τ = {rules.tau:g} {rules.token_unit}, λ = {rules.lam:g}"
        if session.settings.source == "recorded":
            return f"{about}. {session.conversation.setting.get('note', '')}."
        if session.settings.models:
            used, spent = session.settings, session.calls.line
            who = f"judge: {used.judge}, voice: {used.voice}, assistant: {used.assistant}"
            return f"{about}; seed {used.seed}. {who}. {spent}{'.' if spent else ''}"
        world = "Miniature: a small world of its own, no language model; every number is computed"
        return f"{about}; seed {session.settings.seed}. {world}."

    def message():
        line = note() or session.why_no_next
        if not line:
            return ""
        line = f"{line[0].upper()}{line[1:]}."
        return show.error_line(line) if note() else f'<p class="dl-quiet">{html.escape(line)}</p>'

    status_html, rules_html, message_html = status(), html.escape(rules_line()), message()
    return message_html, rules_html, status_html


@app.function(hide_code=True)
def panel(title, body, aside=""):
    """A card of the page.  Its title is no heading element: marimo would list it in a floating table of contents."""
    head = f'<div class="sim-head"><span role="heading" aria-level="2">{title}</span>{aside}</div>'
    return f'<section class="sim-card">{head}{body}</section>'


@app.cell(hide_code=True)
def _(
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
    rules_html,
    seed_choice,
    selection_html,
    send_button,
    session,
    source_choice,
    status_html,
    stop_button,
    style,
    tree_view,
    turn_slider,
):
    changes()

    def controls():
        return (
            f'<div class="sim-row">{source_choice}{domain_choice}{artifact_choice}{assistant_choice}{rules_choice}'
            f"{seed_choice}</div>"
            f'<div class="sim-row">{reset_button}{back_button}{next_button}{play_button}{stop_button}'
            f'<span class="sim-slider">{turn_slider}</span>'
            f'{fork_button}{branch_choice}<span class="sim-status" role="status">{status_html}</span></div>'
            f'<div class="sim-note">{message_html}</div>'
        )

    def main_row():
        tree_body = (
            f'{show.state_legend("tree")}<div class="sim-tree">{tree_view}</div>'
            f'<div class="sim-picked">{selection_html}</div>'
        )
        chat_body = (
            f'<div class="sim-chat"><div>{show.chat(session.conversation, session.cursor)}</div></div>{growing_view}'
            f'<div class="sim-own">{reply_box}<div class="sim-row">{send_button}{consider_button}</div></div>'
        )
        trees = panel("What the user wants, and knows", tree_body, f"<span>{layout_choice}</span>")
        return f'<div class="sim-main">{trees}{panel("Conversation", chat_body)}</div>'

    def details():
        turn, tree, rules = session.turn, session.tree, session.conversation.rules
        waiting = '<p class="dl-quiet">No reply has been given yet. Press <i>Next</i>.</p>'
        said = turn.user_message if turn else tree.initial_request
        left = [
            panel("Reward receipt", show.receipt(tree, turn, rules) if turn else waiting),
            panel("The judge’s reasons", show.judge_reasons(tree, turn.candidate) if turn else waiting),
        ]
        right = [
            panel("What the user may say now", show.user_view(tree, session.view, said)),
            panel("Discovery, turn by turn", discovery_curves(session.lines(), session.cursor)),
        ]
        columns = "".join(f'<div class="sim-column">{"".join(column)}</div>' for column in (left, right))
        return f'<div class="sim-below">{columns}</div><p class="dl-quiet dl-small">{rules_html}</p>'

    # Parts that come and go have a place of their own: elements that shift would be made anew, the live tree with them.
    page = f"{controls()}{main_row()}<div>{considered_html}</div>{details()}"
    page = f'<div class="sim" data-turn="{session.cursor}">{page}</div>'
    mo.Html(style + show.styled(page))
    return


@app.cell(hide_code=True)
def _():
    style = """<style>
    #App > div:has(.sim) { padding-inline: 40px 64px; }
    .sim { display: flex; flex-direction: column; gap: 12px; }
    .sim-row { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; }
    /* no greying between two steps */
    .marimo-output-loading:has(.sim) { opacity: 1 !important; filter: none !important; }
    .sim > div:empty { display: none; }
    .sim-slider { min-width: 170px; }
    .sim-status { margin-left: auto; font-variant-numeric: tabular-nums; }
    .sim-main, .sim-below {
      display: grid; grid-template-columns: minmax(0, 1.2fr) minmax(0, 1fr); gap: 14px; align-items: start;
    }
    .sim-main > .sim-card { height: 760px; }
    .sim-column { display: flex; flex-direction: column; gap: 14px; min-width: 0; }
    .sim-card {
      display: flex; flex-direction: column; min-width: 0; padding: 14px 16px;
      background: var(--dl-surface); border: 1px solid var(--dl-line); border-radius: 12px;
    }
    .sim-head { display: flex; justify-content: space-between; gap: 12px; margin-bottom: 8px; }
    .sim-head [role=heading] { font-size: 16px; font-weight: 650; }
    .sim-tree { flex: 1; min-height: 0; overflow: auto; margin: 8px 0; }
    .sim-chat { flex: 1; min-height: 0; overflow: auto; display: flex; flex-direction: column-reverse; }
    .sim-chat > div { margin-bottom: auto; }
    .sim-own { border-top: 1px solid var(--dl-line); margin-top: 10px; padding-top: 10px; }
    .sim-cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(270px, 1fr)); gap: 14px; }
    .sim-picked { border-top: 1px solid var(--dl-line); padding-top: 8px; max-height: 170px; overflow: auto; }
    .sim-picked ul { margin: 4px 0 0; padding-left: 18px; }
    @media (max-width: 1000px) {
      .sim-main, .sim-below { grid-template-columns: minmax(0, 1fr); }
      #App > div:has(.sim) { padding-inline: 12px; }
      .sim-main > .sim-card { height: 640px; }
      .sim-status { margin-left: 0; flex-basis: 100%; }
    }
    </style>"""
    return (style,)


if __name__ == "__main__":
    app.run()
