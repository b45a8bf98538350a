"""Choices are in the address of a page and come back in a browser without a history, also from an old address.

`test_address.py` checks the same for every control of the pages, without a browser.
"""

import re

from browser import Server, asked_outside
from playwright.sync_api import BrowserContext, Page, expect


def test_choices_come_back_from_the_address(server: Server, page: Page, context: BrowserContext) -> None:
    page.goto(f"{server.url}/?file=60_evaluate.py&run=stories")
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Measure", exact=True).select_option(label="kTok")
    expect(page).to_have_url(re.compile("file=6_compare.py.*measure=kTok"))
    expect(page.locator(".ds-answer")).to_contain_text("lowest kTok")
    outside, again = asked_outside(context), context.new_page()
    again.goto(page.url)
    again.get_by_role("button", name="Settings").click()
    expect(again.get_by_label("Measure", exact=True)).to_have_value("kTok")
    expect(again.locator(".ds-answer")).to_contain_text("lowest kTok")
    assert again.get_by_text("An internal error occurred").count() == 0 and outside == []
