"""The study in a real browser: lines that break, reloads, and what axe-core says of every step."""

import random
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import fresh_profile
from playwright.sync_api import Browser, Page
from study_people import BrowserPerson, with_chat

from workbench.serve import serving
from workbench.study.design import Study
from workbench.study.desk import Desk
from workbench.study.study_server import StudyServer


class Looking(BrowserPerson):
    def look(self) -> None:
        violations = Axe().run(self.page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in violations] == []
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    def answer(self, step: str) -> None:
        self.look()
        super().answer(step)


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_every_step_is_accessible_and_fits(browser: Browser, desk: Desk, width: int, scheme: str) -> None:
    context = fresh_profile(browser, width, 844, color_scheme=scheme, bypass_csp=True)
    person = Looking(context.new_page(), random.Random(1))
    with serving(StudyServer(desk).app) as url:
        assert person.take_part(url) == "Thank you"
        person.look()
        person.page.goto(f"{url}/withdraw")
        person.look()
    context.close()


def test_cuts_and_reloads_lose_nothing(page: Page, study: Study, tmp_path: Path, outside_requests: list[str]) -> None:
    desk = Desk.open(with_chat(study, minimum=3, maximum=4), tmp_path / "study")
    with serving(StudyServer(desk).app) as url:
        person = BrowserPerson(page, random.Random(4), reload=0.4, drop=0.4)
        assert person.take_part(url) == "Thank you"
    [(_, progress)] = desk.everybody()
    assert [exchange.said["text"] for exchange in progress.exchanges] == person.said
    assert progress.closed == "done" and person.drops >= 2 and person.reloads >= 2 and not outside_requests
