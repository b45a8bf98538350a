"""The site's page on trees: a piece of one's own, read by the miniature's builder in the visitor's browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discover_lib.core.advance import initial_state
from discover_lib.core.conversation import Artifact
from discover_lib.core.roles import RoleError
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.lexicon import LexiconError
from workbench.controls import domain_labels
from workbench.views import conversation as show
from workbench.views.html import joined, quiet, tag
from workbench.views.piece import numbers_of, read_piece

MOST_LETTERS = 200_000
EXAMPLE = 8  # of the evaluation artifacts


def introduction() -> str:
    """The page's title and question, as HTML."""
    return """
<h1>How does a finished piece become a tree of intents?</h1>
<p>Paste a drawing (SVG), a story, an article: what it shows is recognised, made broader step by step, and joined to a
forest. A small world reads it, no language model; what you paste stays in this page.</p>
"""


def opening() -> dict[str, Any]:
    """The values that the page begins with: an example, read already."""
    domains = domain_labels()
    examples = {domain: generate_artifact(domain, "eval", EXAMPLE).text for domain in domains.values()}
    first = next(iter(examples))
    asked = {"domain": first, "text": examples[first]}
    return {"domains": list(domains.items()), "examples": examples, "asked": asked, "built": built(asked)}


def built(asked: Mapping[str, str]) -> dict[str, str]:
    """A piece's intents as HTML, or why there are none."""
    text = str(asked["text"])[:MOST_LETTERS]
    try:
        world = engine(str(asked["domain"]))
        artifact = Artifact("your own", world.builder.lexicon.artifact_type, text)
        result = world.builder.build(artifact)
    except (RoleError, LexiconError) as error:
        return {"html": str(show.error_line(str(error)))}
    tree = result.tree
    request = joined([quiet("A user with these intents would begin:"), tag("p", tree.initial_request)])
    state = initial_state(tree)
    numbers = numbers_of(tree, result.recognised)
    unread = [quiet(f"What it was not read for: {'; '.join(result.notes)}.")] if result.notes else []
    panels = (
        show.panel("The piece, and where each requirement was read", read_piece(artifact, result.recognised), *unread),
        show.panel("Intents: what such a user may come to want", request, show.outline(tree, state, numbers=numbers)),
        show.panel("Recognised in the piece", show.recognised(result.recognised)),
        show.panel("Made broader, level by level", show.ladder(result.levels)),
    )
    return {"html": str(joined(panels))}
