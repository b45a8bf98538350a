"""Scoring again: at the run's own settings as recorded, under others as worked out by hand."""

import dataclasses
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import scripted
from hypothesis import given
from hypothesis import strategies as st
from scripted import EchoVoice, ScriptedAssistant, ScriptedJudge, artifact, forest, question

from discover_lib import Conversation, Evaluation, IntentTree, Reply, Rules, UserSimulator
from discover_lib.core.rollout import run_conversation
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.metrics import rescore
from discover_lib.metrics.rescore import RescoreError, Setting, change_lines, replayed, sensitivity
from discover_lib.metrics.scores import ConversationScores, scores_of
from discover_lib.runs.units import plan_units, run_unit

PAPER = Rules.paper()


def talk(tree: IntentTree, *evaluated: Evaluation, rules: Rules = PAPER, theta: float = 0.4, tokens: int = 10):
    """A conversation whose turns were judged so."""
    replies = [f"reply {n}" for n in range(len(evaluated))]
    judge = ScriptedJudge(dict(zip(replies, evaluated, strict=True)))
    thresholds = dict.fromkeys(tree.intents, theta)
    setting = {"domain": "", "artifact": "art", "trial": 0, "assistants": ["scripted"]}
    simulator = UserSimulator(tree, judge, EchoVoice(), rules=rules, thresholds=thresholds, setting=setting)
    assistant = ScriptedAssistant("scripted", *replies)
    while simulator.conversation.stop is None and len(simulator.conversation.turns) < len(evaluated):
        simulator.step(assistant.reply(simulator.messages, 0))
    return simulator.conversation


def under(conversation: Conversation, **changes) -> ConversationScores:
    """Scores of a conversation under a setting."""
    setting = Setting("", "", **({"rules": PAPER} | changes))
    return rescore.rescored(scores_of(conversation, 0), replayed(conversation, setting.rules), setting)


# One root with a child; two near misses of the root, then the root and a near miss of the child.
NEAR = talk(forest("1 1.1"), artifact(n1=2), artifact("1", n1_1=1))


LONG = talk(forest("1 1.1 2"), artifact("1", "1.1"), artifact("2"), tokens=10)


@pytest.mark.parametrize(
    ("made", "changes", "expected"),
    [
        (NEAR, {"rules": PAPER.replace(p=0.0)}, {"moves": {"1": (2, 2), "1.1": (0, 0)}}),  # near misses count nothing
        (NEAR, {"rules": PAPER.replace(p=0.25)}, {"moves": {"1": (1, 2), "1.1": (0, 0)}}),  # 2 × 0.25 > 0.4 > 0.25
        (NEAR, {"rules": PAPER.replace(p=0.5)}, {"moves": {"1": (1, 2), "1.1": (2, 0)}}),  # 0.5 > 0.4, the child too
        (NEAR, {"turns": 1}, {"moves": {"1": (1, 0), "1.1": (0, 0)}}),
        (LONG, {"rules": PAPER.replace(lam=1e-3, tau=250)}, {"rewards": (2.0, 1.0)}),  # 10 tokens are free
        (LONG, {"rules": PAPER.replace(lam=0.1, tau=5)}, {"rewards": (1.5, 0.5)}),  # 5 tokens too many at 0.1
        (LONG, {"rules": PAPER.replace(lam=10.0, tau=0)}, {"rewards": (1.0, 0.0)}),  # at most 1 is charged
        (LONG, {"turns": 1}, {"moves": {"1": (1, 1), "1.1": (1, 1), "2": (0, 0)}, "tokens": (10,)}),
    ],
)
def test_other_settings_as_worked_out_by_hand(made: Conversation, changes: dict, expected: dict) -> None:
    scores = under(made, **changes)
    assert {name: getattr(scores, name) for name in expected} == expected


@pytest.mark.parametrize(("emerging", "share"), [(0.0, 0.0), (0.5, 0.25), (1.0, 0.5)])
def test_the_weight_of_what_is_emerging(emerging: float, share: float) -> None:
    assert under(NEAR, turns=1).proportion(emerging=emerging) == share


def test_a_repeated_near_miss_counts_once_if_asked() -> None:
    twice = talk(forest("1"), artifact(n1=1), artifact(n1=1))  # "other 0" both times: 0.25, then 0.25 again > 0.15 left
    assert under(twice).moves == {"1": (2, 0)}
    assert under(twice, rules=PAPER.replace(near_misses="per_conversation")).moves == {"1": (0, 0)}


def test_intents_that_other_rules_would_have_shown_are_counted_and_not_guessed() -> None:
    # Paper: root 1 is asked in turn 1; then 2, and 1 for its satisfaction.  Authors: the judge sees 1 and 2 throughout.
    asked = talk(forest("1 2"), question("1"), artifact("2", n1=0))
    assert (replayed(asked, PAPER).asked, replayed(asked, PAPER).unjudged) == (3, 0)
    course = replayed(asked, Rules.authors())
    assert (course.asked, course.unjudged) == (4, 1)  # 1 and 2 in both turns; 2 was not judged in the first


def test_a_replay_ends_where_its_own_rules_end_the_conversation() -> None:
    near = talk(forest("1"), artifact(n1=2), artifact(n1=2), artifact("1"), theta=0.6)  # 0.5, 1.0 > 0.1 left, met
    assert len(near.turns) == 3
    sooner = replayed(near, PAPER.replace(p=0.5))  # 1.0 > 0.6 twice: discovered after two turns
    assert (sooner.moves, sooner.tokens) == ({"1": (1, 2)}, (10, 10))


@pytest.mark.slow
@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.floats(0.05, 0.95), st.tuples(*[st.floats(0, 1)] * 2))
@scripted.modest
def test_a_higher_weight_never_discovers_later(misses: list[int], theta: float, weights: tuple[float, float]) -> None:
    tree = forest("1")
    made = talk(tree, *(artifact(n1=count) for count in misses), rules=PAPER.replace(p=0.0), theta=theta)
    low, high = (replayed(made, PAPER.replace(p=each)).moves["1"] for each in sorted(weights))
    assert all(then == 0 or 0 < sooner <= then for sooner, then in zip(high, low, strict=True))


@pytest.mark.slow
@given(st.data())
@scripted.modest
def test_replaying_at_other_rules_never_loses_an_intent_or_a_turn(data: st.DataObject) -> None:
    tree = data.draw(scripted.trees())
    made = talk(tree, *data.draw(st.lists(scripted.evaluations(tree), min_size=1, max_size=3)))
    course = replayed(made, data.draw(scripted.RULES))
    assert set(course.moves) == set(tree.intents) - made.start.discovered
    assert len(course.tokens) == len(course.discovered) <= len(made.turns)
    assert 0 <= course.unjudged <= course.asked
    assert all(0 <= emerged <= found or found == 0 for emerged, found in course.moves.values())


# -- whole runs -----------------------------------------------------------------------------------------------------


def run(rules: Rules, artifacts: int = 3) -> list[tuple[int, Conversation]]:
    builder = engine("technical_writing").builder
    made = generate_artifacts("technical_writing", "eval", artifacts)
    known = {each.id: ("technical_writing", builder.build(each).tree) for each in made}
    units = plan_units(known, ("draft", "ask", "adaptive", "mixed"), trials=2, turns=5, rules=rules, seed=0)
    return list(enumerate(map(run_unit, units)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules", [PAPER, Rules.authors(), PAPER.replace(near_misses="per_conversation", p=0.4)], ids=lambda each: each.name
)
def test_at_its_own_settings_every_conversation_scores_as_recorded(rules: Rules) -> None:
    found = sensitivity(run(rules), rules, [Setting("same", "", rules)])
    assert found.unequal == () and found.recheck.startswith("24 of 24")
    assert change_lines(found.outcomes[0]) == ["no conclusion changes"]
    assert found.outcomes[0].unjudged == 0


def test_a_record_that_was_tampered_with_is_noticed() -> None:
    (place, first), *rest = run(PAPER, artifacts=1)
    turn = first.turns[0]
    priced = dataclasses.replace(turn.candidate.reward, discovered=99.0)
    changed = dataclasses.replace(turn, candidates=(dataclasses.replace(turn.candidate, reward=priced),))
    broken = dataclasses.replace(first, turns=(changed, *first.turns[1:]))
    assert sensitivity([(place, broken), *rest], PAPER, []).unequal == (place,)


def test_a_map_names_the_conclusions_that_flip() -> None:
    """a finds 2 intents with 400 tokens, b finds 1 with 10: a is worth more, unless 150 tokens too many cost 1."""
    tree = forest("1 1.1 1.2")

    def conversations() -> list[tuple[int, Conversation]]:
        found = []
        for n in range(8):
            for name, text, count in (("a", "both", 400), ("b", "one", 10)):
                judge = ScriptedJudge({"both": artifact("1", "1.1", n1_2=0), "one": artifact("1", n1_1=0, n1_2=0)})
                setting = {"domain": "", "artifact": f"art {n}", "trial": 0, "assistants": [name]}
                speaker = SimpleNamespace(name=name, reply=Mock(return_value=Reply(text, count, "scripted", name)))
                talked = run_conversation(tree, judge, EchoVoice(), [speaker], turns=1, setting=setting)
                found.append((len(found), talked))
        return found

    dear = PAPER.replace(lam=0.01)
    found = sensitivity(conversations(), PAPER, [Setting("λ", "10 ×", dear), Setting("λ", "0", PAPER.replace(lam=0.0))])
    assert {each.conclusion for each in found.base["reward"]} == {1}  # 2 − 0.15 against 1
    flipped, same = found.outcomes
    assert flipped.means["reward"] == {"a": 1.0, "b": 1.0}  # 2 − min(1.5, 1) = 1
    assert flipped.changes["reward"] == {("a", "b"): "lost"}
    assert change_lines(flipped) == ["reward: a–b lost"]
    assert change_lines(same) == ["no conclusion changes"]


@pytest.mark.parametrize("rules", [PAPER, Rules.authors()], ids=["paper", "authors"])
def test_a_map_tries_one_point_at_a_time(rules: Rules) -> None:
    tried = rescore.settings_around(rules, 5)
    assert len({(each.axis, each.value) for each in tried}) == len(tried)
    assert {each.axis for each in tried} >= {"p", "λ", "τ", "focus", "rules", "emerging counts", "turns"}
    assert all(each != Setting(each.axis, each.value, rules) for each in tried)  # each differs from the run's own
    assert [each.turns for each in tried if each.axis == "turns"] == [1, 2, 3, 4]


def test_what_cannot_be_scored_again_is_an_error() -> None:
    (turn, *_) = LONG.turns
    bare = dataclasses.replace(turn, candidates=(dataclasses.replace(turn.candidate, evaluation=None),))
    with pytest.raises(RescoreError, match="turn 1 has no recorded verdicts"):
        sensitivity([(0, dataclasses.replace(LONG, turns=(bare,)))], PAPER)
    with pytest.raises(RescoreError, match="no finished conversation"):
        sensitivity([], PAPER)
