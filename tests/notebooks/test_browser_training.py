"""The training page in a browser: a run begun there outlives a reload, is stopped, and goes on from its checkpoint."""

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Server, workbench
from playwright.sync_api import Page, expect
from training import make_base

from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.train.training_job import TrainingJob, find_jobs, last_checkpoint

SECOND = 1000
FIELDS = {"batch": "2", "per device": "2", "max steps": "2000", "save steps": "5", "sample steps": "0"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Conversations to train on, and a tiny model as it is before pretraining."""
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "pairs").mkdir()
    options = RunOptions(("draft", "adaptive"), domain="svg_drawing", split="train", artifacts=6, candidates=1, turns=2)
    execute(lay_out(options), folder / "pairs")
    make_base(folder / "base")
    return folder


@pytest.fixture(scope="module")
def server(kept: Path) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCOVER_OUTPUTS", str(kept))
        patch.setenv("OMP_NUM_THREADS", "1")
        with workbench() as running:
            yield running


@pytest.fixture
def outputs(kept: Path) -> Iterator[Path]:
    """The same folder without what a test, or an earlier try of it, began to train."""
    yield kept
    for job in find_jobs(kept).values():
        if (status := job.status()).going:
            os.kill(status.pid, signal.SIGKILL)
            job.wait(10)
    shutil.rmtree(kept / "train", ignore_errors=True)


def test_a_run_outlives_a_reload_and_goes_on_where_it_was_stopped(
    page: Page, server: Server, outputs: Path, outside_requests: list[str]
) -> None:
    page.goto(f"{server.url}/?file=5_train.py&tab=Recipe")
    expect(page.locator('[data-ready="1"]')).to_be_attached(timeout=60 * SECOND)
    page.get_by_label("Base model", exact=True).select_option(label="another model")
    expect(page.get_by_text("paper: 16 sequences per update")).to_be_visible(timeout=60 * SECOND)
    name = page.get_by_label("Its name", exact=True)
    name.fill(str(outputs / "base"))
    name.press("Tab")
    expect(page.get_by_text("miniature: 16 sequences per update")).to_be_visible(timeout=60 * SECOND)
    page.get_by_text("Every field of SFT").click()
    for label, value in FIELDS.items():
        field = page.get_by_label(label, exact=True)
        field.fill(value)
        field.press("Tab")
        # The page is made anew after each of them; the next one would be typed into the page before.
        expect(page.get_by_text(f"sft.{label.replace(' ', '_')}={value}").first).to_be_visible(timeout=60 * SECOND)
    expect(page.get_by_text("2,000 updates")).to_be_visible(timeout=60 * SECOND)

    page.get_by_role("button", name="Train", exact=True).click()
    state = page.locator("[data-job]")
    expect(state).to_have_text("running", timeout=90 * SECOND)
    expect(page.locator("polyline").first).to_be_attached(timeout=90 * SECOND)
    (job,) = find_jobs(outputs).values()
    assert isinstance(job, TrainingJob)
    expect(page).to_have_url(re.compile(rf"job=train%2F{job.name}"))

    page.reload()
    expect(state).to_have_text("running", timeout=60 * SECOND)
    before = job.status().step
    told = page.get_by_role("status").filter(has_text=job.name)
    expect(told).to_contain_text(re.compile(r"step [\d,]+ of 2,000"))
    page.get_by_role("button", name="■ Stop").click()
    expect(state).to_have_text("stopped", timeout=60 * SECOND)
    stopped = job.status()
    assert 0 < before <= stopped.step < 2000 and last_checkpoint(job.folder) == stopped.step

    page.get_by_role("button", name="Go on with this run").click()
    expect(told).to_contain_text(f"resumed from step {stopped.step}", timeout=60 * SECOND)
    assert job.status().going and outside_requests == []
    assert page.get_by_text("An internal error occurred").count() == 0
