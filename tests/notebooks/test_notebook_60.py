"""60_evaluate and 61_behind_a_number: what they make, show and open, without a browser."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from notebook_runs import problems

from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute
from discover_lib.train.training_job import SETTINGS, STATUS, JobStatus, State

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
    assert "run=mine" in defined["behind"]

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
    found = [each.transition.intent_id for each in defined["by_turn"]]
    known = ours.conversation.state.discovered - ours.conversation.start.discovered
    assert len(found) == len(known) and set(found) == set(known)


def trained(folder: Path, state: State) -> None:
    """A training run that has come to an end."""
    folder.mkdir()
    (folder / SETTINGS).write_text("{}")
    (folder / STATUS).write_text(json.dumps(asdict(JobStatus(state))))


def run_without_check(name: str, given: dict) -> tuple[list[str], dict]:
    """As `run`; its check of names would make the whole page once more."""
    from notebook_runs import load

    outputs, defined = load(name).run(defs=given)
    assert set(given) <= set(defined)
    shown = [str(getattr(output, "text", output)) for output in outputs if output is not None]
    return [re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL) for text in shown], dict(defined)
