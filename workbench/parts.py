"""A Report as HTML: what desks tell, on a page."""

from __future__ import annotations

from discover_lib.tasks.waist import Cell, Chart, Interval, Lines, Mark, Picture, Quote, Report, Table
from workbench.views.figures.charts import Span, dots, span_of, strip
from workbench.views.html import Markup, cells, drawing, grid, joined, more, notice, tag

LONG = 12  # rows; a longer table opens by a press
SIGNS = {"plain": "", "good": "✓ ", "open": "? ", "bad": "✗ "}


def report_html(report: Report) -> Markup:
    """The parts of a report, one below the other."""
    return joined(map(_part, report.parts))


def _part(part: Lines | Table | Chart | Picture) -> Markup:
    match part:
        case Lines():
            tone = {"bad": "warn", "open": "open"}.get(part.tone)
            return joined(notice(line, tone=tone) for line in part.lines)
        case Table():
            return _table(part)
        case Chart():
            rows = {name: each.estimate for name, each in part.rows.items()}
            return dots(rows, part.title, to_one=part.to_one)
        case Picture():
            return drawing(part.svg, part.words, part.words)


def _table(table: Table) -> Markup:
    spans = [
        span_of(cell.estimate for cell in column if isinstance(cell, Interval))
        for column in zip(*table.rows, strict=True)
    ]

    def body(rows: tuple[tuple[Cell, ...], ...]) -> Markup:
        return grid(table.columns, (_row(row, spans) for row in rows), table.title, "da-table")

    first, rest = table.rows[: table.shown], table.rows[len(table.rows[: table.shown]) :]
    if rest:
        return body(first) + more(f"and {len(rest)} more", body(rest))
    return more(f"All {len(first)} rows", body(first)) if len(first) > LONG else body(first)


def _row(row: tuple[Cell, ...], spans: list[Span]) -> Markup:
    shown = [_cell(cell, span) for cell, span in zip(row, spans, strict=True)]
    return cells(shown, ["da-strips" if isinstance(cell, Interval) else "" for cell in row])


def _cell(cell: Cell, span: Span) -> Markup | str:
    match cell:
        case Interval():
            return tag("span", str(cell)) + strip(cell.estimate, span)
        case Mark():
            sign = tag("span", SIGNS[cell.tone], aria_hidden="true")
            return tag("span", sign, cell.text, class_="da-verdict", data_tone=cell.tone)
        case Quote():
            parts = (tag("mark", words) if marked else words for words, marked in cell.parts())
            return tag("div", *parts, class_="da-said")
    return "" if cell is None else str(cell)
