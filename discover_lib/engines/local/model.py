"""A language model on this machine as an assistant: loaded once, shared by many conversations, answering in batches.

Each conversation runs in its own thread.  The first thread that finds the model idle answers all waiting questions in
one batch.  A reply depends only on its prompt and its seed, so batching does not change results.  Rows are padded on
the left and draw from their own generators.  Small models compute in double precision (`exact`), so the rounding of
padded rows decides no draw.  In half precision on a GPU a batch can still change a close draw.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from discover_lib.core.conversation import Message, Reply
from discover_lib.core.roles import AssistantError
from discover_lib.engines.local.dialect import Chat, Dialect, Notation, end_tokens, said
from discover_lib.engines.local.tiny_language import MAX_REPLY_TOKENS

if TYPE_CHECKING:
    import torch

Prompt = TypeVar("Prompt")
TEMPERATURE = 0.7  # of evaluation, the same as for API models
MAX_NEW_TOKENS = 1024
IN_FLIGHT = 128  # conversations at once
GATHER_SECONDS = 0.015  # longer than a simulated user takes to answer
EXACT_PARAMETERS = 10_000_000  # largest model for double precision, which costs little on a CPU at this size
CPU_BATCH_TOKENS = 6_000  # prompt and reply tokens at once: larger batches overflow a processor's caches
GPU_BATCH_TOKENS = 60_000


# -- drawing replies -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Draw:
    """One reply to draw: the prompt's token ids and a seed."""

    prompt: tuple[int, ...]
    seed: int


def exact(model: Any) -> Any:
    """A small model on a CPU in double precision; other models unchanged."""
    on_cpu = next(model.parameters()).device.type == "cpu"
    small = sum(each.numel() for each in model.parameters()) <= EXACT_PARAMETERS
    return model.double() if on_cpu and small else model


def draw(
    model: Any, draws: Sequence[Draw], *, temperature: float, max_new_tokens: int, end: Sequence[int], pad: int
) -> list[list[int]]:
    """The token ids of one reply per draw, without the end mark, in the order of `draws`.

    Args:
        model: a causal model of `transformers`, in evaluation mode.
        temperature: 0 selects the most likely token.
        end: ids of tokens that end a reply.
    """
    import torch

    limit = CPU_BATCH_TOKENS if next(model.parameters()).device.type == "cpu" else GPU_BATCH_TOKENS
    order = sorted(range(len(draws)), key=lambda place: len(draws[place].prompt))  # of similar length in a batch
    batches = within([draws[place] for place in order], max_new_tokens, limit, length=lambda each: len(each.prompt))
    drawn: list[list[int]] = []
    with torch.inference_mode():
        for batch in batches:
            drawn += _draw_batch(model, batch, temperature, max_new_tokens, end, pad)
    replies = dict(zip(order, drawn, strict=True))
    return [replies[place] for place in range(len(draws))]


def within(
    prompts: Sequence[Prompt],
    max_tokens: int,
    budget: int,
    most: int | None = None,
    *,
    length: Callable[[Any], int] = len,
) -> Iterator[Sequence[Prompt]]:
    """Prompts in their order, in batches of at least one that fit with their replies.

    Args:
        budget: tokens with padding.
        most: prompts in a batch; None for any number.
        length: of a prompt in tokens.
    """
    start = 0
    while start < len(prompts):
        end, width = start, 0
        while end < len(prompts) and end - start != most:
            width = max(width, length(prompts[end]) + max_tokens)
            if end > start and width * (end - start + 1) > budget:
                break
            end += 1
        yield prompts[start:end]
        start = end


def _draw_batch(
    model: Any, draws: Sequence[Draw], temperature: float, max_new_tokens: int, end: Sequence[int], pad: int
) -> list[list[int]]:
    """Draw token by token with a key-value cache; a finished row leaves the batch."""
    import numpy as np
    import torch

    device = next(model.parameters()).device
    width = max(len(each.prompt) for each in draws)
    ids = torch.tensor([[pad] * (width - len(each.prompt)) + list(each.prompt) for each in draws], device=device)
    mask = torch.tensor([[0] * (width - len(each.prompt)) + [1] * len(each.prompt) for each in draws], device=device)
    chances = np.stack([np.random.default_rng(each.seed).random(max_new_tokens) for each in draws])
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    replies: list[list[int]] = [[] for _ in draws]
    rows = list(range(len(draws)))  # row of the batch → its draw
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
    """One token per row: the position of the row's chance in its cumulative distribution.

    Args:
        logits: (rows, vocabulary).
        chances: (rows,), uniform in [0, 1).
    """
    import torch

    if temperature == 0:
        return logits.argmax(-1)
    weights = torch.softmax(logits.double() / temperature, dim=-1).cumsum(-1)
    places = torch.searchsorted(weights, (chances * weights[:, -1])[:, None], right=True)[:, 0]
    return places.clamp(max=logits.shape[-1] - 1)


# -- an assistant ----------------------------------------------------------------------------------------------------


@dataclass
class LocalModel:
    """A model of `transformers` with its tokenizer.  Thread-safe.

    Attributes:
        name: its name in records.
        model: set to evaluation, and a small one to double precision.  Do not pass a model in training.
        dialect: the notation for a tiny model, plain chat for others.
        thinking: whether it may think before it replies.  Thoughts are removed from the reply.
    """

    name: str
    model: Any
    tokenizer: Any
    dialect: Dialect
    thinking: bool = False
    temperature: float = TEMPERATURE
    max_new_tokens: int = MAX_NEW_TOKENS
    _waiting: list[tuple[Draw, Future[list[int]]]] = field(default_factory=list, repr=False)
    _condition: threading.Condition = field(default_factory=threading.Condition, repr=False)
    _busy: bool = False  # a thread is answering the waiting questions
    _batching: bool = False  # the last batch had several questions

    def __post_init__(self) -> None:
        if isinstance(self.dialect, Notation):
            self.max_new_tokens = min(self.max_new_tokens, MAX_REPLY_TOKENS)
        self.model = exact(self.model).eval()
        self.chat = Chat(self.tokenizer, self.thinking)
        self.ends = end_tokens(self.model.generation_config, self.tokenizer)

    def prompt(self, messages: Sequence[Message], domain: str) -> tuple[int, ...]:
        """Token ids of a conversation, up to where the reply begins."""
        return tuple(self.chat.prompt(self.dialect.encode(messages, domain)))

    def answer(self, asked: Draw) -> list[int]:
        """The token ids of a reply.  Questions waiting in other threads are answered in the same batch.

        Raises:
            AssistantError: the model failed.
        """
        answer = Future[list[int]]()
        with self._condition:
            self._waiting.append((asked, answer))
        while self._acquire_leadership(answer):
            try:
                self._wait_for_batch()
                with self._condition:
                    batch, self._waiting = self._waiting, []
                self._answer_all(batch)
            finally:
                with self._condition:
                    self._busy = False
                    self._condition.notify_all()
        try:
            return answer.result()
        except Exception as error:
            raise AssistantError(f"{self.name} did not reply: {error}") from error

    def _acquire_leadership(self, answer: Future[list[int]]) -> bool:
        """Wait until this answer is there (False) or the model is idle (True)."""
        with self._condition:
            while not answer.done():
                if not self._busy:
                    self._busy = True
                    return True
                self._condition.wait()
            return False

    def _wait_for_batch(self) -> None:
        """With several threads, wait briefly for further questions: one batch is cheaper than two."""
        seen, asked = 0, len(self._waiting)
        while seen != asked and (asked > 1 or self._batching):
            time.sleep(GATHER_SECONDS)
            seen, asked = asked, len(self._waiting)
        self._batching = asked > 1

    def _answer_all(self, batch: Sequence[tuple[Draw, Future[list[int]]]]) -> None:
        try:
            replies = draw(
                self.model,
                [asked for asked, _ in batch],
                temperature=self.temperature,
                max_new_tokens=self.max_new_tokens,
                end=self.ends,
                pad=self.tokenizer.pad_token_id or 0,
            )
        except Exception as error:  # every thread of the batch raises it
            for _, answer in batch:
                answer.set_exception(error)
            return
        for (_, answer), reply in zip(batch, replies, strict=True):
            answer.set_result(reply)


class LocalAssistant:
    """A local model as the assistant of one domain."""

    def __init__(self, model: LocalModel, domain: str) -> None:
        self.name = model.name
        self.domain = domain
        self._model = model

    def reply(self, messages: Sequence[Message], seed: int) -> Reply:
        ids = self._model.answer(Draw(self._model.prompt(messages, self.domain), seed))
        text, n_tokens = said(ids, self._model.tokenizer, self._model.ends)
        reply = self._model.dialect.decode(text, n_tokens, self.domain, messages)
        if isinstance(self._model.dialect, Notation):
            return replace(reply, assistant=self.name)
        if not text:
            raise AssistantError(f"{self.name} replied with {'thoughts only' if ids else 'an empty text'}")
        return replace(reply, counting=f"tokens of {self.name}", assistant=self.name)
