"""A capable model's own answers to every structured prompt: what a careful reader accepts is accepted, the rest caught.

See tests/data/by-hand/README.md.  The prompts were those of the time; the answers are read by today's checks, and
`tools/by_hand.py` prints how.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from discover_lib.engines.llm.asking import UnusableError

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))  # a script, not part of the library
import by_hand

CALLS = by_hand.calls()
WRONG_ON_PURPOSE = {
    "0011": "'pairs'|pairs|JSON",  # another prompt's answer
    "0015": "no JSON object",  # nothing at all
    "0017": "not one whole JSON object",
    "0019": "there is no item '1.13'",
    "0022": "gives away what is latent",
    "0031": "gives away what is latent",
    "0079": "no JSON object",  # a refusal
    "0087": "cannot put it into words: avoid 'snail'",
    "0104": "no JSON object|not one whole",
    "0106": "no JSON object",  # a judgement in prose
}
# 0023 leaks by a paraphrase ("snoops secretly"): by words alone that is accepted (see test_leak_check.py).
OTHER_FORM = ("0016", "0078")  # prose and a fence around it; a Python dictionary


@pytest.mark.parametrize("number", [number for number in CALLS if number not in WRONG_ON_PURPOSE])
def test_what_a_careful_reader_accepts_is_accepted_without_asking_again(number: str) -> None:
    assert by_hand.read(CALLS[number]).clean == (number not in OTHER_FORM)


@pytest.mark.slow
@pytest.mark.parametrize("number", WRONG_ON_PURPOSE)
def test_what_was_wrong_on_purpose_is_caught(number: str) -> None:
    with pytest.raises(UnusableError, match=WRONG_ON_PURPOSE[number]):
        by_hand.read(CALLS[number])
