"""Data and Train in a browser: rows are made, filtered, exported; a run outlives a reload, is stopped and resumed."""

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from browser import Server
from playwright.sync_api import Page, expect
from training import make_base

from discover_lib.dataset.export import read_rows
from discover_lib.runs.store import RunStore
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


def test_a_run_outlives_a_reload_and_a_stop(
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
    expect(page.locator("polyline").first).to_be_attached()
    (job,) = find_jobs(outputs).values()
    assert isinstance(job, TrainingJob)
    expect(page).to_have_url(re.compile(rf"job=train%2F{job.folder.name}"))

    page.reload()
    expect(state).to_have_text("running")
    before = job.status().step
    told = page.get_by_role("status").filter(has_text=job.folder.name)
    expect(told).to_contain_text(re.compile(r"step [\d,]+ of 2,000"))
    page.get_by_role("button", name="■ Stop").click()
    expect(state).to_have_text("stopped")
    stopped = job.status()
    assert 0 < before <= stopped.step < 2000 and last_checkpoint(job.folder) == stopped.step

    page.get_by_role("button", name="Go on with this run").click()
    expect(told).to_contain_text(f"resumed from step {stopped.step}")
    assert job.status().going and outside_requests == []
    assert page.get_by_text("An internal error occurred").count() == 0


def rows_kept(page: Page) -> int:
    return int(page.locator("[data-kept]").get_attribute("data-kept") or -1)


def test_conversations_become_rows_that_can_be_trusted(page: Page, server: Server, outside_requests: list[str]) -> None:
    page.goto(f"{server.url}/?file=4_data.py")
    expect(page.locator('.dp-side[data-side="chosen"]').first).to_be_visible()
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Domain", exact=True).select_option(label="Creative writing")
    page.get_by_label("Users", exact=True).select_option(label="10")
    expect(page.get_by_text("10 users × 5 turns × 3 replies").last).to_be_visible()
    page.get_by_role("button", name="Synthesize", exact=True).click()
    made = page.get_by_role("status").filter(has_text="conversations")
    expect(made).to_contain_text(re.compile("creative.writing.*10 of 10"))
    run = server.outputs / parse_qs(urlsplit(page.url).query)["run"][0]
    with RunStore.read(run) as store:
        assert store.configuration["kind"] == "synthesize" and store.counts().finished == 10

    # A pair: why it is one, both replies, both receipts.
    page.locator("tbody tr").filter(has_not_text="tie").get_by_role("checkbox").first.click()
    pair = page.locator("[data-pair]")
    expect(pair).to_be_visible()
    expect(pair.locator(".dp-why")).to_contain_text(" is chosen: ")
    expect(pair.locator(".dp-side")).to_have_count(3)
    expect(pair.locator(".dl-receipt")).to_have_count(2)

    # Rows: how many are kept, and the text that a trainer reads.
    page.get_by_role("tab", name="Rows", exact=True).click()
    before = rows_kept(page)
    page.get_by_role("checkbox", name="Select row").nth(1).click()
    expect(page.locator('.dp-piece[data-loss="1"]').first).to_be_visible()

    # A filter: the rows that it leaves out are counted, and everything adds up.
    slider = page.get_by_role("slider").nth(3)  # after p, τ and λ
    slider.focus()
    for _ in range(20):
        slider.press("ArrowRight")
    page.get_by_role("tab", name="Files", exact=True).click()
    expect(page.get_by_text("--min-margin 1 ").first).to_be_visible()  # the page has read the last press
    page.get_by_role("tab", name="Rows", exact=True).click()
    expect(page.get_by_text("left out: margin")).to_be_visible()
    kept = rows_kept(page)
    assert 0 < kept < before
    page.get_by_role("tab", name="Files", exact=True).click()
    page.get_by_role("button", name="Write rows", exact=True).click()
    expect(page.get_by_role("log", name="Written")).to_contain_text("prompt rows")
    folder = server.outputs / "rows" / run.name / "preference"
    rows = [row for split in read_rows(folder).values() for row in split]
    assert len(rows) == kept and min(row["margin"] for row in rows) >= 1
    about = json.loads((folder / "dataset.json").read_text("utf-8"))
    assert about["filters"]["min_margin"] == 1 and about["considered"] == about["kept"] + sum(about["dropped"].values())
    assert page.get_by_text("An internal error occurred").count() == 0
    assert outside_requests == []
