"""An evaluation taken elsewhere: a row per conversation as CSV, and the page's tables and figures as one HTML file."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discover_lib.metrics.results import CSV_COLUMNS, Pool, tidy_rows
from discover_lib.views.scores import styled

if TYPE_CHECKING:
    import plotly.graph_objects as go

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body {{ max-width: 1080px; margin: 24px auto; padding: 0 16px; font-family: system-ui, sans-serif;
background: #fff; color: #1a222c; }} .figure {{ width: 100%; }}</style><script>{script}</script></head>
<body class="light"><h1>{title}</h1>{body}</body></html>
"""


def scores_csv(pool: Pool) -> str:
    """A row per conversation under `CSV_COLUMNS`."""
    text = io.StringIO()
    table = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(tidy_rows(pool))
    return text.getvalue()


def report_html(title: str, parts: Sequence[tuple[str, str]], figures: Mapping[str, go.FigureWidget]) -> str:
    """One file that needs nothing else, not even a network: fragments under headings, then live figures.

    Args:
        parts: (heading, fragment of `show_scores` or its kind).
        figures: caption → figure, drawn for a light page.
    """
    from plotly.offline import get_plotlyjs

    sections = [f"<h2>{html.escape(heading)}</h2>{fragment}" for heading, fragment in parts]
    body = styled(*sections)
    for place, (caption, figure) in enumerate(figures.items()):
        # "</" would end the script early, whatever text it stands in.
        drawn = json.dumps(figure.to_plotly_json(), default=_plain).replace("</", "<\\/")
        body += (
            f'<h2>{html.escape(caption)}</h2><div class="figure" id="figure-{place}"></div>'
            f"<script>((f) => Plotly.newPlot('figure-{place}', f.data, f.layout, "
            f"{{displayModeBar: false, responsive: true}}))({drawn})</script>"
        )
    return _PAGE.format(title=html.escape(title), script=get_plotlyjs(), body=body)


def _plain(value: object) -> object:
    """Arrays of numpy as lists."""
    return list(value)  # type: ignore[call-overload]
