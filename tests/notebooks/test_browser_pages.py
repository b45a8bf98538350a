"""Pages and every step of the lessons as they are served: no error, nothing too wide, nothing hard to use.

`test_charts.py` computes the contrast of both themes; a page looks at itself in the dark where it has charts.
"""

import pytest
from accessible import PHONE, SECOND, in_the_way, resize, serious, settle
from browser import Server
from playwright.sync_api import Page, expect

from workbench.bar import CLASS, CODE, PAGES

LESSONS = [each.file for each in CLASS]
# Pages with open code have the same furniture: two of them stand for all.
THERE = [each.file for each in (*PAGES, CODE[1], CODE[-1])]
IN_THE_DARK = ("2_intents.py", "6_compare.py", "7_trust.py")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*THERE, *LESSONS])
def test_nothing_stands_in_anyones_way(name: str, server: Server, page: Page, outside_requests: list[str]) -> None:
    page.goto(f"{server.url}/?file={name}")
    expect(page.locator("#page-bar")).to_be_visible()
    page.locator("#root h1").first.wait_for()
    settle(page)
    assert error_boxes(page) == 0
    found = in_the_way(page, dark=name in IN_THE_DARK)
    if name in LESSONS:
        page.get_by_role("button", name="This is my guess").click()
        expect(page.get_by_text("Choose one of the answers first.")).to_be_visible()
        page.get_by_role("radio").first.click()
        page.get_by_role("button", name="This is my guess").click()
        expect(page.get_by_text("The last one has the answer.")).to_be_visible()
        resize(page, PHONE)
        for step in page.get_by_role("tab").all():
            step.click()
            settle(page, SECOND // 3)
            if (check := page.get_by_role("button", name="Check")).count():  # the answer as it stands, and its hint
                check.click()
                settle(page, SECOND // 3)
            found += [f"{step.inner_text()}: {line}" for line in serious(page)]
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        expect(page.get_by_text("You guessed")).to_be_visible()
    assert not found, "\n".join(found)
    assert outside_requests == []


def error_boxes(page: Page) -> int:
    """marimo hides what a cell raised from the page, or what it cannot show, and says this instead."""
    said = ("An internal error occurred", "Something went wrong")
    return sum(page.get_by_text(each).count() for each in said) + page.locator(".text-error").count()
