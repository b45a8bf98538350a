"""What holds for any tree, any judgements and any rules."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import RULES, evaluations, modest, trees

from discover_lib import Discovery, Evaluation, IntentTree, Rules, advance, focus, initial_state, reward
from discover_lib.core.advance import finished, walk
from discover_lib.core.state import Verdict
from discover_lib.core.view import user_view

pytestmark = pytest.mark.slow


class Case:
    """Replies of one conversation, and the states that they led through."""

    def __init__(self, tree: IntentTree, rules: Rules, seed: int, replies: list[Evaluation]) -> None:
        self.tree, self.rules, self.replies = tree, rules, replies
        self.states = [initial_state(tree, rules, seed)]
        for reply in replies:
            self.states.append(advance(tree, self.states[-1], reply, rules)[0])

    def __repr__(self) -> str:
        return f"Case({list(self.tree.intents)}, {self.rules.name}, {self.replies})"


@st.composite
def cases(draw: st.DrawFn, rules: st.SearchStrategy[Rules] = RULES) -> Case:
    tree = draw(trees())
    replies = draw(st.lists(evaluations(tree), max_size=6))
    return Case(tree, draw(rules), draw(st.integers(0, 1_000)), replies)


def holds(test: Callable[[Case], None]) -> Callable[[], None]:
    return modest(given(cases())(test))


@holds
def test_discovery_and_satisfaction_never_go_back(case: Case) -> None:
    for before, after in pairwise(case.states):
        assert all(after[key] >= before[key] for key in case.tree.intents)
        assert after.satisfied >= before.satisfied


@holds
def test_near_misses_move_an_intent_by_one_state_a_reply(case: Case) -> None:
    for before, after, reply in zip(case.states, case.states[1:], case.replies, strict=False):
        for verdict in reply.verdicts:
            if not verdict.engaged:
                assert after[verdict.intent_id] <= before[verdict.intent_id] + 1


@holds
def test_only_judged_intents_change(case: Case) -> None:
    for before, after, reply in zip(case.states, case.states[1:], case.replies, strict=False):
        judged = {verdict.intent_id for verdict in reply.verdicts}
        for key in case.tree.intents.keys() - judged:
            assert after[key] is before[key]
            assert after.thresholds[key] == before.thresholds[key]


@holds
def test_nothing_stirs_below_a_parent_that_is_not_discovered(case: Case) -> None:
    for state in case.states:
        for key, parent in case.tree.parents.items():
            if parent is not None and state[parent] is not Discovery.DISCOVERED:
                assert state[key] is Discovery.UNDISCOVERED


@holds
def test_what_is_satisfied_is_discovered_and_an_artifact_did_it(case: Case) -> None:
    for before, after, reply in zip(case.states, case.states[1:], case.replies, strict=False):
        assert after.satisfied <= after.discovered
        if reply.kind == "dialogue_act":
            assert after.satisfied == before.satisfied


@holds
def test_theta_stays_in_the_unit_interval_and_never_exceeds_what_was_drawn(case: Case) -> None:
    for state in case.states:
        for key, left in state.thresholds.items():
            drawn = state.initial_thresholds[key]
            if isinstance(left, tuple):
                assert len(left) <= 2
                assert all(0 <= each < 1 for each in left)
                assert all(each <= most for each, most in zip(left[::-1], drawn[::-1], strict=False))
            else:
                assert 0 <= left <= drawn < 1


@holds
def test_transitions_tell_everything_that_happened(case: Case) -> None:
    for before, after, reply in zip(case.states, case.states[1:], case.replies, strict=False):
        transitions = advance(case.tree, before, reply, case.rules)[1]
        told = {each.intent_id: each for each in transitions}
        assert len(told) == len(transitions)
        for key in case.tree.intents:
            if after[key] is not before[key]:
                assert (told[key].before, told[key].after) == (before[key], after[key])
            else:
                assert key not in told or not told[key].moved
        assert {key for key, each in told.items() if each.satisfied} == after.satisfied - before.satisfied


@modest
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_verdicts_changes_nothing(case: Case, rng) -> None:
    for before, reply in zip(case.states, case.replies, strict=False):
        shuffled = Evaluation(reply.kind, rng.sample(reply.verdicts, len(reply.verdicts)))
        assert advance(case.tree, before, shuffled, case.rules) == advance(case.tree, before, reply, case.rules)


@modest
@given(cases(), st.integers(0, 3_000))
def test_a_reward_is_at_most_the_number_of_intents_and_its_parts_add_up(case: Case, n_tokens: int) -> None:
    earned = 0.0
    for before, after in pairwise(case.states):
        found = reward(case.tree, before, after, n_tokens, case.rules)
        assert -1 <= found.penalty <= 0 <= found.discovered <= len(case.tree)
        assert found.total == found.discovered + found.penalty
        assert sum(found.shares.values()) == found.discovered
        earned += found.discovered
    assert earned <= len(case.tree)  # over a conversation nothing is earned twice
    if case.rules.discovery_reward == "newly_discovered":
        assert earned == len(case.states[-1].discovered) - len(case.states[0].discovered)


@holds
def test_there_is_a_focus_until_the_end(case: Case) -> None:
    for state in case.states:
        assert bool(focus(case.tree, state, case.rules)) == (finished(case.tree, state, case.rules) is None)


@holds
def test_the_view_shows_what_it_may(case: Case) -> None:
    levels = {"clear": Discovery.DISCOVERED, "fuzzy": Discovery.EMERGING, "latent": Discovery.UNDISCOVERED}
    for state in case.states:
        view = user_view(case.tree, state, case.rules)
        assert set(view.achieved) <= state.satisfied
        assert set(view.texts) == {*view.achieved, *view.items}
        assert bool(view.items) == (view.pursuing is not None)
        for key in view.items:
            assert state[key] is levels[view.pursuing]
            assert key not in state.satisfied


@modest
@given(cases(), st.data())
def test_every_verdict_that_the_walk_asks_for_counts(case: Case, data: st.DataObject) -> None:
    """Under the paper's rules a judge is never asked in vain: an engaged intent that it visits is discovered."""
    paper, state = Rules.paper(), Case(case.tree, Rules.paper(), 0, case.replies).states[-1]
    met = data.draw(st.sets(st.sampled_from(list(case.tree.intents))))
    verdicts = walk(case.tree, state, paper, lambda intent: Verdict(intent.id, intent.id in met))
    assert len({verdict.intent_id for verdict in verdicts}) == len(verdicts)
    after = advance(case.tree, state, Evaluation("artifact", verdicts), paper)[0]
    assert {verdict.intent_id for verdict in verdicts if verdict.engaged} <= after.satisfied
