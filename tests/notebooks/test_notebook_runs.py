"""15_runs: what it shows of runs that went well, went wrong, or are still going."""

from pathlib import Path

import llm_brain
import pytest
from llm_server import FakeServer
from notebook_runs import run

from discover_lib.dataset import authors_format as authors
from discover_lib.engines.llm.calls.client import ClientSettings
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.runs.runner import register
from discover_lib.runs.store import RunStore

pytestmark = pytest.mark.slow

NAME = "15_runs.py"
MODEL = "openai/miniature:svg_drawing"


@pytest.fixture(autouse=True)
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISCOVER_OUTPUTS", str(tmp_path))
    return tmp_path


def folder(outputs: Path, name: str) -> Path:
    (outputs / name).mkdir()
    return outputs / name


def test_failures_are_told_with_what_came_back(outputs: Path) -> None:
    run_of = lay_out(RunOptions((f"{MODEL}:adaptive",), domain="svg_drawing", artifacts=2, engine=MODEL))
    with FakeServer(llm_brain.answer) as server:
        server.script.extend([None, "refusal", "refusal"])
        settings = ClientSettings(api_base=server.api_base, env_file=None)
        execute(run_of, folder(outputs, "models"), settings=settings)
    shown, defined = run(NAME)
    assert defined["counts"].failed == 1
    page = "".join(shown)
    assert "can&#39;t help with that" in page and "what came back" in page and "ended the conversation" in page
    assert "price unknown" in page and "judge" in page


def test_a_run_that_is_still_going_and_one_that_was_imported(outputs: Path, tmp_path: Path) -> None:
    going = lay_out(RunOptions(("draft",), domain="creative_writing", artifacts=3))
    with RunStore.write(folder(outputs, "going"), going.configuration) as store:
        register(store, going.units)
        shown, defined = run(NAME)  # while it is held open for writing
    assert defined["counts"].open == 3 and not any("Traceback" in each for each in shown)
    done = outputs / "done"
    done.mkdir()
    execute(going, done)
    with RunStore.read(done) as store:
        authors.export_runs(tmp_path / "theirs", store.conversations())
    authors.import_run(tmp_path / "theirs", folder(outputs, "zz-imported"))
    shown, defined = run(NAME)
    assert defined["folder"].name == "zz-imported" and len(defined["listed"]) == 3
    assert any("keep no verdicts" in each for each in shown)
