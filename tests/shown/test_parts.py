"""A report on a page: every part, texts of others as text, long tables folded."""

from discover_lib.metrics.intervals import Estimate
from discover_lib.tasks.waist import Cell, Chart, Interval, Lines, Mark, Picture, Quote, Report, Table
from workbench.parts import LONG, report_html

HALF = Estimate(0.5, 0.4, 0.6, 10, 10)


def table(n: int, shown: int | None = None) -> str:
    row: tuple[Cell, ...] = ("<b>", Mark("held", "good"), Interval.of(HALF), Quote("a red dog", ((2, 5),)), None, 3)
    columns = ("who", "holds", "share", "said", "", "n")
    return report_html(Report((Table(columns, (row,) * n, "rows", shown),)))


def test_each_part_is_shown_and_texts_are_text() -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg"/>'
    parts = (Lines(("<i>fails",), "bad"), Chart.dots({"toy": HALF}, "a share", to_one=True), Picture(svg, "a line"))
    shown = report_html(Report(parts))
    assert "&lt;i&gt;fails" in shown and 'data-tone="warn"' in shown and "a share" in shown and 'alt="a line"' in shown
    cells = table(1)
    assert "&lt;b&gt;" in cells and "<mark>red</mark>" in cells and 'data-tone="good"' in cells and str(HALF) in cells


def test_a_long_table_opens_by_a_press_and_what_is_not_shown_at_first_stands_below() -> None:
    assert "<details" not in table(LONG) and f"All {LONG + 1} rows" in table(LONG + 1)
    first, rest = table(5, shown=2).split("and 3 more")
    assert (first.count("held"), rest.count("held")) == (2, 3)
    assert report_html(Report((Table(("none",), (), "empty"),)))
