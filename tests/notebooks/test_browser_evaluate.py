"""Compare in a browser: the answer, a row, two conversations side by side, and a reload that keeps them."""

from browser import Server
from playwright.sync_api import Page, expect

TABS_TO_EVALUATE = 5


def test_from_the_answer_to_the_sentence_that_made_the_difference(
    page: Page, server: Server, outside_requests: list[str]
) -> None:
    page.goto(f"{server.url}/?file=6_compare.py&run=stories")
    answer = page.locator(".ds-answer")
    expect(answer).to_contain_text("discovers the largest share of the hidden intents")
    expect(page.get_by_role("link", name="validated user")).to_be_visible()
    evaluate = page.get_by_role("button", name="Evaluate", exact=True)
    box = evaluate.bounding_box()
    assert box and box["y"] + box["height"] < 600
    page.locator("h1").first.click()
    for _ in range(TABS_TO_EVALUATE):
        page.keyboard.press("Tab")
        if evaluate.evaluate("element => element.matches(':focus')"):
            break
    else:
        raise AssertionError("Evaluate is further than five tab stops")

    page.goto(f"{server.url}/?file=6_compare.py&run=stories&assistant=adaptive&against=draft")
    rows = page.get_by_role("checkbox", name="Select row")
    expect(rows.nth(3)).to_be_visible()  # three assistants, then conversations
    rows.nth(3).click()
    expect(page.get_by_text("Only adaptive discovered:")).to_be_visible()
    expect(page.get_by_role("columnheader", name="in the reply").first).to_be_visible()
    page.get_by_role("button", name="Turn by turn").click()
    expect(page.locator(".ds-apart:visible").first).to_be_visible()

    page.reload()
    expect(page.get_by_text("Only adaptive discovered:")).to_be_visible()
    assert page.get_by_text("An internal error occurred").count() == 0
    assert outside_requests == []
