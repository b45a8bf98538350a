# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "The paper, step by step"
# description = "What is the whole method, from top to bottom?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(
    width="medium", app_title="The paper, step by step", css_file="../../workbench/views/static/workbench.css"
)


@app.cell
def introduce(mo):
    mo.md("""
    # The paper, step by step

    `discover_lib/paper.py` does these steps with hundreds of users. Here, each step is one cell, with three users.
    """)
    return


@app.cell
def make_artifacts(artifacts, mo, svg):
    # An artifact: a finished work that somebody made (3.1). Change me: the domain, the numbers.
    domain = "svg_drawing"
    made = [artifacts.generate_artifact(domain, "train", number) for number in range(3)]
    drawings = [mo.image(svg.svg_data_uri(each.text), "Drawing", 140) for each in made]
    mo.show_code(mo.hstack(drawings, justify="start", wrap=True))
    return domain, made


@app.cell
def build_trees(domain, engine, intent_map, made, mo):
    # A tree: the intents of its maker, from broad to specific (3.1).
    world = engine(domain)
    grown = [world.builder.build(each).tree for each in made]
    mo.show_code(mo.ui.anywidget(intent_map(grown[0]).widget))
    return grown, world


@app.cell
def synthesize(assistants, domain, grown, mo, run_conversation, world):
    # A conversation: two teachers answer, and the reply with the higher reward is selected (3.2, 3.3 and 4.1).
    teachers = [assistants.scripted_assistant(name, domain) for name in ("draft", "adaptive")]
    where = {"domain": domain, "assistants": ["draft", "adaptive"]}
    talks = [run_conversation(tree, world.judge, world.voice, teachers, seed=0, setting=where) for tree in grown]
    winners = [turn.reply.assistant for talk in talks for turn in talk.turns]
    mo.show_code(mo.md(f"Adaptive won {winners.count('adaptive')} of {len(winners)} turns."))
    return (talks,)


@app.cell
def make_rows(export, mo, rows, talks):
    # Rows: whole conversations for SFT, pairs for DPO, prompts with the user's state for GRPO (4.1).
    _lines = []
    for kind in ("sft", "preference", "prompt"):
        sieved = export.sieve(rows.examples(kind, talks, rows.Origin("three users")))
        _lines.append({"rows": kind, "kept": len(sieved.kept), "left out": len(sieved.dropped)})
    mo.show_code(mo.ui.table(_lines, selection=None, show_column_summaries=False))
    return


@app.cell
def train(mo, paper):
    from discover_lib.engines.local.names import base_folder
    from discover_lib.train.data import default_data
    from discover_lib.train.recipes import Recipe
    from discover_lib.train.run_stage import StageSettings, run_stage

    # An adapter: SFT, DPO and GRPO of a small language model (4.1). Change me: call learn("sft", Path("outputs/mine")).
    def learn(stage, folder):
        settings = StageSettings(stage, str(default_data()), str(base_folder()), recipe=Recipe.miniature())
        return run_stage(settings, folder)

    mo.show_code(mo.md("; ".join(f"**{each.label}** after {each.after or 'the base'}" for each in paper.VARIANTS)))
    return


@app.cell
def evaluate(artifacts, assistants, domain, intervals, mo, run_conversation, world):
    # Scores: all assistants with the same held-out users (4.2). The headline is the share of hidden intents discovered.
    def share(name, number):
        tree = world.builder.build(artifacts.generate_artifact(domain, "eval", number)).tree
        assistant = assistants.scripted_assistant(name, domain)
        talk = run_conversation(tree, world.judge, world.voice, [assistant], seed=0)
        known = len(talk.start.discovered)
        return (len(talk.state.discovered) - known) / (len(tree) - known)

    _lines = []
    for name in ("draft", "ask", "options", "adaptive"):
        mean = intervals.bootstrap_mean({str(number): [share(name, number)] for number in range(20)})
        _lines.append({"assistant": name, "share": mean.mean, "95%": f"{mean.low:.2f} to {mean.high:.2f}", "n": 20})
    mo.show_code(mo.ui.table(_lines, selection=None, show_column_summaries=False, format_mapping={"share": "{:.2f}"}))
    return


@app.cell
def whole_paper(Path, mo, paper):
    # The full run, in order. `whole.run()` does all steps, and resumes where it was stopped.
    whole = paper.Paper(Path("outputs/paper"), paper.PaperOptions.small())
    mo.show_code(mo.md("  \n".join(f"{place}. {name}" for place, name in enumerate(whole.steps, 1))))
    return


@app.cell
def import_names():
    from pathlib import Path

    import marimo as mo

    from discover_lib import paper
    from discover_lib.base import svg
    from discover_lib.core.rollout import run_conversation
    from discover_lib.dataset import export, rows
    from discover_lib.engines.miniature import artifacts, assistants, engine
    from discover_lib.metrics import intervals
    from workbench.map import intent_map

    return Path, artifacts, assistants, engine, export, intent_map, intervals, mo, paper, rows, run_conversation, svg


if __name__ == "__main__":
    app.run()
