"""Replies of the policy in training, for probes, samples and rollouts that a trainer does not do itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Sampler:
    """Draws replies from a model as it is now.

    Attributes:
        max_tokens: longest reply, in the model's tokens.
        batch: prompts at a time.
    """

    model: Any
    tokenizer: Any
    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    repetition_penalty: float = 1.0
    batch: int = 128

    def complete(self, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
        """A reply to each prompt (token ids), up to its end mark, that included where it was reached.

        Draws from torch's own generator; see `seeded`.
        """
        replies: list[list[int]] = []
        with evaluating(self.model), torch.no_grad():
            for start in range(0, len(prompts), self.batch):
                replies += self._complete(prompts[start : start + self.batch])
        return replies

    def _complete(self, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
        device, pad, end = self.model.device, self.tokenizer.pad_token_id, self.tokenizer.eos_token_id
        width = max(map(len, prompts))
        ids = torch.tensor([[pad] * (width - len(each)) + list(each) for each in prompts], device=device)
        mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in prompts], device=device)
        written = self.model.generate(
            input_ids=ids,
            attention_mask=mask,
            do_sample=True,
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            repetition_penalty=self.repetition_penalty,
            max_new_tokens=self.max_tokens,
            pad_token_id=pad,
            eos_token_id=end,
            use_cache=True,
        )
        rows = written[:, width:].tolist()
        return [row[: row.index(end) + 1] if end in row else row for row in rows]


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Without dropout, and back to how it was."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draws of this block depend on the seed alone, and those after it are as if it had not been."""
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed % 2**63)
        yield
