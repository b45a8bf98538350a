"""One GRPO group: its arithmetic by hand, and what one real update on it does to a small model."""

import math
import re
import statistics
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from notebook_runs import load_module

from discover_lib.train.grpo.group import EPSILON, group_of, rewards_to_go, turn_advantages
from workbench.views.training import group_arithmetic, token_changes

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


@pytest.mark.slow
@given(st.lists(st.floats(-3, 15), min_size=2, max_size=8), st.floats(-5, 5))
def test_advantages_sum_to_zero_and_a_constant_changes_nothing(rewards: list[float], constant: float) -> None:
    group = group_of(rewards)
    assert math.fsum(each or 0 for each in group.advantages) == pytest.approx(0, abs=1e-6)
    assume(statistics.stdev(rewards) > 0.01)
    moved = group_of([each + constant for each in rewards])
    assert moved.advantages == pytest.approx(group.advantages, abs=1e-3)


def test_a_turn_is_credited_with_what_comes_from_it_on_against_the_same_turn_of_the_others() -> None:
    assert rewards_to_go([1.0, 0.0, 2.0]) == [3.0, 2.0, 2.0]
    assert turn_advantages([[1.0, 2.0], [0.0, 0.0], [2.0]], scaled=False) == [
        [pytest.approx(4 / 3), 1.0],  # 3 of (3, 0, 2), and 2 of (2, 0): the third user had heard enough
        [pytest.approx(-5 / 3), -1.0],
        [pytest.approx(1 / 3)],
    ]
    assert turn_advantages([[1.0], None, [3.0]], scaled=False) == [[-1.0], [], [1.0]]  # a failed rollout moves nothing
    assert turn_advantages([[5.0, 1.0], [2.0]])[0][1] == 0.0  # alone in its turn: nothing to compare with


def test_the_table_shows_the_sums() -> None:
    shown = group_arithmetic(group_of([1.5, 0.5, None]), ["A", "B", "C"])
    assert "Mean = 1.0000, standard deviation s = 0.7071" in shown and "unscored" in shown
    assert re.search(r"\+1\.5</td>.*?\+0\.5</td>.*?\+0\.707</b>", shown, re.DOTALL)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A random model of two layers over a vocabulary of words."""
    import torch
    import transformers
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
    return transformers.LlamaForCausalLM.from_pretrained(folder).eval(), tokenizer


@pytest.fixture(scope="module")
def page() -> Any:
    """The page that takes the step: its functions are the ones that a reader sees."""
    return load_module("51_grpo_by_hand.py")


@pytest.mark.slow
def test_one_update_makes_the_better_reply_likelier_and_leaves_the_base_alone(page: Any, model: Any) -> None:
    base, tokenizer = model
    prompt = page.prompt_ids(tokenizer, [{"role": "user", "content": "w1 w2"}])

    def sampled(seed: int) -> Any:
        return page.sample(base, tokenizer, prompt, 4, temperature=1.0, seed=seed, max_tokens=6)

    replies = sampled(3)
    assert replies == sampled(3) and replies != sampled(4)
    group = group_of([3.0, 0.0, 0.0, None])
    step = page.update(base, prompt, replies, group.advantages, learning_rate=1e-2)
    again = page.update(base, prompt, replies, group.advantages, learning_rate=1e-2)
    assert step == again  # so the first one left nothing behind
    best, *worse, _ = changes(step)
    assert best > 0.01 and sum(worse) < 0
    assert 0 < step.kl < 1 and step.gradient_norm > 0
    assert len(step.before[0]) == len(step.after[0]) == len(replies[0])
    further = page.update(base, prompt, replies, group.advantages, learning_rate=1e-2, steps=3)
    assert changes(further)[0] > best and further.kl > step.kl
    shown = token_changes(tokenizer.convert_ids_to_tokens(replies[0]), step.before[0], step.after[0], most=1.0)
    assert shown.count('class="dt-token"') == len(replies[0])


def changes(step: Any) -> list[float]:
    """By how much each reply's log-probability changed."""
    return [sum(after) - sum(before) for before, after in zip(step.before, step.after, strict=True)]


@pytest.mark.slow
def test_a_group_without_a_signal_changes_nothing(page: Any, model: Any) -> None:
    base, tokenizer = model
    prompt = page.prompt_ids(tokenizer, [{"role": "user", "content": "w3"}])
    replies = page.sample(base, tokenizer, prompt, 3, temperature=1.0, seed=0, max_tokens=5)
    for rewards in ([1.0, 1.0, 1.0], [None, None, None]):
        step = page.update(base, prompt, replies, group_of(rewards).advantages, learning_rate=1e-2)
        assert step.kl == pytest.approx(0, abs=1e-9) and step.gradient_norm == 0
        assert changes(step) == pytest.approx([0, 0, 0], abs=1e-5)


@pytest.mark.slow
def test_the_ratio_is_clipped_where_it_would_earn_more(page: Any) -> None:
    """ρ = 2: a better reply earns 1.28 A and is pushed no further; a worse one is charged 2 A and pushed on."""
    import torch

    old = torch.zeros(1)
    for advantage, loss, slope in ((1.0, -1.28, 0.0), (-1.0, 2.0, 2.0)):
        new = torch.tensor([math.log(2)], requires_grad=True)
        value = page.clipped_loss([new], [old], [advantage])
        value.backward()
        assert value.item() == pytest.approx(loss) and new.grad.item() == pytest.approx(slope)


@pytest.mark.slow
def test_log_probabilities_are_those_of_the_model(page: Any, model: Any) -> None:
    """Token by token against a plain loop over the model's own next-token distribution."""
    import torch

    base, tokenizer = model
    prompt = page.prompt_ids(tokenizer, [{"role": "user", "content": "w5 w6 w7"}])
    reply = page.sample(base, tokenizer, prompt, 2, temperature=0.7, seed=1, max_tokens=5)[0]
    step = page.update(base, prompt, [reply], [0.0], learning_rate=1e-3, temperature=0.7)
    ids = tokenizer("<user> w5 w6 w7 <e> <assistant>", add_special_tokens=False)["input_ids"]
    for place, token in enumerate(reply):
        with torch.no_grad():
            logits = base(torch.tensor([[*ids, *reply[:place]]])).logits[0, -1] / 0.7
        assert step.before[0][place] == pytest.approx(float(torch.log_softmax(logits, -1)[token]), abs=1e-5)
