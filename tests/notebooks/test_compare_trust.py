"""Compare and Trust without a browser: the numbers that they show, open, and refuse."""

import json
from dataclasses import asdict
from pathlib import Path
from threading import Event

import llm_brain
import pytest
from llm_server import FakeServer
from notebook_runs import chosen, problems, run

from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.tasks.safety import safety_of
from discover_lib.train.training_job import SETTINGS, STATUS, JobStatus, State
from workbench.pages import compare_page, trust_page
from workbench.views import html
from workbench.views.audit_parts import run_view

pytestmark = pytest.mark.slow

OPTIONS = RunOptions(("draft", "adaptive"), artifacts=3, trials=2, turns=3)
MODEL = "openai/miniature:svg_drawing"


@pytest.fixture(autouse=True)
def without_sheet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs as a served page has them: its style sheet, which names every class, is in the head."""
    monkeypatch.setattr(html._thread, "page_has_sheet", True, raising=False)


@pytest.fixture(autouse=True)
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    return tmp_path


def folder(outputs: Path, name: str) -> Path:
    (outputs / name).mkdir()
    return outputs / name


def test_domains_and_conversations_are_side_by_side(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.panel.address", lambda: {"run": "mine"})
    mine = folder(outputs, "mine")
    execute(lay_out_evaluation(OPTIONS, ("svg_drawing", "creative_writing")), mine)
    trained(folder(outputs, "tuned"), "finished")
    trained(folder(outputs, "given-up"), "stopped")
    shown, defined = run("6_compare.py")
    compared = defined["compared"]
    assert problems(shown) == [] and defined["folder"] == mine and len(defined["run"].scores) == 24
    assert compared.measure.name == "share" and compared.table["draft"]["share"].n_artifacts == 6
    assert "validated user" in "".join(shown) and "discovers the largest share" in "".join(shown)
    assert defined["asked"].elements["trained"].options == {"tuned": f"hf:{outputs / 'tuned'}"}

    table = compare_page.behind(compared, "adaptive", "draft")
    rows = list(table.data)
    assert [row["difference"] for row in rows] == sorted((row["difference"] for row in rows), reverse=True)
    (ours, _), (theirs, _) = compare_page.open_sides(compared, chosen(rows[:1]), "draft")
    assert (ours.name, theirs.name) == ("adaptive", "draft")
    assert ours.conversation.setting["artifact"] == theirs.conversation.setting["artifact"] == rows[0]["user"]
    read = compare_page.reader(compared, [(ours, None), (theirs, None)], rows[0]["no."])
    assert "Turn by turn" in read.text
    for tab in compare_page.TABS.values():
        content = compare_page.tab_content(tab, compared, chosen(tab == "Other rules"))
        assert problems([content.text]) == [], tab


def trained(place: Path, state: State) -> None:
    (place / SETTINGS).write_text("{}")
    (place / STATUS).write_text(json.dumps(asdict(JobStatus(state))))


def test_failures_are_told_with_the_answer_that_came_back(outputs: Path) -> None:
    planned = lay_out(RunOptions((f"{MODEL}:adaptive",), domain="svg_drawing", artifacts=2, engine=MODEL))
    with FakeServer(llm_brain.answer) as server:
        server.script.extend([None, "refusal", "refusal"])
        execute(planned, folder(outputs, "models"), settings=ClientSettings(api_base=server.api_base, env_file=None))
    page = run_view(outputs / "models")
    assert "can&#39;t help with that" in page and "came back: " in page
    assert "1 failed" in page and "price unknown" in page and "judge" in page


def test_trust_makes_a_run_where_there_is_none_and_reads_the_recorded_conversations(outputs: Path) -> None:
    shown, defined = run("7_trust.py")
    assert problems(shown) == [] and defined["run_choice"].value == outputs / trust_page.OWN_RUN
    assert len(defined["talks"]) == 32 and defined["audited"].alarms == ()
    assert "validated: all " in "".join(shown) and "Validate again" in "".join(shown)
    kinds = {label.judge for label in defined["labels"]}
    assert {"miniature", "with noise"} <= kinds
    recorded = trust_page.read_conversations(None)
    assert recorded and trust_page.labels_of(recorded, {"noise": 0.1, "sheets": []})[0] == []


def test_an_unfinished_run_is_no_default_and_says_so(outputs: Path) -> None:
    planned = lay_out(RunOptions(("draft",), domain="svg_drawing", artifacts=2, turns=2))
    execute(planned, folder(outputs, "finished"))
    stop = Event()
    stop.set()
    execute(planned, folder(outputs, "unfinished"), stop=stop)
    shown, defined = run("7_trust.py")
    assert defined["run_choice"].value == outputs / "finished" and "Too few user turns to tell" in "".join(shown)
    assert "0 of 2 conversations · not finished" in trust_page.how_far(outputs / "unfinished")
    assert trust_page.how_far(outputs / "finished") == trust_page.how_far(None) == ""


def test_users_type_in_several_styles_and_offers_are_sorted() -> None:
    paper, people = (trust_page.users_typing(style) for style in ("paper", "people"))
    assert len(paper) == len(people) and paper != people
    said = {"recorded": trust_page.recorded_users(), "the run": people}
    assert "the messages of this run’s user differ most from people’s in" in trust_page.length_chart(said).text
    assert "the messages of the recorded users differ" in trust_page.length_chart(said | {"the run": []}).text
    features = trust_page.distance_table({"paper": paper, "people": people, "recorded": people}, "nowhere.jsonl")
    assert "nowhere.jsonl" in features.text
    talks = trust_page.scripted_conversations()
    results = safety_of(talks, 3)
    shown = trust_page.offers_chart(results).text
    order = [shown.index(f'title="{name}: ') for name in ("adaptive", "options", "draft", "ask")]
    assert "Yes, most often adaptive: in 17 of 30 conversations" in shown
    assert order == sorted(order) and 'class="ds-answer"' not in shown
    offers = trust_page.offer_table(talks, 3)
    assert all(row["restricted"].split()[0] in row["offered"] for row in offers.data)
