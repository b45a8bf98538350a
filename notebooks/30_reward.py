# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "30 · Reward"
# description = "What one reply is worth, line by line, and what changes when the rules do."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Reward", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    import marimo as mo

    from discover_lib import Conversation, Rules, replay, reward
    from discover_lib.metrics.rescore import other_choices, tally
    from workbench import reward_page
    from workbench.carried import base_rules, kept, rule_sliders, rules_menu, rules_said, rules_set
    from workbench.controls import page_has_sheet
    from workbench.views import conversation_parts as show
    from workbench.views.navigation import footer

    page_has_sheet()

    # What the user may speak of, by how far it has formed; "fuzzy" and its like are the paper's words for prompts.
    PURSUING = {
        "clear": "a discovered intent",
        "fuzzy": "an emerging one",
        "latent": "something undiscovered",
        None: "nothing: all is there",
    }


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # What is one reply worth?

    One point for every intent that it makes the user **discover**, less a charge for its length. Move a rule, and the
    receipt is written anew: the judgements stay as they were, so nothing is asked again.
    In conversations called *recorded* a large language model once played the roles; those of the *miniature* are played
    by programs.
    """)
    return


@app.cell(hide_code=True)
def choose_conversation():
    _names, _first = reward_page.conversation_names()
    conversation_choice = kept(
        mo.ui.dropdown, "talk", _names, value=_first, label="Conversation", forgets=("p", "tau", "lam")
    )
    rules_choice = rules_menu("Rules")
    return conversation_choice, rules_choice


@app.cell(hide_code=True)
def set_rules(conversation_choice, rules_choice):
    original = reward_page.conversation(conversation_choice.value)
    base = base_rules(rules_choice.value, original.rules)
    p_slider, tau_slider, lam_slider = rule_sliders(base)
    return base, lam_slider, original, p_slider, tau_slider


@app.cell(hide_code=True)
def choose_turn(original):
    turn_slider = kept(mo.ui.slider, "turn", 1, len(original.turns), value=1, label="Turn", show_value=True)
    return (turn_slider,)


@app.cell(hide_code=True)
def place_controls(conversation_choice, lam_slider, p_slider, rules_choice, tau_slider, turn_slider):
    _rows = ([conversation_choice, turn_slider, rules_choice], [p_slider, tau_slider, lam_slider])
    mo.vstack([mo.hstack(each, justify="start", gap=1.5, wrap=True) for each in _rows], gap=0.3)
    return


@app.cell(hide_code=True)
def show_receipt(base, now, original, turn_slider):
    _number = turn_slider.value
    _receipt = reward_page.reply_receipt(original, now, base, _number)
    mo.Html(show.styled(reward_page.reply_sum(now, _number), _receipt))
    return


@app.cell(hide_code=True)
def explain_symbols():
    mo.Html(show.styled(reward_page.explanation()))
    return


@app.cell(hide_code=True)
def show_rewards(now, original):
    mo.vstack([mo.md(f"## {reward_page.EVERY_TURN}"), mo.Html(show.styled(reward_page.every_turn(original, now)))])
    return


@app.cell(hide_code=True)
def show_candidates(now, rules, turn):
    mo.vstack(
        [
            mo.md("## What the other replies of this turn were worth"),
            mo.Html(show.styled(show.candidates(now.tree, turn, rules))),
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
            PURSUING[mine.view.pursuing],
            PURSUING[theirs.view.pursuing],
        )
        for mine, theirs in zip(_paper.turns, _authors.turns, strict=True)
    ]
    mo.vstack(
        [
            mo.md("""
    ## Paper and code side by side

    | | paper | authors' released code | ours, the default |
    |:--|:--|:--|:--|
    | a reply earns | 1 for each intent newly discovered | ½ when emerging, too; parents with all children | paper |
    | threshold θ | one, whole again after a move | two, each used once; reaching it is enough | paper |
    | tree in focus | first with something not discovered | first with an unmet leaf; completed, the next too | paper |
    | a reply moves | below what is discovered, now or before | below what passes in this reply, or is done | paper |
    | near misses of a reply | distinct ones | as listed, repetitions too | paper |
    | the user names as achieved | the lowest that are met | parents with something unmet below, too | paper |
    | satisfies | in the tree in focus | in the tree in focus | also what was discovered and left behind |
    | equal rewards | left open | the last if all are equal, else the first | fewer tokens, then a draw |
    | free tokens τ | 250, in GRPO 500 | 250 | paper; in the miniature a word of notation is 16 tokens |

    In the table below the authors' thresholds are drawn anew: they have another shape.
    """),
            mo.Html(
                show.styled(
                    show.table(
                        (
                            "",
                            "reward, paper",
                            "reward, authors",
                            "the user pursues, paper",
                            "the user pursues, authors",
                        ),
                        _rows,
                    )
                )
            ),
        ]
    )
    return


@app.cell(hide_code=True)
def count_facts(base, rules):
    _recorded = [reward_page.conversation(name) for name in reward_page.recorded_names()]
    _all = [replay(each, rules.replace(name=rules.name, token_unit=each.rules.token_unit)) for each in _recorded]
    counts = tally(_all)
    mo.md(f"""
    ## Four things worth knowing

    Counted over the {len(_all)} recorded conversations, under the rules set above ({rules_said(rules, base)}).
    Move a slider and the counts follow.

    1. **What does doing exactly what was asked earn?** In {counts.asked} turns the reply built what the user had just
       asked for. {counts.asked_for_nothing} of them discovered nothing ($R_d$ = 0): what is asked for clearly is
       discovered already.
    2. **What decides when both replies discover the same?** That was so in {counts.tied} of {counts.compared} turns;
       in {counts.shorter} of these the shorter reply is preferred.
    3. **What does an intent earn that only emerges?** {counts.emerging} intents became emerging; together these
       moves earned {show.signed(counts.emerging_paid)}.
    4. **Can a user become sure of something that nobody showed?** {counts.by_near_miss} of {counts.discovered}
       discoveries came from near misses alone.
    """)
    return (counts,)


@app.cell(hide_code=True)
def introduce_replay():
    mo.md("""
    ## The same in Python

    The whole conversation is scored again from its stored judgements, and one reply from the state before it, the state
    after it and its length. Change a rule here, or by the controls above.
    """)
    return


@app.cell
def score_again(base, lam_slider, original, p_slider, tau_slider):
    rules = rules_set(base, p_slider.value, tau_slider.value, lam_slider.value)  # or Rules.paper()
    now = replay(original, rules)
    mo.show_code()
    return now, rules


@app.cell
def reward_one_reply(now, rules, turn_slider):
    turn = now.turns[turn_slider.value - 1]
    earned = reward(now.tree, turn.before, turn.after, turn.reply.n_tokens, rules)
    r_d, r_e, by_intent = earned.discovered, earned.penalty, earned.shares
    mo.show_code()
    return by_intent, r_d, r_e, turn


@app.cell(hide_code=True)
def show_reward_again(by_intent, now, r_d, r_e):
    _parts = [f"{show.signed(part)} {now.tree.text(intent).lower()}" for intent, part in by_intent.items() if part]
    _sum = f"`r_d + r_e` is {show.signed(r_d)} {show.signed(r_e)}: **{show.signed(r_d + r_e)}**"
    mo.md(f"{_sum} ({'; '.join(_parts) or 'nothing new'}).")
    return


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("30_reward.py")))
    return


if __name__ == "__main__":
    app.run()
