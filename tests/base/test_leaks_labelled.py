"""What the leak rule notices of labelled messages, and what it leaves in peace (`data/leaks/README.md`)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from discover_lib.base.leak_words import find_leaks, giving_away, root

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))  # a script, not part of the library
from leak_figures import BY_WORDS, KINDS, Labelled, calibration, figures, on_trees


@pytest.mark.parametrize(
    ("cases", "n", "each_kind"),
    [
        pytest.param(calibration(), 119, 12, id="labelled"),
        pytest.param(on_trees("fresh"), 110, 12, id="fresh"),
        pytest.param(on_trees("after"), 47, 4, id="after the rule was finished"),
    ],
)
def test_most_leaks_by_words_are_noticed_and_few_innocent_messages(
    cases: list[Labelled], n: int, each_kind: int
) -> None:
    """One message counts once.  Paraphrases are counted apart: no rule about words sees them."""
    found = figures(cases)
    assert len(cases) == n and min(found.total[kind] for kind in KINDS) >= each_kind
    assert found.precision >= 0.97 and found.recall(BY_WORDS) >= 0.85
    assert figures(cases, with_check=True).recall() >= 0.95


@pytest.mark.parametrize("family", ["write wrote written writing", "mouse mice", "intervene intervening interventions"])
def test_irregular_forms_share_a_root(family: str) -> None:
    assert len({root(word) for word in family.split()}) == 1


@pytest.mark.parametrize(
    "pair", ["left leave", "rose rise", "saw see", "ground grind", "found find", "leaves leaf", "intervention interval"]
)
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
