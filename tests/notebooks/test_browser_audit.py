"""Compare and Trust in a browser: the answer, two conversations side by side, a validated user, a disagreement."""

import re

from browser import Server
from playwright.sync_api import Page, expect

from discover_lib import Rules
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.tasks.certify import FILE, Certify, certify
from discover_lib.tasks.waist import Run, status_of

ENOUGH_TO_STOP = 40  # artifacts: a panel that takes some seconds


def test_the_page_shows_leaks_and_opens_disagreements(page: Page, server: Server, outside_requests: list[str]) -> None:
    page.goto(f"{server.url}/?file=7_trust.py&run=stories")
    expect(page.get_by_text("validated: all ")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^0 of \d+ user turns reveal an undiscovered intent"))).to_be_visible()
    page.get_by_role("button", name="Disagreements").click()
    page.get_by_role("checkbox", name="Select row").last.click()
    expect(page.get_by_text("Is [", exact=False).first).to_be_visible()
    assert outside_requests == []


def test_a_user_is_certified_in_place_stopped_and_gone_on_with_after_a_reload(page: Page, server: Server) -> None:
    folder = server.outputs / "of-its-own"
    folder.mkdir(exist_ok=True)
    rules = Rules.paper().replace(p=0.45)
    execute(lay_out(RunOptions(("draft",), domain="svg_drawing", artifacts=1, rules=rules)), folder)
    place = certify.folder(Certify(run=Run(folder), artifacts=ENOUGH_TO_STOP))

    def opened() -> None:
        page.goto(f"{server.url}/?file=7_trust.py&run=of-its-own")
        page.get_by_role("button", name="Settings").click()
        box = page.get_by_label("Number of artifacts for the reference assistants")
        expect(box).to_be_visible()
        box.fill(str(ENOUGH_TO_STOP))
        box.press("Enter")

    opened()
    page.get_by_role("button", name="Validate this user").click()
    page.get_by_role("button", name="■ Stop").click()
    expect(page.get_by_text("stopped: ")).to_be_visible()
    assert (status := status_of(place)).done < status.total
    page.reload()
    opened()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("scripted assistants, n =").first).to_be_visible()
    assert (folder / FILE).is_file() and status_of(place).state == "finished"


TABS_TO_EVALUATE = 5


def test_from_the_answer_to_the_decisive_sentence(page: Page, server: Server, outside_requests: list[str]) -> None:
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
