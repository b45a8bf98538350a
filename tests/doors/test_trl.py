"""The user in TRL's trainer, as `rollout_func`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from chat_models import Family, make_tokenizer
from doors.test_conformance import OPTIONS, WHOM, natively, replies

from discover_lib.doors.trl import USER, prompt_rows, reward, rollout_func

pytestmark = pytest.mark.slow

TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}<e>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """A tokenizer with a chat template that never changes what stands before."""
    marks = ("<pad>", "<e>", "<user>", "<assistant>", "<system>")
    return make_tokenizer(Family("Llama", TEMPLATE, marks, ("<e>",), "<pad>"), replies())


def test_rollout_func_is_the_same_conversation(tokenizer: Any) -> None:
    turn = 0

    def complete(trainer: Any, prompts: list[list[int]]) -> list[list[int]]:
        nonlocal turn
        ids = tokenizer(replies()[turn], add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]
        turn += 1
        return [list(ids) for _ in prompts]

    whom = WHOM[:20]
    rows = [{"role": "user", "content": "x", USER: {"seed": seed, "artifact": artifact}} for seed, artifact in whom]
    roll = rollout_func(max_tokens=10, max_length=10**6, complete=complete, **OPTIONS)
    model = SimpleNamespace(generation_config=SimpleNamespace(eos_token_id=tokenizer.eos_token_id))
    trainer = SimpleNamespace(processing_class=tokenizer, model=model)  # all that is asked of it
    rollouts = roll([[row] for row in rows], trainer)

    def length(reply: str) -> int:
        return len(tokenizer(reply, add_special_tokens=False)["input_ids"])

    expected = [natively(*each, length) for each in whom]
    assert reward(rollouts["episode_reward"]) == [sum(each.rewards, 0.0) for each in expected]
    for talk, ids, own in zip(expected, rollouts["completion_ids"], rollouts["env_mask"], strict=True):
        assert len(ids) == len(own)
        answers = "".join(f"<user>{message}<e><assistant>" for message in talk.messages[1:] if message)
        assert tokenizer.decode([each for each, mine in zip(ids, own, strict=True) if not mine]) == answers
        mine = [each for each, is_own in zip(ids, own, strict=True) if is_own]
        assert tokenizer.decode(mine) == "".join(f"{reply.strip()}<e>" for reply in replies()[: len(talk.rewards)])


def test_trl_s_own_trainer_takes_a_step_on_whole_conversations(tokenizer: Any, tmp_path: Path) -> None:
    import torch
    from datasets import Dataset
    from transformers import LlamaConfig, LlamaForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
            num_attention_heads=1, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        )
    )  # fmt: skip
    options = {"artifacts": 2, "turns": 2}
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=[reward],
        args=GRPOConfig(
            str(tmp_path), max_steps=1, per_device_train_batch_size=2, num_generations=2, report_to="none", use_cpu=True
        ),
        train_dataset=Dataset.from_list(prompt_rows([0], **options)),
        processing_class=tokenizer,
        rollout_func=rollout_func(max_tokens=8, max_length=512, **options),
    )
    trainer.train()
    (step,) = [entry for entry in trainer.state.log_history if "reward" in entry]
    assert step["rewards/reward/mean"] == step["reward"]
    assert step["num_tokens"] > 0
