"""Choices are in the address of a page and come back in a browser without a history, also from an old address.

`test_address.py` checks the same for every control of the pages, without a browser.
"""

import re

from accessible import SECOND
from browser import Server, asked_outside
from playwright.sync_api import Browser, Page, expect


def test_choices_come_back_from_the_address(server: Server, page: Page, browser: Browser) -> None:
    page.goto(f"{server.url}/?file=60_evaluate.py&run=stories")
    page.get_by_role("button", name="More settings").click(timeout=60 * SECOND)
    page.get_by_label("Measure", exact=True).select_option(label="kTok", timeout=60 * SECOND)
    expect(page).to_have_url(re.compile("file=6_compare.py.*measure=kTok"), timeout=60 * SECOND)
    expect(page.locator(".ds-answer")).to_contain_text("lowest kTok", timeout=60 * SECOND)
    fresh = browser.new_context()
    outside, again = asked_outside(fresh), fresh.new_page()
    again.goto(page.url)
    again.get_by_role("button", name="More settings").click(timeout=60 * SECOND)
    expect(again.get_by_label("Measure", exact=True)).to_have_value("kTok", timeout=60 * SECOND)
    expect(again.locator(".ds-answer")).to_contain_text("lowest kTok", timeout=60 * SECOND)
    assert again.get_by_text("An internal error occurred").count() == 0 and outside == []
    fresh.close()
