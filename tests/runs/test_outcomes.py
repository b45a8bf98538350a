"""One line says how the answers of a run came about, also after it was interrupted."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from command_line import discover
from llm_brain import answer
from llm_contrary import Contrary, Given
from llm_server import FakeServer

from discover_lib.engines.llm.calls.exchange import Answered, Completion, Request
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, caveats, lay_out
from discover_lib.runs.outcomes import Outcomes, closing_lines
from discover_lib.runs.store import RunStore, turn_row

DOMAIN = "technical_writing"
MODEL = f"openai/miniature:{DOMAIN}"


def strays(given: Given) -> str:
    """Every judgement has an entry for an intent that there is not."""
    if given.task != "response_evaluation":
        return given.text
    data = given.data
    data["intents"].append({"id": "9.9", "reason": "a habit", "engaged": False, "near_misses": []})
    return json.dumps(data)


def forget(store: RunStore) -> None:
    """Take out the turns of the first conversation, to put others in their place."""
    with store.together():
        for table in ("turns", "digests"):
            store._database.execute(f"DELETE FROM {table} WHERE place = 0")


def test_the_line_leaves_out_what_is_nothing() -> None:
    answers = {
        "judge": {"clean": 20, "tidied": 3, "reasked": 2},
        "voice": {"clean": 11, "repaired": 2, "reasked": 1},
        "satisfaction": {"reasked": 1},
    }
    seen = {"contradicted": 1, "cut": 1, "stray ids": 3, "between steps": 1}
    assert Outcomes(answers, seen, unscored=2).line == (
        "answers: 31 clean, 2 repaired, 3 tidied, 4 asked again (judge 2, voice 1, satisfaction 1); 1 contradicted, "
        "1 cut, 3 stray ids left out, 1 score between two steps kept, 2 unscored"
    )
    assert Outcomes({"voice": {"clean": 1}}).line == "answers: 1 clean"
    assert Outcomes({"voice": {"failed": 1}}).line == "answers: 1 no better when asked again (voice 1)"
    assert Outcomes().line == ""


def test_an_answer_whose_content_was_mended_is_not_clean_and_counts_once(tmp_path: Path) -> None:
    with RunStore.write(tmp_path, {"rules": {}}) as store:
        store.calls.put_answer(Answered("one", "judge", "tidied", {"stray ids": 2, "contradicted": 1}))
        store.calls.put_answer(Answered("two", "judge", "tidied", {"stray ids": 1}))
        store.calls.put_answer(Answered("three", "judge", "reasked", {"stray ids": 1}))
        store.calls.put_answer(Answered("four", "judge", "clean", {"cut": 1}))
    with RunStore.read(tmp_path) as store:
        assert Outcomes.of_run(store).line == (
            "answers: 1 clean, 2 tidied, 1 asked again (judge 1); 1 contradicted, 1 cut, 4 stray ids left out"
        )


def test_an_answer_that_is_asked_for_anew_stays_counted(tmp_path: Path) -> None:
    request = Request("openai/m", ({"role": "user", "content": "?"},), "judge")
    with RunStore.write(tmp_path, {"rules": {}}) as store:
        store.calls.put(request.key, request, Completion("nonsense"))
        store.calls.put_answer(Answered(request.key, "judge", "failed"))
        store.calls.put_answers()
        store.calls.forget_answers(["nonsense"])
        assert store.calls.get(request.key) is None and store.calls.times_unusable(request.key) == 1
        store.calls.put(request.key, request, Completion("{}"))
        store.calls.put_answer(Answered(request.key, "judge", "clean"))
    with RunStore.read(tmp_path) as store:
        assert store.calls.answers()[0] == {("judge", "failed"): 1, ("judge", "clean"): 1}


@pytest.mark.slow
def test_an_evaluation_says_after_scoring_what_all_of_it_took(tmp_path: Path) -> None:
    with FakeServer(brain=Contrary(habits=(strays,))) as server:
        arguments = ["evaluate", "--assistant", "draft", "--domain", DOMAIN, "--engine", MODEL, "--artifacts", 1]
        arguments += ["--trials", 1, "--turns", 3, "--api-base", server.api_base, "--run", tmp_path]
        done = discover(*arguments)
        asked = server.counts["requests"]
        with RunStore.read(tmp_path) as store:
            lines = closing_lines(store)
            assert store.calls.spent().calls == asked
            purposes = {purpose for purpose, _ in store.calls.answers()[0]}
            assert purposes >= {"judge", "voice", "satisfaction", "interactivity"}
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-2:] == lines and f"{asked} calls" in lines[0]
        judged = server.brain.counts["strays"]
        assert lines[1] == f"answers: {asked - judged} clean, {judged} tidied; {judged} stray ids left out"
        again = discover(*arguments)
        assert again.stdout.splitlines()[-2:] == lines, "a run that goes on tells of its earlier sessions"
        assert server.counts["requests"] == asked


# -- exit codes ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_budget_for_a_model_of_unknown_price_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with FakeServer(brain=answer) as server:
        how = ["--engine", MODEL, "--api-base", server.api_base, "--budget", 1]
        shared = ["--assistant", "draft", "--domain", DOMAIN, "--run", tmp_path / "run"]
        artifact = tmp_path / "a.md"
        artifact.write_text("A piece.", encoding="utf-8")
        for command in (
            ["simulate", *shared],
            ["evaluate", *shared],
            ["build", artifact, "--type", "poem", "--out", tmp_path],
        ):
            refused = discover(*command, *how)
            assert refused.returncode == 2 and refused.stderr.count("\n") == 1, refused.stderr
            assert f"the price of {MODEL} is not known" in refused.stderr and "--prices" in refused.stderr
        assert not server.counts["requests"] and not (tmp_path / "run").exists()


@pytest.mark.slow
def test_an_alarm_and_a_missing_certificate_are_told_apart(tmp_path: Path) -> None:
    # Under rules that no certificate comes with.
    asked = ("simulate", "--assistant", "draft", "--domain", DOMAIN, "--artifacts", 1, "--near-miss-cap", 2)
    discover(*asked, "--run", tmp_path)
    uncertified = discover("audit", tmp_path)
    assert uncertified.returncode == 1 and "Not validated" in uncertified.stdout
    with RunStore.read(tmp_path) as store:
        configuration, talk = store.configuration, store.conversation(0)
    first = talk.turns[0]
    hidden = next(key for key in talk.tree.intents if key not in first.after.discovered)
    leaking = dataclasses.replace(first, user_message=f"I want this: {talk.tree.text(hidden)}")
    with RunStore.write(tmp_path, configuration) as store:
        forget(store)
        store.put_turns(0, [turn_row(each) for each in (leaking, *talk.turns[1:])], talk.stop)
    alarmed = discover("audit", tmp_path)
    assert alarmed.returncode == 5 and "alarm" in alarmed.stdout


# -- what is said before anything is spent -----------------------------------------------------------------------------


def test_what_a_run_cannot_find_out_is_said_before_it_costs(tmp_path: Path) -> None:
    (tmp_path / "trees").mkdir()
    root = {"id": "1", "text": "Has a canopy", "children": [{"id": "1.1", "text": "Has eight ribs", "children": []}]}
    tree = {"artifact_type": "svg drawing", "topic": "umbrella", "initial_request": "an umbrella, please"}
    tree |= {"initially_discovered": [], "roots": [root]}
    (tmp_path / "trees" / "umbrella.json").write_text(json.dumps(tree), "utf-8")
    options = RunOptions(("adaptive",), trees=tmp_path / "trees", engine="openai/any", artifacts=1, trials=1)
    scripted, alone = caveats(lay_out_evaluation(options))[::-1]
    assert scripted.startswith("2 of 2 hidden intents use words that adaptive do not know")
    assert alone.startswith("eq. 4 compares assistants")
    assert caveats(lay_out(dataclasses.replace(options, assistants=("openai/any",)))) == []


def test_artifacts_that_stand_twice_are_told_before_anything_runs() -> None:
    run = lay_out(RunOptions(("draft",), domain="svg_drawing", artifacts=3))
    assert caveats(run) == []
    first = next(iter(run.trees.values()))
    (told,) = caveats(dataclasses.replace(run, trees=dict.fromkeys(run.trees, first)))
    assert told.startswith("only 1 of the 3 artifacts differ, and intervals count each as independent")
