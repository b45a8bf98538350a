"""The digest of a finished conversation: its `ConversationScores` as JSON, kept beside its turns in the run's store.

Summaries, results and the pages over a run read digests alone: a hundred thousand conversations open in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

from discover_lib.base.json_text import record_json
from discover_lib.core.conversation import Conversation
from discover_lib.metrics.scores import Assessment, ConversationScores, scores_of
from discover_lib.runs.store import RunStore


def digest_of(conversation: Conversation, place: int) -> str:
    """The digest of a finished conversation that was not assessed."""
    return record_json(scores_of(conversation, place).digest())


def stored_scores(store: RunStore) -> Iterator[ConversationScores]:
    """The scores of every finished conversation, assessed or not, in the order of the plan.

    A conversation without a digest is read whole.
    """
    for place, digest in store.digests():
        scores = ConversationScores.from_json(digest, place) if digest else None
        if scores is None:
            data = store.assessment(place)
            scores = scores_of(store.conversation(place), place, Assessment.from_dict(data) if data else None)
        yield scores
