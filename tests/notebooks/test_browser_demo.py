"""The demo page in a browser, opened from disk without a network: it steps, it can be used by keyboard, it runs nothing
that a model wrote."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hostile import HOSTILE, HOSTILE_SVG, TREE, conversation
from playwright.sync_api import BrowserContext, Page

from discover_lib import Conversation, Discovery, IntentTree
from workbench.views.saved_pages import demo_page


@pytest.fixture
def opened(context: BrowserContext, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens a conversation's page from disk; pages ask for nothing beyond themselves and raise no error."""
    context.set_offline(True)
    path, asked = tmp_path / "demo.html", list[str]()

    def open_page(shown: Conversation, fragment: str = "") -> Page:
        path.write_text(demo_page(shown), encoding="utf-8")
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: asked.append(f"error: {error}"))
        page.goto(path.as_uri() + fragment)
        page.locator(".st-frame").first.wait_for()
        return page

    yield open_page
    assert [each for each in asked if not each.startswith(("data:", path.as_uri()))] == []


def states(page: Page) -> dict[str, str]:
    """Intent → state, as the cells of the map show them."""
    levels = page.eval_on_selector_all(".im-cell", "cells => cells.map(cell => Number(cell.dataset.state))")
    return {key: Discovery(level).name.lower() for key, level in zip(TREE.intents, levels, strict=True)}


def where(page: Page) -> str:
    return re.split("[\n●○]", page.locator(".st-status").inner_text())[0].strip()


def test_frames_buttons_and_keys_step_through_the_turns(opened: Callable[..., Page]) -> None:
    shown = conversation(said="well")
    page = opened(shown, "#0.0.2")
    frames, following = page.locator(".st-frame"), page.get_by_role("button", name="Next", exact=True)
    assert where(page) == "Turn 2 of 2" and following.is_disabled()
    for turn in (0, 1, 2, 1):
        frames.nth(turn).click()
        assert states(page) == {key: shown.state_after(turn)[key].name.lower() for key in TREE.intents}
        assert page.locator(".dl-msg").count() == [1, 3, 4][turn]
    assert where(page) == "Turn 1 of 2" and "Reward" in page.locator(".st-receipt").inner_text()
    assert page.locator(".im-cell").nth(1).get_attribute("data-moved") == ""
    page.get_by_role("button", name="One turn back").click()
    assert where(page) == "Turn 0 of 2"
    page.keyboard.press("End")
    assert where(page) == "Turn 2 of 2"
    frames.nth(2).focus()
    page.keyboard.press("ArrowLeft")
    assert where(page) == "Turn 1 of 2"  # one step, not two
    assert "Reward +1" in page.locator(".dl-sr[aria-live=polite]").inner_text()


def test_play_runs_to_the_end_and_stops(opened: Callable[..., Page]) -> None:
    page = opened(conversation(), "#0.0.0")
    page.clock.install()
    page.keyboard.press(" ")
    assert page.get_by_role("button", name="Stop", exact=True).is_visible() and where(page) == "Turn 1 of 2"
    page.clock.fast_forward(3_100)
    page.clock.fast_forward(3_100)
    assert where(page) == "Turn 2 of 2"
    assert page.get_by_role("button", name="Play", exact=True).is_visible()


def test_rows_explain_themselves_to_the_keyboard_and_the_other_replies_are_there(opened: Callable[..., Page]) -> None:
    page = opened(conversation(said="because"), "#0.0.1")
    page.locator(".im-cell").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator(":focus").get_attribute("data-i") == "2"
    page.keyboard.press("Enter")
    told = page.locator(".im-told")
    assert told.inner_text() == "1.1.1 · blurred intent · emerging."
    earned = page.locator(".st-receipt")
    assert "another value of the same kind" in earned.inner_text() and "threshold" not in earned.inner_text()
    page.get_by_label("show blurred intents").check()
    assert "above its threshold" in earned.inner_text()
    assert "A red boat" in told.inner_text() and "Turn 1: undiscovered → emerging" in told.inner_text()
    assert where(page) == "Turn 1 of 2"  # up and down do not change the turn
    page.get_by_text("The other replies to turn 1: 1").click()
    assert page.locator(".st-card").inner_text().startswith("first")
    assert page.get_by_role("button", name="Continue with").count() == 0


@pytest.mark.parametrize("payload", [*HOSTILE, f"```svg\n{HOSTILE_SVG}\n```", HOSTILE_SVG])
def test_nothing_that_a_model_wrote_runs(opened: Callable[..., Page], payload: str) -> None:
    data = TREE.to_dict()
    data["roots"][1]["text"] = data["topic"] = data["initial_request"] = payload
    page = opened(conversation((payload, payload + " again"), payload, IntentTree.from_dict(data)))
    page.get_by_label("show blurred intents").check()
    for _ in range(2):
        page.get_by_role("button", name="Next", exact=True).click()
    page.locator(".im-cell").last.hover()
    page.locator(".im-cell").last.click()
    # The page's policy refuses a handler even if one got through.
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=data: onerror=\"window.pwned = 1\">')")
    page.wait_for_timeout(100)
    assert page.evaluate("window.pwned") is None
    assert where(page) == "Turn 2 of 2"  # our own script still works
