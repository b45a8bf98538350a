"""A capable model's own answers to every structured prompt: what a careful reader accepts is accepted, the rest caught.

See tests/data/by-hand/README.md.  The prompts were those of the time; the answers are read by today's checks, and
`tools/by_hand.py` prints how.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from discover_lib.engines.llm import answers, judge, organisation
from discover_lib.engines.llm.calls.reading import UnusableError, read_answer

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
HIERARCHIES = [key for key, call in CALLS.items() if call.prompt == "hierarchy" and key not in WRONG_ON_PURPOSE]
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
def test_every_forest_built_by_hand_keeps_its_wishes_without_the_edges_that_the_same_hand_denied(number: str) -> None:
    """Eight and nine trees of a whole piece."""
    call = CALLS[number]
    items = by_hand.items_of(call)
    parents = organisation.parents_of(read_answer(call.answer, answers.Hierarchy, lambda _: None).value)
    denied = denied_by_hand(parents, items)
    kept = organisation.without(parents, denied)
    assert {key for key in kept if key.startswith("0.")} == {key for key in parents if key.startswith("0.")}
    assert not [edge for edge in organisation.edges(kept) if denied.get(edge)]
    assert all(parent in kept for parent in kept.values() if parent is not None)


def denied_by_hand(parents: organisation.Parents, items: organisation.Items) -> dict[organisation.Edge, str]:
    verdicts = {}
    for number, call in CALLS.items():
        if call.prompt == "superset_check" and number not in WRONG_ON_PURPOSE:
            pairs = re.findall(r"^(\d+)\. narrow: (.*)\n +broad: (.*)$", call.asked, re.MULTILINE)
            said = {pair.number: pair for pair in by_hand.read(call)[0].value.pairs}
            verdicts |= {(low, high): said[int(n)] for n, low, high in pairs}
    asked = [edge for edge in organisation.edges(parents) if (items.texts[edge[0]], items.texts[edge[1]]) in verdicts]
    pairs = [
        verdicts[items.texts[low], items.texts[high]].model_copy(update={"number": number})
        for number, (low, high) in enumerate(asked, start=1)
    ]
    return organisation.denials(answers.SupersetCheck(pairs=pairs), asked, items.texts)
