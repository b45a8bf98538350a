"""A forest of texts as an interactive figure, and each text without the first words of the broader one.

The nodes of a graph carry `text`, `depth`, `root`, `discovery` and `satisfied`, as `IntentTree.graph` gives them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx

SIGNS = {"undiscovered": "○", "emerging": "◆", "discovered": "●"}
# discovery → fill, edge and ink; dark enough on white, and on the dark page the figure keeps its white ground
LOOKS = {
    "undiscovered": ("#f4f6f8", "#8a94a1", "#56606d"),
    "emerging": ("#fbe7bd", "#8f5f00", "#3b2a00"),
    "discovered": ("#0a7566", "#0a7566", "#ffffff"),
}
ROW_HEIGHT, GAP, FONT = 38, 4, 12  # px; a leaf's cell has room for two lines
WHOLE = "all"  # the id of the cell that holds the roots
LETTER_WIDTH = 7.0  # px of one letter of 12 px, with some room


def shortened(text: str, above: str) -> str:
    """A text without its first words, as far as the broader one above it begins with them, too.

    >>> shortened("Keeps to cool tones but for one warm spot", "Keeps to cool tones")
    'but for one warm spot'
    """
    words, known = text.split(), above.split()
    shared = 0
    while shared < min(len(words), len(known)) and words[shared].lower() == known[shared].lower():
        shared += 1
    return " ".join(words[shared:]) or text


def figure(graph: networkx.DiGraph[str], width: int = 1080, live: bool = False) -> Any:
    """A plotly icicle of a graph: one cell a node, broader to the left; a click zooms, hovering shows the whole text.

    Args:
        width: of the figure, in px; its height follows from the number of leaves.
        live: a `FigureWidget`, which a notebook can change after it is shown, instead of a `Figure`.
    """
    import networkx
    import plotly.graph_objects as go

    parents = {child: parent for parent, child in graph.edges}
    nodes = graph.nodes
    leaves = {key: sum(graph.out_degree(below) == 0 for below in networkx.dfs_tree(graph, key)) for key in graph}
    levels = 1 + max(node["depth"] for node in nodes.values())
    letters = int(width / levels / LETTER_WIDTH)

    def label(key: str) -> str:
        node = nodes[key]
        text = shortened(node["text"], nodes[parents[key]]["text"]) if key in parents else node["text"]
        said = f"{'✓' if node['satisfied'] else SIGNS[node['discovery']]} {text}"
        lines = textwrap.wrap(_shown(said), letters, max_lines=2 * leaves[key], placeholder=" …")
        return "<br>".join(lines)

    looks = [LOOKS[node["discovery"]] for node in nodes.values()]
    cells = go.Icicle(
        ids=[WHOLE, *graph],
        parents=["", *(parents.get(key, WHOLE) for key in graph)],
        labels=[_shown(graph.graph.get("topic") or "all intents"), *map(label, graph)],
        values=[sum(leaves[key] for key in graph if key not in parents), *leaves.values()],
        hovertext=["", *(f"{key} · {_shown(node['text'])} · {_state(node)}" for key, node in nodes.items())],
        hoverinfo="text",
        branchvalues="total",
        sort=False,
        leaf={"opacity": 1},
        tiling={"orientation": "h", "pad": 2},
        pathbar={"visible": False},
        marker={
            "colors": ["white", *(fill for fill, _, _ in looks)],
            "line": {"color": ["white", *(edge for _, edge, _ in looks)], "width": 1},
        },
        textfont={"color": ["black", *(ink for _, _, ink in looks)], "size": FONT},
    )
    height = ROW_HEIGHT * cells["values"][0] + 2 * GAP
    layout = {"width": width, "height": height, "margin": {"l": GAP, "r": GAP, "t": GAP, "b": GAP}}
    return (go.FigureWidget if live else go.Figure)([cells], layout)


def _state(node: Mapping[str, Any]) -> str:
    return f"{node['discovery']}, satisfied" if node["satisfied"] else node["discovery"]


def _shown(text: str) -> str:
    """A text whose markup plotly shows and does not read."""
    return text.replace("&", "&amp;").replace("<", "&lt;")
