"""What people made before the modules of the library moved is theirs still.

`data/old_layout` holds a small workbench that an earlier version left behind: runs that were interrupted, runs with
their results, sessions, rows, trained adapters, a training that was stopped half-way.  Every one of them must open, go
on as the same run, and give what it gave; `expected.json` says what that was, as the earlier version computed it.
"""

import gzip
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import llm_brain
import pytest
from llm_server import FakeServer
from typer.testing import CliRunner

from discover_lib.app.cli.main import app
from discover_lib.app.jobs import configuration_of, domains_of, find_evaluations, find_runs, folder_of
from discover_lib.app.session import Session, SessionError
from discover_lib.audit.certificate import certificate_warning, certify_run, lay_out_panel, read_certificate
from discover_lib.audit.leaks import audit, finished_conversations
from discover_lib.core.conversation import Conversation, Message
from discover_lib.core.rules import Rules
from discover_lib.dataset.export import read_rows
from discover_lib.dataset.formats import read_jsonl
from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.engines.llm.prompting import OVERRIDE_VARIABLE, PromptSet
from discover_lib.engines.local.dialect import LocalModelError
from discover_lib.engines.local.lineage import adapter_chain
from discover_lib.engines.local.names import check_local, fingerprint, local_assistant, parse_name
from discover_lib.engines.local.tiny_language import known_domains
from discover_lib.engines.miniature.assistants import USER_BLIND
from discover_lib.metrics.replay import replay
from discover_lib.metrics.rescore import replayed
from discover_lib.runs.evaluation import load_scores
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.store import FILE, RunStore, to_json
from discover_lib.train.data import load_rows
from discover_lib.train.jobs import TrainingJob, find_jobs

MAIN = "from discover_lib.app.cli.main import main; main()"  # what the command `discover` runs

KEPT = Path(__file__).parent / "data" / "old_layout"
EXPECTED: dict[str, Any] = json.loads((KEPT / "expected.json").read_text(encoding="utf-8"))
MADE_IN = "/srv/workbench"  # where that workbench lay; the folder of a test takes its place
OUTPUTS = Path("outputs")
# Prompts have changed since: whoever would go on with such a run hands in those that it was begun with.
PROMPTS = Path(__file__).parent / "data" / "old_layout_prompts"
MODEL = "openai/miniature:creative_writing"

# The commands that began the runs; given again, they go on with them.
COMMANDS: dict[str, list[str]] = {
    "model": [
        *("simulate", "--domain", "creative_writing", "--engine", MODEL, "--assistant", "adaptive"),
        *("--assistant", f"{MODEL}:draft", "--artifacts", "2", "--turns", "3", "--concurrency", "1"),
    ],
    "model-evaluation": [
        *("evaluate", "--domain", "creative_writing", "--engine", MODEL, "--assistant", "adaptive"),
        *("--assistant", "draft", "--artifacts", "1", "--trials", "1", "--turns", "2", "--concurrency", "1"),
    ],
    "scripted": [
        *("simulate", "--domain", "svg_drawing", "--assistant", "adaptive", "--assistant", "draft"),
        *("--artifacts", "4", "--turns", "3"),
    ],
    "built": [
        *("simulate", "--trees", "outputs/trees", "--assistant", "adaptive", "--assistant", "options"),
        *("--turns", "2"),
    ],
    "pairs": [
        *("synthesize", "--domain", "svg_drawing", "--assistant", "draft", "--assistant", "adaptive"),
        *("--artifacts", "8", "--turns", "2"),
    ],
    "look-ahead": [
        *("synthesize", "--domain", "svg_drawing", "--assistant", "draft", "--assistant", "adaptive"),
        *("--artifacts", "2", "--turns", "2", "--look-ahead", "1", "--reward-assistant", "adaptive"),
    ],
    "evaluation": [
        *("evaluate", "--domain", "technical_writing", "--assistant", "draft", "--assistant", "adaptive"),
        *("--assistant", "ask", "--artifacts", "3", "--trials", "2", "--turns", "3", "--sensitivity"),
    ],
    "before-after": [
        *("simulate", "--domain", "svg_drawing", "--assistant", "tiny", "--assistant", "hf:outputs/dpo"),
        *("--artifacts", "3", "--turns", "2"),
    ],
    "stopped": [
        *("train", "dpo", "--data", "outputs/rows/preference", "--base", "tiny", "--max-steps", "6"),
        *("--set", "batch=4", "--set", "per_device=2", "--set", "eval_steps=2", "--set", "save_steps=1"),
        *("--set", "sample_steps=2", "--set", "lora.r=2", "--set", "lora.alpha=4"),
    ],
}
WITH_MODELS = ("model", "model-evaluation")
INTERRUPTED = ("built",)
FINISHED = ("evaluation",)
OF_AN_EARLIER_WORLD = ("scripted", "pairs", "look-ahead", "before-after")  # svg_drawing, whose values were others
PAGE_RUN = "synthesis/technical_writing-draft+adaptive-2x2-71b2de41"
RUNS = (*WITH_MODELS, *INTERRUPTED, *FINISHED, PAGE_RUN, "before-after")
ROWS = ("rows/sft", "rows/preference", "rows/prompt", "exports/sft-sharegpt")
SAID = (Message("user", "can you write a short story with an animal in it? something in winter"),)


def unpack(kept: Path, place: Path) -> None:
    """The workbench as it was left, at another place."""
    shutil.copytree(kept, place, dirs_exist_ok=True)
    for packed in place.rglob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    for path in (place / OUTPUTS).glob("*/settings.json"):
        path.write_text(path.read_text("utf-8").replace(MADE_IN, str(place.resolve())), encoding="utf-8")


@pytest.fixture
def old_prompts(monkeypatch: pytest.MonkeyPatch) -> PromptSet:
    """The prompts of that version, in place of ours, for the program and for the model that reads them.

    The model is the miniature's behind the wire: it speaks as it did then, too.
    """
    prompts = PromptSet(PROMPTS)
    monkeypatch.setenv(OVERRIDE_VARIABLE, str(PROMPTS))
    known = {template.parts[0][1]: name for name, template in prompts.templates.items() if len(template.parts) == 2}
    monkeypatch.setattr(llm_brain, "TASKS", llm_brain.TASKS | known)
    monkeypatch.setattr(llm_brain, "SPEAKS", 1)
    return prompts


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workbench, at hand as the folder that one works in."""
    unpack(KEPT, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCOVER_OUTPUTS", "outputs")
    return tmp_path


def discover(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command in this process; an exception that it does not catch fails the test."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    return subprocess.CompletedProcess(list(map(str, arguments)), result.exit_code, result.stdout, result.stderr)


def discover_apart(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own: models that it loads are its own, too."""
    command = [sys.executable, "-c", MAIN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def again(run: str, *more: object, apart: bool = False) -> subprocess.CompletedProcess[str]:
    """The command that began a run, given once more."""
    done = (discover_apart if apart else discover)(*COMMANDS[run], "--run", OUTPUTS / run, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def sha(value: Any) -> str:
    return hashlib.sha256(to_json(value).encode()).hexdigest()


def standing(run: str) -> dict[str, Any]:
    """How a run stands: its counts, and a hash of every conversation, the unfinished ones as far as they are."""
    with RunStore.read(OUTPUTS / run) as store:
        counts = store.counts()
        hashes = {str(row.place): sha(store.conversation(row.place).to_dict()) for row in store.listing()}
        return {
            "units": counts.units,
            "finished": counts.finished,
            "turns": counts.turns,
            "calls": store.calls.spent().calls,
            "configuration": sha(store.configuration),
            "conversations": hashes,
        }


def table_of(run: str) -> dict[str, Any]:
    """The summary that a run's command writes: a line per assistant."""
    lines = json.loads((OUTPUTS / run / "summary.json").read_text("utf-8"))
    return {line["assistant"]: line for line in lines}


def results_of(run: str) -> dict[str, Any]:
    """The figures of an evaluation, without what is said about them."""
    found = json.loads((OUTPUTS / run / "results.json").read_text("utf-8"))
    names = ("rules", "conversations", "failures_by_role", "unassessed", "leaves_left_out", "scopes")
    return {name: found[name] for name in names}


def rescored(run: str) -> dict[str, list[Any]]:
    """Every finished conversation under the authors' rules: what was found when, what it is worth, what is unknown."""
    found = {}
    with RunStore.read(OUTPUTS / run) as store:
        for row in store.listing():
            if row.stop is not None:
                course = replayed(store.conversation(row.place), Rules.authors())
                moves = {key: list(value) for key, value in course.moves.items()}
                worth = [round(sum(shares.values()), 9) for shares in course.shares]
                found[str(row.place)] = [moves, worth, course.asked, course.unjudged]
    return found


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def rows_written(run: str) -> dict[str, int]:
    """Table → the last row number: a conversation that was run again would have new rows."""
    with sqlite3.connect(f"file:{OUTPUTS / run / FILE}?mode=ro", uri=True) as connection:
        return {
            name: connection.execute(f"SELECT coalesce(max(rowid), 0) FROM {name}").fetchone()[0]
            for name in ("turns", "calls", "assessments")
        }


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_a_run_opens_with_the_conversations_that_it_had(run: str, place: Path) -> None:
    assert standing(run) == EXPECTED["left"][run]


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_stored_judgements_give_the_stored_course(run: str, place: Path) -> None:
    with RunStore.read(OUTPUTS / run) as store:
        talks = list(store.conversations(finished=False))
    assert talks and all(replay(talk) == talk for talk in talks)


@pytest.mark.slow
@pytest.mark.parametrize("run", WITH_MODELS)
@pytest.mark.usefixtures("old_prompts")
def test_a_run_with_a_language_model_goes_on_and_pays_for_no_call_twice(run: str, place: Path) -> None:
    """The server may be found at another address than before."""
    before = EXPECTED["left"][run]
    with FakeServer(llm_brain.answer) as server:
        again(run, "--api-base", server.api_base)
        assert server.counts["served"] == EXPECTED["calls on resuming"][run]
    now = standing(run)
    assert now == EXPECTED["resumed"][run]
    assert now["finished"] == now["units"] and now["configuration"] == before["configuration"]
    assert now["calls"] == before["calls"] + EXPECTED["calls on resuming"][run]


@pytest.mark.slow
@pytest.mark.parametrize("run", WITH_MODELS)
@pytest.mark.usefixtures("old_prompts")
def test_every_call_that_was_paid_for_is_known_again(run: str, place: Path) -> None:
    """With its turns and scores gone, a run asks for nothing that it had asked for before.

    Except for what the voice said of what is latent: that version showed it the hidden texts, and this one never does.
    """
    with RunStore.read(OUTPUTS / run) as store:
        turns = [turn for row in store.listing() for turn in store.conversation(row.place).turns]
    latent = sum(turn.view.pursuing == "latent" and turn.user_message is not None for turn in turns)
    with sqlite3.connect(OUTPUTS / run / FILE) as connection:
        connection.execute("DELETE FROM turns")
        connection.execute("DELETE FROM assessments")
        connection.execute("UPDATE units SET stop = NULL")
    with FakeServer(llm_brain.answer) as server:
        again(run, "--api-base", server.api_base)
        assert server.counts["served"] == EXPECTED["calls on resuming"][run] + latent
    expected = EXPECTED["resumed"][run]
    assert standing(run) == expected | {"calls": expected["calls"] + latent}


@pytest.mark.slow
@pytest.mark.parametrize("run", INTERRUPTED)
def test_an_interrupted_run_goes_on_to_the_same_end(run: str, place: Path) -> None:
    before, kept = EXPECTED["left"][run], rows_written(run)
    assert before["finished"] < before["units"]
    again(run)
    now = standing(run)
    assert now == EXPECTED["resumed"][run] and now["finished"] == now["units"]
    assert table_of(run) == EXPECTED["summaries"][run]
    done = {key for key, value in before["conversations"].items() if now["conversations"][key] == value}
    assert len(done) == before["finished"], "what was finished stays, and nothing else was"
    assert rows_written(run)["turns"] > kept["turns"]


@pytest.mark.slow
@pytest.mark.parametrize("run", FINISHED)
def test_a_finished_run_has_nothing_left_to_do(run: str, place: Path) -> None:
    kept, files = rows_written(run), files_of(OUTPUTS / run)
    lines = (OUTPUTS / run / "conversations.jsonl").read_bytes() if run != "evaluation" else b""
    units = EXPECTED["left"][run]["units"]
    assert f"{units} of {units} conversations finished" in again(run).stdout
    assert standing(run) == EXPECTED["left"][run] and rows_written(run) == kept
    assert not [name for name in files_of(OUTPUTS / run) ^ files if not name.endswith(("-shm", "-wal", ".lock"))]
    if lines:
        assert (OUTPUTS / run / "conversations.jsonl").read_bytes() == lines
        assert table_of(run) == EXPECTED["summaries"][run]


@pytest.mark.slow
@pytest.mark.parametrize("run", WITH_MODELS)
def test_a_run_that_other_prompts_began_is_refused_in_one_line(run: str, place: Path) -> None:
    refused = discover(*COMMANDS[run], "--run", OUTPUTS / run)
    assert refused.returncode == 2 and len(refused.stderr.strip().splitlines()) == 1, refused.stderr
    assert "another configuration: prompts." in refused.stderr
    assert standing(run) == EXPECTED["left"][run]


@pytest.mark.slow
def test_other_options_are_refused_as_before(place: Path) -> None:
    refused = discover(*COMMANDS["evaluation"], "--seed", "1", "--run", OUTPUTS / "evaluation")
    assert refused.returncode == 2 and "seed is 0 in the run and 1 now" in refused.stderr
    assert standing("evaluation") == EXPECTED["left"]["evaluation"]


@pytest.mark.slow
@pytest.mark.parametrize("run", OF_AN_EARLIER_WORLD)
def test_a_run_of_an_earlier_world_is_refused_in_one_line_and_stays_as_it_is(run: str, place: Path) -> None:
    refused = discover(*COMMANDS[run], "--run", OUTPUTS / run)
    assert refused.returncode == 2 and len(refused.stderr.strip().splitlines()) == 1, refused.stderr
    assert "earlier world of svg_drawing" in refused.stderr
    assert standing(run) == EXPECTED["left"][run]


def test_pages_find_the_runs_and_can_go_on_with_them(place: Path) -> None:
    assert set(RUNS) <= set(find_runs(OUTPUTS))
    assert set(find_evaluations(OUTPUTS)) == {"evaluation", "model-evaluation"}
    with RunStore.read(OUTPUTS / "evaluation") as store:
        options, domains = RunOptions.from_configuration(store.configuration), domains_of(store.configuration)
    assert (options.assistants, options.artifacts, options.trials) == (("draft", "adaptive", "ask"), 3, 2)
    assert domains == ("technical_writing",)


@pytest.mark.slow
def test_a_page_asks_for_the_same_run_in_the_same_folder(place: Path) -> None:
    """What is chosen on a page once more leads to the run that it began, which then goes on."""
    chosen = RunOptions(
        ("draft", "adaptive"), domain="technical_writing", artifacts=2, turns=2, candidates=1, split="train"
    )
    assert folder_of(chosen, OUTPUTS / "synthesis") == OUTPUTS / PAGE_RUN
    begun = configuration_of(OUTPUTS / "evaluation")
    options = RunOptions.from_configuration(begun)
    kept = OUTPUTS / "evaluations" / EXPECTED["evaluation name"]  # the name that the page gave it
    shutil.copytree(OUTPUTS / "evaluation", kept)
    assert folder_of(options, OUTPUTS / "evaluations", domains_of(begun)) == kept


@pytest.mark.slow
def test_a_run_goes_on_by_what_its_folder_says_of_it(place: Path) -> None:
    """As pages do that are given nothing but a folder."""
    with RunStore.read(OUTPUTS / PAGE_RUN) as store:
        options = RunOptions.from_configuration(store.configuration)
    assert execute(lay_out(options), OUTPUTS / PAGE_RUN).halted is None
    assert standing(PAGE_RUN) == EXPECTED["resumed"][PAGE_RUN]


@pytest.mark.slow
def test_the_command_of_a_page_goes_on_with_its_run(place: Path) -> None:
    asked = ["--domain", "technical_writing", "--assistant", "draft", "--assistant", "adaptive"]
    done = discover("synthesize", *asked, "--artifacts", 2, "--turns", 2, "--run", OUTPUTS / PAGE_RUN)
    assert done.returncode == 0, done.stderr
    assert standing(PAGE_RUN) == EXPECTED["resumed"][PAGE_RUN]


# -- scores ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_evaluation_has_the_same_results_and_scores(place: Path) -> None:
    table, flips = (OUTPUTS / "evaluation" / name for name in ("scores.csv", "sensitivity.json"))
    written, changes, before = table.read_bytes(), json.loads(flips.read_bytes()), results_of("evaluation")
    again("evaluation")
    assert results_of("evaluation") == before
    assert table.read_bytes() == written
    now = json.loads(flips.read_bytes())
    capped = [each for each in now["outcomes"] if "near_miss_cap" in each["rules"]]  # tried since
    assert len(capped) == 1
    assert now | {"outcomes": [each for each in now["outcomes"] if each not in capped]} == changes
    assert [sha(each.to_dict()) for each in load_scores(OUTPUTS / "evaluation")] == EXPECTED["scores"]


@pytest.mark.slow
def test_scores_made_anew_from_the_conversations_are_those_that_were_kept(place: Path) -> None:
    with sqlite3.connect(OUTPUTS / "evaluation" / FILE) as connection:
        connection.execute("UPDATE assessments SET digest = '{}'")
    assert [sha(each.to_dict()) for each in load_scores(OUTPUTS / "evaluation")] == EXPECTED["scores"]


@pytest.mark.slow
@pytest.mark.parametrize("run", ["scripted", "pairs", "look-ahead", "evaluation"])
def test_scored_again_under_the_authors_rules_a_run_is_worth_the_same(run: str, place: Path) -> None:
    assert rescored(run) == EXPECTED["under the authors' rules"][run]


# -- the audit ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_certificate_is_still_of_its_run(place: Path) -> None:
    run = OUTPUTS / "evaluation"
    found = read_certificate(run)
    assert found is not None and (found.result, [each.holds for each in found.tested]) == (
        EXPECTED["certificate"]["result"],
        EXPECTED["certificate"]["holds"],
    )
    warning = certificate_warning(run)
    assert warning is not None and "another simulator" not in warning and "No certificate" not in warning


@pytest.mark.slow
def test_certifying_again_finds_the_same_of_everybody_who_was_in_the_panel_then(place: Path) -> None:
    before = json.loads((OUTPUTS / "evaluation" / "certificate.json").read_text("utf-8"))
    done = discover("audit", OUTPUTS / "evaluation", "--certify", "--artifacts", 2, "--out", "audit.json")
    assert done.returncode == EXPECTED["certificate"]["exit code"], done.stderr
    now = json.loads((OUTPUTS / "evaluation" / "certificate.json").read_text("utf-8"))
    assert now["subject"] == before["subject"] and {*now["found"]} - {*before["found"]} == {USER_BLIND}
    assert {who: now["found"][who] for who in before["found"]} == before["found"]
    told, kept = (json.loads(path.read_text("utf-8")) for path in (Path("audit.json"), OUTPUTS / "audit.json"))
    for name in ("turns", "conversations", "domains", "alarm_rate"):
        assert told["leaks"][name] == kept["leaks"][name]


@pytest.mark.slow
@pytest.mark.usefixtures("old_prompts")
def test_a_new_certificate_fits_a_run_with_a_language_model(place: Path) -> None:
    """The panel is run by the prompts of today, which must count as those that the run was made with."""
    run = OUTPUTS / "model"
    with FakeServer(llm_brain.answer) as server:
        again("model", "--api-base", server.api_base)
        settings = ClientSettings(api_base=server.api_base, env_file=None)
        certify_run(run, lay_out_panel(run, artifacts=1), concurrency=8, settings=settings)
    warning = certificate_warning(run)
    assert warning is None or "another simulator" not in warning, warning


@pytest.mark.slow
@pytest.mark.parametrize("run", ["scripted", "pairs", "evaluation", "before-after"])
def test_an_audit_finds_the_same_leaks(run: str, place: Path) -> None:
    with RunStore.read(OUTPUTS / run) as store:
        found = audit(finished_conversations(store))
    leaks = [[each.name, each.turn, each.intent_id, each.severity, round(each.share, 9)] for each in found.findings]
    assert {"turns": found.turns, "leaks": leaks} == EXPECTED["audits"][run]


# -- sessions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["oldlayout1", "oldlayout2"])
def test_a_session_opens_where_it_was_left(name: str, place: Path) -> None:
    session, kept = Session.load(name), EXPECTED["sessions"][name]
    assert [sha(each.conversation.to_dict()) for each in session.branches] == kept["branches"]
    assert [list(each.origin) if each.origin else None for each in session.branches] == kept["origins"]
    assert (session.current, session.cursor) == (kept["current"], kept["cursor"])


def test_a_session_of_an_earlier_world_can_be_looked_through_and_not_gone_on_with(place: Path) -> None:
    session = Session.load("oldlayout1")
    session.switch(2)
    before = sha(session.conversation.to_dict())
    with pytest.raises(SessionError, match=r"begun in an earlier world of svg_drawing.*reset to begin anew"):
        session.next()
    assert sha(Session.load("oldlayout1").branches[2].conversation.to_dict()) == before


@pytest.mark.slow
def test_a_saved_demo_can_be_read_and_its_seed_gives_one_of_this_world(place: Path) -> None:
    kept = json.loads((OUTPUTS / "demo" / "demo.json").read_text("utf-8"))
    assert len(Conversation.from_dict(kept["conversation"]).turns) == 3
    for out in ("demo", "again"):
        assert discover("demo", "--domain", "svg_drawing", "--seed", 5, "--turns", 3, "--out", out).returncode == 0
    made = json.loads(Path("demo/demo.json").read_text("utf-8"))
    assert made == json.loads(Path("again/demo.json").read_text("utf-8")) and made.keys() == kept.keys()


# -- rows --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("rows", ROWS)
def test_exported_rows_are_read_as_they_were_written(rows: str, place: Path) -> None:
    found = read_rows(OUTPUTS / rows)
    assert {split: [sha(row) for row in each] for split, each in found.items()} == EXPECTED["rows"][rows]


@pytest.mark.slow
@pytest.mark.parametrize("files", ["parquet", "datasets"])
def test_rows_in_the_files_of_others_are_read_as_they_were_written(files: str, place: Path) -> None:
    found = read_rows(OUTPUTS / "exports" / f"sft-{files}")
    assert {split: [row["messages"] for row in each] for split, each in found.items()} == {
        split: [row["messages"] for row in each]
        for split, each in read_rows(OUTPUTS / "exports" / "sft-sharegpt").items()
    }


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "stage"), [("sft", "sft"), ("preference", "dpo"), ("prompt", "grpo")])
def test_a_run_gives_the_rows_that_it_gave(kind: str, stage: Any, place: Path) -> None:
    written = OUTPUTS / "rows" / kind
    more = ["--text", "notation", "--test-share", "0.3"]
    assert discover("export", OUTPUTS / "pairs", "--format", kind, *more, "--out", "rows").returncode == 0
    for path in (written / "data").iterdir():
        assert (Path("rows/data") / path.name).read_bytes() == path.read_bytes()
    assert load_rows(written, stage, "notation").digest == EXPECTED["digests"][kind]


def test_exported_conversations_are_read_back(place: Path) -> None:
    talks = list(read_jsonl(OUTPUTS / "exports" / "jsonl" / "conversations.jsonl"))
    assert [sha(talk.to_dict()) for talk in talks] == list(EXPECTED["left"]["look-ahead"]["conversations"].values())


@pytest.mark.slow
def test_files_of_the_authors_form_are_read_back(place: Path) -> None:
    assert discover("import", OUTPUTS / "exports" / "authors", "--run", "back").returncode == 0
    with RunStore.read(Path("back")) as store:
        found = [sha([turn.to_dict() for turn in talk.turns]) for talk in store.conversations()]
    assert found == EXPECTED["imported"]
    rows = OUTPUTS / "exports" / "authors-rows" / "rows.jsonl"
    assert discover("import", rows, "--format", "authors-rows", "--run", "rows").returncode == 0
    assert {split: [sha(row) for row in each] for split, each in read_rows(Path("rows")).items()} == EXPECTED[
        "imported rows"
    ]


@pytest.mark.slow
def test_a_table_of_conversations_is_what_it_was(place: Path) -> None:
    from pyarrow import parquet

    assert discover("export", OUTPUTS / "look-ahead", "--format", "parquet", "--out", "table").returncode == 0
    kept, now = (
        parquet.read_table(folder / "conversations.parquet") for folder in (OUTPUTS / "exports/parquet", Path("table"))
    )
    assert kept.num_rows and now.equals(kept)


# -- models on this machine --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hf:outputs/sft", "hf:outputs/dpo", "hf:outputs/grpo"])
def test_a_model_is_known_by_the_same_mark(name: str, place: Path) -> None:
    """Runs with it carry the mark; with another one they would be refused."""
    assert fingerprint(name) == EXPECTED["fingerprints"][name]


@pytest.mark.slow
def test_the_tiny_base_of_an_earlier_world_keeps_the_domains_that_are_as_they_were(place: Path) -> None:
    """Its words for drawings are no more; a base of today has another mark and is made at first use."""
    from discover_lib.engines.local.dialect import tiny_domains
    from discover_lib.engines.local.tiny_model import base_folder

    kept = OUTPUTS / "cache" / "tiny" / EXPECTED["base"]["key"]
    assert set(known_domains()) - set(tiny_domains(kept) or ()) == {"svg_drawing"}
    assert base_folder().name != kept.name and fingerprint("tiny") == base_folder().name


@pytest.mark.slow
def test_a_chain_of_adapters_stands_on_what_it_stood_on(place: Path) -> None:
    chain = adapter_chain(OUTPUTS / "grpo")
    assert [each.stage for each in (chain.base, *chain.adapters)] == ["base", "sft", "dpo", "grpo"]
    assert [each.hash for each in (chain.base, *chain.adapters)] == EXPECTED["chain"]
    assert parse_name("hf:outputs/grpo").adapters == tuple(
        place.resolve() / OUTPUTS / stage / "adapter" for stage in ("sft", "dpo", "grpo")
    )


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["sft", "dpo", "grpo"])
def test_a_trained_assistant_says_what_it_said(stage: str, place: Path) -> None:
    assistant = local_assistant(f"hf:outputs/{stage}", "creative_writing")
    said = [assistant.reply(SAID, seed).notation for seed in range(4)]
    assert said == EXPECTED["replies"][stage] and len(set(said)) > 1


@pytest.mark.slow
def test_a_model_of_an_earlier_world_is_refused_where_it_has_no_words(place: Path) -> None:
    check_local("hf:outputs/dpo", "creative_writing")
    with pytest.raises(LocalModelError, match="does not speak 'svg_drawing'; it was pretrained in an earlier world"):
        check_local("hf:outputs/dpo", "svg_drawing")


# -- training ----------------------------------------------------------------------------------------------------------


def test_trainings_are_listed_as_they_stand(place: Path) -> None:
    found = {name: job.status() for name, job in find_jobs(OUTPUTS).items()}
    assert {name: status.state for name, status in found.items()} == {
        "sft": "finished",
        "dpo": "finished",
        "grpo": "finished",
        "stopped": "stopped",
    }
    assert found["stopped"].resumable and found["stopped"].step == EXPECTED["stopped"]["step"]
    assert TrainingJob(OUTPUTS / "grpo").result()["kept_round"] == EXPECTED["kept round"]


@pytest.mark.slow
def test_a_stopped_training_on_rows_of_an_earlier_world_is_refused_before_any_work(place: Path) -> None:
    job = TrainingJob(OUTPUTS / "stopped")
    refused = discover_apart(*COMMANDS["stopped"], "--run", OUTPUTS / "stopped")
    assert refused.returncode != 0 and "pretraining" not in refused.stdout + refused.stderr
    assert (job.status().state, job.status().step) == ("stopped", EXPECTED["stopped"]["step"])
    asked = ["--data", OUTPUTS / "rows/preference", "--base", OUTPUTS / "sft", "--run", "after", "--max-steps", "1"]
    refused = discover_apart("train", "dpo", *asked)
    assert refused.returncode != 0 and "the rows are of svg_drawing" in refused.stdout + refused.stderr
