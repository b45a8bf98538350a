"""The training page in a browser: a run begun there outlives a reload, is stopped, and goes on from its checkpoint."""

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from browser import Server
from playwright.sync_api import Page, expect
from training import make_base

from discover_lib.train.training_job import TrainingJob, find_jobs, last_checkpoint

CHANGED = "batch=2 per_device=2 eval_steps=0 sample_steps=0"


@pytest.fixture
def outputs(server: Server) -> Iterator[Path]:
    """The server's runs and a tiny model as it is before pretraining; what a test began to train is removed."""
    make_base(server.outputs / "base")
    yield server.outputs
    for job in find_jobs(server.outputs).values():
        if (status := job.status()).going:
            os.kill(status.pid, signal.SIGKILL)
            job.wait(60)
    shutil.rmtree(server.outputs / "train", ignore_errors=True)


def test_a_run_outlives_a_reload_and_goes_on_where_it_was_stopped(
    page: Page, server: Server, outputs: Path, outside_requests: list[str]
) -> None:
    begins = {"file": "5_train.py", "tab": "Recipe", "base": "another model", "model": str(outputs / "base")}
    page.goto(f"{server.url}/?{urlencode(begins | {'set': CHANGED})}")
    expect(page.get_by_text("2 sequences per update, 2 at a time")).to_be_visible()
    changes = page.get_by_label("Changes to the recipe", exact=True)
    changes.fill(f"{CHANGED} max_steps=2000")
    changes.press("Tab")
    expect(page.get_by_text("2,000 updates")).to_be_visible()

    page.get_by_role("button", name="Train", exact=True).click()
    state = page.locator("[data-job]")
    expect(state).to_have_text("running")
    expect(page.locator("polyline[data-series]").first).to_be_attached()
    (job,) = find_jobs(outputs).values()
    assert isinstance(job, TrainingJob)
    expect(page).to_have_url(re.compile(rf"job=train%2F{job.folder.name}"))

    page.reload()
    expect(state).to_have_text("running")
    told = page.get_by_role("status").filter(has_text="update")
    expect(told).to_contain_text(re.compile(r"update [\d,]+ of 2,000"))
    before = job.status().step
    page.get_by_role("button", name="■ Stop").click()
    expect(state).to_have_text("stopped")
    stopped = job.status()
    assert 0 < before <= stopped.step < 2000 and last_checkpoint(job.folder) == stopped.step

    page.get_by_role("button", name="Go on with this run").click()
    expect(told).to_contain_text(f"resumed from update {stopped.step}")
    assert job.status().going and outside_requests == []
    assert page.get_by_text("An internal error occurred").count() == 0
