"""Every chart: strangers' names are text, what it shows is said in words, and nothing is drawn outside of it."""

import re
from collections.abc import Callable

import pytest
from hostile import HOSTILE, Tags

from discover_lib.metrics.intervals import Estimate
from discover_lib.metrics.results import MEASURE, BehaviourProfile
from discover_lib.metrics.scorer import FAMILIES
from workbench.views import charts
from workbench.views.html import Markup
from workbench.views.theme import looks

NASTY, OTHER = "".join(HOSTILE), "hf:/somewhere/outputs/training/2026-sft-then-dpo"
MARKS = looks([NASTY, OTHER])
LOW, HIGH = Estimate(0.4, 0.3, 0.5, 16, 32), Estimate(0.625, None, None, 1, 1)
ROWS = {NASTY: LOW, OTHER: HIGH}
MANNER = BehaviourProfile({}, dict.fromkeys(FAMILIES, LOW), LOW, 0)
CURVES = {name: [LOW, HIGH] for name in ROWS}
CHARTS: dict[str, tuple[Callable[[], Markup], str]] = {  # chart → a text that it must hold
    "turns": (lambda: charts.turn_curves(CURVES, MARKS, NASTY, [OTHER]), "after turn 2: 0.6"),
    "families": (lambda: charts.families(dict.fromkeys(ROWS, MANNER), MARKS), "40\u00a0% [30\u00a0%, 50\u00a0%], n"),
    "intervals": (
        lambda: charts.intervals(
            {name: {"discovery": each} for name, each in ROWS.items()}, MEASURE["discovery"], MARKS
        ),
        "0.40 [0.30, 0.50], n = 16</span>",
    ),
    "dots": (lambda: charts.dots(ROWS, NASTY, to_one=True), "0.62, n = 1</span>"),
    "reward": (lambda: charts.reward_of({NASTY: 1.86, OTHER: -0.4}, {NASTY: 1.86, OTHER: 0.2}), "−0.4 (was +0.2)"),
    "group": (lambda: charts.group_bars({NASTY: 2.0, OTHER: None}, {NASTY: 0.7, OTHER: None}, 0.85), "likelier (+0.7)"),
    "histogram": (lambda: charts.histogram([0.1, 0.2, -0.5, 0], NASTY, NASTY, NASTY, "more"), "exactly 0: 1"),
    "lengths": (lambda: charts.lengths({NASTY: [1, 2, 9, 40, 200], OTHER: [3]}, MARKS), "9 [1, 120]</span>"),
    "small": (lambda: charts.small_curve(NASTY, {NASTY: [(1, 0.5), (2, 0.25)]}, 2, lambda each: f"{each:.2f}"), "0.25"),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_escapes_says_and_holds_what_it_draws(name: str) -> None:
    draw, says = CHARTS[name]
    drawn = draw()
    assert says in drawn and "<script" not in drawn and "<img" not in drawn
    elements = Tags(drawn).tags
    assert any("aria-label" in data for _, data in elements)
    percents = [float(each) for each in re.findall(r"(?:left|top|width):(-?[\d.]+)%", drawn)]
    ends = [sum(map(float, each)) for each in re.findall(r"left:([\d.]+)%;width:([\d.]+)%", drawn)]
    places = [float(data[key]) for _, data in elements for key in ("x", "y") if key in data]
    for points in re.findall(r'points="([^"]+)"', drawn):
        places += [float(each) for each in re.split("[ ,]", points)]
    assert percents and all(-0.1 <= each <= 100.1 for each in [*percents, *ends, *places])
