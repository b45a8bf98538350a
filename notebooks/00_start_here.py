# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "00 · Start here"
# description = "See a simulated user find out what they want, and choose where to go next."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="full", app_title="Start here")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.app.story import averages, near_misses_on_one_wish, story_widget
    from discover_lib.core.rollout import run_conversation
    from discover_lib.core.rules import Rules
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import generate_artifact
    from discover_lib.engines.miniature.assistants import scripted_assistant
    from discover_lib.runs.doctor import examine
    from discover_lib.views import conversation as show
    from discover_lib.views.navigation import footer
    from discover_lib.views.story import averages_line


@app.cell(hide_code=True)
def introduce():
    mo.Html("""
    <h1 style="font-size: 26px; font-weight: 650; margin: 0 0 6px">People find out what they want by seeing it</h1>
    <p style="margin: 0; max-width: 112ch">One person, three assistants. The person can say one wish; the others are
    there and have no words yet. Press <i>Play</i>: what a reply lets them see turns a wish from fog ○ over a hunch ◆
    to known ●, and what is known down to its last detail takes shape in their head.</p>
    """)
    return


@app.cell(hide_code=True)
def meet_people():
    # Drawings and stories in which the three assistants differ as they do on average (the line below the stage).
    people = [("svg_drawing", 17), ("svg_drawing", 22), ("creative_writing", 8), ("svg_drawing", 3)]
    _asked = mo.query_params().get("person") or "0"
    stage = story_widget(people, person=int(_asked) if _asked.isdecimal() else 0)
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
    _rules, _wish = Rules.paper(), near_misses_on_one_wish(theta=0.4)
    _two, _one = _wish(2), _wish(1)
    mo.md(f"""
    ## Six rules of the game

    1. **A wish is ○ fog, ◆ a hunch or ● known.** A reply that meets it, by building it or by naming exactly it in a
       question, makes it ● at once. Every wish that becomes ● earns the reply +1; a hunch earns nothing yet. Built, it
       is satisfied, too.
    2. **Close helps a little.** Where a fox is wanted, an owl and a cat are two *near misses* of weight {_rules.p:g}
       each: {_two.score:g} in all. The wish’s own threshold θ, drawn at random and here {_two.theta:g}, is passed, so
       it goes ○ → ◆ (a second time ◆ → ●), and θ starts again at {_two.theta:g}; what was more than enough is lost.
       One near miss, {_one.score:g}, moves nothing, but wears θ down to {_one.theta_left:.2f}.
    3. **One thing at a time.** Wishes hang in trees, such as the subject, the light, the colours, and only one tree at
       a time forms: the first, in the person's own order, with something unknown in it. It is *in focus* until all of
       it is known. What a reply shows of another tree does not count yet.
    4. **Broad before narrow.** “A fox” can form only once “an animal” is known.
    5. **What a person says is what they know.** Known wishes first, plainly; then hunches, as hints; else only that
       something is missing, and where (“something about the colours”). What is ○ is never put into words.
    6. **Length costs, at most {_rules.penalty_cap:g}.** {_rules.tau:g} tokens are free, each further one costs
       {_rules.lam:g}. Pouring out everything does not pay; but a reply that makes one wish known never falls below 0.

    So a reply that shows what a person wants can still earn nothing: another tree is in focus, the broader wish is not
    known yet, it came only near, it shows what is known already, or the judge did not see it.
    """)
    return


@app.cell(hide_code=True)
def say_what_it_is():
    mo.callout(
        mo.md("""
    **What you saw is the miniature.** The person, the judge and the assistants are programs over a small world of
    eight kinds of things to make: drawings, stories and articles, on which small models are trained here, and travel
    plans, data-viz code, paper abstracts, image prompts and web components, which those models never see before they
    are tested. No language model plays a role and no conversation is written beforehand: the judge reads the drawing
    itself, its shapes, colours and named parts, not the assistant's plan for it; states and rewards follow the paper's
    rules ([DiscoverLLM](https://arxiv.org/abs/2602.03429)), and the person's sentences are chosen by what they may
    know at that moment. How far such a person can be trusted is page 65's question. Give a model's name, and that
    language model plays any of the roles.
    """),
        kind="neutral",
    )
    return


@app.cell(hide_code=True)
def explain_the_code():
    mo.md("""
    ## The same in Python

    `discover open --edit` opens every page with its code: change a line, run it, and the picture follows. The
    assistants above are called `ask`, `draft` and `adaptive` in code and on the other pages.
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
        "40_synthesis.py": ("Synthesis", "How are conversations made whose better replies are known?"),
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
    }
    _folder = mo.notebook_dir()
    _rows = "\n".join(
        f"| {name[:2]} | [{title}](/?file={name}) | {question} |"
        for name, (title, question) in places.items()
        if _folder is not None and (_folder / name).exists() and not name.startswith("00")
    )
    mo.md("## Where to go\n\n| | notebook | its question |\n|:--|:--|:--|\n" + _rows)
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
    """)
    return


@app.cell(hide_code=True)
def examine_machine():
    _findings = {each.topic: each for each in examine()}
    _rows = [(each.topic, each.text + (" (needs attention)" if each.problem else "")) for each in _findings.values()]
    _summary = f"This machine: {_findings['device'].text}; training backend: {_findings['backend'].text}"
    mo.accordion({_summary: mo.Html(show.styled(show.table(("Part", "Found"), _rows)))})
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("00_start_here.py")))
    return


if __name__ == "__main__":
    app.run()
