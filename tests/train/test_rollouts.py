"""How the policy is sampled: in batches that fit, up to any end mark, and left as it was found."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discover_lib.core.roles import RoleError
from discover_lib.engines.local import names
from discover_lib.engines.local.dialect import Chat, Notation
from discover_lib.engines.local.model import within
from discover_lib.engines.spec import EngineSpec, RoleEngines
from discover_lib.train.grpo.rollouts import Sampler, evaluating
from discover_lib.train.grpo.simulated_reward import Scorer, Users
from discover_lib.train.recipes import GrpoRecipe

PROMPTS = [[1] * length for length in (3, 3, 8, 2, 2, 2)]


@pytest.mark.parametrize(
    ("budget", "most", "sizes"),
    [
        (1000, None, [6]),
        (1000, 4, [4, 2]),
        (24, None, [2, 2, 2]),  # prompts of 3 and 3 with replies of 4: 14 tokens; with the one of 8: 36
        (12, None, [1, 1, 1, 2, 1]),
        (1, None, [1, 1, 1, 1, 1, 1]),  # one at least
    ],
)
def test_prompts_go_together_if_they_fit_with_their_replies(budget: int, most: int | None, sizes: list[int]) -> None:
    batches = list(within(PROMPTS, 4, budget, most))
    assert [len(batch) for batch in batches] == sizes
    assert [prompt for batch in batches for prompt in batch] == PROMPTS


@dataclass
class Scripted:
    """A model that writes what it is told to, and whose `generate` leaves it as Unsloth's does."""

    written: Sequence[Sequence[int]]
    eos_token_id: Any = (7, 8)
    device: str = "cpu"
    training: bool = True
    gradient_checkpointing: Any = "unsloth"
    calls: list[dict[str, Any]] = field(default_factory=list)

    @property
    def generation_config(self) -> Any:
        return SimpleNamespace(eos_token_id=list(self.eos_token_id))

    def modules(self) -> list[Any]:
        return [self]

    def eval(self) -> None:
        self.training = False

    def train(self, mode: bool) -> None:
        self.training = mode

    def for_training(self, use_gradient_checkpointing: Any) -> None:
        self.training, self.gradient_checkpointing = True, use_gradient_checkpointing

    def generate(self, input_ids: Any, **options: Any) -> Any:
        import torch

        self.calls.append(options)
        if not self.training:  # else it restores what it found
            self.gradient_checkpointing = False
        return torch.cat([input_ids, torch.tensor(self.written)], dim=1)


@pytest.mark.slow
def test_every_end_mark_of_the_model_ends_a_reply() -> None:
    model = Scripted([[5, 7, 0], [5, 6, 8], [5, 6, 6], [9, 5, 5]])
    tokenizer = SimpleNamespace(pad_token_id=0, eos_token_id=9)
    sampler = Sampler(model, Chat(tokenizer), max_tokens=3)
    assert sampler.complete([[1], [1, 2], [1], [1]]) == [[5, 7], [5, 6, 8], [5, 6, 6], [9]]
    assert model.calls[0]["eos_token_id"] == [9, 7, 8]


@pytest.mark.parametrize("checkpointing", ["unsloth", True, False])
@pytest.mark.parametrize("training", [True, False])
def test_sampling_leaves_the_model_as_it_was(training: bool, checkpointing: Any) -> None:
    model = Scripted([[7]], training=training, gradient_checkpointing=checkpointing)
    with evaluating(model):
        assert not model.training
        if training:
            model.gradient_checkpointing = False
    assert (model.training, model.gradient_checkpointing) == (training, checkpointing)


@pytest.mark.slow
def test_a_gpu_holds_one_model_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names_of = [f"hf:{tmp_path / letter}" for letter in "abc"]
    for name in names_of:
        Path(name.removeprefix("hf:")).mkdir()
        (Path(name.removeprefix("hf:")) / "config.json").write_text("{}")
    monkeypatch.setattr(names, "_MODELS", {})
    monkeypatch.setattr(names, "on_gpu", lambda: True)
    monkeypatch.setattr(names, "load", lambda folder, adapters: (folder.name, "tokenizer"))
    monkeypatch.setattr(names, "LocalModel", lambda name, model, *rest: model)
    assert [names._loaded(name) for name in names_of] == ["a", "b", "c"]
    assert list(names._MODELS) == names_of[-1:]


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_judgements_come_in_the_order_of_the_replies_and_a_failure_ends_the_batch(threads: int) -> None:
    asked: list[int] = []

    def judge(whose: int, text: str, n_tokens: int) -> str:
        asked.append(whose)
        time.sleep(0.05 if text == "slow" else 0)
        if text == "bad":
            raise RoleError("no verdict")
        return f"{whose} {text} {n_tokens}"

    judging = Scorer(Users(RoleEngines(EngineSpec())), Notation(), GrpoRecipe(), threads)
    assert judging.judge(judge, [(0, "slow", 1), (1, "quick", 2)]) == ["0 slow 1", "1 quick 2"]
    assert judging.seconds > 0.04
    asked.clear()
    with pytest.raises(RoleError):
        judging.judge(judge, [(0, "bad", 1), *((place, "slow", 1) for place in range(1, 20))])
    assert len(asked) < 10
