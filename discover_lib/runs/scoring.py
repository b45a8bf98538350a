"""The last step of a conversation in an evaluation: the finished piece is asked for, and all is scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from discover_lib.base.seeds import derive_seed
from discover_lib.core.conversation import Conversation, FinalTurn, Message
from discover_lib.core.roles import Assistant, RoleError, SeesIntents, ask
from discover_lib.engines.spec import RoleEngines
from discover_lib.metrics.satisfaction import FINAL_REQUEST
from discover_lib.metrics.scorer import Scorer
from discover_lib.metrics.scores import Assessment, ScoringFailure, scores_of
from discover_lib.runs.store import failure_of
from discover_lib.runs.work import ParallelMap

SCORING = ("satisfaction", "interactivity", "behaviour")  # of a conversation, in the order of their records
T = TypeVar("T")


def scored(
    conversation: Conversation, place: int, engines: RoleEngines, request: str, parallel_map: ParallelMap = map
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The assessment of a finished conversation and its digest, as `RunStore.put_assessment` takes them.

    Args:
        request: what asks for the finished piece.
        parallel_map: how the scores are asked for; it must keep their order.
    """
    domain = conversation.setting["domain"]
    assistant = engines.assistant(conversation.setting["assistants"][0], domain)
    final = _tried("final", lambda: final_turn(conversation, assistant, request))
    found = assessed(conversation, engines.scorer(domain), final, parallel_map=parallel_map)
    return found.to_dict(), scores_of(conversation, place, found).digest()


def final_turn(conversation: Conversation, assistant: Assistant | SeesIntents, request: str) -> FinalTurn:
    """The finished piece, asked of the assistant that held the conversation.

    Raises:
        AssistantError: it did not reply.
    """
    messages, seed = final_question(conversation, request)
    return FinalTurn(request, ask(assistant, conversation.tree, conversation.state, messages, seed))


def final_question(conversation: Conversation, request: str = FINAL_REQUEST) -> tuple[tuple[Message, ...], int]:
    """What the assistant is asked for the finished piece, and with which seed."""
    messages = conversation.messages()
    if messages[-1].role == "user":  # the last turn was answered; what was said there comes with the request
        question = Message("user", f"{messages[-1].content}\n\n{request}")
        return (*messages[:-1], question), derive_seed(conversation.seed, "final")
    return (*messages, Message("user", request)), derive_seed(conversation.seed, "final")


def assessed(
    conversation: Conversation, scorer: Scorer, final: FinalTurn | ScoringFailure, *, parallel_map: ParallelMap = map
) -> Assessment:
    """Everything that an evaluation wants to know about a finished conversation; what fails is unscored.

    Args:
        parallel_map: how the scores are asked for; it must keep their order.
    """

    def score(name: str) -> Any:
        if name == "satisfaction":
            if isinstance(final, ScoringFailure):
                return final
            return _tried(name, lambda: scorer.satisfaction(conversation.tree, final.reply))
        return _tried(name, lambda: getattr(scorer, name)(conversation))

    scores = list(parallel_map(score, SCORING))
    failures = tuple(each for each in scores if isinstance(each, ScoringFailure))
    finished, *parts = (None if isinstance(each, ScoringFailure) else each for each in (final, *scores))
    return Assessment(scorer.name, finished, **dict(zip(SCORING, parts, strict=True)), failures=failures)


def _tried(name: str, score: Callable[[], T]) -> T | ScoringFailure:
    try:
        return score()
    except RoleError as error:
        failure = failure_of(error, 0)
        return ScoringFailure(name, failure.message, failure.came_back)
