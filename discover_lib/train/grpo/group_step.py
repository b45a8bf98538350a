"""One GRPO update on one group, token by token, on a small model: to be looked at, not to train with.

The same sums as a trainer's first step on such a batch: the clipped ratio times the advantage, averaged over all
tokens of the group, AdamW on a fresh LoRA adapter.  The base model itself is never changed, so that the step can be
taken again with other settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from discover_lib.base.tokens import WireMessage

CLIP = 0.2  # a token's probability ratio beyond 1 ± this earns no more
MAX_NORM = 1.0  # of the gradient
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class Sampled:
    """A reply that a model wrote: its tokens, the end mark included, and its text without it."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True)
class ReplyChange:
    """What the update did to one reply: a log-probability (nats) per token, before and after."""

    tokens: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def change(self) -> float:
        """Change of the whole reply's log-probability."""
        return sum(self.after) - sum(self.before)


@dataclass(frozen=True)
class GroupStep:
    """What an update did.

    Attributes:
        kl: estimated divergence of the new from the old policy over the group's tokens, in nats per token
            (``exp(d) - d - 1`` with d = old - new log-probability, the estimator of GRPO).
        gradient_norm: of the first step, before clipping.
    """

    replies: tuple[ReplyChange, ...]
    kl: float
    gradient_norm: float


class GroupModel:
    """A base model held in memory, for groups of replies to one prompt."""

    def __init__(self, folder: Path) -> None:
        torch.set_num_threads(1)
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def sample(
        self, messages: Sequence[WireMessage], n: int, *, temperature: float, seed: int, max_tokens: int = 96
    ) -> list[Sampled]:
        """`n` replies to one prompt; the same seed, the same replies."""
        prompt = self._prompt(messages)
        end = self.tokenizer.eos_token_id
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            written = self.model.generate(
                prompt[None].expand(n, -1),
                attention_mask=torch.ones(n, len(prompt), dtype=torch.long),
                do_sample=True,
                temperature=temperature,
                top_k=0,
                top_p=1.0,
                max_new_tokens=max_tokens,
                pad_token_id=self.tokenizer.pad_token_id,
            )
        return [self._sampled(row[len(prompt) :].tolist(), end) for row in written]

    def step(
        self,
        messages: Sequence[WireMessage],
        replies: Sequence[Sampled],
        advantages: Sequence[float | None],
        *,
        learning_rate: float,
        temperature: float = 1.0,
        steps: int = 1,
        rank: int = 32,
        alpha: int = 64,
        seed: int = 0,
    ) -> GroupStep:
        """Take `steps` updates on the group with a fresh adapter, and look at the difference.

        Args:
            advantages: None for a reply that was not scored; it is left out of the update.
            temperature: what the replies were sampled at; probabilities are taken at it, as the trainer does.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            adapted = get_peft_model(
                self.model, LoraConfig(r=rank, lora_alpha=alpha, target_modules=list(TARGETS), task_type="CAUSAL_LM")
            )
        try:
            prompt = self._prompt(messages)
            optimizer = torch.optim.AdamW(
                [each for each in adapted.parameters() if each.requires_grad], lr=learning_rate, weight_decay=0.0
            )
            before = [self._log_probabilities(adapted, prompt, each, temperature).detach() for each in replies]
            norm = 0.0
            for number in range(steps):
                now = [self._log_probabilities(adapted, prompt, each, temperature) for each in replies]
                optimizer.zero_grad()
                loss(now, before, advantages).backward()
                found = torch.nn.utils.clip_grad_norm_(adapted.parameters(), MAX_NORM)
                norm = float(found) if number == 0 else norm
                optimizer.step()
            with torch.no_grad():
                after = [self._log_probabilities(adapted, prompt, each, temperature) for each in replies]
        finally:
            self.model = adapted.unload().eval()
        changes = tuple(
            ReplyChange(
                tuple(self.tokenizer.convert_ids_to_tokens(list(reply.ids))), tuple(one.tolist()), tuple(other.tolist())
            )
            for reply, one, other in zip(replies, before, after, strict=True)
        )
        down = torch.cat(before) - torch.cat(after)
        return GroupStep(changes, float((down.exp() - down - 1).mean()), norm)

    def _prompt(self, messages: Sequence[WireMessage]) -> torch.Tensor:
        text = self.tokenizer.apply_chat_template(list(messages), add_generation_prompt=True, tokenize=False)
        ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return torch.tensor(ids, dtype=torch.long)

    def _sampled(self, ids: list[int], end: int) -> Sampled:
        kept = ids[: ids.index(end) + 1] if end in ids else ids
        return Sampled(self.tokenizer.decode(kept, skip_special_tokens=True).strip(), tuple(kept))

    def _log_probabilities(self, model: Any, prompt: torch.Tensor, reply: Sampled, temperature: float) -> torch.Tensor:
        """Log-probability of each token of a reply, behind the prompt and what stands before it; shape (tokens,)."""
        said = torch.tensor(reply.ids, dtype=torch.long)
        logits = model(torch.cat([prompt, said])[None]).logits[0, len(prompt) - 1 : -1] / temperature
        return torch.log_softmax(logits, dim=-1).gather(1, said[:, None])[:, 0]


def loss(
    now: Sequence[torch.Tensor], before: Sequence[torch.Tensor], advantages: Sequence[float | None]
) -> torch.Tensor:
    """GRPO's loss of one group: ``-min(ρA, clip(ρ, 1 ± 0.2)A)``, averaged over all tokens that take part."""
    terms = []
    for new, old, advantage in zip(now, before, advantages, strict=True):
        if advantage is not None:
            ratio = (new - old).exp()
            terms.append(-torch.minimum(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage))
    if not terms:
        return torch.stack([each.sum() for each in now]).sum() * 0.0
    return torch.cat(terms).mean()
