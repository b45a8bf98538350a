"""The simulator page in a browser, the way a person uses it."""

from collections.abc import Iterator

import pytest
from browser import Server
from playwright.sync_api import Locator, Page, expect

SECOND = 1000
OPENS_AT = 1


class Simulator:
    """The page, by what a person sees on it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda message: self.hear(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.open(url)

    def hear(self, complaint: str) -> None:
        if "service worker" not in complaint:  # the tests' browser allows none
            self.complaints.append(complaint)

    def open(self, url: str) -> None:
        self.page.goto(url)
        expect(self.page.locator(".st-frame").first).to_be_visible(timeout=60 * SECOND)
        expect(self.graph.get_by_role("tree", name="Intents")).to_be_visible(timeout=60 * SECOND)

    @property
    def stage(self) -> Locator:
        return self.page.locator(".st")

    @property
    def graph(self) -> Locator:
        return self.page.locator(".st-map")

    @property
    def messages(self) -> Locator:
        return self.stage.locator(".st-said .dl-msg")

    def button(self, name: str) -> Locator:
        return self.stage.get_by_role("button", name=name, exact=True)

    def at_turn(self, turn: int) -> None:
        expect(self.page.locator(f'.st[data-turn="{turn}"]')).to_be_visible(timeout=60 * SECOND)

    def step(self, name: str, turn: int) -> None:
        self.button(name).click()
        self.at_turn(turn)

    def begin_anew(self) -> None:
        self.step("Reset", 0)
        expect(self.stage.locator(".st-strip")).to_have_count(1)

    def places(self) -> list[str]:
        """The intents of the map in their order."""
        return self.graph.get_by_role("treeitem").evaluate_all("cells => cells.map(cell => cell.style.gridArea)")

    def drawn(self) -> str:
        """The cells of the map, with their states and marks."""
        return str(self.graph.get_by_role("tree").inner_html())


@pytest.fixture
def simulator(page: Page, server: Server, outside_requests: list[str]) -> Iterator[Simulator]:
    opened = Simulator(page, f"{server.url}/?file=3_conversation.py")
    yield opened
    assert opened.complaints == []
    assert outside_requests == []


def test_nodes_stay_where_they_are_and_a_session_outlives_a_reload(simulator: Simulator) -> None:
    """Replies, steps back and branches: `test_jupyter_stage.py`, in JupyterLab and here."""
    simulator.begin_anew()
    places, drawn = simulator.places(), simulator.drawn()
    assert len(places) > 5
    simulator.step("Next", 1)
    simulator.step("Next", 2)
    assert simulator.places() == places and simulator.drawn() != drawn
    simulator.open(simulator.page.url)
    simulator.at_turn(2)
    assert simulator.places() == places
    expect(simulator.messages).to_have_count(5)


def test_after_the_last_scored_turn_one_can_go_on_and_branches_are_compared(simulator: Simulator) -> None:
    simulator.button("Play").click()
    simulator.at_turn(5)
    expect(simulator.messages.last).to_contain_text("not part of the score")
    simulator.step("Go on anyway", 6)
    expect(simulator.stage.locator(".st-status")).to_contain_text("not scored")
    simulator.stage.locator(".st-frame").nth(2).click()
    simulator.at_turn(2)
    simulator.stage.get_by_role("textbox", name="Your reply").fill("Would you prefer a heron or a toucan?")
    simulator.step("Send as the assistant", 3)
    two_lines_stand_side_by_side_with_the_place_where_they_part(simulator)


def test_what_is_looked_at_without_a_step(simulator: Simulator) -> None:
    """One opening of the page for what changes nothing."""
    what_stands_together_lights_up_together(simulator)
    a_number_explains_itself_by_keyboard(simulator)
    next_and_the_reply_are_in_one_view(simulator)


def what_stands_together_lights_up_together(simulator: Simulator) -> None:
    line = simulator.stage.locator(".st-line[data-ids]").first
    line.hover()
    expect(simulator.stage.locator(".im-cell[data-lit]")).to_have_count(1)
    simulator.stage.locator(".st-title").first.hover()
    expect(simulator.stage.locator("[data-lit]")).to_have_count(0)
    line.focus()
    expect(simulator.stage.locator(".im-cell[data-lit]")).to_have_count(1)


def two_lines_stand_side_by_side_with_the_place_where_they_part(simulator: Simulator) -> None:
    simulator.button("compare branch 2").click()
    beside = simulator.stage.locator(".st-beside")
    expect(beside).to_contain_text("here they part")
    expect(beside.locator(".st-sentence")).to_contain_text("discovered")
    expect(simulator.stage.locator(".st-said")).to_be_hidden()
    simulator.button("Back to one conversation").click()
    expect(simulator.stage.locator(".st-said")).to_be_visible()


def a_number_explains_itself_by_keyboard(simulator: Simulator) -> None:
    number = simulator.stage.locator(".st-sums .st-number").last
    number.focus()
    simulator.page.keyboard.press("Enter")
    told = simulator.stage.get_by_role("dialog")
    expect(told).to_contain_text("reward(conversation.tree")
    simulator.page.keyboard.press("Escape")
    expect(told).to_be_hidden()
    expect(number).to_be_focused()


def next_and_the_reply_are_in_one_view(simulator: Simulator) -> None:
    page = simulator.page
    for width, height in ((390, 844), (1024, 768), (1400, 900)):
        page.set_viewport_size({"width": width, "height": height})
        simulator.open(page.url)  # nobody turns a desk into a phone
        simulator.at_turn(OPENS_AT)
        page.wait_for_timeout(SECOND)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for seen in (simulator.button("Next"), simulator.stage.locator(f'.dl-turn[data-turn="{OPENS_AT}"]')):
            box = seen.bounding_box()
            assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= height
    where = simulator.button("Next").bounding_box()
    simulator.step("One turn back", OPENS_AT - 1)
    assert simulator.button("Next").bounding_box() == where, "nothing jumps under the pointer"
