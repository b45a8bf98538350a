"""A language model on this machine as an assistant: loaded once, asked by many conversations, answering in batches.

Conversations run in threads of their own; the first thread that finds the model idle answers all waiting questions in
one batch.  A reply depends on its conversation and seed alone (see `sampling`), so results are those of one by one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from discover_lib.core.conversation import Message, Reply
from discover_lib.core.roles import AssistantError
from discover_lib.engines.local.chat import Chat, end_tokens, said
from discover_lib.engines.local.dialect import Notation, PlainChat
from discover_lib.engines.local.sampling import Draw, draw, exact
from discover_lib.engines.local.tiny_language import MAX_REPLY_TOKENS

TEMPERATURE = 0.7  # of evaluation, as for models behind an API
MAX_NEW_TOKENS = 1024
IN_FLIGHT = 128  # conversations at once
GATHER_SECONDS = 0.015  # more than a simulated user takes to answer


@dataclass
class _Question:
    draw: Draw
    answer: list[int] | None = None
    error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.answer is not None or self.error is not None


@dataclass
class LocalModel:
    """A model of `transformers` with its tokenizer.  Thread-safe.

    Attributes:
        name: what records call it.
        model: taken over: set to evaluation, a small one to double precision, so not one that is still being trained.
        speaks_notation: it is a tiny model of the miniature and is told and read in the notation.
        system: text of a system message for other models, or "".
        thinking: whether it may think before it replies; its thoughts are no part of the reply.
    """

    name: str
    model: Any
    tokenizer: Any
    speaks_notation: bool
    system: str = ""
    thinking: bool = False
    temperature: float = TEMPERATURE
    max_new_tokens: int = MAX_NEW_TOKENS
    _waiting: list[_Question] = field(default_factory=list, repr=False)
    _condition: threading.Condition = field(default_factory=threading.Condition, repr=False)
    _busy: bool = False  # somebody leads: has the model answer all that wait
    _batching: bool = False  # whether the last batch held several questions

    def __post_init__(self) -> None:
        if self.speaks_notation:
            self.max_new_tokens = min(self.max_new_tokens, MAX_REPLY_TOKENS)
        self.model = exact(self.model).eval()
        self.dialect = Notation() if self.speaks_notation else PlainChat(self.name, self.system)
        self.chat = Chat(self.tokenizer, self.thinking)
        self.ends = end_tokens(self.model.generation_config, self.tokenizer)

    def prompt(self, messages: Sequence[Message], domain: str) -> tuple[int, ...]:
        """Token ids of a conversation, up to where the reply begins."""
        return tuple(self.chat.prompt(self.dialect.encode(messages, domain)))

    def answer(self, draws: Sequence[Draw]) -> list[list[int]]:
        """The token ids of replies; questions that wait in other threads are answered along with these."""
        questions = [_Question(each) for each in draws]
        with self._condition:
            self._waiting += questions
        while self._acquire_leadership(questions):
            try:
                self._wait_for_batch()
                with self._condition:
                    batch, self._waiting = self._waiting, []
                self._answer_all(batch)
            finally:
                with self._condition:
                    self._busy = False
                    self._condition.notify_all()
        for error in (each.error for each in questions if each.error is not None):
            raise AssistantError(f"{self.name} did not reply: {error}") from error
        return [each.answer or [] for each in questions]

    def _acquire_leadership(self, questions: Sequence[_Question]) -> bool:
        """Wait until these questions are answered (False), or until the model is free to answer them (True)."""
        with self._condition:
            while not all(each.done for each in questions):
                if not self._busy:
                    self._busy = True
                    return True
                self._condition.wait()
            return False

    def _wait_for_batch(self) -> None:
        """Where several ask at a time, wait until nobody new has come for a moment: one batch is cheaper than two."""
        seen, asked = 0, len(self._waiting)
        while seen != asked and (asked > 1 or self._batching):
            time.sleep(GATHER_SECONDS)
            seen, asked = asked, len(self._waiting)
        self._batching = asked > 1

    def _answer_all(self, batch: Sequence[_Question]) -> None:
        try:
            replies = draw(
                self.model,
                [each.draw for each in batch],
                temperature=self.temperature,
                max_new_tokens=self.max_new_tokens,
                end=self.ends,
                pad=self.tokenizer.pad_token_id or 0,
            )
        except Exception as error:  # everybody in the batch must hear of it
            for question in batch:
                question.error = error
            return
        for question, reply in zip(batch, replies, strict=True):
            question.answer = reply


class LocalAssistant:
    """A local model as the assistant of one domain."""

    def __init__(self, model: LocalModel, domain: str) -> None:
        self.name = model.name
        self.domain = domain
        self._model = model

    def reply(self, messages: Sequence[Message], seed: int) -> Reply:
        return self.reply_batch([(messages, seed)])[0]

    def reply_batch(self, requests: Sequence[tuple[Sequence[Message], int]]) -> list[Reply]:
        """Replies to several conversations at once, each as it would be alone.

        Raises:
            AssistantError: the model failed.
        """
        draws = [Draw(self._model.prompt(messages, self.domain), seed) for messages, seed in requests]
        answers = self._model.answer(draws)
        return [self._reply(ids, messages) for ids, (messages, _) in zip(answers, requests, strict=True)]

    def _reply(self, ids: Sequence[int], messages: Sequence[Message]) -> Reply:
        text, n_tokens = said(ids, self._model.tokenizer, self._model.ends)
        reply = self._model.dialect.decode(text, n_tokens, self.domain, messages)
        if self._model.speaks_notation:
            return replace(reply, assistant=self.name)
        if not text:
            raise AssistantError(f"{self.name} replied with nothing{' but thoughts' if ids else ''}")
        return replace(reply, counting=f"tokens of {self.name}", assistant=self.name)
