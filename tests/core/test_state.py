"""The paper's transition: how one reply changes what a user knows of their own intents."""

import pytest
from scripted import LEVELS, artifact, forest, question, state_of

from discover_lib import Discovery, Evaluation, IntentState, Rules, Verdict, advance, finished, focus, initial_state
from discover_lib.core.advance import walk
from discover_lib.core.intents import Intent

PAPER = Rules.paper()  # p = 0.25, score > θ
TREE = forest("1 1.1 1.1.1 1.2 2 2.1")
KNOWN = "1 1.1"  # discovered in `START`
START = state_of(TREE, KNOWN, theta=0.4)


def step(evaluation: Evaluation, state: IntentState = START, rules: Rules = PAPER) -> IntentState:
    return advance(TREE, state, evaluation, rules)[0]


# -- engaged -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evaluation", "discovered", "satisfied"),
    [
        pytest.param(artifact("1.2"), "1 1.1 1.2", "1.2", id="an artifact discovers and satisfies"),
        pytest.param(question("1.2"), "1 1.1 1.2", "", id="a dialogue act discovers and never satisfies"),
        pytest.param(artifact("1"), "1 1.1", "1", id="an artifact satisfies what is discovered already"),
        pytest.param(question("1"), "1 1.1", "", id="probing what is discovered changes nothing"),
        pytest.param(artifact("2.1"), "1 1.1", "", id="a child is ignored under an undiscovered parent"),
        pytest.param(artifact("2", "2.1"), "1 1.1 2 2.1", "2 2.1", id="a parent and its child cascade in one reply"),
        pytest.param(question("2", "2.1"), "1 1.1 2 2.1", "", id="a cascade of probes"),
        pytest.param(artifact("1.1.1", "2"), "1 1.1 1.1.1 2", "1.1.1 2", id="outside the focus root too"),
        pytest.param(artifact(), "1 1.1", "", id="no verdict, no change"),
        pytest.param(artifact(n1=3), "1 1.1", "", id="near misses of what is discovered change nothing"),
    ],
)
def test_engaged(evaluation: Evaluation, discovered: str, satisfied: str) -> None:
    after = step(evaluation)
    assert after.discovered == set(discovered.split())
    assert after.satisfied == set(satisfied.split())
    assert after.thresholds == START.thresholds  # engagement needs no θ


def test_a_state_is_looked_up_and_a_loop_over_it_ends_at_once() -> None:
    assert START["1"] is Discovery.DISCOVERED and START["2"] is Discovery.UNDISCOVERED
    with pytest.raises(TypeError, match="not iterable"):
        list(START)


def test_probed_now_and_satisfied_by_a_later_artifact() -> None:
    probed, first = advance(TREE, START, question("1.2"), PAPER)
    built, second = advance(TREE, probed, artifact("1.2"), PAPER)
    assert (probed["1.2"], "1.2" in probed.satisfied) == (Discovery.DISCOVERED, False)
    assert (built["1.2"], "1.2" in built.satisfied) == (Discovery.DISCOVERED, True)
    assert [(each.cause, each.moved, each.satisfied) for each in first] == [("direct", True, False)]
    assert [(each.cause, each.moved, each.satisfied) for each in second] == [("direct", False, True)]
    assert advance(TREE, built, artifact("1.2"), PAPER) == (built, ())  # a second time says nothing new


# -- near misses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "theta", "misses", "level_after", "theta_after"),
    [  # p = 0.25: k near misses score 0.25·k
        pytest.param("undiscovered", 0.4, 1, "undiscovered", 0.15, id="0.25 < 0.4: only θ shrinks"),
        pytest.param("undiscovered", 0.25, 1, "undiscovered", 0.0, id="0.25 = 0.25: not crossed, nothing left of θ"),
        pytest.param("undiscovered", 0.2, 1, "emerging", 0.2, id="0.25 > 0.2: one state up, θ as at the start"),
        pytest.param("undiscovered", 0.0, 1, "emerging", 0.0, id="θ = 0: the first near miss crosses"),
        pytest.param("emerging", 0.2, 1, "discovered", 0.2, id="emerging moves to discovered"),
        pytest.param("emerging", 0.4, 1, "emerging", 0.15, id="emerging stays below θ"),
        pytest.param("undiscovered", 0.4, 2, "emerging", 0.4, id="two near misses: 0.5 > 0.4"),
        pytest.param("undiscovered", 0.75, 3, "undiscovered", 0.0, id="three near misses: 0.75 = 0.75"),
        pytest.param("undiscovered", 0.999, 4, "emerging", 0.999, id="four near misses cross any θ"),
        pytest.param("undiscovered", 0.1, 9, "emerging", 0.1, id="one step a reply, however many near misses"),
    ],
)
def test_near_misses(level: str, theta: float, misses: int, level_after: str, theta_after: float) -> None:
    emerging = "1.2" if level == "emerging" else ""
    before = state_of(TREE, KNOWN, emerging, theta=theta)
    after, transitions = advance(TREE, before, artifact(n1_2=misses), PAPER)
    assert after["1.2"] is LEVELS[level_after]
    assert after.thresholds == pytest.approx(before.thresholds | {"1.2": theta_after})
    assert not after.satisfied  # a near miss never satisfies
    (only,) = transitions
    assert (only.intent_id, only.cause) == ("1.2", "tangential")
    assert (only.before, only.after) == (before["1.2"], after["1.2"])
    assert (only.score, only.theta, only.theta_left) == pytest.approx((misses * 0.25, theta, theta_after))


def test_theta_wears_down_over_replies_and_is_restored_by_each_crossing() -> None:
    state, seen = state_of(TREE, KNOWN, theta=0.6), []
    for _ in range(6):
        state = step(artifact(n1_2=1), state)
        seen.append((state["1.2"].name.lower(), round(state.thresholds["1.2"], 6)))
    assert seen == [
        ("undiscovered", 0.35),  # 0.25 against 0.6
        ("undiscovered", 0.1),  # 0.25 against 0.35
        ("emerging", 0.6),  # 0.25 > 0.1: up, θ back to its initial value
        ("emerging", 0.35),
        ("emerging", 0.1),
        ("discovered", 0.6),
    ]


@pytest.mark.parametrize("crossing", [">", ">="])
def test_a_score_equal_to_theta_on_paper_is_equal_in_floating_point(crossing: str) -> None:
    # 0.1 · 3 is 0.30000000000000004 in binary.
    rules = PAPER.replace(p=0.1, crossing=crossing)
    after = step(artifact(n1_2=3), state_of(TREE, KNOWN, theta=0.3), rules)
    assert after["1.2"] is (Discovery.EMERGING if crossing == ">=" else Discovery.UNDISCOVERED)
    assert after.thresholds["1.2"] == (0.3 if crossing == ">=" else 0.0)


def test_worn_down_in_tenths_theta_is_used_up_exactly() -> None:
    state = state_of(TREE, KNOWN, theta=0.3)
    for _ in range(3):  # 0.3 − 0.1 − 0.1 is 0.09999999999999998 in binary
        state = step(artifact(n1_2=1), state, PAPER.replace(p=0.1))
    assert (state["1.2"], str(state.thresholds["1.2"])) == (Discovery.UNDISCOVERED, "0.0")  # not −0.0


def test_the_same_near_miss_counts_once_within_a_reply() -> None:
    verdict = Verdict("1.2", False, ("a dog", "A  dog", "a dog "))
    after = step(Evaluation("artifact", [verdict]), state_of(TREE, KNOWN, theta=0.4))
    assert after.thresholds["1.2"] == pytest.approx(0.15)  # one alternative: 0.4 − 0.25


@pytest.mark.parametrize(
    ("counting", "left"),
    [
        pytest.param("per_reply", 0.15, id="again in a later reply: 0.9 − 0.25 − 0.5"),
        pytest.param("per_conversation", 0.4, id="once in a conversation: 0.9 − 0.25 − 0.25"),
    ],
)
def test_a_repeated_near_miss(counting: str, left: float) -> None:
    rules = PAPER.replace(near_misses=counting)
    state = state_of(TREE, KNOWN, theta=0.9)
    for misses in (("a dog",), ("a dog", "a hen")):
        state = step(Evaluation("artifact", [Verdict("1.2", False, misses)]), state, rules)
    assert state.thresholds["1.2"] == pytest.approx(left)


@pytest.mark.parametrize(
    ("cap", "misses", "left", "level"),
    [
        pytest.param(None, 4, 0.9, "emerging", id="no cap: 1.0 crosses 0.9, and θ starts anew"),
        pytest.param(1, 4, 0.65, "undiscovered", id="one counts: 0.9 − 0.25"),
        pytest.param(2, 4, 0.4, "undiscovered", id="two count: 0.9 − 0.5"),
        pytest.param(3, 2, 0.4, "undiscovered", id="fewer than the cap: 0.9 − 0.5"),
    ],
)
def test_a_cap_limits_the_near_misses_that_count_in_a_reply(cap, misses: int, left: float, level: str) -> None:
    after = step(artifact(n1_2=misses), state_of(TREE, KNOWN, theta=0.9), PAPER.replace(near_miss_cap=cap))
    assert after.thresholds["1.2"] == pytest.approx(left)
    assert after["1.2"].name.lower() == level


def test_the_cap_holds_for_new_near_misses_and_for_the_authors_rules_too() -> None:
    once = PAPER.replace(near_misses="per_conversation", near_miss_cap=1)
    state = state_of(TREE, KNOWN, theta=0.9)
    for misses in (("a dog", "a hen"), ("a dog", "a hen", "a fox", "an ox")):  # one of two, then one of the two new
        state = step(Evaluation("artifact", [Verdict("1.2", False, misses)]), state, once)
    assert state.thresholds["1.2"] == pytest.approx(0.4)
    authors = Rules.authors().replace(near_miss_cap=1)
    start = initial_state(TREE, authors, thresholds={"1": (0.9, 0.9)})
    after, _ = advance(TREE, start, Evaluation("artifact", [Verdict("1", False, ("a", "a", "b"))]), authors)
    assert after.thresholds["1"] == pytest.approx((0.65, 0.9))


def test_a_cap_is_written_only_where_there_is_one() -> None:
    assert "near_miss_cap" not in PAPER.to_dict()
    capped = PAPER.replace(near_miss_cap=2)
    assert capped.name == "paper with near_miss_cap=2" and Rules.from_dict(capped.to_dict()) == capped
    for wrong in (0, -1, 1.5, True, "1"):
        with pytest.raises(ValueError, match="near_miss_cap must be a whole number"):
            PAPER.replace(near_miss_cap=wrong)


def test_the_same_alternative_counts_for_each_intent_that_it_misses() -> None:
    rules = PAPER.replace(near_misses="per_conversation")
    state = step(artifact(n1_2=1), state_of(TREE, KNOWN, theta=0.9), rules)
    state = step(artifact(n2=1), state, rules)
    assert (state.thresholds["1.2"], state.thresholds["2"]) == pytest.approx((0.65, 0.65))


def test_engaged_wins_over_near_misses_of_the_same_verdict() -> None:
    after, transitions = advance(TREE, START, Evaluation("artifact", [Verdict("1.2", True, ("a", "b"))]), PAPER)
    assert after["1.2"] is Discovery.DISCOVERED
    assert [each.cause for each in transitions] == ["direct"]


# -- who can move ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evaluation", "level"),
    [
        pytest.param(artifact(n2_1=4), "undiscovered", id="near misses wait for the parent"),
        pytest.param(artifact("2", n2_1=4), "emerging", id="a near miss counts when the parent is met in this reply"),
        pytest.param(artifact("2.1", n2=4), "undiscovered", id="a parent that becomes emerging opens nothing"),
        pytest.param(question("2", "2.1"), "discovered", id="a probe opens the child as well"),
    ],
)
def test_a_child_waits_for_its_parent(evaluation: Evaluation, level: str) -> None:
    assert step(evaluation)["2.1"] is LEVELS[level]


def test_an_ignored_child_keeps_its_theta() -> None:
    assert advance(TREE, START, artifact(n2_1=4), PAPER) == (START, ())


def test_a_parent_discovered_by_near_misses_opens_its_child_in_the_same_reply() -> None:
    emerging = state_of(TREE, KNOWN, emerging="2", theta=0.2)
    assert step(artifact("2.1", n2=1), emerging).discovered == {"1", "1.1", "2", "2.1"}


def test_a_child_met_under_an_unmet_but_discovered_parent_moves() -> None:
    after = step(Evaluation("artifact", [Verdict("1.1", False), Verdict("1.1.1", True)]))
    assert after.satisfied == {"1.1.1"}


def test_an_unknown_intent_is_an_error_and_changes_nothing() -> None:
    with pytest.raises(ValueError, match=r"'7\.7'"):
        step(artifact("1.2", "7.7"))
    assert START["1.2"] is Discovery.UNDISCOVERED


def test_a_missing_theta_is_named_when_it_is_needed() -> None:
    with pytest.raises(ValueError, match=r"'1\.2'"):
        step(artifact(n1_2=1), IntentState(START.discovery))


def test_an_evaluation_is_an_artifact_or_a_dialogue_act() -> None:
    with pytest.raises(ValueError, match="'dialogue_act'"):
        Evaluation("mixed")  # type: ignore[arg-type]


# -- the start -------------------------------------------------------------------------------------------------------


def test_at_the_start_only_the_named_roots_are_discovered() -> None:
    state = initial_state(forest("1 1.1 2", "2"), PAPER)
    assert state.discovered == {"2"}
    assert state.satisfied == frozenset()
    assert set(state.thresholds) == {"1", "1.1", "2"}


def test_theta_depends_on_the_seed_and_the_id_alone() -> None:
    small, large = forest("1 2"), forest("1 1.1 2 3")
    first, again, other = (initial_state(small, PAPER, seed).thresholds for seed in (5, 5, 6))
    assert first == again
    assert all(first[key] != other[key] for key in first)
    assert first["1"] != first["2"]
    assert initial_state(large, PAPER, 5).thresholds["2"] == first["2"]


def test_theta_is_uniform_on_the_unit_interval() -> None:
    tree = forest(" ".join(str(n) for n in range(1, 2_001)))
    drawn = sorted(initial_state(tree, PAPER, 3).thresholds.values())
    assert drawn[0] >= 0 and drawn[-1] < 1
    # Kolmogorov's distance; 1.95/√n is exceeded once in a thousand seeds, and this seed is fixed.
    assert max(abs(value - n / len(drawn)) for n, value in enumerate(drawn)) < 1.95 / len(drawn) ** 0.5


def test_single_thetas_can_be_given() -> None:
    drawn = initial_state(TREE, PAPER, 1).thresholds
    assert initial_state(TREE, PAPER, 1, {"1.1": 0.4}).thresholds == drawn | {"1.1": 0.4}


@pytest.mark.parametrize(
    ("thresholds", "rules", "named"),
    [
        pytest.param({"8": 0.4}, PAPER, "'8'", id="unknown intent"),
        pytest.param({"1": (0.4, 0.5)}, PAPER, "'1'.*a number", id="a pair under the paper's rules"),
        pytest.param({"1": "0.4"}, PAPER, "'1'.*a number", id="a text"),
        pytest.param({"1": 0.4}, Rules.authors(), "'1'.*a pair", id="a number under the authors' rules"),
    ],
)
def test_a_wrong_theta_is_refused(thresholds: dict, rules: Rules, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        initial_state(TREE, rules, thresholds=thresholds)


# -- focus, end, walk ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        pytest.param(state_of(TREE), ("1",), id="nothing known: the first root"),
        pytest.param(state_of(TREE, "1 1.1 1.1.1", "1.2"), ("1",), id="emerging is not discovered"),
        pytest.param(state_of(TREE, "1 1.1 1.1.1 1.2"), ("2",), id="all discovered, none satisfied: on to the next"),
        pytest.param(state_of(TREE, "2 2.1", satisfied="2 2.1"), ("1",), id="the order of roots, not of progress"),
        pytest.param(state_of(TREE, "1 1.1 1.1.1 1.2 2 2.1"), (), id="all discovered: no focus"),
    ],
)
def test_focus_is_the_first_root_with_something_to_discover(state: IntentState, shown: tuple[str, ...]) -> None:
    assert focus(TREE, state, PAPER) == shown
    assert finished(TREE, state, PAPER) == (None if shown else "all_discovered")


def visited(state: IntentState, engaged: str, rules: Rules = PAPER) -> list[str]:
    """Ids that a judge who finds `engaged` met is asked about, in order."""

    def decide(intent: Intent) -> Verdict:
        return Verdict(intent.id, intent.id in engaged.split())

    return [verdict.intent_id for verdict in walk(TREE, state, rules, decide)]


@pytest.mark.parametrize(
    ("state", "engaged", "asked"),
    [
        pytest.param(state_of(TREE), "", "1", id="stops under an undiscovered intent not engaged"),
        pytest.param(state_of(TREE), "1", "1 1.1 1.2", id="goes on under an engaged one"),
        pytest.param(state_of(TREE), "1 1.1", "1 1.1 1.1.1 1.2", id="depth first"),
        pytest.param(state_of(TREE), "1.1 2", "1", id="nothing below an intent that stopped it"),
        pytest.param(state_of(TREE, "1"), "", "1 1.1 1.2", id="goes on under a discovered one, engaged or not"),
        pytest.param(state_of(TREE, "1", satisfied="1"), "", "1.1 1.2", id="a satisfied one is not asked again"),
        pytest.param(state_of(TREE, "1", "1.1"), "", "1 1.1 1.2", id="stops under an emerging one"),
        pytest.param(state_of(TREE, "1 1.1 1.1.1 1.2 2"), "", "2 2.1 1 1.1 1.1.1 1.2", id="what was left unsatisfied"),
        pytest.param(state_of(TREE, "1 2"), "", "1 1.1 1.2 2", id="discovered outside the focus, not below it"),
        pytest.param(state_of(TREE, "1 2", satisfied="2"), "2.1", "1 1.1 1.2", id="outside and satisfied: not asked"),
        pytest.param(state_of(TREE, "1 1.1 1.1.1 1.2 2 2.1", satisfied="1 2"), "", "1.1 1.1.1 1.2 2.1", id="no focus"),
    ],
)
def test_walk(state: IntentState, engaged: str, asked: str) -> None:
    assert visited(state, engaged) == asked.split()


def test_walk_within_the_focus_only() -> None:
    rules = PAPER.replace(satisfaction_scope="focus")
    assert visited(state_of(TREE, "1 2"), "", rules) == ["1", "1.1", "1.2"]
    assert visited(state_of(TREE, "1 1.1 1.1.1 1.2 2"), "", rules) == ["2", "2.1"]


def test_a_question_that_the_focus_left_behind_can_still_be_satisfied() -> None:
    before = state_of(TREE, "1 1.1 1.1.1 1.2 2", satisfied="1 1.1 1.1.1 2")  # 1.2 was only asked about

    def decide(intent: Intent) -> Verdict:
        return Verdict(intent.id, intent.id == "1.2")

    for scope, satisfied in (("discovered", True), ("focus", False)):
        rules = PAPER.replace(satisfaction_scope=scope)
        after = step(Evaluation("artifact", walk(TREE, before, rules, decide)), before, rules)
        assert ("1.2" in after.satisfied) is satisfied


def test_transitions_stand_in_the_order_of_the_tree_a_branch_before_the_next() -> None:
    verdicts = tuple(Verdict(intent_id, True) for intent_id in ("1.2", "1.1.1", "1.1", "1"))
    _, transitions = advance(TREE, initial_state(TREE), Evaluation("artifact", verdicts), PAPER)
    assert [each.intent_id for each in transitions] == ["1", "1.1", "1.1.1", "1.2"]
