"""The simulator page in a browser, the way a person uses it.

Replies, steps back and branches: `test_jupyter_stage.py`, in JupyterLab and here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import llm_brain
import pytest
from accessible import DESK, PHONE, resize, settle
from browser import Server
from llm_server import FakeServer
from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from discover_lib.runs.doctor import QUESTION

OPENS_AT = 1


class Simulator:
    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.stage, self.graph = page.locator(".st"), page.locator(".st-map")
        self.complaints: list[str] = []
        page.on("console", self.hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.open(url)

    def hear(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "service worker" not in message.text:  # the tests' browser allows none
            self.complaints.append(message.text)

    def open(self, url: str) -> None:
        self.page.goto(url)
        expect(self.page.locator(".st-frame").first).to_be_visible()
        expect(self.graph.get_by_role("tree", name="Intents")).to_be_visible()

    def button(self, name: str) -> Locator:
        return self.stage.get_by_role("button", name=name, exact=True)

    def at_turn(self, turn: int) -> None:
        expect(self.page.locator(f'.st[data-turn="{turn}"]')).to_be_visible()

    def step(self, name: str, turn: int) -> None:
        self.button(name).click()
        self.at_turn(turn)

    def places(self) -> list[str]:
        return self.graph.get_by_role("treeitem").evaluate_all("cells => cells.map(cell => cell.style.gridArea)")


@pytest.fixture
def simulator(page: Page, server: Server, outside_requests: list[str]) -> Iterator[Simulator]:
    opened = Simulator(page, f"{server.url}/?file=3_conversation.py")
    yield opened
    assert opened.complaints == []
    assert outside_requests == []


def test_a_session_outlives_a_reload_goes_on_after_its_last_turn_and_compares_branches(simulator: Simulator) -> None:
    stage = simulator.stage
    stage.get_by_text("Set-up:").click()
    simulator.step("Reset", 0)
    expect(stage.locator(".st-strip")).to_have_count(1)
    places, drawn = simulator.places(), simulator.graph.get_by_role("tree").inner_html()
    assert len(places) > 5
    simulator.step("Next", 1)
    simulator.step("Next", 2)
    assert simulator.places() == places and simulator.graph.get_by_role("tree").inner_html() != drawn
    simulator.open(simulator.page.url)
    simulator.at_turn(2)
    assert simulator.places() == places
    messages = stage.locator(".st-said .dl-msg")
    expect(messages).to_have_count(5)

    simulator.button("Play").click()
    simulator.at_turn(5)
    expect(stage.locator(".st-note")).to_contain_text("The 5 scored turns are over.")
    simulator.step("Add an unscored turn", 6)
    expect(stage.locator(".st-status")).to_contain_text("not scored")

    stage.locator(".st-frame").nth(2).click()
    simulator.at_turn(2)
    stage.get_by_role("textbox", name="Your reply").fill("Would you prefer a heron or a toucan?")
    simulator.step("Send reply", 3)
    simulator.button("compare branch 2").click()
    beside = stage.locator(".st-beside")
    expect(beside).to_contain_text("here they part")
    expect(beside.locator(".st-sentence")).to_contain_text("intents discovered in")
    expect(stage.locator(".st-said")).to_be_hidden()
    simulator.button("Back to one conversation").click()
    expect(stage.locator(".st-said")).to_be_visible()


def test_lines_light_up_their_intents_and_next_is_in_view(simulator: Simulator) -> None:
    stage, page = simulator.stage, simulator.page
    line, lit = stage.locator(".st-line[data-ids]").first, stage.locator(".im-cell[data-lit]")
    line.hover()
    expect(lit).to_have_count(1)
    stage.locator(".st-title").first.hover()
    expect(lit).to_have_count(0)
    line.focus()
    expect(lit).to_have_count(1)

    for size in (PHONE, DESK):
        resize(page, size)
        simulator.open(page.url)  # nobody turns a desk into a phone
        simulator.at_turn(OPENS_AT)
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        for seen in (simulator.button("Next"), stage.locator(f'.dl-turn[data-turn="{OPENS_AT}"]')):
            box = seen.bounding_box()
            assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= size[1]
    place = simulator.button("Next").bounding_box()
    simulator.step("One turn back", OPENS_AT - 1)
    assert simulator.button("Next").bounding_box() == place, "nothing jumps under the pointer"


MODEL = "openai/miniature:svg_drawing"


def brain(messages: list[dict[str, Any]], body: Mapping[str, Any]) -> tuple[str, int]:
    if messages[-1]["content"] == QUESTION:
        return "ready", 1
    return llm_brain.answer(messages, body)


def pressed(page: Page, name: str) -> None:
    page.locator(".st").get_by_role("button", name=name, exact=True).click()


def at_turn(page: Page, turn: int) -> None:
    expect(page.locator(f'.st[data-turn="{turn}"]')).to_be_visible()


@pytest.mark.slow
def test_models_play_and_are_stopped(page: Page, server: Server, outside_requests: list[str]) -> None:
    with FakeServer(brain) as models:
        play(page, server, models)
    pressed(page, "Branch")
    expect(page.get_by_role("group", name="branch 2")).to_be_visible()
    pressed(page, "Next")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(models.api_base.split("/")[2])
    assert "\n" not in alert.inner_text().strip()
    assert outside_requests == []


def play(page: Page, server: Server, models: FakeServer) -> None:
    page.goto(f"{server.url}/?file=3_conversation.py")
    page.get_by_role("tree", name="Intents").first.wait_for()
    page.get_by_text("Set-up:").click()
    pressed(page, "Reset")
    at_turn(page, 0)
    page.get_by_text("Use a language model (now: none)").click()
    fields = {"Model": MODEL, "Another model for the assistant": f"{MODEL}:adaptive", "Own server": models.api_base}
    for role in ("judge", "voice", "assistant"):
        page.get_by_label(f"The {role} is").select_option(label="a language model")
    for label, text in fields.items():
        page.get_by_label(label, exact=True).fill(text)
        page.get_by_label(label, exact=True).blur()
    page.get_by_role("button", name="Use these").click()
    expect(page.get_by_text(f"(now: judge and voice {MODEL}")).to_be_visible()
    expect(page.get_by_text("In all $").last).to_be_visible()
    assert models.counts["requests"] == 0, "nothing is asked before it is told to"

    pressed(page, "Next")
    at_turn(page, 1)
    expect(page.locator(".st-said .dl-turn")).to_contain_text(f"{MODEL}:adaptive")
    page.locator(".st-map .im-cell").first.click()
    expect(page.locator(".st-map .im-told")).to_contain_text("Turn 1:")
    expect(page.locator(".st-receipt")).to_contain_text("checked only what the user was thinking about")

    models.latency_seconds = 60
    pressed(page, "Next")
    status = page.locator(".st-status")
    expect(status).to_contain_text("asking")
    pressed(page, "Stop")
    expect(status).not_to_contain_text("asking")
    expect(page.get_by_role("alert")).to_contain_text("Stopped")
    at_turn(page, 1)

    models.latency_seconds = 0.2  # slow enough that Stop comes before the last turn
    pressed(page, "Play")
    expect(page.locator('.st:not([data-turn="1"])')).to_be_visible()
    pressed(page, "Stop")
    expect(status).not_to_contain_text("playing")
