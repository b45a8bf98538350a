"""A desk on a page: what its controls ask, what is refused in one line, and what can be pressed when."""

import os
import sys
from pathlib import Path
from typing import Any

import marimo
import pytest

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
