"""Choices stand in a page's address and come back in a browser that has never been here.

`test_address.py` holds the same of every control of the pages, without a browser.
"""

import re

from browser import Server, asked_outside
from playwright.sync_api import Browser, Page, expect

SECOND = 1000


def test_choices_come_back_from_the_address(server: Server, page: Page, browser: Browser) -> None:
    page.goto(f"{server.url}/?file=60_evaluate.py", timeout=60 * SECOND)
    for label, name in (("Measure", "measure"), ("Rules", "rules")):
        page.get_by_label(label, exact=True).select_option(index=1, timeout=60 * SECOND)
        expect(page).to_have_url(re.compile(f"{name}="), timeout=60 * SECOND)
    fresh = browser.new_context()
    outside, again = asked_outside(fresh), fresh.new_page()
    again.goto(page.url, timeout=60 * SECOND)
    for label in ("Measure", "Rules"):
        chosen = page.get_by_label(label, exact=True).input_value()
        expect(again.get_by_label(label, exact=True)).to_have_value(chosen, timeout=60 * SECOND)
    assert again.get_by_text("An internal error occurred").count() == 0 and outside == []
    fresh.close()
