"""Inspect's logs: a run as an `.eval` file that its viewer, data frames and re-scorers read, and back into a run.

A sample is a conversation, its messages are the conversation's, its scores our measures, and its store holds our whole
record.  After every reply an event says what the turn did, so that the viewer's transcript reads like ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discover_lib.core.conversation import Conversation
from discover_lib.metrics.scores import scores_of

if TYPE_CHECKING:
    from inspect_ai.scorer import Score
    from inspect_ai.viewer import ViewerConfig

SCORER = "discovery"


def measures(talk: Mapping[str, Any]) -> Score:
    """The score of a stored conversation: NaN, Inspect's "unscored", where there is nothing to measure."""
    from inspect_ai.scorer import Score

    scores = scores_of(Conversation.from_dict(talk), 0)
    share, reward = scores.proportion(), scores.reward
    return Score(
        value={
            "discovered": scores.discovered,
            "share": math.nan if share is None else share,
            "reward": math.nan if reward is None else reward,
            "tokens": sum(scores.tokens),
            "leaks": scores.leaks,
        }
    )


def unscored(why: str) -> Score:
    """The score of a conversation that failed."""
    from inspect_ai.scorer import Score

    return Score(value=dict.fromkeys(("discovered", "share", "reward", "tokens", "leaks"), math.nan), explanation=why)


def viewer() -> ViewerConfig:
    """How Inspect's viewer lists conversations: best share first, colours over the whole scale."""
    from inspect_ai.viewer import ScoreColorScale, TaskSamplesColumn, TaskSamplesSort, TaskSamplesView, ViewerConfig

    column = TaskSamplesColumn
    scores = [column.score(SCORER, name) for name in ("share", "discovered", "reward", "tokens", "leaks")]
    listed = TaskSamplesView(
        name="Conversations",
        columns=[column(id="sampleId"), column(id="input"), *scores, column(id="error")],
        sort=[TaskSamplesSort.score(SCORER, "share", dir="desc")],
        score_color_scales={"share": ScoreColorScale(palette="good-high", min=0, max=1)},
    )
    return ViewerConfig(task_samples_view=listed, trust_content=False)
