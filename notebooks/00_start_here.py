# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "00 · Start here"
# description = "See a simulated user find out what they want, and choose where to go next."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Start here", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.core.rollout import run_conversation
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import generate_artifact
    from discover_lib.engines.miniature.assistants import scripted_assistant
    from discover_lib.runs.doctor import examine
    from workbench.controls import page_has_sheet
    from workbench.story import PEOPLE, WHAT_IT_IS, averages, six_rules, story_widget
    from workbench.views import conversation_parts as show
    from workbench.views.columns import averages_line
    from workbench.views.html import static_text
    from workbench.views.navigation import footer

    page_has_sheet()


@app.cell(hide_code=True)
def introduce():
    mo.Html(static_text("introduction.html"))
    return


@app.cell(hide_code=True)
def meet_people():
    _asked = mo.query_params().get("person") or "0"
    stage = story_widget(PEOPLE, person=int(_asked) if _asked.isdecimal() else 0)
    stage.observe(lambda change: mo.query_params().set("person", str(change["new"])), "person")
    stage_view = mo.ui.anywidget(stage)
    return (stage_view,)


@app.cell(hide_code=True)
def tell_story(stage_view):
    stage_view
    return


@app.cell(hide_code=True)
def say_averages():
    mo.Html(show.styled(averages_line(averages("svg_drawing", people=30))))
    return


@app.cell(hide_code=True)
def explain_rules():
    mo.md(six_rules())
    return


@app.cell(hide_code=True)
def say_what_it_is():
    mo.callout(mo.md(WHAT_IT_IS), kind="neutral")
    return


@app.cell(hide_code=True)
def explain_the_code():
    mo.md("""
    ## The same in Python

    `discover open --edit` opens every page with its code: change a line, run it, and the picture follows.
    """)
    return


@app.cell
def simulate():
    world = engine("svg_drawing")
    tree = world.builder.build(generate_artifact("svg_drawing", "eval", 17)).tree
    assistants = [scripted_assistant("adaptive", "svg_drawing")]
    conversation = run_conversation(tree, world.judge, world.voice, assistants, seed=17)
    mo.show_code()
    return (conversation,)


@app.cell(hide_code=True)
def show_conversation(conversation):
    _tree, _last = conversation.tree, conversation.turns[-1]
    _outline = show.outline(_tree, conversation.state, conversation.rules, _last.candidate.transitions, _last.focus)
    mo.accordion(
        {
            "The whole conversation, its intents and what its last reply earned": mo.Html(
                show.styled(
                    show.beside(
                        show.panel("What the person wants", show.state_legend(), _outline),
                        show.panel("Conversation", show.chat(conversation), latest=True),
                    ),
                    show.panel("What the last reply earned", show.receipt(_tree, _last, conversation.rules)),
                )
            )
        }
    )
    return


@app.cell(hide_code=True)
def list_pages():
    places = {
        "00_start_here.py": ("Start here", "What is this, and where do I go?"),
        "10_intent_trees.py": ("Intent trees", "How does a finished piece become a tree of intents?"),
        "15_runs.py": ("Runs", "What happened in my runs, turn by turn, and what did it cost?"),
        "20_simulator.py": ("Simulator", "What happens to a user's intents, turn by turn? Step, branch, type a reply."),
        "30_reward.py": ("Reward", "What is one reply worth, and what if the rules were different?"),
        "40_synthesis.py": ("Synthesis", "How are conversations made in which the better reply is known?"),
        "41_rows.py": ("Rows", "Which pairs are kept, and exactly what does a trainer get?"),
        "50_train.py": ("Train", "How does a model learn from them?"),
        "51_grpo_by_hand.py": ("GRPO by hand", "What does one update learn from a group of replies?"),
        "52_before_after.py": ("Before and after", "What has training changed?"),
        "60_evaluate.py": ("Evaluate", "Which assistant discovers more, and can we tell?"),
        "61_behind_a_number.py": (
            "Behind a number",
            "Which conversations make a score, and where do two assistants part?",
        ),
        "65_audit.py": ("Audit", "Can this simulated user be trusted?"),
        "66_reality.py": ("Reality", "Do simulated users talk like people?"),
        "70_be_the_user.py": ("Be the user", "What is it like not to have the words? Play, or run a study."),
        "75_safety.py": ("Safety", "Does exploring widen what is offered? When is something off-limits offered?"),
    }
    _folder = mo.notebook_dir()
    _rows = "\n".join(
        f"| {name[:2]} | [{title}](/?file={name}) | {question} |"
        for name, (title, question) in places.items()
        if _folder is not None and (_folder / name).exists() and not name.startswith("00")
    )
    mo.md("## Where to go\n\n| | page | its question |\n|:--|:--|:--|\n" + _rows)
    return


@app.cell(hide_code=True)
def say_what_is_real():
    mo.md("""
    ## What is real, and what it needs

    | | miniature | recorded conversations | a model of your own |
    |:--|:--|:--|:--|
    | who plays the roles | programs over a lexicon | one language model, once, saved as files | any language model |
    | states, transitions, rewards | computed here | computed here, from the saved judgements | computed here |
    | needs | nothing | nothing | an API key, or a GPU for a local model |
    | good for | learning the method, testing, training in small | seeing what real replies look like | results |

    Recorded conversations illustrate: one language model wrote trees, replies and judgements, so they are no evidence
    that one assistant beats another.

    **The rules can be gamed.** The assistant `catalogue` names every value of the lexicon in every turn and hears
    nothing. Under the paper's rules it earns about twice the reward of *adaptive*, because an intent counts as
    discovered when a reply names it. Satisfaction with the finished piece shows the difference: the list makes none.

    No model of a provider and no GPU has been used with this workbench yet; what is measured is the miniature's.
    """)
    return


@app.cell(hide_code=True)
def examine_machine():
    _findings = {each.role: each for each in examine()}
    _rows = [(each.role, each.text + ("" if each.works else " (needs attention)")) for each in _findings.values()]
    _summary = f"This machine: {_findings['device'].text}; training backend: {_findings['backend'].text}"
    mo.accordion({_summary: mo.Html(show.styled(show.table(("Part", "Found"), _rows)))})
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("00_start_here.py")))
    return


if __name__ == "__main__":
    app.run()
