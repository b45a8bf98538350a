"""The page Data in a browser, the way a person uses it: make, look, filter, export."""

import json
from urllib.parse import parse_qs, urlsplit

from browser import Server
from playwright.sync_api import Page, expect

from discover_lib.dataset.export import read_rows
from discover_lib.runs.store import RunStore


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
    expect(made).to_contain_text("10 of 10")
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
    settings = page.get_by_role("button", name="Settings")
    if settings.get_attribute("aria-expanded") != "true":  # the fold closes if the page makes it again
        settings.click()
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
