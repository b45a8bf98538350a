"""Every page runs without an error, keeps each choice in its address, and begins with it when it is opened there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import marimo as mo
import pytest
from marimo._plugins.ui._core.ui_element import UIElement
from notebook_runs import NOTEBOOKS, Address, problems, run

from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute, lay_out
from workbench.panel import FIRST_SYNTHESIS

pytestmark = pytest.mark.slow

# page → the controls that are set, by label
CHOICES = {
    "1_start.py": """Kind of goal | Goal number""",
    "2_intents.py": """Artifact | Kind""",
    "3_conversation.py": """Rules | near-miss weight | free tokens | price of 1,000 tokens
        | Draw intents as""",
    "6_compare.py": """Measure | relative to these assistants (eq. 4) | Skip intents that""",
    "7_trust.py": """Check | Share of verdicts inverted
        | Typing style of the miniature | Depth of the restricted intent | Offers to users of""",
    "4_data.py": """Domain | Samples of each | Users | Turns | Rules | Seed | Look ahead, turns | played by
        | Labels under | near-miss weight | Drop margins below | Drop near-duplicates above
        | keep turns in which the user leaked | Replies hold | System message""",
    "5_train.py": """Backend | Row""",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    for name in ("synthesis", "evaluation"):
        (folder / name).mkdir()
    execute(lay_out(FIRST_SYNTHESIS), folder / "synthesis")
    options = RunOptions(("draft", "ask", "adaptive"), artifacts=2, turns=2)
    execute(lay_out_evaluation(options, ["svg_drawing"]), folder / "evaluation")
    return folder


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch, outputs: Path) -> Iterator[Address]:
    made = Address()
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(outputs))
    monkeypatch.setattr(mo, "query_params", lambda: made)
    monkeypatch.setattr(mo, "running_in_notebook", lambda: True)
    yield made


def controls_of(page: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a page's controls are once it has run without an error, by label."""
    made: dict[str, Any] = {}
    begin = UIElement.__init__

    def noted(self: Any, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        if (label := getattr(self._args, "label", "")) and (self._on_change or label not in made):
            made[label] = self

    with monkeypatch.context() as patch:
        patch.setattr(UIElement, "__init__", noted)
        shown, _ = run(page)
    assert shown and problems(shown) == []
    return made


def another(control: Any) -> Any:
    """A value that the control can have and has not."""
    if isinstance(control, mo.ui.slider):
        return control.start if control.value == control.stop else control.stop
    if isinstance(control, mo.ui.range_slider):
        return [control.start, control.start]
    if isinstance(control, mo.ui.checkbox | mo.ui.switch):
        return not control.value
    if isinstance(control, mo.ui.multiselect):
        return control.value[:-1] or list(control.options.values())[-1:]
    if isinstance(control, mo.ui.number):
        return control.value + 1
    return next((value for value in reversed(list(control.options.values())) if value != control.value), control.value)


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_page_runs_and_keeps_choices_in_address(page: str, address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = [" ".join(label.split()) for label in CHOICES[page].split("|")]
    controls = controls_of(page, monkeypatch)
    chosen, names = {}, {}
    for label in labels:
        control = controls[label]
        value = another(control)
        if value == control.value:
            continue  # there is nothing else to choose
        before = dict(address)
        control._on_change(value)
        assert before != address, f"{label}: the address does not know of it"
        chosen[label] = value
        names[label] = (set(address) - set(before) or {name for name in address if address[name] != before[name]}).pop()
    again = controls_of(page, monkeypatch)
    for label, value in chosen.items():
        if names[label] in address:  # what a later choice made void is as it was
            assert again[label].value == value, label
