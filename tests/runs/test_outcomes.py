"""The answers of a run: outcomes, failures and unchecked messages, also after an interruption."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llm_brain
import pytest
from command_line import discover
from llm_brain import answer
from llm_contrary import Contrary, Given
from llm_server import FakeServer

from discover_lib.core.view import leaked_words
from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.engines.llm.prompting import BY_CHOICE
from discover_lib.metrics.satisfaction import FINAL_REQUESTS
from discover_lib.metrics.scores import scores_of
from discover_lib.metrics.summary import summarise
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, RunOptionsError, caveats, execute, lay_out
from discover_lib.runs.outcomes import Outcomes, closing_lines, failures_of_run
from discover_lib.runs.store import Failure, RunStore, turn_row
from discover_lib.tasks.leaks import audit
from workbench.views import audit_parts

DOMAIN = "technical_writing"
MODEL = f"openai/miniature:{DOMAIN}"


def fences(given: Given) -> str:
    return f"```json\n{given.text}\n```" if given.task == "response_evaluation" else given.text


def test_the_line_leaves_out_what_is_nothing() -> None:
    answers = {"judge": {"clean": 20, "reasked": 2}, "voice": {"clean": 11, "repaired": 2, "reasked": 1}}
    answers["satisfaction"] = {"reasked": 1}
    seen = {"cut": 1, "unchecked": 2}
    assert Outcomes(answers, seen, unscored=2).line == (
        "answers: 31 clean, 2 repaired, 4 asked again (judge 2, voice 1, satisfaction 1); 1 cut, "
        "2 not checked for paraphrases, 2 unscored"
    )
    assert Outcomes({"voice": {"clean": 1}}).line == "answers: 1 clean"
    assert Outcomes({"voice": {"failed": 1}}).line == "answers: 1 no better when asked again (voice 1)"
    assert Outcomes().line == ""


@pytest.mark.slow
def test_an_evaluation_says_after_scoring_what_all_of_it_took(tmp_path: Path) -> None:
    with FakeServer(brain=Contrary(habits=(fences,))) as server:
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
        judged = server.brain.counts["fences"]
        assert lines[1] == f"answers: {asked - judged} clean, {judged} repaired"
        again = discover(*arguments)
        assert again.stdout.splitlines()[-2:] == lines, "a run that goes on tells of its earlier sessions"
        assert server.counts["requests"] == asked


@pytest.mark.slow
def test_a_budget_for_a_model_of_unknown_price_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with FakeServer(brain=answer) as server:
        how = ["--engine", MODEL, "--api-base", server.api_base, "--budget", 1]
        shared = ["--assistant", "draft", "--domain", DOMAIN, "--run", tmp_path / "run"]
        artifact = tmp_path / "a.md"
        artifact.write_text("A piece.", encoding="utf-8")
        built = ["build", artifact, "--type", "poem", "--out", tmp_path]
        for command in (["simulate", *shared], ["evaluate", *shared], built):
            refused = discover(*command, *how)
            assert refused.returncode == 2 and refused.stderr.count("\n") == 1, refused.stderr
            assert f"the price of {MODEL} is not known" in refused.stderr and "--prices" in refused.stderr
        assert not server.counts["requests"] and not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_message_that_says_what_is_hidden_raises_an_alarm(tmp_path: Path) -> None:
    discover("simulate", "--assistant", "draft", "--domain", DOMAIN, "--artifacts", 1, "--run", tmp_path)
    with RunStore.read(tmp_path) as store:
        configuration, talk = store.configuration, store.conversation(0)
    first = talk.turns[0]
    hidden = next(key for key in talk.tree.intents if key not in first.after.discovered)
    leaking = dataclasses.replace(first, user_message=f"I want this: {talk.tree.text(hidden)}")
    with RunStore.write(tmp_path, configuration) as store:
        for table in ("turns", "digests"):
            store._database.execute(f"DELETE FROM {table} WHERE place = 0")
        store.put_turns(0, [turn_row(each) for each in (leaking, *talk.turns[1:])], talk.stop)
    alarmed = discover("audit", tmp_path)
    assert alarmed.returncode == 5 and "1 of 4 user turns reveal" in alarmed.stdout


def test_what_a_run_cannot_find_out_is_said_before_it_costs(tmp_path: Path) -> None:
    (tmp_path / "trees").mkdir()
    root = {"id": "1", "text": "Has a canopy", "children": [{"id": "1.1", "text": "Has eight ribs", "children": []}]}
    tree = {"artifact_type": "svg drawing", "topic": "umbrella", "initial_request": "an umbrella, please"}
    tree |= {"initially_discovered": [], "roots": [root]}
    (tmp_path / "trees" / "umbrella.json").write_text(json.dumps(tree), "utf-8")
    options = RunOptions(("adaptive",), trees=tmp_path / "trees", engine="openai/any", artifacts=1, trials=1)
    scripted, alone = caveats(lay_out_evaluation(options))[::-1]
    assert scripted.startswith("scripted assistants (adaptive) know the miniature's words alone")
    assert alone.startswith("eq. 4 compares assistants")
    assert caveats(lay_out(dataclasses.replace(options, assistants=("openai/any",)))) == []


STORIES = "creative_writing"
TELLER = f"openai/miniature:{STORIES}"
OURS = RunOptions((f"{TELLER}:draft",), engine=TELLER, artifacts=1, turns=2)
CHOSEN = dataclasses.replace(OURS, leak_check="judge", final_request="paper")


def test_a_choice_is_stored_with_the_prompt_that_it_sends() -> None:
    configuration = lay_out_evaluation(CHOSEN, [STORIES]).configuration
    assert configuration["leak_check"] == TELLER
    assert configuration["final_request"] == FINAL_REQUESTS["paper"]
    assert BY_CHOICE & configuration["prompts"].keys() == {"leak_check"}
    styled = lay_out(dataclasses.replace(OURS, assistants=("openai/x+collabllm",), domain=STORIES)).configuration
    assert BY_CHOICE & styled["prompts"].keys() == {"collabllm"}


@pytest.mark.parametrize("changes", [{"voice": "miniature"}, {"leak_check": "nonsense"}])
def test_a_choice_that_means_nothing_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(RunOptionsError, match="a leak check is a language model's"):
        lay_out_evaluation(dataclasses.replace(CHOSEN, **changes), [STORIES])


@pytest.mark.slow
def test_an_evaluation_sends_the_papers_versions_and_checks_messages(tmp_path: Path) -> None:
    sent: list[list[dict[str, Any]]] = []

    def brain(messages: list[dict[str, Any]], body: dict[str, Any]) -> tuple[str, int]:
        sent.append(messages)
        return llm_brain.answer(messages, body)

    with FakeServer(brain) as server:
        settings = ClientSettings(api_base=server.api_base, env_file=None)
        run = lay_out_evaluation(CHOSEN, [STORIES])
        report = execute(run, tmp_path, settings=settings)
        assert report.halted is None and not report.unscored
    tasks = {llm_brain.TASKS.get(str(messages[0]["content"]), "assistant") for messages in sent}
    assert "leak_check" in tasks
    finals = [messages for messages in sent if str(messages[-1]["content"]).endswith(FINAL_REQUESTS["paper"])]
    assert finals and not [each for each in sent if str(each[-1]["content"]).endswith(FINAL_REQUESTS["ours"])]


HIDDEN = "Собеседник рассказчика — моряк"
SAID = "пусть собеседник рассказчика будет моряк"  # the hidden intent, word for word
TREE = {
    "artifact_type": "рассказ",
    "topic": "ночной паром",
    "initial_request": "напиши рассказ про ночной паром",
    "initially_discovered": ["1"],
    "roots": [{"id": "1", "text": "О ночном пароме", "children": [{"id": "1.1", "text": HIDDEN}]}],
}
MISSED = [{"id": key, "reason": "no", "engaged": False, "near_misses": []} for key in ("1", "1.1")]
JUDGED = {"kind_reason": "asks", "kind": "dialogue_act", "intents": MISSED}


def unseeing(messages: Sequence[dict[str, Any]], body: dict[str, Any]) -> tuple[str, int]:
    text = str(messages[0]["content"])
    if "You are the user" in text:
        return json.dumps({"thought": "", "message": SAID}), 20
    if "intents" in text and "near_misses" in text:
        return json.dumps(JUDGED), 20
    return "Какой тон?", 5


@pytest.fixture(scope="module")
def in_russian(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("unread")
    trees = folder / "trees"
    trees.mkdir()
    (trees / "parom.json").write_text(json.dumps(TREE), encoding="utf-8")
    with FakeServer(unseeing) as server:
        done = discover(
            *("simulate", "--trees", trees, "--assistant", "openai/them", "--engine", "openai/user", "--turns", 2),
            *("--api-base", server.api_base, "--run", folder / "run"),
        )
    assert done.returncode == 0, done.stderr
    return folder / "run", done.stdout + done.stderr


def test_a_hidden_intent_said_word_for_word_in_russian_is_not_checked(in_russian: tuple[Path, str]) -> None:
    folder, told = in_russian
    with RunStore.read(folder) as store:
        [talk], [row] = list(store.conversations()), store.listing()
        outcomes = Outcomes.of_run(store)
    assert talk.turns[0].user_message == SAID
    assert leaked_words(SAID, talk.tree, talk.turns[0].after, []) == (), "the rule sees no word of it"
    scores = scores_of(talk, 0)
    assert (scores.leaks, scores.unchecked, scores.known_leaks) == (0, 1, None)
    [summary] = summarise([scores])
    assert summary.row()[-1] == "1 not checked" and summary.to_dict()["turns_leaking"] is None
    assert "1 not checked" in told and "leaks not checked in 1 artifact" in outcomes.line
    assert not row.leaks_checked and "leaks not checked" in audit_parts.listing([row], {})
    kept = json.loads((folder / "summary.json").read_text("utf-8"))
    assert '"turns_unchecked": 1' in json.dumps(kept) and '"turns_leaking": 0' not in json.dumps(kept)


def test_the_audit_leaves_them_out_of_its_denominator(in_russian: tuple[Path, str]) -> None:
    folder, _ = in_russian
    with RunStore.read(folder) as store:
        found = audit({f"no. {at}": talk for at, talk in enumerate(store.conversations())})
    assert (found.turns, found.unchecked, found.findings) == (0, 1, ())
    done = discover("audit", folder)
    assert "leaks: 1 user turn not checked" in done.stdout and "undiscovered intent" not in done.stdout


def no_scores(given: Given) -> str:
    return "I would rather not." if given.task == "satisfaction_judge" else given.text


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    with FakeServer(brain=Contrary(habits=(no_scores,))) as server:
        arguments = ["evaluate", "--assistant", "draft", "--domain", DOMAIN, "--engine", MODEL, "--artifacts", 1]
        arguments += ["--trials", 1, "--turns", 2, "--api-base", server.api_base, "--run", tmp_path / "run"]
        done = discover(*arguments)
    assert done.returncode == 1
    assert "1 no better when asked again (satisfaction 1); 1 unscored" in done.stdout.splitlines()[-1]
    return tmp_path / "run"


@pytest.mark.slow
def test_a_part_that_could_not_be_scored_is_counted_and_shown(scored: Path) -> None:
    with RunStore.read(scored) as store:
        found = failures_of_run(store)
    assert found.line == "failures: 1 unscored (satisfaction 1)"
    [example] = found.examples
    assert (example.what, example.where) == ("unscored part", "conversation 0")
    assert example.came_back == ("I would rather not.",) * 2
    told = discover("audit", scored)
    assert "failures: 1 unscored (satisfaction 1)" in told.stdout and "came back: I would rather not." in told.stdout
    assert "Shares are means over artifacts" in told.stdout


@pytest.mark.slow
def test_failed_turns_have_examples_and_those_that_came_out_later_are_counted(scored: Path) -> None:
    with RunStore.read(scored) as store:
        configuration = store.configuration
    with RunStore.write(scored, configuration) as store:
        store.put_turns(0, (), "error", [Failure(1, "voice", "content", "no message", ("...",))])
        store.reopen()
        store.put_turns(0, (), "error", [Failure(1, "judge", "timeout", "no answer in time")])
        found = failures_of_run(store)
    assert (found.standing, found.mended) == ({"judge": 1}, 1)
    assert found.line.startswith("failures: 1 turn failed (judge 1), 1 failed and came out later")
    assert [each.what for each in found.examples] == ["failed turn", "unscored part"]
