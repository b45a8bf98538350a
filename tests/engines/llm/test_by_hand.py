"""A capable model's own answers to the builder's prompts: what a careful reader accepts is accepted, the rest caught.

See tests/data/by-hand/README.md.  The prompts were those of the time; the answers are read by today's checks.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from discover_lib.base.words import content_words
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.engines.llm import answers, builder, organisation
from discover_lib.engines.llm.calls.reading import UnusableError, read_answer
from discover_lib.metrics.ceiling import ceiling

FILE = Path(__file__).parents[2] / "data" / "by-hand" / "builder.jsonl"
CALLS: dict[str, dict[str, Any]] = {
    call["number"]: call for call in map(json.loads, FILE.read_text(encoding="utf-8").splitlines())
}
OPENINGS = {
    "You work backwards": "synthesis",
    "People come to know": "abstraction",
    "You are given requirements": "hierarchy",
    "You are given pairs": "direction",
    "Somebody is about": "request",
}
WRONG_ON_PURPOSE = {
    "0011": "'pairs'|pairs|JSON",  # another prompt's answer
    "0015": "no JSON object",  # nothing at all
    "0017": "breaks off before its end",
    "0019": "there is no item '1.13'",
    "0022": "gives away what is latent",
    "0031": "gives away what is latent",
}
# 0023 leaks by a paraphrase ("snoops secretly"): by words alone that is accepted.


def stage_of(call: dict[str, Any]) -> str:
    return next(stage for opening, stage in OPENINGS.items() if call["messages"][0]["content"].startswith(opening))


def asked(call: dict[str, Any]) -> str:
    return str(call["messages"][1]["content"])


def items_of(call: dict[str, Any]) -> organisation.Items:
    return organisation.Items(dict(re.findall(r"^- \[([\d.]+)\] (.*)$", asked(call), re.MULTILINE)), {})


def bare_tree(call: dict[str, Any]) -> IntentTree:
    """The roots and, below the first, all that is latent: enough to tell what leaks."""
    roots = re.findall(r"^- \[(\d+)\] (.*)$", asked(call), re.MULTILINE)
    latent = re.findall(r"^- (?!\[)(.*)$", asked(call), re.MULTILINE)
    below = tuple(Intent(f"1.{place}", text) for place, text in enumerate(latent, start=1))
    kind, topic = re.findall(r"^(?:Type of artifact|Topic): (.*)$", asked(call), re.MULTILINE)
    return IntentTree(kind, topic, "", (), tuple(Intent(key, text, below if key == "1" else ()) for key, text in roots))


def read(call: dict[str, Any]) -> Any:
    """The answer, as the builder reads it.

    Raises:
        UnusableError: the builder would ask again, with these words.
    """
    stage, text = stage_of(call), call["answer"]
    if stage == "synthesis":
        return read_answer(text, answers.Synthesis, builder.synthesis_defect).value
    if stage == "abstraction":
        specific = re.findall(r"^- (.*)$", asked(call), re.MULTILINE)
        kind, topic = re.findall(r"^(?:Type of artifact|Topic): (.*)$", asked(call), re.MULTILINE)
        known = content_words(f"{kind} {topic}")
        return read_answer(
            text,
            answers.Abstraction,
            lambda each: builder.abstraction_defect([specific, *(level.items for level in each.levels)], known),
        ).value
    if stage == "hierarchy":
        items = items_of(call)
        return read_answer(text, answers.Hierarchy, lambda each: organisation.hierarchy_defect(each, items)).value
    if stage == "direction":
        return read_answer(text, answers.SupersetCheck, lambda _: None).value
    tree = bare_tree(call)

    def check(answer: answers.InitialRequest) -> str | None:
        told = builder._opened(tree, answer.chosen, answer.request)
        return builder.request_defect(answer, tree.roots) or builder.leak_defect(told)

    return read_answer(text, answers.InitialRequest, check).value


@pytest.mark.parametrize("number", [number for number in CALLS if number not in WRONG_ON_PURPOSE])
def test_what_a_careful_reader_accepts_is_accepted_without_asking_again(number: str) -> None:
    assert read(CALLS[number])


@pytest.mark.parametrize("number", WRONG_ON_PURPOSE)
def test_what_was_wrong_on_purpose_is_caught(number: str) -> None:
    with pytest.raises(UnusableError, match=WRONG_ON_PURPOSE[number]):
        read(CALLS[number])


@pytest.mark.parametrize("number", [number for number in CALLS if stage_of(CALLS[number]) == "hierarchy"])
def test_every_forest_built_by_hand_is_kept_and_mended_to_within_reach(number: str) -> None:
    """Eight and nine trees of a whole piece; what the same hand denied of their edges is mended."""
    call = CALLS[number]
    items = items_of(call)
    answer = read_answer(call["answer"], answers.Hierarchy, lambda _: None).value
    wrong = number in WRONG_ON_PURPOSE
    parents = organisation.salvaged_parents(answer, items) if wrong else organisation.parents_of(answer)
    mended = organisation.mend(parents, items, denied_by_hand(parents, items))
    trees = organisation.forest(mended.parents, items.texts)
    share = ceiling(IntentTree("", "", "", (trees[0].id,), trees))
    specific = sum(key.startswith("0.") for key in items.texts)
    print(f"{number}: {len(trees)} trees, {share:.0%} in five turns; {len(mended.lost)} of {specific} items left out")
    assert 2 <= len(trees) <= organisation.MOST_TREES and share >= organisation.LEAST_CEILING
    assert not mended.doubted and len(mended.lost) <= specific / 3
    assert (not mended.lost and not mended.cuts) or mended.notes


def denied_by_hand(parents: organisation.Parents, items: organisation.Items) -> tuple[organisation.Dispute, ...]:
    verdicts = {}
    for call in CALLS.values():
        if stage_of(call) == "direction" and call["number"] not in WRONG_ON_PURPOSE:
            pairs = re.findall(r"^(\d+)\. narrow: (.*)\n +broad: (.*)$", asked(call), re.MULTILINE)
            said = {pair.number: pair for pair in read(call).pairs}
            verdicts |= {(low, high): said[int(n)] for n, low, high in pairs}
    asked_about = organisation.edges(parents)
    compared = [
        verdicts[key].model_copy(update={"number": number})
        for number, (low, high) in enumerate(asked_about, start=1)
        if (key := (items.texts[low], items.texts[high])) in verdicts
    ]
    return organisation.disputes(answers.SupersetCheck(pairs=compared), asked_about)
