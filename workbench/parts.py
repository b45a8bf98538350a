"""A Report as HTML, and the tables of a page in which rows can be selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discover_lib.metrics.intervals import Estimate
from discover_lib.metrics.results import Measure
from discover_lib.tasks.waist import Cell, Chart, Interval, Lines, Mark, Picture, Quote, Report, Table
from workbench.carried import address
from workbench.views.charts import Span, dots, span_of, strip
from workbench.views.html import Markup, drawing, joined, more, notice, styled, tag
from workbench.views.html import table as grid
from workbench.views.score_parts import bounds

LONG = 12  # rows; a longer table opens by a press
SIGNS = {"plain": "", "good": "✓ ", "open": "? ", "bad": "✗ "}


def report_html(report: Report) -> Markup:
    """The parts of a report, one below the other."""
    return joined(map(_part, report.parts))


def _part(part: Lines | Table | Chart | Picture) -> Markup:
    match part:
        case Lines():
            tone = {"bad": "warn", "open": "open"}.get(part.tone)
            if len(part.lines) == 1:
                return notice(part.lines[0], tone=tone)
            return tag("ul", *(tag("li", line) for line in part.lines), class_="dl-plain dl-lines", data_tone=tone)
        case Table():
            return _table(part)
        case Chart():
            return dots({name: each.estimate for name, each in part.rows.items()}, part.title, to_one=part.to_one)
        case Picture():
            return drawing(part.svg, part.words, part.words)


def _table(table: Table) -> Markup:
    spans = [
        span_of(cell.estimate for cell in column if isinstance(cell, Interval))
        for column in zip(*table.rows, strict=True)
    ]

    def body(rows: tuple[tuple[Cell, ...], ...]) -> Markup:
        shown = ([_cell(cell, span) for cell, span in zip(row, spans, strict=True)] for row in rows)
        return grid(table.columns, shown, table.title, "da-table")

    first, rest = table.rows[: table.shown], table.rows[len(table.rows[: table.shown]) :]
    if rest:
        return body(first) + more(f"and {len(rest)} more", body(rest))
    return more(f"All {len(first)} rows", body(first)) if len(first) > LONG else body(first)


def _cell(cell: Cell, span: Span) -> Markup | str:
    match cell:
        case Interval():
            return tag("div", tag("span", str(cell)), strip(cell.estimate, span), class_="da-strips")
        case Mark():
            return tag(
                "span",
                tag("span", SIGNS[cell.tone], aria_hidden="true"),
                cell.text,
                class_="da-verdict",
                data_tone=cell.tone,
            )
        case Quote():
            return quoted(cell)
    return "" if cell is None else str(cell)


def quoted(quote: Quote) -> Markup:
    """Words of somebody, some of them marked."""
    parts = (tag("mark", words) if marked else words for words, marked in quote.parts())
    return tag("div", *parts, class_="da-said")


# -- tables of a page --------------------------------------------------------------------------------------------------


class Scored(float):
    """A number in a cell of a table: it sorts and exports as a number, and shows its interval or a bar.

    Attributes:
        shown: the cell.
    """

    shown: Markup

    @classmethod
    def of(cls, estimate: Estimate, measure: Measure, span: Span) -> Scored:
        """A mean with its interval, on the scale of its column."""
        words = tag("b", measure.shown(estimate.mean)) + tag("small", f" {bounds(estimate, measure)}")
        return cls(estimate.mean)._showing(tag("span", words, strip(estimate, span), class_="ds-scored-cell"))

    @classmethod
    def bar(cls, value: float, measure: Measure, span: Span) -> Scored:
        """A value with a tick on the scale of its column."""
        drawn = strip(Estimate(value, min(0.0, value), max(0.0, value), 1, 1), span)
        return cls(value)._showing(tag("span", tag("b", measure.shown(value)), drawn, class_="ds-scored-cell"))

    def _showing(self, shown: Markup) -> Scored:
        self.shown = shown
        return self


def plain_table(rows: Sequence[Mapping[str, Any]], **how: Any) -> Any:
    """A table to read, search, sort and export, without summaries of its columns; `how` as in `mo.ui.table`."""
    import marimo as mo

    usual = {"selection": None, "page_size": 6, "show_search": len(rows) > how.get("page_size", 6)}
    return mo.ui.table(list(rows), **(usual | how), show_column_summaries=False, show_data_types=False)


def listing(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    key: str = "",
    page_size: int = 10,
    forgets: Sequence[str] = (),
    header_tooltip: Mapping[str, str] | None = None,
    wrapped: Sequence[str] = (),
) -> Any:
    """A table with search, sort and CSV, of which one row can be selected; the address keeps the selection.

    Args:
        name: of the selection in the address.
        key: the column that is written there; `name` by default.
        forgets: other names of the address that a selection makes void.
    """
    import marimo as mo

    key = key or name

    def remember(chosen: Any) -> None:
        written = mo.query_params()
        for other in (name, *forgets):
            if other in written:
                written.remove(other)
        if chosen:
            written.set(name, str(chosen[0][key]))

    asked = address().get(name) if mo.running_in_notebook() else None
    selected = [place for place, row in enumerate(rows) if str(row[key]) == asked][:1]
    scored = {column for row in rows for column, cell in row.items() if isinstance(cell, Scored)}
    return plain_table(
        rows,
        selection="single",
        initial_selection=selected,
        page_size=page_size,
        format_mapping=dict.fromkeys(scored, _shown_cell),
        header_tooltip=dict(header_tooltip or {}),
        wrapped_columns=list(wrapped),
        on_change=remember,
    )


def selected(table: Any, hint: str) -> dict[str, Any]:
    """The selected row of a `listing`. The cell ends with the hint where no row is selected."""
    import marimo as mo

    mo.stop(not table.value, mo.md(hint))
    return table.value[0]


def _shown_cell(value: Any) -> Any:
    import marimo as mo

    return mo.Html(styled(value.shown)) if isinstance(value, Scored) else value
