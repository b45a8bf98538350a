"""A desk on a page: what its controls ask, what is refused in one line, and what can be pressed when."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import marimo
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tasks"))
from toy_desk import Count, Slowly, count

from discover_lib.tasks.waist import Stopped, do, stop
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
    assert panel.question == Count(most=7, names=("a", "b")) and shown({"names": " a, b ,"})[0].question.names == (
        "a",
        "b",
    )  # type: ignore[attr-defined]
    assert "A share" in text and "Whose rules" in text and "Seconds a number" in text and "Begin" in text
    assert "How far to count" not in text, "the page gives it"


def test_what_cannot_be_is_one_line_on_the_page() -> None:
    assert "most is 0; it must be at least 1" in shown({"most": 0})[1]


def test_what_can_be_pressed_follows_the_work() -> None:
    asked = {"most": 300}
    with pytest.raises(Stopped):
        do(count, Count(most=300), Slowly(0.02), shown=lambda now: stop(count.folder(Count(most=300))))
    panel, text = shown(asked)
    assert "Resume" in text and "Begin" not in text and "stopped: " in text
    panel.begin()
    deadline = time.monotonic() + 120
    while "counted &lt;b&gt;" not in (text := shown(asked)[1]):
        assert time.monotonic() < deadline, text[-500:]
        time.sleep(0.1)
    assert "Begin" in text and "Resume" not in text
