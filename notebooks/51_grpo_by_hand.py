# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "51 · GRPO by hand"
# description = "One prompt, a group of replies, their rewards and advantages, and what one update does with them."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="GRPO by hand")

with app.setup(hide_code=True):
    import html

    import marimo as mo

    from discover_lib import Conversation
    from discover_lib.app.controls import domain_labels
    from discover_lib.base.seeds import derive_seed
    from discover_lib.core.conversation import Candidate
    from discover_lib.core.rollout import run_conversation
    from discover_lib.dataset.rows import GRPO_TAU, Origin, RowOptions, examples, restore
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
    from discover_lib.engines.miniature.assistants import scripted_assistant
    from discover_lib.metrics.intervals import share_of
    from discover_lib.train.grpo.group import Group, group_of
    from discover_lib.views import conversation as show
    from discover_lib.views import training as show_training

    SCRIPTS = ("draft", "adaptive", "options", "random")  # who stands in where no model is
    LETTERS = "ABCDEFGH"
    POLICIES = ("draft", "adaptive", "options", "ask")  # whose groups are counted at the end
    SURVEYED = 40  # users, for that


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    # What does one GRPO update learn from?

    The model answers the **same prompt** several times. A simulated user, restored to the very state that belongs to
    this prompt, rewards every reply. What counts is not the reward but how it compares with the rest of the group:

    $$A_i = \frac{r_i - \bar r}{s + 0.0001}$$

    Replies with $A_i > 0$ are made likelier, the others less likely.

    **You will see** one such group from prompt to update, every number computed in front of you. **Needs** nothing;
    where the tiny language model has been made (page 50 makes it), it writes the replies and one real update is taken
    on it.
    """)
    return


@app.cell(hide_code=True)
def _():
    domain_choice = mo.ui.dropdown(domain_labels(), value="SVG drawing", label="Domain")
    user_choice = mo.ui.slider(0, 49, 1, value=3, label="User", show_value=True)
    turn_choice = mo.ui.slider(1, 5, 1, value=2, label="Turn to answer", show_value=True)
    tau_choice = mo.ui.slider(0, 1000, 25, value=GRPO_TAU, label="τ, free tokens", show_value=True)
    mo.vstack(
        [
            mo.md("## 1 · A prompt, and the user behind it"),
            mo.hstack([domain_choice, user_choice, turn_choice, tau_choice], justify="start", gap=2, wrap=True),
        ]
    )
    return domain_choice, tau_choice, turn_choice, user_choice


@app.function(hide_code=True)
def conversation_of(domain: str, user: int) -> Conversation:
    """The adaptive assistant with one user of the artifacts to train on."""
    world = engine(domain)
    built = world.builder.build(generate_artifact(domain, "train", user % SPLIT_SIZES["train"]))
    setting = {"engine": "miniature", "domain": domain, "artifact": f"user {user}", "assistants": ["adaptive"]}
    assistants = [scripted_assistant("adaptive", domain)]
    return run_conversation(built.tree, world.judge, world.voice, assistants, seed=user, setting=setting)


@app.function(hide_code=True)
def prompt_row(conversation: Conversation, turn: int, tau: float) -> dict:
    """The row that a GRPO trainer gets of one turn: the prompt, and the user's state as JSON."""
    options = RowOptions(grpo_tau=tau)
    rows = list(examples("prompt", [conversation], Origin("this page", "miniature", "miniature"), options))
    return rows[min(turn, len(rows)) - 1].row


@app.cell(hide_code=True)
def _(domain_choice, tau_choice, turn_choice, user_choice):
    domain = domain_choice.value
    world = engine(domain)
    row = prompt_row(conversation_of(domain, user_choice.value), turn_choice.value, tau_choice.value)
    user = restore(row, world.judge, world.voice)
    return domain, row, user, world


@app.cell(hide_code=True)
def _(row, user):
    _outline = show.outline(user.tree, user.state, user.rules, (), user.focus)
    _size = f"{len(row['state']):,} characters of JSON"
    mo.Html(
        show.styled(
            show.beside(
                show.panel("The prompt", show.chat(user.conversation), latest=True),
                show.panel("The user’s state, which the model never sees", show.state_legend(), _outline),
            ),
            f'<p class="dl-quiet">Both lie in one training row: column <code>prompt</code>, and column '
            f"<code>state</code> ({_size}), from which the user was restored here exactly as a trainer restores it. "
            f"Rules: {html.escape(user.rules.name)}.</p>",
        )
    )
    return


# -- the group ---------------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _():
    def found():
        """The tiny base model where it has been made and torch is here; else why scripts stand in."""
        try:
            from discover_lib.engines.local.tiny_model import CARD, base_folder
            from discover_lib.train.grpo.group_step import GroupModel
        except ImportError as error:
            return None, f"torch and its companions are not installed ({error.name}); make train adds them"
        folder = base_folder()
        if not (folder / CARD).is_file():
            return None, "the tiny model has not been made yet; page 50 makes it in a few minutes"
        return GroupModel(folder), ""

    model, missing = found()
    return missing, model


@app.cell(hide_code=True)
def _(missing, model):
    size_choice = mo.ui.slider(2, 8, 1, value=4, label="G, replies in the group", show_value=True)
    temperature_choice = mo.ui.slider(0.3, 1.5, 0.1, value=1.0, label="Temperature", show_value=True)
    draw_choice = mo.ui.slider(0, 30, 1, value=0, label="Draw", show_value=True)
    _who = (
        "The **tiny base model** writes them: a real language model of under 3 million parameters, in the miniature's "
        "notation, which is rendered here."
        if model
        else f"**Scripts** write them ({', '.join(SCRIPTS)}, in turn), since {missing}. A model's group would be "
        "samples of one policy."
    )
    mo.vstack(
        [
            mo.md(f"## 2 · A group of replies, judged\n\n{_who}"),
            mo.hstack(
                [size_choice, *([temperature_choice] if model else []), draw_choice], justify="start", gap=2, wrap=True
            ),
        ]
    )
    return draw_choice, size_choice, temperature_choice


@app.cell(hide_code=True)
def _(model):
    def write_group(user, domain, size, temperature, seed):
        """`size` replies to where the user stands, and what the model sampled for them (None for scripts)."""
        if model is None:
            writers = [scripted_assistant(SCRIPTS[place % len(SCRIPTS)], domain) for place in range(size)]
            seeds = [derive_seed(seed, "reply", place) for place in range(size)]
            return [each.reply(user.messages, seed) for each, seed in zip(writers, seeds, strict=True)], None
        from discover_lib.engines.local.tiny_language import decode, encode_messages

        sampled = model.sample(encode_messages(user.messages, domain), size, temperature=temperature, seed=seed)
        return [decode(each.text, domain, user.messages, "tiny") for each in sampled], sampled

    return (write_group,)


@app.cell(hide_code=True)
def _(domain, draw_choice, size_choice, temperature_choice, user, write_group):
    _replies, sampled = write_group(
        user, domain, size_choice.value, temperature_choice.value, derive_seed(draw_choice.value, "group")
    )
    candidates = [user.consider(each) for each in _replies]
    return candidates, sampled


@app.function(hide_code=True)
def reward_of(candidate: Candidate) -> float | None:
    """Its reward, or None where the judgement failed."""
    return None if candidate.reward is None else candidate.reward.total


@app.function(hide_code=True)
def names_of(candidates) -> list[str]:
    """A letter each, with the script's name where one wrote it."""
    return [f"{letter} · {each.reply.assistant}" for letter, each in zip(LETTERS, candidates, strict=False)]


@app.cell(hide_code=True)
def _(candidates, user):
    mo.Html(
        show_training.styled(
            show_training.replies(dict(zip(names_of(candidates), candidates, strict=True))),
            show.panel("What each would discover", show.candidates(user.tree, candidates, user.rules)),
            '<p class="dl-quiet">Every reply is judged against the same frozen state. What the user would discover '
            "counts +1 each; tokens beyond τ are charged. Nothing happens to the user here.</p>",
        )
    )
    return


# -- advantages --------------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _():
    scale_choice = mo.ui.checkbox(value=True, label='divide by the standard deviation (scale_rewards="group")')
    mo.vstack([mo.md("## 3 · From rewards to advantages"), scale_choice])
    return (scale_choice,)


@app.cell(hide_code=True)
def _(candidates, scale_choice):
    group = group_of([reward_of(each) for each in candidates], scaled=scale_choice.value)
    mo.Html(
        show_training.styled(
            show.panel("The group", show_training.group_arithmetic(group, names_of(candidates))),
            f'<p class="dl-quiet">{html.escape(said_of(group))}</p>',
        )
    )
    return (group,)


@app.function(hide_code=True)
def said_of(group: Group) -> str:
    """What a group teaches, in words."""
    if not group.signal:
        return (
            "All scored rewards are equal, so every advantage is 0 and this group teaches nothing: the replies were "
            "paid for and leave no trace. Another draw, a higher temperature or a larger group may bring a difference."
        )
    scored = [each for each in group.advantages if each is not None]
    better = sum(each > 0 for each in scored)
    how = (
        "Divided by their spread, a group whose rewards hardly differ pushes as hard as one in which they differ a lot."
        if group.scaled
        else "Not divided, a group pushes harder the more its rewards differ."
    )
    return f"{better} of {len(scored)} replies are better than the group's mean and are made likelier. {how}"


# -- the update --------------------------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _(missing, model):
    rate_choice = mo.ui.dropdown(
        {"5e-6 (paper, for 8B models)": 5e-6, "1e-4": 1e-4, "5e-4": 5e-4, "2e-3": 2e-3},
        value="5e-4",
        label="Learning rate",
    )
    steps_choice = mo.ui.slider(1, 8, 1, value=1, label="Updates on this group", show_value=True)
    _intro = """
    ## 4 · What the update does

    The gradient of every token's log-probability, times its reply's advantage, through AdamW into a fresh LoRA adapter.
    Bars show how much likelier (up) or less likely (down) each token became, in nats; tokens that several replies share
    are pulled both ways. The base model itself stays as it is, so change a slider and the step is taken anew.
    """
    _without = f"\n\nNo update can be taken here: {missing}."
    mo.vstack(
        [
            mo.md(_intro if model else "## 4 · What the update does" + _without),
            *([mo.hstack([rate_choice, steps_choice], justify="start", gap=2, wrap=True)] if model else []),
        ]
    )
    return rate_choice, steps_choice


@app.cell(hide_code=True)
def _(
    candidates,
    domain,
    group,
    model,
    rate_choice,
    sampled,
    steps_choice,
    temperature_choice,
    user,
):
    mo.stop(model is None)
    from discover_lib.engines.local.tiny_language import encode_messages

    step = model.step(
        encode_messages(user.messages, domain),
        sampled,
        group.advantages,
        learning_rate=rate_choice.value,
        temperature=temperature_choice.value,
        steps=steps_choice.value,
    )
    _most = max((abs(b - a) for each in step.replies for a, b in zip(each.before, each.after, strict=True)), default=0)
    _panels = [
        show.panel(
            f"{name}: advantage {show.signed(advantage or 0)}, log-probability {show.signed(round(each.change, 3))}",
            show_training.token_changes(each.tokens, each.before, each.after, _most),
        )
        for name, advantage, each in zip(names_of(candidates), group.advantages, step.replies, strict=True)
    ]
    _sum = (
        f"Distance from the old policy: KL = {step.kl:.2e} nats per token. Norm of the gradient: "
        f"{step.gradient_norm:.3g}. A penalty on the distance from a reference starts at 0: before the first update "
        "both are the same model."
    )
    mo.Html(show_training.styled(*_panels, f'<p class="dl-quiet">{_sum}</p>'))
    return (step,)


# -- groups that teach nothing -----------------------------------------------------------------------------------------


@app.cell(hide_code=True)
def _():
    own_choice = mo.ui.array([mo.ui.number(-1, 15, 0.05, value=1.0, label=letter) for letter in "ABCD"])
    mo.vstack(
        [
            mo.md("""
    ## 5 · Groups that teach nothing

    Rewards of your own: change one of them and watch what a difference of 0.05 becomes.
    """),
            mo.hstack(list(own_choice), justify="start", gap=1, wrap=True),
        ]
    )
    return (own_choice,)


@app.cell(hide_code=True)
def _(own_choice, scale_choice):
    own_group = group_of(
        [each if each is None else float(each) for each in own_choice.value], scaled=scale_choice.value
    )
    mo.Html(
        show_training.styled(
            show.panel("Your group", show_training.group_arithmetic(own_group, list("ABCD"))),
            f'<p class="dl-quiet">{html.escape(said_of(own_group))}</p>',
        )
    )
    return (own_group,)


@app.cell(hide_code=True)
def _(
    domain,
    model,
    size_choice,
    tau_choice,
    temperature_choice,
    turn_choice,
    world,
    write_group,
):
    def written_by(policy):
        """Who writes a whole group: the model's samples, or one script with other seeds."""

        def write(user, seed):
            if policy is None:
                return write_group(user, domain, size_choice.value, temperature_choice.value, seed)[0]
            script = scripted_assistant(policy, domain)
            return [script.reply(user.messages, derive_seed(seed, place)) for place in range(size_choice.value)]

        return write

    def surveyed(n_users):
        """Writer → how many of the users' groups at this turn have no signal."""
        writers = {"the tiny base model": written_by(None)} if model else {}
        writers |= {f"script: {policy}": written_by(policy) for policy in POLICIES}
        found = dict.fromkeys(writers, 0)
        for number in range(n_users):
            row = prompt_row(conversation_of(domain, number), turn_choice.value, tau_choice.value)
            user = restore(row, world.judge, world.voice)
            for name, write in writers.items():
                replies = write(user, derive_seed(number, "survey"))
                found[name] += not group_of([reward_of(user.consider(each)) for each in replies]).signal
        return {name: share_of(silent, n_users) for name, silent in found.items()}

    silent = surveyed(SURVEYED)
    _caption = (
        f"Groups of {size_choice.value} at turn {turn_choice.value} in which all rewards are equal "
        f"(n = {SURVEYED} users, 95 % Wilson interval). Every group is written by one policy."
    )
    mo.vstack(
        [
            mo.md("""
    How often does that happen? It depends on who writes: a policy that always does the same kind of thing is paid the
    same every time, and has nothing to compare.
    """),
            mo.Html(
                show.styled(
                    show.table(
                        ("Who writes the group", "share without a signal"),
                        [(name, str(each)) for name, each in silent.items()],
                        _caption,
                    )
                )
            ),
        ]
    )
    return (silent,)


if __name__ == "__main__":
    app.run()
