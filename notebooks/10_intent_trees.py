# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "10 · Intent trees"
# description = "From a finished drawing, story or article to the tree of intents behind it, stage by stage."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Intent trees", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import asyncio
    import json
    import re

    import marimo as mo

    from discover_lib import Artifact, Message, Rules, initial_state
    from discover_lib.base.files import data_folder, outputs_folder, write_json
    from discover_lib.core.roles import BuildError, BuiltTree, Recognised
    from discover_lib.core.rollout import MAX_TURNS
    from discover_lib.core.view import leaked_words
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact, written_artifacts
    from discover_lib.metrics.discovery import ceiling
    from discover_lib.metrics.intervals import percent
    from discover_lib.metrics.scores import is_leak_checked
    from discover_lib.runs.artifact_files import free_tree_file
    from discover_lib.runs.doctor import check_connection
    from discover_lib.runs.recorded import find_recorded, recorded_index
    from workbench import controls as cast
    from workbench.carried import kept
    from workbench.live import Calls, Errand, StagedBuild
    from workbench.map import intent_map
    from workbench.views import conversation_parts as show
    from workbench.views.artifact_parts import numbers_of, read_piece
    from workbench.views.html import plain_list, tag
    from workbench.views.html import progress as progress_bar
    from workbench.views.navigation import footer

    cast.page_has_sheet()

    SOURCES = ("hand-written", "generated", "recorded", "your own")


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # How does a finished piece become a tree of intents?

    Backwards: we read off what a **finished piece** satisfies, make each requirement broader step by step, and join
    the steps into trees. A simulated user holds these trees and at first knows only what their opening request names
    (●). A number stands where the piece shows a requirement, and again at the intent that it became.
    """)
    return


@app.cell(hide_code=True)
def choose_kind():
    domain_choice = kept(
        mo.ui.dropdown, "domain", cast.domain_labels(), value="SVG drawing", label="What kind", forgets=("piece",)
    )
    source_choice = kept(
        mo.ui.radio, "source", SOURCES, value="hand-written", label="Which piece", inline=True, forgets=("piece",)
    )
    return domain_choice, source_choice


@app.cell(hide_code=True)
def choose_piece(domain_choice, source_choice):
    domain, source = domain_choice.value, source_choice.value
    written = {each.id: each for each in written_artifacts(domain, data_folder())}
    if source == "hand-written":
        piece_choice = kept(mo.ui.dropdown, "piece", list(written), value=next(iter(written), None), label="Piece")
    elif source == "generated":
        _last = SPLIT_SIZES["eval"] - 1
        piece_choice = kept(mo.ui.number, "piece", 0, _last, 1, value=0, label="Number in the evaluation set")
    elif source == "recorded":
        _names = {each.title: each.name for each in recorded_index() if each.domain == domain}
        piece_choice = kept(mo.ui.dropdown, "piece", _names, value=next(iter(_names), None), label="Piece")
    else:
        _example = next(iter(written.values())).text if written else ""
        piece_choice = mo.ui.text_area(
            value=_example,
            label="Paste an SVG document" if domain == "svg_drawing" else "Paste a text",
            rows=10,
            full_width=True,
        ).form(submit_button_label="Build the tree")
    _menus = [domain_choice, source_choice, piece_choice]
    mo.hstack(_menus, justify="start", align="center", gap=2, wrap=True) if source != "your own" else mo.vstack(_menus)
    return domain, piece_choice, source, written


@app.cell(hide_code=True)
def show_piece(asked, built, forest, piece, requirements, source):
    _next = {
        "your own": "Press *Build the tree* to begin.",
        "recorded": "No piece of this kind was recorded; choose another kind, or a hand-written or generated piece.",
    }.get(source, "There is no such piece in the data folder.")
    mo.stop(built is None and not asked, None if piece else mo.md(_next))
    _panels = [show.panel("The finished piece", read_piece(piece, requirements or ()))]
    if forest is not None:
        _numbers = numbers_of(forest, requirements or ())
        _wanted = show.outline(forest, initial_state(forest, Rules.paper()), numbers=_numbers)
        _panels.append(show.panel("What the user who has it in mind wants", _wanted))
    mo.Html(show.styled(show.beside(*_panels)))
    return


@app.function(hide_code=True)
def recorded_stages(name: str) -> BuiltTree:
    """The stages that a language model wrote down for a recorded piece."""
    entry = find_recorded(name)
    data = json.loads(entry.path.read_text(encoding="utf-8"))
    recognised = tuple(Recognised(text, "", "") for text in data["synthesis"]["checklist"])
    return BuiltTree(entry.tree(), recognised, tuple(tuple(level["checklist"]) for level in data["levels"]))


@app.cell(hide_code=True)
def choose_builder():
    builder_form = cast.chooser(("builder",), submit="Use this builder")
    own_type = mo.ui.text(label="What your own piece is", placeholder="travel plan, web component …", full_width=True)
    tested, set_tested = mo.state("")
    calls = Calls()
    return builder_form, calls, own_type, set_tested, tested


@app.cell(hide_code=True)
def read_builder(builder_form):
    try:
        players, unusable = cast.read_choice(builder_form.value), ""
    except cast.ChoiceError as error:
        players, unusable = cast.Choice(), str(error)
    by_model = players.builder != "miniature"
    return by_model, players, unusable


@app.cell(hide_code=True)
def test_connection(players, set_tested):
    async def test():
        roles = {"tree builder": players.builder}
        lines = await asyncio.to_thread(check_connection, roles, players.client_settings, players.options)
        set_tested(cast.connection_lines(lines))

    def start_test(_):
        set_tested(show.quiet("Asking for one word …"))
        tests.add(task := asyncio.get_running_loop().create_task(test()))
        task.add_done_callback(tests.discard)

    tests = set()  # a task that nobody holds may be dropped
    test_button = mo.ui.button(label="Test the connection", on_click=start_test)
    return (test_button,)


@app.cell(hide_code=True)
def show_builder(builder_form, by_model, own_type, players, source, test_button, tested, unusable):
    if by_model:
        _caption = "One tree of an artifact of some 800 tokens, before anything is spent; expected (low to high)"
        _plan = cast.plan_table(cast.builder_stages(players), _caption)
    else:
        _plan = show.quiet("No language model takes part: nothing is asked, nothing is spent.")
    _own = [own_type] if by_model and source == "your own" else []
    _told = mo.Html(show.styled(show.error_line(unusable) if unusable else show.EMPTY, tested(), _plan))
    mo.accordion({f"Who builds: {players.builder}": mo.vstack([builder_form, *_own, test_button, _told])})
    return


@app.cell(hide_code=True)
def take_piece(by_model, domain, own_type, piece_choice, source, written):
    def chosen_piece():
        """The piece to build from; None until there is one."""
        if piece_choice.value is None:
            return None
        if source == "recorded":
            return find_recorded(piece_choice.value).artifact()
        if source == "hand-written":
            return written.get(piece_choice.value)
        if source == "generated":
            return generate_artifact(domain, "eval", int(piece_choice.value))
        kind = own_type.value.strip() if by_model else ""
        return Artifact("your own", kind or engine(domain).builder.lexicon.artifact_type, piece_choice.value)

    piece = chosen_piece()
    return (piece,)


@app.cell(hide_code=True)
def prepare_stages(by_model, calls, piece, players, source):
    # Another piece or another builder: another build, from its first stage on.
    asked = by_model and piece is not None and source != "recorded"
    build = StagedBuild(piece, players.builder, players.client_settings, calls, players.options) if asked else None
    progress, set_progress = mo.state(0)
    build_note, set_build_note = mo.state("")
    return asked, build, build_note, progress, set_build_note, set_progress


@app.cell(hide_code=True)
def advance_stages(build, set_build_note, set_progress):
    def moved():
        set_progress(lambda count: count + 1)

    def ended(said):
        set_build_note(said)
        moved()

    errand = Errand(moved, lambda _: None, ended)

    def begin(action):
        if not errand.running:
            set_build_note("")
            errand.start(action)

    stage_button = mo.ui.button(label="Next stage ▶", kind="success", on_click=lambda _: begin(build.advance))
    rest_button = mo.ui.button(label="All that are left", on_click=lambda _: begin(build.advance_to_the_end))
    halt_button = mo.ui.button(label="■ Stop", on_click=lambda _: build.cancel())
    return errand, halt_button, rest_button, stage_button


@app.cell(hide_code=True)
def show_stages(asked, build, build_note, calls, errand, halt_button, progress, rest_button, stage_button):
    progress()
    mo.stop(not asked)
    _count = len(build.done)
    if errand.running:
        _where = f"asking {build.model} for stage {_count + 1}, {build.upcoming} …"
    elif build.upcoming:
        _where = f"{_count} of 4 stages done; next: {build.upcoming}"
    else:
        _where = "all four stages done"
    _where += f". {calls.line}" if calls.line else ""
    mo.vstack(
        [
            mo.hstack([stage_button, rest_button, halt_button, mo.md(_where)], justify="start", wrap=True),
            mo.Html(show.styled(show.error_line(build_note()))) if build_note() else mo.md(""),
        ]
    )
    return


@app.cell(hide_code=True)
def introduce_build(asked, domain, piece, source):
    readable, refusal = piece is not None and source != "recorded" and not asked, ""  # no model, no recording
    try:
        if readable:
            engine(domain).builder.build(piece)
    except BuildError as error:
        readable, refusal = False, str(error)
    mo.md("""
    A builder reads a finished piece. What it recognised, each level of broader requirements, the forest and the first
    request come back in one record; the four sections below show it part by part.
    """)
    return readable, refusal


@app.cell
def build_here(domain, piece, readable):
    builder = engine(domain).builder
    built_here = builder.build(piece) if readable else None
    mo.show_code()
    return (built_here,)


@app.cell(hide_code=True)
def take_stages(asked, build, built_here, piece, piece_choice, progress, refusal, source):
    progress()
    built = built_here
    if source == "recorded" and piece is not None:
        built = recorded_stages(piece_choice.value)
    elif asked:
        built = build.done[-1] if build.upcoming is None else None
    if built is not None:
        requirements, levels, forest = built.recognised, built.levels, built.tree
    elif asked:
        requirements, levels, forest = build.recognised, build.levels, build.forest
    else:
        requirements = levels = forest = None
    mo.Html(show.styled(show.error_line(refusal))) if refusal else None
    return built, forest, levels, requirements


@app.cell(hide_code=True)
def show_synthesis(built, built_here, requirements):
    mo.stop(requirements is None)
    # The miniature notes what it could not read, a model what was mended: its notes stand below.
    _notes = built.notes if built is built_here and built else ()
    _unread = [mo.md("What it was not read for: " + "; ".join(_notes) + ".")] if _notes else []
    mo.vstack(
        [
            mo.md(f"""
    ## 1. Synthesis: what does the piece satisfy?

    {len(requirements)} requirements, as specific as they come. What type and topic already imply is left out.
    """),
            mo.Html(show.styled(show.recognised(requirements))),
            *_unread,
        ]
    )
    return


@app.cell(hide_code=True)
def show_abstraction(forest, levels):
    mo.stop(levels is None)
    mo.vstack(
        [
            mo.md("""
    ## 2. Abstraction: the same requirements, broader and broader

    Each level drops or generalises details of the level before, so that whatever meets a requirement also meets its
    broader form, to the right of it. What several requirements come to stands once: there they join to a tree.
    """),
            mo.Html(show.styled(show.ladder(levels) if forest is None else show.ladders(forest))),
        ]
    )
    return


@app.cell(hide_code=True)
def introduce_forest(forest):
    mo.stop(forest is None)
    mo.md(f"""
    ## 3. Organisation: a forest

    {len(forest)} intents in {len(forest.roots)} trees. A child is more specific than its parent, and every root is a
    dimension of its own. Press an intent to read it.
    """)
    return


@app.cell
def draw_forest(forest):
    mo.stop(forest is None)
    forest_map = mo.ui.anywidget(intent_map(forest).widget)
    forest_map
    return (forest_map,)


@app.cell
def draw_graph(forest):
    mo.stop(forest is None)
    mo.accordion({"The same forest as a plotly graph": mo.lazy(lambda: mo.ui.anywidget(forest.figure(live=True)))})
    return


@app.cell(hide_code=True)
def show_request(built, built_here):
    def _item(note):
        return tag("li", note)

    mo.stop(built is None)
    _tree = built.tree
    _told = "; ".join(_tree.text(key).lower() for key in _tree.initially_discovered)
    _hidden = len(_tree) - len(_tree.initially_discovered)
    _implied = (Message("user", f"{_tree.artifact_type} {_tree.topic}"),)
    _leaks = leaked_words(
        _tree.initial_request, _tree, initial_state(_tree, Rules.paper()), [each.content for each in _implied]
    )
    _checked = is_leak_checked(_tree.initial_request, _tree, initial_state(_tree, Rules.paper()))
    _none = "It gives no hidden intent away." if _checked else "Whether it gives a hidden intent away was not checked."
    _gives = f"It gives away: {', '.join(_leaks)}." if _leaks else _none
    _reach = ceiling(_tree)
    _text = mo.md(f"""
    ## 4. The initial request

    > {_tree.initial_request}

    It names **{_told}**: {len(_tree.initially_discovered)} of {len(_tree)} intents start discovered, the other
    {_hidden} are hidden: undiscovered. {_gives}

    **Ceiling**: a perfect reply in each of {MAX_TURNS} turns would find {percent(_reach)} of the hidden intents; no
    assistant can find more, since only one tree can move a turn.
    """)
    _cut = show.panel("What was mended or cut while it was built", plain_list(map(_item, built.notes)))
    _mended = _cut if built.notes and built is not built_here else show.EMPTY
    mo.vstack([_text, mo.Html(show.styled(progress_bar(_reach), _mended))])
    return


@app.cell(hide_code=True)
def edit_tree(built):
    mo.stop(built is None)
    edited, set_edited = mo.state(built.tree)
    editor = intent_map(built.tree, edit=True)
    editor.on_edit = set_edited
    mo.vstack(
        [
            mo.md("""
    ## Edit it

    Double-click an intent to rename it, or press F2. Drag it to another parent. Insert adds a child, Delete removes an
    intent with everything below it. An edit that breaks a rule of trees is refused, and the line below says why.
    """),
            mo.ui.anywidget(editor.widget),
        ]
    )
    return edited, editor


@app.cell(hide_code=True)
def keep_tree(built, edited, piece):
    mo.stop(built is None)
    _own, _trees = piece.id == "your own", outputs_folder() / "trees"
    _stem = re.sub(r"[^\w-]+", "-", (built.tree.topic if _own else piece.id).strip()).strip("-") or "tree"
    saved, set_saved = mo.state("")

    def keep(_):
        # Many pieces of one's own come to the same topic; none takes another's place.
        _path = free_tree_file(_trees, _stem, edited()) if _own else _trees / f"{_stem}.json"
        try:
            write_json(_path, {"tree": edited().to_dict()})
            set_saved(f"Kept as `{_path.name}`. In the [simulator](/?file=20_simulator.py), choose *Trees built here*")
        except OSError as error:
            set_saved(f"It cannot be written: {error}")

    keep_button = mo.ui.button(label="Keep this tree for the simulator", on_click=keep)
    return keep_button, saved


@app.cell(hide_code=True)
def show_saved(keep_button, saved):
    mo.hstack([keep_button, mo.md(saved())], justify="start", align="center", wrap=True)
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("10_intent_trees.py")))
    return


if __name__ == "__main__":
    app.run()
