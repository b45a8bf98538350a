"""A capable model's own answers to every structured prompt: what a careful reader accepts is accepted, the rest caught.

See tests/data/by-hand/README.md.  The prompts were those of the time; the answers are read by today's checks, and
`tools/by_hand.py` prints how.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from discover_lib.core.intents import IntentTree
from discover_lib.engines.llm import answers, judge, organisation
from discover_lib.engines.llm.calls.reading import UnusableError, read_answer
from discover_lib.metrics.ceiling import ceiling

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))  # a script, not part of the library
import by_hand

CALLS = by_hand.calls()
HIERARCHIES = [number for number, call in CALLS.items() if call.prompt == "hierarchy"]
WRONG_ON_PURPOSE = {
    "0011": "'pairs'|pairs|JSON",  # another prompt's answer
    "0015": "no JSON object",  # nothing at all
    "0017": "breaks off before its end",
    "0019": "there is no item '1.13'",
    "0022": "gives away what is latent",
    "0031": "gives away what is latent",
    "0079": "no JSON object",  # a refusal
    "0087": "cannot put it into words: avoid 'snail'",
    "0104": "breaks off before its end",
    "0106": "no JSON object",  # a judgement in prose
}
# 0023 leaks by a paraphrase ("snoops secretly"): by words alone that is accepted (see test_leak_check.py).
MENDED = {  # accepted although something is wrong, which is counted or kept
    "0069": "contradicted 1",
    "0072": "stray id 1.4",
    "0119": "8.1.3.1: 4.5, between two steps",
    "0121": "interactivity: 2.5, between two steps",
}
OTHER_FORM = ("0016", "0078")  # prose and a fence around it; a Python dictionary


@pytest.mark.parametrize("number", [number for number in CALLS if number not in WRONG_ON_PURPOSE])
def test_what_a_careful_reader_accepts_is_accepted_without_asking_again(number: str) -> None:
    result, mended = by_hand.read(CALLS[number])
    assert "; ".join(mended) == MENDED.get(number, "")
    assert result.clean == (number not in OTHER_FORM)


@pytest.mark.slow
@pytest.mark.parametrize("number", WRONG_ON_PURPOSE)
def test_what_was_wrong_on_purpose_is_caught(number: str) -> None:
    with pytest.raises(UnusableError, match=WRONG_ON_PURPOSE[number]):
        by_hand.read(CALLS[number])


@pytest.mark.parametrize("number", [number for number, call in CALLS.items() if call.prompt == "response_evaluation"])
def test_what_a_judge_was_shown_is_put_together_again_as_it_was(number: str) -> None:
    call = CALLS[number]
    tree, state = by_hand.judged_tree(call)
    shown = judge.askable(tree, state, by_hand.RULES)
    intents = by_hand.part(call, "Intents, from broad to specific")
    assert judge.describe_focus(tree, state, by_hand.RULES, shown) == intents
    wishes = by_hand.part(call, "Known wishes outside the tree")
    assert judge.describe_wishes(tree, state, by_hand.RULES, shown) == wishes


@pytest.mark.parametrize("number", HIERARCHIES)
def test_every_forest_built_by_hand_is_kept_and_mended_to_within_reach(number: str) -> None:
    """Eight and nine trees of a whole piece; what the same hand denied of their edges is mended."""
    call = CALLS[number]
    items = by_hand.items_of(call)
    answer = read_answer(call.answer, answers.Hierarchy, lambda _: None).value
    wrong = number in WRONG_ON_PURPOSE
    parents = organisation.salvaged_parents(answer, items) if wrong else organisation.parents_of(answer)
    mended = organisation.mend(parents, items, denied_by_hand(parents, items))
    trees = organisation.forest(mended.parents, items.texts)
    share = ceiling(IntentTree("", "", "", (trees[0].id,), trees))
    specific = sum(key.startswith("0.") for key in items.texts)
    print(f"{number}: {len(trees)} trees, {share:.0%} in five turns; {len(mended.lost)} of {specific} items left out")
    assert 2 <= len(trees) <= organisation.MOST_TREES and share >= organisation.LEAST_CEILING
    assert len(mended.lost) <= specific / 3
    assert (not mended.lost and not mended.cut) or mended.notes


def denied_by_hand(parents: organisation.Parents, items: organisation.Items) -> tuple[organisation.Dispute, ...]:
    verdicts = {}
    for number, call in CALLS.items():
        if call.prompt == "superset_check" and number not in WRONG_ON_PURPOSE:
            pairs = re.findall(r"^(\d+)\. narrow: (.*)\n +broad: (.*)$", call.asked, re.MULTILINE)
            said = {pair.number: pair for pair in by_hand.read(call)[0].value.pairs}
            verdicts |= {(low, high): said[int(n)] for n, low, high in pairs}
    asked_about = organisation.edges(parents)
    compared = [
        verdicts[key].model_copy(update={"number": number})
        for number, (low, high) in enumerate(asked_about, start=1)
        if (key := (items.texts[low], items.texts[high])) in verdicts
    ]
    return organisation.disputes(answers.SupersetCheck(pairs=compared), asked_about)
