"""Every chart, of training too: names are text, figures are said in words, marks stay inside, colors can be read."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import HOSTILE, Tags

import workbench
from discover_lib.metrics.intervals import Estimate
from discover_lib.metrics.results import MEASURE, BehaviourProfile
from discover_lib.metrics.scorer import FAMILIES
from discover_lib.train.training_job import JobStatus, State, latest
from workbench.views import charts
from workbench.views import training as show_training
from workbench.views.html import Markup, chip
from workbench.views.theme import looks

NASTY, OTHER = "".join(HOSTILE), "hf:/somewhere/outputs/training/2026-sft-then-dpo"
MARKS = looks([NASTY, OTHER])
LOW, HIGH = Estimate(0.4, 0.3, 0.5, 16, 32), Estimate(0.625, None, None, 1, 1)
ROWS = {NASTY: LOW, OTHER: HIGH}
MANNER = BehaviourProfile({}, dict.fromkeys(FAMILIES, LOW), LOW, 0)
CURVES = {name: [LOW, HIGH] for name in ROWS}
CHARTS: dict[str, tuple[Callable[[], Markup], str]] = {  # chart → a text that it must hold
    "turns": (lambda: charts.turn_curves(CURVES, MARKS, NASTY, [OTHER]), "after turn 2: 0.6"),
    "families": (lambda: charts.families(dict.fromkeys(ROWS, MANNER), MARKS), "40% [30%, 50%], n"),
    "intervals": (
        lambda: charts.intervals(
            {name: {"discovery": each} for name, each in ROWS.items()}, MEASURE["discovery"], MARKS
        ),
        "0.40 [0.30, 0.50], n = 16</span>",
    ),
    "dots": (lambda: charts.dots(ROWS, NASTY, to_one=True), "0.62, n = 1</span>"),
    "reward": (lambda: charts.reward_of({NASTY: 1.86, OTHER: -0.4}, {NASTY: 1.86, OTHER: 0.2}), "−0.4 (was +0.2)"),
    "group": (lambda: charts.group_bars({NASTY: 2.0, OTHER: None}, {NASTY: 0.7, OTHER: None}, 0.85), "likelier (+0.7)"),
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


def lines(count: int, **columns: float) -> list[dict[str, float]]:
    return [{"step": step, **{name: value * step for name, value in columns.items()}} for step in range(1, count + 1)]


def test_only_what_was_logged_is_drawn() -> None:
    shown = show_training.curves(lines(3, loss=0.5))
    assert re.findall(r"<figcaption>(.*?)</figcaption>", shown) == ["Loss"] and "training rows <b>1.5</b>" in shown
    shown = show_training.curves(lines(3, reward=1, **{"share/broken": 0.1, "share/building": 0.2}))
    assert re.findall(r"<figcaption>(.*?)</figcaption>", shown) == ["Reward", "What the replies are"]
    assert shown.count("<polyline") == 3
    for unscored, drawn in ((0.0, False), (0.1, True)):
        shown = show_training.curves([{"step": 1, "loss": 1.0, "share/unscored": unscored}])
        assert ("could not be scored" in shown) == drawn
    assert "No step is logged yet" in show_training.curves([])
    logged = lines(3, loss=0.5, kl=0.1)
    shown = show_training.curves(logged, without=show_training.main_chart(logged))
    assert re.findall(r"<figcaption>(.*?)</figcaption>", shown) == ["Distance from the reference"]


def test_before_the_first_update_the_previous_run_is_there_in_gray() -> None:
    shown = show_training.main_curve([], None, earlier=lines(3, loss=0.5))
    assert "dt-behind" in shown and "update 3" in shown and "data-series" not in shown and "Gray" in shown
    assert show_training.main_curve([], None) == ""


@pytest.mark.parametrize(("loss", "words"), [(0.5, "the same run, made earlier"), (0.6, "the previous run")])
def test_a_previous_run_with_the_same_curve_is_called_the_same_run(loss: float, words: str) -> None:
    assert f"Gray: {words}." in show_training.main_curve(lines(2, loss=loss), 3, earlier=lines(3, loss=0.5))


@pytest.mark.parametrize(
    ("state", "message", "step", "loads"),
    [
        ("starting", "starting", 0, 1),
        ("running", "starting", 0, 2),
        ("running", "starting", 9, 2),  # resumed
        ("running", "trains on the processor with transformers (no usable GPU found)", 0, 3),
        ("running", "sft: 90 rows, 102 updates, 163,840 trained parameters", 0, 4),
        ("running", "sft: 90 rows, 102 updates, 163,840 trained parameters", 1, 0),
        ("finished", "the LoRA adapter (the trained weights) is in adapter", 102, 0),
    ],
)
def test_a_run_says_what_it_loads(state: State, message: str, step: int, loads: int) -> None:
    status = JobStatus(state, step=step, message=message, updated=time.time())
    assert show_training.loading(status) == loads
    assert (f"step {loads} of 4" in show_training.standing(status)) == bool(loads)


def test_a_change_is_told_with_its_interval_or_cannot_be_told_apart() -> None:
    before, after = Estimate(0.1, 0.06, 0.14, 20, 20), Estimate(0.27, 0.21, 0.33, 20, 20)
    said = show_training.change(before, after, Estimate(0.17, 0.11, 0.23, 20, 20))
    assert "before training 10% [6%, 14%], n = 20" in said and "by +17 points (95% interval +11 to +23)." in said
    assert said.endswith("+23).") and "cannot be told apart" not in said
    assert "told apart" in show_training.change(before, after, Estimate(0.01, -0.02, 0.04, 20, 20))


def test_a_curve_lies_where_its_numbers_are() -> None:
    """Two points of a share on an axis of ten steps: (5, 1/4) and (10, 1) in a drawing of 100 × 100."""
    shown = show_training.curves([{"step": 5, "share/broken": 0.25}, {"step": 10, "share/broken": 1.0}], 10)
    assert 'points="50.0,75.0 50.0,75.0 100.0,0.0"' in shown
    shown = show_training.curves([{"step": 5, "share/broken": 0.25}, {"step": 10, "share/broken": 1.0}], 20)
    assert 'points="25.0,75.0 25.0,75.0 50.0,0.0"' in shown and "update 20" in shown  # the rest is still to come


def test_what_could_not_be_scored_leaves_a_gap_and_no_zero() -> None:
    logged = [{"step": 1, "reward": 2.0}, {"step": 2, "reward": None}, {"step": 3, "reward": float("nan")}]
    assert show_training.points(logged, "reward") == [(1, 2.0)]
    assert 'points="33.3,50.0 33.3,50.0"' in show_training.curves(logged), "one point is a dot"


def test_a_probe_is_drawn_with_its_interval() -> None:
    probes = [{"step": step, "probe/discovered": 3.0, "probe/discovered_low": 2.0, "probe/discovered_high": 4.0}
              for step in (0, 10)]  # fmt: skip
    shown = show_training.curves([*probes, {"step": 10, "loss": 1.0}], 10)
    assert shown.count('class="dt-interval"') == 2 and 'points="100.0,0.0 100.0,50.0"' in shown
    assert latest([{"loss": 1.0, "kl": None}, {"kl": 2.0}, {"kl": None}]) == {"loss": 1.0, "kl": 2.0}


def test_replies_stand_side_by_side_and_are_not_trusted() -> None:
    prompt = [{"role": "system", "content": "hidden"}, {"role": "user", "content": "a <b>fox</b>"}]
    replies = {"base": "", "trained": "<script>x</script>"}
    shown = show_training.exchange(prompt, replies, {"trained": chip("broken notation", "bad")})
    assert "hidden" not in shown and "<script>" not in shown and "<b>fox" not in shown
    assert "(nothing)" in shown and shown.count("broken notation") == 1


SHEET = (Path(workbench.__file__).parent / "views" / "static" / "workbench.css").read_text("utf-8")
PAIRS = {name: pair for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", SHEET)}
# Ink → the grounds on which pages write with it.
WRITTEN = {
    "dl-ink": "page surface sunken focus user known-soft emerging-soft bad-soft",
    "dl-quiet": "page surface sunken focus", "dl-known": "page surface known-soft",
    "dl-emerging": "page surface emerging-soft", "dl-bad": "page surface bad-soft", "dl-moved": "page surface",
    "dl-focus-ink": "page surface focus", "dl-on-known": "known",
    "foreground": "background card muted secondary popover", "muted-foreground": "background card muted",
    "primary-foreground": "primary", "accent-foreground": "accent", "link": "background card",
}  # fmt: skip


def luminance(color: str) -> float:
    """Relative luminance of WCAG 2, 0 (black) to 1 (white)."""
    shares = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ink", WRITTEN)
def test_what_is_written_stands_out_from_its_grounds(ink: str, theme: int) -> None:
    prefix = "dl-" if ink.startswith("dl-") else ""
    for ground in WRITTEN[ink].split():
        dark, light = sorted(luminance(PAIRS[name][theme]) for name in (ink, prefix + ground))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, ground
