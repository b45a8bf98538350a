"""Choices that travel from page to page."""

from urllib.parse import parse_qs, urlsplit

import pytest

from discover_lib import Rules
from discover_lib.app.carried import OWN, address_of, base_rules, pool_controls, rule_sliders, rules_menu, rules_set
from discover_lib.metrics.results import MEASURES
from discover_lib.metrics.scores import ConversationScores

PAPER = Rules.paper()


def test_an_address_holds_what_the_next_page_reads() -> None:
    address = address_of("41_rows.py", "synthesis/a+b", labels="paper, GRPO", pool=["one", "two"])
    asked = parse_qs(urlsplit(address).query)
    assert asked == {
        "file": ["41_rows.py"],
        "run": ["synthesis/a+b"],
        "labels": ["paper, GRPO"],
        "pool": ['["one","two"]'],
    }


@pytest.mark.parametrize(("asked", "chosen"), [("authors", "authors"), ("mine", OWN), (None, OWN)])
def test_rules_that_do_not_exist_are_the_runs_own(asked: str | None, chosen: str) -> None:
    assert rules_menu("Labels", asked, own=True).value == chosen


def test_rules_keep_the_runs_unit_and_their_name_until_something_is_moved() -> None:
    own = PAPER.replace(token_unit="words")
    assert base_rules(OWN, own) is own
    base = base_rules("paper, GRPO", own)
    assert (base.tau, base.token_unit) == (500, "words")
    assert rules_set(base, base.p, base.tau, 1000 * base.lam) == base
    assert rules_set(base, 0.5, base.tau, 2).lam == 0.002


def test_sliders_take_what_the_address_asks_for_within_their_range() -> None:
    p, tau, lam = rule_sliders(PAPER, {"p": "0.5", "tau": "99999", "lam": "much"})
    assert (p.value, tau.value, lam.value) == (0.5, 1000, 1)


def test_a_pool_comes_from_the_address_as_far_as_it_exists() -> None:
    scores = [row(name, domain) for name in ("draft", "ask", "adaptive") for domain in ("svg_drawing", "travel_plan")]
    label = MEASURES[2].label
    asked = {"domain": "travel_plan", "measure": label, "pool": '["ask","nobody"]', "leave_out": "all"}
    scope, measure, pool, leave_out = pool_controls(scores, asked)
    assert (scope.value, measure.value, pool.value, leave_out.value) == (
        "travel_plan",
        MEASURES[2].name,
        ["ask"],
        "all",
    )
    scope, measure, pool, leave_out = pool_controls(scores, {"domain": "x", "pool": "nobody", "leave_out": "some"})
    assert (scope.value, measure.value, leave_out.value) == ("all", MEASURES[0].name, "none")
    assert pool.value == ["draft", "ask", "adaptive"]


def row(assistant: str, domain: str) -> ConversationScores:
    """The scores of one conversation; only who and where matter here."""
    import types

    return types.SimpleNamespace(assistant=assistant, domain=domain)  # type: ignore[return-value]
