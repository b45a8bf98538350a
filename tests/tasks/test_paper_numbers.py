"""The paper's arithmetic: which printed figures follow from the others, worked by hand."""

from pathlib import Path

import pytest

from discover_lib.tasks.paper_numbers import check_gain, paper_checks


@pytest.mark.parametrize(
    ("baseline", "best", "printed", "computed", "verdict"),
    [
        pytest.param(38.2, 42.4, 11.0, 10.99, "follows", id="4.2 / 38.2"),
        pytest.param(39.0, 45.2, 13.7, 15.90, "does not follow", id="6.2 / 39.0, not 6.2 / 45.2"),
        pytest.param(39.0, 45.2, 15.9, 15.90, "follows", id="what would follow"),
        pytest.param(24.9, 81.6, 227, 227.71, "follows", id="rounding of the cells: 81.55 / 24.95 is 226.9 %"),
        pytest.param(24.9, 81.6, 230, 227.71, "does not follow", id="but no further"),
        pytest.param(49.1, 49.0, 0, -0.20, "follows", id="49.05 and 49.05 round to both"),
    ],
)
def test_gains_follow_within_rounding(
    baseline: float, best: float, printed: float, computed: float, verdict: str
) -> None:
    check = check_gain("1", "a gain", baseline, best, printed)
    assert (check.computed, check.verdict) == (pytest.approx(computed, abs=0.005), verdict)


def test_exactly_these_figures_do_not_follow() -> None:
    assert [each.what for each in paper_checks() if each.verdict == "does not follow"] == [
        "gain in discover, Qwen, creative writing",
        "gain in discover, Qwen, technical writing",
        "tokens saved, Llama, creative writing",
        "tokens saved, Llama, technical writing",
        "tokens saved, Qwen, creative writing",
        "tokens saved, Qwen, SVG drawing",
        "dollars per conversation",
    ]


def test_what_the_paper_leaves_open_is_no_error() -> None:
    left = {each.what: each.computed for each in paper_checks() if each.verdict == "left open"}
    assert left == {
        "all wins together, creative writing": pytest.approx(97.1),
        "all wins together, technical writing": pytest.approx(95.3),
        "all wins together, SVG drawing": pytest.approx(97.2),
    }


@pytest.mark.parametrize(
    ("what", "computed", "how"),
    [
        ("Llama, creative writing", 5.8, "(3.09 − 2.91) / 3.09: Base against DPO"),
        ("Llama, technical writing", None, "the caption's rule picks none"),
        ("Llama, SVG drawing", 27.3, "(3.59 − 2.61) / 3.59: Base against SFT+DPO"),
        ("Qwen, creative writing", -3.0, "(3.01 − 3.1) / 3.01: Prompted Base against DPO"),
        ("Qwen, technical writing", 31.9, "(2.79 − 1.9) / 2.79: Prompted Base against SFT"),
        ("Qwen, SVG drawing", 37.9, "(3.96 − 2.46) / 3.96: Base against SFT+DPO+GRPO"),
    ],
)
def test_tokens_saved_by_the_captions_rule(what: str, computed: float | None, how: str) -> None:
    [check] = [each for each in paper_checks() if each.what == f"tokens saved, {what}"]
    assert how in check.formula
    assert check.computed == (None if computed is None else pytest.approx(computed, abs=0.05))


def test_the_documents_list_the_figures_that_do_not_follow() -> None:
    page = (Path(__file__).parents[2] / "docs" / "paper-differences.md").read_text(encoding="utf-8")
    section = page.split("## Printed figures that do not follow from the others")[1]
    for each in (check for check in paper_checks() if check.verdict == "does not follow"):
        printed, computed = each.row()[2:4]
        assert f"| {each.what} | {printed} | {computed} |" in section
