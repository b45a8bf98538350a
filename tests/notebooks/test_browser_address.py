"""Choices stand in a page's address and come back in a browser that has never been here: three pages, as they are used.

`test_address.py` holds the same of every page, without a browser.
"""

from urllib.parse import parse_qs, urlsplit

import pytest
from browser import Server, asked_outside
from playwright.sync_api import Browser, Locator, Page, expect

SECOND = 1000
# page → the controls that are set, by label; a list is drawn from what a slider, a menu, a box or a list holds
CHOICES = {
    "10_intent_trees.py": """Piece | What kind""",
    "20_simulator.py": """show hidden intents | graph""",
    "60_evaluate.py": """Measure | Pool | Skip intents that | Domains | Assistants | Artifacts per domain | Trials
        | Turns | Rules | Near misses a reply | Seed""",
}


def control(page: Page, label: str) -> Locator:
    """A control by its label; a slider's label names what holds its knob."""
    labelled = page.get_by_label(label, exact=True).first
    expect(labelled).to_be_visible(timeout=60 * SECOND)
    knob = labelled.get_by_role("slider")
    return knob.first if knob.count() else labelled


def state(page: Page, label: str) -> str:
    """What a control holds, as a reader sees it."""
    return control(page, label).evaluate(
        "each => each.getAttribute('aria-valuenow') ?? each.getAttribute('aria-checked')"
        " ?? (each.type === 'checkbox' ? String(each.checked) : each.tagName === 'INPUT' ? each.value"
        " : each.selectedOptions?.[0]?.text ?? each.textContent)"
    )


def change(page: Page, label: str) -> bool:
    """Choose something else, if there is anything else."""
    found = control(page, label)
    if found.get_attribute("aria-valuenow") is not None:
        at_end = found.get_attribute("aria-valuenow") == found.get_attribute("aria-valuemax")
        found.focus()
        found.press("ArrowLeft" if at_end else "ArrowRight")
    elif found.evaluate("each => each.tagName") == "SELECT":
        others = found.evaluate("each => [...each.options].filter(one => !one.selected).map(one => one.text)")
        others = [each for each in others if each.strip("-")]
        if not others:
            return False
        found.select_option(label=others[-1])
    else:
        found.click()
        if found.get_attribute("aria-haspopup"):  # a menu with a field to search it
            page.locator('[role="option"]').last.click()
    return True


@pytest.mark.parametrize("name", CHOICES)
def test_choices_come_back_from_the_address(name: str, server: Server, page: Page, browser: Browser) -> None:
    page.goto(f"{server.url}/?file={name.rstrip('#')}", timeout=60 * SECOND)
    labels = [" ".join(each.split()) for each in CHOICES[name].split("|")]
    for label in labels:
        address = page.url
        if change(page, label):
            expect(page, f"{label}: the address does not know of it").not_to_have_url(address, timeout=60 * SECOND)
    page.wait_for_timeout(2 * SECOND)
    chosen = {label: state(page, label) for label in labels}  # what a later choice made void is as it is now
    assert parse_qs(urlsplit(page.url).query)["file"] == [name.rstrip("#")]

    fresh = browser.new_context()
    outside = asked_outside(fresh)
    again = fresh.new_page()
    again.goto(page.url, timeout=60 * SECOND)
    for label, value in chosen.items():
        assert state(again, label) == value, label
    assert again.get_by_text("An internal error occurred").count() == 0 and outside == []
    fresh.close()


def test_what_a_press_opens_comes_into_view(server: Server, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server.url}/?file=15_runs.py")
    third = page.locator('[data-pick="2"]')
    expect(third).to_be_visible(timeout=60 * SECOND)
    third.click()
    opened = page.locator('[data-opened="2"]')
    expect(opened).to_be_in_viewport(timeout=45 * SECOND)
    assert "conversation=2" in page.url
