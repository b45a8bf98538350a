# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "A reward by hand"
# description = "How do states and length make a reward?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="A reward by hand", css_file="../../workbench/views/static/workbench.css")


@app.cell
def introduce(mo):
    mo.md("""
    # A reward by hand

    R = R<sub>d</sub> + R<sub>e</sub>: the newly discovered intents, minus a penalty for tokens beyond τ (paper, 3.3).
    """)
    return


@app.cell
def take_turn(UserSimulator, artifacts, assistants, engine, mo):
    # One user, one reply. Change me: the assistant, the artifact.
    world = engine("svg_drawing")
    tree = world.builder.build(artifacts.generate_artifact("svg_drawing", "eval", 5)).tree
    user = UserSimulator(tree, world.judge, world.voice, seed=0)
    before = user.state
    turn = user.step(user.ask(assistants.scripted_assistant("mixed", "svg_drawing")))
    after, n_tokens = turn.candidate.after, turn.reply.n_tokens
    mo.show_code(mo.md(f"The reply has {n_tokens} tokens and matches {len(turn.candidate.transitions)} intents."))
    return after, before, n_tokens, tree, turn, user, world


@app.cell
def count_discovered(after, before, mo, tree):
    # R_d = |I_after| - |I_before|, over discovered intents.
    new = after.discovered - before.discovered
    r_d = len(new)
    mo.show_code(mo.md(f"R<sub>d</sub> = {r_d}: {', '.join(map(tree.text, sorted(new)))}"))
    return (r_d,)


@app.cell
def charge_length(Rules, mo, n_tokens):
    # R_e = -min(λ·max(0, tokens - τ), 1). τ is 250, and 500 in GRPO. Change me: the rules.
    rules = Rules.paper()
    r_e = -min(rules.lam * max(0, n_tokens - rules.tau), 1)
    formula = f"-min({rules.lam} × max(0, {n_tokens} - {rules.tau:g}), 1)"
    mo.show_code(mo.md(f"R<sub>e</sub> = {formula} = {r_e:.3f}"))
    return r_e, rules


@app.cell
def compare(after, before, mo, n_tokens, r_d, r_e, reward, rules, tree):
    # The library defines the reward once, in `discover_lib.core.reward`.
    earned = reward(tree, before, after, n_tokens, rules)
    assert abs(earned.total - (r_d + r_e)) < 1e-9
    parts = f"{earned.discovered:g} discovered, length penalty {earned.penalty:.3f}"
    mo.show_code(mo.stat(f"{earned.total:.3f}", label="R", caption=parts, bordered=True))
    return


@app.cell
def look_again(NAMED_RULES, after, before, mo, n_tokens, reward, tree):
    # The same reply under the named rules that draw one threshold per intent. The authors' code draws two.
    named = {name: make() for name, make in NAMED_RULES.items() if make().thresholds == 1}
    earned_by = {name: reward(tree, before, after, n_tokens, each) for name, each in named.items()}
    _lines = [{"rules": name, "R_d": each.discovered, "R_e": each.penalty} for name, each in earned_by.items()]
    mo.show_code(mo.ui.table(_lines, selection=None, show_column_summaries=False))
    return


@app.cell
def make_pair(assistants, mo, user):
    # Two replies judged against the same frozen state: the conversation continues with the better one (4.1).
    names = ("draft", "adaptive")
    rewards = {
        name: user.consider(user.ask(assistants.scripted_assistant(name, "svg_drawing"))).reward.total for name in names
    }
    _lines = [{"assistant": name, "reward": value} for name, value in rewards.items()]
    mo.show_code(mo.ui.table(_lines, selection=None, show_column_summaries=False))
    return


@app.cell
def count_silent_groups(UserSimulator, artifacts, assistants, group_of, mo, share_of, world):
    # GRPO learns from differences (4.1). How often do four replies of one script earn the same? n = 40 users.
    def silent(name, number):
        tree_of = world.builder.build(artifacts.generate_artifact("svg_drawing", "train", number)).tree
        someone = UserSimulator(tree_of, world.judge, world.voice, seed=number)
        replies = [someone.ask(assistants.scripted_assistant(name, "svg_drawing"), place) for place in range(4)]
        return not group_of([someone.consider(reply).reward.total for reply in replies]).signal

    scripts = ("draft", "ask", "options", "adaptive")
    counts = {name: sum(silent(name, number) for number in range(40)) for name in scripts}
    equal = [{"assistant": name, "equal rewards": str(share_of(count, 40))} for name, count in counts.items()]
    mo.show_code(mo.ui.table(equal, selection=None, show_column_summaries=False))
    return


@app.cell
def import_names():
    import marimo as mo

    from discover_lib import Rules, UserSimulator, reward
    from discover_lib.core.rules import NAMED_RULES
    from discover_lib.engines.miniature import artifacts, assistants, engine
    from discover_lib.metrics.intervals import share_of
    from discover_lib.train.grpo import group_of

    return NAMED_RULES, Rules, UserSimulator, artifacts, assistants, engine, group_of, mo, reward, share_of


if __name__ == "__main__":
    app.run()
