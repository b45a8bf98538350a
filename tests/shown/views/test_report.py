"""The report of the paper in miniature: what it says follows from the run's folder, and from nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scored import scores_where

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import write_json
from discover_lib.metrics.intervals import Estimate
from discover_lib.metrics.paired import Comparison
from discover_lib.metrics.results import Pool, ScopeResults, results_of
from discover_lib.paper import RESULTS, TIMES, VARIANTS, Paper, PaperOptions
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute
from discover_lib.tasks.certify import Certify, certify
from discover_lib.tasks.waist import Run
from workbench.views import paper_report as report_page
from workbench.views.paper_report import command, headline

pytestmark = pytest.mark.slow

BEST = VARIANTS[-1].label
STAND_INS = {  # scripted assistants in the places of the models, so that no model has to be trained
    "draft": "base", "mixed": "SFT", "random": "DPO", "verbose": "SFT+DPO", "adaptive": BEST, "ask": "ask",
}  # fmt: skip


def _evaluated(folder: Path, domain: str, artifacts: int) -> None:
    folder.mkdir()
    run = lay_out_evaluation(RunOptions(tuple(STAND_INS), artifacts=artifacts, domain=domain), (domain,))
    execute(run, folder)


def _trained(folder: Path, kept_round: int | None) -> None:
    folder.mkdir()
    write_json(folder / "settings.json", {})
    status = {"state": "finished", "pid": 1, "process_started": 0.0, "started": 0.0, "updated": 0.0, "step": 2}
    write_json(folder / "status.json", {**status, "total_steps": 2, "message": ""})
    write_json(folder / "result.json", {"step": 2, "total_steps": 2, "rows": 32, "kept_round": kept_round})
    lines: list[dict[str, Any]] = [{"step": 1, "loss": 0.5, "reward": 0.25}, {"step": 2, "loss": 0.4, "reward": 0.75}]
    if kept_round is not None:
        for at, found in enumerate((3.25, 4.5)):
            ends = {"probe/discovered_low": found - 1, "probe/discovered_high": found + 1}
            probe = {"step": 2 * at, "round": at, "probe/users": 24, "probe/discovered": found, **ends}
            lines.insert(3 * at, probe)
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper")
    _evaluated(folder / "evaluation", "svg_drawing", 5)
    _evaluated(folder / "generalisation", "travel_plan", 2)
    certify(Certify(run=Run(folder / "evaluation"), artifacts=5))
    for variant in VARIANTS:
        _trained(folder / variant.folder, 1 if variant.stage == "grpo" else None)
    options = PaperOptions(domains=("svg_drawing",), unseen=("travel_plan",))
    Paper(folder, options, assistants=STAND_INS).collect_results()
    write_json(folder / TIMES, {"synthesis": 61.0, "evaluation": 119.0})
    return folder


@pytest.fixture(scope="module")
def page_text(finished: Path) -> str:
    return report_page.report_html(finished)


def scope_where(found: Mapping[str, Sequence[int]], tokens: Mapping[str, int], artifacts: int = 8) -> ScopeResults:
    return results_of(Pool(scores_where(found, tokens, artifacts)))


LENGTHS = {"base": 2000, "SFT": 2000, BEST: 1000}
# What base and the last variant find, what the sentence begins with, what it contains.  Eq. 4 is over what anybody
# found: SFT finds nothing, so that nothing is left out.  Exact p: 2 of 2^8 patterns of signs, times 3 pairs.
ANSWERS = (
    ([0], [0, 1, 2], "Yes", f"{BEST} is above base in discovery by 0.67 [0.67, 0.67] (p = 0.02, Holm over 3"),
    ([0, 1], [0], "No", f"base is above {BEST} in discovery by 0.50 [0.50, 0.50]"),
    ([0], [0], "Not shown", "not distinguishable in discovery: 0.00 [0.00, 0.00]"),
)
CHANGES = {"Yes": "That is +200% of the base’s mean.", "No": "That is −50% of the base’s mean.", "Not shown": ""}


@pytest.mark.parametrize(("base", "best", "word", "numbers"), ANSWERS, ids=[each[2] for each in ANSWERS])
def test_the_answer_follows_from_the_comparison(base: list[int], best: list[int], word: str, numbers: str) -> None:
    _, first, said = headline(scope_where({"base": base, "SFT": [], BEST: best}, LENGTHS))
    assert first == word
    assert numbers in said and CHANGES[word] in said and "n = 8 artifacts" in said
    assert f"base is above {BEST} in kTok by 1.00 [1.00, 1.00]" in said


def test_a_measure_that_nobody_could_be_scored_in_is_not_compared() -> None:
    nothing = {name: [] for name in LENGTHS}  # all the same: eq. 4 is nowhere defined
    assert "could not be compared in discovery" in headline(scope_where(nothing, LENGTHS))[2]


@pytest.mark.slow
@given(st.floats(-1, 1).filter(bool), st.floats(0, 1), st.floats(0, 1))
def test_facing_turns_a_comparison_round(mean: float, below: float, above: float) -> None:
    there = Comparison("a", "b", Estimate(mean, mean - below, mean + above, 9, 9), 0.01, 0.03, 3, 0.2)
    assert there.facing("a") is there
    turned = there.facing("b")
    assert (turned.ours, turned.theirs, turned.difference.mean) == ("b", "a", -mean)
    assert turned.difference.low <= turned.difference.mean <= turned.difference.high  # type: ignore[operator]
    assert turned.conclusion == -there.conclusion
    assert turned.facing("a") == there


@pytest.mark.slow
def test_results_are_read_back_as_they_were(finished: Path) -> None:
    [stored] = json.loads((finished / RESULTS).read_text())["evaluation"]["scopes"]
    told = ScopeResults.from_dict(stored).to_dict()
    assert ScopeResults.from_dict(json.loads(json.dumps(told))).to_dict() == told
    for row in [each for side in (stored, told) for rows in side["comparisons"].values() for each in rows]:
        del row["detectable"]  # follows from the rest, which was rounded
    assert told == stored


@pytest.mark.slow
def test_the_page_needs_nothing_else(page_text: str) -> None:
    assert len(page_text.encode()) < 1_500_000
    assert "<script" not in page_text
    assert "default-src 'none'" in page_text
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!data:|#)""", page_text)
    assert not re.search(r"url\((?!#)", page_text)
    targets = re.findall(r'href="#([^"]+)"', page_text)
    assert targets
    assert all(f'id="{each}"' in page_text for each in targets)


@pytest.mark.slow
def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DiscoverError, match="run 'discover miniature"):
        report_page.report_html(tmp_path)
    (tmp_path / RESULTS).write_text("{")
    with pytest.raises(DiscoverError, match="cannot be read"):
        report_page.report_html(tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (PaperOptions(3, ("svg_drawing",)), "discover miniature --seed 3 --domain svg_drawing"),
        (PaperOptions.small(7, taste=2), "discover miniature --seed 7 --domain svg_drawing --taste 2 --quick"),
        (PaperOptions(5, artifacts=7), "Paper(folder, PaperOptions(...)).run()  # the options are in options.json"),
    ],
)
def test_the_command_that_repeats_a_run(options: PaperOptions, said: str) -> None:
    assert command(json.loads(json.dumps(options.to_dict()))) == said
