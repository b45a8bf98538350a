"""`Rules.authors()`: each point in which the authors' released code differs from the paper."""

import pytest
from scripted import EchoVoice, ScriptedJudge, artifact, forest, question, state_of

from discover_lib import Discovery, Evaluation, IntentState, Rules, UserSimulator, Verdict, reward, user_view
from discover_lib.core.advance import advance, finished, focus, initial_state, walk
from discover_lib.core.intents import Intent

AUTHORS = Rules.authors()
PAIR = (0.6, 0.3)
TREE = forest("1 1.1 1.1.1 1.2 2 2.1 3")


def state(discovered: str = "", emerging: str = "", satisfied: str = "") -> IntentState:
    """What is satisfied is also discovered."""
    return state_of(TREE, f"{discovered} {satisfied}", emerging, satisfied, theta=PAIR)


def moved(before: IntentState, evaluation: Evaluation) -> str:
    """Ids that the reply touched in any way, θ included."""
    return " ".join(each.intent_id for each in advance(TREE, before, evaluation, AUTHORS)[1])


ALL_BUT_1_2 = state("1.1", satisfied="1 1.1.1")  # of root 1 only the leaf 1.2 is not satisfied


@pytest.mark.parametrize(
    ("before", "evaluation", "counted"),
    [
        pytest.param(state(), artifact("1"), "1", id="a root of the focus counts"),
        pytest.param(state(), artifact("1", "1.1", "1.1.1"), "1 1.1 1.1.1", id="a cascade of passes, any depth"),
        pytest.param(state(), artifact("1", "1.1.1"), "1", id="a gap in the cascade ends it"),
        pytest.param(state("1"), artifact("1.1"), "", id="a discovered parent alone opens nothing"),
        pytest.param(state("1"), question("1", "1.1"), "1.1", id="a discovered parent opens by passing again"),
        pytest.param(state(satisfied="1"), artifact("1.1"), "1.1", id="a satisfied parent is done: it opens"),
        pytest.param(state("1 1.1 1.2"), artifact("1.2"), "1.2", id="discovered with all children discovered is done"),
        pytest.param(state("1 1.1 1.2"), artifact("1"), "", id="what is done is asked about no more"),
        pytest.param(state("1 1.1"), artifact("1.1"), "", id="one child still hidden: the parent is not done"),
        pytest.param(state("1 1.1 1.2"), artifact("1.1.1"), "", id="each level asks for its own parent"),
        pytest.param(state(emerging="1"), artifact("1.1", n1=4), "1", id="moving by near misses is not passing"),
        pytest.param(state(), artifact(n1=1, n1_1=4), "1", id="near misses below a parent that did not pass are lost"),
        pytest.param(state(), artifact("1", n1_1=1), "1 1.1", id="near misses below a parent that passed count"),
        pytest.param(state(), artifact("2", "2.1"), "", id="the next root waits"),
        pytest.param(state(), artifact("1", n2=4), "1", id="even its near misses are thrown away"),
        pytest.param(ALL_BUT_1_2, question("1.2", "2"), "1.2", id="a probe completes nothing"),
        pytest.param(ALL_BUT_1_2, artifact("1.2", "2", "2.1"), "1.2 2 2.1", id="root completed: the next counts"),
        pytest.param(ALL_BUT_1_2, artifact("1.2", n2=1), "1.2 2", id="and so do its near misses"),
        pytest.param(ALL_BUT_1_2, artifact("1.2", "2", "2.1", "3"), "1.2 2 2.1", id="the one after never counts"),
    ],
)
def test_a_verdict_counts_under_a_parent_that_passed_now_or_is_done(before, evaluation, counted: str) -> None:
    assert moved(before, evaluation) == counted


# -- thresholds --------------------------------------------------------------------------------------------------------


def test_two_thresholds_each_used_once() -> None:
    now, seen = state(), []
    for _ in range(6):
        now = advance(TREE, now, artifact(n1=1), AUTHORS)[0]
        seen.append((now["1"].level, tuple(round(each, 6) for each in now.thresholds["1"])))
    # 0.25 a reply against 0.6, then against 0.3
    assert seen == [(0, (0.35, 0.3)), (0, (0.1, 0.3)), (0.5, (0.3,)), (0.5, (0.05,)), (1, ()), (1, ())]


@pytest.mark.parametrize(("misses", "level"), [(1, 0), (2, 0.5), (3, 0.5), (9, 0.5)])
def test_a_score_equal_to_the_threshold_crosses_it_and_a_reply_moves_one_step(misses: int, level: float) -> None:
    before = state_of(TREE, theta=(0.5, 0.0))
    assert advance(TREE, before, artifact(n1=misses), AUTHORS)[0]["1"].level == level


def test_the_list_of_near_misses_is_counted_as_it_comes() -> None:
    evaluation = Evaluation("artifact", [Verdict("1", False, ("a dog", "a dog"))])
    assert advance(TREE, state(), evaluation, AUTHORS)[0].thresholds["1"] == pytest.approx((0.1, 0.3))


def test_passing_leaves_no_thresholds() -> None:
    assert advance(TREE, state(), question("1"), AUTHORS)[0].thresholds["1"] == ()


def test_two_draws_for_each_intent_and_none_left_for_what_starts_discovered() -> None:
    start = initial_state(forest("1 1.1 2", "2"), AUTHORS, seed=4)
    assert start.thresholds["2"] == ()
    first, second = start.thresholds["1.1"]
    assert first != second and 0 <= first < 1 and 0 <= second < 1


@pytest.mark.parametrize("pair", [(0.4, 0.5), [0.4, 0.5]], ids=["tuple", "list"])
def test_a_pair_of_thresholds_can_be_given(pair: tuple | list) -> None:
    assert initial_state(TREE, AUTHORS, thresholds={"1": pair}).thresholds["1"] == (0.4, 0.5)
    by_hand = IntentState({}, thresholds={"1": pair})
    assert advance(TREE, by_hand, artifact(n1=2), AUTHORS)[0].thresholds["1"] == (0.5,)


@pytest.mark.parametrize(
    ("now", "shown", "end"),
    [
        pytest.param(state(), ("1", "2"), None, id="the current root and the next"),
        pytest.param(state("1 1.1 1.1.1 1.2"), ("1", "2"), None, id="discovered is not enough to move on"),
        pytest.param(state(satisfied="1.1.1 1.2"), ("2", "3"), None, id="satisfied leaves are"),
        pytest.param(state(satisfied="1.1.1 1.2 2.1"), ("3",), None, id="the last root stands alone"),
        pytest.param(state(satisfied="1.1.1 1.2 2.1 3"), (), "all_satisfied", id="every leaf satisfied"),
        pytest.param(state("1 1.1 1.1.1 1.2 2 2.1 3"), ("1", "2"), None, id="all discovered is not the end"),
    ],
)
def test_focus_is_the_first_root_with_an_unsatisfied_leaf(now: IntentState, shown: tuple, end: str | None) -> None:
    assert focus(TREE, now, AUTHORS) == shown
    assert finished(TREE, now, AUTHORS) == end


@pytest.mark.parametrize(
    ("now", "engaged", "asked"),
    [
        pytest.param(state(), "", "1 2", id="both roots, nothing below a failed one"),
        pytest.param(state("1"), "", "1 2", id="a discovered one must pass again"),
        pytest.param(state("1"), "1 1.1", "1 1.1 1.1.1 1.2 2", id="below each that passes"),
        pytest.param(state(satisfied="1"), "", "1.1 1.2 2", id="a satisfied one is left out, its children move up"),
        pytest.param(state("1 1.1 1.2"), "", "1.1 1.2 2", id="so is one with all its children discovered"),
        pytest.param(state("3"), "", "1 2", id="no look outside the focus"),
    ],
)
def test_walk(now: IntentState, engaged: str, asked: str) -> None:
    def decide(intent: Intent) -> Verdict:
        return Verdict(intent.id, intent.id in engaged.split())

    assert [verdict.intent_id for verdict in walk(TREE, now, AUTHORS, decide)] == asked.split()


@pytest.mark.parametrize(
    ("now", "achieved"),
    [
        pytest.param(state(satisfied="1 1.2"), "1 1.2", id="a parent with an unsatisfied child, and a leaf"),
        pytest.param(state(satisfied="1 1.1 1.2"), "1.1 1.2", id="not a parent whose children are all satisfied"),
        pytest.param(state(satisfied="1 2 2.1"), "1", id="only roots up to the current one"),
    ],
)
def test_achieved(now: IntentState, achieved: str) -> None:
    assert user_view(TREE, now, AUTHORS).achieved == tuple(achieved.split())


@pytest.mark.parametrize(
    ("now", "pursuing", "items"),
    [
        pytest.param(state("1 1.1", "1.2"), "clear", "1 1.1", id="clear: discovered and unsatisfied"),
        pytest.param(state("1 1.1 1.2"), "clear", "1.1 1.2", id="clear leaves out what is done"),
        pytest.param(state("2", "1"), "fuzzy", "1", id="roots after the current one are not pursued yet"),
        pytest.param(state(), "latent", "1 1.1.1 1.2", id="latent: the highest undiscovered and the leaves"),
        pytest.param(state(satisfied="1"), "latent", "1.1 1.1.1 1.2", id="latent below what is satisfied"),
    ],
)
def test_pursued(now: IntentState, pursuing: str, items: str) -> None:
    view = user_view(TREE, now, AUTHORS)
    assert (view.pursuing, view.items) == (pursuing, tuple(items.split()))


# -- reward and ties ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "shares"),
    [
        pytest.param(state(), state(emerging="1"), {"1": 0.5}, id="emerging counts half"),
        pytest.param(state(emerging="1"), state("1"), {"1": 0.5}, id="the other half when it is discovered"),
        pytest.param(state(), state("1"), {"1": 1.0}, id="one in a single step"),
        pytest.param(state("1"), state(satisfied="1"), {}, id="satisfying what is discovered earns nothing"),
        pytest.param(state("1 1.1"), state("1 1.1 1.1.1"), {"1.1.1": 1.0}, id="no roll-up where the parent counts"),
        pytest.param(state("1.1", "1"), state("1.1 1.2", "1"), {"1": 0.5, "1.2": 1.0}, id="1 with its children"),
        pytest.param(state(), state("2.1"), {"2": 1.0, "2.1": 1.0}, id="even one that stays undiscovered itself"),
        pytest.param(state("1.2"), state("1.1.1 1.2"), {"1": 1.0, "1.1": 1.0, "1.1.1": 1.0}, id="level by level"),
    ],
)
def test_the_reward_is_the_change_of_level(before: IntentState, after: IntentState, shares: dict) -> None:
    found = reward(TREE, before, after, n_tokens=0, rules=AUTHORS)
    assert found.shares == shares
    assert found.total == found.discovered == sum(shares.values())


@pytest.mark.parametrize(
    ("found", "chosen"),
    [
        pytest.param("1 1 1", 2, id="all equal: the last"),
        pytest.param("0 1 1", 1, id="a tie at the top: the first of it"),
        pytest.param("1 0 1", 0, id="a tie at the top with one below"),
        pytest.param("0 0 1", 2, id="no tie: the highest"),
    ],
)
def test_the_chosen_one_on_a_tie(found: str, chosen: int) -> None:
    judge = ScriptedJudge({"0": question(), "1": question("1")})
    simulator = UserSimulator(TREE, judge, EchoVoice(), rules=AUTHORS)
    assert simulator.step(found.split()).chosen == chosen


def test_a_crossing_of_near_misses_is_reported_with_the_threshold_that_is_next() -> None:
    (transition,) = advance(TREE, state_of(TREE, theta=(0.2, 0.7)), artifact(n1=1), AUTHORS)[1]
    assert (transition.before, transition.after) == (Discovery.UNDISCOVERED, Discovery.EMERGING)
    assert (transition.score, transition.theta, transition.theta_left) == (0.25, 0.2, 0.7)
