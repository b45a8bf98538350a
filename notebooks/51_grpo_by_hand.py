# /// script
# requires-python = ">=3.11"
#
# [tool.marimo.opengraph]
# title = "51 · GRPO by hand"
# description = "One prompt, a group of replies, their rewards and advantages, and what one update does with them."
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="GRPO by hand", css_file="../workbench/views/static/workbench.css")

with app.setup(hide_code=True):
    from dataclasses import dataclass

    import marimo as mo

    from discover_lib.base.files import read_json
    from discover_lib.base.seeds import derive_seed
    from discover_lib.core.rollout import run_conversation
    from discover_lib.dataset.rows import GRPO_TAU, Origin, RowOptions, examples, restore
    from discover_lib.engines.miniature import engine
    from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact
    from discover_lib.engines.miniature.assistants import scripted_assistant
    from discover_lib.engines.spec import MINIATURE
    from discover_lib.metrics.intervals import share_of
    from discover_lib.train.backend import missing_libraries
    from discover_lib.train.grpo.group import group_of
    from discover_lib.train.recipes import Recipe
    from workbench import controls
    from workbench.carried import kept
    from workbench.panel import trained_earlier
    from workbench.views import conversation_parts as show
    from workbench.views import training as show_training
    from workbench.views.navigation import footer

    controls.page_has_sheet()
    SCRIPTS = ("draft", "adaptive", "options", "random")  # who stands in where no model is
    LETTERS = "ABCDEFGH"
    POLICIES, SURVEYED = ("draft", "adaptive", "options", "ask"), 40  # whose groups are counted, with how many users
    RECIPE = Recipe.paper()
    CLIP = RECIPE.grpo.epsilon  # a token's probability ratio beyond 1 ± this earns no more
    LORA = {"r": RECIPE.lora.r, "lora_alpha": RECIPE.lora.alpha, "target_modules": list(RECIPE.lora.targets)}

    @dataclass(frozen=True)
    class Update:
        """What an update did: log-probabilities (nats) of each reply's tokens before and after it."""

        before: tuple[tuple[float, ...], ...]
        after: tuple[tuple[float, ...], ...]
        kl: float  # estimated divergence of the new from the old policy, in nats per token
        gradient_norm: float  # of the first step, before clipping


@app.cell(hide_code=True)
def introduce():
    mo.md("""
    # What does one GRPO update learn from?

    From differences within a **group**: several replies to the same prompt, each rewarded by the same simulated user.
    What beats the mean of its group is made likelier, what stays below it less likely.
    """)
    return


@app.cell(hide_code=True)
def show_picture(candidates, group):
    _picture = show_training.group_picture(group, names_of(candidates))
    mo.Html(show_training.styled(show.panel("One group: what each reply earned, and what the update does", _picture)))
    return


@app.cell(hide_code=True)
def choose_prompt():
    domain_choice = kept(mo.ui.dropdown, "domain", controls.domain_labels(), value="SVG drawing", label="Domain")
    user_choice = kept(mo.ui.slider, "user", 0, 49, 1, value=3, label="User", show_value=True)
    turn_choice = kept(mo.ui.slider, "turn", 1, 5, 1, value=2, label="Turn to answer", show_value=True)
    tau_choice = kept(mo.ui.slider, "tau", 0, 1000, 25, value=GRPO_TAU, label="free tokens τ", show_value=True)
    mo.vstack(
        [
            mo.md("## 1 · A prompt, and the user behind it\n\nOne row of training data, as a trainer reads it:"),
            mo.hstack([domain_choice, user_choice, turn_choice, tau_choice], justify="start", gap=2, wrap=True),
        ]
    )
    return domain_choice, tau_choice, turn_choice, user_choice


@app.function(hide_code=True)
def prompt_row(domain: str, user: int, turn: int, tau: float) -> dict:
    """What a GRPO trainer gets of a turn of *adaptive* with one user: the prompt, and the user's state as JSON."""
    world = engine(domain)
    tree = world.builder.build(generate_artifact(domain, "train", user % SPLIT_SIZES["train"])).tree
    setting = {"engine": "miniature", "domain": domain, "artifact": f"user {user}", "assistants": ["adaptive"]}
    adaptive = [scripted_assistant("adaptive", domain)]
    talk = run_conversation(tree, world.judge, world.voice, adaptive, seed=user, setting=setting)
    rows = list(examples("prompt", [talk], Origin("this page", MINIATURE, MINIATURE), RowOptions(grpo_tau=tau)))
    return rows[min(turn, len(rows)) - 1].row


@app.cell
def restore_user(domain_choice, tau_choice, turn_choice, user_choice):
    domain = domain_choice.value
    world = engine(domain)
    row = prompt_row(domain, user_choice.value, turn_choice.value, tau_choice.value)
    user = restore(row, world.judge, world.voice)
    mo.show_code()
    return domain, row, user, world


@app.cell(hide_code=True)
def show_prompt(row, user):
    _outline = show.outline(user.tree, user.state, user.rules, (), user.focus)
    mo.Html(
        show.styled(
            show.beside(
                show.panel("The prompt", show.chat(user.conversation), latest=True),
                show.panel("The user’s state, which the model never sees", show.state_legend(), _outline),
            ),
            show.quiet(
                f"Both lie in one training row: column “prompt”, and column “state” ({len(row['state']):,} characters "
                f"of JSON), from which the user was restored as a trainer restores it. Rules: {user.rules.name}."
            ),
        )
    )
    return


@app.cell(hide_code=True)
def load_model():
    def found():
        """The tiny base model and its tokenizer if torch is installed; else why scripts replace it."""
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer

            from discover_lib.engines.local.names import base_folder
        except ImportError as error:
            return None, None, f"torch and its companions are not installed ({error.name}); make train adds them"
        folder = base_folder()
        torch.set_num_threads(1)
        loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        return loaded, AutoTokenizer.from_pretrained(folder), ""

    model, tokenizer, missing = found()
    return missing, model, tokenizer


@app.cell(hide_code=True)
def choose_group(missing, model):
    size_choice = kept(mo.ui.slider, "size", 2, 8, 1, value=4, label="Replies in the group", show_value=True)
    temperature_choice = kept(
        mo.ui.slider, "temperature", 0.3, 1.5, 0.1, value=1.0, label="Temperature", show_value=True
    )
    draw_choice = kept(mo.ui.slider, "draw", 0, 30, 1, value=1, label="Draw", show_value=True)
    _who = (
        "The **tiny base model** writes them: a real language model of 0.6 million parameters, in the miniature's "
        "notation, which is rendered here."
        if model
        else f"**Scripts** write them ({', '.join(SCRIPTS)}, in turn), since {missing}. A model's group would be "
        "samples of one policy."
    )
    _controls = [size_choice, *([temperature_choice] if model else []), draw_choice]
    mo.vstack(
        [
            mo.md(f"## 2 · A group of replies, judged\n\n{_who}"),
            mo.hstack(_controls, justify="start", gap=2, wrap=True),
        ]
    )
    return draw_choice, size_choice, temperature_choice


@app.cell(hide_code=True)
def introduce_sampling():
    mo.md("""
    ### Sample

    The policy itself writes the group, at the temperature at which its probabilities are taken later. A reply is the
    list of its token ids, up to the end mark.
    """)
    return


@app.function
def prompt_ids(tokenizer, messages):
    """The conversation so far as token ids, up to where the assistant begins."""
    import torch

    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    return torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"])


@app.function
def sample(model, tokenizer, prompt, n, *, temperature, seed, max_tokens=96):
    """`n` replies to one prompt as token ids; the same seed, the same replies."""
    import torch

    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        written = model.generate(
            prompt[None].expand(n, -1),
            attention_mask=torch.ones(n, len(prompt), dtype=torch.long),
            do_sample=True,
            temperature=temperature,
            top_k=0,
            top_p=1.0,
            max_new_tokens=max_tokens,
            pad_token_id=tokenizer.pad_token_id,
        )
    replies, end = written[:, len(prompt) :].tolist(), tokenizer.eos_token_id
    return [ids[: ids.index(end) + 1] if end in ids else ids for ids in replies]


@app.cell(hide_code=True)
def list_sampling():
    controls.listing(prompt_ids, sample)
    return


@app.cell(hide_code=True)
def choose_writer(model, tokenizer):
    def write_group(user, domain, size, temperature, seed):
        """`size` replies to where the user stands, and the token ids sampled for them (None for scripts)."""
        if model is None:
            writers = [scripted_assistant(SCRIPTS[place % len(SCRIPTS)], domain) for place in range(size)]
            seeded = ((each, derive_seed(seed, "reply", place)) for place, each in enumerate(writers))
            return [each.reply(user.messages, own_seed) for each, own_seed in seeded], None
        from discover_lib.engines.local.tiny_language import decode, encode_messages

        prompt = prompt_ids(tokenizer, encode_messages(user.messages, domain))
        sampled = sample(model, tokenizer, prompt, size, temperature=temperature, seed=seed)
        texts = [tokenizer.decode(ids, skip_special_tokens=True).strip() for ids in sampled]
        return [decode(text, domain, user.messages, "tiny") for text in texts], sampled

    return (write_group,)


@app.cell(hide_code=True)
def introduce_judging():
    mo.md("""
    ### Judge

    Every reply is judged against the same frozen state of the restored user. `consider` changes nothing in it.
    """)
    return


@app.cell
def judge_group(domain, draw_choice, size_choice, temperature_choice, user, write_group):
    seed = derive_seed(draw_choice.value, "group")
    replies, sampled = write_group(user, domain, size_choice.value, temperature_choice.value, seed)
    candidates = [user.consider(reply) for reply in replies]
    mo.show_code()
    return candidates, sampled


@app.function(hide_code=True)
def names_of(candidates) -> list[str]:
    """A letter each, with the script's name where one wrote it."""
    return [f"{letter} · {each.reply.assistant}" for letter, each in zip(LETTERS, candidates, strict=False)]


@app.cell(hide_code=True)
def show_group(candidates, user):
    _note = "Every reply is judged against the same frozen state; nothing happens to the user here."
    _replies = show_training.replies(dict(zip(names_of(candidates), candidates, strict=True)))
    _panel = show.panel("What each would discover", show.candidates(user.tree, candidates, user.rules))
    mo.Html(show_training.styled(_replies, _panel, show.quiet(_note)))
    return


@app.cell(hide_code=True)
def choose_scale():
    scale_choice = kept(
        mo.ui.checkbox, "scaled", value=True, label='divide by the standard deviation (scale_rewards="group")'
    )
    mo.vstack(
        [
            mo.md("""
    ## 3 · From rewards to advantages

    A reward says little by itself: an easy user pays everybody. The group is its own yardstick: the **advantage** of a
    reply is its reward less the group's mean, divided by the group's standard deviation s.

    $$A_i = \\frac{r_i - \\bar r}{s + 0.0001}$$
    """),
            scale_choice,
        ]
    )
    return (scale_choice,)


@app.cell
def compare_within_group(candidates, scale_choice):
    rewards = [None if each.reward is None else each.reward.total for each in candidates]  # None: not judged
    group = group_of(rewards, scaled=scale_choice.value)
    mo.show_code()
    return (group,)


@app.cell(hide_code=True)
def show_advantages(candidates, group):
    _panel = show.panel("The group", show_training.group_arithmetic(group, names_of(candidates)))
    mo.Html(show_training.styled(_panel, show_training.lesson(group)))
    return


@app.cell(hide_code=True)
def introduce_update(missing, model):
    _intro = rf"""
    ## 4 · What the update does

    With $\rho$ the ratio of a token's probability under the new policy to that under the old one, the update minimises
    $-\min(\rho A,\ \mathrm{{clip}}(\rho, 1 \pm {CLIP}) A)$, averaged over the group's tokens: a better reply becomes
    likelier, but beyond the clip it earns no more. AdamW takes the step in a fresh LoRA adapter of the recipe's shape,
    without its dropout and its KL term; the base model itself stays as it is. (The paper's recipe averages by reply.)
    """
    _why = [mo.md(f"**Below is an update taken earlier**, since {missing}.")]
    _why += [controls.copied("make train")] if missing_libraries() else []
    mo.vstack([mo.md(_intro), *([] if model else [mo.callout(mo.vstack(_why), kind="warn")])])
    return


@app.cell(hide_code=True)
def show_step_taken_earlier(model):
    _file = trained_earlier() / "grpo_step.json"
    mo.stop(model is not None or not _file.is_file())
    mo.Html(show_training.styled(show_training.step_taken(read_json(_file))))
    return


@app.function
def log_probabilities(model, prompt, reply, temperature):
    """Log-probability of each token of a reply, behind the prompt and what stands before it; shape (tokens,)."""
    import torch

    ids = torch.tensor(reply)
    logits = model(torch.cat([prompt, ids])[None]).logits[0, len(prompt) - 1 : -1] / temperature
    return torch.log_softmax(logits, dim=-1).gather(1, ids[:, None])[:, 0]


@app.function
def clipped_loss(now, before, advantages):
    """-min(ρA, clip(ρ, 1 ± ε)A), averaged over the tokens of all replies that were scored."""
    import torch

    terms = []
    for new, old, advantage in zip(now, before, advantages, strict=True):
        if advantage is not None:
            ratio = (new - old).exp()
            terms.append(-torch.minimum(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage))
    return torch.cat(terms).mean() if terms else 0.0 * torch.cat(now).sum()


@app.function
def update(model, prompt, replies, advantages, *, learning_rate, temperature=1.0, steps=1, seed=0):
    """Take `steps` updates on one group in a fresh adapter, look at the difference, and take the adapter off again."""
    import torch
    from peft import LoraConfig, get_peft_model

    def logs():
        return [log_probabilities(policy, prompt, reply, temperature) for reply in replies]

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        policy = get_peft_model(model, LoraConfig(**LORA, task_type="CAUSAL_LM"))
    try:
        trainable = [each for each in policy.parameters() if each.requires_grad]
        optimizer = torch.optim.AdamW(trainable, lr=learning_rate, weight_decay=0.0)
        before, norms = [each.detach() for each in logs()], []
        for _ in range(steps):
            optimizer.zero_grad()
            clipped_loss(logs(), before, advantages).backward()
            norms.append(float(torch.nn.utils.clip_grad_norm_(trainable, RECIPE.grpo.max_grad_norm)))
            optimizer.step()
        with torch.no_grad():
            after = logs()
    finally:
        policy.unload().eval()
    down = torch.cat(before) - torch.cat(after)
    kl = float((down.exp() - down - 1).mean())  # the estimator of GRPO; never negative
    return Update(*(tuple(tuple(each.tolist()) for each in side) for side in (before, after)), kl, norms[0])


@app.cell(hide_code=True)
def list_update():
    controls.listing(log_probabilities, clipped_loss, update)
    return


@app.cell(hide_code=True)
def choose_step(model):
    rate_choice = kept(
        mo.ui.dropdown,
        "rate",
        {"5e-6 (paper, for 8B models)": 5e-6, "1e-4": 1e-4, "5e-4": 5e-4, "2e-3": 2e-3},
        value="5e-4",
        label="Learning rate",
    )
    steps_choice = kept(mo.ui.slider, "steps", 1, 8, 1, value=1, label="Updates on this group", show_value=True)
    mo.hstack([rate_choice, steps_choice], justify="start", gap=2, wrap=True) if model else None
    return rate_choice, steps_choice


@app.cell
def take_step(domain, group, model, rate_choice, sampled, steps_choice, temperature_choice, tokenizer, user):
    mo.stop(model is None)
    from discover_lib.engines.local.tiny_language import encode_messages

    prompt = prompt_ids(tokenizer, encode_messages(user.messages, domain))
    settings = {"learning_rate": rate_choice.value, "temperature": temperature_choice.value}
    step = update(model, prompt, sampled, group.advantages, **settings, steps=steps_choice.value)
    mo.show_code()
    return (step,)


@app.cell(hide_code=True)
def show_step(candidates, group, sampled, step, tokenizer):
    _tokens = [tokenizer.convert_ids_to_tokens(ids) for ids in sampled]
    step_record = show_training.step_record(names_of(candidates), group, _tokens, step)
    mo.Html(show_training.styled(show_training.step_taken(step_record)))
    return (step_record,)


@app.cell(hide_code=True)
def choose_rewards():
    own_choice = mo.ui.array(
        [kept(mo.ui.number, f"reward{letter}", -1, 15, 0.05, value=1.0, label=letter) for letter in "ABCD"]
    )
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
def show_own_group(own_choice, scale_choice):
    _rewards = [each if each is None else float(each) for each in own_choice.value]
    own_group = group_of(_rewards, scaled=scale_choice.value)
    _panel = show.panel("Your group", show_training.group_arithmetic(own_group, list("ABCD")))
    mo.Html(show_training.styled(_panel, show_training.lesson(own_group)))
    return (own_group,)


@app.cell(hide_code=True)
def survey_groups(domain, model, size_choice, tau_choice, temperature_choice, turn_choice, world, write_group):
    def by_model(user, seed):
        return write_group(user, domain, size_choice.value, temperature_choice.value, seed)[0]

    def by_script(policy):
        script, places = scripted_assistant(policy, domain), range(size_choice.value)
        return lambda user, seed: [script.reply(user.messages, derive_seed(seed, place)) for place in places]

    def silent_of(write):
        """How many of the surveyed users' groups at this turn have no signal."""
        count = 0
        for number in range(SURVEYED):
            row = prompt_row(domain, number, turn_choice.value, tau_choice.value)
            user = restore(row, world.judge, world.voice)
            rewards = [user.consider(reply).reward for reply in write(user, derive_seed(number, "survey"))]
            count += not group_of([reward and reward.total for reward in rewards]).signal
        return share_of(count, SURVEYED)

    _writers = {"the tiny base model": by_model} if model else {}
    _writers |= {f"script: {policy}": by_script(policy) for policy in POLICIES}
    silent = {name: silent_of(write) for name, write in _writers.items()}
    _caption = (
        f"Groups of {size_choice.value} at turn {turn_choice.value} in which all rewards are equal "
        f"(n = {SURVEYED} users, 95 % Wilson interval). Every group is written by one policy."
    )
    _rows = [(name, str(share)) for name, share in silent.items()]
    mo.vstack(
        [
            mo.md("""
    How often does that happen? It depends on who writes: a policy that always does the same kind of thing is paid the
    same every time, and has nothing to compare.
    """),
            mo.Html(show.styled(show.table(("Who writes the group", "share without a signal"), _rows, _caption))),
        ]
    )
    return (silent,)


@app.cell(hide_code=True)
def lead_on():
    mo.Html(show.styled(footer("51_grpo_by_hand.py")))
    return


if __name__ == "__main__":
    app.run()
