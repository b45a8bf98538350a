"""Fixtures for every test: a browser, a page that cannot leave this machine, a running workbench."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Server, asked_outside, chromium, fresh_profile, workbench
from hypothesis import settings
from playwright.sync_api import Browser, BrowserContext, Page

# Two workers of pytest that compute with two threads each would wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# An example that takes long on a busy machine is no failure; benchmarks measure time.
settings.register_profile("facts", deadline=None)
settings.load_profile("facts")

WHOLLY_SLOW = re.compile(r"^pytestmark = \[?pytest\.mark\.slow\b", re.MULTILINE)
IN_A_BROWSER = re.compile(r"^from playwright|pytest\.mark\.browser\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave a file unread if none of its tests is asked for: to import them all takes seconds."""
    if collection_path.suffix != ".py":
        return None
    asked, text = config.option.markexpr, collection_path.read_text("utf-8")
    slow = "not slow" in asked.split(" and ") and WHOLLY_SLOW.search(text)
    return True if slow or (asked == "browser" and not IN_A_BROWSER.search(text)) else None


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
            assert IN_A_BROWSER.search(item.path.read_text("utf-8")), f"{item.path}: import its page from playwright"
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
    with chromium() as running:
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser profile of the test's own."""
    with fresh_profile(browser) as fresh:
        yield fresh


@pytest.fixture(scope="session")
def window(browser: Browser) -> Iterator[tuple[BrowserContext, list[str]]]:
    """The profile in whose tabs tests open pages, so that the front end is read once; what the tabs ask for outside."""
    with fresh_profile(browser, color_scheme="light") as shared:
        yield shared, asked_outside(shared)


@pytest.fixture
def outside_requests(window: tuple[BrowserContext, list[str]]) -> list[str]:
    """URLs outside this machine that the test's pages have asked for so far; each was blocked."""
    window[1].clear()
    return window[1]


@pytest.fixture
def page(window: tuple[BrowserContext, list[str]], outside_requests: list[str]) -> Iterator[Page]:
    """An empty tab; what it asks for outside this machine is blocked and listed in `outside_requests`."""
    tab = window[0].new_page()
    yield tab
    tab.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The workbench as `discover open` serves it, with something to show on every page; one for all tests.

    It may be started while a workbench of another module still runs, and must not read that one's environment.
    """
    from discover_lib.runs.evaluation import lay_out_evaluation
    from discover_lib.runs.options import RunOptions, execute, lay_out
    from workbench.panel import FIRST_SYNTHESIS

    outputs, settings = tmp_path_factory.mktemp("outputs"), tmp_path_factory.mktemp("settings")
    stories = lay_out_evaluation(RunOptions(("draft", "ask", "adaptive"), artifacts=8), ["creative_writing"])
    for name, run in {"synthesis/small": lay_out(FIRST_SYNTHESIS), "stories": stories}.items():
        (outputs / name).mkdir(parents=True)
        execute(run, outputs / name)
    with workbench(XDG_CONFIG_HOME=str(settings), DISCOVER_OUTPUTS=str(outputs)) as running:
        running.outputs = outputs
        yield running
