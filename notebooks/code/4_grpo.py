# /// script
# requires-python = ">=3.11"
# [tool.marimo.opengraph]
# title = "GRPO by hand"
# description = "What does one GRPO update change?"
# ///

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="GRPO by hand", css_file="../../workbench/views/static/workbench.css")


@app.cell
def introduce(mo):
    mo.md("""
    # A GRPO update by hand

    Several replies to the same prompt are a **group**. The update makes a reply likelier if it beats the group's mean.
    """)
    return


@app.cell
def restore_user(artifacts, assistants, engine, mo, rows, run_conversation):
    # A row of training data (paper, 4.1): the prompt, and the user's state as JSON. Change me: the artifact, the turn.
    domain, world = "svg_drawing", engine("svg_drawing")
    tree = world.builder.build(artifacts.generate_artifact(domain, "train", 3)).tree
    who = [assistants.scripted_assistant("adaptive", domain)]
    talk = run_conversation(tree, world.judge, world.voice, who, seed=3, setting={"domain": domain})
    row = list(rows.examples("prompt", [talk], rows.Origin("by hand")))[1].row
    user = rows.restore(row, world.judge, world.voice)
    mo.show_code(mo.md("\n".join(f"- {each['role']}: {each['content'].splitlines()[0]}" for each in row["prompt"])))
    return domain, user


@app.cell
def write_group(backend, domain, mo, user):
    mo.stop(bool(backend.missing_libraries()), mo.md("A model writes the group. `make train` installs what it needs."))
    import torch

    from discover_lib.engines.local import dialect, names, tiny_language
    from discover_lib.train.grpo.rollouts import Sampler

    # The policy, here the tiny base model, writes its own group (4.1). Change me: the seed, the temperature, the size.
    torch.manual_seed(1)
    model, tokenizer = names.load(names.base_folder())
    prompt = dialect.Chat(tokenizer).prompt(tiny_language.encode_messages(user.messages, domain))
    sampled = Sampler(model, dialect.Chat(tokenizer), 96, temperature=1.0).complete([prompt] * 4)
    texts = [tokenizer.decode(ids, skip_special_tokens=True).strip() for ids in sampled]
    replies = [tiny_language.decode(text, domain, user.messages, "tiny") for text in texts]
    mo.show_code()
    return model, prompt, replies, sampled, texts, tokenizer, torch


@app.cell
def judge_group(group_of, mo, replies, texts, user):
    # Every reply is judged against the same frozen state (3.2 and 3.3); `consider` changes no part of the user.
    group = group_of([user.consider(reply).reward.total for reply in replies])  # A = (r - mean) / (s + 0.0001)
    _columns = {"reply": texts, "reward": group.rewards, "advantage": [round(a, 2) for a in group.advantages]}
    mo.show_code(mo.ui.table(_columns, selection=None, show_column_summaries=False))
    return (group,)


@app.cell
def state_update(mo, recipes, torch):
    from peft import LoraConfig, get_peft_model

    def log_probabilities(model, prompt, reply):
        """Log-probability of each token of a reply, after the prompt and the tokens before it; shape (tokens,)."""
        logits = model(torch.tensor([[*prompt, *reply]])).logits[0, len(prompt) - 1 : -1]
        return torch.log_softmax(logits, dim=-1).gather(1, torch.tensor(reply)[:, None])[:, 0]

    def clipped_loss(now, before, advantages, clip):
        """-min(ρA, clip(ρ, 1 ± ε)A), averaged over all tokens; ρ is the ratio of the new to the old probability."""
        ratios = [(new - old).exp() for new, old in zip(now, before, strict=True)]
        pairs = zip(ratios, advantages, strict=True)
        return torch.cat([-torch.minimum(rho * a, rho.clamp(1 - clip, 1 + clip) * a) for rho, a in pairs]).mean()

    def update(model, prompt, replies, advantages, learning_rate, steps=1):
        """Log-probabilities before and after updates of a fresh LoRA adapter, and the KL in nats per token."""
        lora, grpo = recipes.Recipe.paper().lora, recipes.Recipe.paper().grpo
        torch.manual_seed(0)
        policy = get_peft_model(model, LoraConfig(r=lora.r, lora_alpha=lora.alpha, target_modules=list(lora.targets)))
        optimizer = torch.optim.AdamW(policy.parameters(), lr=learning_rate, weight_decay=0.0)
        before = [log_probabilities(policy, prompt, reply).detach() for reply in replies]
        for _ in range(steps):
            now = [log_probabilities(policy, prompt, reply) for reply in replies]
            optimizer.zero_grad()
            clipped_loss(now, before, advantages, grpo.epsilon).backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), grpo.max_grad_norm)
            optimizer.step()
        after = [log_probabilities(policy, prompt, reply).detach() for reply in replies]
        policy.unload().eval()  # the base stays as it was
        down = torch.cat(before) - torch.cat(after)
        return before, after, float((down.exp() - down - 1).mean())  # the estimator of GRPO; never negative

    mo.show_code()
    return clipped_loss, log_probabilities, update


@app.cell
def take_step(group, mo, model, prompt, sampled, tokenizer, torch, update):
    # Change me: the learning rate, the number of updates. The paper's rate for 8B models is 5e-6.
    before, after, kl = update(model, prompt, sampled, group.advantages, learning_rate=5e-4, steps=1)
    tokens = [f"{place} · {each}" for place, ids in enumerate(sampled) for each in tokenizer.convert_ids_to_tokens(ids)]
    _columns = {"token": tokens, "before": torch.cat(before).exp().tolist(), "after": torch.cat(after).exp().tolist()}
    _how = {"selection": None, "format_mapping": {"before": "{:.3f}", "after": "{:.3f}"}}
    mo.show_code(mo.ui.table(_columns, label=f"Probabilities; KL from the old policy: {kl:.1e} nats per token", **_how))
    return


@app.cell
def import_names():
    import marimo as mo

    from discover_lib.core.rollout import run_conversation
    from discover_lib.dataset import rows
    from discover_lib.engines.miniature import artifacts, assistants, engine
    from discover_lib.train import backend, recipes
    from discover_lib.train.grpo import group_of

    return artifacts, assistants, backend, engine, group_of, mo, recipes, rows, run_conversation


if __name__ == "__main__":
    app.run()
