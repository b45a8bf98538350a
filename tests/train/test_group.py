"""One GRPO group: its arithmetic by hand, and what one real update on it does to a small model."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
from notebook_runs import run

from discover_lib.engines.local.dialect import Chat
from discover_lib.train.grpo import EPSILON, group_of, rewards_to_go, turn_advantages
from discover_lib.train.grpo.rollouts import Sampler

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


def test_a_turn_is_credited_with_what_comes_from_it_on_against_the_same_turn_of_the_others() -> None:
    assert rewards_to_go([1.0, 0.0, 2.0]) == [3.0, 2.0, 2.0]
    assert turn_advantages([[1.0, 2.0], [0.0, 0.0], [2.0]], scaled=False) == [
        [pytest.approx(4 / 3), 1.0],  # 3 of (3, 0, 2), and 2 of (2, 0): the third user had heard enough
        [pytest.approx(-5 / 3), -1.0],
        [pytest.approx(1 / 3)],
    ]
    assert turn_advantages([[1.0], None, [3.0]], scaled=False) == [[-1.0], [], [1.0]]  # a failed rollout moves nothing
    assert turn_advantages([[5.0, 1.0], [2.0]])[0][1] == 0.0  # alone in its turn: nothing to compare with


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
    """The notebook that takes the step: its functions are the ones that a reader sees."""
    _, defined = run("code/4_grpo.py")
    return SimpleNamespace(**defined)


def prompt_and_replies(model: Any, n: int, seed: int) -> tuple[list[int], list[list[int]]]:
    base, tokenizer = model
    prompt = Chat(tokenizer).prompt([{"role": "user", "content": "w1 w2"}])
    torch = pytest.importorskip("torch")
    torch.manual_seed(seed)
    return prompt, Sampler(base, Chat(tokenizer), 6, temperature=1.0).complete([prompt] * n)


@pytest.mark.slow
def test_one_update_makes_the_better_reply_likelier_and_leaves_the_base_alone(page: Any, model: Any) -> None:
    prompt, replies = prompt_and_replies(model, 4, seed=3)
    group = group_of([3.0, 0.0, 0.0, 1.0])
    before, after, kl = page.update(model[0], prompt, replies, group.advantages, learning_rate=1e-2)
    again = page.update(model[0], prompt, replies, group.advantages, learning_rate=1e-2)
    assert changes(before, after) == changes(*again[:2])  # so the first one left the base as it was
    best, *worse, _ = changes(before, after)
    assert best > 0.01 and sum(worse) < 0 and 0 < kl < 1
    assert len(before[0]) == len(after[0]) == len(replies[0])
    further = page.update(model[0], prompt, replies, group.advantages, learning_rate=1e-2, steps=3)
    assert changes(*further[:2])[0] > best and further[2] > kl


def changes(before: Any, after: Any) -> list[float]:
    return [float(new.sum() - old.sum()) for old, new in zip(before, after, strict=True)]


@pytest.mark.slow
def test_the_ratio_is_clipped_where_it_would_earn_more(page: Any) -> None:
    """ρ = 2: a better reply earns 1.28 A and is pushed no further; a worse one is charged 2 A and pushed on."""
    import torch

    old = torch.zeros(1)
    for advantage, loss, slope in ((1.0, -1.28, 0.0), (-1.0, 2.0, 2.0)):
        new = torch.tensor([math.log(2)], requires_grad=True)
        value = page.clipped_loss([new], [old], [advantage], 0.28)
        value.backward()
        assert value.item() == pytest.approx(loss) and new.grad.item() == pytest.approx(slope)


@pytest.mark.slow
def test_log_probabilities_are_those_of_the_model(page: Any, model: Any) -> None:
    """Token by token against a plain loop over the model's own next-token distribution."""
    import torch

    prompt, (reply,) = prompt_and_replies(model, 1, seed=1)
    told = page.log_probabilities(model[0], prompt, reply)
    for place, token in enumerate(reply):
        with torch.no_grad():
            logits = model[0](torch.tensor([[*prompt, *reply[:place]]])).logits[0, -1]
        assert float(told[place]) == pytest.approx(float(torch.log_softmax(logits, -1)[token]), abs=1e-5)
