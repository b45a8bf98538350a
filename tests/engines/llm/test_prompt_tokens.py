"""Judge and voice cost no more than they did when the calls of tests/data/by-hand were made."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from discover_lib.base.tokens import count_tokens

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))  # a script, not part of the library
import by_hand
import prompt_tokens

from discover_lib.engines.llm.prompting import PromptSet


def test_a_recorded_request_is_taken_apart_and_rendered_again_word_for_word() -> None:
    then = PromptSet(prompt_tokens.THEN)
    for call in by_hand.calls().values():
        if call.prompt in ("response_evaluation", "user_reply", "satisfaction_judge", "behaviour_annotation"):
            values = prompt_tokens.values_of(then[call.prompt], call.asked)
            assert then.render(call.prompt, **values)[-1]["content"] == call.asked


@pytest.mark.slow
def test_five_turns_of_judge_and_voice_take_no_more_tokens() -> None:
    for count in (count_tokens, prompt_tokens.tokenizer()[1]):
        then, now = prompt_tokens.five_turns(count)
        assert now <= then
