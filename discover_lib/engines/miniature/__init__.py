"""The miniature: the whole method on a small world of its own, with no language model and nothing faked.

`engine("svg_drawing")` gives the builder, judge and voice of a domain; `discover_lib.engines.miniature.assistants` the
scripted assistants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discover_lib.engines.manner import Manner
    from discover_lib.engines.miniature.builder import MiniatureBuilder
    from discover_lib.engines.miniature.judge import MiniatureJudge
    from discover_lib.engines.miniature.voice import MiniatureVoice


@dataclass(frozen=True)
class Engine:
    """What plays the user's side in one domain."""

    domain: str
    builder: MiniatureBuilder
    judge: MiniatureJudge
    voice: MiniatureVoice


def engine(domain: str, manner: Manner | None = None) -> Engine:
    """The miniature engine of a domain.

    Args:
        manner: how the user types; None for the paper's.

    Raises:
        LexiconError: unknown domain.
    """
    from discover_lib.engines.miniature.builder import MiniatureBuilder
    from discover_lib.engines.miniature.judge import MiniatureJudge
    from discover_lib.engines.miniature.voice import MiniatureVoice

    return Engine(domain, MiniatureBuilder(domain), MiniatureJudge(domain), MiniatureVoice(domain, manner))
