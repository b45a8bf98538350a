# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "30 · Reward"
# description = "What one reply is worth, line by line, and what changes when the rules do."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Reward")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib import Conversation, Rules, replay, reward
    from discover_lib.app.carried import base_rules, rule_sliders, rules_menu, rules_set
    from discover_lib.app.controls import domain_labels
    from discover_lib.core.rollout import run_conversation
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import generate_artifact
    from discover_lib.engines.miniature.assistants import scripted_assistant
    from discover_lib.metrics.rescore import other_choices, tally
    from discover_lib.runs.recorded import load_recorded, recorded_index
    from discover_lib.views import conversation as show


@app.cell(hide_code=True)
def introduce():
    mo.md(r"""
    # What is one reply worth?

    $$R = R_d + R_e \qquad R_d = |I_{t+1}| - |I_t| \qquad R_e = -\min\bigl(\lambda \cdot \max(0,\ n - \tau),\ 1\bigr)$$

    $R_d$ counts the intents that the reply made the user **discover**; $R_e$ charges the $n - \tau$ tokens beyond a
    free allowance. An intent that a reply meets is discovered at once. One that it misses nearly, $k$ times, forms by
    degrees: it moves up one state if $p \cdot k$ exceeds its threshold $\theta$, else $\theta$ shrinks by $p \cdot k$.

    **You will see** the receipt of every turn of a conversation, and what it would say under other rules. The
    judgements stay as they were, so nothing has to be asked again. **Needs** nothing.
    """)
    return


@app.function(hide_code=True)
def miniature_conversation(domain: str) -> Conversation:
    """Two scripted assistants answer every turn of one miniature user; the better reply goes on."""
    world = engine(domain)
    tree = world.builder.build(generate_artifact(domain, "eval", 7)).tree
    assistants = [scripted_assistant(name, domain) for name in ("draft", "adaptive")]
    setting = {"engine": "miniature", "domain": domain, "assistants": ["draft", "adaptive"]}
    return run_conversation(tree, world.judge, world.voice, assistants, seed=7, setting=setting)


@app.cell(hide_code=True)
def load_recordings():
    recorded = {f"recorded: {each.title}": load_recorded(each.name)[0] for each in recorded_index() if each.sessions}
    live = {f"miniature: {label}": domain for label, domain in domain_labels().items()}  # run when chosen
    return live, recorded


@app.cell(hide_code=True)
def choose_conversation(live, recorded):
    _first = "recorded: night harbour"
    conversation_choice = mo.ui.dropdown(
        [*recorded, *live],
        value=_first if _first in recorded else next(iter(live)),
        label="Conversation",
    )
    rules_choice = rules_menu("Rules")
    mo.hstack([conversation_choice, rules_choice], justify="start", gap=2, wrap=True)
    return conversation_choice, rules_choice


@app.cell(hide_code=True)
def set_rules(conversation_choice, live, recorded, rules_choice):
    _name = conversation_choice.value
    original = recorded[_name] if _name in recorded else miniature_conversation(live[_name])
    base = base_rules(rules_choice.value, original.rules)
    p_slider, tau_slider, lam_slider = rule_sliders(base)
    mo.hstack([p_slider, tau_slider, lam_slider], justify="start", gap=2, wrap=True)
    return base, lam_slider, original, p_slider, tau_slider


@app.cell(hide_code=True)
def introduce_replay():
    mo.md("""
    The whole conversation is scored again from its stored judgements; change the rules here, or by the controls above:
    """)
    return


@app.cell
def score_again(base, lam_slider, original, p_slider, tau_slider):
    rules = rules_set(base, p_slider.value, tau_slider.value, lam_slider.value)  # or Rules.paper().replace(p=0.5)
    now = replay(original, rules)
    mo.show_code()
    return now, rules


@app.cell(hide_code=True)
def show_rewards(now, original, rules):
    _series = {
        f"as it was ({original.rules.name} rules)": [turn.candidate.reward.total for turn in original.turns],
        f"now ({rules.name} rules)": [turn.candidate.reward.total for turn in now.turns],
    }
    mo.vstack([mo.md("## Rewards, turn by turn"), mo.Html(show.styled(show.reward_bars(_series)))])
    return


@app.cell(hide_code=True)
def choose_turn(original):
    turn_slider = mo.ui.slider(1, len(original.turns), value=1, label="Turn", show_value=True)
    mo.vstack(
        [
            mo.md("""
    ## The receipt

    One turn, line by line: what moved, why, and what it earned. The reward is a function of the state before the reply,
    the state after it, and the reply's length:
    """),
            turn_slider,
        ]
    )
    return (turn_slider,)


@app.cell
def reward_one_reply(now, rules, turn_slider):
    turn = now.turns[turn_slider.value - 1]
    earned = reward(now.tree, turn.before, turn.after, turn.reply.n_tokens, rules)
    r_d, r_e, by_intent = earned.discovered, earned.penalty, earned.shares
    mo.show_code()
    return by_intent, r_d, r_e, turn


@app.cell(hide_code=True)
def show_reward(by_intent, now, r_d, r_e):
    _parts = [f"{show.signed(part)} {now.tree.text(intent).lower()}" for intent, part in by_intent.items() if part]
    _sum = f"`r_d + r_e` is {show.signed(r_d)} {show.signed(r_e)}: **{show.signed(r_d + r_e)}**"
    mo.md(f"{_sum} ({'; '.join(_parts) or 'nothing new'}).")
    return


@app.cell(hide_code=True)
def show_receipt(now, original, rules, turn, turn_slider):
    _receipt = show.receipt(original.tree, original.turns[turn_slider.value - 1], original.rules, explains=True)
    _then = show.panel("As it was", _receipt)
    _today = show.panel("Now", show.receipt(now.tree, turn, rules, explains=True))
    _reply = show.panel("The reply", show.rich_text(turn.reply.text))
    mo.Html(show.styled(show.beside(_then, _today), _reply))
    return


@app.cell(hide_code=True)
def show_candidates(now, turn):
    mo.vstack(
        [
            mo.md("### The replies of this turn, as they are worth now"),
            mo.Html(show.styled(show.candidates(now.tree, turn, now.rules))),
        ]
    )
    return


@app.function(hide_code=True)
def differences(was: Conversation, now: Conversation) -> list[tuple[str, str, str]]:
    """Intents that end in another state: their text, the state then, the state now."""
    return [
        (intent.text, was.state[intent.id].name.lower(), now.state[intent.id].name.lower())
        for intent in was.tree.intents.values()
        if was.state[intent.id] is not now.state[intent.id]
    ]


@app.function(hide_code=True)
def choice_row(choice) -> tuple[str, str, str, str]:
    """A turn in which another reply is preferred, as a row: turn, then, now, and the rewards now."""
    names = [candidate.reply.assistant for candidate in choice.candidates]
    worth = [f"{name} {show.signed(each.reward.total)}" for name, each in zip(names, choice.candidates, strict=True)]
    return str(choice.turn), names[choice.then], names[choice.now], ", ".join(worth)


@app.cell(hide_code=True)
def show_changes(now, original):
    _changed = differences(original, now)
    _flipped = [choice_row(choice) for choice in other_choices(original, now)]
    _parts = [mo.md("## What the rules change")]
    if now.rules == original.rules:
        _parts.append(mo.md("Nothing yet: these are the rules that the conversation was run under. Move a slider."))
    else:
        _parts.append(
            mo.Html(show.styled(show.table(("Intent", "Ends as it was", "Ends now"), _changed)))
            if _changed
            else mo.md("Every intent ends in the same state as before.")
        )
        _parts.append(
            mo.Html(
                show.styled(
                    show.table(
                        ("Turn", "Chosen then", "Preferred now", "Rewards now"),
                        _flipped,
                        "Another reply would have been chosen. The conversation is not re-run, so later turns stay.",
                    )
                )
            )
            if _flipped
            else mo.md("The same reply is preferred in every turn.")
        )
    mo.vstack(_parts)
    return


@app.cell(hide_code=True)
def compare_rules(original):
    _unit = original.rules.token_unit
    _paper = replay(original, Rules.paper().replace(token_unit=_unit))
    _authors = replay(original, Rules.authors().replace(token_unit=_unit))
    _rows = [
        (
            f"turn {mine.index}",
            show.signed(mine.candidate.reward.total),
            show.signed(theirs.candidate.reward.total),
            mine.view.pursuing or "nothing missing",
            theirs.view.pursuing or "nothing missing",
        )
        for mine, theirs in zip(_paper.turns, _authors.turns, strict=True)
    ]
    mo.vstack(
        [
            mo.md("""
    ## Paper and code side by side

    The authors' released code differs from the paper: it pays half a point when an intent is only emerging, lets a
    parent count when all its children do, draws two thresholds per intent, and moves its focus by satisfaction.
    Its thresholds have another shape, so they are drawn anew here.
    """),
            mo.Html(
                show.styled(
                    show.table(("", "R, paper", "R, authors", "user pursues, paper", "user pursues, authors"), _rows)
                )
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def count_facts(recorded, rules):
    _all = [
        replay(each, rules.replace(name=rules.name, token_unit=each.rules.token_unit)) for each in recorded.values()
    ]
    counts = tally(_all)
    mo.md(f"""
    ## Four things worth knowing

    Counted over the {len(_all)} recorded conversations, under the rules set above ({rules.name}). Move a slider and
    the counts follow.

    1. **What does doing exactly what was asked earn?** In {counts.asked} turns the user had said clearly what was
       missing and the next reply delivered some of it. In {counts.asked_for_nothing} of these $R_d$ was 0: what is
       asked for clearly is discovered already.
    2. **What decides when both replies discover the same?** That was so in {counts.tied} of {counts.compared} turns;
       in {counts.shorter} of these the shorter reply is preferred.
    3. **What does a half-formed wish earn?** {counts.emerging} intents became emerging; together these moves earned
       {show.signed(counts.emerging_paid)}.
    4. **Can a user become sure of something that nobody showed?** {counts.by_near_miss} of {counts.discovered}
       discoveries came from near misses alone.
    """)
    return (counts,)


if __name__ == "__main__":
    app.run()
