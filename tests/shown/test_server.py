"""What holds for every page that the server shows: its stylesheet once, its code coloured without a guess."""

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workbench import notebook_server as server
from workbench.serve import notebooks_folder
from workbench.views.html import leave_out_sheet, styled, tag

NOTEBOOKS = sorted(Path(server.notebooks_folder()).rglob("*.py"))


def test_a_page_that_has_the_stylesheet_gets_no_second_one_and_other_pages_keep_theirs() -> None:
    def page() -> tuple[str, str]:
        before = styled(tag("b", "here"))
        leave_out_sheet()
        return before, styled(tag("b", "here"))

    with ThreadPoolExecutor(1) as served, ThreadPoolExecutor(1) as other:
        with_sheet, without = served.submit(page).result()
        elsewhere = other.submit(styled, tag("b", "here")).result()
    assert with_sheet.endswith(without) and without == '<div class="dl"><b>here</b></div>'
    assert elsewhere == with_sheet and with_sheet.startswith("<style>")


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_every_page_has_the_stylesheet_in_its_head_and_leaves_it_out_of_its_outputs(page: Path) -> None:
    text = page.read_text("utf-8")
    assert "workbench/views/static/workbench.css" in text.split("@app.cell")[0]
    assert "page_has_sheet()" in text or page.parent.name == "code"  # whose outputs need no sheet


@pytest.mark.slow
def test_many_threads_make_trees_of_syntax_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ast, "parse", ast.parse)  # put back what is replaced here
    server.parse_one_at_a_time()
    source = (notebooks_folder() / "6_compare.py").read_text(encoding="utf-8")
    with ThreadPoolExecutor(6) as pool:
        trees = list(pool.map(lambda _: ast.parse(source), range(24)))
    assert len({len(tree.body) for tree in trees}) == 1
