"""The piece as its user pictures it: exactly what has formed so far, and nothing of what has not."""

from __future__ import annotations

from dataclasses import dataclass

from discover_lib.core.intents import IntentTree
from discover_lib.core.state import Discovery, IntentState
from discover_lib.engines.miniature.judge import known_values
from discover_lib.engines.miniature.lexicon import Lexicon
from discover_lib.engines.miniature.rendering import hero_of, is_drawn, line_told, render_artifact


@dataclass(frozen=True)
class Imagined:
    """What can be shown of a piece that is half known.

    Attributes:
        drawing: an SVG with what is known, the rest left neutral; "" in a domain of texts.
        lines: the lines of a text in their order, None for one that has yet to form; empty in a domain of drawings.
        known: how many of the most specific intents have formed, of `of`.
    """

    drawing: str
    lines: tuple[str | None, ...]
    known: int
    of: int


def imagined(tree: IntentTree, state: IntentState, lexicon: Lexicon) -> Imagined:
    """What the user of a miniature's tree knows of the piece, as the piece itself.

    Only the most specific intents show, and only once they are discovered: of "an animal" no picture can be drawn.
    """
    lines: list[str | None] = []
    hero = hero_of(tree.initial_request, lexicon)
    shown: list[str] = []
    leaves = tree.leaves()
    for leaf in leaves:
        known = state[leaf] is Discovery.DISCOVERED
        for value in known_values(tree.text(leaf), lexicon.domain):
            entry = lexicon.values[value]
            shown += [value] if known and entry.is_leaf else []
            lines += [line_told(entry, hero) if known else None] if entry.line else []
    drawing = render_artifact(shown, lexicon) if is_drawn(lexicon.domain) else ""
    discovered = sum(state[leaf] is Discovery.DISCOVERED for leaf in leaves)
    return Imagined(drawing, () if drawing else tuple(lines), discovered, len(leaves))
