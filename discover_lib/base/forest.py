"""A forest of short texts: where its cells stand in columns, and an interactive figure of it.

The nodes of a graph carry `text`, `depth`, `root`, `discovery` and `satisfied`, as `IntentTree.graph` gives them.
"""

from __future__ import annotations

import textwrap
from itertools import pairwise
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
LEAST_WIDTH, ROW_HEIGHT, GAP = 104, 62, 6  # px
LETTER_WIDTH = 6.3  # px of one letter of 12 px, on average


def shortened(text: str, above: str) -> str:
    """A text without the words that it shares with the broader one above it.

    >>> shortened("Keeps to cool tones but for one warm spot", "Keeps to cool tones")
    '… but for one warm spot'
    """
    words, known = text.split(), above.split()
    most = min(len(words), len(known))
    first = next((place for place in range(most) if words[place].lower() != known[place].lower()), most)
    left = range(most - first)
    last = next((place for place in left if words[-1 - place].lower() != known[-1 - place].lower()), len(left))
    middle = words[first : len(words) - last]
    if not middle or len(middle) == len(words):
        return text
    return ("… " if first else "") + " ".join(middle) + (" …" if last else "")


def short_texts(graph: networkx.DiGraph[str]) -> dict[str, str]:
    """Each node's text, without the words of its parent's."""
    texts = dict(graph.nodes(data="text"))
    parents = {child: parent for parent, child in graph.edges}
    return {key: shortened(text, texts[parents[key]]) if key in parents else text for key, text in texts.items()}


def columns(graph: networkx.DiGraph[str]) -> dict[str, tuple[int, int]]:
    """Node → its first column in its root's block, and how many it spans: a leaf one, a parent its children's."""
    import networkx

    places: dict[str, tuple[int, int]] = {}
    for root in [key for key, degree in graph.in_degree if degree == 0]:
        column = 0
        for key in networkx.dfs_postorder_nodes(graph, root):
            below = [places[child] for child in graph.successors(key)]
            places[key] = (below[0][0], sum(span for _, span in below)) if below else (column, 1)
            column += not below
    return places


def boxes(graph: networkx.DiGraph[str], width: int) -> dict[str, tuple[float, float, float, float]]:
    """Node → left, top, width and height in px: the roots' blocks side by side, on as many shelves as they need."""
    places, used = columns(graph), 0.0
    shelves: list[list[str]] = [[]]
    for root in [key for key, degree in graph.in_degree if degree == 0]:
        wide = places[root][1] * LEAST_WIDTH + GAP
        if shelves[-1] and used + wide > width:
            shelves.append([])
            used = 0.0
        shelves[-1].append(root)
        used += wide
    found: dict[str, tuple[float, float, float, float]] = {}
    top = 0.0
    for shelf in shelves:
        leaves = sum(places[root][1] for root in shelf)
        unit = min((width - GAP * (len(shelf) - 1)) / leaves, 2.2 * LEAST_WIDTH)
        left, deepest = dict.fromkeys(shelf, 0.0), 1
        for before, root in pairwise(shelf):
            left[root] = left[before] + places[before][1] * unit + GAP
        for key, node in graph.nodes(data=True):
            if node["root"] in left:
                column, span = places[key]
                deepest = max(deepest, node["depth"])
                start = top + (node["depth"] - 1) * ROW_HEIGHT
                found[key] = (left[node["root"]] + column * unit, start, span * unit - 3, ROW_HEIGHT - 4)
        top += deepest * ROW_HEIGHT + GAP
    return found


def figure(graph: networkx.DiGraph[str], width: int = 1080, live: bool = False) -> Any:
    """A plotly figure: one bar a node, with its text; pointing at it shows the whole text and its state."""
    import plotly.graph_objects as go

    places, shorts = boxes(graph, width), short_texts(graph)
    nodes = [graph.nodes[key] for key in places]

    def label(key: str) -> str:
        node = graph.nodes[key]
        said = f"{'✓' if node['satisfied'] else SIGNS[node['discovery']]} {shorts[key]}"
        letters = max(9, int((places[key][2] - 12) / LETTER_WIDTH))
        lines = textwrap.wrap(said, letters, max_lines=3, placeholder=" …")
        return "<br>".join(line.replace("&", "&amp;").replace("<", "&lt;") for line in lines)

    look = [LOOKS[node["discovery"]] for node in nodes]
    height = max(top + high for _, top, _, high in places.values()) + GAP
    hidden = {"visible": False, "fixedrange": False}
    bars = go.Bar(
        x=[left + wide / 2 for left, _, wide, _ in places.values()],
        base=[top for _, top, _, _ in places.values()],
        y=[high for _, _, _, high in places.values()],
        width=[wide for _, _, wide, _ in places.values()],
        customdata=list(places),
        text=[label(key) for key in places],
        hovertext=[
            f"{node['text']} · {node['discovery']}{', satisfied' if node['satisfied'] else ''}".replace("<", "&lt;")
            for node in nodes
        ],
        hovertemplate="%{customdata} · %{hovertext}<extra></extra>",
        marker={
            "color": [fill for fill, _, _ in look],
            "line": {"color": [edge for _, edge, _ in look], "width": 1.2},
            "pattern": {"shape": ["/" if node["discovery"] == "emerging" else "" for node in nodes], "fgopacity": 0.3},
        },
        textfont={"color": [ink for _, _, ink in look], "size": 12},
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        constraintext="none",
    )
    layout = {
        "width": width,
        "height": height + 36,
        "margin": {"l": 0, "r": 0, "t": 34, "b": 2},
        "xaxis": {"range": [0, width], **hidden},
        "yaxis": {"range": [height, 0], **hidden},
        "barmode": "overlay",
        "showlegend": False,
        "plot_bgcolor": "white",
        "dragmode": "pan",
    }
    return (go.FigureWidget if live else go.Figure)([bars], layout)
