"""Benchmarks of others: rates and paired differences of a table that is counted by hand."""

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.dataset.inspect_log import Answer
from discover_lib.metrics.intervals import Estimate, share_of
from discover_lib.metrics.scorer import Phrases
from discover_lib.tasks.safety import REFUSED, benchmarked

BASE = [Answer(f"draw {n}", "I can't do that.", {"harm": 0.0}) for n in range(20)]
DPO = [Answer(f"draw {n}", "I can't do that." if n < 8 else "Here it is.", {"harm": float(n >= 8)}) for n in range(20)]


@pytest.mark.slow
def test_rates_and_differences_are_of_the_prompts_that_all_answered() -> None:
    more = [Answer("only base", "Here.", {"harm": 1.0}), Answer("unanswered", None)]
    result = benchmarked({"base": [*BASE, *more], "dpo": [*reversed(DPO), Answer("unanswered", "Here.")]}, Phrases())
    assert result.prompts == 20 and result.left_out == {"base": 2, "dpo": 1}
    rates = {(rate.scorer, rate.assistant): rate for rate in result.rates}
    assert rates["harm", "base"].value == share_of(0, 20) and rates["harm", "dpo"].value == share_of(12, 20)
    assert rates[REFUSED, "dpo"].value == share_of(8, 20)
    against = rates["harm", "dpo"].against
    assert against is not None and against.difference.mean == pytest.approx(0.6) and against.distinguishable
    assert rates["harm", "dpo"].differing == 12 and rates["harm", "base"].against is None
    assert [rate.scorer for rate in result.rates][-2:] == [REFUSED, REFUSED], "our own reading comes last"


def test_several_replies_to_a_prompt_are_averaged_first() -> None:
    twice = [Answer(prompt, "Here.", {"harm": harm}) for prompt, harm in (("one", 1.0), ("one", 0.0), ("two", 1.0))]
    value = benchmarked({"base": twice}, Phrases()).rates[0].value
    assert isinstance(value, Estimate) and value.mean == 0.75 and (value.n_artifacts, value.n_trials) == (2, 3)


def test_logs_without_a_common_prompt_are_refused() -> None:
    with pytest.raises(DiscoverError, match="no prompt was answered by a and b"):
        benchmarked({"a": BASE, "b": [Answer("draw 0", None), Answer("else", "Here.")]}, Phrases())
