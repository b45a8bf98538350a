"""Fixtures for every test: a browser, a page that cannot leave this machine, a running workbench."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM_NAMES, CHROMIUM_OPTIONS, Server, asked_outside, find_chromium, workbench
from hypothesis import settings
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

# An example that takes long on a busy machine is no failure; benchmarks measure time.
settings.register_profile("facts", deadline=None)
settings.load_profile("facts")

OUTPUTS_AT_START = os.environ.get("DISCOVER_OUTPUTS", "")
WHOLLY_SLOW = re.compile(r"^pytestmark = \[?pytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave unread what is slow as a whole where nothing slow is asked for: importing it takes seconds of its own."""
    if collection_path.suffix == ".py" and "not slow" in config.option.markexpr.split(" and "):
        return True if WHOLLY_SLOW.search(collection_path.read_text("utf-8")) else None
    return None


@pytest.hookimpl(tryfirst=True)  # before pytest picks by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use a browser, and run them last.

    Playwright's synchronous interface keeps an event loop running in this thread from its first use to the end of the
    session, and no test after that could call `asyncio.run`.
    """
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium; without one on this machine the test is skipped and says so."""
    path = find_chromium()
    if path is None:
        pytest.skip(f"no Chromium on this machine: set CHROMIUM to its path, or install one of {CHROMIUM_NAMES}")
    expect.set_options(timeout=45_000)  # ms; a busy machine answers late, and that is no failure
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, headless=True, args=list(CHROMIUM_OPTIONS))
        yield chromium
        chromium.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh browser profile, 1400 × 900."""
    # Service workers would fetch behind the back of the guard below.
    fresh = browser.new_context(viewport={"width": 1400, "height": 900}, service_workers="block")
    yield fresh
    fresh.close()


@pytest.fixture
def outside_requests(context: BrowserContext) -> list[str]:
    """URLs outside this machine that the test's pages have asked for so far; each was blocked."""
    return asked_outside(context)


@pytest.fixture
def page(context: BrowserContext, outside_requests: list[str]) -> Page:
    """An empty page; what it asks for outside this machine is blocked and listed in `outside_requests`."""
    return context.new_page()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The workbench as `discover open` serves it: `server.url`, and `server.errors`, what it has complained of.

    It may be started while a workbench of another module still runs, and must not read that one's environment.
    """
    settings = str(tmp_path_factory.mktemp("settings"))
    with workbench(XDG_CONFIG_HOME=settings, DISCOVER_OUTPUTS=OUTPUTS_AT_START) as running:
        yield running
