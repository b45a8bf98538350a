"""The reward R = R_d + R_e, in worked numbers."""

import pytest
from scripted import forest, state_of

from discover_lib import IntentState, Rules, reward
from discover_lib.core.reward import length_penalty

PAPER, GRPO = Rules.paper(), Rules.paper_grpo()
TREE = forest("1 1.1 1.2 2")


@pytest.mark.parametrize(
    ("before", "after", "newly"),
    [
        pytest.param(state_of(TREE, "1"), state_of(TREE, "1 1.1"), "1.1", id="one newly discovered"),
        pytest.param(state_of(TREE), state_of(TREE, "1 1.1 2"), "1 1.1 2", id="a cascade counts each"),
        pytest.param(state_of(TREE, "1"), state_of(TREE, "1", "1.1"), "", id="emerging earns nothing"),
        pytest.param(state_of(TREE, "1", "1.1"), state_of(TREE, "1 1.1"), "1.1", id="from emerging it is one whole"),
        pytest.param(state_of(TREE, "1"), state_of(TREE, "1", satisfied="1"), "", id="satisfying earns nothing"),
        pytest.param(state_of(TREE), state_of(TREE, "1.1 1.2"), "1.1 1.2", id="no roll-up to the parent"),
    ],
)
def test_discovery_counts_newly_discovered_intents(before: IntentState, after: IntentState, newly: str) -> None:
    found = reward(TREE, before, after, n_tokens=100, rules=PAPER)
    assert found.shares == dict.fromkeys(newly.split(), 1.0)
    assert found.discovered == len(after.discovered) - len(before.discovered) == len(newly.split())
    assert found.total == found.discovered


@pytest.mark.parametrize(
    ("n_tokens", "rules", "penalty"),
    [  # λ = 0.001 a token
        pytest.param(0, PAPER, 0.0, id="silence is free"),
        pytest.param(250, PAPER, 0.0, id="τ itself is free"),
        pytest.param(251, PAPER, -0.001, id="the first token beyond"),
        pytest.param(300, PAPER, -0.05, id="50 beyond"),
        pytest.param(1250, PAPER, -1.0, id="the cap"),
        pytest.param(100_000, PAPER, -1.0, id="never more than 1"),
        pytest.param(350, Rules.authors(), -0.1, id="the authors' τ is 250, too"),
        pytest.param(500, GRPO, 0.0, id="GRPO: τ = 500"),
        pytest.param(750, GRPO, -0.25, id="GRPO: 250 beyond"),
        pytest.param(30, PAPER.replace(tau=10, lam=0.01), -0.2, id="another λ and τ"),
        pytest.param(900, PAPER.replace(lam=0.0), 0.0, id="λ = 0 charges nothing"),
    ],
)
def test_length_costs_beyond_tau(n_tokens: int, rules: Rules, penalty: float) -> None:
    assert length_penalty(n_tokens, rules) == pytest.approx(penalty)
    assert str(length_penalty(n_tokens, rules)) != "-0.0"
    assert reward(TREE, state_of(TREE), state_of(TREE), n_tokens, rules).total == pytest.approx(penalty)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"p": -0.1}, "p must be"),
        ({"lam": "much"}, "lam must be"),
        ({"tau": None}, "tau must be"),
        ({"penalty_cap": float("nan")}, "penalty_cap must be"),
        ({"crossing": "<"}, "crossing must be one of"),
        ({"thresholds": 3}, "thresholds must be one of"),
    ],
)
def test_impossible_rules_are_refused_by_name(changes: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        PAPER.replace(**changes)


@pytest.mark.parametrize("rules", [PAPER, GRPO, Rules.authors(), PAPER.replace(p=0.5)], ids=lambda rules: rules.name)
def test_rules_survive_their_plain_form(rules: Rules) -> None:
    assert Rules.from_dict(rules.to_dict()) == rules


def test_a_variant_says_all_that_it_changed() -> None:
    variant = PAPER.replace(p=0.5).replace(tau=100)
    assert "p=0.5" in variant.name
    assert "tau=100" in variant.name


def test_rules_are_known_by_name() -> None:
    assert [Rules.named(name) for name in ("paper", "paper, GRPO", "authors")] == [PAPER, GRPO, Rules.authors()]
    with pytest.raises(ValueError, match=r"'papers'.*paper; paper, GRPO; authors"):
        Rules.named("papers")


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="'gamma'"):
        Rules.from_dict({"gamma": 1})
