"""All pages and every step of the lessons under axe-core, light and dark, on a desk and a phone: nothing serious."""

from collections.abc import Iterator
from typing import Any

import pytest
from accessible import DESK, SECOND, in_the_way, resize, settle
from browser import Server, asked_outside, workbench
from playwright.sync_api import Browser, expect

from discover_lib.app.panel import FIRST_SYNTHESIS
from discover_lib.runs.evaluation import evaluate, lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.views.navigation import LESSONS, PAGES


@pytest.fixture(scope="module", params=["light", "dark"])
def themed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A workbench in one of marimo’s themes, set where marimo looks for it, with something to show on every page."""
    outputs, settings = tmp_path_factory.mktemp("outputs"), tmp_path_factory.mktemp("settings")
    (settings / "marimo").mkdir()
    (settings / "marimo" / "marimo.toml").write_text(f'[display]\ntheme = "{request.param}"\n')
    synthesis, evaluation = outputs / "synthesis" / "small", outputs / "evaluations" / "small"
    synthesis.mkdir(parents=True)
    execute(lay_out(FIRST_SYNTHESIS), synthesis)
    evaluation.mkdir(parents=True)
    evaluate(lay_out_evaluation(RunOptions(("draft", "ask", "adaptive"), artifacts=10), ["svg_drawing"]), evaluation)
    with workbench(DISCOVER_OUTPUTS=str(outputs), XDG_CONFIG_HOME=str(settings)) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PAGES, *LESSONS])
def test_nothing_serious_stands_in_anyones_way(name: str, themed: Server, browser: Browser, request: Any) -> None:
    theme = request.node.callspec.params["themed"]
    context = browser.new_context(service_workers="block")
    outside = asked_outside(context)
    page = context.new_page()
    resize(page, DESK)
    page.goto(f"{themed.url}/?file={name}")
    expect(page.locator(".dl-footer")).to_be_visible(timeout=60 * SECOND)
    settle(page)
    assert page.evaluate("document.body.classList.contains('dark')") == (theme == "dark")
    found = in_the_way(page)
    if name in LESSONS:
        page.get_by_role("button", name="This is my guess").click()
        expect(page.get_by_text("Choose one of the answers first.")).to_be_visible(timeout=60 * SECOND)
        found += in_the_way(page)
        page.get_by_role("radio").first.click()
        page.get_by_role("button", name="This is my guess").click()
        expect(page.get_by_text("The last step says whether it held.")).to_be_visible(timeout=60 * SECOND)
        for step in page.locator(".le-steps button").all():
            step.click()
            settle(page)
            if (check := page.get_by_role("button", name="Check")).count():  # the answer as it stands, and its hint
                check.click()
                settle(page)
            found += [f"{step.inner_text()}: {line}" for line in in_the_way(page)]
    context.close()
    assert not found, "\n".join(found)
    assert outside == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_light_or_dark_as_the_system_is(scheme: str, server: Server, browser: Browser) -> None:
    context = browser.new_context(service_workers="block", color_scheme=scheme)
    asked_outside(context)
    page = context.new_page()
    page.goto(f"{server.url}/?file=30_reward.py")
    expect(page.locator(".dl-footer")).to_be_visible(timeout=60 * SECOND)
    assert page.evaluate("document.body.classList.contains('dark')") == (scheme == "dark")
    context.close()
