"""A language model as the scorer of conversations: satisfaction, interactivity, behavior (paper, 4.2 and B.6).

`LLMRefusalJudge` scores single replies for the content policy.
"""

from __future__ import annotations

from typing import Any

from discover_lib.core.conversation import Conversation, Reply
from discover_lib.core.intents import IntentTree
from discover_lib.engines.llm.answers import (
    BehaviourAnnotation,
    Interactivity,
    Refusal,
    SatisfactionScores,
)
from discover_lib.engines.llm.asking import Model, each_once, failing_as
from discover_lib.engines.llm.calls.exchange import Asks
from discover_lib.engines.llm.prompting import PromptSet, one_line, quoted, transcript
from discover_lib.metrics.satisfaction import LeafScore
from discover_lib.metrics.scorer import InteractivityRating, ScoreError, TurnBehaviour

TEMPERATURE = 0.0
MAX_TOKENS = 8192
REFUSAL_TOKENS = 1024


class LLMScorer:
    """Scores by a language model, one structured call a question."""

    def __init__(
        self,
        client: Asks,
        model: str,
        *,
        temperature: float | None = TEMPERATURE,
        max_tokens: int | None = MAX_TOKENS,
        prompts: PromptSet | None = None,
        **effort: Any,
    ) -> None:
        self.name = model
        self.model = Model(client, model, temperature, max_tokens, prompts, **effort)

    def satisfaction(self, tree: IntentTree, reply: Reply) -> tuple[LeafScore, ...]:
        leaves = tree.leaves()
        values = {
            "artifact_type": tree.artifact_type,
            "artifact": quoted("artifact", reply.text),
            "requirements": "\n".join(f"- [{leaf}] {one_line(tree.text(leaf))}" for leaf in leaves),
        }

        def check(answer: SatisfactionScores) -> str | None:
            return each_once([each.id for each in answer.scores], leaves, "id")

        with failing_as(ScoreError, "satisfaction could not be scored"):
            answer = self.model.answer("satisfaction_judge", values, SatisfactionScores, check, purpose="satisfaction")
        scores = {each.id: LeafScore(each.id, each.score, one_line(each.reason)) for each in answer.scores}
        return tuple(scores[leaf] for leaf in leaves)

    def interactivity(self, conversation: Conversation) -> InteractivityRating:
        values = {"conversation": transcript(conversation.messages())}
        with failing_as(ScoreError, "interactivity could not be rated"):
            answer = self.model.answer("interactivity_judge", values, Interactivity, purpose="interactivity")
        return InteractivityRating(answer.score, one_line(answer.reason))

    def behaviour(self, conversation: Conversation) -> tuple[TurnBehaviour, ...]:
        turns = [turn.index for turn in conversation.turns]
        values = {"numbered": transcript(conversation.messages(), numbered=True), "turns": ", ".join(map(str, turns))}

        def check(answer: BehaviourAnnotation) -> str | None:
            return each_once([str(each.turn) for each in answer.turns], [str(turn) for turn in turns], "turn")

        with failing_as(ScoreError, "behaviour could not be annotated"):
            answer = self.model.answer("behaviour_annotation", values, BehaviourAnnotation, check, purpose="behaviour")
        found = {each.turn: TurnBehaviour(each.turn, each.behaviour, one_line(each.reason)) for each in answer.turns}
        return tuple(found[turn] for turn in turns)


class LLMRefusalJudge:
    """Decides whether a reply refuses, one structured call per reply."""

    def __init__(self, client: Asks, model: str, prompts: PromptSet | None = None) -> None:
        self.name = model
        self.model = Model(client, model, TEMPERATURE, REFUSAL_TOKENS, prompts)

    def refuses(self, asked: str, reply: str) -> bool:
        values = {"asked": quoted("asked", asked), "reply": quoted("reply", reply)}
        with failing_as(ScoreError, "whether a reply refuses could not be judged"):
            answer = self.model.answer("refusal", values, Refusal, purpose="refusal")
        return answer.refuses
