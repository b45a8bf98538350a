"""How every role asks its model: a rendered prompt, one structured call, and failures named by the role's boundary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypedDict

from discover_lib.core.roles import RoleError
from discover_lib.engines.llm.calls.answer_text import Check, T
from discover_lib.engines.llm.calls.client import LLMClient
from discover_lib.engines.llm.calls.exchange import ENDS_THE_RUN, LLMError, Request
from discover_lib.engines.llm.calls.structured import Seen, StructuredError, ask_structured
from discover_lib.engines.llm.prompting import PromptSet, WireMessages, default_prompts, one_line

EXCERPT = 200  # characters of an unusable answer that an error shows; the whole stands in its cause


class Effort(TypedDict, total=False):
    """What a role's model may be told beside its limit and temperature."""

    reasoning_effort: str | None
    timeout_seconds: float | None
    session: str


@dataclass(frozen=True)
class Model:
    """One model as a role uses it.

    Attributes:
        name: a LiteLLM model name.
        temperature: None leaves it to the provider.
        max_tokens: of one answer; an answer that is cut off is a failure, never guessed at.
        reasoning_effort: how long it may think, as providers name it; None leaves it to them.
        timeout_seconds: of one attempt; None: the client's.
        session: the conversation that the calls belong to.
    """

    client: LLMClient
    name: str
    temperature: float | None = None
    max_tokens: int | None = None
    prompts: PromptSet = field(default_factory=default_prompts)
    reasoning_effort: str | None = None
    timeout_seconds: float | None = None
    session: str = ""

    def request(self, messages: WireMessages, purpose: str, *, seed: int | None = None, sample: int = 0) -> Request:
        return Request(
            model=self.name,
            messages=messages,
            purpose=purpose,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            sample=sample,
            seed=seed,
            reasoning_effort=self.reasoning_effort,
            timeout_seconds=self.timeout_seconds,
            session=self.session,
        )

    def answer(
        self,
        prompt: str,
        values: dict[str, str],
        answer: type[T],
        check: Check[T] = lambda _: None,
        seen: Seen[T] = lambda _: {},
        *,
        purpose: str,
    ) -> T:
        """The checked answer to a prompt; arguments as of `ask_structured`.

        Raises:
            StructuredError: no usable answer after one re-ask that named the defect.
            LLMError: no answer at all.
        """
        request = self.request(self.prompts.render(prompt, **values), purpose)
        return ask_structured(self.client, request, answer, check, seen).value


@contextmanager
def failing_as(error_type: type[RoleError], what: str) -> Iterator[None]:
    """Turn a call that failed into the role's own error, `what` in front.

    A call that was stopped, or refused for want of budget or of a key, says nothing about the reply or the artifact:
    such an `LLMError` passes as it is and ends the run instead of marking one turn as failed.
    """
    try:
        yield
    except LLMError as error:
        if error.kind in ENDS_THE_RUN:
            raise
        came_back = f"; it said: {one_line(error.raw[-1])[:EXCERPT]}" if isinstance(error, StructuredError) else ""
        raise error_type(f"{what}: {error}{came_back}") from error
