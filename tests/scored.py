"""Scores made by hand: assistants that find what a test says."""

from collections.abc import Collection, Mapping

from discover_lib.metrics.scores import ConversationScores


def scores_where(
    found: Mapping[str, Collection[int]], tokens: Mapping[str, int], artifacts: int
) -> list[ConversationScores]:
    """Assistants that find these of the intents 0 to 3 on every artifact, in one turn of so many tokens."""
    return [
        ConversationScores(
            place=0, domain="svg_drawing", artifact=f"a{artifact}", trial=0, assistant=name, stop="max_turns",
            moves={str(intent): (1, 1) if intent in known else (0, 0) for intent in range(4)},
            rewards=(float(len(known)),), tokens=(tokens[name],), leaves={"1": 5 if known else 1},
        )
        for name, known in found.items()
        for artifact in range(artifacts)
    ]  # fmt: skip
