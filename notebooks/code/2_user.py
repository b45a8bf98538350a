# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "A user by hand"
# description = "How does a user answer a reply?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="A user by hand", css_file="../../workbench/views/static/workbench.css")


@app.cell
def introduce(mo):
    mo.md("""
    # A simulated user by hand

    The user knows one intent. Replies discover the others (paper, 3.2).
    """)
    return


@app.cell
def make_user(UserSimulator, artifacts, engine, intent_map, mo):
    # A user is a tree, a judge that reads replies and a voice that answers. Change me: the artifact, the seed.
    world = engine("svg_drawing")
    tree = world.builder.build(artifacts.generate_artifact("svg_drawing", "eval", 5)).tree
    user = UserSimulator(tree, world.judge, world.voice, seed=0)
    mo.show_code(mo.ui.anywidget(intent_map(tree, user.state).widget))
    return tree, user


@app.cell
def look_in_focus(advance, mo, tree, user):
    # The judge is shown one root: the first with an intent not yet discovered (3.1: it limits the cognitive load).
    moving = advance.frontier(tree, user.state, user.focus)
    names = {"focus": user.focus, "can change next": moving}
    shown = [f"- {name}: {', '.join(map(tree.text, ids))}" for name, ids in names.items()]
    mo.show_code(mo.md("\n".join(shown)))
    return


@app.cell
def judge_reply(mo, user):
    # `consider` judges a reply against the state and changes no part of it. Change me: the reply.
    candidate = user.consider("How about a flower, a palm tree or a cactus?")
    lines = [f"- {user.tree.text(each.intent_id)}: {each.reason}" for each in candidate.evaluation.verdicts]
    mo.show_code(mo.md(f"The reply is of kind `{candidate.evaluation.kind}`.\n\n" + "\n".join(lines)))
    return (candidate,)


@app.cell
def move_by_hand(advance, candidate, mo, user):
    # An engaged intent becomes discovered, and an artifact also satisfies it. Otherwise, k near misses score p·k; if
    # this is above θ, the intent moves up one state.
    state, transitions = advance.advance(user.tree, user.state, candidate.evaluation, user.rules)
    assert state == candidate.after  # `advance` is the only way from one state to the next, and calls no model
    columns = ("before", "after", "cause", "score", "theta_left")
    moved = [{name: each.to_dict().get(name) or "–" for name in columns} for each in transitions]
    named = [{"intent": user.tree.text(each.intent_id), **row} for each, row in zip(transitions, moved, strict=True)]
    mo.show_code(mo.ui.table(named, selection=None, show_column_summaries=False))
    return (state,)


@app.cell
def view_of_voice(mo, state, tree, user, user_view):
    # The voice never sees the tree. It sees the intents satisfied so far, and the missing ones that the user can now
    # state, hint at or only feel (3.2).
    view = user_view(tree, state, user.rules)
    mo.show_code(mo.json(view.to_dict()))
    return


@app.cell
def play(assistants, engine, intent_map, mo, run_conversation, tree):
    # Five turns with an assistant that explores while intents are vague. Change me: "draft", "ask", "options".
    world_again, assistant = engine("svg_drawing"), assistants.scripted_assistant("adaptive", "svg_drawing")
    talk = run_conversation(tree, world_again.judge, world_again.voice, [assistant], seed=0)
    said = [f"- reward {each.candidate.reward.total:+.3g}. User: {each.user_message or '–'}" for each in talk.turns]
    end = mo.ui.anywidget(intent_map(tree, talk.state).widget)
    mo.show_code(mo.vstack([mo.md("\n".join(said)), end]))
    return (talk,)


@app.cell
def import_names():
    import marimo as mo

    from discover_lib import UserSimulator, user_view
    from discover_lib.core import advance
    from discover_lib.core.rollout import run_conversation
    from discover_lib.engines.miniature import artifacts, assistants, engine
    from workbench.map import intent_map

    return UserSimulator, advance, artifacts, assistants, engine, intent_map, mo, run_conversation, user_view


if __name__ == "__main__":
    app.run()
