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
