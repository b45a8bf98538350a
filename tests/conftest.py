"""Fixtures for every test: a browser, a page that cannot leave this machine, a running workbench."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM_NAMES, CHROMIUM_OPTIONS, Server, asked_outside, find_chromium, workbench
from hypothesis import settings
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

# Two workers of pytest that compute with two threads each would wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# An example that takes long on a busy machine is no failure; benchmarks measure time.
settings.register_profile("facts", deadline=None)
settings.load_profile("facts")

WHOLLY_SLOW = re.compile(r"^pytestmark = \[?pytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave unread what is slow as a whole where nothing slow is asked for: importing it takes seconds of its own."""
    if collection_path.suffix == ".py" and "not slow" in config.option.markexpr.split(" and "):
        return True if WHOLLY_SLOW.search(collection_path.read_text("utf-8")) else None
    return None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--integrations", default="", help="run only the tests of these packages, divided by commas")


@pytest.hookimpl(tryfirst=True)  # before pytest picks by marker
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that use a browser, run them last, and leave out those of packages that were not asked for.

    Playwright's synchronous interface keeps an event loop running in this thread from its first use to the end of the
    session, and no test after that could call `asyncio.run`.
    """
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
    asked = set(filter(None, config.getoption("--integrations").split(",")))
    left_out = [item for item in items if packages_of(item) - asked or (asked and not packages_of(item))]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def packages_of(item: pytest.Item) -> set[str]:
    """The packages beyond those of `make test` that a test needs: its `integration` markers."""
    return {name for marker in item.iter_markers("integration") for name in marker.args}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    path = find_chromium()
    assert path, f"no Chromium on this machine: set CHROMIUM to its path, or install one of {CHROMIUM_NAMES}"
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
    """The workbench as `discover open` serves it, with something to show on every page; one for all tests.

    It may be started while a workbench of another module still runs, and must not read that one's environment.
    """
    from discover_lib.runs.evaluation import lay_out_evaluation
    from discover_lib.runs.options import RunOptions, execute, lay_out
    from workbench.panel import FIRST_SYNTHESIS

    outputs, settings = tmp_path_factory.mktemp("outputs"), tmp_path_factory.mktemp("settings")
    synthesis, stories, drawings = outputs / "synthesis" / "small", outputs / "stories", outputs / "drawings"
    for folder in (synthesis, stories, drawings):
        folder.mkdir(parents=True)
    execute(lay_out(FIRST_SYNTHESIS), synthesis)
    assistants = ("draft", "ask", "adaptive")
    execute(lay_out_evaluation(RunOptions(assistants, artifacts=8), ["creative_writing"]), stories)
    execute(lay_out_evaluation(RunOptions(assistants, artifacts=10), ["svg_drawing"]), drawings)
    with workbench(XDG_CONFIG_HOME=str(settings), DISCOVER_OUTPUTS=str(outputs)) as running:
        running.outputs = outputs
        yield running
