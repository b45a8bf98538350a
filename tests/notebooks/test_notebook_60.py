"""60_evaluate and 61_behind_a_number: what they make, show and open, without a browser."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from notebook_runs import problems, run

from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute
from discover_lib.runs.store import RunStore
from discover_lib.train.jobs import SETTINGS, STATUS, JobStatus, State
from workbench.controls import Choice
from workbench.jobs import domains_of, find_evaluations

pytestmark = pytest.mark.slow

NAME, BEHIND = "60_evaluate.py", "61_behind_a_number.py"
OPTIONS = RunOptions(("draft", "adaptive"), artifacts=3, trials=2, turns=3)
DOMAINS = ("svg_drawing", "creative_writing")


@pytest.fixture(autouse=True)
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    return tmp_path


def test_an_evaluation_of_two_domains_is_opened_and_two_assistants_stand_side_by_side(outputs: Path) -> None:
    folder = outputs / "mine"
    folder.mkdir()
    execute(lay_out_evaluation(OPTIONS, DOMAINS), folder)
    trained(outputs / "tuned", "finished")
    trained(outputs / "given-up", "stopped")
    shown, defined = run_without_check(NAME, {})
    page = "".join(shown)
    assert problems(shown) == [] and defined["folder"] == folder and len(defined["scores"]) == 24
    assert defined["pool"].assistants == ("draft", "adaptive") and set(defined["table"]["draft"]) >= {"discovery"}
    assert "certified user" in page and defined["table"]["draft"]["proportion"].n_artifacts == 6
    assert defined["menus"]["trained"].options == {"tuned": f"hf:{outputs / 'tuned'}"}
    assert "paper" in page and "run=mine" in defined["behind"]
    assert parse_qs(urlsplit(defined["behind"]).query)["pool"] == ['["draft","adaptive"]']

    given = {"asked": ("pair", "adaptive", "draft")}
    shown, defined = run_without_check(BEHIND, given)
    page = "".join(shown)
    assert problems(shown) == [] and defined["folder"] == folder and len(defined["scores"]) == 24
    assert "Behind a number: adaptive against draft" in page
    ours, theirs = defined["ours"], defined["theirs"]
    assert (ours.name, theirs.name) == ("adaptive", "draft")
    assert ours.conversation.setting["artifact"] == theirs.conversation.setting["artifact"]
    assert defined["behind"][0]["difference"] == max(row["difference"] for row in defined["behind"])
    assert defined["place"] == defined["behind"][0]["no."]
    assert "Only" in page and "turn by turn" in page.lower()
    found = [each.transition.intent_id for each in defined["by_turn"]]
    known = ours.conversation.state.discovered - ours.conversation.start.discovered
    assert len(found) == len(known) and set(found) == set(known)


def trained(folder: Path, state: State) -> None:
    """A training run that has come to an end."""
    folder.mkdir()
    (folder / SETTINGS).write_text("{}")
    (folder / STATUS).write_text(json.dumps(asdict(JobStatus(state))))


def test_language_models_are_planned_before_anything_is_spent_and_need_a_cap(outputs: Path) -> None:
    evaluate_small(outputs / "mine")
    asked = RunOptions(("draft", "openai/some-model"), artifacts=2, judge="openai/some-model")
    given = {"options": asked, "choice": Choice(judge="openai/some-model"), "refusal": "", "with_models": True}
    shown, defined = run_without_check(NAME, given)
    page = "".join(shown)
    assert problems(shown) == [] and "Before anything is spent" in page and "unknown" in page
    assert "2 assistants × 2 users = 4 conversations" in page
    assert defined["asked"].spends and not defined["asked"].cap_dollars


def evaluate_small(folder: Path) -> None:
    folder.mkdir()
    execute(lay_out_evaluation(RunOptions(("draft", "adaptive"), artifacts=2, turns=2), ["svg_drawing"]), folder)


def run_without_check(name: str, given: dict) -> tuple[list[str], dict]:
    """As `run`; its check of names would make the whole page once more."""
    from notebook_runs import load

    outputs, defined = load(name).run(defs=given)
    assert set(given) <= set(defined)
    shown = [str(getattr(output, "text", output)) for output in outputs if output is not None]
    return [re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL) for text in shown], dict(defined)


def test_where_there_is_none_a_small_one_is_made_and_found_again(outputs: Path) -> None:
    shown, defined = run(NAME)
    assert problems(shown) == []
    assert defined["folder"].parent == outputs / "evaluations" and len(defined["scores"]) == 80
    assert list(find_evaluations(outputs).values()) == [defined["folder"]]
    with RunStore.read(defined["folder"]) as store:
        begun = RunOptions.from_configuration(store.configuration)
        assert lay_out_evaluation(begun, domains_of(store.configuration)).configuration == store.configuration
        assert not store.unassessed()
    assert defined["flips"]["recheck"] == {"conversations": 80, "unequal": []}
    assert any("Conclusions that flip" in each for each in shown)
    shown, defined = run(BEHIND)
    assert problems(shown) == [] and len(defined["scores"]) == 80, "the same evaluation is opened, not made again"
    shares = [row["discovery"] for row in defined["behind"] if row["discovery"] != "left out"]
    assert shares == sorted(shares) and defined["place"] == defined["behind"][0]["no."]
