"""The names and calls that notebooks, users and outside checks build on, used as they are promised; and docstrings."""

import doctest
import importlib

import pytest
from scripted import EchoVoice, ScriptedJudge

import discover_lib
from discover_lib import (
    Discovery,
    Evaluation,
    IntentState,
    IntentTree,
    Rules,
    UserSimulator,
    Verdict,
    advance,
    discovery_scores,
    focus,
    initial_state,
    reward,
    user_view,
)

TREE = {
    "artifact_type": "short story",
    "topic": "harbour",
    "initial_request": "write me a story",
    "initially_discovered": ["1"],
    "roots": [{"id": "1", "text": "has an animal", "children": [{"id": "1.1", "text": "has a cat", "children": []}]}],
}


@pytest.mark.parametrize("name", discover_lib.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(discover_lib, name).__doc__


def test_the_calls_run_as_they_are_promised() -> None:
    rules = Rules.paper()
    tree = IntentTree.from_dict(TREE)

    state = initial_state(tree, rules=Rules.paper(), seed=0, thresholds={"1.1": 0.4})
    assert state.thresholds["1.1"] == 0.4

    state = IntentState(
        discovery={"1": Discovery.DISCOVERED, "1.1": Discovery.UNDISCOVERED},
        satisfied=frozenset({"1"}),
        thresholds={"1": 0.9, "1.1": 0.4},
    )
    before = state
    ev = Evaluation(
        kind="artifact", verdicts=[Verdict("1.1", engaged=False, near_misses=("a", "b"), reason="a dog and a hen")]
    )
    state, transitions = advance(tree, state, ev, rules)
    assert state.discovery["1.1"] is Discovery.EMERGING  # 2 · 0.25 > 0.4
    assert state.satisfied == {"1"}
    assert state.thresholds["1.1"] == 0.4  # as at the start
    assert [each.intent_id for each in transitions] == ["1.1"]

    assert focus(tree, state, rules) == ("1",)
    view = user_view(tree, state, rules)
    assert (view.achieved, view.pursuing, view.items) == (("1",), "fuzzy", ("1.1",))

    found = reward(tree, before, state, n_tokens=300, rules=rules)
    assert (found.discovered, found.penalty, found.total) == (0, pytest.approx(-0.05), pytest.approx(-0.05))

    assert discovery_scores({"one": {"art": {"1.1": 1}}, "two": {"art": {"1.1": 0.5}}})["one"]["art"] == 1

    judge, voice = ScriptedJudge({"assistant reply": ev}), EchoVoice()
    simulator = UserSimulator(tree, judge, voice, rules=rules, seed=0)
    turn = simulator.step("assistant reply")
    assert turn.index == 1
    assert turn.user_message == simulator.messages[-1].content


def test_the_miniature_keeps_the_name_that_scripts_import_it_by():
    import discover_lib.miniature as old
    from discover_lib.miniature.artifacts import generate_artifact as same

    from discover_lib.engines import miniature as new
    from discover_lib.engines.miniature.artifacts import generate_artifact

    assert old is new and same is generate_artifact
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import discover_lib.miniature.no_such_module  # noqa: F401


@pytest.mark.parametrize(
    "module", ["base.records", "core.advance", "core.intents", "core.reward", "core.view", "metrics.discovery"]
)
def test_examples(module: str) -> None:
    results = doctest.testmod(importlib.import_module(f"discover_lib.{module}"))
    assert results.attempted and not results.failed
