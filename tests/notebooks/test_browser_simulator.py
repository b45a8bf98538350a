"""The simulator page in a browser, the way a person uses it."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from browser import Server
from playwright.sync_api import Locator, Page, expect

SECOND = 1000


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
        expect(self.page.locator(".js-plotly-plot .scatterlayer")).to_have_count(1, timeout=30 * SECOND)  # the tree
        expect(self.page.locator(".dl-chart svg")).to_be_visible()

    @property
    def sim(self) -> Locator:
        """The simulator itself; below it the page shows the same step in Python."""
        return self.page.locator(".sim")

    @property
    def trees(self) -> Locator:
        return self.page.locator(".sim-tree")

    @property
    def messages(self) -> Locator:
        return self.sim.locator(".dl-msg")

    @property
    def status(self) -> Locator:
        return self.sim.get_by_role("status")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name)

    def at_turn(self, turn: int) -> None:
        expect(self.page.locator(f'.sim[data-turn="{turn}"]')).to_be_visible(timeout=20 * SECOND)

    def step(self, name: str, turn: int) -> None:
        self.button(name).click()
        self.at_turn(turn)

    @property
    def turn(self) -> int:
        return int(self.page.locator(".sim").get_attribute("data-turn") or 0)

    def play_and_stop(self) -> int:
        """Auto-play at least one turn and stop it; the turn at which it stood still.

        A busy machine may play to the end before the page gets a word in; then it is tried again from the start.
        """
        for _ in range(3):
            self.button("Auto-play").click()
            expect(self.page.locator('.sim:not([data-turn="0"])')).to_be_visible(timeout=20 * SECOND)
            self.button("Stop").click()
            expect(self.status).not_to_contain_text("playing", timeout=20 * SECOND)
            if "is over" not in self.page.locator("body").inner_text():
                return self.turn
            self.step("Reset", 0)
        raise AssertionError("three times the conversation was over before Stop was heard")

    def places(self) -> list[tuple[float, float]]:
        """Where every node is in the picture, to a hundredth of a pixel: the points of the largest trace."""
        boxes = self.trees.locator(".scatterlayer").evaluate("""layer => {
            const frame = layer.closest('.svg-container').getBoundingClientRect();
            const traces = [...layer.querySelectorAll('.trace')].map(trace => [...trace.querySelectorAll('.point')]);
            const nodes = traces.reduce((most, trace) => trace.length > most.length ? trace : most, []);
            const boxes = nodes.map(node => node.getBoundingClientRect());
            return boxes.map(box => [box.x - frame.x, box.y - frame.y]);
        }""")
        return [(round(x, 2), round(y, 2)) for x, y in boxes]

    def drawn(self) -> str:
        """What is drawn over the plain nodes: marks, ticks, glow."""
        return str(self.trees.locator(".scatterlayer").inner_html())


@pytest.fixture
def simulator(page: Page, server: Server, outside_requests: list[str]) -> Iterator[Simulator]:
    opened = Simulator(page, f"{server.url}/?file=20_simulator.py")
    yield opened
    assert opened.complaints == []
    assert outside_requests == []


def test_a_session_from_start_to_reload(simulator: Simulator) -> None:
    page = simulator.page
    places, drawn = simulator.places(), simulator.drawn()
    assert len(places) > 5
    expect(simulator.messages).to_have_count(1)

    simulator.step("Next", 1)
    simulator.step("Next", 2)
    expect(simulator.messages).to_have_count(5)
    assert simulator.places() == places, "nodes stay where they are"
    assert simulator.drawn() != drawn
    expect(simulator.sim.locator(".dl-receipt")).to_contain_text("Reward R")

    simulator.sim.get_by_role("textbox").fill("Would you prefer a heron or a toucan?")
    simulator.step("Send as the assistant", 3)
    expect(simulator.messages.nth(5)).to_contain_text("a heron or a toucan?")
    expect(page.locator(".dl-judge")).to_contain_text("dialogue act")
    expect(simulator.sim.get_by_role("textbox")).to_have_value("")

    simulator.step("Back", 2)
    expect(simulator.messages).to_have_count(5)
    simulator.button("Branch here").click()
    expect(page.get_by_role("combobox").filter(has_text="branch 2")).to_have_value(re.compile(".+"))
    simulator.step("Next", 3)
    expect(simulator.messages.nth(5)).not_to_contain_text("a heron or a toucan?")

    simulator.open(page.url)
    simulator.at_turn(3)
    assert simulator.places() == places
    expect(simulator.messages.nth(5)).not_to_contain_text("a heron or a toucan?")
    assert len(parse_qs(urlsplit(page.url).query)["session"][0]) >= 6


def test_replies_are_compared_one_is_taken_and_an_intent_tells_its_story(simulator: Simulator) -> None:
    page = simulator.page
    simulator.button("What would each reply discover?").click()
    cards = page.locator(".sim-cards .dl-card")
    expect(cards).to_have_count(9, timeout=20 * SECOND)
    simulator.at_turn(0)
    simulator.step("Take draft", 1)
    expect(simulator.sim.locator(".dl-turn")).to_contain_text("draft")
    expect(cards).to_have_count(0)

    page.get_by_text("What the user wants, and knows").scroll_into_view_if_needed()
    frame = simulator.trees.locator(".svg-container").bounding_box()
    assert frame is not None
    x, y = (place + edge for place, edge in zip(simulator.places()[0], (frame["x"], frame["y"]), strict=True))
    page.mouse.move(x + 6, y + 6)
    page.mouse.click(x + 6, y + 6)
    expect(page.locator(".sim-picked")).to_contain_text("Turn 1")


def test_auto_play_stops_when_told_and_layouts_keep_their_places(simulator: Simulator) -> None:
    page = simulator.page
    simulator.trees.evaluate("tree => { tree.style.maxHeight = '150px' }")
    simulator.trees.hover()
    page.mouse.wheel(0, 120)
    page.wait_for_function("document.querySelector('.sim-tree').scrollTop > 0")

    page.get_by_text("layered", exact=True).click()
    expect(simulator.trees.locator(".scatterlayer")).to_be_visible()
    page.wait_for_timeout(SECOND)
    places = simulator.places()
    turn = simulator.play_and_stop()
    page.wait_for_timeout(3 * SECOND)
    assert simulator.turn == turn
    assert simulator.places() == places


def test_what_cannot_be_done_is_one_line(page: Page, server: Server, outside_requests: list[str]) -> None:
    unknown = Simulator(page, f"{server.url}/?file=20_simulator.py&session=nothere1")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("There is no session 'nothere1' here; start a new one.")
    unknown.step("Next", 1)
    expect(alert).to_have_count(0)
    unknown.button("Send as the assistant").click()
    expect(alert).to_contain_text("Type a reply first.")
    assert outside_requests == []
