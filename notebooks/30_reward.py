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
    from dataclasses import dataclass

    import marimo as mo

    from discover_lib import Conversation, Discovery, Rules, Turn, replay
    from discover_lib.app.controls import domain_labels
    from discover_lib.base.seeds import derive_seed
    from discover_lib.core.rollout import run_conversation
    from discover_lib.core.simulator import choose_candidate
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import generate_artifact
    from discover_lib.engines.miniature.assistants import scripted_assistant
    from discover_lib.runs.recorded import load_recorded, recorded_index
    from discover_lib.views import conversation as show

    RULES = {"paper": Rules.paper, "paper, GRPO": Rules.paper_grpo, "authors' code": Rules.authors}

    @dataclass(frozen=True)
    class Tally:
        """Counts over recorded conversations, under one set of rules."""

        asked: int  # turns after which something clear had been missing, and the chosen reply satisfied some of it
        asked_for_nothing: int  # of these, turns with R_d = 0
        compared: int  # turns with two candidates
        tied: int  # of these, turns in which both discover the same
        shorter: int  # of these, turns in which the shorter one is preferred
        emerging: int  # moves from undiscovered to emerging
        emerging_paid: float  # what these moves earned
        discovered: int  # discoveries
        by_near_miss: int  # of these, discoveries by near misses alone


@app.cell(hide_code=True)
def _():
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
def _():
    recorded = {f"recorded: {each.title}": load_recorded(each.name)[0] for each in recorded_index() if each.sessions}
    live = {f"miniature: {label}": domain for label, domain in domain_labels().items()}  # run when chosen
    return live, recorded


@app.cell(hide_code=True)
def _(live, recorded):
    _first = "recorded: night harbour"
    conversation_choice = mo.ui.dropdown(
        [*recorded, *live],
        value=_first if _first in recorded else next(iter(live)),
        label="Conversation",
    )
    rules_choice = mo.ui.dropdown(list(RULES), value="paper", label="Rules")
    mo.hstack([conversation_choice, rules_choice], justify="start", gap=2, wrap=True)
    return conversation_choice, rules_choice


@app.cell(hide_code=True)
def _(conversation_choice, live, recorded, rules_choice):
    _name = conversation_choice.value
    original = recorded[_name] if _name in recorded else miniature_conversation(live[_name])
    base = RULES[rules_choice.value]().replace(token_unit=original.rules.token_unit)
    p_slider = mo.ui.slider(0, 1, 0.05, value=base.p, label="p, weight of a near miss", show_value=True)
    tau_slider = mo.ui.slider(0, 1000, 10, value=base.tau, label="τ, free tokens", show_value=True)
    lam_slider = mo.ui.slider(0, 10, 0.5, value=base.lam * 1000, label="1000 λ, price of 1000 tokens", show_value=True)
    mo.hstack([p_slider, tau_slider, lam_slider], justify="start", gap=2, wrap=True)
    return base, lam_slider, original, p_slider, tau_slider


@app.cell(hide_code=True)
def _(base, lam_slider, original, p_slider, tau_slider):
    _wanted = {"p": p_slider.value, "tau": tau_slider.value, "lam": lam_slider.value / 1000}
    _changes = {name: value for name, value in _wanted.items() if value != getattr(base, name)}
    rules = base.replace(**_changes)
    now = replay(original, rules)
    return now, rules


@app.cell(hide_code=True)
def _(now, original, rules):
    _series = {
        f"as it was ({original.rules.name} rules)": [turn.candidate.reward.total for turn in original.turns],
        f"now ({rules.name} rules)": [turn.candidate.reward.total for turn in now.turns],
    }
    mo.vstack([mo.md("## Rewards, turn by turn"), mo.Html(show.styled(show.reward_bars(_series)))])
    return


@app.cell(hide_code=True)
def _(original):
    turn_slider = mo.ui.slider(1, len(original.turns), value=1, label="Turn", show_value=True)
    mo.vstack([mo.md("## The receipt"), turn_slider])
    return (turn_slider,)


@app.cell(hide_code=True)
def _(now, original, rules, turn_slider):
    _was, _is = original.turns[turn_slider.value - 1], now.turns[turn_slider.value - 1]
    _then = show.panel("As it was", show.receipt(original.tree, _was, original.rules))
    _today = show.panel("Now", show.receipt(now.tree, _is, rules))
    _reply = show.panel("The reply", show.rich_text(_is.reply.text))
    mo.Html(show.styled(show.beside(_then, _today), _reply))
    return


@app.cell(hide_code=True)
def _(now, original, turn_slider):
    mo.vstack(
        [
            mo.md("### The replies of this turn, as they are worth now"),
            mo.Html(show.styled(show.candidates(original.tree, now.turns[turn_slider.value - 1], now.rules))),
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
def preferred(conversation: Conversation, turn: Turn) -> int:
    """The candidate that the conversation's rules prefer in this turn."""
    return choose_candidate(turn.candidates, conversation.rules, derive_seed(conversation.seed, "tie", turn.index))


@app.function(hide_code=True)
def flips(was: Conversation, now: Conversation) -> list[tuple[str, str, str, str]]:
    """Turns in which another candidate is preferred now: turn, then, now, and the rewards now."""
    rows = []
    for before, after in zip(was.turns, now.turns, strict=True):
        then, today = preferred(was, before), preferred(now, after)
        if then != today:
            worth = [f"{each.reply.assistant} {show.signed(each.reward.total)}" for each in after.candidates]
            names = [each.reply.assistant for each in after.candidates]
            rows.append((str(before.index), names[then], names[today], ", ".join(worth)))
    return rows


@app.cell(hide_code=True)
def _(now, original):
    _changed, _flipped = differences(original, now), flips(original, now)
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
def _(original):
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


@app.function(hide_code=True)
def tally(conversations: list[Conversation]) -> Tally:
    """Count what the chosen replies of conversations did."""
    asked = [
        (before.view, turn.candidate)
        for each in conversations
        for before, turn in zip(each.turns, each.turns[1:], strict=False)
        if before.view.pursuing == "clear" and set(before.view.items) & newly_satisfied(turn)
    ]
    pairs = [(each, turn) for each in conversations for turn in each.turns if len(turn.candidates) == 2]
    tied = [(each, turn) for each, turn in pairs if len({one.reward.discovered for one in turn.candidates}) == 1]
    moves = [
        (turn.candidate, move) for each in conversations for turn in each.turns for move in turn.candidate.transitions
    ]
    formed = [(chosen, move) for chosen, move in moves if move.moved and move.after is Discovery.EMERGING]
    found = [move for _, move in moves if move.moved and move.after is Discovery.DISCOVERED]
    return Tally(
        asked=len(asked),
        asked_for_nothing=sum(chosen.reward.discovered == 0 for _, chosen in asked),
        compared=len(pairs),
        tied=len(tied),
        shorter=sum(prefers_shorter(each, turn) for each, turn in tied),
        emerging=len(formed),
        emerging_paid=sum(chosen.reward.shares.get(move.intent_id, 0.0) for chosen, move in formed),
        discovered=len(found),
        by_near_miss=sum(move.cause == "tangential" for move in found),
    )


@app.function(hide_code=True)
def prefers_shorter(conversation: Conversation, turn: Turn) -> bool:
    lengths = [each.reply.n_tokens for each in turn.candidates]
    return lengths[preferred(conversation, turn)] == min(lengths) < max(lengths)


@app.function(hide_code=True)
def newly_satisfied(turn: Turn) -> set[str]:
    return {move.intent_id for move in turn.candidate.transitions if move.satisfied}


@app.cell(hide_code=True)
def _(recorded, rules):
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
