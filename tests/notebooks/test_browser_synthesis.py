"""The page Data in a browser, the way a person uses it: make, look, filter, export."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from browser import Server
from playwright.sync_api import Locator, Page, expect

from discover_lib.dataset.export import read_rows
from discover_lib.runs.store import RunStore

SECOND = 1000


class Synthesis:
    """The page, by what a person sees on it."""

    def __init__(self, page: Page, server: Server, asked: str = "") -> None:
        self.page = page
        self.outputs = server.outputs
        self.open(f"{server.url}/?file=4_data.py{asked}")

    def open(self, url: str) -> None:
        self.page.goto(url)
        expect(self.page.locator('.dp-side[data-side="chosen"]').first).to_be_visible(timeout=60 * SECOND)

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name, exact=True).click()

    @property
    def status(self) -> Locator:
        return self.page.get_by_role("status").filter(has_text="conversations")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def choose(self, label: str, value: str) -> None:
        self.page.get_by_label(label, exact=True).select_option(label=value)

    @property
    def kept(self) -> int:
        return int(self.page.locator("[data-kept]").get_attribute("data-kept") or -1)

    @property
    def run(self) -> Path:
        """The folder of the run that the address names."""
        return self.outputs / parse_qs(urlsplit(self.page.url).query)["run"][0]


@pytest.fixture
def synthesis(page: Page, server: Server, outside_requests: list[str]) -> Iterator[Synthesis]:
    yield Synthesis(page, server)
    assert page.get_by_text("An internal error occurred").count() == 0
    assert outside_requests == []


def test_conversations_become_rows_that_can_be_trusted(synthesis: Synthesis) -> None:
    page = synthesis.page
    page.get_by_text("The next run: assistants").click()
    synthesis.choose("Domain", "Creative writing")
    synthesis.choose("Users", "10")
    expect(page.get_by_text("10 users × 5 turns × 3 replies").last).to_be_visible(timeout=60 * SECOND)
    synthesis.button("Synthesize").click()
    expect(synthesis.status).to_contain_text(re.compile("creative.writing.*10 of 10"), timeout=60 * SECOND)
    with RunStore.read(synthesis.run) as store:
        assert store.configuration["kind"] == "synthesize" and store.counts().finished == 10

    # A pair: why it is one, both replies, both receipts.
    page.locator("tbody tr").filter(has_not_text="tie").get_by_role("checkbox").first.click()
    expect(page.locator("[data-pair]")).to_be_visible(timeout=60 * SECOND)
    pair = page.locator("[data-pair]")
    expect(pair.locator(".dp-why")).to_contain_text(" is chosen: ")
    expect(pair.locator(".dp-side")).to_have_count(2)
    expect(pair.locator(".dl-receipt")).to_have_count(2)

    # Rows: how many are kept, and the text that a trainer reads.
    synthesis.tab("Rows")
    expect(page.locator("[data-kept]")).to_be_attached(timeout=60 * SECOND)
    before = synthesis.kept
    page.get_by_role("checkbox", name="Select row").nth(1).click()
    expect(page.locator('.dp-piece[data-loss="1"]').first).to_be_visible(timeout=60 * SECOND)

    # A filter: the rows that it leaves out are counted, and everything adds up.
    page.get_by_text("Label under other rules, and filter").click()
    slider = page.get_by_role("slider").nth(3)  # after p, τ and λ
    slider.focus()
    for _ in range(20):
        slider.press("ArrowRight")
    expect(page.get_by_text("left out: margin")).to_be_visible(timeout=60 * SECOND)
    assert 0 < synthesis.kept < before
    kept = synthesis.kept

    synthesis.tab("Files")
    expect(page.get_by_text("--min-margin 1 ").first).to_be_visible(timeout=60 * SECOND)
    synthesis.button("Write rows").click()
    exported = page.get_by_role("log", name="Written")
    expect(exported).to_contain_text("prompt rows", timeout=60 * SECOND)
    folder = synthesis.outputs / "rows" / synthesis.run.name / "preference"
    rows = [row for split in read_rows(folder).values() for row in split]
    assert len(rows) == kept and min(row["margin"] for row in rows) >= 1
    about = json.loads((folder / "dataset.json").read_text("utf-8"))
    assert about["filters"]["min_margin"] == 1 and about["considered"] == about["kept"] + sum(about["dropped"].values())
