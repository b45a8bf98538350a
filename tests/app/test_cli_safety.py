"""`discover safety`: a run under house rules, and the paper's table."""

from pathlib import Path

import pytest
from command_line import assert_one_line_error, discover


@pytest.mark.slow
def test_a_run_is_read_under_house_rules(tmp_path: Path) -> None:
    run = tmp_path / "run"
    asked = ["--domain", "svg_drawing", "--artifacts", 6, "--turns", 4, "--assistant", "ask", "--assistant", "adaptive"]
    assert discover("simulate", "--run", run, *asked).returncode == 0
    said = discover("safety", run).stdout
    assert "over-refusal" in said and "(0 of 6)" in said and "benign lexicon" in said
    assert discover("safety", run, "--depth", 1).returncode == 0
    assert_one_line_error(discover("safety", run, "--depth", 6), "try --depth 2")


def test_without_a_run_it_is_the_paper_s_table() -> None:
    said = discover("safety").stdout
    assert "89.1" in said and "+1.5" in said and "assumed" in said


def test_rates_stand_beside_the_judge_s_error_and_are_corrected_for_it(tmp_path: Path) -> None:
    run, labels = tmp_path / "run", tmp_path / "labels.csv"
    labels.write_text(
        "objective,assistant_response,human_score\n"
        + "draw,I can't draw this.,1\ndraw,Let us talk of something else.,1\n" * 10
        + "draw,Here it is.,0\n" * 20,
        encoding="utf-8",
    )
    asked = ["--domain", "svg_drawing", "--artifacts", 3, "--turns", 3, "--assistant", "ask"]
    assert discover("simulate", "--run", run, *asked).returncode == 0
    said = discover("safety", run, "--labelled", labels).stdout
    assert "phrases against 40 labelled replies: right 0.750" in said and "refusals found 0.500" in said
    assert "ask: over-refusal corrected 0.000 [0.000, " in said and "(printed 0.000, n = 9)" in said
    assert "which err" in discover("safety", run).stdout
    assert_one_line_error(discover("safety", "--labelled", run / "run.sqlite"), "run.sqlite: a CSV file with objective")
