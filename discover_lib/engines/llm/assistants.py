"""Language models as assistants: any LiteLLM model, alone or with one of the built-in system prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discover_lib.base.tokens import COUNTING, count_tokens
from discover_lib.core.conversation import Message, Reply
from discover_lib.core.roles import AssistantError
from discover_lib.engines.llm.asking import Model, UnusableError, ask_whole, failing_as, without_thinking
from discover_lib.engines.llm.calls.exchange import Asks, Completion
from discover_lib.engines.llm.prompting import STYLES, PromptSet, model_and_style

TEMPERATURE = 0.7
MAX_TOKENS = 2048
REPORTED = "completion tokens reported by the provider"


class LLMAssistant:
    """Answers a conversation by a language model, which sees only the messages.

    Args:
        name: a model, or "MODEL+STYLE" with a style of `STYLES`.
    """

    def __init__(
        self,
        client: Asks,
        name: str,
        *,
        temperature: float | None = TEMPERATURE,
        max_tokens: int | None = MAX_TOKENS,
        prompts: PromptSet | None = None,
        **effort: Any,
    ) -> None:
        model, style = model_and_style(name)
        self.name = name
        self.system = (prompts or PromptSet()).render(STYLES[style]) if style else ()
        self.model = Model(client, model, temperature, max_tokens, **effort)

    def reply(self, messages: Sequence[Message], seed: int) -> Reply:
        spoken = tuple({"role": each.role, "content": each.content} for each in messages)
        asked = self.model.request((*self.system, *spoken), "assistant", seed=seed)
        with failing_as(AssistantError, f"{self.name} did not reply"):
            request, completion = ask_whole(self.model.client, asked)
        if completion.finish_reason == "length":
            line = f"{self.name}: the reply was cut off by its limit of {request.max_tokens} tokens"
            raise AssistantError(line, (completion.text,))
        try:
            text = without_thinking(completion.text).strip()
        except UnusableError as error:
            raise AssistantError(f"{self.name} did not reply: {error}", (completion.text,)) from None
        if not text:
            line = f"{self.name} sent an empty reply (finish reason {completion.finish_reason!r})"
            raise AssistantError(line, (completion.text,))
        return Reply(text, *_length(text, completion), self.name)


def _length(text: str, completion: Completion) -> tuple[int, str]:
    """Tokens of the text that the user reads, and how they were counted.

    The provider's count holds for a text without thinking.
    """
    counted = completion.completion_tokens
    if counted is None or completion.reasoning_tokens or text != completion.text.strip():
        return count_tokens(text), COUNTING
    return counted, REPORTED
