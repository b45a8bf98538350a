"""Drawing replies from a causal language model, many at once, each with a random stream of its own.

A reply depends on its prompt and its seed, not on what else is in the batch: rows are padded on the left, every row
draws from its own generator, and small models compute in double precision (`exact`), where what padding changes in the
last bits decides nothing.  In half precision on a GPU a batch can still tip a close draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

EXACT_PARAMETERS = 10_000_000  # up to here double precision costs little on a CPU
CPU_BATCH_TOKENS = 6_000  # prompt and reply tokens at once: more than a processor's caches hold is slower, not faster
GPU_BATCH_TOKENS = 60_000


@dataclass(frozen=True)
class Draw:
    """One reply to be drawn: the prompt's token ids, and a seed."""

    prompt: tuple[int, ...]
    seed: int


def exact(model: Any) -> Any:
    """The model in double precision if it is small and on a CPU, as it stands otherwise."""
    on_cpu = next(model.parameters()).device.type == "cpu"
    small = sum(each.numel() for each in model.parameters()) <= EXACT_PARAMETERS
    return model.double() if on_cpu and small else model


def draw(
    model: Any, draws: Sequence[Draw], *, temperature: float, max_new_tokens: int, end: Sequence[int], pad: int
) -> list[list[int]]:
    """The token ids of one reply per draw, without the end mark, in the order given.

    Args:
        model: a causal model of `transformers`, in evaluation mode.
        temperature: 0 takes the likeliest token each time.
        end: ids of which each ends a reply.
    """
    import torch

    limit = CPU_BATCH_TOKENS if next(model.parameters()).device.type == "cpu" else GPU_BATCH_TOKENS
    batches: list[list[int]] = [[]]  # those of about equal length together, no more than fit
    for place in sorted(range(len(draws)), key=lambda place: len(draws[place].prompt)):
        width = len(draws[place].prompt) + max_new_tokens
        if batches[-1] and (len(batches[-1]) + 1) * width > limit:
            batches.append([])
        batches[-1].append(place)
    replies: dict[int, list[int]] = {}
    with torch.inference_mode():
        for places in filter(None, batches):
            drawn = _draw_batch(model, [draws[place] for place in places], temperature, max_new_tokens, end, pad)
            replies.update(zip(places, drawn, strict=True))
    return [replies[place] for place in range(len(draws))]


def _draw_batch(
    model: Any, draws: Sequence[Draw], temperature: float, max_new_tokens: int, end: Sequence[int], pad: int
) -> list[list[int]]:
    """Token by token with a key-value cache; a row that has ended leaves the batch."""
    import numpy as np
    import torch

    device = next(model.parameters()).device
    width = max(len(each.prompt) for each in draws)
    ids = torch.tensor([[pad] * (width - len(each.prompt)) + list(each.prompt) for each in draws], device=device)
    mask = torch.tensor([[0] * (width - len(each.prompt)) + [1] * len(each.prompt) for each in draws], device=device)
    chances = np.stack([np.random.default_rng(each.seed).random(max_new_tokens) for each in draws])
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    replies: list[list[int]] = [[] for _ in draws]
    rows = list(range(len(draws)))  # which draw each row of the batch belongs to
    cache = None
    for step in range(max_new_tokens):
        out = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        cache = out.past_key_values
        drawn = choose(out.logits[:, -1], torch.tensor(chances[rows, step], device=device), temperature)
        tokens = drawn.tolist()
        going = [place for place, token in enumerate(tokens) if token not in end]
        for place in going:
            replies[rows[place]].append(tokens[place])
        if not going:
            break
        if len(going) < len(rows):
            kept = torch.tensor(going, device=device)
            cache.batch_select_indices(kept)
            mask, drawn, positions = mask[kept], drawn[kept], positions[kept]
            rows = [rows[place] for place in going]
        ids = drawn[:, None]
        mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
        positions = positions[:, -1:] + 1
    return replies


def choose(logits: torch.Tensor, chances: torch.Tensor, temperature: float) -> torch.Tensor:
    """One token per row: where the row's chance in [0, 1) falls in its cumulated distribution.

    Args:
        logits: (rows, vocabulary).
        chances: (rows,), drawn uniformly.
    """
    import torch

    if temperature == 0:
        return logits.argmax(-1)
    weights = torch.softmax(logits.double() / temperature, dim=-1).cumsum(-1)
    places = torch.searchsorted(weights, (chances * weights[:, -1])[:, None], right=True)[:, 0]
    return places.clamp(max=logits.shape[-1] - 1)
