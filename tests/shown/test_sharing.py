"""Conversations shared as one file: it opens from disk, holds what the run holds, and runs nothing a model wrote."""

import base64
import gzip
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect
from typer.testing import CliRunner

from discover_lib.base.errors import DiscoverError
from discover_lib.runs.store import RunStore
from workbench.main import app
from workbench.pages import conversation_page
from workbench.sharing import shared
from workbench.views.moments import Strip, stage_of
from workbench.views.saved_pages import shared_page


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "three"
    words = ["simulate", "--domain", "creative_writing", "--artifacts", "3", "--run", str(folder)]
    for name in ("ask", "draft", "adaptive", "oracle"):
        words += ["--assistant", name]
    assert CliRunner().invoke(app, words).exit_code == 0
    return folder


def addressed(value: dict) -> dict:
    """As the page's script reads it: a drawing's text becomes its address."""
    drawing = value.get("src", "data:")
    if not drawing.startswith("data:"):
        value["src"] = "data:image/svg+xml;base64," + base64.b64encode(drawing.encode()).decode()
    return value


def packed(page: str) -> dict[str, dict]:
    """Number → record, unpacked from a page."""
    packs = re.findall(r'<script type="application/gzip" data-holds="[\d ]+">([^<]+)</script>', page)
    return {
        number: record
        for pack in packs
        for number, record in json.loads(gzip.decompress(base64.b64decode(pack)), object_hook=addressed).items()
    }


@pytest.mark.slow
def test_a_page_holds_every_conversation_of_the_run_as_it_is(run: Path) -> None:
    page = shared_page(shared(str(run)))
    records = packed(page)
    with RunStore.read(run) as store:
        assert len(records) == 12 == len(store.listing())
        for number, record in records.items():
            told = json.loads(json.dumps(stage_of([Strip("main line", store.conversation(int(number)))])))
            assert {**record, "note": ""} == {**told, "note": ""}
    assert page.count("data-pick=") == 12 and "How each assistant did" in page
    assert "<b>adaptive</b> for user 2" in page


@pytest.mark.slow
def test_a_session_is_shared_with_its_branches_at_its_place(tmp_path: Path) -> None:
    session = conversation_page.opening(tmp_path)
    session.fork()
    session.next()
    chosen = shared(str(session.path))
    assert [strip.origin for strip in chosen.records[0]] == [None, (0, 1)] and chosen.first == (0, 1, 2)
    assert [strip.scored for strip in chosen.records[0]] == [5, 5]
    assert 'data-first="0.1.2"' in shared_page(chosen)


def test_what_is_neither_a_run_nor_a_session_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DiscoverError, match="neither a run's folder nor a session"):
        shared(str(tmp_path))


def test_it_opens_from_disk_lists_filters_and_shows(run: Path, tmp_path: Path, context: BrowserContext) -> None:
    context.set_offline(True)
    path = tmp_path / "page.html"
    path.write_text(shared_page(shared(str(run))), encoding="utf-8")
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: asked.append(str(error)))
    page.goto(path.as_uri())
    expect(page.locator("#sp-count")).to_have_text("12 of 12 conversations")
    page.locator("#sp-search").fill("oracle user 2")
    expect(page.locator("#sp-count")).to_have_text("1 of 12 conversations")
    page.locator("[data-pick]:not([hidden])").press("Enter")
    expect(page.locator('.dl-turn[data-turn="1"]')).to_contain_text("oracle")
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator(".st-status")).to_contain_text("Turn 2 of")
    page.reload()
    expect(page.locator('[aria-pressed="true"][data-pick]')).to_contain_text("oracle for user 2")
    assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {path.as_uri()}
