"""Language models as assistants: any LiteLLM model, as it is or with one of our system prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Unpack

from discover_lib.base.tokens import COUNTING, count_tokens
from discover_lib.core.conversation import Message, Reply
from discover_lib.core.roles import AssistantError
from discover_lib.engines.llm.asking import Effort, Model, failing_as
from discover_lib.engines.llm.calls.answer_text import UnusableError, without_thinking
from discover_lib.engines.llm.calls.client import LLMClient
from discover_lib.engines.llm.calls.exchange import Completion, Request
from discover_lib.engines.llm.calls.structured import ask_whole
from discover_lib.engines.llm.prompting import PromptSet, WireMessages, default_prompts

TEMPERATURE = 0.7
MAX_TOKENS = 2048
REPORTED = "completion tokens reported by the provider"
REPORTED_TEXT = f"{REPORTED}, thinking left out"

# What follows the "+" in an assistant's name → its system prompt.
STYLES = {
    "co-creation": "co_creation",
    "collaborative": "collaborative",  # ours, in the spirit of the release's system prompt
    "clarifying": "clarifying",
    "collabllm": "collabllm",  # after the paper's own (E.10), in our words
}


class LLMAssistant:
    """Answers a conversation by a language model; it sees the messages and nothing else.

    Args:
        name: what records call it.
        system: text of a system message, or "" for none.
        sample: tells several samples of one model apart; each is asked for and cached by itself.
    """

    def __init__(
        self,
        client: LLMClient,
        model: str,
        name: str = "",
        *,
        system: str = "",
        temperature: float | None = TEMPERATURE,
        max_tokens: int | None = MAX_TOKENS,
        sample: int = 0,
        **effort: Unpack[Effort],
    ) -> None:
        self.name = name or model
        self.system = system
        self.sample = sample
        self.model = Model(client, model, temperature, max_tokens, **effort)

    def reply(self, messages: Sequence[Message], seed: int) -> Reply:
        return self._asked(messages, seed, self.model.client.complete)

    def stream(self, messages: Sequence[Message], seed: int, on_text: Callable[[str], None]) -> Reply:
        """As `reply`, with the whole text so far, without thinking, handed to `on_text` as it grows.

        Raises:
            AssistantError: no reply could be had.
        """
        client = self.model.client

        def show(text: str) -> None:
            on_text(_begun(text))

        return self._asked(messages, seed, lambda request: client.stream(request, show))

    def _asked(self, messages: Sequence[Message], seed: int, ask: Callable[[Request], Completion]) -> Reply:
        with failing_as(AssistantError, f"{self.name} did not reply"):
            request, completion = ask_whole(self.model.client, ask, self._request(messages, seed))
        if completion.finish_reason == "length":
            line = f"{self.name}: the reply was cut off by its limit of {request.max_tokens} tokens"
            raise AssistantError(line, (completion.text,))
        return self._read(completion)

    def _request(self, messages: Sequence[Message], seed: int) -> Request:
        system: WireMessages = ({"role": "system", "content": self.system},) if self.system else ()
        spoken: WireMessages = tuple({"role": each.role, "content": each.content} for each in messages)
        return self.model.request((*system, *spoken), "assistant", seed=seed, sample=self.sample)

    def _read(self, completion: Completion) -> Reply:
        try:
            text = without_thinking(completion.text).strip()
        except UnusableError as error:
            raise AssistantError(f"{self.name} did not reply: {error}", (completion.text,)) from None
        if not text:
            line = f"{self.name} replied with nothing (finish reason {completion.finish_reason!r})"
            raise AssistantError(line, (completion.text,))
        return Reply(text, *_length(text, completion), self.name)


def _length(text: str, completion: Completion) -> tuple[int, str]:
    """Tokens of the text that the user reads, and how they were counted: hidden thinking is no length."""
    counted, hidden = completion.completion_tokens, completion.reasoning_tokens or 0
    if counted is not None and 0 < hidden < counted:
        return counted - hidden, REPORTED_TEXT
    if counted is None or text != completion.text.strip():
        return count_tokens(text), COUNTING
    return counted, REPORTED


def _begun(text: str) -> str:
    """What a user may see of a reply that is being written."""
    if text.lstrip().startswith("<") and ">" not in text:
        return ""  # of a tag that may open thinking
    try:
        return without_thinking(text).lstrip()
    except UnusableError:
        return ""


def model_and_style(name: str) -> tuple[str, str]:
    """The two halves of an assistant's name; the style is "" where it has none.

    Raises:
        ValueError: no model before the "+".
    """
    model, _, style = name.rpartition("+")
    if style not in STYLES:  # a "+" may belong to the model's own name
        return name, ""
    if not model:
        raise ValueError(f"assistant {name!r} names no model; write MODEL or MODEL+{'|'.join(STYLES)}")
    return model, style


def llm_assistant(
    client: LLMClient,
    name: str,
    *,
    sample: int = 0,
    temperature: float | None = TEMPERATURE,
    max_tokens: int | None = MAX_TOKENS,
    prompts: PromptSet | None = None,
    **effort: Unpack[Effort],
) -> LLMAssistant:
    """The assistant that a command line names: "MODEL" as it is, or "MODEL+STYLE" with a style of `STYLES`.

    Raises:
        ValueError: no model before the "+".
    """
    model, style = model_and_style(name)
    system = (prompts or default_prompts()).render(STYLES[style])[0]["content"] if style else ""
    return LLMAssistant(
        client, model, name, system=system, temperature=temperature, max_tokens=max_tokens, sample=sample, **effort
    )
