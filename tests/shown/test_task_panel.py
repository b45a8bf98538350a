"""A desk on a page: what its controls ask, what is refused in one line, and how a report is shown."""

import os
import sys
from pathlib import Path
from typing import Any

import marimo
import pytest

from discover_lib.metrics.intervals import Estimate
from discover_lib.tasks.waist import Cell, Chart, Interval, Lines, Mark, Picture, Quote, Report, Table
from workbench.parts import LONG, report_html

sys.path.insert(0, str(Path(__file__).parents[1] / "tasks"))
from toy_desk import Count, count

from workbench.panel import TaskPanel

pytestmark = pytest.mark.slow  # marimo alone takes a second to import
page = marimo.App()


@page.cell
def _() -> Any:
    given, make = {}, print
    return given, make


@page.cell
def _(make: Any) -> Any:
    panel = make()
    return (panel,)


@page.cell
def _(given: Any, panel: Any) -> Any:
    text = panel.view(panel.get_told(), **given).text
    return (text,)


@pytest.fixture(autouse=True)
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # of the process that is begun
    return tmp_path


def shown(given: dict[str, Any]) -> tuple[TaskPanel, str]:
    """The panel of the toy desk with what the page gives it, and what it shows."""
    defined = page.run(defs={"given": given, "make": lambda: TaskPanel(count, given=list(given))})[1]
    return defined["panel"], defined["text"]


def test_the_controls_ask_what_the_record_does() -> None:
    panel, text = shown({"most": 7, "names": ["a", "b"]})
    assert panel.question == Count(most=7, names=("a", "b"))
    assert shown({"names": " a, b ,"})[0].question.names == ("a", "b")  # type: ignore[attr-defined]
    assert "A share" in text and "Whose rules" in text and "Seconds a number" in text and "Begin" in text
    assert "How far to count" not in text, "the page gives it"


def test_what_cannot_be_is_one_line_on_the_page() -> None:
    assert "most is 0; it must be at least 1" in shown({"most": 0})[1]


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
