"""One GRPO group: its arithmetic by hand, and what one real update on it does to a small model."""

import math
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discover_lib.train.grpo.group import EPSILON, group_of
from discover_lib.views.training import group_arithmetic, token_changes

WORDS = [f"w{number}" for number in range(20)]
TEMPLATE = (
    "{% for m in messages %}{{ '<' + m['role'] + '> ' + m['content'] + ' <e> ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant> ' }}{% endif %}"
)


@pytest.mark.parametrize(
    ("rewards", "scaled", "mean", "std", "advantages"),
    [
        ((2, 0, 1, 1), False, 1.0, math.sqrt(2 / 3), (1, -1, 0, 0)),
        ((3, 1), True, 2.0, math.sqrt(2), (1 / (math.sqrt(2) + EPSILON), -1 / (math.sqrt(2) + EPSILON))),
        ((1, 1, 1), True, 1.0, 0.0, (0, 0, 0)),
        ((4, None, 2), False, 3.0, math.sqrt(2), (1, None, -1)),  # a failed judgement moves nothing, nor the mean
        ((5, None), True, 5.0, None, (0, None)),  # alone: nothing to compare with
        ((None, None), True, None, None, (None, None)),
    ],
)
def test_rewards_become_advantages(rewards: Any, scaled: bool, mean: Any, std: Any, advantages: Any) -> None:
    group = group_of(rewards, scaled=scaled)
    assert group.mean == pytest.approx(mean) and group.std == pytest.approx(std)
    assert group.advantages == pytest.approx(advantages)
    assert group.signal == (rewards in {(2, 0, 1, 1), (3, 1), (4, None, 2)})


@given(st.lists(st.floats(-3, 15), min_size=2, max_size=8), st.floats(-5, 5))
def test_advantages_sum_to_zero_and_a_constant_changes_nothing(rewards: list[float], constant: float) -> None:
    group = group_of(rewards)
    assert math.fsum(each or 0 for each in group.advantages) == pytest.approx(0, abs=1e-6)
    assume(statistics.stdev(rewards) > 0.01)
    moved = group_of([each + constant for each in rewards])
    assert moved.advantages == pytest.approx(group.advantages, abs=1e-3)


def test_the_table_shows_the_sums() -> None:
    shown = group_arithmetic(group_of([1.5, 0.5, None]), ["A", "B", "C"])
    assert "Mean = 1.0000, standard deviation s = 0.7071" in shown and "unscored" in shown
    assert re.search(r"\+1\.5</td>.*?\+0\.5</td>.*?\+0\.707</b>", shown, re.DOTALL)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A random model of two layers over a vocabulary of words."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    pytest.importorskip("peft")
    from tokenizers import Tokenizer, models, pre_tokenizers

    names = ["<pad>", "<e>", "<user>", "<assistant>", *WORDS]
    words = Tokenizer(models.WordLevel({name: place for place, name in enumerate(names)}, unk_token="<pad>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<e>", unk_token="<pad>", padding_side="left"
    )
    tokenizer.chat_template = TEMPLATE
    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(names), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, tie_word_embeddings=True, eos_token_id=1, pad_token_id=0, bos_token_id=None,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    from discover_lib.train.grpo.group_step import GroupModel

    return GroupModel(Path(folder))


@pytest.mark.slow
def test_one_update_makes_the_better_reply_likelier_and_leaves_the_base_alone(model: Any) -> None:
    prompt = [{"role": "user", "content": "w1 w2"}]
    replies = model.sample(prompt, 4, temperature=1.0, seed=3, max_tokens=6)
    assert replies == model.sample(prompt, 4, temperature=1.0, seed=3, max_tokens=6)
    assert replies != model.sample(prompt, 4, temperature=1.0, seed=4, max_tokens=6)
    group = group_of([3.0, 0.0, 0.0, None])
    step = model.step(prompt, replies, group.advantages, learning_rate=1e-2)
    again = model.step(prompt, replies, group.advantages, learning_rate=1e-2)
    assert step == again  # so the first one left nothing behind
    best, *worse, _ = step.replies
    assert best.change > 0.01 and sum(each.change for each in worse) < 0
    assert 0 < step.kl < 1 and step.gradient_norm > 0
    assert len(best.tokens) == len(best.before) == len(replies[0].ids)
    further = model.step(prompt, replies, group.advantages, learning_rate=1e-2, steps=3)
    assert further.replies[0].change > best.change and further.kl > step.kl
    shown = token_changes(best.tokens, best.before, best.after, most=1.0)
    assert shown.count('class="dt-token"') == len(best.tokens)


@pytest.mark.slow
def test_a_group_without_a_signal_changes_nothing(model: Any) -> None:
    prompt = [{"role": "user", "content": "w3"}]
    replies = model.sample(prompt, 3, temperature=1.0, seed=0, max_tokens=5)
    for rewards in ([1.0, 1.0, 1.0], [None, None, None]):
        step = model.step(prompt, replies, group_of(rewards).advantages, learning_rate=1e-2)
        assert step.kl == pytest.approx(0, abs=1e-9) and step.gradient_norm == 0
        assert [each.change for each in step.replies] == pytest.approx([0, 0, 0], abs=1e-5)


@pytest.mark.slow
def test_log_probabilities_are_those_of_the_model(model: Any) -> None:
    """Token by token against a plain loop over the model's own next-token distribution."""
    import torch

    prompt = [{"role": "user", "content": "w5 w6 w7"}]
    reply = model.sample(prompt, 2, temperature=0.7, seed=1, max_tokens=5)[0]
    step = model.step(prompt, [reply], [0.0], learning_rate=1e-3, temperature=0.7)
    ids = model.tokenizer("<user> w5 w6 w7 <e> <assistant>", add_special_tokens=False)["input_ids"]
    for place, token in enumerate(reply.ids):
        with torch.no_grad():
            logits = model.model(torch.tensor([[*ids, *reply.ids[:place]]])).logits[0, -1] / 0.7
        assert step.replies[0].before[place] == pytest.approx(float(torch.log_softmax(logits, -1)[token]), abs=1e-5)
