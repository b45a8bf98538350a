"""The study in a real browser: lines that break, reloads, and what axe-core says of every step."""

import random
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from study_people import LONG, BrowserPerson, with_chat

from workbench.serve import serving
from workbench.study.design import Study
from workbench.study.desk import Desk
from workbench.study.server import StudyServer


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_every_step_is_accessible_and_fits(browser: Browser, desk: Desk, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True)  # type: ignore[arg-type]
    page = context.new_page()

    def look() -> None:
        violations = Axe().run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    with serving(StudyServer(desk).app) as url:
        page.goto(url)
        look()
        page.get_by_label("I am 18").check()
        page.get_by_role("button", name="Begin").click()
        page.get_by_role("heading", name="A few questions").wait_for()
        for group in page.locator("fieldset").all():
            group.get_by_label("yes").check()
        page.get_by_role("button", name="Go on").click()
        page.get_by_role("heading", name="Your task").wait_for()
        look()
        page.locator("input[type=radio]").first.check()
        page.get_by_role("button", name="Start").click()
        page.get_by_label("Your first message").fill("mail kim@example.com about the sea")
        page.get_by_role("button", name="Send").click()
        page.get_by_role("alert").wait_for()
        look()
        page.get_by_label("Send it as it is").check()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.locator("li[data-role=assistant]").wait_for()
        assert page.evaluate("document.activeElement.name") == "text", "one goes on typing"
        page.keyboard.type("warmer, please")
        page.keyboard.press("Control+Enter")
        page.locator(".st-scale").wait_for()
        look()
        page.get_by_label("7", exact=True).check()
        page.get_by_role("button", name="Go on").click()
        page.get_by_role("button", name="Finish the conversation").click()
        page.get_by_role("heading", name="Your opinion").wait_for()
        for group in page.locator("fieldset").all():
            group.get_by_label("8", exact=True).check()
        for area in page.locator("textarea").all():
            area.fill(LONG)
        look()
        page.get_by_role("button", name="Finish").click()
        page.get_by_role("heading", name="Thank you").wait_for()
        look()
        page.goto(f"{url}/withdraw")
        look()
    context.close()


def test_a_lost_line_and_reloads_lose_nothing(
    page: Page, study: Study, tmp_path: Path, outside_requests: list[str]
) -> None:
    desk = Desk.open(with_chat(study, minimum=3, maximum=4), tmp_path / "study")
    with serving(StudyServer(desk).app) as url:
        person = BrowserPerson(page, "kim", random.Random(4), reload=0.4, drop=0.4)
        assert person.take_part(url) == "Thank you"
    [(_, progress)] = desk.everybody()
    assert [exchange.said["text"] for exchange in progress.round.exchanges] == person.said
    assert progress.closed == "done" and person.drops >= 2 and person.reloads >= 2 and not outside_requests
