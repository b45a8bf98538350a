"""The demo page in a browser, opened from disk without a network: it steps, it can be used by keyboard, it runs nothing
that a model wrote."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hostile import HOSTILE, HOSTILE_SVG, TREE, conversation
from playwright.sync_api import BrowserContext, Page

from discover_lib import Conversation, IntentTree
from discover_lib.views.pages import demo_page


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
    rows = page.eval_on_selector_all(".dl-row", "rows => rows.map(row => [row.dataset.id, row.dataset.state])")
    return dict(rows)


def said(page: Page) -> list[str]:
    return [message.inner_text() for message in page.locator(".dl-msg").all() if message.is_visible()]


def test_scrubs_through_the_turns(disk: Disk) -> None:
    shown = conversation(said="well")
    page = disk.open(shown)
    for turn in (0, 1, 2, 1):
        page.locator("#dp-turn").fill(str(turn))
        wanted = {key: shown.state_after(turn)[key].name.lower() for key in TREE.intents}
        assert states(page) == wanted
        assert len(said(page)) == [1, 3, 4][turn]
    assert page.locator("#dp-where").inner_text() == "Turn 1 of 2"
    assert page.locator(".dl-row[data-id='1.1'] .dl-chip").inner_text() == "now discovered"
    assert page.locator("[data-panel='1'] .dl-receipt").is_visible()
    assert not page.locator("[data-panel='2'] .dl-receipt").is_visible()
    assert disk.asked == []


def test_buttons_keys_and_address_step_too(disk: Disk) -> None:
    page = disk.open(conversation(), "#turn=2")
    assert page.locator("#dp-where").inner_text() == "Turn 2 of 2" and page.locator("#dp-next").is_disabled()
    page.locator("#dp-back").click()
    assert page.locator("#dp-where").inner_text() == "Turn 1 of 2"
    page.keyboard.press("ArrowLeft")
    assert page.locator("#dp-where").inner_text() == "Start: the request"
    page.keyboard.press("End")
    assert page.locator("#dp-turn").input_value() == "2"
    page.locator("#dp-turn").focus()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#dp-where").inner_text() == "Turn 1 of 2"  # one step, not two
    assert "Reward +1" in page.locator("#dp-live").inner_text()


def test_play_runs_to_the_end_and_stops(disk: Disk) -> None:
    page = disk.open(conversation())
    page.clock.install()
    page.locator("#dp-play").click()
    assert page.locator("#dp-play").inner_text() == "Pause"
    page.clock.fast_forward(3_100)
    page.clock.fast_forward(3_100)
    assert page.locator("#dp-where").inner_text() == "Turn 2 of 2"
    assert page.locator("#dp-play").inner_text() == "Play"


def test_rows_explain_themselves_to_the_keyboard(disk: Disk) -> None:
    page = disk.open(conversation(said="because"), "#turn=1")
    page.locator(".dl-row").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    tip = page.locator("#dp-tip")
    assert tip.is_visible() and "A red boat" in tip.inner_text() and "θ left: 0.40" in tip.inner_text()
    assert page.locator(":focus").get_attribute("data-id") == "1.1.1"
    assert page.locator("#dp-where").inner_text() == "Turn 1 of 2"  # up and down do not change the turn
    page.keyboard.press("Escape")
    assert not tip.is_visible()


@pytest.mark.parametrize("payload", [*HOSTILE, f"```svg\n{HOSTILE_SVG}\n```", HOSTILE_SVG])
def test_nothing_that_a_model_wrote_runs(disk: Disk, payload: str) -> None:
    data = TREE.to_dict()
    data["roots"][1]["text"] = data["topic"] = data["initial_request"] = payload
    page = disk.open(conversation((payload, payload + " again"), payload, IntentTree.from_dict(data)))
    for _ in range(2):
        page.locator("#dp-next").click()
    page.locator(".dl-row").last.hover()
    page.locator("details.dp-panel").first.locator("> summary").click()
    page.wait_for_timeout(100)
    assert page.evaluate("window.pwned") is None
    assert disk.asked == []
    assert page.locator("#dp-where").inner_text() == "Turn 2 of 2"  # our own script still works


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
