"""A language model as the judge of refusals: one structured call per reply."""

from __future__ import annotations

from discover_lib.engines.llm.answers import Refusal
from discover_lib.engines.llm.asking import Model, failing_as
from discover_lib.engines.llm.calls.client import LLMClient
from discover_lib.engines.llm.prompting import PromptSet, default_prompts, quoted
from discover_lib.metrics.scorer import ScoreError

TEMPERATURE = 0.0
MAX_TOKENS = 1024


class LLMRefusalJudge:
    """Asks a model whether a reply refuses."""

    def __init__(self, client: LLMClient, model: str, prompts: PromptSet | None = None) -> None:
        self.name = model
        self.model = Model(client, model, TEMPERATURE, MAX_TOKENS, prompts or default_prompts())

    def refuses(self, asked: str, reply: str) -> bool:
        values = {"asked": quoted("asked", asked), "reply": quoted("reply", reply)}
        with failing_as(ScoreError, "whether a reply refuses could not be judged"):
            answer = self.model.answer("refusal", values, Refusal, purpose="refusal")
        return answer.refuses
