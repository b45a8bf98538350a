"""The simulator in a real JupyterLab: its notebook runs top to bottom, and the stage is marimo's."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Server, answers, free_port
from playwright.sync_api import Page, expect
from waiting import until

from workbench.session import Session
from workbench.views.moments import Strip, stage_of

pytestmark = pytest.mark.slow

BOOK = Path(__file__).resolve().parents[2] / "notebooks" / "simulator.ipynb"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    shutil.copy(BOOK, tmp_path)
    port = free_port()
    options = ["--no-browser", f"--ServerApp.port={port}", "--IdentityProvider.token=", "--allow-root"]
    folders = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_RUNTIME_DIR": "runtime", "DISCOVER_OUTPUTS": "outputs"}
    environment = os.environ | {name: str(tmp_path / folder) for name, folder in folders.items()}
    with (tmp_path / "lab.log").open("wb") as log:
        command = [sys.executable, "-m", "jupyterlab", *options, f"--ServerApp.root_dir={tmp_path}"]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        until(lambda: answers(f"http://127.0.0.1:{port}/api"), 180)
        yield f"http://127.0.0.1:{port}/lab/tree/{BOOK.name}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)


def played(page: Page) -> dict[str, str]:
    stage = page.locator(".st")

    def press(name: str, turn: int) -> None:
        stage.get_by_role("button", name=name, exact=True).click()
        expect(page.locator(f'.st[data-turn="{turn}"]')).to_be_visible()

    stage.get_by_text("Set-up:").click()
    press("Reset", 0)
    expect(stage.locator(".st-strip")).to_have_count(1)
    press("Next", 1)
    press("Next", 2)
    stage.get_by_role("textbox", name="Your reply").fill("Would you prefer a heron or a toucan?")
    press("Send reply", 3)
    press("One turn back", 2)
    stage.get_by_role("button", name="Branch", exact=True).click()
    expect(stage.locator(".st-strip")).to_have_count(2)
    press("Next", 3)
    parts = (".st-bar", ".st-strips", ".st-said", ".st-wants", ".st-earned", ".st-setup")
    return {part: stage.locator(part).text_content() or "" for part in parts}  # a narrow panel hides some of it


def record(session_id: str, folder: Path) -> dict[str, object]:
    session = Session.load(session_id, folder / "sessions")
    lines = enumerate(session.branches)
    scored = session.scored_turns
    return stage_of([Strip(session.label(number), each.conversation, each.origin, scored) for number, each in lines])


def test_in_a_real_jupyterlab_it_steps_branches_and_takes_a_reply_as_in_marimo(
    lab: str, page: Page, server: Server, outside_requests: list[str], tmp_path: Path
) -> None:
    page.goto(lab)
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.locator(".st-frame").first.wait_for()
    expect(page.locator(".st-frame")).to_have_count(2)
    # A drawn value stands below, and its style sheet comes after the stage's.
    page.locator(".jp-RenderedHTMLCommon .dl-chat").wait_for()
    expect(page.get_by_text("discovered, rewards [").first).to_be_attached()
    expect(page.get_by_role("combobox", name="Assistant")).to_have_value("adaptive")
    label = "drawing => getComputedStyle(drawing, '::after').content"
    assert {drawing.evaluate(label) for drawing in page.locator(".st .ds-met-drawing").all()} == {"none"}
    in_lab = played(page)
    narrow = (
        "row => [...row.children].some(part => part.scrollHeight > 60)"  # JupyterLab would wrap a name word by word
    )
    assert not any(row.evaluate(narrow) for row in page.locator(".st-sums > div").all())
    newest = max((tmp_path / "outputs" / "sessions").glob("*.json"), key=lambda path: path.stat().st_mtime)

    page.goto(f"{server.url}/?file=3_conversation.py")
    page.locator(".st-frame").first.wait_for()
    in_marimo = played(page)
    session_id = page.url.split("session=")[1].split("&")[0]

    assert in_lab == in_marimo
    assert record(newest.stem, tmp_path / "outputs") == record(session_id, server.outputs)
    assert [url for url in outside_requests if "jupyter" not in url] == []
