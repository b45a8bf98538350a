"""The audit page in a browser: it makes what it needs, certifies on demand, and its controls move something."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Server, workbench
from playwright.sync_api import Page, expect

from discover_lib import Rules
from discover_lib.base.files import outputs_folder
from discover_lib.runs.options import RunOptions, execute, lay_out
from discover_lib.tasks.certify import FILE

SECOND = 1000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A workbench whose outputs are a folder of this test's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCOVER_OUTPUTS", str(tmp_path_factory.mktemp("outputs")))
        with workbench() as running:
            yield running


def test_the_page_shows_leaks_and_opens_disagreements(page: Page, server: Server, outside_requests: list[str]) -> None:
    page.goto(f"{server.url}/?file=65_audit.py")
    expect(page.get_by_text("certified user")).to_be_visible(timeout=60 * SECOND)
    expect(page.get_by_text("0 of 128 user turns raise an alarm")).to_be_visible(timeout=60 * SECOND)
    page.get_by_label("only those the audit gets wrong").check()
    page.get_by_label("Show cases of the kind").select_option(label="in part")
    expect(page.locator(".da-case").first).to_contain_text("wrong", timeout=60 * SECOND)
    expect(page.get_by_text("Is [", exact=False).first).to_be_visible()
    assert outside_requests == []


def test_a_user_whom_nobody_has_certified_is_certified_in_place(page: Page, server: Server) -> None:
    folder = Path(tempfile.mkdtemp(prefix="own-rules-", dir=outputs_folder()))  # a second try has a run of its own
    rules = Rules.paper().replace(p=0.4)
    execute(lay_out(RunOptions(("draft",), domain="svg_drawing", artifacts=1, turns=2, rules=rules)), folder)
    page.goto(f"{server.url}/?file=15_runs.py&run={folder.name}")
    expect(page.get_by_text("not certified yet")).to_be_visible(timeout=60 * SECOND)
    page.get_by_role("button", name="Certify this user now").click()
    expect(page.get_by_text("9 scripted assistants")).to_be_visible(timeout=120 * SECOND)
    assert (folder / FILE).is_file() and page.get_by_role("button", name="Certify this user now").count() == 0
