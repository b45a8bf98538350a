"""Artifacts drawn with a taste: how often values come up, what stays as it was, and how such artifacts are named."""

import pytest

from discover_lib.engines.miniature.artifacts import generate_artifact, taste_weights
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, load_lexicon
from discover_lib.runs.options import RunOptions, lay_out
from discover_lib.train.data import TrainingRows, overlap
from workbench.sources import find_artifact


@pytest.mark.parametrize("domain", ALL_DOMAINS)
def test_within_a_dimension_values_are_liked_by_zipf_s_law_in_an_order_of_the_taste(domain: str) -> None:
    one, other = taste_weights(domain, 1), taste_weights(domain, 2)
    for dimension in load_lexicon(domain).dimensions.values():
        weights = sorted((one[leaf] for leaf in dimension.leaves), reverse=True)
        assert weights == pytest.approx([rank**-1.3 for rank in range(1, len(weights) + 1)])
        assert sorted(other[leaf] for leaf in dimension.leaves) == sorted(weights)
    assert one != other


def test_a_tasteful_artifact_is_found_by_its_id_and_its_users_are_kept_from_training() -> None:
    made = generate_artifact("svg_drawing", "eval", 7, taste=3)
    assert made.id == "svg_drawing-eval-007-taste3"
    assert find_artifact("svg_drawing", made.id) == made
    assert find_artifact("svg_drawing", "svg_drawing-eval-007").text != made.text
    rows = TrainingRows("sft", ({"artifact": made.id},), (), "rows", "")
    assert made.id in overlap(rows)


def test_a_run_names_its_taste_only_where_it_has_one_and_is_found_again_by_it() -> None:
    even = lay_out(RunOptions(("draft",), domain="svg_drawing", artifacts=2))
    assert "taste" not in even.configuration
    options = RunOptions(("draft",), domain="svg_drawing", artifacts=2, taste=2)
    run = lay_out(options)
    assert run.configuration["taste"] == 2
    assert lay_out(RunOptions.from_configuration(run.configuration)).configuration == run.configuration
