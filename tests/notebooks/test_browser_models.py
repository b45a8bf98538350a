"""Language models in the notebooks, in a browser, against a server of our own: chosen, stopped, gone."""

from collections.abc import Mapping
from typing import Any

import llm_brain
import pytest
from browser import Server
from llm_server import FakeServer
from playwright.sync_api import Page, expect

from discover_lib.runs.doctor import QUESTION

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
    """Choose the models, take a turn, stop the second half-way, let it play until told to stop."""
    page.goto(f"{server.url}/?file=3_conversation.py")
    page.get_by_role("tree", name="Intents").first.wait_for()
    page.get_by_text("Set-up:").click()
    pressed(page, "Reset")
    at_turn(page, 0)
    page.get_by_text("Roles: judge and voice miniature").click()
    fields = {"Model": MODEL, "Another model for the assistant": f"{MODEL}:adaptive", "Own server": models.api_base}
    for role in ("judge", "voice", "assistant"):
        page.get_by_label(f"The {role} is").select_option(label="a language model")
    for label, text in fields.items():
        page.get_by_label(label, exact=True).fill(text)
        page.get_by_label(label, exact=True).blur()
    page.get_by_role("button", name="Use these").click()
    expect(page.get_by_text(f"Roles: judge and voice {MODEL}")).to_be_visible()
    expect(page.get_by_text("In all $")).to_be_visible()
    assert models.counts["requests"] == 0, "nothing is asked before it is told to"

    pressed(page, "Next")
    at_turn(page, 1)
    expect(page.locator(".st-said .dl-turn")).to_contain_text(f"{MODEL}:adaptive")
    page.locator(".st-map .im-cell").first.click()
    expect(page.locator(".st-map .im-told")).to_contain_text("Turn 1:")
    expect(page.locator(".st-receipt")).to_contain_text("saw only the tree in focus")

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
