"""The demo page in a browser, opened from disk without a network: it steps, it can be used by keyboard, it runs nothing
that a model wrote."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hostile import HOSTILE, HOSTILE_SVG, TREE, conversation
from playwright.sync_api import BrowserContext, Locator, Page

from discover_lib import Conversation, Discovery, IntentTree
from workbench.views.saved_pages import demo_page


@dataclass
class Disk:
    """Opens conversations' pages from disk; `asked` lists what the pages requested beyond themselves."""

    context: BrowserContext
    folder: Path
    asked: list[str] = field(default_factory=list)

    def open(self, shown: Conversation, fragment: str = "") -> Page:
        path = self.folder / "demo.html"
        path.write_text(demo_page(shown), encoding="utf-8")
        page = self.context.new_page()
        page.on("request", lambda request: self._note(request.url, path.as_uri()))
        page.on("pageerror", lambda error: self.asked.append(f"error: {error}"))
        page.goto(path.as_uri() + fragment)
        return page

    def _note(self, url: str, own: str) -> None:
        if not url.startswith(("data:", own)):
            self.asked.append(url)


@pytest.fixture
def disk(context: BrowserContext, tmp_path: Path) -> Disk:
    context.set_offline(True)
    return Disk(context, tmp_path)


def states(page: Page) -> dict[str, str]:
    """Intent → state, as the cells of the map show them."""
    levels = page.eval_on_selector_all(".im-cell", "cells => cells.map(cell => Number(cell.dataset.state))")
    return {key: Discovery(level).name.lower() for key, level in zip(TREE.intents, levels, strict=True)}


def where(page: Page) -> str:
    return re.split("[\n●○]", page.locator(".st-status").inner_text())[0].strip()


def frame(page: Page, turn: int) -> Locator:
    return page.locator(".st-frame").nth(turn)


def test_scrubs_through_the_turns(disk: Disk) -> None:
    shown = conversation(said="well")
    page = disk.open(shown)
    for turn in (0, 1, 2, 1):
        frame(page, turn).click()
        wanted = {key: shown.state_after(turn)[key].name.lower() for key in TREE.intents}
        assert states(page) == wanted
        assert page.locator(".dl-msg").count() == [1, 3, 4][turn]
    assert where(page) == "Turn 1 of 2"
    assert page.locator(".im-cell").nth(1).get_attribute("data-moved") == ""
    assert "Reward R" in page.locator(".st-receipt").inner_text()
    assert disk.asked == []


def test_buttons_keys_and_address_step_too(disk: Disk) -> None:
    page = disk.open(conversation(), "#turn=2")
    following = page.get_by_role("button", name="Next", exact=True)
    assert where(page) == "Turn 2 of 2" and following.is_disabled()
    page.get_by_role("button", name="One turn back").click()
    assert where(page) == "Turn 1 of 2"
    page.keyboard.press("ArrowLeft")
    assert where(page) == "Turn 0 of 2"
    page.keyboard.press("End")
    assert where(page) == "Turn 2 of 2"
    frame(page, 2).focus()
    page.keyboard.press("ArrowLeft")
    assert where(page) == "Turn 1 of 2"  # one step, not two
    assert "Reward +1" in page.locator(".dl-sr[aria-live=polite]").inner_text()


def test_play_runs_to_the_end_and_stops(disk: Disk) -> None:
    page = disk.open(conversation(), "#turn=0")
    page.clock.install()
    page.keyboard.press(" ")
    assert page.get_by_role("button", name="Stop", exact=True).is_visible() and where(page) == "Turn 1 of 2"
    page.clock.fast_forward(3_100)
    page.clock.fast_forward(3_100)
    assert where(page) == "Turn 2 of 2"
    assert page.get_by_role("button", name="Play", exact=True).is_visible()


def test_rows_explain_themselves_to_the_keyboard(disk: Disk) -> None:
    page = disk.open(conversation(said="because"), "#turn=1")
    page.locator(".im-cell").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator(":focus").get_attribute("data-i") == "2"
    page.keyboard.press("Enter")
    told = page.locator(".im-told")
    assert told.inner_text() == "1.1.1 · hidden intent · emerging."
    page.get_by_label("show hidden intents").check()
    assert "A red boat" in told.inner_text() and "Turn 1: undiscovered → emerging" in told.inner_text()
    assert where(page) == "Turn 1 of 2"  # up and down do not change the turn


def test_the_other_replies_of_a_turn_are_there_with_their_rewards(disk: Disk) -> None:
    page = disk.open(conversation(), "#turn=1")
    page.get_by_text("The other replies to turn 1: 1").click()
    assert page.locator(".st-card").inner_text().startswith("first")
    assert page.get_by_role("button", name="Take").count() == 0


@pytest.mark.parametrize("payload", [*HOSTILE, f"```svg\n{HOSTILE_SVG}\n```", HOSTILE_SVG])
def test_nothing_that_a_model_wrote_runs(disk: Disk, payload: str) -> None:
    data = TREE.to_dict()
    data["roots"][1]["text"] = data["topic"] = data["initial_request"] = payload
    page = disk.open(conversation((payload, payload + " again"), payload, IntentTree.from_dict(data)))
    page.get_by_label("show hidden intents").check()
    for _ in range(2):
        page.get_by_role("button", name="Next", exact=True).click()
    page.locator(".im-cell").last.hover()
    page.locator(".im-cell").last.click()
    page.locator(".st-number").first.click()
    page.wait_for_timeout(100)
    assert page.evaluate("window.pwned") is None
    assert disk.asked == []
    assert where(page) == "Turn 2 of 2"  # our own script still works


def test_policy_refuses_handlers_even_if_one_got_through(disk: Disk) -> None:
    page = disk.open(conversation())
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.pwned = 1\">')")
    page.wait_for_timeout(100)
    assert page.evaluate("window.pwned") is None


def test_light_and_dark_both_read_well(disk: Disk) -> None:
    page = disk.open(conversation(), "#turn=1")
    page.emulate_media(reduced_motion="reduce")
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        assert page.evaluate(LOWEST_CONTRAST) >= 4.5


# The lowest contrast of visible text against the nearest painted background (WCAG 2 relative luminance).
LOWEST_CONTRAST = """() => {
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, index) => sum + v * [0.2126, 0.7152, 0.0722][index], 0);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = rgba(getComputedStyle(each).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  let lowest = 21;
  for (const element of document.querySelectorAll("body *:not(script):not(button:disabled)")) {
    const written = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!written || !element.checkVisibility()) continue;
    const [a, b] = [light(rgba(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    lowest = Math.min(lowest, (a + 0.05) / (b + 0.05));
  }
  return lowest;
}"""
