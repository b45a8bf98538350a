"""The evaluation page in a browser: the answer, a press on a number, two side by side, a reload that stays there."""

import re

from browser import Server
from playwright.sync_api import Page, expect

SECOND = 1000


def test_from_the_answer_to_the_sentence_that_made_the_difference(
    page: Page, server: Server, outside_requests: list[str]
) -> None:
    page.goto(f"{server.url}/?file=60_evaluate.py&run=stories")
    expect(page.locator(".ds-answer")).to_contain_text("has the highest discovery", timeout=40 * SECOND)
    expect(page.get_by_text("certified user", exact=False).first).to_be_visible()
    cell = page.locator(".ds-results .ds-cell")
    expect(cell).to_have_count(18)

    # A number: its conversations, the lowest first, and one of them open.
    chart = page.get_by_role("img", name=re.compile("^discovery, mean over artifacts"))
    expect(chart).to_have_count(1, timeout=45 * SECOND)
    page.get_by_title("ask, interactivity: show its conversations").click()
    expect(page.get_by_role("heading", name="Behind a number: ask, interactivity")).to_be_visible(timeout=40 * SECOND)
    assert "file=61_behind_a_number.py" in page.url and "run=stories" in page.url
    bars = page.get_by_role("group", name="6 conversations").get_by_role("button")
    expect(bars).to_have_count(6)
    expect(page.get_by_role("heading", name=re.compile("^ask with the user of creative_writing-eval-"))).to_be_visible()
    expect(page.locator(".dl-outline")).to_have_count(1)

    # A pair: both with the same user, where they part, and the sentences that only one of them had.
    page.go_back()
    page.locator(".ds-pairs .ds-cell").first.click(timeout=40 * SECOND)
    expect(page.get_by_role("heading", name="Behind a number: adaptive against draft")).to_be_visible(
        timeout=40 * SECOND
    )
    expect(page.locator(".ds-parting")).to_contain_text("They")
    expect(page.locator(".dl-outline")).to_have_count(2)
    expect(page.locator(".ds-apart")).to_have_count(1)
    mark, quote = page.locator(".ds-column mark").first, page.locator(".ds-only .ds-quote").first
    expect(mark).to_be_visible()
    assert quote.inner_text() and page.locator(".ds-differs").count() > 0
    quoted = {" ".join(each.split()) for each in page.locator(".ds-only .ds-quote").all_inner_texts()}
    assert " ".join(mark.inner_text().split()) in quoted

    page.reload()
    expect(page.get_by_role("heading", name="Behind a number: adaptive against draft")).to_be_visible(
        timeout=40 * SECOND
    )
    assert page.get_by_text("An internal error occurred").count() == 0
    assert outside_requests == []
