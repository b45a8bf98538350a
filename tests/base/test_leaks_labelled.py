"""What the leak rule notices of labelled messages, and what it leaves in peace (`data/leaks/README.md`)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from discover_lib.base.leaks import find_leaks, giving_away, root

LABELLED = Path(__file__).parents[1] / "data" / "leaks" / "labelled.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
BY_WORDS = ("exact", "inflected", "irregular")


def noticed(case: dict[str, Any]) -> bool:
    """Whether the message gives away a hidden intent by the rule about words."""
    return bool(giving_away(find_leaks(case["message"], case["hidden"], case["known"]), case["pursued"]))


def test_most_leaks_by_words_are_noticed_and_hardly_an_innocent_message(record_property: Any) -> None:
    """One message counts once.

    Recall is over exact, inflected and irregular leaks; precision is the share of leaks among the messages noticed of
    those kinds and of the innocent.  Paraphrases are counted apart: no rule about words sees them.
    """
    found = Counter(case["kind"] for case in CASES if noticed(case))
    total = Counter(case["kind"] for case in CASES)
    hits = sum(found[kind] for kind in BY_WORDS)
    recall = hits / sum(total[kind] for kind in BY_WORDS)
    precision = hits / (hits + found["innocent"])
    shares = ", ".join(f"{kind} {found[kind]} of {total[kind]}" for kind in sorted(total))
    print(f"\nnoticed: {shares}; precision {precision:.3f}, recall {recall:.3f}")
    record_property("noticed", shares)
    assert len(CASES) >= 100 and min(total.values()) >= 12
    assert precision >= 0.97 and recall >= 0.85


@pytest.mark.parametrize(
    "family",
    [
        "hear hears heard",
        "write wrote written writing",
        "mouse mice",
        "break broke broken",
        "overhear overhears overheard",
    ],
)
def test_irregular_forms_share_a_root(family: str) -> None:
    assert len({root(word) for word in family.split()}) == 1


@pytest.mark.parametrize("pair", ["left leave", "rose rise", "saw see", "ground grind", "found find", "leaves leaf"])
def test_forms_that_are_words_of_their_own_do_not(pair: str) -> None:
    one, other = map(root, pair.split())
    assert one != other


HIDDEN = {"1.1": "Shows a soft grey mouse", "8.1": "Lines look wavy and thick"}


@pytest.mark.parametrize(
    ("message", "pursued", "given"),
    [
        pytest.param("a mouse", ["1.1"], ["1.1"], id="the very word of what the user is after"),
        pytest.param("mice", ["1.1"], [], id="one word in another form is slight"),
        pytest.param("softer mice", ["1.1"], ["1.1"], id="two are not"),
        pytest.param("a wavy one", ["1.1"], [], id="one word of another tree is slight"),
        pytest.param("wavy lines, thick ones", ["1.1"], ["8.1"], id="several are not"),
        pytest.param("a wavy one", None, ["8.1"], id="where nobody knows what the user is after"),
        pytest.param("those lines", ["8.1"], [], id="a name of what every piece has"),
    ],
)
def test_what_gives_an_intent_away(message: str, pursued: list[str] | None, given: list[str]) -> None:
    assert sorted(giving_away(find_leaks(message, HIDDEN, []), pursued)) == given
