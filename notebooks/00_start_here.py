# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "00 · Start here"
# description = "See a simulated user find out what they want, and choose where to go next."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Start here")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib.core.rollout import run_conversation
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
    from discover_lib.engines.miniature.assistants import scripted_assistant
    from discover_lib.runs.doctor import examine
    from discover_lib.views import conversation as show


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # People find out what they want by seeing it

    Ask for “a drawing of a fox” and you do not yet know that you want it mirrored, in two greens, without
    outlines: you will know when an option touches it. This workbench simulates such a user as a forest of
    **intents**, broad to specific, that form as an assistant's replies touch them. The number of newly formed intents
    is a **reward**, and models trained on it learn to explore while a wish is vague and to build once it is clear
    ([DiscoverLLM](https://arxiv.org/abs/2602.03429)).

    Below is one such conversation, already run. Press *Next turn* and watch the tree.
    """)
    return


@app.cell(hide_code=True)
def remember_place():
    get_turn, set_turn = mo.state(1, allow_self_loops=True)
    get_user, set_user = mo.state(0, allow_self_loops=True)
    return get_turn, get_user, set_turn, set_user


@app.cell(hide_code=True)
def step_through(conversation, get_turn, get_user, set_turn, set_user):
    turn = min(get_turn(), len(conversation.turns))

    def meet_another(_):
        set_turn(1)
        set_user(get_user() + 1)

    next_button = mo.ui.button(
        label="Next turn ▶",
        kind="success",
        disabled=turn == len(conversation.turns),
        on_click=lambda _: set_turn(turn + 1),
    )
    back_button = mo.ui.button(label="◀ Back", disabled=turn == 0, on_click=lambda _: set_turn(turn - 1))
    other_button = mo.ui.button(label="Another user", on_click=meet_another)
    _state = conversation.state_after(turn)
    _where = (
        f"turn {turn} of {len(conversation.turns)}: {len(_state.discovered)} of {len(conversation.tree)} discovered"
    )
    mo.hstack([back_button, next_button, other_button, mo.md(_where)], justify="start", align="center", wrap=True)
    return (turn,)


@app.cell(hide_code=True)
def show_conversation(conversation, turn):
    _tree, _state = conversation.tree, conversation.state_after(turn)
    _last = conversation.turns[turn - 1] if turn else None
    _outline = show.outline(
        _tree,
        _state,
        conversation.rules,
        _last.candidate.transitions if _last else (),
        _last.focus if _last else None,
    )
    _earned = (
        show.receipt(_tree, _last, conversation.rules)
        if _last
        else show.quiet("No reply yet. What the request names is discovered; the rest has yet to form.")
    )
    mo.Html(
        show.styled(
            show.beside(
                show.panel("What the user wants", show.state_legend(), _outline),
                show.panel("Conversation", show.chat(conversation, turn), latest=True),
            ),
            show.panel("What the last reply earned", _earned),
        )
    )
    return


@app.cell(hide_code=True)
def say_what_it_is():
    mo.callout(
        mo.md("""
    **What you saw is the miniature.** The user, the judge and the assistant are programs over a small world of eight
    kinds of things to make: drawings, stories and articles, on which everything is trained and tuned, and travel plans,
    data-viz code, paper abstracts, image prompts and web components, which are kept unseen to find out what carries
    over. No language model plays a role and nothing is canned: the judge parses the drawing, states and rewards follow
    the paper's rules, and the user's words come from what they may know at that moment.
    """),
        kind="neutral",
    )
    return


@app.cell(hide_code=True)
def explain_the_code():
    mo.md("""
    ## The same in Python

    This is the code that made it. `discover open --edit` opens the page with its cells: change a line, run it, and the
    picture above follows.
    """)
    return


@app.cell
def simulate(get_user):
    domain = "svg_drawing"
    world = engine(domain)
    piece = generate_artifact(domain, "eval", get_user() % SPLIT_SIZES["eval"])
    tree = world.builder.build(piece).tree
    assistants = [scripted_assistant("adaptive", domain)]
    conversation = run_conversation(tree, world.judge, world.voice, assistants, seed=get_user())
    mo.show_code()
    return (conversation,)


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

    Recorded conversations illustrate: one mind wrote trees, replies and judgements, so they are no evidence that one
    assistant beats another.
    """)
    return


@app.cell(hide_code=True)
def examine_machine():
    _findings = {each.topic: each for each in examine()}
    _rows = [(each.topic, each.text + (" (needs attention)" if each.problem else "")) for each in _findings.values()]
    _summary = f"This machine: {_findings['device'].text}; training backend: {_findings['backend'].text}"
    mo.accordion({_summary: mo.Html(show.styled(show.table(("Part", "Found"), _rows)))})
    return


if __name__ == "__main__":
    app.run()
