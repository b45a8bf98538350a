"""The site's page on trees: a piece of one's own, read by the miniature's builder in the visitor's browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discover_lib.app.controls import domain_labels
from discover_lib.core.advance import initial_state
from discover_lib.core.conversation import Artifact
from discover_lib.core.roles import RoleError
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.lexicon import LexiconError
from discover_lib.views import conversation as show
from discover_lib.views.html import joined, quiet, tag

MOST_LETTERS = 200_000
EXAMPLE = ("creative_writing", 8)


def introduction() -> str:
    """The page's title and question, as HTML."""
    return """
<h1>How does a finished piece become a tree of intents?</h1>
<p>Paste a drawing (SVG), a story, an article: what it shows is recognised, made broader step by step, and joined to a
forest. A small world reads it, no language model; what you paste stays in this page.</p>
"""


def opening() -> dict[str, Any]:
    """The values that the page begins with: an example, read already."""
    domain, index = EXAMPLE
    asked = {"domain": domain, "text": generate_artifact(domain, "eval", index).text}
    return {"domains": list(domain_labels().items()), "asked": asked, "built": built(asked)}


def built(asked: Mapping[str, str]) -> dict[str, str]:
    """A piece's intents as HTML, or why there are none."""
    text = str(asked["text"])[:MOST_LETTERS]
    try:
        world = engine(str(asked["domain"]))
        result = world.builder.build(Artifact("your own", world.builder.lexicon.artifact_type, text))
    except (RoleError, LexiconError) as error:
        return {"html": str(show.error_line(str(error)))}
    tree = result.tree
    request = joined([quiet("A user with these intents would begin:"), tag("p", tree.initial_request)])
    state = initial_state(tree)
    panels = (
        show.panel("Intents: what such a user may come to want", request, show.outline(tree, state)),
        show.panel("Recognised in the piece", show.recognised(result.recognised)),
        show.panel("Made broader, level by level", show.ladder(result.levels)),
    )
    return {"html": str(joined(panels))}
