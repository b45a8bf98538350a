"""The audit page in a browser: it makes what it needs, certifies on demand, and its controls move something."""

from collections.abc import Iterator

import pytest
from browser import Server, workbench
from playwright.sync_api import Page, expect

from discover_lib.audit.certificate import FILE
from discover_lib.base.files import outputs_folder

SECOND = 1000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A workbench whose outputs are a folder of this test's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCOVER_OUTPUTS", str(tmp_path_factory.mktemp("outputs")))
        with workbench() as running:
            yield running


def test_the_page_certifies_shows_leaks_and_opens_disagreements(
    page: Page, server: Server, outside_requests: list[str]
) -> None:
    page.goto(f"{server.url}/?file=65_audit.py")
    expect(page.get_by_text("Certified.")).to_be_visible(timeout=40 * SECOND)
    expect(page.get_by_text("0 of 128 user turns raise an alarm")).to_be_visible(timeout=10 * SECOND)
    certificate = outputs_folder() / "audit-demo" / FILE
    certificate.unlink()
    page.get_by_label("only those the audit gets wrong").check()
    page.get_by_label("Show cases of the kind").select_option(label="in part")
    expect(page.locator(".da-case").first).to_contain_text("wrong", timeout=10 * SECOND)
    expect(page.get_by_text("Is [", exact=False).first).to_be_visible()
    page.get_by_role("button", name="Certify this user now").click()
    for _ in range(200):
        if certificate.is_file():
            break
        page.wait_for_timeout(100)
    assert certificate.is_file() and outside_requests == []
